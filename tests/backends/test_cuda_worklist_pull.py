"""Frontiers of programs whose states are not swapped, many supersteps in a launch, in the emulator."""

from __future__ import annotations

import contextlib
import itertools
from unittest.mock import patch

import numpy as np
import pytest
from cuda_cases import WORKLISTS, Case, check_same, graph_of, medley
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Fading, Nearest, Peel, Rank, Reached
from shapes import SHAPES, grid, hub, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import planner as plan
from cugraph_ws.backends.cuda import worklist_pull
from cugraph_ws.backends.cuda.planner import why_not_swapped
from cugraph_ws.program.binding import bind

BY_NAME = {case.name: case for case in WORKLISTS}
LONG = Edges(1 + np.arange(1100), np.zeros(1100, np.int64), 1102)
BATTERY = {
    **{name: edges for name, edges in SHAPES.items() if len(edges.source) < 80},
    "rmat": rmat(4, 5, seed=1),
    "hub": hub(90),
    "a row of several pieces": LONG,
    "rows of several pieces both ways": undirected(
        Edges(np.repeat([0, 1], 600), np.tile(np.arange(2, 602), 2), 602)
    ),
    "random": random_edges(20, 70, seed=3),
    "ties and zeros": random_edges(20, 70, seed=6, weights="ties"),
}
DIRECTIONS = ("auto", "push")
FILTERS = ("auto", "online", "ballot")
SETTINGS = {
    "as it is": {},
    "never alone": {"ALONE": worklist_pull.NOBODY},
    "few alone, little room": {"ALONE": 3, "ALONE_ARCS": 20, "ROOM_SHARE": 8},
    "all gather soon": {"ALONE_ARCS": 0, "PULL_PART": 1 << 40, "GATHER_PART": 1 << 40},
    "heavy ones left for a pull": {"LEAST_HEAVY": 0, "HEAVY": 9},
}


@contextlib.contextmanager
def tuned(**values):
    """Set constants of the executor, and how soon a frontier is left for a pull."""
    with contextlib.ExitStack() as stack:
        for name, value in values.items():
            owner = plan if hasattr(plan, name) else worklist_pull
            stack.enter_context(patch.object(owner, name, value))
        yield


def starting(case: Case, edges: Edges) -> Case:
    """Return a case that starts where the graph has a vertex."""
    last = max(edges.n - 1, 0)
    given = {
        name: [min(one, last) for one in value] if isinstance(value, list) else value
        for name, value in case.given.items()
    }
    return Case(case.name, case.program, given, case.options, case.tolerance, case.counted)


def check(case: Case, graph: ws.Graph, seed: int = 0, **options) -> ws.Result:
    """Compare with the CPU engine's pulls, superstep by superstep."""
    expected = case.run(graph, engine="python", fused=False, direction="pull")
    with emulated(seed, multiprocessors=1 + seed % 3):
        found = case.run(graph, engine="cuda", **options)
    check_same(found, expected, case)
    if case.counted:
        assert found.rows.active == expected.rows.active
    return found


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize("case", WORKLISTS, ids=lambda case: case.name)
def test_programs(case, turn):
    """With three of the settings each."""
    setting = list(SETTINGS)[(WORKLISTS.index(case) + 2 * turn) % len(SETTINGS)]
    seed = len(case.name) + len(setting)
    edges = undirected(medley()) if seed % 2 else medley()
    with tuned(**SETTINGS[setting]), graph_of(edges) as graph:
        check(case, graph, seed)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "not fused"])
@pytest.mark.parametrize(("direction", "kept"), list(itertools.product(DIRECTIONS, FILTERS)))
@pytest.mark.parametrize("half", [0, 1])
def test_every_combination(half, direction, kept, fused):
    """With two of four programs each."""
    names = ("pairs", "any, of two fields", "sums of those who go", "custom combine, never at rest")
    place = DIRECTIONS.index(direction) + FILTERS.index(kept) + fused
    name = names[(place % 2) * 2 + half]
    options = {"direction": direction, "filter": kept, "fused": fused}
    with graph_of(rmat(4, 5, seed=1)) as graph, tuned(ALONE=2, ROOM_SHARE=4):
        found = check(BY_NAME[name], graph, 1, **options)
    if direction == "push":
        assert set(found.rows.direction) == {"push"}
        # If no vertex is marked there is nothing to list.
        wanted = {"online", "ballot"} if kept == "auto" else {kept}
        assert set(found.rows.filter[:-1]) <= wanted
    assert set(found.rows.fused) == {fused}


