"""Rows of neighbours: how they are built from edges, transposed, and merged.

Every build is a counting scatter over ranges of edges: count how often each row occurs in each
range, turn the counts into the places where each range writes, then write.  It is stable and
gives the same arrays for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.engines.threads import cut_evenly, cut_offsets, number_of_threads, parallel
from cugraph_ws.kernels.cpu.build import (
    count_rows,
    place_edges,
    place_values,
    strip_marks,
    transpose_rows,
)

__all__ = ["Adjacency", "EdgeList", "index_dtype"]

Array = npt.NDArray[Any]
Ranges = list[tuple[int, int]]

_NO_TABLE = np.empty(0, np.int32)
_EDGES_A_THREAD = 1 << 16  # below this a second thread costs more than it brings
_INT32_VERTICES = np.iinfo(np.int32).max


def index_dtype(number_of_vertices: int) -> np.dtype[Any]:
    """Return the dtype of neighbour lists: int32 while every vertex number fits."""
    return np.dtype(np.int32 if number_of_vertices <= _INT32_VERTICES else np.int64)


def _pieces(arcs: int, rows: int) -> int:
    """How many ranges to cut a scatter into: each needs an int64 cursor for every row.

    The cap keeps all cursors within two bytes an arc.
    """
    return max(1, min(number_of_threads(), arcs // _EDGES_A_THREAD, arcs // (4 * rows + 1)))


@dataclass(frozen=True)
class Adjacency:
    """For every vertex a row of neighbours.

    Attributes
    ----------
    offsets : ndarray of int64, shape (vertices + 1,)
        Where each vertex's row starts in `indices`.
    indices : ndarray of int32 or int64, shape (arcs,)
        Vertex numbers of the neighbours, ascending in every row; parallel edges in input order.
        While an undirected graph is built, ~v stands for a neighbour v where the edge was given the
        other way: see `strip_marks`.
    """

    offsets: npt.NDArray[np.int64]
    indices: Array

    @property
    def number_of_arcs(self) -> int:
        """Number of neighbours in all rows; an undirected edge is two arcs, a self-loop one."""
        return len(self.indices)

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """Length of every row; int64, shape (vertices,)."""
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.offsets.nbytes + self.indices.nbytes

    def rows(self) -> Array:
        """Return the row that each arc is in; the dtype of `indices`, shape (arcs,)."""
        numbers = np.arange(self._vertices, dtype=self.indices.dtype)
        return np.repeat(numbers, self.degrees)

    def count_targets(self) -> npt.NDArray[np.int64]:
        """Return how often each vertex occurs in `indices`; int64, shape (vertices,)."""
        pieces = cut_evenly(self.number_of_arcs, _pieces(self.number_of_arcs, self._vertices))
        counts = _count(*self._targets, self._vertices, pieces)
        return np.asarray(counts.sum(axis=0))

    @property
    def _vertices(self) -> int:
        return len(self.offsets) - 1

    @property
    def _targets(self) -> tuple[Array, Array, int, Array, bool]:
        """The arcs' targets, in the shape that the counting kernels take."""
        return self.indices, self.indices, 0, _NO_TABLE, False

    def transpose(self, *values: Array) -> tuple[Adjacency, list[Array]]:
        """Turn rows of targets into rows of sources, or back.

        Parameters
        ----------
        *values : ndarray, shape (arcs,)
            Arrays in this adjacency's order that go along.

        Returns
        -------
        adjacency : Adjacency
            With ascending rows, whatever the order of this one's.
        values : list of ndarray
            The arrays in the new order.
        """
        arcs = self.number_of_arcs
        row_ranges, ranges = self._ranges()
        counts = _count(*self._targets, self._vertices, ranges)
        offsets, starts = _places(counts)
        out = np.empty(arcs, self.indices.dtype)
        parallel(
            transpose_rows,
            [
                (self.offsets, self.indices, cursors, out, low, high)
                for cursors, (low, high) in zip(
                    starts.copy() if values else starts, row_ranges, strict=False
                )
            ],
        )
        moved = [_scatter(*self._targets, starts, array, arcs, ranges) for array in values]
        return Adjacency(offsets, out), moved

    def carry(self, values: Array) -> Array:
        """Return values in this adjacency's order in that of its transposition."""
        _, ranges = self._ranges()
        _, starts = _places(_count(*self._targets, self._vertices, ranges))
        return _scatter(*self._targets, starts, values, self.number_of_arcs, ranges)

    def strip_marks(self) -> int:
        """Take the marks of an undirected graph's arcs away, in place, once its rows are sorted.

        Returns
        -------
        int
            Pairs of vertices with edges that were given in one direction and others in the other.
        """
        ranges = cut_offsets(self.offsets, _pieces(self.number_of_arcs, self._vertices))
        return sum(parallel(strip_marks, [(self.offsets, self.indices, *one) for one in ranges]))

    def _ranges(self) -> tuple[Ranges, Ranges]:
        """Cut the rows for the threads: ranges of rows, and of the arcs in them."""
        rows = cut_offsets(self.offsets, _pieces(self.number_of_arcs, self._vertices))
        return rows, [(int(self.offsets[low]), int(self.offsets[high])) for low, high in rows]


