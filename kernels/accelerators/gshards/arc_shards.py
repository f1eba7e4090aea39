"""Dense supersteps over shards of arcs (Khorasani, Vora, Gupta, Bhuyan, "CuSha", HPDC 2014).

A shard is a range of the CSC's arcs, as many as have room in a block's shared memory.  What an arc
reads of its source comes in an order that is good for global memory: by source (G-Shards), or from
slots that `fill_slots` has written, a window of sources after the other (Concatenated Windows).  A
block puts it into shared memory, at the arc's place in the CSC, and folds rows there.  So each row is
folded in one order, without atomics, and edge attributes are read in the order of the CSC.

A row that crosses the end of a shard is cut.  Each shard leaves what it has of it in `parts`, and
`finish_shards` folds the parts in the order of the shards.  That also serves hubs, whose rows are
longer than a shard.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    KEEPS,
    held_message,
    merge,
    nothing,
    put_message,
    put_source,
    read_source,
    shared_messages,
    shared_sources,
    take_message,
    take_source,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    GROUP,
    GROUP_BITS,
    NO_PLACE,
    NUMBER,
    SKEW_BITS,
    STOP,
)
from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_once,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.superstep import conclude, finish, fold_lanes, no_tally

__all__ = ["fill_slots", "finish_shards", "gather_shards"]


@kernel
def fill_slots(
    tasks: Any, mapper: Any, sources: Any, width: Any, size: Any, slots: Any, state: Any,
    constants: Any, outbox: Any, control: Any,
) -> None:  # fmt: skip
    """Write what arcs read of the sources of each window to the arcs' slots.

    `tasks` is, for each task, its window and where its items begin and end, and the number of tasks.  An
    item is a slot in the order of windows: `sources` has its source within the window, of `width`
    sources, and `mapper`, for each group of items, the group of slots.  `size` is the number of
    positions.
    """
    if control[STOP] != 0:
        return
    windows, firsts, lasts, count = tasks
    window_sources = shared_sources(width)
    for task in range(block(), count, blocks()):
        base = np.int64(windows[task]) * width
        last = lasts[task]
        for place in range(thread(), min(width, size - base), threads()):
            put_source(window_sources, place, read_source(state, constants, outbox, base + place))
        sync_block()
        step = threads()
        item = np.int64(firsts[task]) + thread()
        while (
            item + 3 * step < last
        ):  # four are read before the first is written: more loads at once
            item_1 = item + step
            item_2 = item + 2 * step
            item_3 = item + 3 * step
            source_0 = load_once(sources, item)
            source_1 = load_once(sources, item_1)
            source_2 = load_once(sources, item_2)
            source_3 = load_once(sources, item_3)
            slot_0 = slot_of(mapper, item)
            slot_1 = slot_of(mapper, item_1)
            slot_2 = slot_of(mapper, item_2)
            slot_3 = slot_of(mapper, item_3)
            put_source(slots, slot_0, take_source(window_sources, source_0))
            put_source(slots, slot_1, take_source(window_sources, source_1))
            put_source(slots, slot_2, take_source(window_sources, source_2))
            put_source(slots, slot_3, take_source(window_sources, source_3))
            item += 4 * step
        while item < last:
            put_source(
                slots, slot_of(mapper, item), take_source(window_sources, load_once(sources, item))
            )
            item += step
        sync_block()


@inline
def slot_of(mapper: Any, item: Any) -> Any:
    """Return the slot of an item."""
    return GROUP * np.int64(mapper[item >> GROUP_BITS]) + (item & (GROUP - 1))


@inline
def skewed(place: Any) -> Any:
    """Return where in shared memory the arc at a place of its shard is held."""
    return place + (place >> SKEW_BITS)


@inline
def take_slots(first: Any, last: Any, places: Any, slots: Any, shard_sources: Any) -> None:
    """Copy the slots [first, last) to their arcs' places in shared memory; padding is left out."""
    step = threads()
    slot = np.int64(first) + thread()
    while slot + 3 * step < last:
        slot_1 = slot + step
        slot_2 = slot + 2 * step
        slot_3 = slot + 3 * step
        place_0 = load_once(places, slot)
        place_1 = load_once(places, slot_1)
        place_2 = load_once(places, slot_2)
        place_3 = load_once(places, slot_3)
        source_0 = take_source(slots, slot)
        source_1 = take_source(slots, slot_1)
        source_2 = take_source(slots, slot_2)
        source_3 = take_source(slots, slot_3)
        if place_0 != NO_PLACE:
            put_source(shard_sources, skewed(place_0), source_0)
        if place_1 != NO_PLACE:
            put_source(shard_sources, skewed(place_1), source_1)
        if place_2 != NO_PLACE:
            put_source(shard_sources, skewed(place_2), source_2)
        if place_3 != NO_PLACE:
            put_source(shard_sources, skewed(place_3), source_3)
        slot += 4 * step
    while slot < last:
        place = load_once(places, slot)
        if place != NO_PLACE:
            put_source(shard_sources, skewed(place), take_source(slots, slot))
        slot += step