@pytest.mark.parametrize("place", range(len(BATTERY)), ids=BATTERY)
def test_every_shape(place):
    edges = list(BATTERY.values())[place]
    name = ("pairs", "sums of those who go", "any, of a flag")[place % 3]
    case = starting(BY_NAME[name], edges)
    with graph_of(edges) as graph:
        if graph.number_of_vertices:
            with tuned():
                check(case, graph, seed=edges.n % 7)
            with tuned(ALONE=worklist_pull.NOBODY):
                check(case, graph, seed=len(name), direction="push", filter="ballot")


@settings(deadline=None, max_examples=15)
@given(
    ends=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    seed=st.integers(0, 9),
    case=st.sampled_from(WORKLISTS),
    direction=st.sampled_from(DIRECTIONS),
    kept=st.sampled_from(FILTERS),
    fused=st.booleans(),
    setting=st.sampled_from(list(SETTINGS)),
)
def test_random_graphs(ends, seed, case, direction, kept, fused, setting):
    source, destination = np.array(ends).T
    weight = (source * 7 + destination * 3) % 5 / 2.0
    options = {"direction": direction, "filter": kept, "fused": fused}
    with graph_of(Edges(source, destination, 10, weight)) as graph, tuned(**SETTINGS[setting]):
        check(case, graph, seed, **options)


@pytest.mark.parametrize("leaves", [31, 32, 33])
def test_a_list_overflows_at_its_last_place(leaves):
    """With one vertex more than there is room for, the bits take over; no vertex is lost."""
    ends = np.arange(1, leaves + 1)
    edges = Edges(np.zeros(leaves, np.int64), ends, leaves + 1)
    with graph_of(edges) as graph, tuned(ROOM_SHARE=(leaves + 1) // 32, ALONE=worklist_pull.NOBODY):
        found = check(Case("", Nearest, {"seeds": [0]}), graph, direction="push")
    room = (leaves + 1) // ((leaves + 1) // 32)
    assert found.rows.active == [1, leaves]
    assert found.rows.filter[0] == ("online" if leaves <= room else "ballot")
    assert found.arrays["seed"].numbers.tolist() == [0] * (leaves + 1)


def test_arcs_read_by_a_superstep():
    """Out-arcs of active vertices, then in-arcs of marked ones, and no others."""
    path = np.arange(30)
    edges = Edges(np.concatenate([path, [40, 41]]), np.concatenate([path + 1, [42, 42]]), 43)
    with graph_of(edges) as graph, tuned(), emulated():
        found = ws.run(Nearest, graph, seeds=[0], engine="cuda", plan=ws.Plan(direction="push"))
    assert found.rows.active == [1] * 31
    assert found.rows.edges == [2] * 30 + [0]


def test_any_message_ends_a_pull():
    """Of a hundred in-neighbours that have a message, one is read."""
    middle = np.arange(1, 101)
    edges = Edges(
        np.concatenate([np.zeros(100, np.int64), middle]),
        np.concatenate([middle, np.full(100, 101)]), 102,
    )  # fmt: skip
    with graph_of(edges) as graph, tuned(**SETTINGS["all gather soon"]), emulated():
        found = ws.run(Reached, graph, start=0, engine="cuda")
    assert found.rows.direction == ["pull", "pull", "push"]
    assert found.rows.edges[1] == 1


def test_a_heavy_frontier_is_left_for_a_pull():
    edges = rmat(4, 5, seed=1)
    tail = np.array([16, 17, 18, 0])  # an end that few arcs lead to
    edges = Edges(
        np.append(edges.source, tail[[3, 0, 1]]), np.append(edges.destination, tail[:3]), 19,
        np.append(edges.weight, [50.0, 1.0, 1.0]),
    )  # fmt: skip
    with graph_of(edges) as graph, tuned(LEAST_HEAVY=0, HEAVY=8, GATHER_PART=2):
        found = check(BY_NAME["pairs"], graph)
        assert ("pull", False) in zip(found.rows.direction, found.rows.fused, strict=True)
        assert found.rows.direction[-1] == "push"
        held = check(BY_NAME["pairs"], graph, direction="push")
    assert set(held.rows.direction) == {"push"}


@pytest.mark.parametrize("setting", ["as it is", "heavy ones left for a pull"])
def test_sums_of_floats_are_the_same_each_time(setting):
    """Marked vertices are listed in order, whichever was marked first."""
    ranks = []
    with graph_of(random_edges(20, 100, seed=2)) as graph, tuned(**SETTINGS[setting]):
        for seed in range(2):
            with emulated(seed):
                found = ws.run(ws.DeltaPageRank, graph, engine="cuda", tolerance=1e-2)
            ranks.append(found.arrays["pagerank"].tobytes())
    assert len(set(ranks)) == 1
    assert "online" not in found.rows.filter[:-1]


@pytest.mark.parametrize("most", [0, 1, 2, 5])
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "not fused"])
def test_no_more_supersteps_than_allowed(most, fused):
    with graph_of(SHAPES["path"]) as graph:
        limited = Case("", Nearest, {"seeds": [0]}, {"max_iter": most}, counted=True)
        found = check(limited, graph, fused=fused, seed=most)
    assert found.iterations == most
    assert not found.converged


