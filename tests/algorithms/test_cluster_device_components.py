"""Components on ranks' GPUs, emulated: the labels sent in each round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import oracles
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, random_edges, rmat, undirected
from test_cluster_device_loops import Slower, path
from thread_ranks import ThreadCommunicator, on_ranks, over_links, share
from verify import Array, Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import components
from cugraph_ws.algorithms.components import SAMPLED
from cugraph_ws.backends.cpu.loops import shared_ends
from cugraph_ws.backends.cuda import grouping


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with emulated():
        yield


@pytest.fixture
def never_contracted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "FEWEST", 1 << 30)


def driven(
    edges: Edges,
    cuts: Sequence[int],
    run_ranks: Callable[..., Any] = on_ranks,
    *,
    turned: bool = False,
    on_device: bool = True,
) -> Any:
    """Return the labels, and the steps that every rank reports; perhaps with all rows at hand."""

    def work(comm: Any) -> Any:
        loop = ws.WeaklyConnectedComponents()
        shard = share(graph, comm, cuts)
        if turned:
            _ = shard.laid_out()[0].csr
        loop.start(shard, on_device=on_device)
        steps = []
        while not loop.converged:
            steps.append(loop.step())
        return np.asarray(loop.columns()["labels"].numbers), steps

    with build(edges) as graph:
        ranks = run_ranks(len(cuts) - 1, work)
    assert all(steps == ranks[0][1] for _, steps in ranks)
    return np.concatenate([labels for labels, _ in ranks]), ranks[0][1]


class Oracle:
    """What ranks hold, and what their trees are called; rounds are done vertex by vertex.

    Attributes
    ----------
    ends : dict of (rank, rank) to ndarray
        What two ranks both hold and one of them owns.
    trees, labels : list of ndarray
        Each rank's, by vertex.
    """

    def __init__(self, edges: Edges, cuts: Sequence[int]) -> None:
        source, destination, _ = edges.arcs()
        owner = np.searchsorted(cuts, np.arange(edges.n), side="right") - 1
        held, self.trees = [], []
        for rank in range(len(cuts) - 1):
            own = owner[destination] == rank
            mine = Edges(source[own], destination[own], edges.n)
            held.append((owner == rank) | np.isin(np.arange(edges.n), mine.source))
            self.trees.append(oracles.components(mine))
        self.labels = [one.copy() for one in self.trees]
        self.ends = {
            (a, b): np.flatnonzero(held[a] & held[b] & ((owner == a) | (owner == b)))
            for a, b in combinations(range(len(held)), 2)
        }

    def not_settled(self) -> dict[tuple[int, int], Array]:
        return {
            (a, b): ends[(self.labels[a][ends] != 0) | (self.labels[b][ends] != 0)]
            for (a, b), ends in self.ends.items()
        }

    def bytes_at_first(self, width: int) -> int:
        return sum(
            4 * -(-len(ends) // 32) + width * np.count_nonzero(self.labels[rank][ends])
            for pair, ends in self.ends.items()
            for rank in pair
        )

    def round(self) -> int:
        """Let every label go one rank farther; return how many ends may be known better."""
        shown = [one.copy() for one in self.labels]
        for a, b in self.ends:
            for here, there in ((a, b), (b, a)):
                ends = self.ends[a, b]
                np.minimum.at(self.labels[here], self.trees[here][ends], shown[there][ends])
        self.labels = [
            np.where(trees >= 0, labels[trees], labels)
            for trees, labels in zip(self.trees, self.labels, strict=True)
        ]
        return sum(
            np.count_nonzero((now != shown[here][ends]) | (now != shown[there][ends]))
            for (a, b), ends in self.ends.items()
            for here, there in ((a, b), (b, a))
            for now in [self.labels[here][ends]]
        )

    def steps(self, width: int = 4) -> list[tuple[int, int]]:
        """Return what is active after each round, and the bytes that it takes."""
        kept = 2 * sum(map(len, self.not_settled().values()))
        made = [(0, self.bytes_at_first(width))]
        made[0] = self.round(), made[0][1]
        while made[-1][0]:
            made.append((self.round(), width * kept))
        return made


def moved(edges: Edges, by: int) -> Edges:
    """Return the same edges `by` vertices farther up; those before have none."""
    return Edges(edges.source + by, edges.destination + by, edges.n + by, None, edges.directed)


def chain(size: int, block: int) -> Edges:
    """Return edges each of which joins ranks next to each other: 0 goes from the first to the last."""
    firsts = block * np.arange(size)
    return Edges(firsts[1:], firsts[:-1], block * size)


def beside(one: Edges, other: Edges) -> Edges:
    """Return the edges of both, of which the other ones' are on odd vertices."""
    n = 2 * max(one.n, other.n)
    return Edges(
        np.concatenate([2 * one.source, 2 * other.source + 1]),
        np.concatenate([2 * one.destination, 2 * other.destination + 1]),
        n,
    )


