"""Sums over distances by lengths on a CPU, a thread for each search; see `cugraph_ws.algorithms.closeness`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.dijkstra import add_distances, nearest_first, sum_distances
from cugraph_ws.runtime.looks import look

__all__ = ["LengthSearch", "search_by_length"]

Array = npt.NDArray[Any]

ARCS_AT_ONCE = 1 << 18  # between two looks


def search_by_length(
    rows: tuple[Array, Array, Array],
    distance: Array,
    heaps: tuple[Array, Array],
    order: Array,
    source: int,
) -> int:
    """Compute the distances from a source; look in between.

    Parameters
    ----------
    rows : tuple of ndarray
        Offsets and indices of the neighbours that paths go on to, and float64 lengths.
    distance : ndarray of float64, shape (size,)
        Infinite; written.
    heaps : tuple of two ndarray of int, each of shape (size,)
        Room for the heap.
    order : ndarray of int, shape (size,)
        Written: the vertices that are reached, by distance.
    source : int

    Returns
    -------
    int
        How many are reached.
    """
    offsets, indices, lengths = rows
    heap, slot = heaps
    heap[0], slot[source], distance[source] = source, 0, 0.0
    place = np.array([1, 0])
    while place[0]:
        look()
        nearest_first(offsets, indices, lengths, distance, heap, slot, order, place, ARCS_AT_ONCE)
    return int(place[1])


class LengthSearch:
    """A search from one start, and the sums over its distances.

    Parameters
    ----------
    rows : Adjacency
        Rows of the neighbours that paths go on to.
    lengths : ndarray of float64, shape (arcs,)
        0 or more.

    Attributes
    ----------
    reached : int
        Number of vertices that the search has reached, with the start.
    greatest : float
        The greatest distance.
    """

    def __init__(self, rows: Any, lengths: Array) -> None:
        size, index = len(rows.offsets) - 1, rows.indices.dtype
        self._rows = rows.offsets, rows.indices, lengths
        self._distance = np.full(size, np.inf)
        self._heaps = np.empty(size, index), np.empty(size, index)
        self._order = np.empty(size, index)
        self.reached, self.greatest = 0, 0.0

    def run(self, start: int) -> None:
        """Search from a vertex."""
        order, distance = self._order, self._distance
        self.reached = search_by_length(self._rows, distance, self._heaps, order, start)
        self.greatest = float(distance[order[self.reached - 1]])

    def sums(self) -> Array:
        """Return how many other vertices are reached, their distances, and the reciprocals of those above 0."""
        totals = np.empty(3)
        sum_distances(self._order, self.reached, self._distance, totals)
        return totals

    def add(self, reached: Array, distances: Array, reciprocals: Array) -> None:
        """Add the same to sums by vertex that is reached."""
        order, distance = self._order, self._distance
        add_distances(order, self.reached, distance, reached, distances, reciprocals)
