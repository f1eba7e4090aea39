"""Brandes' algorithm on one level a launch, for graphs with long rows or few levels.

A warp has a row and a lane a column: a source.  A vertex has a bit for each source in whose level it is, so
that neighbours in other levels are passed over without reading their values.  A long row is read by all warps
of a block.  Sums are those of `folds`, bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_exchange,
    atomic_max,
    atomic_or,
    ballot,
    block,
    blocks,
    bounded,
    ffs,
    inline,
    kernel,
    lane,
    lean,
    load_fresh,
    popc,
    product,
    shared,
    shuffle,
    shuffle_xor,
    sync_block,
    thread,
    threads,
)

__all__ = ["count_level", "depend_level", "list_level", "list_readers"]

MOST = 512  # threads of a block, as in folds.py: they determine the order of a long row's sum
FOUND, OVER, ARCS, LONGEST, READERS = 0, 1, 2, 3, 4  # counters of a level


@inline
def lowest(bits: Any) -> Any:
    """Return the place of the lowest bit that is set, and the other bits."""
    return np.int32(ffs(bits) - 1), np.uint32(bits & np.uint32(bits - np.uint32(1)))


@inline
def has_bit(bits: Any) -> Any:
    """Return whether the bit of the lane's column is set."""
    return (np.uint32(bits) >> np.uint32(lane())) & np.uint32(1) != 0


@inline
def value_of(values: Any, first: Any, bits: Any) -> Any:
    """Return the value of the lane's column, 0 if its bit is not set."""
    value = 0.0
    if has_bit(bits):
        value = values[first + lane()]
    return value


@inline
def sum_of_bits(
    indices: Any, begin: Any, end: Any, step: Any, values: Any, columns: Any, front: Any,
    wanted: Any,
) -> Any:  # fmt: skip
    """Return the sum of a lane's column over every `step` / 32-th 32 arcs, in their order.

    Only wanted columns are added, of neighbours that have the column's bit.
    """
    total = 0.0
    first = np.int64(begin)
    while first < end:
        entry, bits = np.int32(0), np.uint32(0)
        if first + lane() < end:
            neighbour = np.int64(indices[first + lane()])
            bits = np.uint32(front[neighbour] & wanted)
            entry = np.int32(neighbour * columns)
        pending, signed = ballot(FULL, bits != 0), np.int32(bits)
        while popc(pending) >= 4:  # four loads wait together
            lane_0, pending = lowest(pending)
            lane_1, pending = lowest(pending)
            lane_2, pending = lowest(pending)
            lane_3, pending = lowest(pending)
            first_value = value_of(
                values, shuffle(FULL, entry, lane_0), shuffle(FULL, signed, lane_0)
            )
            second_value = value_of(
                values, shuffle(FULL, entry, lane_1), shuffle(FULL, signed, lane_1)
            )
            third_value = value_of(
                values, shuffle(FULL, entry, lane_2), shuffle(FULL, signed, lane_2)
            )
            fourth_value = value_of(
                values, shuffle(FULL, entry, lane_3), shuffle(FULL, signed, lane_3)
            )
            total = total + first_value + second_value + third_value + fourth_value
        while pending != 0:
            lane_0, pending = lowest(pending)
            total += value_of(values, shuffle(FULL, entry, lane_0), shuffle(FULL, signed, lane_0))
        first += step
    return total


