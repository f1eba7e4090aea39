"""Strongly connected components: a search both ways, colours, and trimming, each in one launch.

A round follows the arcs of the vertices that the last round has reached, and all rounds of a search
are one cooperative launch: the rounds are as many as a path is long, and the host would take most of the
time of each.  A vertex is queued in pieces of its row (see `rows`).  What is found does not depend on
the order of lanes: marks, least colours and trimmed vertices are those of the last round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_compare_and_swap,
    atomic_exchange,
    atomic_min,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    shuffle,
    store_fresh,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import owner, reserve, scan

__all__ = ["follow", "own_loops"]

# What following an arc does: marks its end, if both ends have the same key; lowers its end's colour;
# or takes one from its end's degree, and trims it when that is 0.
MARK, LOWER, TRIM = 0, 1, 2
NONE = -1  # the root of a vertex whose component is not known
SIZES = 3  # counters of queued pieces: of this round, of the next, and one to be cleared


@inline
def row_along(ins: Any, outs: Any, vertex: Any, way: Any) -> Any:
    """Return where a vertex's arcs begin and end: out-arcs for way 0, in-arcs for 1."""
    begin, end = np.int64(0), np.int64(0)
    if way == 0:
        begin, end = np.int64(outs[0][vertex]), np.int64(outs[0][vertex + 1])
    else:
        begin, end = np.int64(ins[0][vertex]), np.int64(ins[0][vertex + 1])
    return begin, end


