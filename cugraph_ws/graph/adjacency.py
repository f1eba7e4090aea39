"""Rows of neighbours: built from edges, transposed, and merged.

Every build is a counting scatter over ranges of edges: count how often each row occurs in each
range, convert the counts to the offsets where each range writes, then write.  The scatter is
stable and gives the same arrays for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.build import (
    count_rows,
    place_edges,
    place_first_rows,
    place_values,
    start_cursors,
    strip_marks,
    transpose_rows,
)
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import cut_evenly, cut_offsets, number_of_threads, parallel

__all__ = [
    "TURNS",
    "Adjacency",
    "EdgeList",
    "Kept",
    "cursor_dtype",
    "index_dtype",
    "lengths",
    "pieces_of",
    "widened",
]

Array = npt.NDArray[Any]
Ranges = list[tuple[int, int]]

_NO_TABLE = np.empty(0, np.int32)
_EDGES_A_THREAD = 1 << 16  # below this a second thread does not pay
_WIDENED = 1 << 16  # offsets converted at a time
_TURN = 1 << 20  # arcs placed between two looks whether the run is to end
_LISTED = (2, 1 << 9)  # shape of the buffer in which a thread collects edges before it places them
# Share of the arcs that are placed by the end of each turn, if the columns of edges are freed as they
# are placed.  An arc takes 4 bytes and its edge 8, so columns and arcs never take more than the columns.
TURNS = (1 / 16, 3 / 16, 7 / 16, 15 / 16, 1)
_INT32_MAX = np.iinfo(np.int32).max


def index_dtype(number_of_vertices: int) -> np.dtype[Any]:
    """Return the dtype of neighbour lists: int32 if every vertex number fits."""
    return np.dtype(np.int32 if number_of_vertices <= _INT32_MAX else np.int64)


def lengths(offsets: Array) -> npt.NDArray[np.int64]:
    """Return the lengths of rows from their offsets; int64."""
    return np.subtract(offsets[1:], offsets[:-1], dtype=np.int64)


def cursor_dtype(arcs: int) -> np.dtype[Any]:
    """Return the dtype of write cursors: int32 if the number of arcs fits."""
    return np.dtype(np.int32 if arcs <= _INT32_MAX else np.int64)


def pieces_of(arcs: int, rows: int) -> int:
    """Return the number of ranges for a scatter: each needs a cursor for every row.

    The limit keeps all cursors within two bytes per arc.
    """
    return max(1, min(number_of_threads(), arcs // _EDGES_A_THREAD, arcs // (4 * rows + 1)))


class Kept(Protocol):
    """What is made of an adjacency when first needed, then kept with it."""

    @property
    def nbytes(self) -> int:
        """Bytes of what is held now."""

    @property
    def choices(self) -> Mapping[str, str]:
        """For each program, the layout that its last run chose, and why."""


@dataclass(frozen=True)
class Adjacency:
    """A row of neighbours for every vertex.

    Attributes
    ----------
    offsets : ndarray of int64, shape (vertices + 1,)
        Start of each vertex's row in `indices`.  During a build, int32 if that is enough.
    indices : ndarray of int32 or int64, shape (arcs,)
        Vertex numbers of the neighbours, ascending in every row; parallel edges in input order.
        During the build of an undirected graph, ~v stands for a neighbour v if the edge was given
        in the other direction: see `strip_marks`.
    mapped : bool
        Whether `indices` is in a file, and may be larger than memory.
    """

    offsets: npt.NDArray[np.int64]
    indices: Array
    mapped: bool = False

    @property
    def number_of_arcs(self) -> int:
        """Number of neighbours in all rows; an undirected edge is two arcs, a self-loop one."""
        return len(self.indices)

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """Length of every row; int64, shape (vertices,)."""
        return lengths(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.offsets.nbytes + self.indices.nbytes

    @cached_property
    def kept(self) -> dict[str, Kept]:
        """What accelerators have made of the arcs, by name; its bytes are not in `nbytes`."""
        return {}

    def rows(self) -> Array:
        """Return the row of each arc; the dtype of `indices`, shape (arcs,)."""
        numbers = np.arange(self._vertices, dtype=self.indices.dtype)
        return np.repeat(numbers, self.degrees)

    def count_targets(self) -> npt.NDArray[np.int64]:
        """Return how often each vertex occurs in `indices`; int64, shape (vertices,)."""
        pieces = cut_evenly(self.number_of_arcs, pieces_of(self.number_of_arcs, self._vertices))
        dtype = cursor_dtype(self.number_of_arcs)
        counts = np.zeros((max(1, len(pieces)), self._vertices), dtype)
        _count(*self._targets, list(counts), pieces)
        return np.asarray(counts.sum(axis=0, dtype=np.int64))

    @property
    def _vertices(self) -> int:
        return len(self.offsets) - 1

    @property
    def _targets(self) -> tuple[Array, Array, int, Array, bool]:
        """The arcs' targets, in the form that the counting kernels take."""
        return self.indices, self.indices, 0, _NO_TABLE, False

    def transpose(self, *values: Array) -> tuple[Adjacency, list[Array]]:
        """Convert rows of in-neighbours to rows of out-neighbours, or vice versa.

        Parameters
        ----------
        *values : ndarray, shape (arcs,)
            Arrays in this adjacency's order, reordered with the arcs.

        Returns
        -------
        adjacency : Adjacency
            Its rows are ascending, even if those of this one are not.
        values : list of ndarray
            The arrays in the new order.
        """
        arcs = self.number_of_arcs
        row_ranges, ranges = self._ranges()
        offsets, cursors, _ = _cursors(*self._targets, self._vertices, ranges)
        out = np.empty(arcs, self.indices.dtype)

        def place(cursor: Array, low: int, high: int) -> None:
            for first, last in _turns(self.offsets, low, high):
                look()
                transpose_rows(self.offsets, self.indices, cursor, out, first, last)

        parallel(
            place,
            [(cursor, low, high) for cursor, (low, high) in zip(cursors, row_ranges, strict=False)],
        )
        moved = []
        for array in values:
            cursors = _again(offsets, cursors)
            moved.append(_scatter(*self._targets, cursors, array, arcs, ranges))
        del cursors
        return Adjacency(widened(offsets), out), moved

    def carry(self, values: Array) -> Array:
        """Return the values of this adjacency's arcs in the order of its transpose."""
        _, ranges = self._ranges()
        _, cursors, arcs = _cursors(*self._targets, self._vertices, ranges)
        return _scatter(*self._targets, cursors, values, arcs, ranges)

    def strip_marks(self) -> int:
        """Remove the marks of an undirected graph's arcs in place; the rows must be sorted.

        Returns
        -------
        int
            Pairs of vertices with edges that were given in both directions.
        """
        ranges = cut_offsets(self.offsets, pieces_of(self.number_of_arcs, self._vertices))
        return sum(
            parallel(strip_marks, [(self.offsets, self.indices, 0, *piece) for piece in ranges])
        )

    def _ranges(self) -> tuple[Ranges, Ranges]:
        """Partition the rows for the threads: ranges of rows, and of their arcs."""
        rows = cut_offsets(self.offsets, pieces_of(self.number_of_arcs, self._vertices))
        return rows, [(int(self.offsets[low]), int(self.offsets[high])) for low, high in rows]