@inline
def sum_of_parts(total: Any, parts: Any) -> Any:
    """Return the sum of the sums of a block's warps to the first, and 0 to others; all threads call it."""
    parts[thread()] = total
    sync_block()
    total = 0.0
    if thread() < 32:
        for peer_warp in range(threads() // 32):
            total += parts[32 * peer_warp + lane()]
    sync_block()
    return total


@inline
def clear(masks: Any, stack: Any, begin: Any, end: Any) -> None:
    """Clear the bits of the vertices of a level."""
    place = np.int64(begin) + np.int64(block()) * threads() + thread()
    while place < end:
        masks[stack[place]] = np.uint32(0)
        place += np.int64(blocks()) * threads()


@kernel
def list_readers(
    outs: Any, front: Any, reached: Any, stamps: Any, stack: Any, begin: Any, end: Any, depth: Any,
    readers: Any, sizes: Any,
) -> None:  # fmt: skip
    """List the out-neighbours of a level that are not reached from a source of it.

    Parameters
    ----------
    outs : tuple of (int64[n + 1], int[arcs])
        Rows of out-neighbours.
    front, reached : uint32[n]
        A bit for each source in whose level a vertex is; and for each that it is reached from.
    stamps : int32[n]
        One more than the level for which a vertex was listed last.  Updated.
    stack : int32[n * columns]
        The vertices of each level, one level after the other.
    begin, end : int
        Where the level is in the stack.
    depth : int
        The level.
    readers : int32[n]
        Written.
    sizes : int64[5]
        READERS is updated.
    """
    place = np.int64((block() * threads() + thread()) // 32) + begin
    while place < end:
        vertex = np.int64(stack[place])
        bits, arc, last = front[vertex], np.int64(outs[0][vertex]), np.int64(outs[0][vertex + 1])
        while arc < last:
            neighbour, fresh = np.int64(0), False
            if arc + lane() < last:
                neighbour = np.int64(outs[1][arc + lane()])
                if (
                    np.uint32(bits & ~reached[neighbour]) != 0
                    and load_fresh(stamps, neighbour) <= depth
                ):
                    fresh = atomic_exchange(stamps, neighbour, np.int32(depth + 1)) <= depth
            listed = ballot(FULL, fresh)
            if listed != 0:
                first = np.int64(0)
                if lane() == 0:
                    first = np.int64(atomic_add(sizes, READERS, np.int64(popc(listed))))
                first = shuffle(FULL, first, 0)
                if fresh:
                    below = np.uint32((np.int64(1) << np.int64(lane())) - 1)
                    readers[first + popc(np.uint32(listed & below))] = np.int32(neighbour)
            arc += 32
        place += np.int64(blocks() * threads() // 32)


@bounded(MOST)
@lean(56)
@kernel
def count_level(
    ins: Any, columns: Any, state: Any, masks: Any, reached: Any, depth: Any, stamps: Any,
    readers: Any, count: Any, listed: Any, longs: Any, many: Any, long: Any, bound: Any, sizes: Any,
) -> None:  # fmt: skip
    """Find the vertices of a next level, and the numbers of paths to them.

    Parameters
    ----------
    ins : tuple of (int64[n + 1], int[arcs])
        Rows of in-neighbours.
    columns : int
        32 at most.
    state : tuple of (int32[n * columns], float64[n * columns])
        Levels, −1 if not reached, and numbers of paths, by vertex, then column.  Updated.
    masks : tuple of two uint32[n]
        A bit for each source in whose level a vertex is: of this level; and of the next, written.
    reached : uint32[n]
        A bit for each source that a vertex is reached from.
    depth : int
        The level.
    stamps, readers : int32[n]
        As `list_readers` left them, if `listed` is 1.
    count : int
        Number of vertices.
    listed : int
        0 if any vertex may be in the next level.
    longs : int64[many]
        Rows that are read by blocks: all with more than `long` arcs.
    many, long : int
    bound : float
        OVER is set if there is a number of paths from it on.
    sizes : int64[5]
        READERS is read, OVER is updated.
    """
    parts = shared(MOST, np.float64)
    every = np.uint32(FULL >> np.int64(32 - columns))
    if listed == 1:
        count = sizes[READERS]
    high, blocked, item = False, np.int32(1), np.int64(block())
    while blocked == 1 or item < count:
        if blocked == 1 and item >= many:
            blocked, item = np.int32(0), np.int64((block() * threads() + thread()) // 32)
        else:
            row = np.int64(item)
            if blocked == 1:
                row = np.int64(longs[item])
            elif listed == 1:
                row = np.int64(readers[item])
            wanted = np.uint32(every & ~reached[row])
            begin, end, step = np.int64(ins[0][row]), np.int64(ins[0][row + 1]), np.int64(32)
            if blocked == 1:
                begin, step = begin + thread() // 32 * 32, np.int64(threads() // 32 * 32)
                if listed == 1 and stamps[row] <= depth:
                    wanted = np.uint32(0)
            elif end - begin > long:
                wanted = np.uint32(0)
            if wanted != 0:
                total = sum_of_bits(ins[1], begin, end, step, state[1], columns, masks[0], wanted)
                if blocked == 1:
                    total = sum_of_parts(total, parts)
                fresh = ballot(FULL, total > 0.0)
                if total > 0.0:
                    state[0][row * columns + lane()] = np.int32(depth + 1)
                    state[1][row * columns + lane()] = total
                    high = high or total >= bound
                if fresh != 0 and lane() == 0:
                    masks[1][row] = fresh
            item += blocks() if blocked == 1 else blocks() * threads() // 32
    if any_of(FULL, high) and lane() == 0:
        atomic_or(sizes, OVER, np.int64(1))


@kernel
def list_level(
    outs: Any, masks: Any, reached: Any, stack: Any, spans: Any, readers: Any, count: Any, listed: Any,
    sizes: Any,
) -> None:  # fmt: skip
    """List the vertices that `count_level` found.

    Parameters
    ----------
    outs : int64[n + 1]
        Offsets of the rows of out-neighbours.
    masks : tuple of two uint32[n]
        A bit for each source in whose level a vertex is: of the new level; and of that two before,
        cleared.
    reached : uint32[n]
        A bit for each source that a vertex is reached from.  Updated.
    stack : int32[n * columns]
        The vertices of each level, one level after the other.  Updated.
    spans : tuple of three int
        Where the level two before begins and ends in the stack; and where the new one begins.
    readers : int32[n]
        The vertices that may be in the new level, if `listed` is 1.
    count : int
        Number of vertices.
    listed : int
        0 if any vertex may be in the new level.
    sizes : int64[5]
        READERS is read.  FOUND, ARCS and LONGEST are updated: the vertices, all arcs out of them, and
        the most of one.
    """
    clear(masks[1], stack, spans[0], spans[1])
    if listed == 1:
        count = sizes[READERS]
    base, arcs, longest = (
        np.int64(block() * threads() + thread() - lane()),
        np.int64(0),
        np.int64(0),
    )
    while base < count:
        row, fresh = np.int64(0), np.uint32(0)
        if base + lane() < count:
            row = np.int64(base + lane())
            if listed == 1:
                row = np.int64(readers[row])
            fresh = masks[0][row]
        fresh_lanes = ballot(FULL, fresh != 0)
        if fresh_lanes != 0:
            first = np.int64(0)
            if lane() == 0:
                first = np.int64(atomic_add(sizes, FOUND, np.int64(popc(fresh_lanes))))
            first = spans[2] + shuffle(FULL, first, 0)
            if fresh != 0:
                below = np.uint32((np.int64(1) << np.int64(lane())) - 1)
                stack[first + popc(np.uint32(fresh_lanes & below))] = np.int32(row)
                reached[row] = np.uint32(reached[row] | fresh)
                length = np.int64(outs[row + 1] - outs[row])
                arcs, longest = arcs + length, max(longest, length)
        base += np.int64(blocks()) * threads()
    distance = 16
    while distance > 0:
        arcs += shuffle_xor(FULL, arcs, distance)
        longest = max(longest, shuffle_xor(FULL, longest, distance))
        distance //= 2
    if lane() == 0 and arcs > 0:
        atomic_add(sizes, ARCS, arcs)
        atomic_max(sizes, LONGEST, longest)


@bounded(MOST)
@lean(56)
@kernel
def depend_level(
    outs: Any, columns: Any, state: Any, masks: Any, stack: Any, spans: Any, level: Any,
    scales: Any, longs: Any, many: Any, long: Any,
) -> None:  # fmt: skip
    """Add up the dependencies on the vertices of a level.

    Parameters
    ----------
    outs : tuple of (int64[n + 1], int[arcs])
        Rows of out-neighbours.
    columns : int
        32 at most.
    state : tuple of (int32[n * columns], float64[n * columns], and twice that)
        Levels and numbers of paths; shares and dependencies are written.
    masks : tuple of three uint32[n]
        A bit for each source in whose level a vertex is: of the next level; of this one, written; and
        of the one after the next, cleared.
    stack : int32[n * columns]
        The vertices of each level, one level after the other.
    spans : tuple of four int
        Where this level begins and ends in the stack; and the one after the next.
    level : int
    scales : float64[32]
        What the paths of this level were divided by.
    longs : int64[many]
        Rows that are read by blocks: all with more than `long` arcs.
    many, long : int
    """
    parts = shared(MOST, np.float64)
    clear(masks[2], stack, spans[2], spans[3])
    blocked, item = np.int32(1), np.int64(block())
    while blocked == 1 or item < spans[1]:
        if blocked == 1 and item >= many:
            item = np.int64((block() * threads() + thread()) // 32) + spans[0]
            blocked = np.int32(0)
        else:
            row = np.int64(longs[item]) if blocked == 1 else np.int64(stack[item])
            begin, end, step = np.int64(outs[0][row]), np.int64(outs[0][row + 1]), np.int64(32)
            is_in_level = False
            if lane() < columns and (blocked == 1 or end - begin <= long):
                is_in_level = state[0][row * columns + lane()] == level
            bits = ballot(FULL, is_in_level)
            if bits != 0:
                if blocked == 1:
                    begin, step = begin + thread() // 32 * 32, np.int64(threads() // 32 * 32)
                total = sum_of_bits(outs[1], begin, end, step, state[2], columns, masks[0], bits)
                if blocked == 1:
                    total = sum_of_parts(total, parts)
                if is_in_level and (blocked == 0 or thread() < 32):
                    entry = row * columns + lane()
                    value = product(state[1][entry], total)
                    state[3][entry] = value
                    state[2][entry] = (1.0 + value) / state[1][entry] / scales[lane()]
                if lane() == 0 and (blocked == 0 or thread() == 0):
                    masks[1][row] = bits
            item += blocks() if blocked == 1 else blocks() * threads() // 32