@pytest.mark.parametrize("first", [1, 3, 16])
def test_a_road_in_launches_of_any_size(first):
    with graph_of(grid(9, 3, drop=0.0, seed=2)) as graph, tuned(FIRST_FUSED=first, MOST_FUSED=8):
        check(BY_NAME["routes, with predecessors"], graph, seed=first, direction="push")


def test_one_superstep_a_launch_without_fusing():
    with graph_of(SHAPES["path"]) as graph, emulated() as here:
        launched = []
        for fused in (True, False):
            before = here.launches
            ws.run(Nearest, graph, seeds=[0], engine="cuda", plan=ws.Plan(fused=fused))
            launched.append(here.launches - before)
    assert launched[1] >= launched[0] + 20


@pytest.mark.parametrize("stop", [2, 3], ids=["odd", "even"])
@pytest.mark.parametrize("engines", [("cuda", "cuda"), ("cuda", "python"), ("python", "cuda")])
@pytest.mark.parametrize("name", ["pairs", "custom combine, never at rest"])
def test_checkpoints_go_from_engine_to_engine(name, engines, stop, tmp_path):
    """Aggregates and the number of the superstep go with them."""
    case, path = BY_NAME[name], tmp_path / "state.parquet"
    with graph_of(grid(6, 4, drop=0.1, seed=4)) as graph, tuned(LEAST_HEAVY=0, HEAVY=4):
        expected = case.run(graph, engine="python", fused=False, direction="pull")
        here, there = (
            {"engine": one, "fused": False, "direction": "pull" if one == "python" else "auto"}
            for one in engines
        )
        with emulated(seed=3):
            first = case.run(
                graph, checkpoint=path, progress=lambda update: update.superstep < stop, **here
            )
            assert first.stopped == "callback"
            resumed = case.run(graph, resume=path, **there)
    assert resumed.iterations > first.iterations
    check_same(resumed, expected, case)


@pytest.mark.parametrize("name", ["empty", "one vertex", "all isolated", "self-loops"])
def test_nothing_to_do(name):
    edges = SHAPES[name]
    with graph_of(edges) as graph:
        check(Case(name, Peel, {"k": 2}), graph, direction="push")


@pytest.mark.parametrize("program", [Rank, Fading])
def test_programs_that_gather_from_all_have_no_frontier(program):
    with graph_of(medley()) as graph, emulated():
        found = ws.run(program, graph, engine="cuda", max_iter=3)
        assert found.rows.direction == ["gather"] * 3
        with pytest.raises(ws.InputError, match="lists no frontier"):
            ws.run(program, graph, engine="cuda", plan=ws.Plan(filter="ballot"))


def test_reasons_against_compare_and_swap():
    """Every case is here for one of the reasons, and each reason has a case."""
    reasons = set()
    with graph_of(medley()) as graph:
        for case in WORKLISTS:
            why = why_not_swapped(bind(case.program, graph, case.given))
            assert why is not None, case.name
            reasons.add(why)
    assert len(reasons) == 3
