"""Brandes' algorithm on many levels in one launch, for graphs without long rows.

A level is a list of entries: pairs of a vertex and a source that reaches it there.  A thread has an entry,
since a vertex of a road network is seldom in a level of two sources.  A step adds up the paths to the
entries of a level, in the order of their rows, and lists the next level; so a level waits for one barrier.
Sums are those of `folds`, bit by bit.  The levels of a road network are thousands, and few entries each:
the host would take most of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_compare_and_swap,
    atomic_max,
    atomic_or,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    lean,
    load_fresh,
    match,
    popc,
    product,
    shuffle,
    store_fresh,
    sync_grid,
    thread,
    threads,
)

__all__ = ["add_dependencies", "count_paths", "count_rows"]

FOUND, OVER = 0, 3  # counters, three of each: of this step, of the next, and of the last


@inline
def own_warp() -> Any:
    """Return the warp's number: neighbouring ones are in different blocks, so few use many of them."""
    return np.int64(thread() >> 5) * blocks() + block()


@inline
def four_of(indices: Any, arc: Any, left: Any, columns: Any, column: Any) -> Any:
    """Return the entries of four neighbours of a row from an arc on, the last again if `left` are fewer."""
    return (
        np.int32(indices[arc] * columns + column),
        np.int32(indices[arc + min(left - 1, 1)] * columns + column),
        np.int32(indices[arc + min(left - 1, 2)] * columns + column),
        np.int32(indices[arc + min(left - 1, 3)] * columns + column),
    )


@inline
def levels_of(levels: Any, four: Any) -> Any:
    """Return the levels of four entries: their loads wait together."""
    return (
        load_fresh(levels, four[0]),
        load_fresh(levels, four[1]),
        load_fresh(levels, four[2]),
        load_fresh(levels, four[3]),
    )


@inline
def value_at(values: Any, there: Any, entry: Any) -> Any:
    """Return a value, 0 if it is not there."""
    found = 0.0
    if there:
        found = load_fresh(values, entry)
    return found


@inline
def added(total: Any, values: Any, level: Any, found: Any, four: Any, left: Any) -> Any:
    """Add the values of the first `left` of four entries that are in a level, one after the other."""
    one = value_at(values, found[0] == level and left > 0, four[0])
    two = value_at(values, found[1] == level and left > 1, four[1])
    three = value_at(values, found[2] == level and left > 2, four[2])
    last_one = value_at(values, found[3] == level and left > 3, four[3])
    return total + one + two + three + last_one


@inline
def claimed(levels: Any, entry: Any, free: Any, level: Any) -> Any:
    """Put an entry into the next level if it has none; return whether this thread did."""
    won = False
    if free:
        won = atomic_compare_and_swap(levels, entry, np.int32(-1), np.int32(level + 1)) < 0
    return won


@inline
def append(won: Any, four: Any, sizes: Any, which: Any, stack: Any, base: Any) -> None:
    """Append the entries that the lanes of a warp have won."""
    one, two = ballot(FULL, won[0]), ballot(FULL, won[1])
    three, last_one = ballot(FULL, won[2]), ballot(FULL, won[3])
    if (one | two | three | last_one) != 0:
        second = popc(one)
        third = second + popc(two)
        fourth = third + popc(three)
        first = np.int64(0)
        if lane() == 0:
            first = np.int64(atomic_add(sizes, which, np.int64(fourth + popc(last_one))))
        first = base + shuffle(FULL, first, 0)
        below = np.uint32((np.int64(1) << np.int64(lane())) - 1)
        if won[0]:
            store_fresh(stack, first + popc(one & below), four[0])
        if won[1]:
            store_fresh(stack, first + second + popc(two & below), four[1])
        if won[2]:
            store_fresh(stack, first + third + popc(three & below), four[2])
        if won[3]:
            store_fresh(stack, first + fourth + popc(last_one & below), four[3])


@inline
def divide(
    begin: Any, end: Any, columns: Any, stack: Any, paths: Any, scales: Any, number: Any, least: Any
) -> None:  # fmt: skip
    """Divide the numbers of paths of a level by the greatest of their column, if that is high."""
    place = begin + own_warp() * 32 + lane()
    while place < end:
        entry = np.int64(load_fresh(stack, place))
        scale = load_fresh(scales, number * columns + entry % columns)
        store_fresh(paths, entry, max(load_fresh(paths, entry) / scale, least))
        place += np.int64(blocks() * threads())


