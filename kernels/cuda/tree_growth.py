"""Predecessor trees grow from the vertices attached last, along their out-arcs.

`predecessors.grow` visits all undecided vertices in every level.  That is much work where many paths are equally
wide, since nearly all vertices are undecided for many levels.  Here only the vertices that the last level
attached read their out-neighbours, so each arc is read once.  A vertex belongs to the first level that reaches
it, and gets the least number of that level.  Both are in one word, of which the minimum is kept, so one barrier
a level is enough.  If few vertices are the better in-neighbours of many, their numbers are sent in the same way,
as level -1 (`kernels/cuda/predecessor_codes.py`).

A level finds the same vertices as in `predecessors.grow`: an undecided vertex has no equally good in-neighbour
that was attached before the last level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.cooperative import (
    advance,
    clear_following,
    clear_local,
    counters_of,
    rows_of_warp,
    sync_workers,
    warps_of,
)
from cugraph_ws.kernels.cuda.interface import (
    code_at,
    initial,
    is_active,
    keep,
    load,
    load_coded,
    replace,
    same,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    AHEAD,
    COUNT,
    DEGREES,
    FRONTIER_BLOCK,
    LISTED,
    NOBODY,
    QUEUED,
    STEPS,
    WAITING,
    WOKEN,
)
from cugraph_ws.kernels.cuda.predecessors import is_tight
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_min,
    block,
    blocks,
    bounded,
    inline,
    kernel,
    lane,
    load_fresh,
    load_once,
    shared,
    shuffle,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    reserve,
    scan,
    sum_of_lanes,
    take_rows,
)

__all__ = ["grow_forward", "list_attached", "mark_levels", "pack_attached", "unpack_attached"]


@inline
def add_to_list(attached: Any, vertex: Any, offsets: Any, listed: Any, control: Any) -> Any:
    """Append the attached vertices of a warp to the list; return the number of the lane's out-arcs."""
    arcs = np.int64(0)
    if any_of(FULL, attached):
        slot = reserve(control, COUNT, np.int32(attached))
        if attached:
            listed[slot] = vertex
            arcs += offsets[vertex + 1] - offsets[vertex]
    return arcs


@inline
def arcs_if_attached(vertex: Any, vertices: Any, levels: Any, offsets: Any) -> Any:
    """Return the number of out-arcs of a vertex of level 0, else 0."""
    at = min(vertex, vertices - 1)
    level, begin, end = levels[at], offsets[at], offsets[at + 1]  # all loaded at once
    return np.int64(end - begin) if vertex < vertices and level == 0 else np.int64(0)


@inline
def list_if(arcs: Any, slot: Any, vertex: Any, listed: Any) -> Any:
    """List a vertex that has arcs; return the next slot."""
    if arcs > 0:
        listed[slot] = vertex
    return slot + np.int64(arcs > 0)


@kernel
def list_attached(vertices: Any, levels: Any, offsets: Any, listed: Any, control: Any) -> None:
    """List the vertices of level 0 that have out-arcs, and count these.

    Each lane has four vertices, so a warp waits once for the counter that it adds 128 vertices to.
    """
    arcs = np.int64(0)
    first_thread = block() * threads() + thread() - lane()
    for first in range(4 * first_thread, vertices, 4 * blocks() * threads()):
        vertex_0 = first + lane()
        vertex_1, vertex_2, vertex_3 = vertex_0 + 32, vertex_0 + 64, vertex_0 + 96
        arcs_0 = arcs_if_attached(vertex_0, vertices, levels, offsets)
        arcs_1 = arcs_if_attached(vertex_1, vertices, levels, offsets)
        arcs_2 = arcs_if_attached(vertex_2, vertices, levels, offsets)
        arcs_3 = arcs_if_attached(vertex_3, vertices, levels, offsets)
        wanted = np.int32(arcs_0 > 0) + np.int32(arcs_1 > 0) + np.int32(arcs_2 > 0)
        wanted = np.int32(wanted + np.int32(arcs_3 > 0))
        if any_of(FULL, wanted > 0):
            slot = reserve(control, COUNT, wanted)
            slot = list_if(arcs_0, slot, vertex_0, listed)
            slot = list_if(arcs_1, slot, vertex_1, listed)
            slot = list_if(arcs_2, slot, vertex_2, listed)
            slot = list_if(arcs_3, slot, vertex_3, listed)
            arcs += arcs_0 + arcs_1 + arcs_2 + arcs_3
    arcs = sum_of_lanes(arcs)
    if lane() == 0 and arcs > 0:
        atomic_add(control, AHEAD, arcs)


@kernel
def pack_attached(
    positions: Any, count: Any, bits: Any, parents: Any, marked: Any, control: Any, attached: Any,
    slot: Any,
) -> None:  # fmt: skip
    """Mark which of some vertices the last launch, of one level, attached; write how many it attached in all.

    A launch that began with an empty list leaves the number of the level unchanged; vertices of that
    level were sent before, and are not sent again.
    """
    number = control[COUNT]
    level = control[STEPS] if number > 0 else np.int64(-1)
    if block() == 0 and thread() == 0:
        attached[slot] = number
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        marked[place] = np.uint8(parents[positions[place]] >> bits == level)