@dataclass
class EdgeList:
    """Edges as two columns of ids, and the mapping from ids to vertex numbers.

    Attributes
    ----------
    sources, destinations : ndarray of int32 or int64, shape (edges,)
        Both of one dtype; unless `own`, they may be the caller's columns and are only read.
    low : int
        Smallest id.
    table : ndarray of int32 or int64
        Vertex number of `low + i` at `i`; empty if the number is `id - low` itself.
    number_of_vertices : int
    own : bool
        Whether the columns are vertex numbers without other references, which may be overwritten.
    """

    sources: Array
    destinations: Array
    low: int
    table: Array
    number_of_vertices: int
    own: bool = False

    def rows_of_sources(self, values: list[Array], *, both: bool) -> tuple[Adjacency, list[Array]]:
        """Group the edges and their values by source, in input order.

        With `both`, every edge is also put in its destination's row, with its source v marked as
        ~v; a self-loop is put there once.  The rows are not ascending: one transposition sorts
        them, and `strip_marks` removes the marks.  Offsets are int32 if that is enough.
        """
        vertices, edges = self.number_of_vertices, len(self.sources)
        ranges = cut_evenly(edges, pieces_of(edges, vertices))
        head = (self.sources, self.destinations, self.low, self.table, both)
        offsets, cursors, arcs = _cursors(*head, vertices, ranges)
        out = np.empty(arcs, index_dtype(vertices))
        if self.own and not both and not values:
            del head
            self._place_by_rows(offsets, cursors, out, ranges)
            return Adjacency(offsets, out), []
        parallel(
            place_edges,
            [
                (*head, cursor, out, low, high)
                for cursor, (low, high) in zip(cursors, ranges, strict=False)
            ],
        )
        placed = []
        for array in values:
            cursors = _again(offsets, cursors)
            placed.append(_scatter(*head, cursors, array, arcs, ranges))
        return Adjacency(offsets, out), placed

    def _place_by_rows(
        self,
        offsets: Array,
        cursors: list[Array],
        out: Array,
        ranges: Ranges,
    ) -> None:
        """Place the edges row range by row range, and free the columns of placed edges.

        The remaining edges are compacted, so that columns shrink while rows fill.
        """
        sources, destinations = self.sources, self.destinations
        self.sources = self.destinations = np.empty(0, sources.dtype)
        arcs = len(out)
        for share in TURNS:
            bound = len(offsets)
            if share < 1:  # cursors of the last range: ascending at any time
                bound = int(np.searchsorted(offsets[1:], offsets.dtype.type(arcs * share)))
            remaining = parallel(
                place_first_rows,
                [
                    (
                        sources,
                        destinations,
                        bound,
                        cursor,
                        out,
                        np.empty(_LISTED, np.int64),
                        low,
                        high,
                    )
                    for cursor, (low, high) in zip(cursors, ranges, strict=False)
                ],
            )
            at, next_ranges = 0, []
            for (low, _), count in zip(ranges, remaining, strict=False):
                for column in (sources, destinations):
                    column[at : at + count] = column[low : low + count]
                next_ranges.append((at, at + count))
                at += count
            ranges = next_ranges
            for column in (sources, destinations):
                column.resize(at, refcheck=False)  # frees the rest


