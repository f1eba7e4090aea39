"""Predecessors on several ranks with GPUs, in the emulator: ties across boundaries, reads, and messages."""

from __future__ import annotations

import math
import threading
from collections import defaultdict

import numpy as np
import pytest
from cuda_cases import Case, graph_of
from emulator.device import EmulatedKernels, emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import planned
from shapes import random_edges
from test_cuda_frontier import tuned
from test_cuda_partitioned_frontier import check
from test_device_exchange import Silent
from thread_ranks import over_links, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import exchange as device_exchange
from cugraph_ws.backends.cuda import predecessors, schedule
from cugraph_ws.backends.cuda.exchange import DeviceRankExchange
from cugraph_ws.execution import driver
from cugraph_ws.kernels.cuda.layout import AHEAD, CODELESS, COUNT, STEPS

DIRECTIONS = ("auto", "push", "pull", "gather")
ALONG_TIES = {"TIGHT_FROM": 0, "TIGHT_PART": 1}  # of small graphs with many of them, too
# Who does a level: one block alone, all of them, or whichever suits it; and along which arcs.
ALONE = {
    "alone": {},
    "all": {"ALONE": -1},
    "either": {"ALONE": 2, "ALONE_ARCS": 9},
    "along ties": ALONG_TIES,
}
WIDEST = Case("widest paths", ws.WidestPath, {"source": [0]})
SHORTEST = Case("shortest paths", ws.SSSP, {"source": [0]})
# Of 12 vertices on two ranks or three, in which order a chain goes through them.
CHAINS = {
    "a border with every link": [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11],
    "there and back": [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11],
    "over once": list(range(12)),
    "over once, against the numbers": [0, *range(11, 0, -1)],
    "one at last": [0, 2, 3, 1, 4, 5, 7, 6, 9, 8, 11, 10],
}

LINKS = slice(None, -1), slice(1, None)  # of a chain: sources and destinations


@pytest.fixture(autouse=True)
def several_blocks_and_looks(monkeypatch):
    monkeypatch.setattr(predecessors, "FRONTIER_BLOCK", 64)
    monkeypatch.setattr(schedule, "BLOCK", 64)  # a row of many arcs has a whole block
    monkeypatch.setattr(device_exchange, "LEVELS", 2)


def chain(order, weight=0.0):
    order = np.asarray(order)
    return Edges(order[:-1], order[1:], len(order), np.full(len(order) - 1, weight))


