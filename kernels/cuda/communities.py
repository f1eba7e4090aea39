"""Choices among the labels of a vertex's neighbours: the heaviest, or the one of the greatest gain.

The weights of a row are added up by label in a hash table.  A thread takes a row of a few arcs and
compares all pairs of them, without a table; a warp takes a row whose table fits its share of the
block's shared memory, a block one that fits all of it.  Longer ones have tables in global memory: one
of the first blocks fills it, or, in a sweep over classes, where a class waits for its longest row, all
blocks do.  Sums are of integers, so they do not depend on the order of lanes.

`order` lists rows by class and, within a class, by kind; `bounds` has the ends of those ranges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.components import link
from cugraph_ws.kernels.cuda.mixing import mixed
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_compare_and_swap,
    atomic_max,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    load_fresh,
    match,
    popc,
    product,
    shared,
    shuffle,
    shuffle_xor,
    store_fresh,
    sync_block,
    sync_grid,
    sync_warp,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import long_scan, sum_of_lanes

__all__ = [
    "choose_labels",
    "count_groups",
    "hash_classes",
    "join_within",
    "list_groups",
    "measure_far",
    "move_classes",
    "sum_inside",
    "sum_moves",
    "sum_squares",
]

FREE = -1  # a slot without a label
TABLE = 2048  # slots in a block's shared memory
SHARE = 256  # of them a warp's
WARPS = 8  # of a block at most
TURNS = 2  # in which lanes with one label add their weights together
SHARED_TURNS = 1  # such turns for tables in shared memory
KINDS = 4  # of rows: by a thread, a warp, a block, and one of the first blocks
GROUPS = 1024  # of vertices at most: 256 classes of 4 kinds
WHOLE = 2.0**52  # from here on a float64 has no fraction


# ------------------------------------------------------------------------------- tables of labels


@inline
def slots_for(length: Any) -> Any:
    """Return the slots of a table for a row: a power of two."""
    size = np.int64(32)
    while size < 2 * length:
        size *= 2
    return size


@inline
def first_slot(label: Any, mask: Any) -> Any:
    """Return where the search for a label begins."""
    return (label * 5 + (label >> 12)) & mask


@inline
def read_slot(array: Any, slot: Any, far: Any) -> Any:
    """Return an entry of a table; `far` ones are in global memory, where others' stores may be newer."""
    entry = np.int64(0)
    if far:
        entry = load_fresh(array, slot)
    else:
        entry = array[slot]
    return entry


@inline
def clear(table: Any, base: Any, size: Any, start: Any, step: Any, far: Any) -> None:
    """Free the slots of a table; threads take every `step`-th."""
    keys, sums = table
    for slot in range(start, size, step):
        if far:
            store_fresh(keys, base + slot, np.int64(FREE))
            store_fresh(sums, base + slot, np.int64(0))
        else:
            keys[base + slot] = np.int64(FREE)
            sums[base + slot] = np.int64(0)


@inline
def add_weight(table: Any, base: Any, mask: Any, label: Any, weight: Any, far: Any) -> None:
    """Add a weight to a label's sum."""
    keys, sums = table
    slot = first_slot(label, mask)
    slot_label = np.int64(FREE - 1)
    while slot_label != label:
        slot_label = np.int64(FREE)
        if far:  # most labels are there already: a load finds them sooner than an atomic operation
            slot_label = np.int64(load_fresh(keys, base + slot))
        if slot_label == FREE:
            slot_label = np.int64(atomic_compare_and_swap(keys, base + slot, np.int64(FREE), label))
        if slot_label == FREE:
            slot_label = label
        if slot_label == label:
            atomic_add(sums, base + slot, weight)
        slot = (slot + 1) & mask


@inline
def weight_of(table: Any, base: Any, mask: Any, label: Any, far: Any) -> Any:
    """Return the sum of a label, 0 if it is not there."""
    keys, sums = table
    slot = first_slot(label, mask)
    slot_label, total = read_slot(keys, base + slot, far), np.int64(0)
    while slot_label != label and slot_label != FREE:
        slot = (slot + 1) & mask
        slot_label = read_slot(keys, base + slot, far)
    if slot_label == label:
        total = read_slot(sums, base + slot, far)
    return total


# --------------------------------------------------------------------------------- the best of all


@inline
def better(score: Any, label: Any, most: Any, best: Any) -> Any:
    """Return whether a label is better than the best so far: of equal ones the least is."""
    return score > most or (score == most and label < best)


@inline
def best_of_lanes(most: Any, best: Any) -> Any:
    """Return the best score and label of a warp's lanes, in all of them."""
    bits = np.int32(16)
    while bits > 0:
        score, label = shuffle_xor(FULL, most, bits), shuffle_xor(FULL, best, bits)
        if better(score, label, most, best):
            most, best = score, label
        bits = np.int32(bits >> 1)
    return most, best


