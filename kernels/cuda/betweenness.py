"""Brandes' algorithm on many levels in one launch, for graphs without long rows.

A lane has a column: a source.  A level takes two steps: the neighbours of its vertices are listed, then each
of them adds up the paths that reach it, in the order of its row.  So sums are those of `folds`, bit by bit.
The levels of a road network are thousands, and few vertices each: the host would take most of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_exchange,
    atomic_or,
    block,
    blocks,
    inline,
    kernel,
    lane,
    lean,
    load_fresh,
    product,
    shuffle,
    store_fresh,
    sync_grid,
    thread,
    threads,
)

__all__ = ["add_dependencies", "count_paths"]

READERS, FRONT, OVER = (
    0,
    3,
    6,
)  # counters, three of each: of this level, of the next, and one to be cleared


@inline
def four_of(indices: Any, arc: Any, last: Any) -> Any:
    """Return four neighbours of a row from an arc on, the last one again if there are fewer."""
    end = last - 1
    return (
        np.int64(indices[arc]),
        np.int64(indices[min(arc + 1, end)]),
        np.int64(indices[min(arc + 2, end)]),
        np.int64(indices[min(arc + 3, end)]),
    )


@inline
def levels_of(levels: Any, four: Any, columns: Any, column: Any) -> Any:
    """Return the levels of four vertices: their loads wait together."""
    return (
        load_fresh(levels, four[0] * columns + column),
        load_fresh(levels, four[1] * columns + column),
        load_fresh(levels, four[2] * columns + column),
        load_fresh(levels, four[3] * columns + column),
    )


@inline
def value_at(values: Any, there: Any, entry: Any) -> Any:
    """Return a value, 0 if it is not there."""
    found = 0.0
    if there:
        found = load_fresh(values, entry)
    return found


@inline
def sum_at_level(
    rows: Any, vertex: Any, wanted: Any, level: Any, columns: Any, column: Any, levels: Any,
    values: Any,
) -> Any:  # fmt: skip
    """Return the sum of the values of a row's neighbours of a level, in the order of the row."""
    offsets, indices = rows
    arc, last, total = np.int64(offsets[vertex]), np.int64(offsets[vertex + 1]), 0.0
    while arc < last:
        four = four_of(indices, arc, last)
        found = levels_of(levels, four, columns, column)
        one = value_at(values, wanted and found[0] == level, four[0] * columns + column)
        two = value_at(
            values, wanted and found[1] == level and arc + 1 < last, four[1] * columns + column
        )
        three = value_at(
            values, wanted and found[2] == level and arc + 2 < last, four[2] * columns + column
        )
        last_one = value_at(
            values, wanted and found[3] == level and arc + 3 < last, four[3] * columns + column
        )
        total = total + one + two + three + last_one
        arc += 4
    return total


@inline
def call_reader(
    other: Any, fresh: Any, depth: Any, stamps: Any, held: Any, mine: Any, sizes: Any, which: Any,
    readers: Any,
) -> Any:  # fmt: skip
    """Hold a vertex to be listed if it is new in a column, and not listed yet."""
    if any_of(FULL, fresh):
        before = np.int32(0)
        if lane() == 0:
            before = np.int32(atomic_exchange(stamps, other, np.int32(depth + 1)))
        if shuffle(FULL, before, 0) != depth + 1:
            if lane() == held:
                mine = np.int32(other)
            held = np.int32(held + 1)
            if held == 32:
                flush(held, mine, sizes, which, readers, np.int64(0))
                held = np.int32(0)
    return held, mine


@inline
def flush(held: Any, mine: Any, sizes: Any, which: Any, into: Any, base: Any) -> None:
    """Append the vertices that a warp's first `held` lanes have to a list."""
    first = np.int64(0)
    if lane() == 0 and held > 0:
        first = np.int64(atomic_add(sizes, which, np.int64(held)))
    first = shuffle(FULL, first, 0)
    if lane() < held:
        store_fresh(into, base + first + lane(), mine)


