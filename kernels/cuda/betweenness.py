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
def four_of(indices: Any, arc: Any, remaining: Any, columns: Any, column: Any) -> Any:
    """Return the entries of four neighbours of a row from an arc on, the last again if `remaining` are fewer."""
    return (
        np.int32(indices[arc] * columns + column),
        np.int32(indices[arc + min(remaining - 1, 1)] * columns + column),
        np.int32(indices[arc + min(remaining - 1, 2)] * columns + column),
        np.int32(indices[arc + min(remaining - 1, 3)] * columns + column),
    )


@inline
def levels_of(levels: Any, entries: Any) -> Any:
    """Return the levels of four entries: their loads wait together."""
    return (
        load_fresh(levels, entries[0]),
        load_fresh(levels, entries[1]),
        load_fresh(levels, entries[2]),
        load_fresh(levels, entries[3]),
    )


@inline
def value_at(values: Any, is_present: Any, entry: Any) -> Any:
    """Return a value, 0 if it is not there."""
    value = 0.0
    if is_present:
        value = load_fresh(values, entry)
    return value


@inline
def added(
    total: Any, values: Any, level: Any, entry_levels: Any, entries: Any, remaining: Any
) -> Any:
    """Add the values of the first `remaining` of four entries that are in a level, one after the other."""
    value_0 = value_at(values, entry_levels[0] == level and remaining > 0, entries[0])
    value_1 = value_at(values, entry_levels[1] == level and remaining > 1, entries[1])
    value_2 = value_at(values, entry_levels[2] == level and remaining > 2, entries[2])
    value_3 = value_at(values, entry_levels[3] == level and remaining > 3, entries[3])
    return total + value_0 + value_1 + value_2 + value_3


@inline
def claimed(levels: Any, entry: Any, free: Any, level: Any) -> Any:
    """Put an entry into the next level if it has none; return whether this thread did."""
    won = False
    if free:
        won = atomic_compare_and_swap(levels, entry, np.int32(-1), np.int32(level + 1)) < 0
    return won


@inline
def append(won: Any, entries: Any, sizes: Any, which: Any, stack: Any, base: Any) -> None:
    """Append the entries that the lanes of a warp have won."""
    winners_0, winners_1 = ballot(FULL, won[0]), ballot(FULL, won[1])
    winners_2, winners_3 = ballot(FULL, won[2]), ballot(FULL, won[3])
    if (winners_0 | winners_1 | winners_2 | winners_3) != 0:
        second = popc(winners_0)
        third = second + popc(winners_1)
        fourth = third + popc(winners_2)
        first = np.int64(0)
        if lane() == 0:
            first = np.int64(atomic_add(sizes, which, np.int64(fourth + popc(winners_3))))
        first = base + shuffle(FULL, first, 0)
        below = np.uint32((np.int64(1) << np.int64(lane())) - 1)
        if won[0]:
            store_fresh(stack, first + popc(winners_0 & below), entries[0])
        if won[1]:
            store_fresh(stack, first + second + popc(winners_1 & below), entries[1])
        if won[2]:
            store_fresh(stack, first + third + popc(winners_2 & below), entries[2])
        if won[3]:
            store_fresh(stack, first + fourth + popc(winners_3 & below), entries[3])


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
            is_in_level = first + lane() < end
            entry = np.int32(load_fresh(stack, min(first + lane(), end - 1)))
            vertex = np.int32(np.uint32(entry) // np.uint32(width))
            column = np.int32(entry - vertex * width)
            total, way = 0.0, np.int32(0)
            while way < 2 - same:  # in-neighbours are added, out-neighbours are claimed
                offsets, indices = ins[0], ins[1]
                if way == 1:
                    offsets, indices = outs[0], outs[1]
                arc, last = np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])
                if not is_in_level:
                    last = arc
                while any_of(FULL, arc < last):
                    remaining = np.int32(last - arc if last - arc < 4 else 4)
                    entries, entry_levels = (
                        (entry, entry, entry, entry), (depth, depth, depth, depth),
                    )  # fmt: skip
                    if remaining > 0:
                        entries = four_of(indices, arc, remaining, width, column)
                        entry_levels = levels_of(levels, entries)
                    if way + same == 1:
                        won = (
                            claimed(levels, entries[0], entry_levels[0] < 0, depth),
                            claimed(levels, entries[1], entry_levels[1] < 0, depth),
                            claimed(levels, entries[2], entry_levels[2] < 0, depth),
                            claimed(levels, entries[3], entry_levels[3] < 0, depth),
                        )
                        append(won, entries, sizes, FOUND + now, stack, end)
                    if way == 0 and depth > 0:
                        total = added(total, paths[0], depth - 1, entry_levels, entries, remaining)
                    arc += 4
                way = np.int32(way + 1)
            if is_in_level and depth > 0:
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
                remaining = np.int32(last - arc if last - arc < 4 else 4)
                entries = four_of(outs[1], arc, remaining, width, column)
                entry_levels = levels_of(levels, entries)
                total = added(total, shares, level + 1, entry_levels, entries, remaining)
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
