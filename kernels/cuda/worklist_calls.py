"""The first phase of a worklist's superstep: active vertices mark their out-neighbours, which then gather.

Each marked vertex gets a bit, and the first thread to set it adds the vertex to the worklist.  Worklists are made
online, or from the bits in order of position.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add, list_words
from cugraph_ws.kernels.cuda.cooperative import rows_of_warp, sync_workers
from cugraph_ws.kernels.cuda.interface import keep, load, put
from cugraph_ws.kernels.cuda.layout import (
    DEGREES,
    LISTED,
    PIECE,
    QUEUED,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    block,
    blocks,
    inline,
    lane,
    load_fresh,
    load_once,
    popc,
    shuffle,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    queue_row,
    reserve,
    scan,
    sum_of_lanes,
    take_pieces,
)

__all__ = ["call_neighbours", "count_in", "list_flagged", "list_in_order"]


@inline
def list_flagged(
    vertices: Any, flags: Any, next_flags: Any, listed: Any, offsets: Any, control: Any, turn: Any
) -> None:
    """List flagged vertices, count their out-arcs, and clear the flags of the superstep after."""
    arcs = np.int64(0)
    for first in range(block() * threads() + thread() - lane(), vertices, blocks() * threads()):
        vertex = first + lane()
        active = False
        if vertex < vertices:
            active = flags[vertex] != 0
            next_flags[vertex] = np.uint8(0)
        if any_of(FULL, active):
            slot = reserve(control, LISTED + turn, np.int32(active))
            if active:
                listed[slot] = vertex
                arcs += offsets[vertex + 1] - offsets[vertex]
    arcs = sum_of_lanes(arcs)
    if lane() == 0 and arcs > 0:
        atomic_add(control, DEGREES + turn, arcs)


@inline
def call(place: Any, total: Any, ends: Any, start: Any, row: Any, begin: Any, indices: Any) -> Any:
    """Return the vertex that an arc leads to, and whether there is an arc."""
    _, arc = arc_at(place, ends, start, row, begin, 1)
    target = np.int64(0)
    if place < total:
        target = np.int64(load_once(indices, arc))
    return target, place < total


@inline
def enter(vertex: Any, is_called: Any, marks: Any) -> Any:
    """Mark a vertex if `is_called`; return whether this thread was the first to set its bit."""
    if is_called and (np.int64(load_fresh(marks, vertex >> 5)) >> (vertex & 31)) & 1 == 0:
        return add(marks, vertex)
    return False


@inline
def write_down(first: Any, vertex: Any, slot: Any, room: Any, listed: Any, offsets: Any) -> Any:
    """List a vertex when it is `first` marked, if there is room; return its in-degree, 0 later."""
    degree = np.int64(0)
    if first:
        degree = offsets[vertex + 1] - offsets[vertex]
        if slot < room:
            listed[slot] = vertex
    return degree


@inline
def call_all(
    share: Any, row: Any, begin: Any, indices: Any, marks: Any, listed: Any, room: Any,
    counters: Any, which: Any, offsets: Any,
) -> Any:  # fmt: skip
    """Mark the vertices that the arcs of the lanes' rows lead to; return the in-arcs of the lane's new ones."""
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    degrees = np.int64(0)
    for at in range(np.int32(0), total, np.int32(64)):
        place = np.int32(at + lane())
        vertex_0, try_0 = call(place, total, ends, start, row, begin, indices)
        vertex_1, try_1 = call(np.int32(place + 32), total, ends, start, row, begin, indices)
        try_0 = enter(vertex_0, try_0, marks)
        try_1 = enter(vertex_1, try_1, marks)
        wanted = np.int32(try_0) + np.int32(try_1)
        if any_of(FULL, wanted > 0):
            slot = reserve(counters, which, np.int32(wanted))
            degrees += write_down(try_0, vertex_0, slot, room, listed, offsets)
            slot += np.int32(try_0)
            degrees += write_down(try_1, vertex_1, slot, room, listed, offsets)
    return degrees


@inline
def list_in_order(
    words: Any, warp: Any, warps: Any, marks: Any, listed: Any, offsets: Any, shares: Any
) -> None:
    """List marked vertices by position, and clear the bits; each warp takes a range of the bitmap."""
    span = (words + warps - 1) // warps
    begin = min(np.int64(warp) * span, words)
    end = min(begin + span, words)
    count = np.int64(0)
    for word in range(begin + lane(), end, 32):
        count += np.int64(popc(marks[word]))
    count = sum_of_lanes(count)
    if lane() == 0:
        shares[warp] = count
    sync_grid()
    below = np.int64(0)
    for peer_warp in range(lane(), warp, 32):
        below += shares[peer_warp]
    below = sum_of_lanes(below)
    for first in range(begin, end, 32):
        mine = np.uint32(0)
        if first + lane() < end:
            mine = marks[first + lane()]
            marks[first + lane()] = np.uint32(0)
        wanted = np.int32(popc(mine))
        ends = scan(wanted)
        if any_of(FULL, wanted > 0):
            list_words(mine, first, np.int64(below + ends - wanted), (listed,), offsets)
        below += np.int64(shuffle(FULL, ends, 31))


@inline
def count_in(value: Any, counters: Any, which: Any) -> None:
    """Add all lanes' numbers to a counter."""
    if any_of(FULL, value > 0):
        total = sum_of_lanes(value)
        if lane() == 0:
            atomic_add(counters, which, total)


