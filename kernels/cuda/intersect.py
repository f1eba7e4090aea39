"""Intersections of ascending rows: triangles of oriented edges, and folds over common neighbours.

The lanes of a warp take 32 pairs of rows, and then the elements of the shorter row of each pair one
after the other, whatever pair they are of.  Each is looked up in the longer row by binary search
(Hu, Liu and Huang, "TriCore", SC 2018).  So no lane is idle while its warp has an element left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    shuffle,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import owner, scan, sum_of_lanes

__all__ = ["fold_common", "list_triangles"]

# What is added for a triangle: one to each vertex, the directions of the opposite edge, or one to
# each edge.
VERTICES, DIRECTIONS, EDGES = 0, 1, 2
# What is added up over common neighbours.
COUNT, LEAST, PRODUCT = 0, 1, 2


@inline
def find(indices: Any, low: Any, high: Any, value: Any) -> Any:
    """Return the place of a value in an ascending row, or −1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < value:
            low = middle + 1
        else:
            high = middle
    place = np.int64(-1)
    if low < end and indices[low] == value:
        place = np.int64(low)
    return place


@inline
def row_bounds(offsets: Any, other_offsets: Any, row: Any, other_row: Any) -> Any:
    """Return where the shorter of two rows begins, its length, the other's bounds, and 1 if it is the second."""
    begin, low = np.int64(offsets[row]), np.int64(other_offsets[other_row])
    end, high = np.int64(offsets[row + 1]), np.int64(other_offsets[other_row + 1])
    turned = np.int32(0)
    if high - low < end - begin:
        begin, low = low, begin
        end, high = high, end
        turned = np.int32(1)
    length = np.int32(end - begin)
    if low == high:
        length = np.int32(0)
    return begin, length, low, high, turned


@kernel
def list_triangles(
    rows: Any, heads: Any, tails: Any, arcs: Any, count: Any, kind: Any, sums: Any, head_sums: Any,
    read: Any,
) -> None:  # fmt: skip
    """Add up the triangles that contain listed edges as the two least vertices.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int[arcs], int8[arcs])
        Rows of greater neighbours, and the directions of each edge; the last is read for the kind
        `DIRECTIONS` only.
    heads : tuple of (int64[n + 1], int[head arcs], int8[head arcs])
        The same of the heads of the listed edges; rows that are not at hand are empty.
    tails, arcs : int64[count]
        The lower end of each edge, and its place in the rows.
    count : int
    kind : int
        What is added.
    sums : int64[n], or int64[arcs] for the kind `EDGES`
        Added to.
    head_sums : int64[head arcs]
        Added to for the kind `EDGES` only.
    read : int64[1]
        Added to: elements looked up.
    """
    offsets, indices, ways = rows
    head_offsets, head_indices, head_ways = heads
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    looked = np.int64(0)
    for first in range(warp * 32, count, warps * 32):
        tail, arc, head = np.int64(0), np.int64(0), np.int64(0)
        begin, length, low, high = np.int64(0), np.int32(0), np.int64(0), np.int64(0)
        turned = np.int32(0)
        if first + lane() < count:
            tail, arc = np.int64(tails[first + lane()]), np.int64(arcs[first + lane()])
            head = np.int64(indices[arc])
            begin, length, low, high, turned = row_bounds(offsets, head_offsets, tail, head)
        looked += length
        ends = scan(length)
        begin += length - ends
        total = shuffle(FULL, ends, 31)
        for at in range(0, total, 32):
            mine = owner(ends, at + lane())
            element = shuffle(FULL, begin, mine) + at + lane()
            bottom, top = shuffle(FULL, low, mine), shuffle(FULL, high, mine)
            in_head = shuffle(FULL, turned, mine)
            edge, lower = shuffle(FULL, arc, mine), shuffle(FULL, tail, mine)
            middle = shuffle(FULL, head, mine)
            if at + lane() < total:
                near, far = element, np.int64(-1)
                if in_head == 1:
                    near, far = find(indices, bottom, top, head_indices[element]), element
                else:
                    far = find(head_indices, bottom, top, indices[element])
                if near >= 0 and far >= 0:
                    if kind == EDGES:
                        atomic_add(sums, edge, 1)
                        atomic_add(sums, near, 1)
                        atomic_add(head_sums, far, 1)
                    else:
                        to_tail, to_head, to_third = np.int64(1), np.int64(1), np.int64(1)
                        if kind == DIRECTIONS:
                            to_tail, to_head = np.int64(head_ways[far]), np.int64(ways[near])
                            to_third = np.int64(ways[edge])
                        atomic_add(sums, lower, to_tail)
                        atomic_add(sums, middle, to_head)
                        atomic_add(sums, np.int64(indices[near]), to_third)
    looked = sum_of_lanes(looked)
    if lane() == 0:
        atomic_add(read, 0, looked)


@kernel
def fold_common(
    rows: Any, firsts: Any, seconds: Any, count: Any, kind: Any, sums: Any, values: Any
) -> None:
    """Fold over the common neighbours of pairs of vertices.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int[arcs], float64[arcs])
        Ascending rows of neighbours, and values beside them.
    firsts, seconds : int64[count]
        The rows of each pair.
    count : int
    kind : int
        `COUNT`; or `LEAST` or `PRODUCT` of the two values of each common neighbour, added up.
    sums : int64[count]
        Added to, for the kind `COUNT`.
    values : float64[count]
        Written, for the other kinds.
    """
    offsets, indices, arc_values = rows
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    if kind == COUNT:
        for first in range(warp * 32, count, warps * 32):
            begin, length, low, high = np.int64(0), np.int32(0), np.int64(0), np.int64(0)
            if first + lane() < count:
                begin, length, low, high, _ = row_bounds(
                    offsets, offsets, firsts[first + lane()], seconds[first + lane()]
                )
            ends = scan(length)
            begin += length - ends
            total = shuffle(FULL, ends, 31)
            for at in range(0, total, 32):
                mine = owner(ends, at + lane())
                element = shuffle(FULL, begin, mine) + at + lane()
                bottom, top = shuffle(FULL, low, mine), shuffle(FULL, high, mine)
                if at + lane() < total and find(indices, bottom, top, indices[element]) >= 0:
                    atomic_add(sums, first + mine, 1)
    else:  # a warp for each pair, so that sums are added up in one order
        for pair in range(warp, count, warps):
            begin, length, low, high, _ = row_bounds(offsets, offsets, firsts[pair], seconds[pair])
            total_value = 0.0
            for at in range(lane(), length, 32):
                place = find(indices, low, high, indices[begin + at])
                if place >= 0:
                    first_value, second_value = arc_values[begin + at], arc_values[place]
                    total_value += (
                        min(first_value, second_value)
                        if kind == LEAST
                        else first_value * second_value
                    )
            total_value = sum_of_lanes(total_value)
            if lane() == 0:
                values[pair] = total_value
