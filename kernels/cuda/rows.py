"""How the arcs of many rows are shared out: among the lanes of a warp, and among warps.

Vertices of a work list have rows of any length.  A row is queued in pieces, which are spread over the
warps, and the lanes of a warp take the arcs of 32 pieces one after the other, whatever row they
are of: no lane is idle while there is an arc left, and no hub keeps a warp busy alone (Merrill,
Garland and Grimshaw, "Scalable GPU graph traversal", PPoPP 2012; the schedule of Warp Segmentation
for rows that do not lie side by side).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    inline,
    lane,
    shuffle,
    shuffle_up,
    shuffle_xor,
)

__all__ = [
    "arc_at",
    "first_from",
    "greatest_of_lanes",
    "least_of_lanes",
    "owner",
    "queue_row",
    "reserve",
    "row_between",
    "row_of",
    "scan",
    "sum_of_lanes",
    "take_pieces",
    "take_rows",
]


@inline
def scan(value: Any) -> Any:
    """Return the inclusive prefix sum of the lanes' values, int32."""
    total = np.int32(value)
    distance = 1
    while distance < 32:
        below = shuffle_up(FULL, total, distance)
        if lane() >= distance:
            total = np.int32(total + below)
        distance *= 2
    return total


@inline
def sum_of_lanes(value: Any) -> Any:
    """Return the sum over all lanes, int64 or float64, in one order on any machine."""
    distance = 16
    while distance > 0:
        value += shuffle_xor(FULL, value, distance)
        distance //= 2
    return value


@inline
def least_of_lanes(value: Any, lanes: Any) -> Any:
    """Return the least value of each group of `lanes` neighbouring lanes: of 2, 4, 8, 16 or 32."""
    bits = np.int32(lanes >> 1)
    while bits > 0:
        value = min(value, shuffle_xor(FULL, value, bits))
        bits = np.int32(bits >> 1)
    return value


@inline
def greatest_of_lanes(value: Any) -> Any:
    """Return the greatest value of all lanes."""
    bits = np.int32(16)
    while bits > 0:
        value = max(value, shuffle_xor(FULL, value, bits))
        bits = np.int32(bits >> 1)
    return value


@inline
def long_scan(value: Any) -> Any:
    """Return the inclusive prefix sum of the lanes' values, int64."""
    total = np.int64(value)
    distance = 1
    while distance < 32:
        below = shuffle_up(FULL, total, distance)
        if lane() >= distance:
            total += below
        distance *= 2
    return total


@inline
def owner(ends: Any, place: Any) -> Any:
    """Return the lane whose share a place is in; `ends` is what `scan` gave for the shares' sizes."""
    owning_lane = np.int32(0)
    step = np.int32(16)
    while step > 0:
        if shuffle(FULL, ends, owning_lane + step - 1) <= place:
            owning_lane = np.int32(owning_lane + step)
        step = np.int32(step >> 1)
    return owning_lane


@inline
def reserve(counters: Any, which: Any, wanted: Any) -> Any:
    """Reserve `wanted` (int32) places for every lane, with one atomic; return the lane's first."""
    ends = scan(wanted)
    total = shuffle(FULL, ends, 31)
    first = np.int64(0)
    if total > 0:
        if lane() == 0:
            first = np.int64(atomic_add(counters, which, total))
        first = shuffle(FULL, first, 0)
    return first + ends - wanted


@inline
def queue_row(
    counters: Any, which: Any, rows: Any, pieces: Any, base: Any, row: Any, length: Any
) -> None:
    """Queue a row's pieces from `base` on; every lane takes part, with length 0 if it has no row."""
    wanted = np.int32((length + PIECE - 1) // PIECE)
    slot = base + reserve(counters, which, wanted)
    for piece in range(wanted):
        rows[slot + piece] = row
        pieces[slot + piece] = piece


@inline
def take_pieces(offsets: Any, queue: Any, size: Any, first: Any, warps: Any) -> Any:
    """Return the lane's piece of a queued row: row, first arc, number of arcs."""
    rows, pieces = queue
    place = first + lane() * warps  # pieces of one row go to many warps
    row, begin, length = np.int64(0), np.int64(0), np.int32(0)
    if place < size:
        row = np.int64(rows[place])
        begin = offsets[row] + np.int64(pieces[place]) * PIECE
        length = np.int32(min(offsets[row + 1] - begin, PIECE))
    return row, begin, length


@inline
def take_rows(
    stage: Any, listed: Any, count: Any, first: Any, rows: Any, offsets: Any, queue: Any, size: Any,
    warps: Any, counters: Any, which: Any,
) -> Any:  # fmt: skip
    """Return what a lane takes of rows that are listed: row, first arc, number of arcs.

    Parameters
    ----------
    stage : int
        0: a row of the list, or nothing of one longer than a piece, which is queued; 1: a queued piece.
    listed, count
        The list, and its length.
    first : int
        Stage 0: in which of its parts of `rows` entries the warp is; 1: its first piece.
    rows : int
        That a warp takes at a time: 32 at most.
    offsets, queue, size, warps
        See `take_pieces`.
    counters, which
        Where pieces are counted.
    """
    row, begin, share = np.int64(0), np.int64(0), np.int32(0)
    if stage == 1:
        row, begin, share = take_pieces(offsets, queue, size, first, warps)
    else:
        length = np.int64(0)
        if lane() < rows and rows * first + lane() < count:
            row = np.int64(listed[rows * first + lane()])
            begin = offsets[row]
            length = offsets[row + 1] - begin
        if any_of(FULL, length > PIECE):
            queue_row(
                counters, which, queue[0], queue[1], np.int64(0), row,
                length if length > PIECE else 0,
            )  # fmt: skip
        share = np.int32(0 if length > PIECE else length)
    return row, begin, share


@inline
def arc_at(place: Any, ends: Any, start: Any, row: Any, begin: Any, width: Any) -> Any:
    """Return the row and the arc of a place among the warp's shares; each arc has `width` places."""
    mine = owner(ends, place)
    source = shuffle(FULL, row, mine)
    arc = shuffle(FULL, begin, mine) + (place - shuffle(FULL, start, mine)) // width
    return source, arc


@inline
def row_between(offsets: Any, low: Any, high: Any, arc: Any) -> Any:
    """Return the row that an arc is in, of those from `low` on and before `high`."""
    low, high = np.int64(low), np.int64(high)
    while high - low > 1:
        middle = (low + high) // 2
        if offsets[middle] <= arc:
            low = middle
        else:
            high = middle
    return low


@inline
def row_of(offsets: Any, rows: Any, arc: Any) -> Any:
    """Return the row that an arc is in."""
    return row_between(offsets, 0, rows, arc)


@inline
def first_from(lead: Any, indices: Any, begin: Any, length: Any) -> Any:
    """Return where in an ascending row the positions from `lead` on begin; 0 if there are none."""
    low, high = np.int64(0), np.int64(length)
    while low < high:
        middle = np.int64((low + high) >> 1)
        if indices[begin + middle] < lead:
            low = np.int64(middle + 1)
        else:
            high = middle
    return low if low < length else np.int64(0)