def ties(n, m, seed, kind):
    """Random edges of few weights; kind is "i" or "f"."""
    edges = random_edges(n, m, seed=seed)
    return Edges(edges.source, edges.destination, n, (np.arange(m) % 3 // 2).astype(kind + "8"))


@ws.vertex_program
class Threes:
    """Hops that count three: there are more levels than supersteps."""

    level: ws.nullable(ws.int32, math.inf)
    predecessor: ws.predecessor
    start: ws.vertex_set

    def init(vertex, p, own):
        return 0 if own.start else math.inf

    def starts(state):
        return state.level == 0

    def compute(src):
        return src.level + 3

    combine = min
    asynchronous = True  # a vertex is reached once, by equal messages

    def apply(old, gathered):
        return min(old.level, gathered)

    def active(old, new):
        return new.level < old.level

    def settled(state):
        return state.level < 2**30


@ws.vertex_program
class Stairs:
    """Steps of two: vertices of two levels lead to the same."""

    level: ws.nullable(ws.int32, math.inf)
    predecessor: ws.predecessor
    low: ws.vertex_set
    high: ws.vertex_set

    def init(vertex, p, own):
        return 0 if own.low else 1 if own.high else math.inf

    def starts(state):
        return state.level < 2

    def compute(src):
        return src.level // 2 * 2 + 2

    combine = min
    asynchronous = True  # a vertex is reached once, by equal messages

    def apply(old, gathered):
        return min(old.level, gathered)

    def active(old, new):
        return new.level < old.level

    def settled(state):
        return state.level < 2**30


class Notes:
    """The kernels that ranks launch, and the tree updates that they send."""

    def __init__(self, monkeypatch):
        self.names = defaultdict(list)  # by rank's thread
        self.listed = defaultdict(list)  # vertices and ghosts from which levels of branches started
        self.arcs = defaultdict(list)  # the number of their arcs, an argument of the launch
        self.expected_arcs = defaultdict(list)
        self.codeless = (
            set()
        )  # whether most of the states reached had no code, by launch of `choose`
        self.told = defaultdict(list)  # by rank, of each time: by peer, how many vertices
        launch = EmulatedKernels.launch

        def launched(kernels, name, grid, block, *arguments, cooperative=False):
            me = threading.get_ident()
            self.names[me].append(name)
            if name == "choose":
                self.codeless.add(bool(arguments[-1][CODELESS] > 0))
            if name == "grow_forward":
                (offsets, _), lists, control = arguments[3], arguments[-5], arguments[-1]
                count = int(control[COUNT])
                rows = lists[int(control[STEPS]) % 2][:count].copy()
                self.listed[me].append(rows)
                self.arcs[me].append(int(control[AHEAD]))
                self.expected_arcs[me].append(int((offsets[rows + 1] - offsets[rows]).sum()))
            launch(kernels, name, grid, block, *arguments, cooperative=cooperative)

        def noted(post):
            def told(exchange, going, coming):
                self.told[exchange._comm.rank].append([len(one) for one in going])
                post(exchange, going, coming)

            return told

        monkeypatch.setattr(EmulatedKernels, "launch", launched)
        monkeypatch.setattr(
            DeviceRankExchange, "_exchange_attached", noted(DeviceRankExchange._exchange_attached)
        )

    def launches(self, name):
        return sum(names.count(name) for names in self.names.values())


# -------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("alone", ALONE)
@pytest.mark.parametrize("case", [WIDEST, SHORTEST], ids=lambda case: case.name)
def test_many_ties(case, alone, monkeypatch):
    """Of weights that are integers, or floats."""
    turn = list(ALONE).index(alone)
    kind = "if"[(turn + (case is WIDEST)) % 2]
    for name, value in ALONE[alone].items():
        monkeypatch.setattr(predecessors, name, value)
    place = 2 * turn + (kind == "f")
    with graph_of(ties(24, 110, 6 + place, kind)) as graph, tuned():
        notes = Notes(monkeypatch)
        check(case, graph, 2 + place % 2, seed=place)
    assert notes.launches("grow_forward") > 0


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    "case",
    [
        Case("levels", ws.BFS, {"start": [0]}),
        Case("levels by threes", Threes, {"start": [0, 4]}),
        Case("levels by twos", Stairs, {"low": [0, 3], "high": [1, 7, 9]}),
    ],
    ids=lambda case: case.name,
)
def test_levels_of_any_kind(case, ranks):
    """By ones; by more than there are supersteps; two that lead to the same."""
    with graph_of(random_edges(40, 90, seed=8)) as graph, tuned():
        found = check(case, graph, ranks, seed=ranks)
    assert found.iterations > 3


@pytest.mark.parametrize("block", [64, 128], ids=["whole blocks", "blocks cut to half"])
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("tied", [False, True])
def test_rows_of_all_lengths(tied, ranks, block, monkeypatch):
    """Each class of in-degrees has its number of threads; of each row the least number is chosen.

    By levels everyone in a row is better than who has it, by widths that are all alike everyone is as good.
    Blocks have 64 threads; if 128 are asked for, that is as if a kernel took too many registers.
    """
    monkeypatch.setattr(schedule, "BLOCK", block)
    degrees = np.r_[1:36, 62:67, 126:131, 138:143]
    for name, value in {"WIDEST": 140, **(ALONG_TIES if tied else {})}.items():
        monkeypatch.setattr(predecessors, name, value)
    generator = np.random.default_rng(ranks)
    most = degrees[-1]
    names = generator.permutation(1 + most + len(degrees))
    start, middle, ends = names[0], names[1 : most + 1], names[most + 1 :]
    rows = [generator.choice(middle, degree, replace=False) for degree in degrees]
    # From others that are as far they are reached no sooner.
    aside = generator.choice(ends, (40, 2))
    source = np.concatenate([np.full(most, start), *rows, aside[:, 0]])
    destination = np.concatenate([middle, np.repeat(ends, degrees), aside[:, 1]])
    case = Case("levels", ws.BFS, {"start": [int(start)]})
    if tied:
        case = Case("widths", ws.WidestPath, {"source": [int(start)]})
    weights = np.ones(len(source))
    with graph_of(Edges(source, destination, len(names), weights)) as graph, tuned():
        notes = Notes(monkeypatch)
        found = check(case, graph, ranks)
    assert notes.launches("list_tight_arcs") == tied * ranks
    chosen = found.frame.set_index("vertex")["predecessor"]
    for end, row in zip(ends, rows, strict=True):
        if end in chosen.index:  # with the first rank
            assert chosen[end] == row.min()
    assert len(chosen) == len(names) or ranks > 1


STATES = {
    "integers": [1, 2, 252, 253, 254, 255, 256, 2**40],
    "mostly small whole numbers": [1.0, 2.0, 3.0, 4.0, 5.0, 252.0, 253.0, 254.0, 0.5, 2.0**40],
    "mostly others": [1.0, 253.0, 254.0, 255.0, 0.5, 1.25, 252.5, 2.0**40],
}


@pytest.mark.parametrize("case", [WIDEST, SHORTEST], ids=lambda case: case.name)
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("kind", STATES)
def test_states_with_codes_and_without(kind, case, ranks, monkeypatch):
    """A byte says whole states from 0 to 253 and infinite ones; others are read whole."""
    states = np.array(STATES[kind])
    if case is WIDEST:
        states = np.array([-3, *states])
    hubs, leaves = np.arange(1, 2 * len(states) + 1), np.arange(len(states)) + 2 * len(states) + 1
    names = np.concatenate([[0], np.random.default_rng(ranks).permutation(leaves[-1]) + 1])
    above = np.repeat(states, 2)  # of pairs of hubs, one of which is chosen by their leaf
    below = np.ones_like(above) if case is SHORTEST else above - 1
    source, destination = np.concatenate([0 * hubs, hubs]), np.concatenate([hubs, leaves.repeat(2)])
    lengths = np.concatenate([above, below])
    with graph_of(Edges(names[source], names[destination], len(names), lengths)) as graph, tuned():
        notes = Notes(monkeypatch)
        check(case, graph, ranks)
        found = case.run(graph, engine="python").arrays
    values = found["distance" if case is SHORTEST else "width"].values[names]
    assert np.array_equal(values[hubs], above)
    assert np.array_equal(
        found["predecessor"].numbers[names[leaves]], names[hubs].reshape(-1, 2).min(1)
    )
    if ranks == 1 and kind != "integers":
        assert notes.codeless == {kind == "mostly others"}


@pytest.mark.parametrize(
    ("way", "direction"),
    [*((way, "auto") for way in CHAINS), *zip(CHAINS, DIRECTIONS[1:], strict=False)],
)
def test_a_chain_across_boundaries(way, direction, monkeypatch):
    """No link has a weight, so that there is a level of the forest for each."""
    ranks = 2 + list(CHAINS).index(way) % 2
    if direction in ("auto", "push") and ranks == 2:
        for name, value in ALONG_TIES.items():
            monkeypatch.setattr(predecessors, name, value)
    order = CHAINS[way]
    with graph_of(chain(order)) as graph, tuned():
        found = check(SHORTEST, graph, ranks, direction=direction)
        if direction != "auto":
            check(WIDEST, graph, 5 - ranks, direction=direction)
    first = found.arrays["predecessor"].numbers
    before = dict(zip(order[1:], order[:-1], strict=True))
    assert first.tolist() == [before.get(vertex, -1) for vertex in range(len(first))]


@pytest.mark.parametrize(
    ("cuts", "direction"),
    [
        ((0, 0, 12, 24), "auto"),
        ((0, 24, 24, 24), "gather"),
        ((0, 9, 9, 24), "auto"),
        ((0, 0, 0, 24), "gather"),
    ],
)
def test_ranks_without_vertices(cuts, direction):
    with graph_of(ties(24, 110, 3, "f")) as graph, tuned():
        check(WIDEST, graph, 3, cuts, direction=direction)
        check(SHORTEST, graph, 3, cuts, direction=direction)


def test_vertices_without_arcs_to_others():
    """The second rank's vertices wait for each other, the third's for none."""
    edges = Edges(np.array([0, 2, 3, 4, 6]), np.array([1, 3, 4, 2, 7]), 9, np.zeros(5))
    with graph_of(edges) as graph, tuned():
        check(Case("", ws.SSSP, {"source": [0, 2, 6]}), graph, 3, (0, 2, 6, 9))


@pytest.mark.parametrize("rank", range(3))
def test_only_one_rank_waits(rank, monkeypatch):
    """Paths tie within one rank's shard; it receives updates only of vertices that do not wait."""
    source, target = np.arange(11), np.arange(1, 12)
    weight = np.where(target // 4 == rank, 0.0, 1.0)
    with graph_of(Edges(source, target, 12, weight)) as graph, tuned():
        notes = Notes(monkeypatch)
        check(SHORTEST, graph, 3)
    assert sum(sum(arcs) > 0 for arcs in notes.arcs.values()) == 1


def test_no_vertex_waits(monkeypatch):
    """Then nothing is told, and no branch is begun."""
    with graph_of(chain(range(12), 1.0)) as graph, tuned():
        notes = Notes(monkeypatch)
        check(SHORTEST, graph, 3)
    assert notes.launches("start_trees") == 3
    assert not notes.told
    for name in ("grow", "grow_forward", "list_attached", "mark_levels"):
        assert notes.launches(name) == 0


@settings(deadline=None, max_examples=15)
@given(
    ends=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40),
    inner=st.lists(st.integers(0, 10), min_size=1, max_size=2),
    seed=st.integers(0, 9),
    direction=st.sampled_from(DIRECTIONS),
    alone=st.sampled_from(list(ALONE)),
    kind=st.sampled_from("if"),
)
def test_random_partitions(ends, inner, seed, direction, alone, kind):
    """Weights of two kinds, so that most paths tie."""
    source, destination = np.array(ends).T
    edges = Edges(source, destination, 10, ((source + destination) % 2).astype(kind + "8"))
    cuts = (0, *sorted(inner), 10)
    case = Case("", (ws.SSSP, ws.WidestPath)[seed % 2], {"source": [seed]})
    with pytest.MonkeyPatch.context() as patch, graph_of(edges) as graph, tuned():
        patch.setattr(predecessors, "FRONTIER_BLOCK", 64)
        for name, value in ALONE[alone].items():
            patch.setattr(predecessors, name, value)
        check(case, graph, len(cuts) - 1, cuts, seed=seed, direction=direction)


# --------------------------------------------------------------------------- reads and messages


@pytest.mark.parametrize("most", [1, 1000])
def test_branches_follow_tight_arcs_into_waiting_vertices(most, monkeypatch):
    """Or all arcs, where there are more of those than there is room for."""
    monkeypatch.setattr(predecessors, "TIGHT_FROM", 0)
    monkeypatch.setattr(predecessors, "TIGHT_PART", most)
    edges, followed = ties(60, 300, 5, "f"), []
    launch = EmulatedKernels.launch

    def launched(kernels, name, grid, block, *arguments, cooperative=False):
        if name == "grow_forward":
            numbers, (offsets, indices), sure = arguments[2], arguments[3], arguments[-7]
            sources = np.repeat(numbers, np.diff(offsets))
            followed.append((sure, sorted(zip(sources, numbers[indices], strict=True))))
        launch(kernels, name, grid, block, *arguments, cooperative=cooperative)

    monkeypatch.setattr(EmulatedKernels, "launch", launched)
    with graph_of(edges) as graph, tuned():
        found = check(WIDEST, graph, 1)
    width = found.arrays["width"].values
    before, after = width[edges.source], width[edges.destination]
    tight = (np.minimum(before, edges.weight) == after) & np.isfinite(after)
    waits = np.isfinite(width)
    waits[edges.destination[tight & (before > after)]] = False
    hold = tight & waits[edges.destination]
    if most > 1:
        hold[:] = True
    expected = sorted(zip(edges.source[hold], edges.destination[hold], strict=True))
    assert hold.any()
    assert followed == [(int(most == 1), expected)]


@pytest.mark.parametrize("ranks", [2, 3])
def test_each_row_is_read_once(ranks, monkeypatch):
    """Those attached, and ghosts of which that was told, start one level each."""
    with graph_of(ties(30, 150, 2, "f")) as graph, tuned():
        notes = Notes(monkeypatch)
        check(WIDEST, graph, ranks)
    assert notes.launches("grow") == 0
    assert notes.launches("mark_levels") == notes.launches("list_attached") == ranks
    assert notes.arcs == notes.expected_arcs
    for listed in notes.listed.values():
        assert sum(len(rows) > 0 for rows in listed) > 1
        rows = np.concatenate(listed)
        assert len(rows) > 30 // ranks, "with ghosts"
        assert len(np.unique(rows)) == len(rows)


def test_a_finished_rank_sends_nothing_twice(monkeypatch):
    """The first rank has no waiting vertices while the second has half of its chain left."""
    with graph_of(chain(range(12))) as graph, tuned():
        notes = Notes(monkeypatch)
        check(SHORTEST, graph, 2)
    assert notes.arcs == notes.expected_arcs
    for listed in notes.listed.values():
        rows = np.concatenate(listed)
        assert len(np.unique(rows)) == len(rows)


def test_trees_grow_without_rows_of_out_neighbours(monkeypatch):
    with graph_of(ties(24, 110, 6, "f")) as graph, tuned():
        notes = Notes(monkeypatch)
        check(WIDEST, graph, 2, direction="pull")
    assert notes.launches("grow_forward") == 0
    assert notes.launches("grow") > 0


def drop_after(levels, monkeypatch):
    """Read the attached vertices after this many levels, for either way along tight arcs."""
    monkeypatch.setattr(predecessors, "DROPPED", levels)
    monkeypatch.setattr(device_exchange, "LEVELS", levels)


def last_look(level, dropped):
    """Return the first level of vertices that are still sent: at first, then every `DROPPED` levels."""
    return 0 if level == 0 else 1 + dropped * ((level - 1) // dropped)


@pytest.mark.parametrize(
    ("direction", "dropped"), [*((one, 1) for one in DIRECTIONS), ("auto", 2), ("auto", 4)]
)
def test_attached_vertices_are_not_sent_again(direction, dropped, monkeypatch):
    """Each vertex of a chain is the other rank's ghost, and one is attached a level."""
    drop_after(dropped, monkeypatch)
    order = CHAINS["a border with every link"]
    with graph_of(chain(order)) as graph, tuned():
        notes = Notes(monkeypatch)
        check(SHORTEST, graph, 2, direction=direction)
    # The last has no successor; once it is attached no vertex waits.
    expected = {
        rank: [
            sum(place >= last_look(level, dropped) for place in range(rank, 11, 2))
            for level in range(24)  # more than there are
        ]
        for rank in range(2)
    }
    for rank in range(2):
        told = [sum(one) for one in notes.told[rank]]
        assert told == expected[rank][: len(told)]
        assert dropped > 1 or sum(expected[rank][len(told) :]) == 0
        assert told[0] > told[-1]


def levels_of(found, edges):
    """Return the level of each vertex: of ties one more than their predecessor's."""
    width = np.concatenate([one.arrays["width"].values for one in found])
    before = np.concatenate([one.arrays["predecessor"].numbers for one in found])
    levels = np.zeros(edges.n, np.int64)
    for _ in range(edges.n):
        tied = (before >= 0) & (width[before] == width)
        levels = np.where(tied, levels[before] + 1, 0)
    return levels


@pytest.mark.parametrize("dropped", [1, 4])
@pytest.mark.parametrize("ranks", [2, 3])
def test_messages_shrink_level_by_level(ranks, dropped, monkeypatch):
    """At first for the whole boundary, then for vertices that the last check found unattached."""
    drop_after(dropped, monkeypatch)
    edges = ties(30, 60, 6, "f")
    cuts = [30 * rank // ranks for rank in range(ranks + 1)]
    owner = np.repeat(np.arange(ranks), np.diff(cuts))
    with graph_of(edges) as graph, tuned(), emulated():
        notes = Notes(monkeypatch)
        found = over_links(
            ranks,
            lambda comm: ws.run(ws.WidestPath, share(graph, comm, cuts), source=[0], engine="cuda"),
        )
    levels = levels_of(found, edges)
    assert levels.max() > 2
    crossing = np.column_stack([edges.source, owner[edges.destination]])
    read, readers = np.unique(crossing[owner[edges.source] != owner[edges.destination]], axis=0).T
    for rank in range(ranks):
        for level, told in enumerate(notes.told[rank]):
            left = (owner[read] == rank) & (levels[read] >= last_look(level, dropped))
            assert told == np.bincount(readers[left], minlength=ranks).tolist()
    assert sum(notes.told[0][-1]) < sum(notes.told[0][0])


def test_the_host_looks_after_many_levels(monkeypatch):
    """Then it waits once, for all ranks' counts; it reads nothing else.

    Of two chains over the border one begins on each side, so that every level attaches a vertex there.
    """
    monkeypatch.setattr(driver, "StopVote", Silent)
    monkeypatch.setattr(device_exchange, "LEVELS", 4)
    waits, downloads = {}, {}
    for length in (4, 4, 6):  # the first time a program is looked at together
        sides = np.arange(4 * length).reshape(2, 2, length)  # by rank, then by chain
        orders = [sides[:, 0].T.ravel(), sides[::-1, 1].T.ravel()]
        source, target = (np.concatenate([one[ends] for one in orders]) for ends in LINKS)
        edges = Edges(source, target, 4 * length, np.zeros(len(source)))
        given = {"source": [int(one[0]) for one in orders], "direction": "push"}
        with graph_of(edges) as graph, emulated() as device, tuned():

            def work(comm, graph=graph, given=given):
                ws.run(ws.SSSP, share(graph, comm), **planned(engine="cuda", **given))
                return comm.links.waits

            waits[length], downloads[length] = over_links(2, work), device.downloads
    # A superstep is waited for, and seven levels are twice four, eleven three times.
    assert waits[6] == [one + 4 + 1 for one in waits[4]]
    assert downloads[6] == downloads[4]
