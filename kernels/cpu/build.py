"""Build rows of neighbours from a list of edges by a counting sort: count, then scatter.

An edge's end is its id minus `low`, looked up in `table` if that is not empty.  So the kernels read
the caller's columns directly, and no renumbered copy of the edges ever exists.  `cursors` holds,
for each row, where the next neighbour goes.  Every range of edges has its own cursors, so ranges
can run in parallel, and each row is still in input order.

If an edge goes both ways, its reverse arc is marked at first: the neighbour v is written as ~v,
which is negative.  A transposition keeps the marks, and `strip_marks` removes them.  Marks are read
without branches: half of all arcs are marked, so a branch could not be predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = [
    "count_rows",
    "mark_present",
    "place_edges",
    "place_first_rows",
    "place_values",
    "start_cursors",
    "strip_marks",
    "transpose_rows",
]

Ids = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Places = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@jit
def mark_present(ids: Ids, low: int, present: npt.NDArray[np.uint8], lo: int, hi: int) -> None:
    """Set `present[id - low]` for every id of `ids[lo:hi]`."""
    for edge in range(lo, hi):
        present[ids[edge] - low] = 1


@jit
def count_rows(
    rows: Ids, columns: Ids, low: int, table: Ids, both: bool, counts: Places, lo: int, hi: int
) -> None:
    """Add to `counts` how many neighbours each row will get; `rows` may be marked."""
    for edge in range(lo, hi):
        row = rows[edge] - low
        if len(table) > 0:
            row = table[row]
        row ^= row >> 63
        counts[row] += 1
        if both:
            column = columns[edge] - low
            if len(table) > 0:
                column = table[column]
            if row != column:
                counts[column] += 1


@jit
def start_cursors(before: Places, last: Places) -> int:
    """Replace each range's counts by the places where it writes in each row.

    `before` has the shape (ranges - 1, rows); `last` has the counts of the last range.  Returns the
    number of neighbours in all rows.
    """
    place = 0
    for row in range(len(last)):
        for piece in range(len(before)):
            count = before[piece, row]
            before[piece, row] = place
            place += count
        count = last[row]
        last[row] = place
        place += count
    return place


@jit
def place_edges(
    rows: Ids,
    columns: Ids,
    low: int,
    table: Ids,
    both: bool,
    cursors: Places,
    out: Ids,
    lo: int,
    hi: int,
) -> None:
    """Append each edge's column to its row, and with `both` its row, marked, to its column's row.

    A self-loop is placed once in both cases.
    """
    for edge in range(lo, hi):
        row = rows[edge] - low
        column = columns[edge] - low
        if len(table) > 0:
            row = table[row]
            column = table[column]
        out[cursors[row]] = column
        cursors[row] += 1
        if both and row != column:
            out[cursors[column]] = ~row
            cursors[column] += 1


@jit
def place_first_rows(
    rows: Ids,
    columns: Ids,
    bound: int,
    cursors: Places,
    out: Ids,
    listed: npt.NDArray[np.int64],
    lo: int,
    hi: int,
) -> int:
    """Append the columns of edges with rows below `bound`, and move the others to the front.

    Ends are vertex numbers.  Returns how many edges are left, from `lo` on, in their order.  Edges
    are read in blocks, and those to place are first copied to `listed`, of shape (2, block size).
    That avoids a branch that no processor could predict.
    """
    own_rows = listed[0]
    own_columns = listed[1]
    not_below = lo
    for first in range(lo, hi, len(own_rows)):
        below = 0
        for edge in range(first, min(first + len(own_rows), hi)):
            row = rows[edge]
            column = columns[edge]
            own_rows[below] = rows[not_below] = row
            own_columns[below] = columns[not_below] = column
            below += row < bound
            not_below += row >= bound
        for place in range(below):
            row = own_rows[place]
            out[cursors[row]] = own_columns[place]
            cursors[row] += 1
    return not_below - lo


@jit
def place_values(
    rows: Ids,
    columns: Ids,
    low: int,
    table: Ids,
    both: bool,
    cursors: Places,
    values: npt.NDArray[Any],
    out: npt.NDArray[Any],
    lo: int,
    hi: int,
) -> None:
    """Put each edge's value beside its neighbour, given the same cursors; `rows` may be marked."""
    for edge in range(lo, hi):
        row = rows[edge] - low
        if len(table) > 0:
            row = table[row]
        row ^= row >> 63
        out[cursors[row]] = values[edge]
        cursors[row] += 1
        if both:
            column = columns[edge] - low
            if len(table) > 0:
                column = table[column]
            if row != column:
                out[cursors[column]] = values[edge]
                cursors[column] += 1


@jit
def transpose_rows(
    offsets: Places, indices: Ids, cursors: Places, out: Ids, lo: int, hi: int
) -> None:
    """Append each row number from `lo` to `hi - 1` to its neighbours' rows; marks are kept.

    Rows are read in ascending order, so every row of the result is ascending apart from the marks.
    """
    for row in range(lo, hi):
        for arc in range(offsets[row], offsets[row + 1]):
            sign = np.int64(indices[arc]) >> 63
            target = indices[arc] ^ sign
            out[cursors[target]] = row ^ sign
            cursors[target] += 1


@jit
def strip_marks(offsets: Places, indices: Ids, base: int, lo: int, hi: int) -> int:
    """Remove the marks from the rows `lo` to `hi - 1`; count pairs with edges in both directions.

    `indices` begins with arc `base`.  A pair is counted once, in the row of its larger vertex, whatever its number of edges.
    """
    pairs = 0
    for row in range(lo, hi):
        last = np.int64(-1)
        ways = np.int64(0)  # 1 for an edge as given, 2 for a reversed one
        for arc in range(offsets[row] - base, offsets[row + 1] - base):
            sign = np.int64(indices[arc]) >> 63
            neighbour = indices[arc] ^ sign
            indices[arc] = neighbour
            if neighbour != last:
                pairs += (ways == 3) & (last < row)
                last = neighbour
                ways = np.int64(0)
            ways |= 1 - sign
        pairs += (ways == 3) & (last < row)
    return pairs