@inline
def queue_entry(sizes: Any, which: Any, queue: Any, base: Any, entry: Any, length: Any) -> None:
    """Queue the pieces of an entry's row; every lane takes part, with length 0 if it has none."""
    entries, pieces = queue
    wanted = np.int32((length + PIECE - 1) // PIECE)
    slot = base + reserve(sizes, which, wanted)
    piece = np.int32(0)
    while piece < wanted:
        store_fresh(entries, slot + piece, entry)
        store_fresh(pieces, slot + piece, piece)
        piece = np.int32(piece + 1)


@inline
def is_reached(
    mode: Any, source: Any, end: Any, way: Any, stamp: Any, keys: Any, values: Any, stamps: Any
) -> Any:
    """Follow an arc; return whether its end is to be queued."""
    reached = False
    if mode == MARK:
        if keys[end] == keys[source] and load_fresh(stamps, 2 * end + way) == 0:
            reached = atomic_exchange(stamps, 2 * end + way, np.int32(1)) == 0
    elif mode == LOWER:
        color = np.int64(load_fresh(values, source))
        lower = keys[end] == NONE and load_fresh(values, end) > color
        if lower and atomic_min(values, end, color) > color:
            reached = atomic_exchange(stamps, end, np.int32(stamp)) != stamp
    # Out-arcs take from degrees of in-arcs, kept at even places.
    elif load_fresh(values, end) == NONE and atomic_add(stamps, 2 * end + way, np.int32(-1)) == 1:
        reached = atomic_compare_and_swap(values, end, np.int64(NONE), keys[end]) == NONE
    return reached


@kernel
def follow(
    mode: Any, ins: Any, outs: Any, listed: Any, count: Any, ways: Any, keys: Any, values: Any,
    stamps: Any, queue: Any, room: Any, sizes: Any,
) -> None:  # fmt: skip
    """Follow arcs from listed vertices, and from those that are reached, until none is.

    A cooperative launch.

    Parameters
    ----------
    mode : int
        What following does.
    ins, outs : tuple of (int64[n + 1], int[arcs])
        Rows of in-neighbours and of out-neighbours.
    listed : int64[count]
        Vertices to begin with, in each way.
    count, ways : int
        `ways` is 1 to follow out-arcs; 2 to follow in-arcs too, as a search of its own (`MARK`) or for each
        vertex that is reached (`TRIM`).
    keys : int64[n]
        `MARK`: only the arcs between equal ones are followed.  `LOWER`: −1 for the vertices to be
        coloured.  `TRIM`: the roots of trimmed vertices.
    values : int64[n]
        `LOWER`: colours; `TRIM`: roots, −1 for vertices that are left.  Updated.
    stamps : int32[2 n]
        `MARK`: 1 for vertices that are marked, along out-arcs and along in-arcs.  `LOWER`: 0.
        `TRIM`: arcs into and out of vertices that are left, self-loops apart.  Updated.
    queue : tuple of (int64[2 room], int32[2 room])
        Room for two rounds.
    room : int
        Most pieces of a round.
    sizes : int64[3]
        Zeros.
    """
    warp, warps = (block() * threads() + thread()) >> 5, (blocks() * threads()) >> 5
    for way in range(ways):
        first = np.int64(warp) * 32
        while first < count:
            vertex, length = np.int64(0), np.int64(0)
            if first + lane() < count:
                vertex = np.int64(listed[first + lane()])
                begin, end = row_along(ins, outs, vertex, way)
                length = end - begin
            queue_entry(sizes, 0, queue, np.int64(0), 2 * vertex + way, length)
            first += 32 * np.int64(warps)
    sync_grid()
    entries, pieces = queue
    stamp = np.int32(1)
    now, base, size = np.int32(0), np.int64(0), np.int64(load_fresh(sizes, 0))
    while size > 0:
        then = np.int32(now + 1 if now < 2 else 0)
        first = np.int64(warp)
        while first < size:
            place = first + np.int64(lane()) * warps  # pieces of one row go to many warps
            entry, begin, share = np.int64(0), np.int64(0), np.int32(0)
            if place < size:
                entry = np.int64(load_fresh(entries, base + place))
                begin, end = row_along(ins, outs, entry >> 1, entry & 1)
                begin += np.int64(load_fresh(pieces, base + place)) * PIECE
                share = np.int32(min(end - begin, np.int64(PIECE)))
            ends = scan(share)
            begin += share - ends
            total, at = shuffle(FULL, ends, 31), np.int32(0)
            while at < total:
                mine = owner(ends, np.int32(at + lane()))
                arc = shuffle(FULL, begin, mine) + at + lane()
                source = shuffle(FULL, entry, mine)
                way, target, reached = source & 1, np.int64(0), False
                if at + lane() < total:
                    target = np.int64(outs[1][arc] if way == 0 else ins[1][arc])
                    reached = is_reached(
                        mode, source >> 1, target, way, stamp, keys, values, stamps
                    )
                if any_of(FULL, reached):
                    next_way = np.int64(0)
                    while next_way < ways:
                        # A trimmed vertex is followed both ways, a marked one the way it was found.
                        wanted = reached and (mode == TRIM or next_way == way)
                        low, high = np.int64(0), np.int64(0)
                        if wanted:
                            low, high = row_along(ins, outs, target, next_way)
                        queue_entry(
                            sizes, then, queue, room - base, 2 * target + next_way, high - low
                        )
                        next_way += 1
                at = np.int32(at + 32)
            first += 32 * np.int64(warps)
        if warp == 0 and lane() == 0:
            store_fresh(sizes, SIZES - now - then, np.int64(0))
        sync_grid()
        now, base, stamp = then, room - base, np.int32(stamp + 1)
        size = np.int64(load_fresh(sizes, now))


@kernel
def own_loops(offsets: Any, indices: Any, count: Any, loops: Any) -> None:
    """Count the self-loops of each vertex: rows are ascending.

    Parameters
    ----------
    offsets, indices : int64[count + 1], int[arcs]
    count : int
    loops : int32[count]
        Written.
    """
    vertex = np.int64(block() * threads() + thread())
    while vertex < count:
        low, high = np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])
        end, loop_count = high, np.int32(0)
        while low < high:
            middle = (low + high) >> 1
            if indices[middle] < vertex:
                low = middle + 1
            else:
                high = middle
        while low < end and indices[low] == vertex:
            loop_count = np.int32(loop_count + 1)
            low += 1
        loops[vertex] = loop_count
        vertex += blocks() * threads()