def _cursors(
    rows: Array, columns: Array, low: int, table: Array, both: bool, vertices: int, ranges: Ranges
) -> tuple[Array, list[Array], int]:
    """Count neighbours; return rows' offsets, each range's write cursors, and the number of ranges.

    The cursors of the last range are `offsets[1:]` itself.  Once that range is placed, they point
    to the rows' ends, and only then are the offsets right.  All are int32 if that is enough.
    """
    pieces = max(1, len(ranges))
    dtype = cursor_dtype(len(rows) * (2 if both else 1))
    offsets = np.zeros(vertices + 1, dtype)
    before = np.zeros((pieces - 1, vertices), dtype)
    cursors = [*before, offsets[1:]]
    _count(rows, columns, low, table, both, cursors, ranges)
    return offsets, cursors, start_cursors(before, offsets[1:])


def _count(
    rows: Array,
    columns: Array,
    low: int,
    table: Array,
    both: bool,
    counts: list[Array],
    ranges: Ranges,
) -> None:
    """Add the number of neighbours in every row to each range's own counts."""
    parallel(
        count_rows,
        [
            (rows, columns, low, table, both, count, first, last)
            for count, (first, last) in zip(counts, ranges, strict=False)
        ],
    )


def widened(offsets: Array) -> npt.NDArray[np.int64]:
    """Convert offsets to int64 in place, without a second array.

    Parameters
    ----------
    offsets : ndarray of int32 or int64
        Without other references; overwritten.

    Returns
    -------
    ndarray of int64
    """
    if offsets.dtype == np.int64:
        return offsets
    size = len(offsets)
    offsets.resize(2 * size, refcheck=False)
    wide = offsets.view(np.int64)
    for low in reversed(range(0, size, _WIDENED)):  # overwrites only offsets that were read before
        some = slice(low, min(low + _WIDENED, size))
        wide[some] = offsets[some].astype(np.int64)
    return wide


def _again(offsets: Array, cursors: list[Array]) -> list[Array]:
    """Return write cursors at the starts of ranges, given those at their ends.

    In each row, a range ends where the next one begins, and the first one begins with the row.
    """
    return [offsets[:-1].copy(), *cursors[:-1]]


def _scatter(
    rows: Array,
    columns: Array,
    low: int,
    table: Array,
    both: bool,
    cursors: list[Array],
    values: Array,
    arcs: int,
    ranges: Ranges,
) -> Array:
    """Scatter `values` to the places that cursors give, and advance the cursors."""
    out = np.empty(arcs, values.dtype)

    def place(cursor: Array, first: int, last: int) -> None:
        for begin in range(first, last, _TURN):
            look()
            end = min(begin + _TURN, last)
            place_values(rows, columns, low, table, both, cursor, values, out, begin, end)

    parallel(
        place,
        [(cursor, *piece) for cursor, piece in zip(cursors, ranges, strict=False)],
    )
    return out


def _turns(offsets: Array, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the rows [low, high) in ranges of about `_TURN` arcs."""
    while low < high:
        end = min(int(offsets[low]) + _TURN, int(offsets[high]))
        # of the offsets' own type: for another one NumPy would convert all of them
        last = int(np.searchsorted(offsets, offsets.dtype.type(end), side="right")) - 1
        last = max(low + 1, min(last, high))
        yield low, last
        low = last
