"""Arcs that are larger than memory: grouped by ranges of rows, then each range sorted in memory.

A range's arcs are sorted by neighbour, a digit at a time, and then by row: each pass is a stable counting sort with
few enough buckets that what is written stays in a core's cache.  So arcs between the same two vertices keep their
order.  As in `build`, a reverse arc is marked: its neighbour v is ~v.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["group_by_range", "sort_range"]

Ids = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Ranges = npt.NDArray[np.uint16] | npt.NDArray[np.int64]


@inline
def _number(table: Ids, shifted: Any) -> Any:
    """Return a vertex number, given its id less the smallest one."""
    return np.int64(table[shifted]) if len(table) > 0 else shifted


@jit
def group_by_range(
    rows: Ids,
    neighbours: Ids,
    low: int,
    table: Ids,
    both: bool,
    drop_loops: bool,
    range_of: Ranges,
    ranges: Ranges,
    ends: npt.NDArray[np.int64],
    out_rows: Ids,
    out_neighbours: Ids,
    edges: npt.NDArray[np.int32],
) -> None:
    """Write the arcs of some edges, range after range, in the order of the edges.

    An edge has one place in the output, with `both` two.  Where it has fewer arcs, what is written there is in the
    last range, which has no rows: so there is no branch that no processor could predict.

    Parameters
    ----------
    rows, neighbours : ndarray of int, shape (edges,)
        Ids; see `build`.
    low, table
        See `build`.
    both : bool
        Whether each edge is also an arc in the other direction, which is marked.
    drop_loops : bool
    range_of : ndarray of int, shape (vertices,)
        The range of each row.
    ranges : ndarray of int, shape (places,)
        Overwritten: the range of each arc before they are moved.
    ends : ndarray of int64, shape (ranges + 1,)
        At first 0; then the end of each range's arcs in the output.
    out_rows, out_neighbours : ndarray of int, shape (places,)
    edges : ndarray of int32, shape (places,) or (0,)
        Output: the edge of each arc, if that is wanted.
    """
    no_range, place = len(ends) - 1, 0
    for edge in range(len(rows)):
        row = _number(table, np.int64(rows[edge]) - low)
        neighbour = _number(table, np.int64(neighbours[edge]) - low)
        is_arc = (row != neighbour) | (not drop_loops)
        ranges[place] = range_of[row] if is_arc else no_range
        ends[ranges[place]] += 1
        place += 1
        if both:
            ranges[place] = range_of[neighbour] if row != neighbour else no_range
            ends[ranges[place]] += 1
            place += 1
    first = 0
    for each in range(len(ends)):
        count = ends[each]
        ends[each] = first
        first += count
    place = 0
    for edge in range(len(rows)):
        row = _number(table, np.int64(rows[edge]) - low)
        neighbour = _number(table, np.int64(neighbours[edge]) - low)
        for back in range(2 if both else 1):
            to = ends[ranges[place]]
            ends[ranges[place]] += 1
            place += 1
            out_rows[to] = neighbour if back else row
            out_neighbours[to] = ~row if back else neighbour
            if len(edges) > 0:
                edges[to] = edge


@jit
def sort_range(
    rows: Ids,
    neighbours: Ids,
    first: int,
    cursors: npt.NDArray[np.int64],
    passes: int,
    width: int,
    spare_rows: Ids,
    spare_neighbours: Ids,
    places: Ids,
) -> int:
    """Sort the arcs of a range by row, then neighbour; equal ones keep their order.

    Parameters
    ----------
    rows, neighbours : ndarray of int, shape (arcs,)
        Read only; neighbours may be marked.
    first : int
        The first row of the range.
    cursors : ndarray of int64, shape (rows of the range,)
        Where each row begins; overwritten.
    passes, width : int
        Digits of a neighbour, and their bits.
    spare_rows, spare_neighbours : ndarray of int, shape (2, arcs)
    places : ndarray of int, shape (2, arcs) or (2, 0)
        Output: for each sorted arc its place in `rows`, if that is wanted.

    Returns
    -------
    int
        Which row of `spare_neighbours` and `places` has the result.
    """
    arcs, to = len(rows), 0
    has_places = places.shape[1] > 0
    ends = np.empty(1 << width, np.int64)
    for step in range(passes):
        shift = step * width
        ends[:] = 0
        for arc in range(arcs):
            neighbour = np.int64(neighbours[arc])
            ends[((neighbour ^ (neighbour >> 63)) >> shift) & (len(ends) - 1)] += 1
        begin = 0
        for each in range(len(ends)):
            count = ends[each]
            ends[each] = begin
            begin += count
        to_rows, to_neighbours = spare_rows[to], spare_neighbours[to]
        for arc in range(arcs):
            neighbour = np.int64(neighbours[arc])
            digit = ((neighbour ^ (neighbour >> 63)) >> shift) & (len(ends) - 1)
            place = ends[digit]
            ends[digit] += 1
            to_rows[place] = rows[arc]
            to_neighbours[place] = neighbour
            if has_places:
                places[to, place] = places[1 - to, arc] if step > 0 else arc
        rows, neighbours = to_rows, to_neighbours
        to = 1 - to
    for arc in range(arcs):
        inside = np.int64(rows[arc]) - first
        end = cursors[inside]
        cursors[inside] += 1
        spare_neighbours[to, end] = neighbours[arc]
        if has_places:
            places[to, end] = places[1 - to, arc]
    return to
