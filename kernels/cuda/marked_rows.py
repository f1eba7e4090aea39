"""Common neighbours of pairs of vertices, counted by bitmaps of the longer rows.

A block takes pairs with the same longer row, marks its elements in a bitmap of all vertices, and
tests the elements of the shorter rows: one load each, where a binary search takes one for each
doubling of the row.  The bitmaps of the blocks are in global memory, and mostly in the cache.
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
    lean,
    load_fresh,
    popc,
    store_fresh,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import row_between

__all__ = ["count_marked"]

SPAN = 512  # elements that a warp takes at a time


@inline
def is_marked(marks: Any, base: Any, value: Any) -> Any:
    """Return whether a vertex is marked in the bitmap that begins at a word."""
    word = np.uint32(load_fresh(marks, base + (value >> 5)))
    return (word >> np.uint32(value & 31)) & np.uint32(1) != 0


@lean(40)
@kernel
def count_marked(
    rows: Any, ends: Any, begins: Any, firsts: Any, tasks: Any, marks: Any, words: Any, counts: Any
) -> None:
    """Count the common neighbours of pairs of vertices.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int[arcs])
        Rows of neighbours, ascending.
    ends : tuple of (int64[pairs], int64[pairs], int64[pairs])
        The longer and the shorter row of each pair, and its place in `counts`.
    begins : int64[pairs + 1]
        The lengths of the shorter rows, added up.
    firsts : int64[tasks + 1]
        The first pair of each task; all pairs of a task have the same longer row.
    tasks : int
    marks : uint32[blocks * words]
        Room; 0 before and after.
    words : int
        Of a bitmap of all vertices.
    counts : int64[...]
        Added to.
    """
    offsets, indices = rows
    longs, shorts, pairs = ends
    base = np.int64(block()) * words
    thread_number, thread_count = np.int64(thread()), np.int64(threads())
    task = np.int64(block())
    while task < tasks:
        first, last = np.int64(firsts[task]), np.int64(firsts[task + 1])
        low, high = np.int64(offsets[longs[first]]), np.int64(offsets[longs[first] + 1])
        at = low + thread_number
        while at < high:
            value = np.int64(indices[at])
            atomic_or(marks, base + (value >> 5), np.uint32(1) << np.uint32(value & 31))
            at += thread_count
        sync_block()
        start, end = np.int64(begins[first]) + (thread_number >> 5) * SPAN, np.int64(begins[last])
        while start < end:
            stop = min(np.int64(start + SPAN), end)
            pair, place = row_between(begins, first, last, start), start
            while place < stop:
                until = min(stop, np.int64(begins[pair + 1]))
                into = np.int64(offsets[shorts[pair]]) - np.int64(begins[pair]) + lane()
                common, remaining = np.int32(0), np.int32(until - place - lane())
                while any_of(FULL, remaining > 0):
                    marked = False
                    if remaining > 0:
                        marked = is_marked(marks, base, np.int64(indices[into + place]))
                    common = np.int32(common + popc(ballot(FULL, marked)))
                    place += 32
                    remaining = np.int32(remaining - 32)
                if lane() == 0 and common > 0:
                    atomic_add(counts, pairs[pair], np.int64(common))
                place, pair = until, pair + 1
            start += (thread_count >> 5) * SPAN
        sync_block()
        at = low + thread_number
        while at < high:
            store_fresh(marks, base + (np.int64(indices[at]) >> 5), np.uint32(0))
            at += thread_count
        sync_block()
        task += blocks()