@inline
def take_sources(
    first: Any, last: Any, sources: Any, places: Any, state: Any, constants: Any, outbox: Any,
    shard_sources: Any,
) -> None:  # fmt: skip
    """Copy what the arcs [first, last), in the order of sources, read to their places."""
    step = threads()
    for arc in range(first + thread(), last, 4 * step):
        arc_1 = min(arc + step, last - 1)
        arc_2 = min(arc + 2 * step, last - 1)
        arc_3 = min(arc + 3 * step, last - 1)
        vertex_0 = load_once(sources, arc)
        vertex_1 = load_once(sources, arc_1)
        vertex_2 = load_once(sources, arc_2)
        vertex_3 = load_once(sources, arc_3)
        source_0 = read_source(state, constants, outbox, vertex_0)
        source_1 = read_source(state, constants, outbox, vertex_1)
        source_2 = read_source(state, constants, outbox, vertex_2)
        source_3 = read_source(state, constants, outbox, vertex_3)
        put_source(shard_sources, skewed(load_once(places, arc)), source_0)
        if arc + step < last:
            put_source(shard_sources, skewed(load_once(places, arc_1)), source_1)
        if arc + 2 * step < last:
            put_source(shard_sources, skewed(load_once(places, arc_2)), source_2)
        if arc + 3 * step < last:
            put_source(shard_sources, skewed(load_once(places, arc_3)), source_3)


@inline
def fold_held(
    begin: Any, end: Any, stride: Any, base: Any, shard_sources: Any, constants: Any, edges: Any, values: Any
) -> Any:  # fmt: skip
    """Combine the messages of every `stride`-th arc of [begin, end); the shard begins at `base`."""
    gathered = nothing()
    for arc in range(begin, end, stride):
        received = held_message(
            shard_sources, skewed(np.int64(arc - base)), constants, edges, arc, values
        )
        gathered = merge(gathered, received)
    return gathered


