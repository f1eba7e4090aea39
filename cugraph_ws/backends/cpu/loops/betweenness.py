"""Brandes' algorithm on the CPU, a thread for each source; see `cugraph_ws.algorithms.betweenness`.

Scores are added in the order of the sources, so they do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.loops.distance_sums import search_by_length
from cugraph_ws.kernels.cpu.brandes import (
    add_arcs,
    add_dependencies,
    add_scores,
    clear,
    count_paths,
)
from cugraph_ws.kernels.cpu.dijkstra import (
    add_arcs_by_length,
    add_dependencies_by_length,
    clear_distances,
    count_paths_by_length,
)
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

__all__ = ["Search", "WeightedSearch", "by_csc"]

Array = npt.NDArray[Any]

ARCS_AT_ONCE = 1 << 19  # between two looks
VERTICES_AT_ONCE = 1 << 18
PART_OF_A_THREAD = 1 << 15  # vertices whose dependencies one thread adds, at least


def by_csc(part: Part, arcs: Array) -> Array:
    """Return what arcs of the CSR have, by arc of the CSC; an edge has what both of its directions have."""
    reordered: Array = part.csr.carry(arcs)
    return reordered if part.directed else arcs + reordered


def _over(function: Callable[..., None], size: int, *arguments: Any) -> None:
    """Call a kernel for the places of a queue, in parts for the threads."""
    pieces = min(size // PART_OF_A_THREAD, number_of_threads()) if size < VERTICES_AT_ONCE else 0
    cuts = cut_evenly(size, pieces or 1 + size // PART_OF_A_THREAD)
    parallel(function, [(*arguments, low, high) for low, high in cuts])


class Search:
    """A search from one source, and the dependencies on what it reaches.

    Parameters
    ----------
    part : Part
        Of a whole graph.
    high, low : float
        Numbers of paths above `high` are scaled down, and not below `low`.

    Attributes
    ----------
    reached : int
        Number of vertices that the search has reached, with the source.
    """

    def __init__(self, part: Part, high: float, low: float) -> None:
        size = part.size
        self._rows: Any = (part.csr.offsets, part.csr.indices)
        self._bounds = np.array([high, low])
        self._level = np.full(size, -1, np.int32)
        self._paths, self._share, self._dependency = (np.empty(size) for _ in range(3))
        self._queue = np.empty(size, part.csr.indices.dtype)
        self.reached = 0

    def run(self, source: int) -> bool:
        """Search from a source, which clears what was reached before; return whether all is done."""
        clear(self._queue, self.reached, self._level)
        self._queue[0] = source
        self._level[source], self._paths[source], self._share[source] = 0, 1.0, 1.0
        place = np.array([0, 1, 1, 0])
        self.reached = 1
        offsets, indices = self._rows
        level, paths, share, queue = self._level, self._paths, self._share, self._queue
        while place[0] < place[1]:
            look()
            count_paths(
                offsets, indices, level, paths, share, queue, place, self._bounds, ARCS_AT_ONCE
            )
            self.reached = int(place[1])
        place, scale = np.array([self.reached, -1]), np.ones(1)
        while place[0]:
            look()
            add_dependencies(
                offsets, indices, level, paths, share, self._dependency, queue, place, scale,
                ARCS_AT_ONCE,
            )  # fmt: skip
        return True

    def add(self, score: Array, endpoints: bool) -> None:
        """Add the dependencies to the scores of vertices; with `endpoints`, a path counts for its ends.

        Parameters
        ----------
        score : ndarray of float64, shape (size,)
        endpoints : bool
        """
        source = self._queue[0]
        before = score[source]
        _over(add_scores, self.reached, self._queue, self._dependency, float(endpoints), score)
        score[source] = before + endpoints * (self.reached - 1.0)

    def add_to_arcs(self, arcs: Array) -> None:
        """Add the paths through each arc of the CSR."""
        known = (*self._rows, self._level, self._paths, self._share)
        _over(add_arcs, self.reached, *known, self._queue, arcs)


class WeightedSearch(Search):
    """The same along edges of given lengths.

    Parameters
    ----------
    part : Part
    lengths : ndarray of float64, shape (arcs,)
        By arc of the CSR, above 0.

    Attributes
    ----------
    greatest : float
        The greatest distance.
    most_paths : float
        The greatest number of paths; infinite beyond a float64.
    """

    def __init__(self, part: Part, lengths: Array) -> None:
        size, index = part.size, part.csr.indices.dtype
        self._rows = part.csr.offsets, part.csr.indices, lengths
        self._distance = np.full(size, np.inf)
        self._paths, self._share, self._dependency = np.zeros(size), np.empty(size), np.empty(size)
        self._heaps = np.empty(size, index), np.empty(size, index)
        self._queue = np.empty(size, index)
        self.reached = 0

    def run(self, source: int) -> bool:
        """Search from a source; return False if lengths are lost beside distances, so that paths are not counted."""
        clear_distances(self._queue, self.reached, self._distance, self._paths)
        self._paths[source] = 1.0
        offsets, indices, lengths = self._rows
        distance, paths, share, queue = self._distance, self._paths, self._share, self._queue
        self.reached = search_by_length(self._rows, distance, self._heaps, queue, source)
        self.greatest = float(distance[queue[self.reached - 1]])
        pieces = cut_evenly(self.reached, 1 + self.reached // VERTICES_AT_ONCE)
        for low, high in pieces:
            look()
            if not count_paths_by_length(
                offsets, indices, lengths, distance, paths, queue, low, high
            ):
                return False
        self.most_paths = float(paths[queue[: self.reached]].max())
        for low, high in pieces[::-1]:
            look()
            add_dependencies_by_length(
                offsets,
                indices,
                lengths,
                distance,
                paths,
                share,
                self._dependency,
                queue,
                low,
                high,
            )
        return True

    def add_to_arcs(self, arcs: Array) -> None:
        """Add the paths through each arc of the CSR."""
        known = (*self._rows, self._distance, self._paths, self._share)
        _over(add_arcs_by_length, self.reached, *known, self._queue, arcs)