@kernel
def unpack_attached(
    ghosts: Any, count: Any, marked: Any, levels: Any, offsets: Any, lists: Any, control: Any
) -> None:
    """Give level 0 to the ghosts marked in a message, append them to the list, count their out-arcs."""
    listed = lists[0]
    if control[STEPS] & 1:
        listed = lists[1]
    arcs = np.int64(0)
    for first in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        place = first + lane()
        attached, ghost = False, np.int64(0)
        if place < count:
            attached, ghost = marked[place] != 0, np.int64(ghosts[place])
        if attached:
            levels[ghost] = 0
        arcs += add_to_list(attached, ghost, offsets, listed, control)
    arcs = sum_of_lanes(arcs)
    if lane() == 0 and arcs > 0:
        atomic_add(control, AHEAD, arcs)


@inline
def lead(
    place: Any, total: Any, ends: Any, start: Any, row: Any, begin: Any, indices: Any, parents: Any,
    key: Any, numbers: Any,
) -> Any:  # fmt: skip
    """Return an arc's target and source, the arc, its word, and whether that is less than the target's.

    A target that has a better in-neighbour holds a number less than any word of a level, so for most arcs
    no other array is read.
    """
    mine, arc = arc_at(place, ends, start, row, begin, 1)
    target, word = np.int64(0), np.int64(NOBODY)
    if place < total:
        target = np.int64(load_once(indices, arc))
        word = key + np.int64(numbers[mine])
    return target, mine, arc, word, word < load_fresh(parents, target)


@inline
def give(
    target: Any, source: Any, arc: Any, number: Any, less: Any, codes: Any, receivers: Any,
    numbers: Any, edges: Any, state: Any, constants: Any, values: Any, parents: Any,
) -> None:  # fmt: skip
    """Keep the number of a better in-neighbour if it is less, and its arc is tight and leads to a receiver."""
    code = np.uint8(0)
    if less:
        code = np.uint8(code_at(codes, True, target))
    if less and receivers[code] != 0:
        own_state = load_coded(code, state, constants, target)
        before = replace(own_state, initial(constants, target, np.int64(numbers[target]), values))
        sender = load_coded(code_at(codes, True, source), state, constants, source)
        better = is_active(own_state, keep(sender), values) and not same(own_state, before)
        if better and is_tight(sender, own_state, before, edges, arc, values):
            atomic_min(parents, target, number)


@inline
def attach(
    target: Any, source: Any, arc: Any, word: Any, less: Any, sure: Any, levels: Any, numbers: Any,
    edges: Any, state: Any, constants: Any, values: Any, parents: Any, offsets: Any,
) -> Any:  # fmt: skip
    """Keep a word if it is less and its arc is tight; return whether it is the first, and then the out-degree."""
    first, degree = False, np.int64(0)
    tight = less and sure != 0
    waits = False
    if less and not tight:
        waits = levels[target] != 0  # or it is a root
    if waits:
        own_state = load(state, constants, target)
        before = replace(own_state, initial(constants, target, np.int64(numbers[target]), values))
        tight = is_tight(load(state, constants, source), own_state, before, edges, arc, values)
    if tight:
        first = atomic_min(parents, target, word) == NOBODY
    if first:
        degree = offsets[target + 1] - offsets[target]
    return first, degree


@inline
def grow_along(
    share: Any, row: Any, begin: Any, level: Any, key: Any, sure: Any, indices: Any, trees: Any,
    receivers: Any, numbers: Any, reads: Any, listing: Any,
) -> Any:  # fmt: skip
    """Offer the lanes' rows, `share` arcs of each, to their targets; return the out-arcs of those attached.

    `reads` are edges and what the program reads.  `listing` is where
    attached vertices are listed: the next list, the counters, which of them, and the offsets of the out-arcs.
    """
    levels, parents, codes = trees
    following_list, counters, which, offsets = listing
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    ahead = np.int64(0)
    for window in range(np.int32(0), total, np.int32(64)):
        place = np.int32(window + lane())
        target_0, source_0, arc_0, word_0, less_0 = lead(
            place, total, ends, start, row, begin, indices, parents, key, numbers
        )
        target_1, source_1, arc_1, word_1, less_1 = lead(
            np.int32(place + 32), total, ends, start, row, begin, indices, parents, key, numbers
        )
        if level < 0:
            names = codes, receivers, numbers
            give(target_0, source_0, arc_0, word_0, less_0, *names, *reads, parents)
            give(target_1, source_1, arc_1, word_1, less_1, *names, *reads, parents)
        elif any_of(FULL, less_0 or less_1):
            new_0, degree_0 = attach(
                target_0, source_0, arc_0, word_0, less_0, sure, levels, numbers, *reads, parents,
                offsets,
            )  # fmt: skip
            new_1, degree_1 = attach(
                target_1, source_1, arc_1, word_1, less_1, sure, levels, numbers, *reads, parents,
                offsets,
            )  # fmt: skip
            ahead += degree_0 + degree_1
            wanted = np.int32(new_0) + np.int32(new_1)
            slot = reserve(counters, which, np.int32(wanted))
            if new_0:
                following_list[slot] = target_0
            if new_1:
                following_list[slot + np.int32(new_0)] = target_1
    return ahead