@inline
def best_of_block(most: Any, best: Any, scores: Any, labels: Any) -> Any:
    """Return the best label of a block's threads, in its first warp."""
    most, best = best_of_lanes(most, best)
    warp, warps = thread() // 32, threads() // 32
    if lane() == 0:
        scores[warp] = most
        labels[warp] = best
    sync_block()
    if warp == 0:
        for peer_warp in range(warps):
            if better(scores[peer_warp], labels[peer_warp], most, best):
                most, best = scores[peer_warp], labels[peer_warp]
    return best


# ------------------------------------------------------------------------------- moves by gain


@inline
def gain_of(weight: Any, rate: Any, total: Any) -> Any:
    """Return a weight minus what is expected, each operation rounded, as on the CPU."""
    return np.float64(weight) - product(rate, np.float64(total))


@inline
def begin_move(vertex: Any, inside: Any, degrees: Any, communities: Any, factor: Any) -> Any:
    """Return a vertex's rate, and the gain of its own community."""
    labels, totals, _ = communities
    degree = degrees[vertex]
    rate = product(np.float64(degree), factor)
    return rate, gain_of(inside, rate, totals[labels[vertex]] - degree)


@inline
def is_barred(label: Any, own: Any, marks: Any, strict: Any) -> Any:
    """Return whether a vertex must not move there: both are alone, and the other is to move."""
    return marks[label] == 1 and (strict or label > own) and marks[own] == 1


@inline
def weigh(
    label: Any, weight: Any, own: Any, rate: Any, most: Any, best: Any, communities: Any, strict: Any
) -> Any:  # fmt: skip
    """Return the greatest gain and its label, of the best so far and another one."""
    _, totals, marks = communities
    if label != FREE and label != own and not is_barred(label, own, marks, strict):
        gain = gain_of(weight, rate, totals[label])
        if gain > most or (gain == most and best != own and label < best):
            most, best = gain, label
    return most, best


@inline
def scan_gains(
    table: Any, base: Any, size: Any, start: Any, step: Any, own: Any, rate: Any, most: Any,
    communities: Any, strict: Any,
) -> Any:  # fmt: skip
    """Return the greatest gain in a thread's slots, and its label; those of its own if none is greater."""
    keys, sums = table
    best = own
    for slot in range(start, size, step):
        most, best = weigh(
            keys[base + slot], sums[base + slot], own, rate, most, best, communities, strict
        )  # fmt: skip
    return most, best


@inline
def far_slot(table: Any, slot: Any, end: Any) -> Any:
    """Return the label and the sum of a slot in global memory, without a label from `end` on."""
    keys, sums = table
    label, total = np.int64(FREE), np.int64(0)
    if slot < end:
        label, total = load_fresh(keys, slot), load_fresh(sums, slot)
    return label, total


@inline
def scan_far_gains(
    table: Any, first: Any, end: Any, own: Any, rate: Any, most: Any, communities: Any, strict: Any
) -> Any:  # fmt: skip
    """Return the same for slots in global memory, by a warp: each lane waits for four at once."""
    best = own
    for slot in range(first + lane(), end, 128):
        label_0, weight_0 = far_slot(table, slot, end)
        label_1, weight_1 = far_slot(table, slot + 32, end)
        label_2, weight_2 = far_slot(table, slot + 64, end)
        label_3, weight_3 = far_slot(table, slot + 96, end)
        most, best = weigh(label_0, weight_0, own, rate, most, best, communities, strict)
        most, best = weigh(label_1, weight_1, own, rate, most, best, communities, strict)
        most, best = weigh(label_2, weight_2, own, rate, most, best, communities, strict)
        most, best = weigh(label_3, weight_3, own, rate, most, best, communities, strict)
    return most, best


@inline
def move_by_thread(
    rows: Any, degrees: Any, communities: Any, factor: Any, strict: Any, vertex: Any
) -> Any:
    """Return the best community of a vertex with a few neighbours."""
    offsets, indices, weights = rows
    labels, totals, marks = communities
    first, last, own_label = offsets[vertex], offsets[vertex + 1], labels[vertex]
    inside = np.int64(0)
    for arc in range(first, last):
        if labels[indices[arc]] == own_label:
            inside += weights[arc]
    rate, most = begin_move(vertex, inside, degrees, communities, factor)
    best = own_label
    for arc in range(first, last):
        label = labels[indices[arc]]
        if label != own_label and label != best and not is_barred(label, own_label, marks, strict):
            total = np.int64(0)
            for other_arc in range(first, last):
                if labels[indices[other_arc]] == label:
                    total += weights[other_arc]
            gain = gain_of(total, rate, totals[label])
            if gain > most or (gain == most and best != own_label and label < best):
                most, best = gain, label
    return best


