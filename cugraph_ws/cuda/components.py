"""Weakly connected components on the device; see `cugraph_ws.algorithms.components`.

Afforest (Sutton, Ben-Nun and Barak, IPDPS 2018) on positions: a vertex's first neighbour is the
one of the highest in-degree, so the first sample joins most of a graph with hubs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.cuda.device import device
from cugraph_ws.cuda.rows import Rows
from cugraph_ws.cuda.schedule import room_for_long_rows
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.run import Loop, Step
from cugraph_ws.saved_state import SavedState

if TYPE_CHECKING:
    from cugraph_ws.cuda.graph import DeviceGraph
    from cugraph_ws.graph import Graph

__all__ = ["DeviceComponents"]

BLOCK = 256
SAMPLED = 2  # neighbours of each vertex that are linked at first: one at each end of its row
PROBES = 1024  # vertices asked for their root to find the largest component
FEW = 1 << 14  # vertices of the highest degrees: enough to join two large trees
ENOUGH = 0.9  # part of the vertices with a row in it that makes further samples needless
ARCS_A_STEP = 1 << 31  # thirty milliseconds; after each the whole forest is compressed


class _Task(NamedTuple):
    """A range of what is to be linked: of vertices, whose rows are meant, or of arcs."""

    rows: Rows
    first: int
    last: int
    by_row: bool


class DeviceComponents:
    """The loop on the CUDA engine: sampled neighbours first, then what is not in the largest tree."""

    name = "weakly_connected_components"
    by_vertex = True
    diverged = False
    max_iter: int | None = None
    tol: float | None = None

    def on_cuda(self) -> DeviceComponents:
        """Return the loop itself."""
        return self

    def on_crew(self) -> Loop:
        """Return the same algorithm for a share of a graph."""
        from cugraph_ws.cluster.components import CrewComponents

        return CrewComponents()

    def start(self, graph: Graph) -> None:
        """Make every vertex a tree of its own."""
        self.begin(graph.on_device())

    def begin(self, graph: DeviceGraph, lead: int = 0) -> None:
        """Make every vertex of a graph on the device a tree of its own.

        Parameters
        ----------
        graph : DeviceGraph
            Vertices may have no rows, and every arc be in one row only, unless it is undirected.
        lead : int
            The position from which on a vertex's first neighbour is looked for: who stands there has
            most neighbours.
        """
        self._device = device()
        self._graph, self._lead = graph, lead
        self._module = self._device.module("components")
        xp = self._device.xp
        self._parent = xp.arange(self._graph.size, dtype=self._graph.csc.indices.dtype)
        self._counts = xp.zeros(3, np.int64)
        self._sampled = 0  # neighbours of every vertex linked so far
        self._left: deque[_Task] | None = None  # what is to be linked after the samples
        self._root = -1  # of the largest tree so far
        self._tree = xp.zeros(-(-graph.size // 32), np.uint32)  # its bits

    @property
    def converged(self) -> bool:
        """Whether every arc has been linked or skipped."""
        return not self._graph.arcs or (self._left is not None and not self._left)

    @property
    def sampling(self) -> bool:
        """Whether the next step links samples."""
        return self._sampled < SAMPLED and not self.converged

    def step(self) -> Step:
        """Link one more neighbour of every vertex, or a range of rows or of arcs."""
        return self._sample() if self.sampling else self._link()

    @property
    def trees(self) -> Any:
        """The root of each position's tree, after a step."""
        return self._parent

    def least(self, numbers: Any) -> Any:
        """Return by position the least number in the tree of each root; others' entries mean nothing.

        Parameters
        ----------
        numbers : device array of int32 or int64, shape (size,)
            By position.

        Returns
        -------
        device array, shape (size,)
        """
        least = numbers.copy()
        self.lower(least, self._parent, numbers)
        return least

    def lower(self, least: Any, roots: Any, numbers: Any) -> None:
        """Lower entries of `least` to the least of the numbers that are given for them.

        Parameters
        ----------
        least : device array of int32 or int64, shape (size,)
        roots : device array of int32 or int64, shape (given,)
            Whose entries; any of them several times.
        numbers : device array of the dtype of `least`, shape (given,)
        """
        self._launch("least_numbers", len(roots), roots, numbers, least, len(roots))

    def shown(self, positions: Any) -> Any:
        """Return a bit for each of some vertices: whether it is in the largest tree so far.

        Parameters
        ----------
        positions : device array of int32 or int64, shape (count,)

        Returns
        -------
        device array of uint32, shape (words of count,)
        """
        count = len(positions)
        words = self._device.xp.empty(-(-count // 32), np.uint32)
        if count:
            self._launch("show_tree", count, self._tree, positions, count, words)
        return words

    def adopt(self, groups: Sequence[tuple[int, int]], shown: Sequence[Any]) -> None:
        """Join ghosts that their owners have found in one tree each.

        Parameters
        ----------
        groups : sequence of (int, int)
            For each owner, the range of positions of its vertices here.
        shown : sequence of device array of uint32
            What `shown` returned there of the same vertices.
        """
        if self.converged:
            return
        xp = self._device.xp
        for (low, high), words in zip(groups, shown, strict=True):
            if high > low:
                first = xp.full(1, high - low, np.int64)
                self._launch("find_first", len(words), words, len(words), first)
                self._launch("adopt", high - low, self._parent, low, high - low, words, first)
        # What has been joined is not yet one with the tree here.
        self._link_samples(min(FEW, self._graph.size), last=1)
        self._compress()
        self._know_largest()

    def inputs(self) -> dict[str, Any]:
        """Return nothing: the graph alone decides."""
        return {}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the forest, by number, and how many samples have been linked.

        Samples are not those of other engines: `reached` tells these to link all anew.  So are all arcs
        from here: those of the largest tree are left out, which may be another one afterwards.
        """
        arcs = self._graph.arcs
        reached = [SAMPLED, arcs, -1] if self.converged else [0, 0, -1]
        return {
            "parent": self._device.to_host(self._labels()),
            "reached": np.array(reached, np.int64),
            "linked": np.array([self._sampled], np.int64),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        vertices, arcs = self._graph.size, self._graph.arcs
        state.integers("parent", vertices, 0, np.arange(vertices))
        state.integers("reached", 3, [0, 0, -1], np.array([SAMPLED, arcs, vertices - 1]))
        if "linked" in state:
            state.number("linked", 0, SAMPLED)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on with a forest."""
        graph, xp = self._graph, self._device.xp
        above = graph.by_position(state["parent"].astype(self._parent.dtype))
        others = xp.take(graph.positions, above)
        self._parent = xp.arange(graph.size, dtype=self._parent.dtype)
        self._launch("join_pairs", graph.size, self._parent, others, graph.size)
        self._compress()
        if state["reached"][1] >= graph.arcs:
            self._sampled, self._left = SAMPLED, deque()
        elif "linked" in state:
            self._sampled = int(state["linked"][0])
        if not self.converged:
            self._know_largest()

    def columns(self) -> dict[str, VertexNumbers]:
        """Return the label of each vertex."""
        return {"labels": VertexNumbers(self._labels())}

    def _link_samples(self, size: int, last: int) -> None:
        self._launch(
            "link_samples", size, *self._graph.csc, self._parent, size, last, self._lead, self._tree
        )

    def _sample(self) -> Step:
        graph = self._graph
        last = int(self._sampled > 0)
        self._link_samples(graph.size, last)
        self._sampled += 1
        self._compress()
        self._know_largest()
        read = graph.vertices_with(1 + last)
        return Step(graph.size, read, direction="sample", filter="all")

    def _link(self) -> Step:
        if self._left is None:
            self._left = self._plan()
        task = self._left.popleft()
        graph, span = self._graph, task.last - task.first
        self._counts[:] = 0
        if task.by_row:
            queue = self._queue
            self._launch(
                "link_rows", span, *task.rows, self._parent, task.first, task.last, self._tree,
                self._root, queue, self._counts,
            )  # fmt: skip
            most = 32 * len(queue[0])
            self._launch("link_pieces", most, *task.rows, self._parent, queue, self._counts)
        else:
            self._launch(
                "link_strays", span, *task.rows, self._parent, graph.size, task.first, task.last,
                self._tree, self._counts,
            )  # fmt: skip
        self._compress()
        read, active, _ = self._device.to_host(self._counts).tolist()
        if self._left:  # the root may have been hooked itself
            self._root = int(self._device.to_host(self._parent[self._root : self._root + 1])[0])
        return Step(active, read, direction="link", filter="largest skipped")

    def _plan(self) -> deque[_Task]:
        """Return what is to be linked: first the rows of all who are not in the largest tree.

        Where edges stand in rows of both ends, that is all.  Else arcs to others from them, whose rows
        are those of vertices in the tree, come after.
        """
        graph, tasks = self._graph, deque[_Task]()
        for rows in graph.at_hand:
            tasks += [_Task(rows, *part, by_row=True) for part in pairwise(self._cuts(rows))]
        if not graph.undirected and len(graph.at_hand) == 1:
            arcs = [*range(0, graph.arcs, ARCS_A_STEP), graph.arcs]
            tasks += [_Task(graph.csc, *part, by_row=False) for part in pairwise(arcs)]
        self._queue = room_for_long_rows(self._device, graph)
        return tasks

    def _cuts(self, rows: Rows) -> list[int]:
        """Return the vertices between ranges whose rows have about as many arcs as a step takes."""
        arcs, xp = self._graph.arcs, self._device.xp
        if arcs <= ARCS_A_STEP:
            return [0, self._graph.size]
        goals = xp.arange(ARCS_A_STEP, arcs, ARCS_A_STEP)
        inner = self._device.to_host(xp.searchsorted(rows.offsets, goals))
        cuts: list[int] = np.unique([0, *inner.tolist(), self._graph.size]).tolist()
        return cuts

    def _compress(self) -> None:
        """Make every vertex a child of its root; count those outside the largest component."""
        size = self._graph.size
        self._counts[1:2] = 0
        self._launch("compress", size, self._parent, size, self._root, self._counts)

    def _launch(self, name: str, items: int, *arguments: Any) -> None:
        self._module.launch(name, self._device.blocks_for(items, BLOCK), BLOCK, *arguments)

    def _know_largest(self) -> None:
        """Find the tree that most vertices are in so far, and whether these are enough.

        Of few vertices with a row: a guess that affects time alone.
        """
        size = self._graph.size
        probes = np.random.default_rng(0).integers(0, self._graph.vertices_with(1), PROBES)
        found = self._device.xp.take(self._parent, self._device.xp.asarray(probes))
        roots, counts = np.unique(self._device.to_host(found), return_counts=True)
        self._root = int(roots[counts.argmax()])
        self._launch("mark_tree", size, self._parent, size, self._root, self._tree)
        if counts.max() >= ENOUGH * PROBES:
            self._sampled = SAMPLED

    def _labels(self) -> Any:
        """Return by number the least vertex of each tree."""
        graph, xp = self._graph, self._device.xp
        return graph.by_number(xp.take(self.least(graph.numbers), self._parent))
