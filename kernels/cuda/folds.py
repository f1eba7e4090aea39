"""Folds over rows of neighbours: sums of floats, and combines of 64-bit words.

A warp reads a row.  With one column its lanes share the row's arcs; with several, each lane has a
column, so that a neighbour's values are read at once.  A long row is read by all warps of a block: a
hub would keep one warp busy long after the others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    lean,
    popc,
    shared,
    shuffle,
    shuffle_xor,
    sync_block,
    thread,
    threads,
)

__all__ = [
    "MAX",
    "MIN",
    "OR",
    "fold_words",
    "nearest_columns",
    "sum_columns",
    "sum_weighted_columns",
    "tight_columns",
]

MIN, MAX, OR = 0, 1, 2  # as in kernels/cpu/folds.py
MOST = 512  # threads of a block
WARPS = 16


@inline
def combined(operation: Any, word: Any, other_word: Any) -> Any:
    """Combine two words."""
    if operation == MIN:
        return min(word, other_word)
    if operation == MAX:
        return max(word, other_word)
    return word | other_word


@inline
def list_long(
    offsets: Any, which: Any, count: Any, base: Any, long: Any, listed: Any, number: Any
) -> Any:
    """List the block's long rows, by their places; return how many there are.

    Neighbouring places are those of different blocks: rows are often sorted by their lengths.
    """
    if thread() == 0:
        number[0] = np.int32(0)
    sync_block()
    place = base + np.int64(thread()) * blocks() + block()
    if place < count:
        row = which[place]
        if offsets[row + 1] - offsets[row] > long:
            listed[atomic_add(number, 0, np.int32(1))] = place
    sync_block()
    return number[0]


@inline
def lowest(bits: Any) -> Any:
    """Return the place of the lowest bit that is set, and the other bits."""
    return np.int32(ffs(bits) - 1), np.uint32(bits & np.uint32(bits - np.uint32(1)))


@inline
def sum_of_column(
    indices: Any, begin: Any, end: Any, step: Any, values: Any, columns: Any, column: Any,
    marks: Any, marked: Any,
) -> Any:  # fmt: skip
    """Return the sum of a lane's column over every `step` / 32-th 32 arcs, in their order."""
    total = 0.0
    first = np.int64(begin)
    while first < end:
        neighbour, wanted = np.int64(0), False
        if first + lane() < end:
            neighbour = np.int64(indices[first + lane()])
            wanted = marked == 0 or marks[neighbour] != 0
        neighbour *= columns
        pending = ballot(FULL, wanted)
        while popc(pending) >= 4:  # four loads wait together
            lane_0, pending = lowest(pending)
            lane_1, pending = lowest(pending)
            lane_2, pending = lowest(pending)
            lane_3, pending = lowest(pending)
            first_value = values[shuffle(FULL, neighbour, lane_0) + column]
            second_value = values[shuffle(FULL, neighbour, lane_1) + column]
            third_value = values[shuffle(FULL, neighbour, lane_2) + column]
            fourth_value = values[shuffle(FULL, neighbour, lane_3) + column]
            total = total + first_value + second_value + third_value + fourth_value
        while pending != 0:
            lane_0, pending = lowest(pending)
            total += values[shuffle(FULL, neighbour, lane_0) + column]
        first += step
    return total


