"""Breadth-first searches with a bit for each, level after level in one launch, and sums over their levels.

The levels of a launch are in two arrays: the vertices that searches reach, and words with the bits of these
searches.  `ends` has the end of each level in both.  Within a level the order of the vertices varies; what is
summed over them are integers, or floats of one vertex, level by level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_or,
    ballot,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
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

__all__ = ["add_levels", "count_levels", "follow_levels"]

# Places in the control block: what a launch returns, then three of each counter, used in turn, as in `sources`
LEVELS, BEGIN, END = 0, 1, 2
QUEUED, LISTED, ARCS = 3, 6, 9


@inline
def clear_next(control: Any, turn: Any) -> None:
    """Make the counters ready that the next stage will use."""
    if block() == 0 and thread() == 0:
        following = (turn + 1) % 3
        control[QUEUED + following] = 0
        control[LISTED + following] = 0
        control[ARCS + following] = 0


@kernel
def follow_levels(
    adjacency: Any, words: Any, queue: Any, frontier: Any, count: Any, vertices: Any, found: Any, ends: Any,
    limits: Any, control: Any,
) -> None:  # fmt: skip
    """Search on, level by level, while there is room for the next level.  Cooperative.

    Each level has two stages, each ended by a barrier.  First the frontier's vertices take their marks over
    and queue their rows; then the neighbours in queued rows are marked, and listed when marked first.

    Parameters
    ----------
    adjacency : tuple of (int64[size + 1], int[arcs])
        Rows of the neighbours to which searches go on.
    words : tuple of int64[size]
        For each vertex the searches that have reached it; its marks, which are those of the frontier, 0
        elsewhere, and 0 everywhere at the end; scratch.
    queue : tuple of (int[n], int32[n])
        Scratch: n is the number of pieces of all rows.
    frontier : int64[count]
        Vertices.
    count : int
    vertices, found : int64[room]
        Written: the vertices of each level, and the searches that reach them.  There is room for all vertices.
    ends : int64[levels]
        Written: the end of each level; the last may be empty.
    limits : tuple of (int, int, int)
        Most levels; room; vertices of a level at most.
    control : int64[12]
        Written: how many levels; where the last begins and ends.  The rest is scratch, 0 at first.
    """
    offsets, indices = adjacency
    reached, marks, spread = words
    rows, pieces = queue
    levels, room, most = limits
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    listed, begin, end = frontier, np.int64(0), np.int64(0)
    turn, level = 0, 0
    while True:
        clear_next(control, turn)
        for first in range(32 * warp, count, 32 * warps):
            vertex, length = np.int64(0), np.int64(0)
            if first + lane() < count:
                vertex = np.int64(listed[begin + first + lane()])
                length = offsets[vertex + 1] - offsets[vertex]
                marked = marks[vertex]
                marks[vertex] = 0
                spread[vertex] = marked
                reached[vertex] |= marked
                if level > 0:
                    found[begin + first + lane()] = marked
            queue_row(control, QUEUED + turn, rows, pieces, np.int64(0), vertex, length)
            arcs = sum_of_lanes(np.int64(length))
            if lane() == 0:
                atomic_add(control, ARCS + turn, arcs)
        sync_grid()
        size, arcs = control[QUEUED + turn], control[ARCS + turn]
        turn = (turn + 1) % 3
        if count == 0 or level == levels or (level > 0 and end + min(arcs, most) > room):
            break
        clear_next(control, turn)
        for first in range(warp, size, 32 * warps):
            row, start, length = take_pieces(offsets, queue, size, first, warps)
            shares = scan(length)
            before = np.int32(shares - length)
            total = shuffle(FULL, shares, 31)
            for at in range(0, total, 32):
                source, arc = arc_at(at + lane(), shares, before, row, start, 1)
                vertex = np.int64(0)
                marked_first = False
                if at + lane() < total:
                    vertex = np.int64(indices[arc])
                    fresh = spread[source] & ~reached[vertex]
                    if fresh != 0 and fresh & ~load_fresh(marks, vertex) != 0:
                        marked_first = atomic_or(marks, vertex, fresh) == 0
                if any_of(FULL, marked_first):
                    slot = reserve(control, LISTED + turn, np.int32(marked_first))
                    if marked_first:
                        vertices[end + slot] = vertex
        sync_grid()
        listed, begin, count = vertices, end, control[LISTED + turn]
        turn = (turn + 1) % 3
        end += count
        if block() == 0 and thread() == 0:
            ends[level] = end
        level += 1
    if block() == 0 and thread() == 0:
        control[LEVELS] = level
        control[BEGIN] = begin
        control[END] = end


@inline
def level_of(ends: Any, levels: Any, place: Any) -> Any:
    """Return the level that a place is in."""
    low, high = np.int64(0), np.int64(levels)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= place:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def count_levels(found: Any, count: Any, ends: Any, levels: Any, totals: Any) -> None:
    """Count in how many words of each level each bit is.

    Parameters
    ----------
    found : int64[count]
    count : int
    ends : int64[levels]
        The end of each level.
    levels : int
    totals : int64[levels * 64]
        Added to.
    """
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    for first in range(32 * warp, count, 32 * warps):
        level, word = np.int64(0), np.int64(0)
        if first + lane() < count:
            word = found[first + lane()]
            level = level_of(ends, levels, first + lane())
        first_level = shuffle(FULL, level, 0)
        if any_of(FULL, word != 0 and level != first_level):
            for bit in range(64):
                if (word >> bit) & 1:
                    atomic_add(totals, 64 * level + bit, 1)
        else:
            for half in range(0, 64, 32):
                mine = 0
                for bit in range(32):
                    number = popc(ballot(FULL, (word >> (half + bit)) & 1 != 0))
                    if lane() == bit:
                        mine = number
                if mine != 0:
                    atomic_add(totals, 64 * first_level + half + lane(), mine)


@kernel
def add_levels(
    vertices: Any, found: Any, ends: Any, levels: Any, first: Any, reached: Any, distances: Any, reciprocals: Any,
) -> None:  # fmt: skip
    """Add what each level reaches to three sums by vertex, one level after the other.  Cooperative.

    Parameters
    ----------
    vertices, found : int64[n]
    ends : int64[levels]
        The end of each level.
    levels : int
    first : int
        Distance of the first level.
    reached, distances : int64[size]
        Searches that reach a vertex, and their distances.
    reciprocals : float64[size]
        Of these distances.
    """
    begin = np.int64(0)
    for level in range(levels):
        end, distance = ends[level], first + level
        for place in range(begin + block() * threads() + thread(), end, blocks() * threads()):
            vertex, word = vertices[place], found[place]
            number = np.int64(popc(word & 0xFFFFFFFF)) + np.int64(popc((word >> 32) & 0xFFFFFFFF))
            reached[vertex] += number
            distances[vertex] += number * distance
            reciprocals[vertex] += number / distance
        begin = end
        sync_grid()
