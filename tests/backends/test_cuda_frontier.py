"""Frontiers on the GPU, many supersteps in a launch, in the emulator."""

from __future__ import annotations

import contextlib
import itertools
from unittest.mock import patch

import numpy as np
import pytest
from cuda_cases import PUSHES, Case, check_same, graph_of, medley
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import planned
from programs import Labels, Nearest, Rank
from shapes import SHAPES, grid, hub, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.accelerators.linked import planner as linked_plan
from cugraph_ws.backends.cuda import frontier
from cugraph_ws.backends.cuda import planner as plan

BATTERY = {
    **{name: edges for name, edges in SHAPES.items() if len(edges.source) < 80},
    "rmat": rmat(4, 5, seed=1),
    "hub": hub(90),
    "a row of several pieces": Edges(np.zeros(1100, np.int64), 1 + np.arange(1100), 1101),
    "rows of several pieces both ways": undirected(
        Edges(np.repeat([0, 1], 600), np.tile(np.arange(2, 602), 2), 602)
    ),
    "random": random_edges(20, 70, seed=3),
    "ties and zeros": random_edges(20, 70, seed=6, weights="ties"),
    "integer weights": random_edges(20, 70, seed=5, weights="integers"),
}
# How a frontier is listed, which threads work on it, and which vertices are due: results are equal for each combination.
DIRECTIONS = ("auto", "push", "pull")
FILTERS = ("auto", "online", "ballot")
SETTINGS = {
    "as it is": {},
    "never alone": {"ALONE": 0},
    "few alone, little room": {"ALONE": 3, "ROOM_SHARE": 8},
    "pulled soon": {"ALONE": 0, "PULL_PART": 1 << 40, "ALONE_ARCS": 0},
    "large at once": {"ALONE": 0, "ALONE_ARCS": 0, "LEAST_LARGE": 0, "LARGE_PART": 1 << 40},
    "large soon": {"LEAST_LARGE": 6, "LARGE_PART": 1 << 40, "PULL_PART": 3},
    "few due": {"DUE_PART": 1 << 40},
    "all due": {"DUE_PART": 1, "ALONE": 0},
}


@contextlib.contextmanager
def tuned(**values):
    """Set constants of the executor, and how soon a frontier is left for a gather."""
    with contextlib.ExitStack() as stack:
        for name, value in values.items():
            owner = next(place for place in (plan, linked_plan, frontier) if hasattr(place, name))
            stack.enter_context(patch.object(owner, name, value))
        yield


def check(case: Case, graph: ws.Graph, seed: int = 0, **options) -> ws.Result:
    expected = case.run(graph, engine="python", fused=False, direction="push")
    with emulated(seed, multiprocessors=1 + seed % 3):
        found = case.run(graph, engine="cuda", **options)
    check_same(found, expected, case)
    return found


@pytest.mark.parametrize("turn", range(2))
@pytest.mark.parametrize("case", PUSHES, ids=lambda case: case.name)
def test_programs(case, turn):
    """With two of the settings each."""
    setting = list(SETTINGS)[(PUSHES.index(case) + 2 * turn) % len(SETTINGS)]
    seed = len(case.name) + list(SETTINGS).index(setting)
    edges = undirected(medley()) if seed % 2 else medley()
    with tuned(**SETTINGS[setting]), graph_of(edges) as graph:
        check(case, graph, seed)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "not fused"])
@pytest.mark.parametrize(("direction", "kept"), list(itertools.product(DIRECTIONS, FILTERS)))
def test_every_combination(direction, kept, fused):
    """With one of two programs: hops, shortest paths."""
    place = 5 + (DIRECTIONS.index(direction) + FILTERS.index(kept) + fused) % 2
    with graph_of(rmat(4, 5, seed=1)) as graph, tuned(ALONE=2, ROOM_SHARE=4):
        found = check(PUSHES[place], graph, 1, direction=direction, filter=kept, fused=fused)
    directions, filters = set(found.rows.direction), set(found.rows.filter)
    if direction != "auto":
        assert directions == {direction}
    if direction == "push" and kept == "ballot":
        assert filters == {"ballot"}
    assert set(found.rows.fused) <= {fused, False}