@lean(48)
@kernel
def sum_columns(
    offsets: Any, indices: Any, which: Any, count: Any, values: Any, columns: Any, marks: Any,
    marked: Any, long: Any, sums: Any,
) -> None:  # fmt: skip
    """Add up neighbours' values in several columns.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values : float64[vertices * columns]
        By vertex, then column.
    columns : int
    marks : uint8[vertices]
        Whether a vertex has values other than 0; not read unless `marked` is 1.
    marked : int
    long : int
        Arcs of a row above which a block reads it.
    sums : float64[count * columns]
        Written.
    """
    listed, number = shared(MOST, np.int64), shared(1, np.int32)
    parts = shared(MOST, np.float64)
    warp, warps = thread() // 32, threads() // 32
    base = np.int64(0)
    while base < count:
        for slot in range(list_long(offsets, which, count, base, long, listed, number)):
            place = listed[slot]
            row = which[place]
            begin, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
            first = np.int64(0)
            while first < columns:
                column = first + lane()
                parts[thread()] = sum_of_column(
                    indices, begin + 32 * warp, end, 32 * warps, values, columns,
                    min(column, columns - 1), marks, marked,
                )  # fmt: skip
                sync_block()
                if warp == 0 and column < columns:
                    total = 0.0
                    for peer_warp in range(warps):
                        total += parts[32 * peer_warp + lane()]
                    sums[np.int64(place) * columns + column] = total
                sync_block()
                first += 32
        sync_block()
        base += np.int64(blocks()) * threads()
    place = np.int64((block() * threads() + thread()) // 32)
    while place < count:
        row = which[place]
        begin, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
        if end - begin <= long:
            first = np.int64(0)
            while first < columns:
                column = first + lane()
                total = sum_of_column(
                    indices,
                    begin,
                    end,
                    32,
                    values,
                    columns,
                    min(column, columns - 1),
                    marks,
                    marked,
                )
                if column < columns:
                    sums[place * columns + column] = total
                first += 32
        place += blocks() * threads() // 32


@kernel
def sum_weighted_columns(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    values: Any,
    columns: Any,
    weights: Any,
    sums: Any,
) -> None:
    """Add up neighbours' values in several columns, each times its arc's weight.

    It is not a case of `sum_columns`, which would then need a third more registers.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values : float64[vertices * columns]
        By vertex, then column.
    columns : int
    weights : float64[arcs]
        Factors by arc.
    sums : float64[count * columns]
        Written.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        begin, end = offsets[row], offsets[row + 1]
        for column in range(lane(), columns, 32):
            total = 0.0
            for arc in range(begin, end):
                total += values[np.int64(indices[arc]) * columns + column] * weights[arc]
            sums[np.int64(place) * columns + column] = total


@kernel
def nearest_columns(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    distances: Any,
    columns: Any,
    weights: Any,
    nearest: Any,
) -> None:
    """Find the least distance through a neighbour, in several columns.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    distances : float64[vertices * columns]
        By vertex, then column.
    columns : int
    weights : float64[arcs]
    nearest : float64[count * columns]
        Written; infinite without neighbours.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        begin, end = offsets[row], offsets[row + 1]
        for column in range(lane(), columns, 32):
            best = math.inf
            for arc in range(begin, end):
                best = min(
                    best, distances[np.int64(indices[arc]) * columns + column] + weights[arc]
                )
            nearest[np.int64(place) * columns + column] = best


@kernel
def tight_columns(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    values: Any,
    distances: Any,
    columns: Any,
    weights: Any,
    forward: Any,
    sums: Any,
) -> None:
    """Add up values of neighbours along shortest paths, in several columns.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values, distances : float64[vertices * columns]
        By vertex, then column.
    columns : int
    weights : float64[arcs]
    forward : int
        1 if paths lead from the row to the neighbour, 0 if from the neighbour to the row.
    sums : float64[count * columns]
        Written.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        begin, end = offsets[row], offsets[row + 1]
        for column in range(lane(), columns, 32):
            row_distance = distances[row * columns + column]
            total = 0.0
            for arc in range(begin, end):
                entry = np.int64(indices[arc]) * columns + column
                neighbour_distance = distances[entry]
                through = (
                    row_distance + weights[arc]
                    if forward == 1
                    else neighbour_distance + weights[arc]
                )
                end_of_path = neighbour_distance if forward == 1 else row_distance
                if through == end_of_path and end_of_path < math.inf:
                    total += values[entry]
            sums[np.int64(place) * columns + column] = total


@inline
def word_of_arcs(
    offsets: Any, indices: Any, row: Any, start: Any, step: Any, values: Any, operation: Any,
    identity: Any,
) -> Any:  # fmt: skip
    """Return the words of every `step`-th arc of a row from `start` on combined, over all lanes."""
    best = np.int64(identity)
    for arc in range(offsets[row] + start, offsets[row + 1], step):
        best = combined(operation, best, values[indices[arc]])
    distance = 16
    while distance > 0:
        best = combined(operation, best, shuffle_xor(FULL, best, distance))
        distance //= 2
    return best


@kernel
def fold_words(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    values: Any,
    operation: Any,
    identity: Any,
    long: Any,
    folded: Any,
) -> None:
    """Combine neighbours' words.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values : int64[vertices]
    operation : int
        MIN, MAX or OR.
    identity : int
        The result of an empty row.
    long : int
        Arcs of a row above which a block reads it.
    folded : int64[count]
        Written.
    """
    listed, number = shared(MOST, np.int64), shared(1, np.int32)
    parts = shared(WARPS, np.int64)
    warp, warps = thread() // 32, threads() // 32
    base = np.int64(0)
    while base < count:
        for slot in range(list_long(offsets, which, count, base, long, listed, number)):
            best = word_of_arcs(
                offsets,
                indices,
                which[listed[slot]],
                thread(),
                threads(),
                values,
                operation,
                identity,
            )
            if lane() == 0:
                parts[warp] = best
            sync_block()
            if thread() == 0:
                for peer_warp in range(warps):
                    best = combined(operation, best, parts[peer_warp])
                folded[listed[slot]] = best
            sync_block()
        sync_block()
        base += np.int64(blocks()) * threads()
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        if offsets[row + 1] - offsets[row] <= long:
            best = word_of_arcs(offsets, indices, row, lane(), 32, values, operation, identity)
            if lane() == 0:
                folded[place] = best
