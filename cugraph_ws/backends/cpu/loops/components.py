"""Union-find on the CPU; see `cugraph_ws.algorithms.components`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.adjacency import Adjacency, EdgeList, index_dtype
from cugraph_ws.kernels.cpu.components import compress, link_arcs, link_samples
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

__all__ = ["SHOWN", "Forest", "join_pairs", "join_rows", "steps_of"]

Array = npt.NDArray[Any]

SAMPLED = 2  # neighbours of each vertex that are linked at first: one at each end of its row
PROBES = 1024  # vertices sampled to find the largest component
ARCS_A_STEP = 1 << 22
GRAIN = 1 << 13  # least number of vertices or arcs of a task
SHOWN = 0  # largest trees are not sent to other ranks: an arc within a tree costs hardly anything


class Forest:
    """Trees of vertices: sampled neighbours are linked first, then all arcs, in blocks.

    A root is its tree's first position.

    Parameters
    ----------
    part : Part
    lead : int
        Not used: a vertex's first neighbour is the first of its row.

    Attributes
    ----------
    trees : ndarray of int, shape (size,)
        The root of each vertex's tree, after a step.
    """

    def __init__(self, part: Part, lead: int) -> None:
        self._rows: Adjacency = part.csc
        # In a shard, an edge to a ghost is in the row of one end only.
        self._both_ways = part.halo.alone and not part.graph.directed
        self.trees = np.arange(part.size, dtype=part.index)
        self._sampled = 0  # neighbours of every vertex linked so far
        self._arc = 0  # arcs before this one are done
        self._largest = -1  # the root whose rows are skipped

    @property
    def converged(self) -> bool:
        """Whether every arc has been linked or skipped."""
        return self._arc >= self._rows.number_of_arcs

    @property
    def sampling(self) -> bool:
        """Whether the next step links samples."""
        return self._sampled < SAMPLED and not self.converged

    def step(self) -> tuple[int, int, str]:
        """Link samples, or a range; return active vertices, arcs read, and which rows were read."""
        return self._sample() if self.sampling else self._link()

    def least(self, part: Part) -> Array:
        """Return the least number in each root's tree, by position; other entries are undefined."""
        least: Array = part.numbers.astype(index_dtype(part.graph.number_of_vertices))
        # Of owned vertices a root has the least number, so ghosts alone can lower it.
        self.lower(least, self.trees[part.owned :], least[part.owned :].copy())
        return least

    def lower(self, least: Array, roots: Array, numbers: Array) -> None:
        """Lower entries of `least` to the least of the numbers given for them."""
        np.minimum.at(least, roots, numbers)

    def progress(self) -> dict[str, Array]:
        """Return how many edges have been linked."""
        return {"reached": np.array([self._sampled, self._arc, self._largest], np.int64)}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore the forest of a checkpoint."""
        self.trees = state["parent"].astype(self.trees.dtype)
        self._sampled, self._arc, self._largest = state["reached"].tolist()

    def _sample(self) -> tuple[int, int, str]:
        rows, ranges = self._rows, _ranges(len(self._rows.offsets) - 1)
        tasks = [
            (rows.offsets, rows.indices, self.trees, self._sampled > 0, low, high)
            for low, high in ranges
        ]
        read = sum(parallel(link_samples, tasks))
        _compress(self.trees)
        self._sampled += 1
        if self._sampled == SAMPLED and self._both_ways:
            self._largest = self._most_frequent()
        return len(self.trees), read, "all"

    def _link(self) -> tuple[int, int, str]:
        first, largest = self._arc, self._largest
        self._arc = min(first + ARCS_A_STEP, self._rows.number_of_arcs)
        active = int(np.count_nonzero(self.trees != largest))
        read = _link(self._rows, self.trees, 1, largest, first, self._arc)
        if largest < 0:
            return active, read, "all"
        self._largest = int(self.trees[largest])  # it may have been hooked to another root
        return active, read, "largest skipped"

    def _most_frequent(self) -> int:
        """Return the most frequent root of a sample: a guess that affects only the run time."""
        probes = np.random.default_rng(0).integers(0, len(self.trees), PROBES)
        labels, counts = np.unique(self.trees[probes], return_counts=True)
        return int(labels[np.argmax(counts)])


def steps_of(arcs: int) -> int:
    """Return how many steps link all arcs of a shard."""
    return SAMPLED + -(-arcs // ARCS_A_STEP)


def join_pairs(tails: Array, heads: Array, size: int) -> Array:
    """Return for each of `size` vertices the least vertex that the pairs join it with.

    Parameters
    ----------
    tails, heads : ndarray of int64, shape (pairs,)
    size : int

    Returns
    -------
    ndarray of int, shape (size,)
    """
    pairs = EdgeList(tails, heads, 0, np.empty(0, tails.dtype), size)
    rows, _ = pairs.rows_of_sources([], both=False)
    return join_rows(rows.offsets.astype(np.int64, copy=False), rows.indices)


def join_rows(offsets: Array, indices: Array) -> Array:
    """Return for each vertex the least vertex that rows of neighbours join it with.

    Parameters
    ----------
    offsets : ndarray of int64, shape (vertices + 1,)
    indices : ndarray of int, shape (arcs,)
        An arc in the row of either end is enough.

    Returns
    -------
    ndarray of the dtype of `indices`, shape (vertices,)
    """
    rows = Adjacency(offsets, indices)
    parent = np.arange(len(offsets) - 1, dtype=indices.dtype)
    _link(rows, parent, 0, -1, 0, rows.number_of_arcs)
    return parent


def _link(rows: Adjacency, parent: Array, ends: int, skipped: int, first: int, last: int) -> int:
    """Link the ends of the arcs from `first` to `last`; return arcs read; see the kernel."""
    cuts = [(first + low, first + high) for low, high in _ranges(last - first)]
    starts = np.searchsorted(rows.offsets, [low for low, _ in cuts], side="right") - 1
    tasks = [
        (rows.offsets, rows.indices, parent, ends, skipped, row, low, high)
        for (low, high), row in zip(cuts, starts.tolist(), strict=True)
    ]
    read = int(sum(parallel(link_arcs, tasks)))
    _compress(parent)
    return read


def _compress(parent: Array) -> None:
    parallel(compress, [(parent, low, high) for low, high in _ranges(len(parent))])


def _ranges(size: int) -> list[tuple[int, int]]:
    return cut_evenly(size, min(4 * number_of_threads(), 1 + size // GRAIN))
