"""Sums of neighbours' values by row; rows need not be sorted by length.

Rows of three classes: a block adds up each piece of the longest rows, a warp each long row, and 32 lanes
32 consecutive short ones by warp segmentation (Khorasani, Gupta, Bhuyan 2015; see `superstep.py`), which
jumps over the longer rows among them.  Every row is added up in an order that depends on the rows alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_once,
    shared,
    shuffle,
    shuffle_down,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import greatest_of_lanes, owner, sum_of_lanes

__all__ = ["sum_all_rows", "sum_pieces"]

WARPS = 32  # of a block, at most


@inline
def value_of(arc: Any, last: Any, indices: Any, values: Any, weights: Any, weighted: Any) -> Any:
    """Return what an arc adds, 0 from `last` on."""
    if arc >= last:
        return 0.0
    value = values[load_once(indices, arc)]
    if weighted == 1:
        value *= weights[arc]
    return value


@inline
def sum_of_strides(
    first: Any, last: Any, stride: Any, indices: Any, values: Any, weights: Any, weighted: Any
) -> Any:
    """Return the sum over every `stride`-th arc of [first, last), four at a time."""
    total = 0.0
    arc = first
    while arc < last:
        value_0 = value_of(arc, last, indices, values, weights, weighted)
        value_1 = value_of(arc + stride, last, indices, values, weights, weighted)
        value_2 = value_of(arc + 2 * stride, last, indices, values, weights, weighted)
        value_3 = value_of(arc + 3 * stride, last, indices, values, weights, weighted)
        total += (value_0 + value_1) + (value_2 + value_3)
        arc += 4 * stride
    return total


@inline
def fold_window(window: Any, value: Any, start: Any, end: Any, longest: Any, total: Any) -> Any:
    """Add a window of 32 arcs up by segments; each lane adds its own row's part to `total`."""
    place = np.int32(window + lane())
    stop = min(shuffle(FULL, end, owner(end, place)), np.int32(window + 32))
    distance = np.int32(1)
    while distance < longest:
        later_value = shuffle_down(FULL, value, distance)
        if place + distance < stop:
            value += later_value
        distance = np.int32(distance << 1)
    head = max(start - window, 0)
    part = shuffle(FULL, value, head & 31)
    if head < min(end - window, 32):
        total += part
    return total


@inline
def sum_of_segments(
    first: Any, last: Any, long: Any, indices: Any, values: Any, weights: Any, weighted: Any
) -> Any:
    """Return the sum of each lane's row [first, last); of a long row the sum of some of its arcs.

    The rows of a warp are consecutive.  Four windows are read before the first is folded.
    """
    longest = greatest_of_lanes(np.int32(0) if long else np.int32(min(last - first, 32)))
    total = 0.0
    at = shuffle(FULL, first, 0)
    until = shuffle(FULL, last, 31)
    while at < until:
        start = np.int32(min(max(first - at, 0), 128))
        end = np.int32(min(max(last - at, 0), 128))
        first_owner = owner(end, np.int32(0))
        if shuffle(FULL, np.int32(1 if long else 0), first_owner) == 1:
            at = shuffle(FULL, last, first_owner)
        else:
            arc = at + lane()
            value_0 = value_of(arc, until, indices, values, weights, weighted)
            value_1 = value_of(arc + 32, until, indices, values, weights, weighted)
            value_2 = value_of(arc + 64, until, indices, values, weights, weighted)
            value_3 = value_of(arc + 96, until, indices, values, weights, weighted)
            total = fold_window(np.int32(0), value_0, start, end, longest, total)
            total = fold_window(np.int32(32), value_1, start, end, longest, total)
            total = fold_window(np.int32(64), value_2, start, end, longest, total)
            total = fold_window(np.int32(96), value_3, start, end, longest, total)
            at += 128
    return total


@kernel
def sum_pieces(
    over: Any, offsets: Any, indices: Any, values: Any, weights: Any, weighted: Any, rows: Any,
    places: Any, count: Any, size: Any, parts: Any,
) -> None:  # fmt: skip
    """Add up neighbours' values over each piece of the longest rows.

    Parameters
    ----------
    over : float64[1]
        Nothing is done if it is not 0.
    offsets, indices : int64[rows + 1], int[arcs]
    values : float64[vertices]
    weights : float64[arcs]
        Factors by arc; not read unless `weighted` is 1.
    weighted : int
    rows, places : int64[count]
        The row of each piece, and its place in the row.
    count : int
        Number of pieces.
    size : int
        Arcs of a piece.
    parts : float64[count]
        Written.
    """
    shares = shared(WARPS, np.float64)
    if over[0] != 0.0:
        return
    piece = np.int64(block())
    while piece < count:
        first = np.int64(offsets[rows[piece]]) + places[piece] * size
        last = min(first + size, np.int64(offsets[rows[piece] + 1]))
        total = sum_of_strides(
            first + thread(), last, threads(), indices, values, weights, weighted
        )
        total = sum_of_lanes(total)
        if lane() == 0:
            shares[thread() // 32] = total
        sync_block()
        if thread() == 0:
            total = 0.0
            for peer_warp in range(threads() // 32):
                total += shares[peer_warp]
            parts[piece] = total
        sync_block()
        piece += blocks()


@kernel
def sum_all_rows(
    over: Any, offsets: Any, indices: Any, values: Any, weights: Any, weighted: Any, count: Any,
    longest: Any, cut: Any, cut_count: Any, firsts: Any, parts: Any, long: Any, long_count: Any,
    sums: Any,
) -> None:  # fmt: skip
    """Add up neighbours' values over all rows.

    Parameters
    ----------
    over : float64[1]
        Nothing is done if it is not 0.
    offsets, indices : int64[count + 1], int[arcs]
    values : float64[vertices]
    weights : float64[arcs]
        Factors by arc; not read unless `weighted` is 1.
    weighted : int
    count : int
        Number of rows.
    longest : int
        Arcs of a short row, at most.
    cut : int64[cut_count]
        The rows that `sum_pieces` has read.
    cut_count : int
    firsts : int64[cut_count + 1]
        Where the pieces of each begin.
    parts : float64[pieces]
        Their sums.
    long : int64[long_count]
        The other rows that are longer than `longest`.
    long_count : int
    sums : float64[count]
        Written.
    """
    if over[0] != 0.0:
        return
    warps = threads() // 32
    item = np.int64(block()) * warps + thread() // 32
    groups = (np.int64(count) + 31) // 32
    while item < cut_count + long_count + groups:
        if item < cut_count:
            total = 0.0
            for piece in range(firsts[item] + lane(), firsts[item + 1], 32):
                total += parts[piece]
            total = sum_of_lanes(total)
            if lane() == 0:
                sums[cut[item]] = total
        elif item < cut_count + long_count:
            row = long[item - cut_count]
            total = sum_of_strides(
                np.int64(offsets[row]) + lane(), np.int64(offsets[row + 1]), 32, indices, values,
                weights, weighted,
            )  # fmt: skip
            total = sum_of_lanes(total)
            if lane() == 0:
                sums[row] = total
        else:
            row = 32 * (item - cut_count - long_count) + lane()
            first = np.int64(offsets[min(row, count)])
            last = np.int64(offsets[min(row + 1, count)])
            apart = last - first > longest
            total = sum_of_segments(first, last, apart, indices, values, weights, weighted)
            if row < count and not apart:
                sums[row] = total
        item += np.int64(blocks()) * warps