def even(n: int, size: int) -> list[int]:
    return [n * rank // size for rank in range(size + 1)]


GIANT = rmat(6, 4, seed=2)
CASES: dict[str, tuple[Edges, list[int]]] = {
    "giant": (GIANT, even(64, 2)),
    "giant, three ranks": (GIANT, even(64, 3)),
    "giant, undirected": (undirected(GIANT), even(64, 3)),
    "giant without 0": (moved(GIANT, 3), even(67, 3)),
    "0 in a small component": (
        Edges(
            np.append(GIANT.source + 2, 0), np.append(GIANT.destination + 2, 1), GIANT.n + 2
        ),
        even(66, 3),
    ),
    "0 in a small component across ranks": (
        Edges(
            np.append(GIANT.source + 1, 0), np.append(GIANT.destination + 1, 65), GIANT.n + 2
        ),
        even(66, 3),
    ),
    "far": (chain(4, 5), even(20, 4)),
    "far, beside the giant": (beside(GIANT, chain(4, 16)), even(128, 4)),
    "far from 0, beside others": (beside(chain(4, 16), GIANT), even(128, 4)),
    "ranks without vertices": (GIANT, [0, 0, 20, 20, 64, 64]),
    "ranks without boundaries": (Edges(np.array([1, 5]), np.array([0, 2]), 9), [0, 3, 6, 9]),
    "a whole byte": (Edges(np.arange(8, 16), np.zeros(8, np.int64), 16), [0, 8, 16]),
    "a byte and a bit": (Edges(np.arange(8, 17), np.zeros(9, np.int64), 17), [0, 8, 17]),
    "one rank": (GIANT, [0, 64]),
    "two components": (SHAPES["two components"], [0, 2, 4, 7]),
} | {
    f"sparse {seed}": (
        random_edges(40, 15 + 8 * seed, seed),
        [0, *np.sort(np.random.default_rng(seed).integers(0, 41, 2 + seed % 2)).tolist(), 40],
    )
    for seed in range(6)
}  # fmt: skip


@pytest.mark.usefixtures("never_contracted")
@pytest.mark.parametrize("on_device", [True, False], ids=["gpu", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_labels_sent_in_each_round(name: str, on_device: bool) -> None:
    edges, cuts = CASES[name]
    labels, steps = driven(edges, cuts, on_device=on_device)
    oracle = Oracle(edges, cuts)
    left = 2 * sum(map(len, oracle.not_settled().values()))
    steps = steps if on_device else steps[SAMPLED:]
    assert [(one.active, one.bytes_sent) for one in steps] == oracle.steps()
    assert {one.edges for one in steps[1:]} <= {left}
    assert np.array_equal(labels, oracles.components(edges))


@pytest.mark.parametrize("part", [0.0, 0.003, 0.3, 1.0])
@pytest.mark.parametrize("few", [0, 8, 1 << 30])
def test_places_of_bits_that_are_set(
    few: int, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_ends, "FEW_BYTES", few)
    marks = np.random.default_rng(1).random(4096) < part
    bits = np.packbits(marks, bitorder="little").view(np.uint32)
    places = shared_ends._set_places(bits)
    assert places.dtype == np.int32
    assert np.array_equal(places, np.flatnonzero(marks))
    asked = np.arange(0, 4096, 3)
    assert np.array_equal(shared_ends._are_set(bits, asked), marks[asked])


@pytest.mark.parametrize("turned", [False, True], ids=["in-neighbours", "both"])
@pytest.mark.parametrize("name", CASES)
def test_largest_trees_that_ranks_show_each_other(
    name: str, turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The labels are the same, whichever vertices are taken for one component before they are linked."""
    monkeypatch.setattr(components, "LEAST_SHOWN", 0)
    edges, cuts = CASES[name]
    labels, _ = driven(edges, cuts, over_links, turned=turned)
    assert np.array_equal(labels, oracles.components(edges))


def test_ghosts_are_taken_into_the_largest_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 vertices that one rank joins, the other one joins few, and need not join the others."""
    ring, own = np.arange(300), np.arange(300, 340)
    rng = np.random.default_rng(1)
    seen = rng.integers(0, 300, 400)
    edges = Edges(
        np.concatenate([ring, own, seen]),
        np.concatenate([(ring + 1) % 300, np.roll(own, 1), rng.choice(own, 400)]),
        341,
    )
    inside: dict[int, list[int]] = {}

    def adopt(self: Any) -> None:
        before = count(self)
        usual(self)
        inside.setdefault(self._part.halo.comm.rank, []).append(count(self) - before)

    def count(loop: Any) -> int:
        tree = np.asarray(loop._forest._tree).view(np.uint8)
        return int(np.unpackbits(tree, bitorder="little")[: loop._part.size].sum())

    usual = ws.WeaklyConnectedComponents._show_trees
    monkeypatch.setattr(ws.WeaklyConnectedComponents, "_show_trees", adopt)
    labels, _ = driven(edges, [0, 300, 341])
    assert not inside  # so small a graph has no need of it
    monkeypatch.setattr(components, "LEAST_SHOWN", edges.n)
    labels, _ = driven(edges, [0, 300, 341])
    assert np.array_equal(labels, oracles.components(edges))
    assert inside[0] == [0, 0]
    assert sum(inside[1]) > len(np.unique(seen)) // 2


def test_a_giant_component_with_vertex_0_is_sent_as_bits() -> None:
    """What the cases are for: some finish nearly all vertices at once, some none, and some labels go far."""
    counts = {}
    for name, (edges, cuts) in CASES.items():
        oracle = Oracle(edges, cuts)
        ends, left = (sum(map(len, one.values())) for one in (oracle.ends, oracle.not_settled()))
        counts[name] = ends, left, len(oracle.steps())
    ends, left, _ = counts["giant"]
    assert left < ends / 4
    ends, left, _ = counts["giant without 0"]
    assert left == ends > 0
    ends, left, rounds = counts["far, beside the giant"]
    assert left < ends / 2
    assert rounds > 3
    assert counts["far"][2] > 3
    assert counts["a whole byte"][0] == 8
    assert counts["ranks without boundaries"][0] == 1


@pytest.mark.usefixtures("never_contracted")
@pytest.mark.parametrize("name", ["giant, three ranks", "far, beside the giant", "sparse 3"])
@pytest.mark.parametrize("way", ["links", "host"])
def test_the_same_labels_over_any_transport(name: str, way: str) -> None:
    def by_host(size: int, work: Callable[[Any], Any]) -> list[Any]:
        def slowly(comm: ThreadCommunicator) -> Any:
            return work(Slower(comm.rank, comm.size, comm._board, comm._barrier))

        return on_ranks(size, slowly)

    edges, cuts = CASES[name]
    labels, steps = driven(edges, cuts, over_links if way == "links" else by_host)
    assert [(one.active, one.bytes_sent) for one in steps] == Oracle(edges, cuts).steps()
    assert np.array_equal(labels, oracles.components(edges))


@pytest.mark.usefixtures("never_contracted")
@pytest.mark.parametrize("name", ["giant", "giant without 0", "far, beside the giant"])
@pytest.mark.parametrize("on_device", [True, False], ids=["gpu", "cpu"])
def test_limits_of_integers(name: str, on_device: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of bits, and on a GPU labels, are kept in 8 bytes."""
    monkeypatch.setattr(shared_ends, "NARROW", 0)
    monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    edges, cuts = CASES[name]
    labels, steps = driven(edges, cuts, on_device=on_device)
    steps, width = (steps, 8) if on_device else (steps[SAMPLED:], 4)
    assert [(one.active, one.bytes_sent) for one in steps] == Oracle(edges, cuts).steps(width)
    assert np.array_equal(labels, oracles.components(edges))


@pytest.mark.parametrize("shared", [0, 1 << 20], ids=["at length", "at once"])
@pytest.mark.parametrize(
    "edges",
    [beside(GIANT, path(64, 4)), beside(path(64, 4), GIANT)],
    ids=["a path beside the giant", "a path from 0"],
)
def test_contraction_after_ends_have_been_settled(
    edges: Edges, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(components, "FEWEST", 1)
    monkeypatch.setattr(components, "SHARED", shared)
    cuts = even(edges.n, 4)
    labels, steps = driven(edges, cuts)
    oracle = Oracle(edges, cuts)
    left, ends = (sum(map(len, one.values())) for one in (oracle.not_settled(), oracle.ends))
    assert 0 < left < ends
    assert [one.direction for one in steps[:2]] == ["link", "contract"]
    assert steps[0].bytes_sent == oracle.bytes_at_first(4)
    assert steps[1].bytes_sent > 8 * left  # labels of those, and pairs
    assert np.array_equal(labels, oracles.components(edges))


class Counting(ThreadCommunicator):
    """A rank that counts its exchanges."""

    exchanges = 0

    def allgather(self, value: Any) -> list[Any]:
        self.exchanges += 1  # exchanges among threads count too
        return super().allgather(value)


@pytest.mark.usefixtures("never_contracted")
@pytest.mark.parametrize("name", ["giant", "far, beside the giant"])
def test_ranks_exchange_twice_a_round(name: str) -> None:
    """To exchange labels, and to add up what is not known everywhere."""
    edges, cuts = CASES[name]

    def work(comm: ThreadCommunicator) -> Any:
        loop, exchanges = ws.WeaklyConnectedComponents(), []
        counting = Counting(comm.rank, comm.size, comm._board, comm._barrier)
        loop.start(share(graph, counting, cuts), on_device=True)
        while not loop.converged:
            before = counting.exchanges
            loop.step()
            exchanges.append(counting.exchanges - before)
        return exchanges

    with build(edges) as graph:
        for exchanges in on_ranks(len(cuts) - 1, work):
            assert set(exchanges) == {2}


def test_a_single_rank_exchanges_nothing() -> None:
    edges = random_edges(200, 150, seed=4)

    def work(comm: ThreadCommunicator) -> Any:
        loop = ws.WeaklyConnectedComponents()
        counting = Counting(comm.rank, comm.size, comm._board, comm._barrier)
        loop.start(share(graph, counting), on_device=True)
        before, steps = counting.exchanges, 0
        while not loop.converged:
            loop.step()
            steps += 1
        return np.asarray(loop.columns()["labels"].numbers), steps, counting.exchanges - before

    with build(edges) as graph:
        ((labels, steps, exchanges),) = on_ranks(1, work)
        np.testing.assert_array_equal(labels, oracles.components(edges))
    assert (steps, exchanges) == (1, 0)


def test_no_arcs_and_no_vertices() -> None:
    for name in ("empty", "all isolated"):
        edges = SHAPES[name]
        labels, steps = driven(edges, [0, edges.n // 2, edges.n])
        assert steps == []
        assert np.array_equal(labels, np.arange(edges.n))