@inline
def fold_cut(
    begin: Any, end: Any, base: Any, shard_sources: Any, constants: Any, edges: Any, values: Any, pieces: Any,
    parts: Any, place: Any,
) -> None:  # fmt: skip
    """Combine the messages of the arcs [begin, end) by all threads of a block, into `parts[place]`."""
    gathered = fold_held(
        begin + thread(), end, threads(), base, shard_sources, constants, edges, values
    )  # fmt: skip
    gathered = fold_lanes(gathered, 32)
    if lane() == 0:
        put_message(pieces, thread() // 32, gathered)
    sync_block()
    if thread() == 0:
        for warp in range(1, threads() // 32):
            gathered = merge(gathered, take_message(pieces, warp))
        put_message(parts, place, gathered)
    sync_block()


@kernel
def gather_shards(
    shape: Any, shards: Any, slots: Any, parts: Any, adjacency: Any, edges: Any, state: Any, fresh: Any,
    constants: Any, outboxes: Any, flags: Any, parameters: Any, sums: Any, control: Any, conclusion: Any,
) -> None:  # fmt: skip
    """Compute the rows that are within a shard, and what shards have of the others.

    `shape` is the number of vertices of the whole graph, of arcs, of arcs in a shard, and of shards.
    `shards` has, for each shard, the first row that begins in it, its first group of slots, and the
    first of its arcs that are read in the order of sources; of slots their arcs' places; and of those
    arcs the source and the place.  `parts` has room for two messages of each shard: of the row that
    has begun before the shard, and of the row that goes on behind it.
    """
    if control[STOP] != 0:
        return
    vertices, arcs, capacity, count = shape
    rows, slot_groups, slot_places, source_firsts, sources, places = shards
    offsets = adjacency[0]
    outbox, next_outbox = outboxes
    values = with_sums(parameters, sums, vertices, control[NUMBER])
    memory = (state, fresh, constants, next_outbox, flags[1])
    zero = no_tally()
    tally = zero
    shard_sources = shared_sources((skewed(capacity) + 7) & -8)
    pieces = shared_messages()
    for shard in range(block(), count, blocks()):
        base = np.int64(shard) * capacity
        stop = min(base + capacity, arcs)
        take_slots(
            GROUP * slot_groups[shard], GROUP * slot_groups[shard + 1], slot_places, slots,
            shard_sources,
        )  # fmt: skip
        take_sources(
            source_firsts[shard], source_firsts[shard + 1], sources, places, state, constants, outbox,
            shard_sources,
        )  # fmt: skip
        sync_block()
        row = np.int64(rows[shard])
        after = np.int64(rows[shard + 1])
        begin = min(offsets[row], stop)
        if begin > base:
            fold_cut(
                base, begin, base, shard_sources, constants, edges, values, pieces, parts, 2 * shard
            )
        if after > row and offsets[after] > stop:
            after -= 1
            fold_cut(
                offsets[after], stop, base, shard_sources, constants, edges, values, pieces, parts,
                2 * shard + 1,
            )  # fmt: skip
        lanes = np.int32(32)
        while lanes > 1 and (after - row) * lanes > threads():
            lanes = np.int32(lanes >> 1)
        mine = lane() & (lanes - 1)
        for first in range(
            row + (thread() - lane()) // lanes, after, threads() // lanes
        ):  # the same for all lanes of a warp
            vertex = np.int64(first + lane() // lanes)
            begin = np.int64(0)
            end = np.int64(0)
            if vertex < after:
                begin = offsets[vertex]
                end = offsets[vertex + 1]
            gathered = fold_held(
                begin + mine, end, lanes, base, shard_sources, constants, edges, values
            )  # fmt: skip
            gathered = fold_lanes(gathered, lanes)
            if mine == 0 and vertex < after:
                tally = finish(vertex, gathered, True, edges, memory, values, tally)
        sync_block()
    conclude(tally, zero, (0, True), control, sums, conclusion)


@kernel
def finish_shards(
    shape: Any, cuts: Any, parts: Any, adjacency: Any, edges: Any, state: Any, fresh: Any,
    constants: Any, outboxes: Any, flags: Any, parameters: Any, sums: Any, control: Any, conclusion: Any,
) -> None:  # fmt: skip
    """Compute the rows that are cut, a warp each, and those without arcs; conclude the superstep.

    `shape` is the number of vertices of the whole graph, of arcs in a shard, of rows with arcs, of
    owned vertices, of rows that are cut, and of blocks that have gathered; `cuts` are the rows.
    """
    if control[STOP] != 0:
        return
    vertices, capacity, filled, owned, count, earlier = shape
    offsets = adjacency[0]
    values = with_sums(parameters, sums, vertices, control[NUMBER])
    memory = (state, fresh, constants, outboxes[1], flags[1])
    zero = no_tally()
    tally = zero
    place = block() * threads() + thread()
    for cut in range(place // 32, count, blocks() * threads() // 32):
        vertex = np.int64(cuts[cut])
        first = offsets[vertex] // capacity
        last = (offsets[vertex + 1] - 1) // capacity
        gathered = nothing()
        for shard in range(first + lane(), last + 1, 32):
            behind = np.int64(1 if shard == first else 0)
            gathered = merge(gathered, take_message(parts, 2 * shard + behind))
        gathered = fold_lanes(gathered, 32)
        if lane() == 0:
            tally = finish(vertex, gathered, True, edges, memory, values, tally)
    for row in range(filled + place, owned, blocks() * threads()):
        tally = finish(np.int64(row), nothing(), not KEEPS, edges, memory, values, tally)
    conclude(tally, zero, (earlier, False), control, sums, conclusion)
