"""Minimum spanning forests by Borůvka's method: edges are listed, then all rounds are one launch.

Edges that are candidates are listed by atomics, as are those of each round that still join two trees
(ECL-MST: Fallin, Gonzalez, Seo and Burtscher, "A high-performance MST implementation for GPUs",
SC 2023).  Nothing is sorted: edges are ordered by a 64-bit word, then by the numbers of their ends and
their arc, and trees look for the least one in that order.  So the forest does not depend on the order in
which threads come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    atomic_compare_and_swap,
    atomic_min,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    load_cached,
    load_fresh,
    load_once,
    popc,
    store_fresh,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import reserve, row_between, row_of, sum_of_lanes

__all__ = ["join_trees", "list_edges"]

GREATEST = np.int64(2**63 - 1)
ARCS = 1024  # that a warp takes in turn: 32 for each lane, whose bits are a word
HOPS = 32  # by which a vertex climbs at most between two barriers
UNDONE = 2  # place among the counts: the first three of those; lengths of lists are before it


@inline
def word_of(values: Any, form: Any, arc: Any, tail_number: Any, head_number: Any) -> Any:
    """Return the word of an edge: NaN is the greatest weight, and both zeros are equal."""
    weighted, low, infinity, scale = form
    word = np.int64(0)
    if weighted != 0:
        bits = np.int64(load_once(values, arc))
        word = bits ^ ((bits >> 63) & low)
        if low != 0:
            if (bits & low) > infinity:
                word = GREATEST
            elif word == -1:
                word = np.int64(0)
    elif scale != 0:
        word = head_number * scale + tail_number
    return word


@inline
def is_candidate(
    rows: Any, span: Any, numbers: Any, values: Any, form: Any, choice: Any, label: Any, arc: Any
) -> Any:
    """Return whether an arc stands for an edge that is to be listed; `span` is where its row is."""
    bound, light, directed = choice
    weighted = form[0] != 0
    wanted = True
    if weighted and light != 0:
        wanted = word_of(values, form, arc, 0, 0) <= bound
    if wanted:
        tail, head = np.int64(load_once(rows[1], arc)), row_between(rows[0], *span, arc)
        wanted = load_once(label, tail) != load_once(label, head)
        if wanted and weighted and light == 0:
            wanted = word_of(values, form, arc, 0, 0) > bound
        if wanted and directed == 0:  # an undirected edge is two arcs
            wanted = load_once(numbers, tail) < load_once(numbers, head)
    return wanted


@kernel
def list_edges(
    rows: Any, shape: Any, numbers: Any, values: Any, form: Any, choice: Any, label: Any, edges: Any,
    lists: Any, room: Any, counts: Any,
) -> None:  # fmt: skip
    """List the edges between different trees that are light, or those that are not.

    Parameters
    ----------
    rows : tuple of (int64[rows + 1], int[arcs])
        Rows of in-neighbours.
    shape : tuple of (int, int)
        Number of rows, at least 1, and of arcs.
    numbers : int[size]
        Vertex number at each position.
    values : int32[arcs] or int64[arcs]
        The weights, or the bits of floats.
    form : tuple of (int, int, int, int)
        Whether there are weights.  Of floats, all bits but the sign, and the bits of infinity; else 0.
        The number of vertices, for words of edges without weights; or 0.
    choice : tuple of (int, int, int)
        The greatest word of a light edge, whether light edges are listed, and whether edges are directed.
    label : int[size]
        The tree of each position.
    edges : tuple of (int64[room], int[room], int[room], int64[room])
        Written: word, numbers of tail and head, arc.
    lists : tuple of (int64[2 room], int[2 room], int[2 room])
        Written from the start: the edge, and the trees of its ends.
    room : int
        Most edges; further ones are counted only.
    counts : int64[]
        The edges are added to the first.
    """
    offsets, indices = rows
    words, tails, heads, arcs = edges
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    for low in range(np.int64(ARCS) * warp, shape[1], np.int64(ARCS) * warps):
        high = np.int64(min(low + ARCS, shape[1]))
        begin = row_of(offsets, shape[0], low)
        span = begin, row_between(offsets, begin, shape[0], high - 1) + 1
        bits, group = np.uint32(0), np.int32(0)
        for arc in range(low + lane(), high, 32):
            if is_candidate(rows, span, numbers, values, form, choice, label, arc):
                bits = np.uint32(bits | (np.int64(1) << group))
            group = np.int32(group + 1)
        slot = reserve(counts, 0, np.int32(popc(bits)))
        while bits != 0:
            arc = low + lane() + 32 * (np.int64(ffs(bits)) - 1)
            bits = np.uint32(bits & (bits - 1))
            if slot < room:
                tail, head = np.int64(load_once(indices, arc)), row_between(offsets, *span, arc)
                tail_number, head_number = (
                    np.int64(load_once(numbers, tail)), np.int64(load_once(numbers, head)),
                )  # fmt: skip
                words[slot] = word_of(values, form, arc, tail_number, head_number)
                tails[slot], heads[slot], arcs[slot] = tail_number, head_number, arc
                lists[0][slot] = slot
                lists[1][slot], lists[2][slot] = load_once(label, tail), load_once(label, head)
            slot += 1


@inline
def lower(lowest: Any, tree: Any, word: Any) -> None:
    """Lower a tree's least word."""
    # Of a large tree few words are the lowest yet, which an old value often shows.
    if word < load_cached(lowest, tree) and word < load_fresh(lowest, tree):
        atomic_min(lowest, tree, word)


@inline
def is_before(edges: Any, slot: Any, other_slot: Any) -> Any:
    """Return whether an edge comes before another one with the same word."""
    _, tails, heads, arcs = edges
    if heads[slot] != heads[other_slot]:
        return heads[slot] < heads[other_slot]
    if tails[slot] != tails[other_slot]:
        return tails[slot] < tails[other_slot]
    return arcs[slot] < arcs[other_slot]


