"""Frontiers that push on the GPU, many supersteps in a launch, in the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import PUSHES, Case, check_same, graph_of, medley
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Labels, Nearest, Peel, Rank, Reached
from shapes import SHAPES, grid, hub, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.cuda import plan

PUSHED = {"direction": "push"}
BATTERY = {
    **{name: edges for name, edges in SHAPES.items() if len(edges.source) < 80},
    "rmat": rmat(4, 5, seed=1),
    "hub": hub(90),
    "a row of several pieces": Edges(np.zeros(1100, np.int64), 1 + np.arange(1100), 1101),
    "random": random_edges(20, 70, seed=3),
    "ties and zeros": random_edges(20, 70, seed=6, weights="ties"),
    "integer weights": random_edges(20, 70, seed=5, weights="integers"),
}


@ws.vertex_program
class Counted:
    """Labels, and how many vertices have the least one."""

    label: ws.int64

    @ws.aggregate
    def least(state):
        return 1.0 if state.label == 0 else 0.0

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


def check(case: Case, graph: ws.Graph, seed: int = 0, **options) -> ws.Result:
    expected = case.run(graph, engine="python", fused=False)
    with emulated(seed, multiprocessors=1 + seed % 3):
        found = case.run(graph, engine="cuda", **options)
    check_same(found, expected, case)
    return found


@pytest.mark.parametrize("case", PUSHES, ids=lambda case: case.name)
@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
def test_programs(case, turn):
    with graph_of(turn(medley())) as graph:
        check(case, graph, seed=len(case.name))


@pytest.mark.parametrize("place", [0, 6], ids=["hops", "shortest paths"])
@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name, place):
    with graph_of(BATTERY[name]) as graph:
        if graph.number_of_vertices:
            check(PUSHES[place], graph, seed=place)


@settings(deadline=None, max_examples=15)
@given(
    ends=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    seed=st.integers(0, 9),
)
def test_random_graphs(ends, seed):
    source, destination = np.array(ends).T
    weight = (source * 7 + destination * 3) % 5 / 2.0
    with graph_of(Edges(source, destination, 10, weight)) as graph:
        check(PUSHES[seed % len(PUSHES)], graph, seed)


@pytest.mark.parametrize("first", [1, 3, 16])
def test_a_road_takes_a_superstep_a_level(first, monkeypatch):
    """However many of them are launched at a time."""
    monkeypatch.setattr(plan, "FIRST_PUSHES", first)
    monkeypatch.setattr(plan, "MOST_PUSHES", 8)
    edges = grid(9, 3, drop=0.0, seed=2)
    with graph_of(edges) as graph:
        arcs = graph.csr.number_of_arcs
        with emulated():
            found = ws.run(ws.BFS, graph, start=0, engine="cuda", **PUSHED)
    distance = found.arrays["distance"]
    levels = distance.values[distance.valid]
    assert found.iterations == levels.max() + 1
    assert found.rows.direction == ["push"] * found.iterations
    assert all(found.rows.fused)
    # Every hop is found once: levels send one after the other, and every arc is read once.
    assert sum(found.rows.edges) == arcs
    assert found.rows.active == np.bincount(levels).tolist()


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_no_more_supersteps_than_allowed(most):
    with graph_of(SHAPES["path"]) as graph, emulated(seed=most):
        found = ws.run(ws.BFS, graph, start=0, engine="cuda", max_iter=most, **PUSHED)
    assert found.iterations == most
    assert not found.converged
    reached = found.arrays["distance"].valid
    assert np.count_nonzero(reached) == most + 1


@pytest.mark.parametrize("engines", [("cuda", "cuda"), ("cuda", "python"), ("python", "cuda")])
def test_checkpoints_go_from_engine_to_engine(engines, tmp_path):
    case, path = PUSHES[6], tmp_path / "state.parquet"
    with graph_of(grid(6, 4, drop=0.1, seed=4)) as graph:
        expected = case.run(graph, engine="python", fused=False)
        with emulated(seed=3):
            options = {"fused": False, "priorities": False}
            first = case.run(
                graph, engine=engines[0], progress=lambda update: update.superstep < 3,
                checkpoint=path, **options,
            )  # fmt: skip
            assert first.stopped == "callback"
            resumed = case.run(graph, engine=engines[1], resume=path, **options)
    assert resumed.iterations > first.iterations
    check_same(resumed, expected, case)


def test_one_superstep_a_launch_without_fusing():
    with graph_of(SHAPES["path"]) as graph, emulated() as here:
        launched = []
        for fused in (True, False):
            before = here.launches
            ws.run(ws.BFS, graph, start=0, engine="cuda", fused=fused, **PUSHED)
            launched.append(here.launches - before)
    assert launched[1] >= launched[0] + 20


@pytest.mark.parametrize(
    ("program", "given", "options", "told"),
    [
        (Rank, {}, {}, "one by one, and twice"),
        (Peel, {"k": 3}, {}, "one by one, and twice"),
        (Counted, {}, {}, "its aggregates would have to be added up"),
        (Nearest, {"seeds": [1]}, {}, "not one number of 4 or 8 bytes"),
        (Reached, {"start": 0}, {}, "not one number of 4 or 8 bytes"),
        (ws.BFS, {"start": 0}, {"in_place": False}, "in_place=False"),
        (ws.BFS, {"start": 0}, {"method": "ws"}, "method='ws' is a schedule of gathers"),
    ],
)
def test_what_cannot_be_pushed_is_refused(program, given, options, told):
    with graph_of(medley()) as graph, emulated(), pytest.raises(ws.InputError, match=told):
        ws.run(program, graph, engine="cuda", **given, **PUSHED, **options)


def test_nothing_to_do():
    with graph_of(SHAPES["empty"]) as graph, emulated():
        found = ws.run(Labels, graph, engine="cuda", **PUSHED)
    assert found.iterations == 0
    assert len(found.arrays) == 1
