"""Predecessors for which not all arcs are read, in the emulator: the same predecessors, and the vertices read."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from cuda_cases import Case, graph_of, medley
from emulator.device import EmulatedKernels, emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import planned
from shapes import SHAPES, hub, random_edges, rmat, undirected
from test_cuda_frontier import check as check_whole
from test_cuda_frontier import tuned
from test_cuda_partitioned_frontier import check as check_members
from test_cuda_predecessors import Stairs, Threes
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import graph as device_graph
from cugraph_ws.backends.cuda import predecessors, schedule
from cugraph_ws.backends.cuda.fields_read import reads_states_alone
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.kernels.cuda.layout import CODES, COUNT, STEPS
from cugraph_ws.runtime.device import device

NEVER = 1 << 40
# What is given along arcs: what is sooner done so, everything, nothing; of how many vertices arcs are counted
SETTINGS = {
    "as it is": {"GIVING": 3},
    "all are given": {"GIVING": 0},
    "nobody is given": {"GIVING": NEVER},
    "few are counted": {"GIVING": 1, "SAMPLE": 32},
    "many long rows": {"WIDEST": 3},
    "long rows are given": {"WIDEST": 3, "GIVING": 0},
}
LEVELS = Case("levels", ws.BFS, {"start": [0]})
CASES = [
    LEVELS,
    Case("levels from many", ws.BFS, {"start": [0, 3, 5, 11]}),
    Case("levels by threes", Threes, {"start": [0, 4]}),
    Case("levels by twos", Stairs, {"low": [0, 3], "high": [1, 7, 9]}),
]
BATTERY = {
    **{name: edges for name, edges in SHAPES.items() if len(edges.source) < 80},
    "rmat": rmat(4, 5, seed=1),
    "hub": hub(90),
    "a row of several pieces": undirected(
        Edges(np.zeros(1100, np.int64), 1 + np.arange(1100), 1101)
    ),
    "random": random_edges(20, 70, seed=3),
}


@pytest.fixture(autouse=True)
def few_arcs():
    with (
        patch.object(device_graph, "ASKED_FIRST", 0),
        patch.object(schedule, "BLOCK", 64),  # a row of many arcs has a whole block
        patch.multiple(predecessors, FRONTIER_BLOCK=64, MANY_ARCS=0, WORTH=0, WIDEST=40),
    ):
        yield


def check(case, graph, ranks, seed=0):
    """Compare a run on the whole graph, or over links, with the reference."""
    if ranks == 1:
        check_whole(case, graph, seed, direction="auto")
    else:
        check_members(case, graph, ranks, seed=seed)


class Notes:
    """The predecessor kernels that were launched, in order; for `grow_forward` the first level with vertices."""

    def __init__(self, monkeypatch):
        self.names = []
        launch = EmulatedKernels.launch

        def launched(kernels, name, grid, block, *arguments, cooperative=False):
            if name == "grow_forward":
                if arguments[-1][COUNT]:
                    self.names.append((name, int(arguments[-1][STEPS])))
            elif name in ("choose", "choose_of_least", "list_least", "list_senders"):
                self.names.append(name)
            launch(kernels, name, grid, block, *arguments, cooperative=cooperative)

        monkeypatch.setattr(EmulatedKernels, "launch", launched)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("setting", SETTINGS)
def test_programs(setting, case, monkeypatch):
    """On one, two or three ranks each."""
    notes = Notes(monkeypatch)
    place = list(SETTINGS).index(setting)
    ranks = 1 + (place + CASES.index(case)) % 3
    edges = undirected(medley()) if place % 2 else medley()
    with graph_of(edges) as graph, tuned(), patch.multiple(predecessors, **SETTINGS[setting]):
        check(case, graph, ranks, seed=place)
    assert "choose_of_least" in notes.names
    if "given" in setting:
        assert (("grow_forward", -1) in notes.names) == ("nobody" not in setting)


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    """With two of the settings, on one rank or two."""
    place = list(BATTERY).index(name)
    with graph_of(BATTERY[name]) as graph, tuned():
        for turn in range(2 if graph.number_of_vertices else 0):
            setting = list(SETTINGS)[(place + 3 * turn) % len(SETTINGS)]
            with patch.multiple(predecessors, **SETTINGS[setting]):
                check(LEVELS, graph, 1 + (place + turn) % 2, seed=place)


@settings(deadline=None, max_examples=8)
@given(
    ends=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=60),
    seed=st.integers(0, 11),
    setting=st.sampled_from(list(SETTINGS)),
)
def test_random_graphs(ends, seed, setting):
    source, destination = np.array(ends).T
    with (
        graph_of(Edges(source, destination, 12)) as graph,
        tuned(ALONE=seed % 2),
        patch.multiple(predecessors, **SETTINGS[setting]),
    ):
        check(CASES[seed % len(CASES)], graph, 1 + seed % 2, seed=seed)


@pytest.mark.parametrize("lanes", [1, 2, 8, 32])
def test_the_least_four_of_every_row(lanes, monkeypatch):
    """By number, each neighbour once, wherever they are in the row."""
    monkeypatch.setattr("cugraph_ws.backends.cuda.graph.SEARCHERS", ((5, lanes), (0, 1)))
    generator = np.random.default_rng(lanes)
    degrees = np.concatenate([np.arange(12), [40, 70]])
    destination = np.repeat(np.arange(len(degrees)), degrees)
    source = generator.integers(0, 30, len(destination))
    with emulated(lanes), graph_of(Edges(source, destination, 30)) as graph:
        here = graph.on_device()
        rows = here.csc
        numbers = here.numbers
        least = here.least_senders(numbers, 0, here.size)
        assert here.least_senders(numbers, 0, here.size) is least
        for place in range(here.size):
            row = np.unique(numbers[rows.indices[rows.offsets[place] : rows.offsets[place + 1]]])[
                :4
            ]
            found = [int(one[place]) for one in least]
            assert [int(numbers[at]) for at in found if at >= 0] == row.tolist()
            assert found[len(row) :] == [-1] * (4 - len(row))
    assert max(degrees) > 32 * 2


def test_one_is_asked_where_one_is_enough(monkeypatch):
    """Vertices reached from a large frontier; few arcs of a small one are followed."""
    generator = np.random.default_rng(3)
    hubs, leaves = np.arange(1, 9), np.arange(9, 309)
    source = np.concatenate([np.zeros(8, np.int64), generator.integers(1, 9, 2000)])
    destination = np.concatenate([hubs, np.repeat(leaves, 7)[:2000]])
    notes = Notes(monkeypatch)
    asked = []
    usual = DeviceGraph.least_senders

    def noted(graph, *given):
        asked.append(given[1:])
        return usual(graph, *given)

    monkeypatch.setattr(DeviceGraph, "least_senders", noted)
    with graph_of(Edges(source, destination, 309)) as graph, tuned(), emulated():
        found = ws.run(ws.BFS, graph, start=0, engine="cuda")
        ws.run(ws.BFS, graph, start=1, engine="cuda")
    assert notes.names.count("list_least") == 2  # of rows with more than three arcs, and fewer
    assert asked == [(0, 309)] * 2
    expected = ws.run(ws.BFS, graph_of(Edges(source, destination, 309)), start=0, engine="python")
    assert np.array_equal(
        np.asarray(found.arrays["predecessor"].numbers),
        np.asarray(expected.arrays["predecessor"].numbers),
    )


@pytest.mark.parametrize(("worth", "gives"), [(1500, True), (15_000, False)])
def test_arcs_are_estimated_from_counts(worth, gives, monkeypatch):
    """Sampled from one vertex in four: 300 receivers of one number have 3,300 in-arcs."""
    monkeypatch.setattr(predecessors, "SAMPLE", 75)
    monkeypatch.setattr(predecessors, "WORTH", worth)
    monkeypatch.setattr(predecessors, "WIDEST", 1000)
    generator = np.random.default_rng(5)
    leaves = np.arange(1, 301)
    among = generator.permutation(np.tile(leaves, 10))
    source = np.concatenate([np.zeros(300, np.int64), among])
    destination = np.concatenate([leaves, np.repeat(leaves, 10)])
    notes = Notes(monkeypatch)
    with graph_of(Edges(source, destination, 301)) as graph, tuned():
        check(LEVELS, graph, 1)
    assert (("grow_forward", -1) in notes.names) == gives


def reckoned(counts, step, giving, worth):
    """Return what `weigh_codes` has to write for levels, of which the less is the better."""
    arcs_out, arcs_in = step * counts.reshape(2, CODES).astype(np.float64)
    asked = np.flatnonzero(arcs_in[:-1])
    above = np.arange(CODES) < asked[:, None]
    above[:, -1] = True  # as far as a code shows
    ahead = above @ arcs_out
    rows = arcs_in[asked] * (1 - ahead / max(1.0, arcs_out.sum())) ** 4
    told = np.zeros((2, CODES), np.uint8)
    senders, receivers = told
    for place in ahead.argsort(kind="stable"):
        if giving * arcs_out[above[place] & (senders == 0)].sum() < rows[place]:
            senders[above[place]] = 1
            receivers[asked[place]] = 1
    if rows[receivers[asked] != 0].sum() < worth or not receivers.any():
        told[:] = 0
    return [*told.ravel().tolist(), int(told.any())]


@pytest.mark.parametrize("worth", [0, 1 << 20])
@pytest.mark.parametrize("seed", range(6))
def test_the_choice_of_senders_is_weighed(seed, worth, monkeypatch):
    """Of any numbers of arcs; whatever comes out, predecessors are the same."""
    generator = np.random.default_rng(seed)
    monkeypatch.setattr(predecessors, "GIVING", seed)
    monkeypatch.setattr(predecessors, "WORTH", worth)
    launch = EmulatedKernels.launch
    told = []

    def launched(kernels, name, grid, block, *arguments, cooperative=False):
        if name == "weigh_codes":
            counts = arguments[1]
            few = generator.random(2 * CODES) < 0.1
            counts[:] = generator.integers(0, np.repeat([60, 900], CODES)) * few
            arguments = (1 + seed, *arguments[1:])
        launch(kernels, name, grid, block, *arguments, cooperative=cooperative)
        if name == "weigh_codes":
            assert arguments[-2].tolist() == reckoned(counts, 1 + seed, seed, worth)
            told.append(int(arguments[-2].sum()))

    monkeypatch.setattr(EmulatedKernels, "launch", launched)
    with graph_of(medley()) as graph, tuned():
        check(LEVELS, graph, 1, seed)
    assert len(told) == 1
    assert (told[0] > 0) == (worth == 0)


def test_without_room_all_arcs_are_read(monkeypatch):
    notes = Notes(monkeypatch)
    with graph_of(medley()) as graph, tuned(), emulated():
        ws.run(ws.BFS, graph, start=0, engine="cuda", predecessors=False)  # has been built
        monkeypatch.setattr(device(), "memory", 100)
        found = ws.run(ws.BFS, graph, start=0, engine="cuda")
    assert "choose" in notes.names
    assert not {"choose_of_least", "list_least"} & set(notes.names)
    with graph_of(medley()) as graph:
        expected = ws.run(ws.BFS, graph, start=0, engine="python")
    assert np.array_equal(
        np.asarray(found.arrays["predecessor"].numbers),
        np.asarray(expected.arrays["predecessor"].numbers),
    )


@pytest.mark.parametrize(
    ("program", "given"),
    [(ws.SSSP, {"source": 0}), (ws.WidestPath, {"source": 0})],
    ids=lambda one: getattr(one, "name", ""),
)
def test_programs_that_read_arcs(program, given, monkeypatch):
    """They do not settle, or take something from edges: every arc may matter."""
    notes = Notes(monkeypatch)
    with graph_of(medley()) as graph, tuned(), emulated():
        ws.run(program, graph, **planned(engine="cuda", **given))
    assert "choose" in notes.names
    assert "choose_of_least" not in notes.names


def test_all_arcs_are_read_the_first_time(monkeypatch):
    """What saves it from then on is not made for a graph that is searched once."""
    monkeypatch.setattr(device_graph, "ASKED_FIRST", 1)
    notes = Notes(monkeypatch)
    with graph_of(medley()) as graph, tuned(), emulated():
        first, second = (ws.run(ws.BFS, graph, start=0, engine="cuda") for _ in range(2))
        pd.testing.assert_frame_equal(first.frame, second.frame)
    assert set(notes.names[: notes.names.index("list_least")]) == {"choose"}
    assert notes.names.count("choose_of_least") == 1


def test_few_arcs_are_all_read(monkeypatch):
    notes = Notes(monkeypatch)
    monkeypatch.setattr(predecessors, "MANY_ARCS", 1 << 24)
    with graph_of(medley()) as graph, tuned(), emulated():
        ws.run(ws.BFS, graph, start=0, engine="cuda")
    assert set(notes.names) == {"choose"}


def at_the_start(vertex, p, own):
    return 0 if own.start else 2**30


def a_hop_on(src):
    return src.level + 1


def the_nearer(old, gathered):
    return min(old.level, gathered)


def is_reached(state):
    return state.level < 2**30


@ws.vertex_program
class Guarded:
    """Hops; some vertices ignore late messages."""

    level: ws.int32
    before: ws.predecessor
    start: ws.vertex_set
    deaf: ws.vertex_set

    init = at_the_start
    compute = a_hop_on
    combine = min
    asynchronous = True
    apply = the_nearer
    settled = is_reached

    def active(old, new):
        return new.level < old.level and not (new.deaf and new.level > 1)


@ws.vertex_program
class Renamed:
    """As `Guarded`, but what `active` reads of a vertex has another name than the vertex's field."""

    level: ws.int32
    before: ws.predecessor
    start: ws.vertex_set
    deaf: ws.vertex_set

    init = at_the_start
    compute = a_hop_on
    combine = min
    asynchronous = True
    apply = the_nearer
    settled = is_reached

    def active(old, new):
        one = new
        return one.level < old.level and not (one.deaf and one.level > 1)


@ws.vertex_program
class Plain:
    """Hops without an `active`."""

    level: ws.int32
    before: ws.predecessor
    start: ws.vertex_set

    init = at_the_start
    compute = a_hop_on
    combine = min
    asynchronous = True
    apply = the_nearer
    settled = is_reached


def test_a_program_may_leave_out_active():
    assert reads_states_alone(Plain, "active")
    with graph_of(medley()) as graph, tuned():
        check(Case("plain", Plain, {"start": [0]}), graph, 1)


@pytest.mark.parametrize("program", [Guarded, Renamed], ids=lambda one: one.name)
def test_programs_that_compare_more_than_states(program, monkeypatch):
    assert reads_states_alone(ws.BFS, "active")
    assert not reads_states_alone(program, "active")
    notes = Notes(monkeypatch)
    with graph_of(medley()) as graph, tuned():
        check(Case(program.name, program, {"start": [0], "deaf": [2, 6, 7]}), graph, 1)
    assert "choose_of_least" not in notes.names


def test_codes_are_bytes():
    assert np.iinfo(np.uint8).max == CODES - 1