@inline
def offer(edges: Any, best: Any, tree: Any, slot: Any) -> None:
    """Make an edge, one of those with the tree's least word, its best edge if it is."""
    best_slot = np.int64(load_fresh(best, tree))
    while best_slot < 0 or is_before(edges, slot, best_slot):
        before = np.int64(atomic_compare_and_swap(best, tree, best_slot, slot))
        best_slot = slot if before == best_slot else before


@inline
def climb(label: Any, vertex: Any, lowest: Any, best: Any) -> Any:
    """Bring a vertex to its root, or nearer; prepare a root for the next round.

    Returns 1 if the vertex may not be below its root yet, else 0.
    """
    above = np.int64(load_cached(label, vertex))
    if above == vertex:
        lowest[vertex], best[vertex] = GREATEST, -1
    root = np.int64(load_cached(label, above))
    hops = np.int32(0)
    if root != above:
        while root != above and hops < HOPS:
            above = root
            root = np.int64(load_cached(label, above))
            hops = np.int32(hops + 1)
        store_fresh(label, vertex, root)  # others read a parent or what is above it: both lead up
    return np.int64(root != above)


@kernel
def join_trees(
    edges: Any, lists: Any, room: Any, label: Any, size: Any, lowest: Any, best: Any, forest: Any,
    picked: Any, counts: Any,
) -> None:  # fmt: skip
    """Join trees along the first edge out of each, until no listed edge joins two.  Cooperative.

    Parameters
    ----------
    edges : tuple of (int64[room], int[room], int[room], int64[room])
        Word, two numbers and arc; edges are in their order.
    lists : tuple of (int64[2 room], int[2 room], int[2 room])
        The edges, and the different trees of their ends; overwritten.
    room : int
    label : int[size]
        The tree of each vertex: one of its vertices, whose label is itself.  Updated.
    size : int
        Vertices.
    lowest, best : int64[size]
        The greatest int64, and −1; afterwards again for every vertex that is a tree's label.
    forest : tuple of (int64[size], int64[size], int64[size], int64[size])
        Written: arc, numbers and word of the edges of the forest.
    picked : int64[1]
        How many those are; added to.
    counts : int64[5]
        The number of edges, at most `room`, and 0.
    """
    words, tails, heads, arcs = edges
    slots, nears, fars = lists
    first, step = np.int64(block() * threads() + thread()), np.int64(blocks() * threads())
    for place in range(first, load_fresh(counts, 0), step):
        word = words[load_fresh(slots, place)]
        lower(lowest, np.int64(load_fresh(nears, place)), word)
        lower(lowest, np.int64(load_fresh(fars, place)), word)
    remaining = np.int64(load_fresh(counts, 0))
    turn, base, cell = np.int64(0), np.int64(0), np.int64(0)
    sync_grid()
    while remaining > 0:
        for place in range(base + first, base + remaining, step):
            slot = np.int64(load_fresh(slots, place))
            near, far = np.int64(load_fresh(nears, place)), np.int64(load_fresh(fars, place))
            word = words[slot]
            if word == load_fresh(lowest, near):
                offer(edges, best, near, slot)
            if word == load_fresh(lowest, far):
                offer(edges, best, far, slot)
        if first == 0:
            store_fresh(counts, 1 - turn, 0)
        sync_grid()
        for start in range(first - lane(), remaining, step):
            slot = np.int64(-1)
            if start + lane() < remaining:
                place = base + start + lane()
                slot = np.int64(load_fresh(slots, place))
                near, far = np.int64(load_fresh(nears, place)), np.int64(load_fresh(fars, place))
                of_near = load_fresh(best, near) == slot
                of_far = load_fresh(best, far) == slot
                if of_near and (not of_far or near > far):  # of two that chose it, one stays a root
                    store_fresh(label, near, far)
                elif of_far:
                    store_fresh(label, far, near)
                else:
                    slot = np.int64(-1)
            to = reserve(picked, 0, np.int32(slot >= 0))
            if slot >= 0:
                forest[0][to], forest[1][to] = arcs[slot], tails[slot]
                forest[2][to], forest[3][to] = heads[slot], words[slot]
        sync_grid()
        undone = np.int64(1)
        while undone > 0:
            # Three counts in turn: one is added to, one may still be read, and one is cleared.
            later = cell + 1 if cell < 2 else np.int64(0)
            if first == 0:
                store_fresh(counts, UNDONE + later, 0)
            unfinished = np.int64(0)
            for vertex in range(first, size, step):
                unfinished += climb(label, vertex, lowest, best)
            unfinished = sum_of_lanes(unfinished)
            if lane() == 0 and unfinished > 0:
                atomic_add(counts, UNDONE + cell, unfinished)
            sync_grid()
            undone = np.int64(load_fresh(counts, UNDONE + cell))
            cell = later
        for start in range(first - lane(), remaining, step):
            slot, near, far = np.int64(0), np.int64(0), np.int64(0)
            if start + lane() < remaining:
                place = base + start + lane()
                slot = np.int64(load_fresh(slots, place))
                near = np.int64(load_cached(label, load_fresh(nears, place)))
                far = np.int64(load_cached(label, load_fresh(fars, place)))
            to = room - base + reserve(counts, 1 - turn, np.int32(near != far))
            if near != far:
                slots[to], nears[to], fars[to] = slot, near, far
                lower(lowest, near, words[slot])
                lower(lowest, far, words[slot])
        sync_grid()
        turn, base = 1 - turn, room - base
        remaining = np.int64(load_fresh(counts, turn))
