"""From a list of edges to rows of neighbours on the GPU: counts, keys for a sort, and what follows.

An edge between two vertices is one arc, or with `both` two: then slot 2e of the arcs is edge e, and
slot 2e + 1 the same edge turned around, which a self-loop does not have.  `columns` are the
edges' destinations and sources just as they came, integers from `low`; the position of an end is
`positions[end - low]`.

The order of the arcs comes from sorting 64-bit keys, part by part: a part is a range of rows.
`cuts` says which: the number of parts, then the first row and first arc of each, and of the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import BY_ARC, BY_SLOT, BY_SOURCE, CURSOR
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    load_fresh,
    load_once,
    match,
    popc,
    shared,
    shuffle_up,
    store_fresh,
    sync_block,
    sync_warp,
    thread,
    threads,
)

__all__ = [
    "count_ends",
    "cut_rows",
    "expand_rows",
    "find_degrees",
    "find_repeats",
    "finish_arcs",
    "gather",
    "key_degrees",
    "key_rows",
    "mark_ways",
    "place_vertices",
    "scatter_arcs",
    "take_low",
]

COUNTS = 32 * 8  # a lane of every warp of `scatter_arcs`; a block has at most 8 warps


@inline
def worker() -> Any:
    """Return the thread's number within the grid."""
    return block() * threads() + thread()


@inline
def workers() -> Any:
    """Return the number of threads of the grid."""
    return blocks() * threads()


@inline
def row_end(columns: Any, both: Any, slot: Any) -> Any:
    """Return the vertex that an arc leads to."""
    if slot & both:
        return np.int64(columns[1][slot >> both])
    return np.int64(columns[0][slot >> both])


@inline
def row_at(offsets: Any, low: Any, high: Any, arc: Any) -> Any:
    """Return the last of the rows `low` … `high` that starts at `arc` or before."""
    while low < high:
        middle = (low + high + 1) // 2
        if offsets[middle] <= arc:
            low = middle
        else:
            high = middle - 1
    return low


# ------------------------------------------------------------------------------------ vertices