@inline
def add_row(
    rows: Any, labels: Any, row: Any, table: Any, base: Any, mask: Any, start: Any, step: Any,
    weighted: Any, far: Any,
) -> None:  # fmt: skip
    """Add a row's weights to their labels' sums; each counts as 1 if they are not `weighted`.

    All lanes of a warp take part, whose `start`s are neighbours.
    """
    offsets, indices, weights = rows
    end = np.int64(offsets[row + 1])
    first = np.int64(offsets[row]) + start - lane()
    while first < end:
        label, weight = np.int64(FREE), np.int64(1)
        waits = first + lane() < end
        if waits:
            label = np.int64(labels[indices[first + lane()]])
            if weighted:
                weight = np.int64(weights[first + lane()])
        if weighted:
            add_in_turns(table, base, mask, label, weight, waits, SHARED_TURNS, far)
        else:
            same = match(FULL, label)
            if waits and np.int32(ffs(same) - 1) == lane():
                add_weight(table, base, mask, label, np.int64(popc(same)), far)
        first += step


@inline
def add_in_turns(
    table: Any, base: Any, mask: Any, label: Any, weight: Any, waits: Any, turns: Any, far: Any
) -> None:
    """Add weights to sums, by all lanes: in each turn, those with the first one's table and label add once."""
    turn = np.int32(0)
    while turn < turns and any_of(FULL, waits):
        leader = np.int32(ffs(ballot(FULL, waits)) - 1)
        its_base, its_label = shuffle(FULL, base, leader), shuffle(FULL, label, leader)
        same = waits and base == its_base and label == its_label
        total = sum_of_lanes(weight if same else np.int64(0))
        if lane() == leader:
            add_weight(table, base, mask, label, total, far)
        waits = waits and not same
        turn = np.int32(turn + 1)
    if waits:
        add_weight(table, base, mask, label, weight, far)


