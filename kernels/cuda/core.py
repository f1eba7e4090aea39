"""Core numbers by peeling, as `kernels.cpu.core`, level after level in one launch.

What is left is sifted once for each level at which a vertex falls (PKC: Kabir and Madduri, IPDPSW
2017); a vertex whose degree falls to the level is queued at once, by the thread that lowers it.

Degrees are read and lowered by many threads at once.  A thread that finds it has lowered one below
the level takes that back; until then others see it lower still, and leave it alone as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_min,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    shuffle,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import (
    least_of_lanes,
    owner,
    queue_row,
    reserve,
    scan,
    sum_of_lanes,
)

__all__ = ["count_loops", "peel"]

# Places in the control block: results, then three of each counter.  A stage uses one of the three,
# the next stage reads it, and the one after clears it: so one barrier a stage is enough.
COUNT, LEVEL, SWAPPED, PEELED, READ = 0, 1, 2, 3, 4
QUEUED, KEPT, LEAST = 5, 8, 11
NOTHING = 0x7FFFFFFFFFFFFFFF


@kernel
def count_loops(offsets: Any, indices: Any, loops: Any, size: Any) -> None:
    """Count how often each row holds its own vertex.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours, ascending.
    loops : int64[size]
        Written.
    size : int
        Vertices.
    """
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        low, high = offsets[vertex], offsets[vertex + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < vertex:
                low = middle + 1
            else:
                high = middle
        count = 0
        while low + count < end and indices[low + count] == vertex:
            count += 1
        loops[vertex] = count


@inline
def length_of(adjacency: Any, parts: Any, row: Any) -> Any:
    """Return how many neighbours a vertex has, in both parts."""
    offsets, _, more_offsets, _ = adjacency
    length = offsets[row + 1] - offsets[row]
    if parts > 1:
        length += more_offsets[row + 1] - more_offsets[row]
    return length


@inline
def neighbour_of(adjacency: Any, row: Any, place: Any) -> Any:
    """Return one of a vertex's neighbours; the second part comes after the first."""
    offsets, indices, more_offsets, more_indices = adjacency
    first = offsets[row + 1] - offsets[row]
    if place < first:
        return np.int64(indices[offsets[row] + place])
    return np.int64(more_indices[more_offsets[row] + place - first])


@inline
def clear_next(control: Any, turn: Any) -> None:
    """Make the counters ready that the next stage will use."""
    if block() == 0 and thread() == 0:
        following = (turn + 1) % 3
        control[QUEUED + following] = 0
        control[KEPT + following] = 0
        control[LEAST + following] = NOTHING


@inline
def sift(
    adjacency: Any,
    parts: Any,
    core: Any,
    alive: Any,
    count: Any,
    survivors: Any,
    wanted: Any,
    queue: Any,
    control: Any,
    turn: Any,
) -> Any:
    """Queue the vertices of the degree `wanted`, keep those of a higher one; return how many fell.

    Vertices of a lower degree have been peeled and are dropped.
    """
    rows, pieces = queue
    fallen = 0
    least = np.int64(NOTHING)
    for first in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        vertex, degree = np.int64(0), np.int64(-1)
        if first + lane() < count:
            vertex = np.int64(alive[first + lane()])
            degree = np.int64(load_fresh(core, vertex))
        slot = reserve(control, KEPT + turn, np.int32(degree > wanted))
        if degree > wanted:
            survivors[slot] = vertex
            least = min(least, degree)
        falls = degree == wanted
        if any_of(FULL, falls):
            length = length_of(adjacency, parts, vertex) if falls else np.int64(0)
            queue_row(control, QUEUED + turn, rows, pieces, np.int64(0), vertex, length)
            fallen += 1 if falls else 0
    least = least_of_lanes(least, 32)
    if lane() == 0 and least < NOTHING:
        atomic_min(control, LEAST + turn, least)
    return fallen


@inline
def lower(core: Any, vertex: Any, level: Any) -> Any:
    """Subtract one from the degree of a remaining vertex; return whether it drops to the level."""
    falls = False
    if load_fresh(core, vertex) > level:
        degree = atomic_add(core, vertex, -1)
        falls = degree == level + 1
        if degree <= level:
            atomic_add(core, vertex, 1)
    return falls