@lean(64)
@kernel
def count_paths(
    ins: Any, outs: Any, columns: Any, levels: Any, paths: Any, stack: Any, ends: Any, scales: Any,
    parts: Any, readers: Any, stamps: Any, sizes: Any, level: Any, rounds: Any, bound: Any,
) -> None:  # fmt: skip
    """Find the vertices of further levels, and the numbers of paths to them.

    A cooperative launch.

    Parameters
    ----------
    ins, outs : tuple of (int64[n + 1], int[arcs])
        Rows of in-neighbours and of out-neighbours.
    columns : int
        32 at most.
    levels : int32[n * columns]
        By vertex, then column; −1 if not reached.  Updated.
    paths : float64[n * columns]
        Updated.
    stack : int32[n * columns]
        The vertices of each level, one level after the other.  Updated.
    ends : int64[rounds + 2]
        Where the first level begins and ends in the stack; then the ends of those found.
    scales : float64[rounds * 32]
        1; what the paths of a level are divided by is written.
    parts : float64[warps * 32]
        Room.
    readers : int32[n]
        Room.
    stamps : int32[n]
        The level for which a vertex was listed last, less than the first here.
    sizes : int64[9]
        0 at first; kept between launches.
    level, rounds : int
        The first level, and the most that are to be found.
    bound : float
        Numbers of paths from it on are divided.
    """
    warp, warps = (block() * threads() + thread()) >> 5, (blocks() * threads()) >> 5
    begin, end = np.int64(load_fresh(ends, 0)), np.int64(load_fresh(ends, 1))
    column = min(np.int64(lane()), np.int64(columns) - 1)
    number, now = np.int64(0), np.int32(0)
    while number < rounds and begin < end:
        depth, then = np.int32(level + number), np.int32(now + 1 if now < 2 else 0)
        held, mine = np.int32(0), np.int32(0)
        place = begin + warp
        while place < end:
            vertex = np.int64(load_fresh(stack, place))
            here = load_fresh(levels, vertex * columns + column) == depth
            arc, last = np.int64(outs[0][vertex]), np.int64(outs[0][vertex + 1])
            while arc < last:
                four = four_of(outs[1], arc, last)
                found = levels_of(levels, four, columns, column)
                held, mine = call_reader(
                    four[0], here and found[0] < 0, depth, stamps, held, mine, sizes, READERS + now,
                    readers,
                )  # fmt: skip
                if arc + 1 < last:
                    held, mine = call_reader(
                        four[1], here and found[1] < 0, depth, stamps, held, mine, sizes,
                        READERS + now, readers,
                    )  # fmt: skip
                if arc + 2 < last:
                    held, mine = call_reader(
                        four[2], here and found[2] < 0, depth, stamps, held, mine, sizes,
                        READERS + now, readers,
                    )  # fmt: skip
                if arc + 3 < last:
                    held, mine = call_reader(
                        four[3], here and found[3] < 0, depth, stamps, held, mine, sizes,
                        READERS + now, readers,
                    )  # fmt: skip
                arc += 4
            place += warps
        flush(held, mine, sizes, READERS + now, readers, np.int64(0))
        sync_grid()
        count, held, high = np.int64(load_fresh(sizes, READERS + now)), np.int32(0), False
        place = np.int64(warp)
        while place < count:
            vertex = np.int64(load_fresh(readers, place))
            entry = vertex * columns + column
            unknown = load_fresh(levels, entry) < 0
            total = sum_at_level(ins, vertex, unknown, depth, columns, column, levels, paths)
            hit = total > 0.0 and lane() < columns
            if hit:
                store_fresh(levels, entry, np.int32(depth + 1))
                store_fresh(paths, entry, total)
                high = high or total >= bound
            if any_of(FULL, hit):
                if lane() == held:
                    mine = np.int32(vertex)
                held = np.int32(held + 1)
                if held == 32:
                    flush(held, mine, sizes, FRONT + now, stack, end)
                    held = np.int32(0)
            place += warps
        flush(held, mine, sizes, FRONT + now, stack, end)
        if any_of(FULL, high) and lane() == 0:
            atomic_or(sizes, OVER + now, np.int64(1))
        if warp == 0 and lane() == 0:
            old = 3 - now - then
            store_fresh(sizes, READERS + old, np.int64(0))
            store_fresh(sizes, FRONT + old, np.int64(0))
            store_fresh(sizes, OVER + old, np.int64(0))
        sync_grid()
        begin, end = end, end + np.int64(load_fresh(sizes, FRONT + now))
        if load_fresh(sizes, OVER + now) != 0:
            scale_level(
                columns, levels, paths, stack, begin, end, scales, parts, number, depth + 1, bound
            )
        if warp == 0 and lane() == 0:
            store_fresh(ends, number + 2, end)
        number, now = number + 1, then


@inline
def scale_level(
    columns: Any, levels: Any, paths: Any, stack: Any, begin: Any, end: Any, scales: Any,
    parts: Any, number: Any, depth: Any, bound: Any,
) -> None:  # fmt: skip
    """Divide the numbers of paths of a level by the greatest of their column, if that is high."""
    warp, warps = (block() * threads() + thread()) >> 5, (blocks() * threads()) >> 5
    column = min(np.int64(lane()), np.int64(columns) - 1)
    most = 0.0
    place = begin + warp
    while place < end:
        entry = np.int64(load_fresh(stack, place)) * columns + column
        if load_fresh(levels, entry) == depth:
            most = max(most, load_fresh(paths, entry))
        place += warps
    store_fresh(parts, np.int64(warp) * 32 + lane(), most)
    sync_grid()
    if warp == 0:
        place = np.int64(0)
        while place < warps:
            most = max(most, load_fresh(parts, place * 32 + lane()))
            place += 1
        if most >= bound:
            store_fresh(scales, number * 32 + lane(), most)
    sync_grid()
    scale = load_fresh(scales, number * 32 + column)
    place = begin + warp
    while place < end:
        entry = np.int64(load_fresh(stack, place)) * columns + column
        if lane() < columns and load_fresh(levels, entry) == depth:
            store_fresh(paths, entry, load_fresh(paths, entry) / scale)
        place += warps
    sync_grid()


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
        0; written for the vertices of levels but the first, and of all levels.
    ends : int64[depth + 1]
        Where levels begin in the stack, and the last ends.
    scales : float64[depth * 32]
        What the paths of each level were divided by, from level 1 on.
    depth : int
        Number of levels.
    """
    warp, warps = (block() * threads() + thread()) >> 5, (blocks() * threads()) >> 5
    column = min(np.int64(lane()), np.int64(columns) - 1)
    level = np.int64(depth) - 1
    while level >= 0:
        place, end = np.int64(ends[level]) + warp, np.int64(ends[level + 1])
        while place < end:
            vertex = np.int64(stack[place])
            entry = vertex * columns + column
            here = levels[entry] == level and lane() < columns
            total = sum_at_level(outs, vertex, here, level + 1, columns, column, levels, shares)
            if here:
                found = product(paths[entry], total)
                dependency[entry] = found
                if level > 0:
                    share = (1.0 + found) / paths[entry] / scales[(level - 1) * 32 + column]
                    store_fresh(shares, entry, share)
            place += warps
        sync_grid()
        level -= 1