@inline
def take_changed(
    base: Any, rows: Any, changed: Any, entries: Any, everyone: Any, done: Any, now: Any,
    memory: Any, offsets: Any, queue: Any, counters: Any, which: Any,
) -> Any:  # fmt: skip
    """Put the new state of a lane's vertex in place; return its out-arcs if it calls: row, first arc, number.

    A row that is longer than a piece is queued, and nothing of it is returned.
    """
    state, fresh, constants, _ = memory
    row, begin, length = np.int64(0), np.int64(0), np.int64(0)
    if lane() < rows and rows * base + lane() < entries:
        row = np.int64(changed[rows * base + lane()])
        if done > 0:
            put(state, row, keep(load(fresh, constants, row)))
        if not everyone and now[row] != 0:
            begin = offsets[row]
            length = offsets[row + 1] - begin
    if any_of(FULL, length > PIECE):
        queue_row(
            counters, which, queue[0], queue[1], np.int64(0), row, length if length > PIECE else 0
        )
    return row, begin, np.int32(0 if length > PIECE else length)


@inline
def call_neighbours(
    team: Any, changed: Any, entries: Any, everyone: Any, done: Any, now: Any, memory: Any,
    forward: Any, in_offsets: Any, queue: Any, marks: Any, called: Any, room: Any,
) -> None:  # fmt: skip
    """Put the changed vertices' states in place, and mark the out-neighbours of those that are active.

    Parameters
    ----------
    team : (warp, warps, alone, counters, at)
        The warp's number among those that work, and how many these are; whether they are a single block's;
        their counters, and which of three.
    changed, entries
        The list of changed vertices, and its length.
    everyone : bool
        Whether all vertices will gather, so that none need be marked.
    memory : (state, fresh, constants, values)
    """
    warp, warps, alone, counters, at = team
    offsets, indices = forward
    rows = rows_of_warp(entries, warps)
    degrees, size = np.int64(0), np.int64(0)
    top, pace = np.int32((entries + rows - 1) // rows), warps
    for stage in range(2):
        if stage == 1:
            top, pace = np.int32(size), np.int32(32 * warps)
        for base in range(warp, top, pace):
            if stage == 1:
                row, begin, share = take_pieces(offsets, queue, size, base, warps)
            else:
                row, begin, share = take_changed(
                    base, rows, changed, entries, everyone, done, now, memory, offsets, queue,
                    counters, QUEUED + at,
                )  # fmt: skip
            if any_of(FULL, share > 0):
                degrees += call_all(
                    share,
                    row,
                    begin,
                    indices,
                    marks,
                    called,
                    room,
                    counters,
                    LISTED + at,
                    in_offsets,
                )
        count_in(degrees, counters, DEGREES + at)
        degrees = np.int64(0)
        sync_workers(alone)
        size = counters[QUEUED + at]
        if size == 0:
            break
