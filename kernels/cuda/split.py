"""Arcs split by the rank they go to, and by the round in which they go.

An edge between two vertices is one arc, or with `both` two, as in `build`.  Arcs are gone through in
tiles, each by one warp from its first arc to its last, so that those of a kind stay in their order.
A kind is a round and a rank: round × ranks + rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_max,
    atomic_min,
    atomic_or,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    load_once,
    match,
    popc,
    store_fresh,
    sync_warp,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import first_from, greatest_of_lanes, least_of_lanes

__all__ = ["find_range", "mark_bits", "mark_given", "mark_kinds", "scatter_kinds", "strip_marks"]


@inline
def worker() -> Any:
    """Return the thread's number within the grid."""
    return block() * threads() + thread()


@inline
def workers() -> Any:
    """Return the number of threads of the grid."""
    return blocks() * threads()


@inline
def mark(bits: Any, place: Any) -> None:
    """Set a bit.

    It is read first, without synchronisation: a stale read costs one more atomic, and no atomics queue up
    on the word of a hub.
    """
    word = place >> 5
    bit = np.uint32(np.int64(1) << (place & 31))
    if np.uint32(load_fresh(bits, word)) & bit == 0:
        atomic_or(bits, word, bit)


@kernel
def find_range(column: Any, rows: Any, bounds: Any) -> None:
    """Lower `bounds[0]` to the least integer of a column, and raise `bounds[1]` to the greatest."""
    least = np.int64(0x7FFFFFFFFFFFFFFF)
    greatest = -least - 1
    for row in range(worker(), rows, workers()):
        value = np.int64(load_once(column, row))
        least = min(least, value)
        greatest = max(greatest, value)
    least, greatest = least_of_lanes(least, 32), greatest_of_lanes(greatest)
    if lane() == 0 and least <= greatest:
        atomic_min(bounds, 0, least)
        atomic_max(bounds, 1, greatest)


@kernel
def mark_bits(column: Any, low: Any, rows: Any, bits: Any) -> None:
    """Set bit i where low + i is in the column."""
    for row in range(worker(), rows, workers()):
        mark(bits, np.int64(load_once(column, row)) - low)


@kernel
def mark_kinds(
    columns: Any, both: Any, slots: Any, loops: Any, low: Any, span: Any, kind_of: Any,
    ranks: Any, classes: Any, tile: Any, first_tile: Any, tiles: Any, kinds: Any, counts: Any,
    marks: Any,
) -> None:  # fmt: skip
    """Write the kind of each arc: `classes` for none, as for self-loops without `loops`.

    `kind_of` has the kinds of arcs to the integers from `low` on.  `counts[kind × tiles + tile]` is
    raised by the arcs of that kind in a tile, of which the first is `first_tile`.  Of the bits `marks`,
    `span` for each rank, those of its arcs' sources are set.
    """
    units = (slots + tile - 1) // tile
    below = np.uint32((np.int64(1) << lane()) - 1)
    for unit in range(worker() // 32, units, workers() // 32):
        last = min((unit + 1) * tile, slots)
        for start in range(unit * tile, last, 32):
            slot = start + lane()
            kind = np.int32(classes)
            if slot < last:
                edge = slot >> both
                head = np.int64(load_once(columns[0], edge))
                tail = np.int64(load_once(columns[1], edge))
                back = both and slot & 1
                if head != tail or (loops and not back):
                    if back:
                        head, tail = tail, head
                    kind = np.int32(load_once(kind_of, head - low))
                    rank = np.int64(kind)
                    while rank >= ranks:  # a few rounds at most
                        rank -= ranks
                    mark(marks, rank * span + tail - low)
                kinds[slot] = kind
            alike = match(FULL, kind)
            if kind < classes and (alike & below) == 0:
                counts[np.int64(kind) * tiles + first_tile + unit] += popc(alike)
            sync_warp(FULL)


@kernel
def scatter_kinds(
    columns: Any, both: Any, slots: Any, low: Any, kinds: Any, first: Any, last_kind: Any,
    tile: Any, first_tile: Any, tiles: Any, cursors: Any, begin: Any, ends: Any, listed: Any,
    first_row: Any, rows: Any,
) -> None:  # fmt: skip
    """Write the ends, less `low`, of arcs of the kinds `first` … last_kind - 1, those of a kind together.

    `ends` are two arrays, of heads and of tails.
    Of an arc that leads back, to the source of an edge, the tail v is marked as ~v: see `strip_marks`.
    `cursors[kind × tiles + tile]`, which is used up, says where those of a tile go, less `begin`.
    With `listed` the edges are written too, counted from `first_row`.
    """
    heads, tails = ends
    units = (slots + tile - 1) // tile
    below = np.uint32((np.int64(1) << lane()) - 1)
    for unit in range(worker() // 32, units, workers() // 32):
        last = min((unit + 1) * tile, slots)
        coming = np.int32(load_once(kinds, min(unit * tile + lane(), last - 1)))
        for start in range(unit * tile, last, 32):
            slot = start + lane()
            kind = coming
            coming = np.int32(load_once(kinds, min(slot + 32, last - 1)))  # on its way meanwhile
            if slot >= last or kind < first or kind >= last_kind:
                kind = np.int32(-1)
            if any_of(FULL, kind >= 0):
                alike = match(FULL, kind)
                before = alike & below
                cursor = np.int64(max(kind, np.int32(0))) * tiles + first_tile + unit
                place = cursors[cursor]
                sync_warp(FULL)
                if kind >= 0:
                    if before == 0:
                        cursors[cursor] = place + popc(alike)
                    place += popc(before) - begin
                    edge = slot >> both
                    head = np.int64(load_once(columns[0], edge))
                    tail = np.int64(load_once(columns[1], edge))
                    sign = np.int64(0)
                    if both and slot & 1:
                        head, tail, sign = tail, head, np.int64(-1)
                    heads[place] = head - low
                    tails[place] = (tail - low) ^ sign
                    if listed:
                        rows[place] = first_row + edge
                sync_warp(FULL)


@kernel
def strip_marks(tails: Any, arcs: Any, ways: Any) -> None:
    """Take the marks of arcs that lead back away; in `ways`, 1 for such an arc and 0 for any other."""
    for arc in range(worker(), arcs, workers()):
        tail = np.int64(tails[arc])
        sign = tail >> 63
        tails[arc] = tail ^ sign
        ways[arc] = np.uint8(-sign)


@kernel
def mark_given(
    heads: Any, tails: Any, ways: Any, arcs: Any, positions: Any, first_row: Any, offsets: Any,
    indices: Any, marks: Any,
) -> None:  # fmt: skip
    """Mark, for each pair of vertices with several edges, in which directions they were given.

    Arcs lead to the rows from the position `first_row` on; their ends are ids less the least, which index
    `positions`.  At the pair's first arc in the row of the larger id, `marks` has a byte for either of `ways`.
    """
    for arc in range(worker(), arcs, workers()):
        head, tail = np.int64(load_once(heads, arc)), np.int64(load_once(tails, arc))
        if tail < head:
            row = np.int64(positions[head]) - first_row
            neighbour = np.int64(positions[tail])
            begin, end = offsets[row], offsets[row + 1]
            first = begin + first_from(neighbour, indices, begin, end - begin)
            place = 2 * first + np.int64(load_once(ways, arc))
            # Many threads may store to one place, but all of them the same.
            if (
                first + 1 < end
                and indices[first + 1] == neighbour
                and load_fresh(marks, place) == 0
            ):
                store_fresh(marks, place, np.uint8(1))