@dataclass
class EdgeList:
    """Edges as two columns of ids, and how an id becomes a vertex number.

    Attributes
    ----------
    sources, destinations : ndarray of int32 or int64, shape (edges,)
        Both of one dtype; may be the caller's own columns, so they are only read.
    low : int
        Least id.
    table : ndarray of int32 or int64
        Vertex number of `low + i` at `i`; empty where the number is `id - low` itself.
    number_of_vertices : int
    """

    sources: Array
    destinations: Array
    low: int
    table: Array
    number_of_vertices: int

    def rows_of_sources(self, values: list[Array], *, both: bool) -> tuple[Adjacency, list[Array]]:
        """Group the edges by source, in input order, and their values with them.

        With `both`, every edge goes into its destination's row as well, a self-loop once; there its
        source v is marked as ~v.  The rows are not ascending: one transposition makes them so, and
        `strip_marks` takes the marks away.
        """
        vertices, edges = self.number_of_vertices, len(self.sources)
        ranges = cut_evenly(edges, _pieces(edges, vertices))
        head = (self.sources, self.destinations, self.low, self.table, both)
        counts = _count(*head, vertices, ranges)
        offsets, starts = _places(counts)
        arcs = int(offsets[-1])
        out = np.empty(arcs, index_dtype(vertices))
        parallel(
            place_edges,
            [
                (*head, cursors, out, low, high)
                for cursors, (low, high) in zip(starts.copy(), ranges, strict=False)
            ],
        )
        placed = [_scatter(*head, starts, array, arcs, ranges) for array in values]
        return Adjacency(offsets, out), placed


def _count(
    rows: Array, columns: Array, low: int, table: Array, both: bool, vertices: int, ranges: Ranges
) -> npt.NDArray[np.int64]:
    """Count every row's neighbours in each range of edges; shape (ranges, vertices)."""
    counts = np.zeros((max(1, len(ranges)), vertices), np.int64)
    parallel(
        count_rows,
        [
            (rows, columns, low, table, both, count, first, last)
            for count, (first, last) in zip(counts, ranges, strict=False)
        ],
    )
    return counts


def _places(
    counts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Turn counts, in place, into where each range writes in each row; and the rows' offsets."""
    offsets = np.zeros(counts.shape[1] + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=offsets[1:])
    next_place = offsets[:-1].copy()
    for count in counts:
        next_place += count
        np.subtract(next_place, count, out=count)
    return offsets, counts


def _scatter(
    rows: Array,
    columns: Array,
    low: int,
    table: Array,
    both: bool,
    starts: npt.NDArray[np.int64],
    values: Array,
    arcs: int,
    ranges: Ranges,
) -> Array:
    """Carry `values` to the places that `starts` gives them."""
    out = np.empty(arcs, values.dtype)
    parallel(
        place_values,
        [
            (rows, columns, low, table, both, cursors, values, out, first, last)
            for cursors, (first, last) in zip(starts.copy(), ranges, strict=False)
        ],
    )
    return out
