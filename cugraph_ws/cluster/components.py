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
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.run import Loop, Step

__all__ = ["CrewComponents"]

Integers = npt.NDArray[np.int64]

SHARED = 1 << 20  # pairs of trees that every member can hold at once


class CrewComponents:
    """The loop on a share of a graph: links of own arcs, then rounds of contraction."""

    name = "weakly_connected_components"
    by_vertex = True
    by_vertex_state: tuple[str, ...] = ("labels",)
    by_arc_state: tuple[str, ...] = ()
    diverged = False
    max_iter: int | None = None
    tol: float | None = None

    def on_cuda(self) -> Loop:
        """Return the loop for a whole graph on the CUDA engine."""
        return WeaklyConnectedComponents().on_cuda()

    def on_crew(self) -> CrewComponents:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Make every vertex a tree of its own."""
        self._shard: ShardGraph = graph
        self._post = Post(graph)
        self._own = graph.positions[: graph.owned]
        self._found: Integers | None = None  # labels that a checkpoint has brought
        self._local = WeaklyConnectedComponents()
        self._local.start(_neighbours(_whole_rows(graph)))
        self._linking = True
        self._root = self._own  # of each vertex's tree here, by its number
        self._above = self._own.copy()  # for each such root, whose component it has joined
        self._ones = self._others = np.empty(0, np.int64)  # pairs of roots to be joined
        self._pairs = 0  # of all members
        self._rounds = 0  # of hooks
        self.converged = graph.number_of_arcs == 0

    def step(self) -> Step:
        """Link own arcs, or contract what the members' trees make of the graph."""
        return self._link() if self._linking else self._join()

    def inputs(self) -> dict[str, Any]:
        """Return nothing: the graph alone decides."""
        return {}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return a vertex of its component for each own vertex, and whether it is the least."""
        return {"labels": self._labels(), "converged": np.array([self.converged])}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take the labels if they are those of the end; else nothing of them saves any work.

        Most of it is to link own arcs, and to whom they belong may be otherwise now.
        """
        if state["converged"][0]:
            self._found, self.converged = state["labels"].astype(np.int64), True

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the label of each own vertex."""
        return {"labels": VertexNumbers(self._labels())}

    def _labels(self) -> Integers:
        if self._found is not None:
            return self._found
        labels: Integers = self._above[self._root - self._shard.low]
        return labels

    def _link(self) -> Step:
        read = 0 if self._local.converged else self._local.step().edges
        waiting, read, _ = self._post.totals(not self._local.converged, read)
        if waiting:
            return Step(self._shard.number_of_vertices, read, direction="link", filter="all")
        self._meet()
        self._pairs, sent = self._post.totals(len(self._ones))
        self._linking = False
        self.converged = self._pairs == 0
        return Step(self._pairs, read, direction="link", filter="all", bytes_sent=sent)

    def _meet(self) -> None:
        """Find which roots here and elsewhere are to be joined."""
        shard = self._shard
        here = self._local.columns()["labels"].numbers.astype(np.int64) + shard.low
        there = here.copy()  # a root is an own vertex: own ones come first, and no ghost is alone
        self._post.refresh(there)
        self._root = here[: shard.owned]
        self._ones, self._others = _distinct(here[shard.owned :], there[shard.owned :])

    def _join(self) -> Step:
        """Contract once, or for good if all that is left fits anywhere."""
        pairs = self._pairs
        if pairs <= SHARED:
            self._finish()
            self._ones = self._others = np.empty(0, np.int64)
        else:
            self._hook()
            self._jump()
            ends = self._post.fetch(self._above, np.concatenate([self._ones, self._others]))
            self._ones, self._others = _distinct(*np.split(ends, 2))
            self._rounds += 1
        self._pairs, sent = self._post.totals(len(self._ones))
        if self._pairs == 0 and self._rounds:
            self._name()
        self.converged = self._pairs == 0
        return Step(self._pairs, pairs, direction="contract", filter="pairs", bytes_sent=sent)

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
        self._above[hooked - self._shard.low] = under

    def _jump(self) -> None:
        """Let every root look past whom it is hooked under, until there is no one beyond."""
        moved = np.flatnonzero(self._above != self._own)
        beyond = 1
        while beyond:
            nearer = self._above[moved]
            self._above[moved] = self._post.fetch(self._above, nearer)
            shown = self._shard.crew.allgather(int(np.any(self._above[moved] != nearer)))
            beyond = sum(shown)

    def _finish(self) -> None:
        """Solve what is left, everyone the same: a label is the least root of those joined."""
        boxes = [[self._ones, self._others]] * self._shard.crew.size
        ones, others = map(np.concatenate, zip(*self._post.exchange(boxes), strict=True))
        roots, ends = np.unique(np.concatenate([ones, others]), return_inverse=True)
        loop = WeaklyConnectedComponents()
        one, other = np.split(ends, 2)
        pairs = EdgeList(one, other, 0, np.empty(0, ends.dtype), len(roots))
        loop.start(_neighbours(pairs.rows_of_sources([], both=False)[0]))
        while not loop.converged:
            loop.step()
        least = roots[loop.columns()["labels"].numbers]
        earlier = np.flatnonzero(self._above != self._own)  # hooked in the rounds before
        low, high = np.searchsorted(roots, [self._shard.low, self._shard.low + self._shard.owned])
        self._above[roots[low:high] - self._shard.low] = least[low:high]
        if self._rounds:
            self._above[earlier] = self._post.fetch(self._above, self._above[earlier])

    def _name(self) -> None:
        """Replace every label by the least root that has it: some order chose it, not its number."""
        moved = np.flatnonzero(self._above != self._own)
        least = self._own.copy()
        labels, roots = self._post.deliver(self._above[moved], self._own[moved])
        np.minimum.at(least, labels - self._shard.low, roots)
        named = self._post.fetch(least, self._above[moved])
        self._above = least  # of those that no one has moved
        self._above[moved] = named


def _neighbours(rows: Adjacency) -> Any:
    """Return rows of neighbours as the loop for one machine reads them from a graph."""
    # Directed: not every arc is in the rows of both of its ends.
    return SimpleNamespace(csc=rows, number_of_vertices=len(rows.offsets) - 1, directed=True)


def _whole_rows(shard: ShardGraph) -> Adjacency:
    """Return the own rows, and empty ones for the ghosts."""
    rows = shard.csc
    after = np.full(shard.length - shard.owned, rows.offsets[-1])
    return Adjacency(np.concatenate([rows.offsets, after]), rows.indices)


def _distinct(ones: Integers, others: Integers) -> tuple[Integers, Integers]:
    """Return each pair of two different roots once, the smaller one first."""
    low, high = np.minimum(ones, others), np.maximum(ones, others)
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    kept = low != high
    kept[1:] &= (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return low[kept], high[kept]
