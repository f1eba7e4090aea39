"""A maximal matching by mutual proposals, the same as that of `kernels.cpu.matching`.

Vertices are positions here, but an edge's rank is a hash of its ends' numbers, so the result does not depend on the
layout.  A row is read by one lane, by a warp or by a block, depending on its length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.mixing import mixed
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    atomic_min,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    load_fresh,
    shared,
    shuffle,
    shuffle_xor,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import reserve, row_of, sum_of_lanes

__all__ = ["accept", "find_inside", "propose"]

LEFT, READ = 0, 1  # places among the counts
WARP, BLOCK = 24, 2048  # neighbours from which on a warp, and a block, share a row
ARCS = 1024  # that a warp takes in turn
WORST = 1 << 62  # a rank below all others
POSITIVE = 0x1FFFFFFFFFFFFF


@inline
def mix(value: Any) -> Any:
    """Hash 64 bits to 64 bits: `kernels.cpu.generate.mix`, whose integers wrap around."""
    value = mixed(value)
    return value ^ ((value >> 31) & 0x1FFFFFFFF)


@inline
def rank_of(key: Any, vertex: Any, neighbour: Any) -> Any:
    """Return the rank of the edge between two vertices, by their numbers."""
    low, high = np.int64(min(vertex, neighbour)), np.int64(max(vertex, neighbour))
    return (mix(mix(key + low) + high) >> 11) & POSITIVE


@inline
def better(candidate: Any, rival: Any) -> Any:
    """Return the better of two candidates (rank, number, position)."""
    if rival[0] < candidate[0] or (rival[0] == candidate[0] and rival[1] < candidate[1]):
        return rival
    return candidate


@inline
def best_of_lanes(candidate: Any) -> Any:
    """Return the best candidate of a warp, to all its lanes."""
    distance = 16
    while distance > 0:
        rival = (
            shuffle_xor(FULL, candidate[0], distance),
            shuffle_xor(FULL, candidate[1], distance),
            shuffle_xor(FULL, candidate[2], distance),
        )
        candidate = better(candidate, rival)
        distance //= 2
    return candidate


@inline
def length_of(adjacency: Any, parts: Any, row: Any) -> Any:
    """Return how many neighbours a vertex has, in both parts."""
    offsets, _, more_offsets, _ = adjacency
    length = offsets[row + 1] - offsets[row]
    if parts > 1:
        length += more_offsets[row + 1] - more_offsets[row]
    return length


@inline
def best_in_row(
    adjacency: Any, numbers: Any, mate: Any, key: Any, row: Any, length: Any, first: Any, step: Any
) -> Any:
    """Return the best free neighbour among every `step`-th of a row from `first` on."""
    offsets, indices, more_offsets, more_indices = adjacency
    begin, number = offsets[row], np.int64(numbers[row])
    split = offsets[row + 1] - begin
    best = (np.int64(WORST), np.int64(-1), np.int64(-1))
    for place in range(first, length, step):
        if place < split:
            neighbour = np.int64(indices[begin + place])
        else:
            neighbour = np.int64(more_indices[more_offsets[row] + place - split])
        if mate[neighbour] < 0:
            neighbour_number = np.int64(numbers[neighbour])
            best = better(
                best, (rank_of(key, number, neighbour_number), neighbour_number, neighbour)
            )
    return best


@kernel
def propose(
    adjacency: Any,
    parts: Any,
    numbers: Any,
    mate: Any,
    best: Any,
    free: Any,
    count: Any,
    key: Any,
    counts: Any,
) -> None:
    """Choose for free vertices the best neighbour that is free.

    Of two edges of one rank, that with the neighbour of the smaller number is the better one.

    Parameters
    ----------
    adjacency : tuple of (offsets, indices, offsets, indices)
        Rows of neighbours, in two parts.
    parts : int
        2, or 1 if the second part is not to be read.
    numbers : int[vertices]
        The number of the vertex at each position.
    mate : int[vertices]
        -1 for a free vertex.
    best : int[vertices]
        The choice of each vertex, -1 for none, -2 at first; chosen again only where it is no longer free.
    free : int[count]
        Vertices.
    count : int
    key : int
        Seed of the ranks.
    counts : int64[2]
        Arcs read are added to the second.
    """
    hubs = shared(1024, np.int64)
    number_of_hubs = shared(1, np.int32)
    ranks = shared(32, np.int64)
    least = shared(32, np.int64)
    places = shared(32, np.int64)
    read = np.int64(0)
    if thread() == 0:
        number_of_hubs[0] = 0
    sync_block()
    for base in range(block() * threads(), count, blocks() * threads()):
        vertex, length = np.int64(0), np.int64(-1)
        if base + thread() < count:
            vertex = np.int64(free[base + thread()])
            chosen = best[vertex]
            looks = chosen != -1
            if chosen >= 0:
                looks = mate[chosen] >= 0
            if looks:
                length = length_of(adjacency, parts, vertex)
                read += length
        if 0 <= length < WARP:
            best[vertex] = best_in_row(adjacency, numbers, mate, key, vertex, length, 0, 1)[2]
        if length >= BLOCK:
            hubs[atomic_add(number_of_hubs, 0, 1)] = vertex
        waiting = np.int64(np.uint32(ballot(FULL, WARP <= length < BLOCK)))
        while waiting != 0:
            leader = np.int32(ffs(waiting)) - 1
            waiting &= waiting - 1
            row = shuffle(FULL, vertex, leader)
            candidate = best_of_lanes(
                best_in_row(
                    adjacency, numbers, mate, key, row, shuffle(FULL, length, leader), lane(), 32
                )
            )
            if lane() == leader:  # it has read the old value
                best[row] = candidate[2]
        sync_block()
        for hub in range(number_of_hubs[0]):
            row = hubs[hub]
            length = length_of(adjacency, parts, row)
            candidate = best_of_lanes(
                best_in_row(
                    adjacency, numbers, mate, key, row, length, np.int64(thread()), threads()
                )
            )
            if lane() == 0:
                ranks[thread() // 32] = candidate[0]
                least[thread() // 32] = candidate[1]
                places[thread() // 32] = candidate[2]
            sync_block()
            if thread() == 0:
                for warp in range(1, threads() // 32):
                    candidate = better(candidate, (ranks[warp], least[warp], places[warp]))
                best[row] = candidate[2]
            sync_block()
        sync_block()
        if thread() == 0:
            number_of_hubs[0] = 0
        sync_block()
    read = sum_of_lanes(read)
    if lane() == 0 and read > 0:
        atomic_add(counts, READ, read)


@kernel
def accept(mate: Any, best: Any, free: Any, count: Any, unmatched: Any, counts: Any) -> None:
    """Match vertices whose proposals are mutual, and list those that may still find a mate.

    Parameters
    ----------
    mate, best : int[vertices]
        As in `propose`; each vertex writes its own mate alone.
    free : int[count]
        Vertices.
    count : int
    unmatched : int[count]
        Output: vertices whose proposal was not mutual.
    counts : int64[2]
        Their number is added to the first.
    """
    for base in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        vertex = np.int64(0)
        stays = False
        if base + lane() < count:
            vertex = np.int64(free[base + lane()])
            chosen = best[vertex]
            if chosen >= 0:
                if best[chosen] == vertex:
                    mate[vertex] = chosen
                else:
                    stays = True
        slot = reserve(counts, LEFT, np.int32(stays))
        if stays:
            unmatched[slot] = vertex


@kernel
def find_inside(
    offsets: Any, indices: Any, sides: Any, numbers: Any, size: Any, arcs: Any, least: Any
) -> None:
    """Find the least number of a vertex with a neighbour on the same side.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    sides : uint8[size]
        The side of each vertex.
    numbers : int[size]
        The number of the vertex at each position.
    size, arcs : int
        Vertices and arcs.
    least : int64[1]
        Lowered to that number.
    """
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    for low in range(warp * ARCS, arcs, warps * ARCS):
        high = min(low + ARCS, arcs)
        row = row_of(offsets, size, min(low + lane(), high - 1))
        for arc in range(low + lane(), high, 32):
            while offsets[row + 1] <= arc:
                row += 1
            if sides[row] == sides[indices[arc]] and numbers[row] < load_fresh(least, 0):
                atomic_min(least, 0, numbers[row])
