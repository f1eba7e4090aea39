"""Union-find on the GPU; see `cugraph_ws.algorithms.components`.

Afforest (Sutton, Ben-Nun and Barak, IPDPS 2018) on positions: a vertex's first neighbour is that of
the highest in-degree, so the first sample joins most of a graph with hubs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.backends.cuda.rows import Rows
from cugraph_ws.backends.cuda.schedule import room_for_long_rows
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["SHOWN", "Forest", "steps_of"]

Array = Any  # CuPy's

BLOCK = 256
SAMPLED = 2  # neighbours of each vertex that are linked first: one at each end of its row
PROBES = 1024  # vertices sampled to find the largest component
FEW = 1 << 14  # vertices of the highest degrees: enough to join two large trees
ENOUGH = 0.9  # part of the vertices with a row that must be in one tree to end the sampling
ARCS_A_STEP = 1 << 31  # take thirty milliseconds; the forest is compressed after each step
SHOWN = 2  # exchanges of largest trees: a rank without hubs has a large tree only after the first


class _Task(NamedTuple):
    """A range of vertices whose rows are to be linked, or a range of arcs."""

    rows: Rows
    first: int
    last: int
    by_row: bool


class Forest:
    """Trees of vertices: sampled arcs are linked first, then the arcs outside the largest tree.

    Parameters
    ----------
    part : Part
        Vertices may have no rows.  Unless the part is undirected, every arc may be in one row only.
    lead : int
        The position from which a vertex's first neighbour is looked for: that of the vertex with
        the most neighbours.

    Attributes
    ----------
    trees : device array of int32 or int64, shape (size,)
        The root of each position's tree, after a step.
    """

    def __init__(self, part: Part, lead: int) -> None:
        self._device = device()
        self._graph, self._lead = part.laid, lead
        self._module = self._device.module("components")
        xp = self._device.xp
        self.trees = xp.arange(part.size, dtype=part.index)
        self._counts = xp.zeros(3, np.int64)
        self._sampled = 0  # neighbours of every vertex linked so far
        self._left: deque[_Task] | None = None  # tasks after the samples
        self._root = -1  # of the largest tree so far
        self._tree = xp.zeros(-(-part.size // 32), np.uint32)  # its bits

    @property
    def converged(self) -> bool:
        """Whether every arc has been linked or skipped."""
        return not self._graph.arcs or (self._left is not None and not self._left)

    @property
    def sampling(self) -> bool:
        """Whether the next step links samples."""
        return self._sampled < SAMPLED and not self.converged

    def step(self) -> tuple[int, int, str]:
        """Link samples, or a range; return active vertices, arcs read, and which rows were read."""
        return self._sample() if self.sampling else self._link()

    def least(self, part: Part) -> Array:
        """Return the least number in each root's tree, by position; other entries are undefined."""
        least = part.numbers.copy()
        self.lower(least, self.trees, part.numbers)
        return least

    def lower(self, least: Array, roots: Array, numbers: Array) -> None:
        """Lower entries of `least` to the least of the numbers given for them.

        Parameters
        ----------
        least : device array of int32 or int64, shape (size,)
        roots : device array of int32 or int64, shape (given,)
            The entries to lower; may repeat.
        numbers : device array of the dtype of `least`, shape (given,)
        """
        self._launch("least_numbers", len(roots), roots, numbers, least, len(roots))

    def shown(self, positions: Array) -> Array:
        """Return a bitmap of the given vertices that are in the largest tree so far.

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

    def adopt(self, groups: Sequence[tuple[int, int]], shown: Sequence[Array]) -> None:
        """Join the ghosts of each owner that are in that owner's largest tree.

        Parameters
        ----------
        groups : sequence of (int, int)
            For each owner, the range of positions of its vertices here.
        shown : sequence of device array of uint32
            For each owner, what its `shown` returned for the same vertices.
        """
        if self.converged:
            return
        xp = self._device.xp
        for (low, high), words in zip(groups, shown, strict=True):
            if high > low:
                first = xp.full(1, high - low, np.int64)
                self._launch("find_first", len(words), words, len(words), first)
                self._launch("adopt", high - low, self.trees, low, high - low, words, first)
        # The joined ghosts are not yet linked with the tree here.
        self._link_samples(min(FEW, self._graph.size), last=1)
        self._compress()
        self._know_largest()

    def progress(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return how many samples have been linked, and whether all other arcs have.

        The CPU has other samples, so `reached` makes it link all arcs again.  So does a resumption
        here: arcs of the largest tree are skipped, and after it another tree may be the largest.
        """
        reached = [SAMPLED, self._graph.arcs, -1] if self.converged else [0, 0, -1]
        return {
            "reached": np.array(reached, np.int64),
            "linked": np.array([self._sampled], np.int64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the forest of a checkpoint."""
        graph, xp = self._graph, self._device.xp
        above = graph.by_position(state["parent"].astype(self.trees.dtype))
        parents = xp.take(graph.positions, above)
        self.trees = xp.arange(graph.size, dtype=self.trees.dtype)
        self._launch("join_pairs", graph.size, self.trees, parents, graph.size)
        self._compress()
        if state["reached"][1] >= graph.arcs:
            self._sampled, self._left = SAMPLED, deque()
        elif "linked" in state:
            self._sampled = int(state["linked"][0])
        if not self.converged:
            self._know_largest()

    def _link_samples(self, size: int, last: int) -> None:
        self._launch(
            "link_samples", size, *self._graph.csc, self.trees, size, last, self._lead, self._tree
        )

    def _sample(self) -> tuple[int, int, str]:
        graph = self._graph
        last = int(self._sampled > 0)
        self._link_samples(graph.size, last)
        self._sampled += 1
        self._compress()
        self._know_largest()
        return graph.size, graph.vertices_with(1 + last), "all"

    def _link(self) -> tuple[int, int, str]:
        if self._left is None:
            self._left = self._plan()
        task = self._left.popleft()
        graph, span = self._graph, task.last - task.first
        self._counts[:] = 0
        if task.by_row:
            queue = self._queue
            self._launch(
                "link_rows", span, *task.rows, self.trees, task.first, task.last, self._tree,
                self._root, queue, self._counts,
            )  # fmt: skip
            most = 32 * len(queue[0])
            self._launch("link_pieces", most, *task.rows, self.trees, queue, self._counts)
        else:
            self._launch(
                "link_strays", span, *task.rows, self.trees, graph.size, task.first, task.last,
                self._tree, self._counts,
            )  # fmt: skip
        self._compress()
        read, active, _ = self._device.to_host(self._counts).tolist()
        if self._left:  # the root may have been hooked to another one
            self._root = int(self._device.to_host(self.trees[self._root : self._root + 1])[0])
        return active, read, "largest skipped"

    def _plan(self) -> deque[_Task]:
        """Return the tasks: first the rows of all vertices that are not in the largest tree.

        If edges are in the rows of both ends, that is all.  Otherwise the arcs in rows of the
        largest tree follow, which may lead to vertices outside.
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
        """Return the bounds of ranges of vertices whose rows have about the arcs of one step."""
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
        self._launch("compress", size, self.trees, size, self._root, self._counts)

    def _launch(self, name: str, items: int, *arguments: Any) -> None:
        self._module.launch(name, self._device.blocks_for(items, BLOCK), BLOCK, *arguments)

    def _know_largest(self) -> None:
        """Find the largest tree so far, and whether it has enough vertices.

        It samples a few vertices with a row, of all degrees: a guess that affects only the run time.
        """
        size, present = self._graph.size, self._graph.vertices_with(1)
        sampled = self._device.to_host(self.trees[: present : -(-present // PROBES)])
        roots, counts = np.unique(sampled, return_counts=True)
        self._root = int(roots[counts.argmax()])
        self._launch("mark_tree", size, self.trees, size, self._root, self._tree)
        if counts.max() >= ENOUGH * len(sampled):
            self._sampled = SAMPLED


def steps_of(arcs: int) -> int:
    """Return how many steps link all arcs of a shard: one, since they take milliseconds."""
    return 1
