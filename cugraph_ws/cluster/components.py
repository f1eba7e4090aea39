"""Weakly connected components of a graph that a crew holds.

Each member joins what its own arcs join, with the loop for one machine, ghosts included.  What is
left is a graph of trees: a ghost joins the tree that it is in here with the one that it is in at
its owner's.  Most often that graph is small, and everyone solves it on its own.  A large one is
contracted first, in rounds: every tree is hooked under a neighbour that comes before it in an order
drawn anew for each round, and every chain of hooks is then made flat by jumps from member to member.
At least half of the trees with neighbours are gone after a round, on average, whatever the graph
(as in Borůvka's algorithm), so a long path takes a few rounds and not its length.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.adjacency import Adjacency, EdgeList
from cugraph_ws.algorithms.components import WeaklyConnectedComponents
from cugraph_ws.cluster.post import Post
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.run import Loop, Step
from cugraph_ws.saved_state import SavedState

__all__ = ["Contraction", "CrewComponents", "CrewLabels", "distinct", "solve"]

Integers = npt.NDArray[np.int64]

SHARED = 1 << 20  # pairs of trees that every member can hold at once


class CrewLabels:
    """What the loops on a share have in common: what they are called, and what they keep."""

    name = "weakly_connected_components"
    by_vertex = True
    by_vertex_state: tuple[str, ...] = ("labels",)
    by_arc_state: tuple[str, ...] = ()
    converged = False
    diverged = False
    max_iter: int | None = None
    tol: float | None = None
    _found: Integers | None = None  # labels that a checkpoint has brought

    def inputs(self) -> dict[str, Any]:
        """Return nothing: the graph alone decides."""
        return {}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return a vertex of its component for each own vertex, and whether it is the least."""
        labels = as_host(self._labels()).astype(np.int64, copy=False)
        return {"labels": labels, "converged": np.array([self.converged])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        state.integers("labels", graph.owned, 0, graph.number_of_vertices - 1)
        state.flags("converged", 1)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take the labels if they are those of the end; else nothing of them saves any work.

        Most of it is to link own arcs, and to whom they belong may be otherwise now.
        """
        if state["converged"][0]:
            self._found, self.converged = state["labels"].astype(np.int64), True

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the label of each own vertex."""
        return {"labels": VertexNumbers(self._labels())}

    def _labels(self) -> Any:
        return self._found if self._found is not None else self._labels_so_far()

    def _labels_so_far(self) -> Any:
        raise NotImplementedError


class CrewComponents(CrewLabels):
    """The loop on a share of a graph: links of own arcs, then rounds of contraction."""

    def on_cuda(self) -> Loop:
        """Return the loop for members that have a GPU each."""
        from cugraph_ws.cluster.device_components import DeviceCrewComponents

        return DeviceCrewComponents()

    def on_crew(self) -> CrewComponents:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Make every vertex a tree of its own."""
        self._shard: ShardGraph = graph
        self._post = Post(graph)
        self._found = None
        self._local = WeaklyConnectedComponents()
        self._local.start(_neighbours(_whole_rows(graph)))
        self._linking = True
        self._joined = Contraction(graph, self._post)
        self._root = graph.positions[: graph.owned]  # of each vertex's tree here, by its number
        self.converged = graph.number_of_arcs == 0

    def step(self) -> Step:
        """Link own arcs, or contract what the members' trees make of the graph."""
        if self._linking:
            return self._link()
        step = self._joined.step()
        self.converged = self._joined.pairs == 0
        return step

    def _labels_so_far(self) -> Integers:
        labels: Integers = self._joined.above[self._root - self._shard.low]
        return labels

    def _link(self) -> Step:
        read = 0 if self._local.converged else self._local.step().edges
        waiting, read, _ = self._post.totals(not self._local.converged, read)
        if waiting:
            return Step(self._shard.number_of_vertices, read, direction="link", filter="all")
        sent = self._meet()
        self._linking = False
        self.converged = self._joined.pairs == 0
        return Step(self._joined.pairs, read, direction="link", filter="all", bytes_sent=sent)

    def _meet(self) -> int:
        """Find which roots here and elsewhere are to be joined; return the bytes sent."""
        shard = self._shard
        here = self._local.columns()["labels"].numbers.astype(np.int64) + shard.low
        there = here.copy()  # a root is an own vertex: own ones come first, and no ghost is alone
        self._post.refresh(there)
        self._root = here[: shard.owned]
        return self._joined.begin(*distinct(here[shard.owned :], there[shard.owned :]))


class Contraction:
    """A graph of pairs of trees, joined in rounds; all of it together.

    Parameters
    ----------
    shard : ShardGraph
    post : Post
        What counts the bytes.

    Attributes
    ----------
    above : ndarray of int64, shape (owned,)
        By own vertex, for each that is a root, which vertex's component it has joined.
    pairs : int
        How many are left to be joined, of all members.
    """

    def __init__(self, shard: ShardGraph, post: Post) -> None:
        self._shard, self._post = shard, post
        self._own = np.arange(shard.low, shard.low + shard.owned)
        self.above = self._own.copy()
        self._ones = self._others = np.empty(0, np.int64)
        self.pairs = 0
        self._rounds = 0  # of hooks

    def begin(self, ones: Integers, others: Integers) -> int:
        """Take pairs of roots, by number, wherever they are; return the bytes sent so far."""
        self._ones, self._others = ones, others
        self.pairs, sent = self._post.totals(len(ones))
        return sent

    def step(self) -> Step:
        """Contract once, or for good if all that is left fits anywhere."""
        pairs = self.pairs
        if pairs <= SHARED:
            self._finish()
            self._ones = self._others = np.empty(0, np.int64)
        else:
            self._hook()
            self._jump()
            ends = self._post.fetch(self.above, np.concatenate([self._ones, self._others]))
            self._ones, self._others = distinct(*np.split(ends, 2))
            self._rounds += 1
        self.pairs, sent = self._post.totals(len(self._ones))
        if self.pairs == 0 and self._rounds:
            self._name()
        return Step(self.pairs, pairs, direction="contract", filter="pairs", bytes_sent=sent)

    def _hook(self) -> None:
        """Put every root with a neighbour that comes before it under the first of those."""
        # An odd factor permutes 64 bits: a new order, without ties, of all vertices.
        odd = np.random.default_rng(self._rounds).integers(1 << 63, dtype=np.uint64) * 2 + 1

        def rank(numbers: Integers) -> npt.NDArray[np.uint64]:
            return numbers.astype(np.uint64) * odd

        def best(hooked: Integers, under: Integers) -> tuple[Integers, Integers]:
            order = np.lexsort((rank(under), hooked))
            hooked, under = hooked[order], under[order]
            first = np.ones(len(hooked), np.bool_)
            first[1:] = hooked[1:] != hooked[:-1]
            return hooked[first], under[first]

        later = rank(self._ones) > rank(self._others)
        hooked = np.where(later, self._ones, self._others)
        under = np.where(later, self._others, self._ones)
        hooked, under = best(*self._post.deliver(*best(hooked, under)))
        self.above[hooked - self._shard.low] = under

    def _jump(self) -> None:
        """Let every root look past whom it is hooked under, until there is no one beyond."""
        moved = np.flatnonzero(self.above != self._own)
        beyond = 1
        while beyond:
            nearer = self.above[moved]
            self.above[moved] = self._post.fetch(self.above, nearer)
            shown = self._shard.crew.allgather(int(np.any(self.above[moved] != nearer)))
            beyond = sum(shown)

    def _finish(self) -> None:
        """Solve what is left, everyone the same: a label is the least root of those joined."""
        roots, least = solve(self._post, self._ones, self._others, self._shard.crew.size)
        earlier = np.flatnonzero(self.above != self._own)  # hooked in the rounds before
        low, high = np.searchsorted(roots, [self._shard.low, self._shard.low + self._shard.owned])
        self.above[roots[low:high] - self._shard.low] = least[low:high]
        if self._rounds:
            self.above[earlier] = self._post.fetch(self.above, self.above[earlier])

    def _name(self) -> None:
        """Replace every label by the least root that has it: some order chose it, not its number."""
        moved = np.flatnonzero(self.above != self._own)
        least = self._own.copy()
        labels, roots = self._post.deliver(self.above[moved], self._own[moved])
        np.minimum.at(least, labels - self._shard.low, roots)
        named = self._post.fetch(least, self.above[moved])
        self.above = least  # of those that no one has moved
        self.above[moved] = named


def solve(post: Post, ones: Integers, others: Integers, members: int) -> tuple[Integers, Integers]:
    """Join the pairs of all members, everyone all of them; together.

    Parameters
    ----------
    post : Post
    ones, others : ndarray of int64, shape (own pairs,)
    members : int

    Returns
    -------
    roots, least : ndarray of int64
        All that are in a pair, ascending, and for each the least of those that it is joined with.
    """
    boxes = [[ones, others]] * members
    ones, others = map(np.concatenate, zip(*post.exchange(boxes), strict=True))
    roots, ends = np.unique(np.concatenate([ones, others]), return_inverse=True)
    loop = WeaklyConnectedComponents()
    one, other = np.split(ends, 2)
    pairs = EdgeList(one, other, 0, np.empty(0, ends.dtype), len(roots))
    loop.start(_neighbours(pairs.rows_of_sources([], both=False)[0]))
    while not loop.converged:
        loop.step()
    return roots, roots[loop.columns()["labels"].numbers]


def distinct(ones: Any, others: Any) -> tuple[Any, Any]:
    """Return each pair of two different roots once, the smaller one first.

    Parameters
    ----------
    ones, others : array of int32 or int64, of the host or the device

    Returns
    -------
    low, high : array
        In the same place.
    """
    xp = np if isinstance(ones, np.ndarray) else device().xp
    low, high = xp.minimum(ones, others), xp.maximum(ones, others)
    if not len(low):
        return low, high
    order = xp.lexsort(xp.stack([high, low]))
    low, high = low[order], high[order]
    kept = low != high
    kept[1:] &= (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return low[kept], high[kept]


def _neighbours(rows: Adjacency) -> Any:
    """Return rows of neighbours as the loop for one machine reads them from a graph."""
    rows = Adjacency(rows.offsets.astype(np.int64, copy=False), rows.indices)
    # Directed: not every arc is in the rows of both of its ends.
    return SimpleNamespace(csc=rows, number_of_vertices=len(rows.offsets) - 1, directed=True)


def _whole_rows(shard: ShardGraph) -> Adjacency:
    """Return the own rows, and empty ones for the ghosts."""
    rows = shard.csc
    after = np.full(shard.length - shard.owned, rows.offsets[-1])
    return Adjacency(np.concatenate([rows.offsets, after]), rows.indices)
