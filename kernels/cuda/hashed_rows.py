"""Triangles of oriented edges by hashing: a block takes a vertex, whose row is a table in shared memory.

The rows of its greater neighbours are streamed, each by a warp, and their elements looked up in the
table: one probe for most, where a binary search takes ten dependent loads.  What a triangle adds to
the vertex's own row is summed beside the table, and sent to global memory once for each entry (Bisson
and Fatica, "High performance exact triangle counting on GPUs", IEEE TPDS 2017, with a table in place
of a bitmap of all vertices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.communities import slots_for
from cugraph_ws.kernels.cuda.intersect import DIRECTIONS, EDGES
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_compare_and_swap,
    ballot,
    block,
    blocks,
    dynamic_shared,
    ffs,
    inline,
    kernel,
    lane,
    lean,
    shuffle,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = ["list_hashed"]

FREE = -1  # a slot without a label


@inline
def first_place(label: Any, mask: Any) -> Any:
    """Return where the search for a label begins."""
    return np.int32((label ^ (label >> 11)) & mask)


@inline
def find_slot(keys: Any, mask: Any, label: Any) -> Any:
    """Return the slot of a label, or −1."""
    slot = first_place(label, mask)
    slot_label = keys[slot]
    while slot_label != label and slot_label != FREE:
        slot = np.int32((slot + 1) & mask)
        slot_label = keys[slot]
    return slot if slot_label == label else np.int32(FREE)


@inline
def insert(keys: Any, mask: Any, label: Any) -> Any:
    """Put a label that is not there into the table; return its slot."""
    slot = first_place(label, mask)
    while np.int32(atomic_compare_and_swap(keys, slot, np.int32(FREE), label)) != FREE:
        slot = np.int32((slot + 1) & mask)
    return slot


@lean(48)
@kernel
def list_hashed(
    rows: Any, tails: Any, count: Any, kind: Any, slots: Any, sums: Any, read: Any
) -> None:
    """Add up the triangles whose least vertex is listed.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int[arcs], int8[arcs])
        Rows of greater neighbours, and the directions of each edge; the last is read for the kind
        `DIRECTIONS` only.
    tails : int64[count]
        Vertices with rows of at most half of `slots`.
    count : int
    kind : int
        What is added; see `intersect`.
    slots : int
        Of a table: 12 bytes of shared memory each; a power of two, 32 or more.
    sums : int64[n], or int64[arcs] for the kind `EDGES`
        Added to.
    read : int64[1]
        Added to: elements looked up.
    """
    offsets, indices, ways = rows
    keys = dynamic_shared(0, slots, np.int32)
    counts = dynamic_shared(4 * slots, slots, np.int32)
    places = dynamic_shared(8 * slots, slots, np.int32)
    thread_number, every = np.int32(thread()), np.int32(threads())
    looked = np.int64(0)
    which = np.int64(block())
    while which < count:
        tail = np.int64(tails[which])
        begin = np.int64(offsets[tail])
        entries = np.int32(offsets[tail + 1] - begin)
        size = np.int32(slots_for(entries))
        mask = np.int32(size - 1)
        at = thread_number
        while at < size:
            keys[at] = np.int32(FREE)
            counts[at] = np.int32(0)
            at = np.int32(at + every)
        sync_block()
        at = thread_number
        while at < entries:
            places[insert(keys, mask, np.int32(indices[begin + at]))] = at
            at = np.int32(at + every)
        sync_block()
        to_tail = np.int64(0)
        # The rows of a warp's entries, one after the other: every (number of warps)-th is its own.
        first = np.int32(thread_number >> 5)
        while first < entries:
            entry = np.int32(first + lane() * (every >> 5))
            head, low, length = np.int32(0), np.int64(0), np.int32(0)
            if entry < entries:
                head = np.int32(indices[begin + entry])
                low = np.int64(offsets[np.int64(head)])
                length = np.int32(offsets[np.int64(head) + 1] - low)
            looked += length
            pending = ballot(FULL, length > 0)
            while pending != 0:
                mine = np.int32(ffs(pending) - 1)
                pending = np.uint32(pending & np.uint32(pending - np.uint32(1)))
                start, many = shuffle(FULL, low, mine), shuffle(FULL, length, mine)
                edge = np.int32(0)
                if kind == DIRECTIONS:
                    edge = np.int32(ways[begin + shuffle(FULL, entry, mine)])
                to_head = np.int32(0)
                at = np.int32(lane())
                while at < many:
                    slot = find_slot(keys, mask, np.int32(indices[start + at]))
                    if slot >= 0:
                        if kind == DIRECTIONS:
                            atomic_add(counts, slot, edge)
                            to_tail += np.int64(ways[start + at])
                            to_head = np.int32(to_head + ways[begin + places[slot]])
                        else:
                            atomic_add(counts, slot, np.int32(1))
                            to_tail += np.int64(1)
                            to_head = np.int32(to_head + 1)
                            if kind == EDGES:
                                atomic_add(sums, start + at, np.int64(1))
                    at = np.int32(at + 32)
                if any_of(FULL, to_head > 0):
                    all_to_head = sum_of_lanes(to_head)
                    middle = shuffle(FULL, head, mine)
                    if lane() == 0:
                        atomic_add(counts, find_slot(keys, mask, middle), np.int32(all_to_head))
            first = np.int32(first + every)
        if kind != EDGES:
            to_tail = sum_of_lanes(to_tail)
            if lane() == 0 and to_tail > 0:
                atomic_add(sums, tail, to_tail)
        sync_block()
        at = thread_number
        while at < size:
            if keys[at] != FREE and counts[at] > 0:
                if kind == EDGES:
                    atomic_add(sums, begin + places[at], np.int64(counts[at]))
                else:
                    atomic_add(sums, np.int64(keys[at]), np.int64(counts[at]))
            at = np.int32(at + every)
        sync_block()
        which += blocks()
    looked = sum_of_lanes(looked)
    if lane() == 0:
        atomic_add(read, 0, looked)