@lean(64)
@kernel
def count_paths(
    ins: Any, outs: Any, same: Any, columns: Any, levels: Any, paths: Any, stack: Any, ends: Any,
    scales: Any, sizes: Any, level: Any, rounds: Any, most: Any, bound: Any, least: Any,
) -> None:  # fmt: skip
    """Find the entries of further levels, and the numbers of paths to those of levels before the last.

    A cooperative launch.

    Parameters
    ----------
    ins : tuple of (int64[n + 1], int[arcs])
        Rows of in-neighbours.
    outs : tuple of (int64[n + 1], int[arcs])
        Rows of out-neighbours.
    same : int
        1 if these are the in-neighbours; 0 if not.
    columns : int
    levels : int32[n * columns]
        By vertex, then column; −1 if not reached.  Updated.
    paths : tuple of (float64[n * columns], int64[n * columns])
        The same memory, as numbers and as words.  Updated for entries of levels above 0.
    stack : int32[n * columns]
        The entries of each level, one level after the other.  Updated.
    ends : int64[rounds + 2]
        Where the first level begins and ends in the stack; then the ends of those found.
    scales : tuple of (float64[rounds * columns], int64[rounds * columns])
        The same memory; 1.  What the paths of a level are divided by is written, from the first
        level on.
    sizes : int64[6]
        0.
    level, rounds : int
        The first level, and the most that are to be found.
    most : int
        Entries of a level that is gone on from, at most.
    bound : float
        Numbers of paths from it on are divided.
    least : float
        Quotients below it are raised to it: a vertex that is reached has more than 0 paths.
    """
    warp, step = own_warp(), np.int64(blocks() * threads())
    begin, end = np.int64(load_fresh(ends, 0)), np.int64(load_fresh(ends, 1))
    number, now, width = np.int64(0), np.int32(0), np.int32(columns)
    while number < rounds and begin < end and end - begin <= most:
        depth = np.int32(level + number)
        high = False
        first = begin + warp * 32
        while first < end:
            here = first + lane() < end
            entry = np.int32(load_fresh(stack, min(first + lane(), end - 1)))
            vertex = np.int32(np.uint32(entry) // np.uint32(width))
            column = np.int32(entry - vertex * width)
            total, way = 0.0, np.int32(0)
            while way < 2 - same:  # in-neighbours are added, out-neighbours are claimed
                offsets, indices = ins[0], ins[1]
                if way == 1:
                    offsets, indices = outs[0], outs[1]
                arc, last = np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])
                if not here:
                    last = arc
                while any_of(FULL, arc < last):
                    left = np.int32(last - arc if last - arc < 4 else 4)
                    four, found = (entry, entry, entry, entry), (depth, depth, depth, depth)
                    if left > 0:
                        four = four_of(indices, arc, left, width, column)
                        found = levels_of(levels, four)
                    if way + same == 1:
                        won = (
                            claimed(levels, four[0], found[0] < 0, depth),
                            claimed(levels, four[1], found[1] < 0, depth),
                            claimed(levels, four[2], found[2] < 0, depth),
                            claimed(levels, four[3], found[3] < 0, depth),
                        )
                        append(won, four, sizes, FOUND + now, stack, end)
                    if way == 0 and depth > 0:
                        total = added(total, paths[0], depth - 1, found, four, left)
                    arc += 4
                way = np.int32(way + 1)
            if here and depth > 0:
                store_fresh(paths[0], entry, total)
                if total >= bound:
                    high = True
                    atomic_max(scales[1], number * width + column, load_fresh(paths[1], entry))
            first += step
        if high:
            atomic_or(sizes, OVER + now, np.int64(1))
        then = np.int32(now + 1 if now < 2 else 0)
        if warp == 0 and lane() == 0:
            store_fresh(sizes, FOUND + then, np.int64(0))
            store_fresh(sizes, OVER + then, np.int64(0))
        sync_grid()
        found_now, over = np.int64(load_fresh(sizes, FOUND + now)), load_fresh(sizes, OVER + now)
        if over != 0:
            divide(begin, end, width, stack, paths[0], scales[0], number, least)
            sync_grid()
        begin, end = end, end + found_now
        if warp == 0 and lane() == 0:
            store_fresh(ends, number + 2, end)
        number, now = number + 1, then


@kernel
def add_dependencies(
    outs: Any, columns: Any, levels: Any, paths: Any, shares: Any, dependency: Any, stack: Any,
    ends: Any, scales: Any, depth: Any,
) -> None:  # fmt: skip
    """Add up dependencies from the last level to the first.

    A cooperative launch.

    Parameters
    ----------
    outs : tuple of (int64[n + 1], int[arcs])
        Rows of out-neighbours.
    columns : int
    levels, paths, stack
        As `count_paths` left them.
    shares, dependency : float64[n * columns]
        0; written for the entries of levels but the first, and of all levels.
    ends : int64[depth + 1]
        Where levels begin in the stack, and the last ends.
    scales : float64[depth * columns]
        What the paths of each level were divided by.
    depth : int
        Number of levels.
    """
    width = np.int32(columns)
    level = np.int64(depth) - 1
    while level >= 0:
        place = np.int64(ends[level]) + own_warp() * 32 + lane()
        end = np.int64(ends[level + 1])
        while place < end:
            entry = np.int32(stack[place])
            vertex = np.int32(np.uint32(entry) // np.uint32(width))
            column = np.int32(entry - vertex * width)
            arc, last, total = np.int64(outs[0][vertex]), np.int64(outs[0][vertex + 1]), 0.0
            while arc < last:
                left = np.int32(last - arc if last - arc < 4 else 4)
                four = four_of(outs[1], arc, left, width, column)
                found = levels_of(levels, four)
                total = added(total, shares, level + 1, found, four, left)
                arc += 4
            value = product(paths[entry], total)
            dependency[entry] = value
            if level > 0:
                share = (1.0 + value) / paths[entry] / scales[level * width + column]
                store_fresh(shares, entry, share)
            place += np.int64(blocks() * threads())
        sync_grid()
        level -= 1


@kernel
def count_rows(levels: Any, count: Any, columns: Any, group: Any, total: Any) -> None:
    """Count the levels that each vertex is in, over all vertices and groups of columns.

    Parameters
    ----------
    levels : int32[count * columns]
        By vertex, then column; −1 if not reached.
    count : int
        Number of vertices.
    columns : int
    group : int
        Columns of a group; 32 at most.
    total : int64[1]
        Added to.
    """
    mine = np.int64(0)
    place, step = own_warp(), np.int64(blocks() * threads()) >> 5
    while place < count:
        first = np.int64(0)
        while first < columns:
            level = np.int32(-1)
            if lane() < group and first + lane() < columns:
                level = levels[place * columns + first + lane()]
            if ffs(match(FULL, level)) - 1 == lane() and level >= 0:
                mine += 1
            first += group
        place += step
    atomic_add(total, 0, mine)