@pytest.mark.parametrize("place", [0, 6])
def test_large_frontiers_are_pushed_by_a_launch_of_their_own(place):
    """Of some supersteps, after lists and after bitmaps; a list that is asked for is kept."""
    settings = {"LEAST_LARGE": 20, "LARGE_PART": 1 << 40, "HEAVY": 1, "GROWING": 1}
    with graph_of(rmat(6, 6, seed=2)) as graph, tuned(ALONE=0, **settings):
        options = {"direction": "push", "priorities": False}
        found = check(PUSHES[place], graph, seed=place, **options).trace
        listed = check(PUSHES[place], graph, seed=place, filter="online", **options).trace
    large = found["edges"] > 20
    assert 1 < large.sum() < len(found)
    assert set(found["filter"][large]) == {"ballot"}
    assert set(listed["filter"].iloc[1:]) == {"online"}


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    """With one of two programs: hops, shortest paths."""
    place = (0, 6)[list(BATTERY).index(name) % 2]
    with graph_of(BATTERY[name]) as graph:
        if graph.number_of_vertices:
            with tuned():
                check(PUSHES[place], graph, seed=place)
            with tuned(ALONE=0):
                check(PUSHES[place], graph, seed=place + 1, direction="auto")


@settings(deadline=None, max_examples=12)
@given(
    ends=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    seed=st.integers(0, 9),
    direction=st.sampled_from(DIRECTIONS),
    kept=st.sampled_from(FILTERS),
    setting=st.sampled_from(list(SETTINGS)),
)
def test_random_graphs(ends, seed, direction, kept, setting):
    source, destination = np.array(ends).T
    weight = (source * 7 + destination * 3) % 5 / 2.0
    with graph_of(Edges(source, destination, 10, weight)) as graph, tuned(**SETTINGS[setting]):
        check(PUSHES[seed % len(PUSHES)], graph, seed, direction=direction, filter=kept)


@pytest.mark.parametrize("first", [1, 3, 16])
def test_a_road_takes_a_superstep_a_level(first):
    """However many of them are launched at a time."""
    edges = grid(9, 3, drop=0.0, seed=2)
    with graph_of(edges) as graph, tuned(FIRST_FUSED=first, MOST_FUSED=8):
        arcs = graph.csr.number_of_arcs
        with emulated():
            found = ws.run(ws.BFS, graph, start=0, engine="cuda", plan=ws.Plan(direction="push"))
    distance = found.arrays["distance"]
    levels = distance.values[distance.valid]
    assert found.iterations == levels.max() + 1
    assert found.rows.direction == ["push"] * found.iterations
    assert all(found.rows.fused)
    # Every hop is found once: levels send one after the other, and every arc is read once.
    assert sum(found.rows.edges) == arcs
    assert found.rows.active == np.bincount(levels).tolist()


@pytest.mark.parametrize("leaves", [31, 32, 33])
def test_a_list_overflows_at_its_last_place(leaves):
    """With one vertex more than there is room for, the bitmap takes over; no vertex is lost."""
    ends = np.arange(1, leaves + 1)
    edges = Edges(
        np.concatenate([np.zeros(leaves, np.int64), ends]),
        np.concatenate([ends, leaves + ends]), 2 * leaves + 1,
    )  # fmt: skip
    share = (2 * leaves + 1) // 32
    with graph_of(edges) as graph, tuned(ROOM_SHARE=share, ALONE=0), emulated():
        found = ws.run(ws.BFS, graph, start=0, engine="cuda", plan=ws.Plan(direction="push"))
    room = (2 * leaves + 1) // share
    assert found.rows.active == [1, leaves, leaves]
    assert found.rows.filter[1:] == ["online" if leaves <= room else "ballot"] * 2
    assert found.arrays["distance"].values.max() == 2