@inline
def choose_moves(
    rows: Any, weighted: Any, degrees: Any, communities: Any, factor: Any, strict: Any, order: Any,
    bounds: Any, kinds: Any, chosen: Any, table: Any, scores: Any, warp_labels: Any,
) -> None:  # fmt: skip
    """Choose communities for the vertices of a class; `FREE` for those that may not move.

    `kinds` is the class's first entry of `bounds`.  Rows that are too long for shared memory are left out.
    """
    offsets, _, _ = rows
    labels, _, marks = communities
    place_of, everyone = block() * threads() + thread(), blocks() * threads()
    for place in range(bounds[kinds] + place_of, bounds[kinds + 1], everyone):
        vertex = order[place]
        best = np.int64(FREE)
        if not strict or marks[labels[vertex]] == 1:
            best = move_by_thread(rows, degrees, communities, factor, strict, vertex)
        chosen[place] = best
    base = np.int64(thread() // 32 * SHARE)
    for place in range(bounds[kinds + 1] + place_of // 32, bounds[kinds + 2], everyone // 32):
        vertex = order[place]
        own_label = labels[vertex]
        best = np.int64(FREE)
        if not strict or marks[own_label] == 1:
            size = slots_for(offsets[vertex + 1] - offsets[vertex])
            clear(table, base, size, lane(), 32, False)
            sync_warp(FULL)
            add_row(rows, labels, vertex, table, base, size - 1, lane(), 32, weighted, False)
            sync_warp(FULL)
            inside = weight_of(table, base, size - 1, own_label, False)
            rate, most = begin_move(vertex, inside, degrees, communities, factor)
            most, best = scan_gains(
                table, base, size, lane(), 32, own_label, rate, most, communities, strict
            )
            most, best = best_of_lanes(most, best)
            sync_warp(FULL)
        if lane() == 0:
            chosen[place] = best
    sync_block()
    for place in range(bounds[kinds + 2] + block(), bounds[kinds + 3], blocks()):
        vertex = order[place]
        own_label = labels[vertex]
        best = np.int64(FREE)
        if not strict or marks[own_label] == 1:
            size = slots_for(offsets[vertex + 1] - offsets[vertex])
            clear(table, 0, size, thread(), threads(), False)
            sync_block()
            add_row(
                rows, labels, vertex, table, 0, size - 1, thread(), threads(), weighted, False
            )  # fmt: skip
            sync_block()
            inside = weight_of(table, 0, size - 1, own_label, False)
            rate, most = begin_move(vertex, inside, degrees, communities, factor)
            most, best = scan_gains(
                table, 0, size, thread(), threads(), own_label, rate, most, communities, strict
            )
            best = best_of_block(most, best, scores, warp_labels)
            sync_block()
        if thread() == 0:
            chosen[place] = best


# ------------------------------------------- rows too long for shared memory, by the whole grid


@inline
def row_at(starts: Any, first: Any, last: Any, which: Any, place: Any) -> Any:
    """Return which of a class's rows from `first` to `last` has a place; `starts` is of `measure_far`."""
    low, high = first, last - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if starts[middle + which] <= place:
            low = middle
        else:
            high = middle - 1
    return low


@inline
def clear_far(bounds: Any, far: Any, which: Any, tables: Any) -> None:
    """Free the tables of a class's long rows."""
    _, slots = far
    keys, sums = tables
    first, last = bounds[KINDS * (which + 1) - 1], bounds[KINDS * (which + 1)]
    if first < last:
        for slot in range(
            block() * threads() + thread(), slots[last + which], blocks() * threads()
        ):
            store_fresh(keys, slot, np.int64(FREE))
            store_fresh(sums, slot, np.int64(0))


@inline
def fill_far(
    rows: Any, weighted: Any, labels: Any, order: Any, bounds: Any, far: Any, which: Any, tables: Any,
) -> None:  # fmt: skip
    """Add the weights of a class's long rows to their labels' sums, each arc by a thread."""
    offsets, indices, weights = rows
    arcs, slots = far
    first, last = bounds[KINDS * (which + 1) - 1], bounds[KINDS * (which + 1)]
    end = np.int64(0)
    if first < last:
        end = arcs[last + which]
    base = block() * threads() + thread() - lane()
    while base < end:
        row, label, weight = np.int64(FREE), np.int64(FREE), np.int64(1)
        table, mask = np.int64(0), np.int64(0)
        waits = base + lane() < end
        if waits:
            row = np.int64(row_at(arcs, first, last, which, base + lane()))
            table = slots[row + which]
            mask = slots[row + which + 1] - table - 1
            arc = offsets[order[row]] + base + lane() - arcs[row + which]
            label = np.int64(labels[indices[arc]])
            if weighted:
                weight = np.int64(weights[arc])
        # Many neighbours of a hub have one label.
        if weighted:
            add_in_turns(tables, table, mask, label, weight, waits, TURNS, True)
        else:
            same = match(FULL, (row << 32) | label)  # fewer than 2^32 vertices
            if waits and np.int32(ffs(same) - 1) == lane():
                add_weight(tables, table, mask, label, np.int64(popc(same)), True)
        base += blocks() * threads()


@inline
def scan_far(
    degrees: Any, communities: Any, factor: Any, strict: Any, order: Any, bounds: Any, far: Any,
    which: Any, tables: Any, chunks: Any,
) -> None:  # fmt: skip
    """Find the best label in each chunk of the tables of long rows, each chunk by a warp."""
    labels, _, marks = communities
    _, slots = far
    scores, chunk_labels, size = chunks
    first, last = bounds[KINDS * (which + 1) - 1], bounds[KINDS * (which + 1)]
    warp, warps = (block() * threads() + thread()) // 32, blocks() * threads() // 32
    for chunk in range(warp, slots[last + which] // size, warps):
        row = row_at(slots, first, last, which, chunk * size)
        vertex, base = order[row], slots[row + which]
        own_label = labels[vertex]
        if not strict or marks[own_label] == 1:
            mask = slots[row + which + 1] - base - 1
            inside = weight_of(tables, base, mask, own_label, True)
            rate, most = begin_move(vertex, inside, degrees, communities, factor)
            begin = chunk * size
            most, best = scan_far_gains(
                tables, begin, begin + size, own_label, rate, most, communities, strict
            )  # fmt: skip
            most, best = best_of_lanes(most, best)
            if lane() == 0:
                scores[chunk] = most
                chunk_labels[chunk] = best


@inline
def best_of_chunks(far: Any, which: Any, row: Any, chunks: Any) -> Any:
    """Return the best label of a long row, by all lanes of a warp."""
    _, slots = far
    scores, chunk_labels, size = chunks
    low, high = slots[row + which] // size, slots[row + which + 1] // size
    most, best = scores[low], chunk_labels[low]
    for chunk in range(low + lane(), high, 32):
        if better(scores[chunk], chunk_labels[chunk], most, best):
            most, best = scores[chunk], chunk_labels[chunk]
    most, best = best_of_lanes(most, best)
    return best


@inline
def apply_move(
    vertex: Any, label: Any, degrees: Any, communities: Any, marks: Any, strict: Any
) -> Any:
    """Move a vertex, unless it stays or may not move; return 1 if it has moved."""
    labels, totals, sizes = communities
    old = labels[vertex]
    if strict and label != FREE:  # it is alone, so nobody else clears its mark
        marks[old] = 0
    moves = np.int64(0)
    if label != old and label != FREE:
        labels[vertex] = label
        degree = degrees[vertex]
        atomic_add(totals, old, -degree)
        atomic_add(totals, label, degree)
        atomic_add(sizes, old, np.int64(-1))
        atomic_add(sizes, label, np.int64(1))
        moves = np.int64(1)
    return moves


@kernel
def move_classes(
    rows: Any, weighted: Any, degrees: Any, communities: Any, singles: Any, factor: Any, strict: Any,
    classes: Any, order: Any, bounds: Any, chosen: Any, far: Any, tables: Any, chunks: Any, moved: Any,
) -> None:  # fmt: skip
    """Let the classes of vertices move, one after the other; the vertices of a class at once.

    See `kernels/cpu/louvain.py`.  A cooperative launch.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int64[arcs], int64[arcs])
        Neighbours without self-loops, and weights.
    weighted : bool
        Whether weights are read; else each is 1.
    degrees : int64[n]
    communities : tuple of (int64[n], int64[n], int64[n])
        Labels by vertex; by label the sum of degrees, and the number of vertices.  Updated.
    singles : tuple of (int64[n], int64[n])
        If strict, by label: 1 for vertices that may move in this class and are alone, room that is
        cleared at the end; by vertex, whether it may ever move.  Else the sizes, and anything.
    factor : float
    strict : bool
        Whether only vertices that are alone move, and none to another that may.
    classes : int
    order : int64[listed]
    bounds : int64[4 * classes + 1]
    chosen : int64[listed]
        Room.
    far : tuple of (int64[listed + classes], int64[listed + classes])
        What `measure_far` wrote; not read if no vertex is of the last kind.
    tables : tuple of (int64[slots], int64[slots])
        Room for the tables of a class, which are cleared while the class before moves.
    chunks : tuple of (float64[chunks], int64[chunks], int)
        Room for what is best in each so many slots, which divide every table.
    moved : int64[1]
        Added to: moves.
    """
    table = shared(TABLE, np.int64), shared(TABLE, np.int64)
    scores, warp_labels = shared(WARPS, np.float64), shared(WARPS, np.int64)
    labels, totals, sizes = communities
    marks, may = singles
    marked = (labels, totals, marks)
    place_of, everyone = block() * threads() + thread(), blocks() * threads()
    clear_far(bounds, far, 0, tables)
    sync_grid()
    for which in range(classes):
        first, last = bounds[KINDS * which], bounds[KINDS * (which + 1)]
        far_first = bounds[KINDS * (which + 1) - 1]
        if strict:
            for place in range(first + place_of, last, everyone):
                mark_single(order[place], labels, sizes, may, marks)
            sync_grid()
        fill_far(rows, weighted, labels, order, bounds, far, which, tables)
        choose_moves(
            rows, weighted, degrees, marked, factor, strict, order, bounds, KINDS * which, chosen,
            table, scores, warp_labels,
        )  # fmt: skip
        sync_grid()
        if far_first < last:
            scan_far(degrees, marked, factor, strict, order, bounds, far, which, tables, chunks)
            sync_grid()
        moves = np.int64(0)
        for place in range(far_first + place_of // 32, last, everyone // 32):
            vertex = order[place]
            label = np.int64(FREE)
            if not strict or marks[labels[vertex]] == 1:
                label = best_of_chunks(far, which, place, chunks)
            sync_warp(FULL)
            if lane() == 0:
                moves += apply_move(vertex, label, degrees, communities, marks, strict)
        for place in range(first + place_of, far_first, everyone):
            moves += apply_move(order[place], chosen[place], degrees, communities, marks, strict)
        moves = sum_of_lanes(moves)
        if lane() == 0 and moves > 0:
            atomic_add(moved, 0, moves)
        if which + 1 < classes:
            clear_far(bounds, far, which + 1, tables)
        sync_grid()


@kernel
def measure_far(offsets: Any, order: Any, bounds: Any, arcs: Any, slots: Any, most: Any) -> None:
    """Add up the arcs and the slots of the rows that are too long for shared memory.

    Parameters
    ----------
    offsets : int64[n + 1]
    order : int64[listed]
    bounds : int64[4 * classes + 1]
        As for `move_classes`; a block for each class.
    arcs, slots : int64[listed + classes]
        Written: where the arcs, and the table, of the row at `place` of class `which` begin, at
        `place` + `which`; after the last one, where they end.  They begin at 0 in each class.
    most : int64[1]
        Increased to the slots of a class.
    """
    warp_arcs, warp_slots = shared(WARPS, np.int64), shared(WARPS, np.int64)
    which, warp, warps = block(), thread() // 32, threads() // 32
    first, last = bounds[KINDS * (which + 1) - 1], bounds[KINDS * (which + 1)]
    before_arcs, before_slots = np.int64(0), np.int64(0)
    for base in range(first, last, threads()):
        place = base + thread()
        length, size = np.int64(0), np.int64(0)
        if place < last:
            vertex = order[place]
            length = offsets[vertex + 1] - offsets[vertex]
            size = slots_for(length)
        end_arcs, end_slots = long_scan(length), long_scan(size)
        if lane() == 31:
            warp_arcs[warp] = end_arcs
            warp_slots[warp] = end_slots
        sync_block()
        for peer_warp in range(warps):
            if peer_warp < warp:
                end_arcs += warp_arcs[peer_warp]
                end_slots += warp_slots[peer_warp]
        if place < last:
            arcs[place + which] = before_arcs + end_arcs - length
            slots[place + which] = before_slots + end_slots - size
        for peer_warp in range(warps):
            before_arcs += warp_arcs[peer_warp]
            before_slots += warp_slots[peer_warp]
        sync_block()
    if thread() == 0 and first < last:
        arcs[last + which] = before_arcs
        slots[last + which] = before_slots
        atomic_max(most, 0, before_slots)


@inline
def mark_single(vertex: Any, labels: Any, sizes: Any, may: Any, marks: Any) -> None:
    """Mark a vertex that may move and is alone, by its label."""
    label = labels[vertex]
    if may[vertex] != 0 and sizes[label] == 1:
        marks[label] = 1


@kernel
def sum_inside(rows: Any, sources: Any, arcs: Any, labels: Any, sums: Any) -> None:
    """Add up the weights of arcs whose ends have the same label.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int64[arcs], int64[arcs])
    sources : int64[arcs]
    arcs : int
    labels : int64[n]
    sums : int64[1]
        Added to.
    """
    _, indices, weights = rows
    total = np.int64(0)
    for arc in range(block() * threads() + thread(), arcs, blocks() * threads()):
        if labels[sources[arc]] == labels[indices[arc]]:
            total += weights[arc]
    total = sum_of_lanes(total)
    if lane() == 0:
        atomic_add(sums, 0, total)


@kernel
def sum_moves(
    rows: Any, sources: Any, arcs: Any, before: Any, after: Any, stirred: Any, change: Any
) -> None:
    """Add up what moves change; see `kernels/cpu/louvain.py`.  Each arc is a thread's.

    Parameters
    ----------
    rows : tuple of (int64[n + 1], int64[arcs], int64[arcs])
    sources : int64[arcs]
    arcs : int
    before, after : int64[n]
        Communities.
    stirred : int64[n]
        Added to: weights, 1 at least, to neighbours that moved and are in another community.
    change : int64[1]
        Added to: what moves add to the weights within communities.
    """
    _, indices, weights = rows
    total = np.int64(0)
    for arc in range(block() * threads() + thread(), arcs, blocks() * threads()):
        vertex = sources[arc]
        old, new = before[vertex], after[vertex]
        if old != new:
            neighbour, weight, gained = indices[arc], weights[arc], np.int64(0)
            its_old, its_new = before[neighbour], after[neighbour]
            if its_new == new:
                gained = weight
            else:
                atomic_add(stirred, neighbour, max(weight, np.int64(1)))
            if its_old == old:
                gained -= weight
            if its_old == its_new:
                gained *= 2
            total += gained
    total = sum_of_lanes(total)
    if lane() == 0 and total != 0:
        atomic_add(change, 0, total)


@inline
def rounded(value: Any) -> Any:
    """Return a number that is not negative rounded to a whole one, halves to the even one."""
    nearest = value
    if value < WHOLE:
        nearest = (value + WHOLE) - WHOLE
    return nearest


@kernel
def sum_squares(totals: Any, count: Any, twice: Any, unit: Any, sums: Any) -> None:
    """Add up the squares of communities' shares, in multiples of 1 / `unit`.

    Parameters
    ----------
    totals : int64[count]
        By community: the sum of degrees.
    count : int
    twice : float
        The sum of all degrees.
    unit : float
    sums : int64[1]
        Added to.
    """
    total = np.int64(0)
    for label in range(block() * threads() + thread(), count, blocks() * threads()):
        share = np.float64(totals[label]) / twice
        total += np.int64(rounded(product(product(share, share), unit)))
    total = sum_of_lanes(total)
    if lane() == 0 and total != 0:
        atomic_add(sums, 0, total)


@kernel
def join_within(
    sources: Any, indices: Any, weights: Any, arcs: Any, labels: Any, parent: Any
) -> None:
    """Join the ends of arcs of positive weight within communities, as `kernels.cuda.components` does.

    Parameters
    ----------
    sources, indices, weights : int64[arcs]
        Both ways: only an arc from the lesser end is read.
    arcs : int
    labels : int64[n]
    parent : int64[n]
        The forest; every vertex its own parent at first.
    """
    for arc in range(block() * threads() + thread(), arcs, blocks() * threads()):
        vertex, neighbour = sources[arc], indices[arc]
        if vertex < neighbour and weights[arc] > 0 and labels[vertex] == labels[neighbour]:
            link(parent, vertex, neighbour)


# ------------------------------------------------------------------- vertices by class and kind


@kernel
def hash_classes(
    length: Any, salt: Any, most: Any, everyone: Any, stirred: Any, enough: Any, classes: Any
) -> None:
    """Write the class of each vertex, by a hash; `most` for those that are not listed.

    Parameters
    ----------
    length : int
        Vertices.
    salt : int
    most : int
        Number of classes.
    everyone : bool
        Whether all vertices are listed; else those that are stirred enough.
    stirred, enough : int64[length]
        Listed vertices are calmed.
    classes : uint16[length]
    """
    for vertex in range(block() * threads() + thread(), length, blocks() * threads()):
        which = np.int64(most)
        if everyone or stirred[vertex] >= enough[vertex]:
            stirred[vertex] = 0
            word = mixed(np.int64(vertex) + salt)
            which = ((word >> 1) & 0x7FFFFFFFFFFFFFFF) % most
        classes[vertex] = which


@inline
def group_of(vertex: Any, classes: Any, kinds: Any) -> Any:
    """Return the group of a vertex, past the last one if it is not listed."""
    return np.int64(classes[vertex]) * KINDS + kinds[vertex]


@inline
def count_listed(classes: Any, length: Any, kinds: Any, groups: Any, counts: Any) -> None:
    """Count the block's listed vertices by group, in shared memory."""
    for group in range(thread(), groups, threads()):
        counts[group] = 0
    sync_block()
    for vertex in range(block() * threads() + thread(), length, blocks() * threads()):
        group = group_of(vertex, classes, kinds)
        if group < groups:
            atomic_add(counts, group, np.int64(1))
    sync_block()


@kernel
def count_groups(classes: Any, length: Any, kinds: Any, groups: Any, sizes: Any) -> None:
    """Count listed vertices by group: their class, then the kind of their row.

    Parameters
    ----------
    classes : uint16[length]
        At least `groups` / `KINDS` for vertices that are not listed.
    length : int
        Vertices.
    kinds : int64[length]
    groups : int
        At most `GROUPS`.
    sizes : int64[groups]
        Added to.
    """
    counts = shared(GROUPS, np.int64)
    count_listed(classes, length, kinds, groups, counts)
    for group in range(thread(), groups, threads()):
        if counts[group] > 0:
            atomic_add(sizes, group, counts[group])


@kernel
def list_groups(
    classes: Any, length: Any, kinds: Any, groups: Any, starts: Any, order: Any
) -> None:
    """List vertices by group, in any order within one.  Launched as `count_groups`.

    Parameters
    ----------
    classes, length, kinds, groups
        See `count_groups`.
    starts : int64[groups]
        Where each group begins; increased by its size.
    order : int64[length]
        Written.
    """
    counts = shared(GROUPS, np.int64)
    count_listed(classes, length, kinds, groups, counts)
    for group in range(thread(), groups, threads()):
        if counts[group] > 0:
            counts[group] = atomic_add(starts, group, counts[group])
    sync_block()
    for vertex in range(block() * threads() + thread(), length, blocks() * threads()):
        group = group_of(vertex, classes, kinds)
        if group < groups:
            order[atomic_add(counts, group, np.int64(1))] = vertex


# ------------------------------------------------------------------------------ the heaviest label


@inline
def scan_sums(table: Any, base: Any, size: Any, start: Any, step: Any, own: Any, far: Any) -> Any:
    """Return the greatest sum in a thread's slots, and its label; −1 and its own if there is none."""
    keys, sums = table
    most, best = np.int64(-1), own
    for slot in range(start, size, step):
        label = read_slot(keys, base + slot, far)
        if label != FREE:
            total = read_slot(sums, base + slot, far)
            if better(total, label, most, best):
                most, best = total, label
    return most, best


@inline
def length_of(rows: Any, more: Any, row: Any, both: Any) -> Any:
    """Return the number of neighbours of a vertex in both parts."""
    length = np.int64(rows[0][row + 1]) - rows[0][row]
    if both:
        length += np.int64(more[0][row + 1]) - more[0][row]
    return length


@inline
def heaviest_by_thread(
    rows: Any, more: Any, row: Any, labels: Any, both: Any, weighted: Any
) -> Any:
    """Return the heaviest label of a few neighbours."""
    best, most = np.int64(labels[row]), np.int64(-1)
    length = length_of(rows, more, row, both)
    for place in range(length):
        label, _ = neighbour(rows, more, row, place, labels, weighted)
        total = np.int64(0)
        for other_place in range(length):
            same, weight = neighbour(rows, more, row, other_place, labels, weighted)
            if same == label:
                total += weight
        if better(total, label, most, best):
            most, best = total, label
    return best


@inline
def neighbour(rows: Any, more: Any, row: Any, place: Any, labels: Any, weighted: Any) -> Any:
    """Return the label and the weight of a neighbour, by its place in both parts."""
    first = np.int64(rows[0][row])
    length = np.int64(rows[0][row + 1]) - first
    label, weight = np.int64(0), np.int64(1)
    if place < length:
        label = np.int64(labels[rows[1][first + place]])
        if weighted:
            weight = np.int64(rows[2][first + place])
    else:
        arc = np.int64(more[0][row]) + place - length
        label = np.int64(labels[more[1][arc]])
        if weighted:
            weight = np.int64(more[2][arc])
    return label, weight


@inline
def heaviest_by_block(
    rows: Any, more: Any, row: Any, labels: Any, chosen: Any, table: Any, base: Any, both: Any,
    weighted: Any, far: Any, scores: Any, warp_labels: Any,
) -> None:  # fmt: skip
    """Choose the label of a row, all threads of the block together."""
    size = slots_for(length_of(rows, more, row, both))
    clear(table, base, size, thread(), threads(), far)
    sync_block()
    add_row(rows, labels, row, table, base, size - 1, thread(), threads(), weighted, far)
    if both:
        add_row(more, labels, row, table, base, size - 1, thread(), threads(), weighted, far)
    sync_block()
    own_label = np.int64(labels[row])
    most, best = scan_sums(table, base, size, thread(), threads(), own_label, far)
    best = best_of_block(most, best, scores, warp_labels)
    sync_block()
    if thread() == 0:
        chosen[row] = best


@kernel
def choose_labels(
    rows: Any, more: Any, both: Any, weighted: Any, labels: Any, order: Any, bounds: Any,
    chosen: Any, far_table: Any, room: Any, tables: Any,
) -> None:  # fmt: skip
    """Choose for each row the heaviest label of its neighbours, the least of several.

    Parameters
    ----------
    rows, more : tuple of (int64[n + 1], int[arcs], int64[arcs])
        Rows of neighbours in two parts, and weights.
    both, weighted : bool
        Whether there are a second part, and weights; else neighbours count as 1.
    labels : int[size]
    order : int64[n]
    bounds : int64[5]
    chosen : int[n]
        Written; a vertex without neighbours keeps its label.
    far_table, room, tables
        As for `move_classes`.
    """
    table = shared(TABLE, np.int64), shared(TABLE, np.int64)
    scores, warp_labels = shared(WARPS, np.int64), shared(WARPS, np.int64)
    place_of, everyone = block() * threads() + thread(), blocks() * threads()
    for place in range(bounds[0] + place_of, bounds[1], everyone):
        row = order[place]
        chosen[row] = heaviest_by_thread(rows, more, row, labels, both, weighted)
    base = np.int64(thread() // 32 * SHARE)
    for place in range(bounds[1] + place_of // 32, bounds[2], everyone // 32):
        row = order[place]
        size = slots_for(length_of(rows, more, row, both))
        clear(table, base, size, lane(), 32, False)
        sync_warp(FULL)
        add_row(rows, labels, row, table, base, size - 1, lane(), 32, weighted, False)
        if both:
            add_row(more, labels, row, table, base, size - 1, lane(), 32, weighted, False)
        sync_warp(FULL)
        most, best = scan_sums(table, base, size, lane(), 32, np.int64(labels[row]), False)
        most, best = best_of_lanes(most, best)
        sync_warp(FULL)
        if lane() == 0:
            chosen[row] = best
    sync_block()
    for place in range(bounds[2] + block(), bounds[3], blocks()):
        heaviest_by_block(
            rows, more, order[place], labels, chosen, table, 0, both, weighted, False, scores, warp_labels
        )  # fmt: skip
    if block() < tables:
        for place in range(bounds[3] + block(), bounds[4], min(tables, blocks())):
            heaviest_by_block(
                rows, more, order[place], labels, chosen, far_table, np.int64(block()) * room, both,
                weighted, True, scores, warp_labels,
            )  # fmt: skip