@kernel
def count_ends(
    ends: Any, opposite_ends: Any, loops: Any, low: Any, first: Any, last: Any, edges: Any,
    counts: Any,
) -> None:  # fmt: skip
    """Add to `counts` how often each integer from `low` is in `ends`, self-loops only with `loops`.

    Of the counts only `first` … last - 1: as many as the L2 holds.  Equal ends side by side, as in a
    sorted list, are added at once.
    """
    for base in range(worker() // 32 * 32, edges, workers()):
        edge = base + lane()
        vertex = np.int64(-1)
        if edge < edges:
            end = np.int64(load_once(ends, edge))
            if loops or end != load_once(opposite_ends, edge):
                vertex = end - low
                if vertex < first or vertex >= last:
                    vertex = np.int64(-1)
        before = shuffle_up(FULL, vertex, 1)
        head = lane() == 0 or vertex != before
        if any_of(FULL, not head and vertex >= 0):
            heads = ballot(FULL, head)
            if head and vertex >= 0:
                later = np.uint32(np.uint32(heads) >> np.uint32(lane())) >> np.uint32(1)
                run = np.int64(32 - lane())
                if later:
                    run = np.int64(ffs(later))
                atomic_add(counts, vertex, run)
        elif vertex >= 0:
            atomic_add(counts, vertex, 1)


@kernel
def key_degrees(counts: Any, size: Any, top: Any, bits: Any, keys: Any) -> None:
    """Write keys that sort vertices by falling degree, then by number; no degree is above `top`."""
    for vertex in range(worker(), size, workers()):
        keys[vertex] = (top - counts[vertex]) << bits | vertex


@kernel
def place_vertices(
    offsets: Any, size: Any, top: Any, bits: Any, numbers: Any, positions: Any
) -> None:
    """Read sorted keys of `key_degrees` from `offsets[1:]`: number ↔ position, and a row's length.

    The length takes the key's place.
    """
    for position in range(worker(), size, workers()):
        key = offsets[position + 1]
        number = key & ((np.int64(1) << bits) - 1)
        numbers[position] = number
        positions[number] = position
        offsets[position + 1] = top - (key >> bits)
        if position == 0:
            offsets[0] = 0


@kernel
def find_degrees(offsets: Any, size: Any, degrees: Any, count: Any, row_counts: Any) -> None:
    """Count, for each of `degrees`, the rows of at least that length; rows get shorter."""
    for which in range(worker(), count, workers()):
        low = np.int64(0)
        high = np.int64(size)
        while low < high:
            middle = (low + high) // 2
            if offsets[middle + 1] - offsets[middle] >= degrees[which]:
                low = middle + 1
            else:
                high = middle
        row_counts[which] = low


@kernel
def expand_rows(offsets: Any, size: Any, arcs: Any, tile: Any, rows: Any) -> None:
    """Write the row of each arc."""
    units = (arcs + tile - 1) // tile
    for unit in range(worker() // 32, units, workers() // 32):
        first = unit * tile
        last = min(first + tile, arcs)
        low = row_at(offsets, np.int64(0), np.int64(size - 1), first)
        high = row_at(offsets, low, np.int64(size - 1), last - 1)
        for arc in range(first + lane(), last, 32):
            rows[arc] = row_at(offsets, low, high, arc)


# --------------------------------------------------------------------------------------- parts


@kernel
def cut_rows(
    offsets: Any, size: Any, pieces: Any, least: Any, most_rows: Any, most_parts: Any, cuts: Any
) -> None:
    """Cut the rows into parts of at most a share of the arcs, but for rows longer than that.

    One thread, a bisection for each part.  Two neighbouring parts have together more than a share of the
    arcs, or more than `most_rows` rows.
    """
    if worker() == 0:
        arcs = offsets[size]
        share = max((arcs + pieces - 1) // pieces, least)
        parts = np.int64(0)
        row = np.int64(0)
        while row < size and offsets[row] < arcs and parts < most_parts:
            cuts[1 + 2 * parts] = row
            cuts[2 + 2 * parts] = offsets[row]
            parts += 1
            goal = offsets[row] + share
            low = row + 1
            high = max(low, min(np.int64(size), row + most_rows))
            while low < high:
                middle = (low + high + 1) // 2
                if offsets[middle] <= goal:
                    low = middle
                else:
                    high = middle - 1
            row = low
        cuts[0] = parts
        cuts[1 + 2 * parts] = row
        cuts[2 + 2 * parts] = offsets[row]


@inline
def four_rows(
    columns: Any, both: Any, slots: Any, slot: Any, low: Any, positions: Any, translate: Any
) -> Any:
    """Return the rows of the arcs of slots `slot`, slot + 32, + 64 and + 96; -1 where there is none.

    Nothing is read under a condition of its own, so that all loads are on their way together.
    """
    edge_0 = min(slot, slots - 1) >> both
    edge_1 = min(slot + 32, slots - 1) >> both
    edge_2 = min(slot + 64, slots - 1) >> both
    edge_3 = min(slot + 96, slots - 1) >> both
    row_0 = np.int64(load_once(columns[0], edge_0))
    row_1 = np.int64(load_once(columns[0], edge_1))
    row_2 = np.int64(load_once(columns[0], edge_2))
    row_3 = np.int64(load_once(columns[0], edge_3))
    loop_0 = loop_1 = loop_2 = loop_3 = False
    if both and slot & 1:
        opposite_0 = np.int64(load_once(columns[1], edge_0))
        opposite_1 = np.int64(load_once(columns[1], edge_1))
        opposite_2 = np.int64(load_once(columns[1], edge_2))
        opposite_3 = np.int64(load_once(columns[1], edge_3))
        loop_0, loop_1 = row_0 == opposite_0, row_1 == opposite_1
        loop_2, loop_3 = row_2 == opposite_2, row_3 == opposite_3
        row_0, row_1, row_2, row_3 = opposite_0, opposite_1, opposite_2, opposite_3
    if translate:
        row_0 = np.int64(positions[row_0 - low])
        row_1 = np.int64(positions[row_1 - low])
        row_2 = np.int64(positions[row_2 - low])
        row_3 = np.int64(positions[row_3 - low])
    if slot >= slots or loop_0:
        row_0 = np.int64(-1)
    if slot + 32 >= slots or loop_1:
        row_1 = np.int64(-1)
    if slot + 64 >= slots or loop_2:
        row_2 = np.int64(-1)
    if slot + 96 >= slots or loop_3:
        row_3 = np.int64(-1)
    return row_0, row_1, row_2, row_3


@inline
def four_sources(
    columns: Any, both: Any, slots: Any, slot: Any, low: Any, positions: Any, translate: Any,
    parts: Any,
) -> Any:  # fmt: skip
    """Return the sources of the same arcs as `four_rows`; anything for those of no part."""
    edge_0 = min(slot, slots - 1) >> both
    edge_1 = min(slot + 32, slots - 1) >> both
    edge_2 = min(slot + 64, slots - 1) >> both
    edge_3 = min(slot + 96, slots - 1) >> both
    if both and slot & 1:
        source_0 = np.int64(load_once(columns[0], edge_0))
        source_1 = np.int64(load_once(columns[0], edge_1))
        source_2 = np.int64(load_once(columns[0], edge_2))
        source_3 = np.int64(load_once(columns[0], edge_3))
    else:
        source_0 = np.int64(load_once(columns[1], edge_0))
        source_1 = np.int64(load_once(columns[1], edge_1))
        source_2 = np.int64(load_once(columns[1], edge_2))
        source_3 = np.int64(load_once(columns[1], edge_3))
    if translate:
        part_0, part_1, part_2, part_3 = parts
        source_0 = np.int64(positions[source_0 - low if part_0 >= 0 else 0])
        source_1 = np.int64(positions[source_1 - low if part_1 >= 0 else 0])
        source_2 = np.int64(positions[source_2 - low if part_2 >= 0 else 0])
        source_3 = np.int64(positions[source_3 - low if part_3 >= 0 else 0])
    return source_0, source_1, source_2, source_3


@inline
def rank_of(row: Any, bounds: Any, parts: Any, counts: Any) -> Any:
    """Return which part a row is in, -1 for none, and its rank among the warp's slots of that part so far.

    `bounds` are the first rows of the parts, and the end; `counts` are of the warp's slots so far, by
    part.
    """
    part = np.int32(-1)
    if bounds[0] <= row and row < bounds[parts]:
        part = np.int32(row_at(bounds, np.int32(0), np.int32(parts - 1), row))
    alike = match(FULL, part)
    before = alike & np.uint32((np.int64(1) << lane()) - 1)
    place = 32 * (thread() // 32) + max(part, np.int32(0))
    rank = counts[place]
    sync_warp(FULL)
    if part >= 0 and before == 0:
        counts[place] = rank + popc(alike)
    sync_warp(FULL)
    return part, rank + popc(before)


@inline
def put_key(
    row: Any, source: Any, slot: Any, part: Any, rank: Any, bounds: Any, places: Any, kind: Any,
    shift: Any, keys: Any,
) -> None:  # fmt: skip
    """Write the key of an arc of a part; `places` says where the warp's keys of each part begin."""
    if part >= 0:
        high = row - bounds[part]
        tail = np.int64(slot)
        if kind == BY_SOURCE:
            tail = source
        if kind == BY_ARC:
            high = source
        keys[places[32 * (thread() // 32) + part] + rank] = high << shift | tail


@kernel
def scatter_arcs(
    columns: Any, both: Any, slots: Any, low: Any, positions: Any, translate: Any, cuts: Any,
    first: Any, parts: Any, kind: Any, shift: Any, cursors: Any, keys: Any,
) -> None:  # fmt: skip
    """Write a key for each arc whose row is in the parts `first`, first + 1, …, those of a part together.

    Keys of a part come in any order: they are sorted next.  `kind` is one of `layout`.  `cursors` says
    where the next key of each part goes, one in every `CURSOR` places.  `parts` is at most 31.
    Without `translate` the columns hold positions.
    """
    counts = shared(COUNTS, np.int32)  # for each warp and part
    places = shared(COUNTS, np.int64)
    bounds = shared(32, np.int64)
    mine = 32 * (thread() // 32) + lane()
    if thread() <= parts:
        bounds[thread()] = cuts[1 + 2 * (first + thread())]
    sync_block()
    stride = blocks() * 4 * threads()
    slot = block() * 4 * threads() + 128 * (thread() // 32) + lane()
    rows = four_rows(columns, both, slots, slot, low, positions, translate)
    for _ in range(block() * 4 * threads(), slots, stride):
        counts[mine] = 0
        sync_warp(FULL)
        row, row_two, row_three, row_four = rows
        part, rank = rank_of(row, bounds, parts, counts)
        part_two, rank_two = rank_of(row_two, bounds, parts, counts)
        part_three, rank_three = rank_of(row_three, bounds, parts, counts)
        part_four, rank_four = rank_of(row_four, bounds, parts, counts)
        # Sources, and the next rows, are on their way while the block waits for its place.
        source = source_two = source_three = source_four = np.int64(0)
        if kind != BY_SLOT:
            source, source_two, source_three, source_four = four_sources(
                columns, both, slots, slot, low, positions, translate,
                (part, part_two, part_three, part_four),
            )  # fmt: skip
        rows = four_rows(columns, both, slots, slot + stride, low, positions, translate)
        sync_block()
        if thread() < parts:
            total = np.int64(0)
            for warp in range(threads() // 32):
                places[32 * warp + thread()] = total
                total += counts[32 * warp + thread()]
            begin = np.int64(0)
            if total > 0:
                begin = np.int64(atomic_add(cursors, CURSOR * thread(), total))
            for warp in range(threads() // 32):
                places[32 * warp + thread()] += begin
        sync_block()
        put_key(row, source, slot, part, rank, bounds, places, kind, shift, keys)
        put_key(
            row_two, source_two, slot + 32, part_two, rank_two, bounds, places, kind, shift, keys
        )
        put_key(
            row_three, source_three, slot + 64, part_three, rank_three, bounds, places, kind, shift,
            keys,
        )  # fmt: skip
        put_key(
            row_four, source_four, slot + 96, part_four, rank_four, bounds, places, kind, shift,
            keys,
        )  # fmt: skip
        slot += stride


# ---------------------------------------------------------------------------------------- keys


@kernel
def key_rows(
    columns: Any, both: Any, low: Any, positions: Any, translate: Any, keys: Any, count: Any,
    slot_bits: Any, first_row: Any, bits: Any, second: Any,
) -> None:  # fmt: skip
    """Write keys that sort a part's arcs by row, then as they are sorted now, by source and slot."""
    below = (np.int64(1) << slot_bits) - 1
    for rank in range(worker(), count, workers()):
        row = row_end(columns, both, load_once(keys, rank) & below)
        row = np.int64(positions[row - low]) if translate else row
        second[rank] = (row - first_row) << bits | rank


@kernel
def finish_arcs(
    second: Any, keys: Any, count: Any, bits: Any, slot_bits: Any, both: Any, indices: Any,
    order: Any,
) -> None:  # fmt: skip
    """Read keys of source and slot in the order of `key_rows`: sources, and their edges."""
    below = (np.int64(1) << bits) - 1
    slots_below = (np.int64(1) << slot_bits) - 1
    for place in range(worker(), count, workers()):
        key = keys[load_once(second, place) & below]
        indices[place] = key >> slot_bits
        order[place] = (key & slots_below) >> both


@kernel
def take_low(keys: Any, count: Any, bits: Any, out: Any) -> None:
    """Write the lowest `bits` of keys."""
    below = (np.int64(1) << bits) - 1
    for place in range(worker(), count, workers()):
        out[place] = load_once(keys, place) & below


@kernel
def find_repeats(offsets: Any, size: Any, indices: Any, arcs: Any, has_repeats: Any) -> None:
    """Set `has_repeats` if an arc has the same neighbour as the one before it in its row."""
    for arc in range(1 + worker(), arcs, workers()):
        if load_once(indices, arc) == load_once(indices, arc - 1):
            row = row_at(offsets, np.int64(0), np.int64(size - 1), arc)
            if offsets[row] < arc and load_fresh(has_repeats, 0) == 0:
                store_fresh(has_repeats, 0, np.int64(1))


@kernel
def mark_ways(
    columns: Any, edges: Any, low: Any, positions: Any, translate: Any, offsets: Any, indices: Any,
    ways: Any,
) -> None:  # fmt: skip
    """Mark, for each pair of vertices with several edges, in which directions they were given.

    At the pair's first arc in the row of the one with the higher position, which is the shorter row,
    `ways` has a byte for either direction.
    """
    for edge in range(worker(), edges, workers()):
        row = np.int64(load_once(columns[0], edge))
        neighbour = np.int64(load_once(columns[1], edge))
        if translate:
            row = np.int64(positions[row - low])
            neighbour = np.int64(positions[neighbour - low])
        if row != neighbour:
            way = np.int64(0)
            if row < neighbour:
                row, neighbour, way = neighbour, row, np.int64(1)
            first = offsets[row]
            end = offsets[row + 1]
            last = end - 1
            while first < last:
                middle = (first + last) // 2
                if indices[middle] < neighbour:
                    first = middle + 1
                else:
                    last = middle
            several = first + 1 < end and indices[first + 1] == neighbour
            # Many threads may store to one place, but all of them the same.
            if several and load_fresh(ways, 2 * first + way) == 0:
                store_fresh(ways, 2 * first + way, np.uint8(1))


@kernel
def gather(values: Any, order: Any, count: Any, out: Any) -> None:
    """Write `values[order[i]]` to `out[i]`."""
    for place in range(worker(), count, workers()):
        out[place] = values[load_once(order, place)]