@inline
def peel_queued(
    adjacency: Any,
    parts: Any,
    core: Any,
    queue: Any,
    base: Any,
    size: Any,
    level: Any,
    control: Any,
    turn: Any,
) -> Any:
    """Take the queued vertices out of their neighbours' degrees, and queue those that fall.

    Returns how many fell, and arcs read.
    """
    rows, pieces = queue
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    fallen, read = 0, np.int64(0)
    for first in range(warp, size, 32 * warps):
        place = base + first + lane() * warps  # pieces of one row go to many warps
        row, begin, length = np.int64(0), np.int64(0), np.int32(0)
        if place < base + size:
            row = np.int64(rows[place])
            begin = np.int64(pieces[place]) * PIECE
            length = np.int32(min(length_of(adjacency, parts, row) - begin, PIECE))
        read += length
        ends = scan(length)
        begin += length - ends
        total = shuffle(FULL, ends, 31)
        for at in range(0, total, 32):
            mine = owner(ends, at + lane())
            source = shuffle(FULL, row, mine)
            arc = shuffle(FULL, begin, mine) + at + lane()
            vertex = np.int64(0)
            falls = False
            if at + lane() < total:
                vertex = neighbour_of(adjacency, source, arc)
                falls = lower(core, vertex, level)
            if any_of(FULL, falls):
                more = length_of(adjacency, parts, vertex) if falls else np.int64(0)
                queue_row(
                    control, QUEUED + turn, rows, pieces, base + size, vertex, more
                )  # fmt: skip
                fallen += 1 if falls else 0
    return fallen, read


@kernel
def peel(
    adjacency: Any,
    parts: Any,
    core: Any,
    alive: Any,
    spare: Any,
    queue: Any,
    control: Any,
    count: Any,
    level: Any,
    budget: Any,
) -> None:
    """Peel level after level until enough work is done, or nothing is left.  Cooperative.

    Parameters
    ----------
    adjacency : tuple of (offsets, indices, offsets, indices)
        Rows of the neighbours whose degree each vertex counts in, in two parts.
    parts : int
        2, or 1 if the second part is not to be read.
    core : int[vertices]
        Degrees among the vertices that are left; those of the others are their core numbers.
    alive, spare : int[vertices]
        The first `count` of `alive` are those left, and perhaps some that were peeled.
    queue : tuple of (int[n], int32[n])
        Rows and pieces of rows; n is the number of pieces of all rows.
    control : int64[14]
        Written: vertices in the list at the end, the last level peeled, whether the list is in
        `spare`; added to: vertices peeled, arcs read.  The rest is scratch, 0 at first, and
        `NOTHING` in the place `LEAST`.
    count, level : int
        Vertices in the list, and the last level that was peeled, -1 at first.
    budget : int
        Vertices sifted and pieces of rows peeled, after which no further level begins.
    """
    turn, work, swapped = 0, 0, 0
    peeled, read = 0, 0
    while count > 0 and work < budget:
        # At first the next level is tried, which seldom is empty; then the least one there is.
        size: Any = np.int64(0)
        wanted = level + 1
        while size == 0 and count > 0:
            clear_next(control, turn)
            peeled += sift(
                adjacency, parts, core, alive, count, spare, wanted, queue, control, turn
            )
            sync_grid()
            work += count
            size, count = control[QUEUED + turn], control[KEPT + turn]
            level, wanted = wanted, control[LEAST + turn]
            alive, spare = spare, alive
            swapped = 1 - swapped
            turn = (turn + 1) % 3
        base: Any = np.int64(0)
        while size > 0:
            clear_next(control, turn)
            fallen, arcs = peel_queued(
                adjacency, parts, core, queue, base, size, level, control, turn
            )
            peeled, read = peeled + fallen, read + arcs
            sync_grid()
            work += size
            base += size
            size = control[QUEUED + turn]
            turn = (turn + 1) % 3
    peeled, read = sum_of_lanes(peeled), sum_of_lanes(read)
    if lane() == 0:
        atomic_add(control, PEELED, peeled)
        atomic_add(control, READ, read)
    if block() == 0 and thread() == 0:
        control[COUNT] = count
        control[LEVEL] = level
        control[SWAPPED] = swapped
