"""The loops of edge programs: folds over the common neighbours of pairs, on ascending rows.

They are written against `pair_interface`.  A warp takes a pair; its lanes look up 32 elements of
the shorter row at a time, and compute the messages of those that are common.  The messages are then
combined one after the other, in the order of the rows, so that results do not depend on the machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.pair_interface import (
    ANY,
    EDGES,
    is_enough,
    load,
    merge,
    message,
    nothing,
    put,
    shuffle_message,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    thread,
    threads,
)

__all__ = ["fold_pairs", "value_pairs"]


@inline
def place_of(indices: Any, low: Any, high: Any, value: Any) -> Any:
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
def arc_between(offsets: Any, indices: Any, row: Any, vertex: Any) -> Any:
    """Return the arc of a row to a vertex, or −1; −1 also if no function reads it."""
    arc = np.int64(-1)
    if EDGES:
        arc = place_of(indices, np.int64(offsets[row]), np.int64(offsets[row + 1]), vertex)
    return arc


@kernel
def fold_pairs(
    rows: Any, pairs: Any, count: Any, constants: Any, edges: Any, values: Any, columns: Any
) -> None:
    """Compute the values of pairs.

    Parameters
    ----------
    rows : tuple of (int64[rows + 1], int[arcs])
        Ascending rows of neighbours.
    pairs : tuple of (first rows, second rows, firsts, seconds), each int64[count]
        The rows of each pair, and its vertices as the rows and the constants number them.
    count : int
    constants, edges, values
        See `pair_interface`.
    columns : tuple of arrays, each of `count` entries
        Written.
    """
    offsets, indices = rows
    first_rows, second_rows, firsts, seconds = pairs
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    for pair in range(warp, count, warps):
        u, v = load(constants, np.int64(firsts[pair])), load(constants, np.int64(seconds[pair]))
        begin, low = np.int64(offsets[first_rows[pair]]), np.int64(offsets[second_rows[pair]])
        end, high = (
            np.int64(offsets[first_rows[pair] + 1]),
            np.int64(offsets[second_rows[pair] + 1]),
        )
        turned = high - low < end - begin
        if turned:
            begin, low = low, begin
            end, high = high, end
        gathered = nothing()
        going = True
        while going and begin < end:
            at = begin + lane()
            wanted, place = np.int64(0), np.int64(-1)
            if at < end:
                wanted = np.int64(indices[at])
                place = place_of(indices, low, high, wanted)
            common = ballot(FULL, place >= 0)
            mine = nothing()
            if place >= 0:
                first_arc, second_arc = at, place
                if turned:
                    first_arc, second_arc = place, at
                mine = message(load(constants, wanted), u, v, edges, first_arc, second_arc, values)
            while going and common != 0:
                source = np.int32(ffs(common) - 1)
                common = np.uint32(common & (common - np.uint32(1)))
                gathered = merge(gathered, shuffle_message(FULL, mine, source))
                if ANY and is_enough(gathered):
                    going = False
            begin += 32
        if lane() == 0:
            arc = arc_between(offsets, indices, np.int64(first_rows[pair]), np.int64(seconds[pair]))
            put(columns, pair, u, v, edges, arc, gathered, values)


@kernel
def value_pairs(
    rows: Any, pairs: Any, count: Any, constants: Any, edges: Any, values: Any, columns: Any,
    counts: Any,
) -> None:  # fmt: skip
    """Compute the values of pairs from the numbers of their common neighbours.

    It is for programs whose message is one and the same whole number, which is added up.

    Parameters
    ----------
    rows, pairs, count, constants, edges, values, columns
        See `fold_pairs`.
    counts : int64[count]
    """
    offsets, indices = rows
    first_rows, _, firsts, seconds = pairs
    for pair in range(block() * threads() + thread(), count, blocks() * threads()):
        u, v = load(constants, np.int64(firsts[pair])), load(constants, np.int64(seconds[pair]))
        each = message(u, u, v, edges, np.int64(0), np.int64(0), values)
        arc = arc_between(offsets, indices, np.int64(first_rows[pair]), np.int64(seconds[pair]))
        put(columns, pair, u, v, edges, arc, counts[pair] * each, values)