@kernel
@bounded(FRONTIER_BLOCK)
def grow_forward(
    vertices: Any, bits: Any, numbers: Any, forward: Any, edges: Any, program: Any, number: Any,
    trees: Any, receivers: Any, sure: Any, queue: Any, lists: Any, most: Any, few: Any, few_arcs: Any,
    control: Any,
) -> None:  # fmt: skip
    """Attach undecided vertices to equals that the last level attached, up to `most` levels.  Cooperative.

    Level -1 comes before all others.  It finds better in-neighbours of receivers among the vertices listed
    for it, and attaches or lists no vertex.

    Parameters
    ----------
    vertices, bits : int
        Number of vertices, and number of bits of a vertex number.
    numbers : int[vertices]
        Vertex number at each position.
    forward : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours.
    edges : tuple of arrays of [arcs]
        The program's edge attributes, in the order of `forward`.
    program, number
        As `predecessors.choose` takes them.
    trees : (int32[vertices], int64[vertices], uint8[vertices])
        Levels: 0 for vertices attached before, and for roots.  Parents: for the others, the level in the high
        bits and the least in-neighbour's number in the low ones; `NOBODY` while undecided.  For level -1:
        codes of states.
    receivers : uint8[256]
        For level -1: which codes are receivers'.
    sure : int
        Not 0 if every arc is tight and leads to an undecided vertex, as in rows of `tight_arcs.py`.
    queue : tuple of (int[n], int32[n])
        Scratch; n is the number of pieces of all rows that are longer than a piece.
    lists : two of int[vertices]
        The vertices that even levels and odd levels have attached.
    most : int
        The most levels.
    few, few_arcs : int
        The most vertices and arcs of a level that a single block handles.
    control : int64[32]
        The number of vertices attached last, their out-arcs, and the levels so far; see `layout`.
    """
    offsets, indices = forward
    state, constants, parameters, sums = program
    values = with_sums(parameters, sums, vertices, number)
    local = shared(32, np.int64)
    leads = block() == 0 and thread() == 0
    count, work = control[COUNT], control[AHEAD]
    level, last = control[STEPS], control[STEPS] + most
    begun = level
    alone, asleep = False, False
    turn, beat = np.int32(0), np.int32(0)
    while True:
        over = count == 0 or level == last
        small = count <= few and work <= few_arcs
        if asleep or (alone and (over or not small)):
            if alone and leads:
                control[WOKEN] = count
                control[WOKEN + 1] = work
                control[WOKEN + 2] = level
            sync_grid()
            if asleep:
                count, work, level = control[WOKEN], control[WOKEN + 1], control[WOKEN + 2]
                over = count == 0 or level == last
                small = False
            alone, asleep = False, False
        if over:
            break
        if small and not alone:
            if block() != 0:
                asleep = True
                continue
            alone = True
            beat = np.int32(0)
            clear_local(local)
        counters, at = counters_of(alone, control, turn, local, beat)
        warp, warps = warps_of(alone)
        listed, next_listed = lists[0], lists[1]
        if level & 1:
            listed, next_listed = lists[1], lists[0]
        key = (level + 1) << bits
        if leads:
            clear_following(counters, at)
        rows = rows_of_warp(count, warps)
        size, ahead = np.int64(0), np.int64(0)
        top, pace = np.int32((count + rows - 1) // rows), warps
        for stage in range(2):
            if stage == 1:
                top, pace = np.int32(size), np.int32(32 * warps)
            for base in range(warp, top, pace):
                row, begin, share = take_rows(
                    stage, listed, count, base, rows, offsets, queue, size, warps, counters,
                    QUEUED + at,
                )  # fmt: skip
                ahead += grow_along(
                    share, row, begin, level, key, sure, indices, trees, receivers, numbers,
                    (edges, state, constants, values),
                    (next_listed, counters, LISTED + at, offsets),
                )  # fmt: skip
            ahead = sum_of_lanes(ahead)
            if lane() == 0 and ahead > 0:
                atomic_add(counters, DEGREES + at, ahead)
            ahead = np.int64(0)
            sync_workers(alone)
            size = counters[QUEUED + at]
            if size == 0:
                break
        count, work = counters[LISTED + at], counters[DEGREES + at]
        turn, beat = advance(alone, turn, beat)
        level += 1
    if leads and level > begun:  # otherwise others may still read what no block has changed
        control[COUNT] = count
        control[AHEAD] = work
        control[STEPS] = level


@kernel
def mark_levels(vertices: Any, bits: Any, levels: Any, parents: Any) -> None:
    """Unpack the words: the level and the predecessor's number of each vertex that was found."""
    for vertex in range(block() * threads() + thread(), vertices, blocks() * threads()):
        word = parents[vertex]
        if levels[vertex] == WAITING and word < NOBODY:
            levels[vertex] = word >> bits
            parents[vertex] = word & ((np.int64(1) << bits) - 1)