@pytest.mark.parametrize("limit", [None, 1, 3, 6])
@pytest.mark.parametrize("pulls", [1, 2, 4])
def test_pulls_follow_one_another_before_the_host_looks(pulls, limit, monkeypatch):
    """Along a road each superstep is a pull, and there are as many looks as launches let be."""
    looks = []
    whole = frontier.CudaFrontierExecutor.superstep

    def superstep(self, *given):
        looks.append(given)
        whole(self, *given)

    edges = Edges(np.arange(10), np.arange(1, 11), 11)
    monkeypatch.setattr(frontier.CudaFrontierExecutor, "superstep", superstep)
    tunes = tuned(**SETTINGS["pulled soon"], PULLS=pulls)
    with graph_of(edges) as graph, tunes, emulated(multiprocessors=2):
        found = ws.run(ws.BFS, graph, start=0, engine="cuda", max_iter=limit)
    steps = 10 if limit is None else limit
    last = ["push"] if limit is None else []  # of the last vertex, which has no arc
    assert found.rows.direction == ["pull"] * steps + last
    assert found.rows.active == [1] * (steps + len(last))
    assert len(looks) == -(-steps // pulls)
    hops = found.arrays["distance"].filled(-1)
    assert hops.tolist() == [one if one <= steps else -1 for one in range(11)]


def test_a_pull_stops_at_the_first_that_settles():
    """Of a hundred active in-neighbours, one is read."""
    middle = np.arange(1, 101)
    edges = Edges(
        np.concatenate([np.zeros(100, np.int64), middle]),
        np.concatenate([middle, np.full(100, 101)]), 102,
    )  # fmt: skip
    with graph_of(edges) as graph, emulated():
        found = ws.run(ws.BFS, graph, start=0, engine="cuda", plan=ws.Plan(direction="pull"))
    # Superstep 0: each of the middle reads one arc, and the last vertex the first few of its own.
    assert found.rows.edges[0] >= 200
    assert found.rows.edges[1] <= 1 + 100  # no other vertex is left


@pytest.mark.parametrize("near", [0, 1, 100, 128, 129, 255, 256, 300])
def test_remaining_vertices_are_compacted_or_read_in_place(near):
    """Of a pull's 256 vertices in a row so many are left; more than half of them stay in their places."""
    ends = np.arange(1, 301)
    # The first are reached from the next behind them, all others, and all where there is none, from the start.
    source = np.where(ends <= near, (near + 1) % 301, 0)
    edges = Edges(np.append(source, [301, 301]), np.append(ends, [7, 290]), 302)
    setting = {"ALONE": 0, "PULL_PART": 1 << 40, "ALONE_ARCS": 0}
    with graph_of(edges) as graph, tuned(**setting):
        found = check(PUSHES[5], graph, near, direction="auto")
        assert found.rows.direction[0] == "pull"
        check(PUSHES[5], graph, near + 1, direction="pull")


def test_frontiers_that_grow_are_left_sooner():
    """Whatever is heavy at first, once all have gathered it takes more."""
    with graph_of(rmat(4, 5, seed=1)) as graph, tuned(GROWING=1 << 40, HEAVY=1, ALONE=0):
        found = check(PUSHES[6], graph, direction="auto")
    assert found.rows.direction.count("gather") == 1
    assert found.rows.direction[0] == "gather"


def test_a_heavy_frontier_is_left_for_a_gather():
    with graph_of(rmat(4, 5, seed=1)) as graph, tuned(GROWING=8, HEAVY=8, ALONE=0):
        found = check(PUSHES[6], graph, direction="auto")
        assert "gather" in found.rows.direction
        assert found.rows.direction[-1] == "push"
        held = check(PUSHES[6], graph, direction="push")
    assert set(held.rows.direction) == {"push"}


def test_priorities_save_work():
    """On a path with expensive short cuts, each vertex sends once if priorities are honoured."""
    n = 40
    path = np.arange(n - 1)
    near, far = (path, path + 1), (np.zeros(n - 2, np.int64), np.arange(2, n))
    edges = Edges(
        np.concatenate([near[0], far[0]]), np.concatenate([near[1], far[1]]), n,
        np.concatenate([np.ones(n - 1), 2.0 * np.arange(2, n)]),
    )  # fmt: skip
    work = {}
    with graph_of(edges) as graph, tuned(DUE_PART=1 << 40, ALONE=0):
        for priorities in (True, False):
            found = check(PUSHES[6], graph, direction="push", priorities=priorities)
            work[priorities] = sum(found.rows.active)
    assert work[True] < work[False]


@pytest.mark.parametrize("most", [0, 1, 2, 5])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_no_more_supersteps_than_allowed(most, direction):
    with graph_of(SHAPES["path"]) as graph, emulated(seed=most):
        found = ws.run(
            ws.BFS, graph, start=0, engine="cuda", max_iter=most, plan=ws.Plan(direction=direction)
        )
    assert found.iterations == most
    assert not found.converged
    reached = found.arrays["distance"].valid
    assert np.count_nonzero(reached) == most + 1


@pytest.mark.parametrize("stop", [3, 4], ids=["odd", "even"])
@pytest.mark.parametrize("engines", [("cuda", "cuda"), ("cuda", "python"), ("python", "cuda")])
def test_checkpoints_go_from_engine_to_engine(engines, stop, tmp_path):
    """Vertices that wait for their turn go with them."""
    case, path = PUSHES[6], tmp_path / "state.parquet"
    with graph_of(grid(6, 4, drop=0.1, seed=4)) as graph, tuned(DUE_PART=1 << 40):
        expected = case.run(graph, engine="python", fused=False, direction="push")
        with emulated(seed=3):
            options = {"fused": False, "direction": "push"}
            first = case.run(
                graph, engine=engines[0], progress=lambda update: update.superstep < stop,
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
            ws.run(ws.BFS, graph, start=0, engine="cuda", plan=ws.Plan(fused=fused))
            launched.append(here.launches - before)
    assert launched[1] >= launched[0] + 20


@pytest.mark.parametrize(
    ("program", "given", "options", "told"),
    [
        (Rank, {}, {}, "gathers from all in-neighbours"),
        (ws.BFS, {"start": 0}, {"in_place": False}, "in_place=False"),
        (Nearest, {"seeds": [1]}, {"in_place": True}, "in_place=True"),
        (Nearest, {"seeds": [1]}, {"method": "ws"}, "method= is a schedule of gathers"),
        (ws.BFS, {"start": 0}, {"method": "ws"}, "method= is a schedule of gathers"),
    ],
)
def test_impossible_pushes_are_refused(program, given, options, told):
    with graph_of(medley()) as graph, emulated(), pytest.raises(ws.InputError, match=told):
        ws.run(program, graph, **planned(engine="cuda", direction="push", **given, **options))


@pytest.mark.parametrize(
    ("program", "given", "options", "told"),
    [
        (Rank, {}, {"engine": "cuda", "filter": "ballot"}, "lists no frontier"),
        (ws.BFS, {"start": 0}, {"engine": "cpu", "filter": "online"}, "choice of engine='cuda'"),
        (ws.BFS, {"start": 0}, {"engine": "cuda", "filter": "list"}, "filter='list' is not known"),
    ],
)
def test_filters_that_do_not_apply_are_refused(program, given, options, told):
    with graph_of(medley()) as graph, emulated(), pytest.raises(ws.InputError, match=told):
        ws.run(program, graph, **planned(**given, **options))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_nothing_to_do(direction):
    with graph_of(SHAPES["empty"]) as graph, emulated():
        found = ws.run(Labels, graph, engine="cuda", plan=ws.Plan(direction=direction))
    assert found.iterations == 0
    assert len(found.arrays) == 1


def test_warps_agree_on_the_least_priority():
    """Each of three looks at a thousand vertices, and a later one has the least."""
    n = 2500
    edges = Edges(np.zeros(n - 1, np.int64), np.arange(1, n), n, np.arange(n, 1, -1.0))
    with graph_of(edges) as graph, tuned(DUE_PART=2), emulated(1, multiprocessors=2):
        found = ws.run(ws.SSSP, graph, source=0, engine="cuda", plan=ws.Plan(direction="push"))
    assert found.arrays["distance"].values.tolist() == [0.0, *edges.weight]
    assert found.iterations >= 3  # vertices that are not near wait


@pytest.mark.parametrize("lead", [1, 7, 19, 40])
@pytest.mark.parametrize("edges", [random_edges(20, 170, seed=8), rmat(4, 5, seed=1), hub(40)])
def test_a_pull_may_begin_anywhere_in_a_row(lead, edges):
    """Rows of more in-arcs than one lane reads in haste, too, and some without anybody from there on."""
    setting = {"ALONE": 0, "PULL_PART": 1 << 40, "ALONE_ARCS": 0}
    with (
        patch.object(frontier.CudaFrontierExecutor, "_lead", lambda self: lead),
        tuned(**setting),
        graph_of(edges) as graph,
    ):
        found = check(PUSHES[5], graph, seed=lead, direction="auto")
        assert "pull" in set(found.trace["direction"])
