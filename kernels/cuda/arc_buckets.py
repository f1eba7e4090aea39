"""Group arcs by row in three steps: two that spread their keys over buckets, one that sorts each bucket.

The key of an arc is the place where its row starts, in the bits above its source.  Rows are in the order of
falling length, and a bucket is the rows that start in one span of places: about as many arcs for any bucket, and
rows of about one length.  What is spread goes through shared memory, so that neighbours are written together; a
bucket is sorted in shared memory (Satish, Harris and Garland, "Designing efficient sorting algorithms for
manycore GPUs", IPDPS 2009: a block sorts what its memory holds, and merges by rank).

Slots and `columns` are those of `build`.  With `keep`, arcs take their slot along, and with `carry` a value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import LOCAL_BITS, NO_PLACE, RUN_BITS
from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    block,
    blocks,
    bounded,
    dynamic_shared,
    inline,
    kernel,
    lane,
    lean,
    load_once,
    shared,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import scan

__all__ = [
    "find_begins",
    "sort_buckets",
    "sort_kept_buckets",
    "spread_columns",
    "spread_keys",
]

MOST_THREADS = 512


@kernel
def find_begins(offsets: Any, size: Any, span: Any, buckets: Any, begins: Any) -> None:
    """Write where each bucket begins: at the first row that starts in its span or later; and the end."""
    for bucket in range(block() * threads() + thread(), buckets + 1, blocks() * threads()):
        least = np.int64(bucket) * span
        low, high = np.int64(0), np.int64(size)
        while low < high:
            middle = (low + high) >> 1
            if offsets[middle] < least:
                low = middle + 1
            else:
                high = middle
        begins[bucket] = offsets[low]


# ------------------------------------------------------------------------------------ spreading


@inline
def key_of(
    columns: Any, both: Any, slots: Any, slot: Any, low: Any, starts: Any, positions: Any,
    source_bits: Any,
) -> Any:  # fmt: skip
    """Return the key of the arc of a slot; -1 if it has none."""
    inside = min(slot, slots - 1)
    edge = inside >> both
    row = np.int64(load_once(columns[0], edge))
    source = np.int64(load_once(columns[1], edge))
    back = inside & both
    missing = slot >= slots or (back != 0 and row == source)
    if back != 0:
        row, source = source, row
    key = np.int64(starts[row - low]) << source_bits | np.int64(positions[source - low])
    return np.int64(-1) if missing else key


@inline
def note_key(
    item: Any, key: Any, shift: Any, first: Any, raw: Any, counts: Any, ranks: Any
) -> None:
    """Hold a key of the tile, and rank it among those of its bucket; -1 is no key."""
    raw[item] = key
    rank = np.int32(NO_PLACE)
    if key >= 0:
        rank = atomic_add(counts, (key >> shift) - first, 1)
    ranks[item] = rank


@inline
def hand_out(
    bins: Any, first: Any, stride: Any, cursors: Any, counts: Any, goes: Any, sums: Any
) -> Any:
    """Take room for the tile's arcs of each bucket; return how many arcs there are.

    `counts` becomes where those of a bucket begin in the tile, `goes` what is added to a place in the
    tile for the place in the output.
    """
    total = np.int32(0)
    warp = thread() // 32
    for base in range(0, bins, threads()):
        bin_ = base + thread()
        mine = np.int32(0)
        if bin_ < bins:
            mine = counts[bin_]
        upto = scan(mine)
        if lane() == 31:
            sums[warp] = upto
        sync_block()
        begin = np.int32(total + upto - mine)
        for peer_warp in range(threads() // 32):
            if peer_warp < warp:
                begin = np.int32(begin + sums[peer_warp])
            total = np.int32(total + sums[peer_warp])
        if bin_ < bins:
            counts[bin_] = begin
            if mine > 0:
                goes[bin_] = np.int64(atomic_add(cursors, (first + bin_) * stride, mine)) - begin
        sync_block()
    return total


@inline
def arrange(
    items: Any, shift: Any, first: Any, raw: Any, counts: Any, ranks: Any, turns: Any
) -> None:
    """Write which item of the tile comes at each place when they lie bucket by bucket."""
    for item in range(thread(), items, threads()):
        rank = np.int32(ranks[item])
        if rank != NO_PLACE:
            turns[counts[(raw[item] >> shift) - first] + rank] = item
    sync_block()


@lean(64)
@bounded(MOST_THREADS)
@kernel
def spread_columns(
    columns: Any, both: Any, slots: Any, low: Any, starts: Any, positions: Any, source_bits: Any,
    shift: Any, bins: Any, stride: Any, tile: Any, cursors: Any, values: Any, keep: Any, carry: Any,
    spread: Any,
) -> None:  # fmt: skip
    """Write the keys of all arcs, those of a bucket together: key >> `shift` is its bucket.

    A row starts at `starts[end - low]`, a source is at `positions[end - low]`.  `cursors` says where the
    next key of each of the `bins` buckets goes, one in every `stride` places.  `spread` gets the keys, the slots
    and the values.
    """
    keys, order, carried = spread
    raw = dynamic_shared(0, tile, np.int64)
    goes = dynamic_shared(8 * tile, bins, np.int64)
    counts = dynamic_shared(8 * (tile + bins), bins, np.int32)
    ranks = dynamic_shared(8 * tile + 12 * bins, tile, np.uint16)
    turns = dynamic_shared(10 * tile + 12 * bins, tile, np.uint16)
    sums = shared(32, np.int32)
    step = threads()
    for first in range(np.int64(block()) * tile, slots, np.int64(blocks()) * tile):
        for bin_ in range(thread(), bins, step):
            counts[bin_] = 0
        sync_block()
        ends = (columns, both, slots)
        for item in range(thread(), tile, 4 * step):  # all loads of four are on their way together
            key_0 = key_of(*ends, first + item, low, starts, positions, source_bits)
            key_1 = key_of(*ends, first + item + step, low, starts, positions, source_bits)
            key_2 = key_of(*ends, first + item + 2 * step, low, starts, positions, source_bits)
            key_3 = key_of(*ends, first + item + 3 * step, low, starts, positions, source_bits)
            note_key(item, key_0, shift, 0, raw, counts, ranks)
            note_key(item + step, key_1, shift, 0, raw, counts, ranks)
            note_key(item + 2 * step, key_2, shift, 0, raw, counts, ranks)
            note_key(item + 3 * step, key_3, shift, 0, raw, counts, ranks)
        sync_block()
        total = hand_out(bins, 0, stride, cursors, counts, goes, sums)
        arrange(tile, shift, 0, raw, counts, ranks, turns)
        for place in range(thread(), total, step):
            turn = np.int32(turns[place])
            key = raw[turn]
            to = goes[key >> shift] + place
            keys[to] = key
            if keep:
                order[to] = first + turn
            if carry:
                carried[to] = load_once(values, (first + turn) >> both)
        sync_block()


@lean(64)
@bounded(MOST_THREADS)
@kernel
def spread_keys(
    coarsely_spread: Any, begins: Any, buckets: Any, group: Any, tiles: Any, coarse: Any, shift: Any,
    tile: Any, cursors: Any, keep: Any, carry: Any, spread: Any,
) -> None:  # fmt: skip
    """Spread what lies in `coarse` groups of `group` buckets each over the buckets.

    `begins` is where each of the `buckets` begins, and the end; `tiles` how many tiles of keys there are
    before each of the groups, and in all.
    """
    coarse_keys, coarse_order, coarse_values = coarsely_spread
    keys, order, carried = spread
    raw = dynamic_shared(0, tile, np.int64)
    goes = dynamic_shared(8 * tile, group, np.int64)
    counts = dynamic_shared(8 * (tile + group), group, np.int32)
    ranks = dynamic_shared(8 * tile + 12 * group, tile, np.uint16)
    turns = dynamic_shared(10 * tile + 12 * group, tile, np.uint16)
    sums = shared(32, np.int32)
    step = threads()
    for unit in range(block(), tiles[coarse], blocks()):
        low, high = np.int64(0), np.int64(coarse - 1)
        while low < high:  # the last group whose tiles begin here or before
            middle = (low + high + 1) >> 1
            if tiles[middle] <= unit:
                low = middle
            else:
                high = middle - 1
        first_bucket = low * group
        bins = min(group, buckets - first_bucket)
        first = begins[first_bucket] + (unit - tiles[low]) * tile
        items = np.int32(min(np.int64(tile), begins[first_bucket + bins] - first))
        for bin_ in range(thread(), bins, step):
            counts[bin_] = 0
        sync_block()
        last = items - 1
        for item in range(thread(), items, 4 * step):
            key_0 = np.int64(load_once(coarse_keys, first + item))
            key_1 = np.int64(load_once(coarse_keys, first + min(item + step, last)))
            key_2 = np.int64(load_once(coarse_keys, first + min(item + 2 * step, last)))
            key_3 = np.int64(load_once(coarse_keys, first + min(item + 3 * step, last)))
            note_key(item, key_0, shift, first_bucket, raw, counts, ranks)
            if item + step < items:
                note_key(item + step, key_1, shift, first_bucket, raw, counts, ranks)
            if item + 2 * step < items:
                note_key(item + 2 * step, key_2, shift, first_bucket, raw, counts, ranks)
            if item + 3 * step < items:
                note_key(item + 3 * step, key_3, shift, first_bucket, raw, counts, ranks)
        sync_block()
        total = hand_out(bins, first_bucket, 1, cursors, counts, goes, sums)
        arrange(items, shift, first_bucket, raw, counts, ranks, turns)
        for place in range(thread(), total, step):
            turn = np.int32(turns[place])
            key = raw[turn]
            to = goes[(key >> shift) - first_bucket] + place
            keys[to] = key
            if keep:
                order[to] = load_once(coarse_order, first + turn)
            if carry:
                carried[to] = load_once(coarse_values, first + turn)
        sync_block()


# -------------------------------------------------------------------------------------- sorting


@inline
def goes_before(entry: Any, other_entry: Any, bits: Any, order: Any, begin: Any) -> Any:
    """Tell whether an arc comes before another of its row; with `bits`, the input decides between equals.

    `bits` is then the number of an entry's lowest bits, which say where in the bucket the arc's slot is.
    """
    if bits > 0 and (entry >> bits) == (other_entry >> bits):
        below = (np.int64(1) << bits) - 1
        return order[begin + (entry & below)] < order[begin + (other_entry & below)]
    return entry < other_entry


@inline
def place_in_run(
    place: Any, entries: Any, row_begins: Any, row_ends: Any, bits: Any, order: Any, begin: Any
) -> Any:
    """Return where an entry goes when its run is sorted: 2**RUN_BITS entries of a row, all compared."""
    row = np.int32(row_begins[place])
    low = np.int32(row + (((place - row) >> RUN_BITS) << RUN_BITS))
    high = min(np.int32(low + (1 << RUN_BITS)), row_ends[row])
    mine = entries[place]
    to = low
    for other_place in range(low, high):
        other_entry = entries[other_place]
        if goes_before(other_entry, mine, bits, order, begin) or (
            other_entry == mine and other_place < place
        ):
            to = np.int32(to + 1)
    return to


@inline
def merge_runs(
    room: Any, count: Any, entries: Any, row_begins: Any, row_ends: Any, bits: Any, order: Any,
    begin: Any,
) -> Any:  # fmt: skip
    """Merge the sorted runs of each row, two by two, until a row is one; return where entries begin.

    They begin at `room` first, then at 0 and `room` by turns.  The first row is the longest.
    """
    side = np.int32(room)
    level = np.int32(RUN_BITS)
    while (np.int32(1) << level) < row_ends[0]:
        to = np.int32(room - side)
        for place in range(thread(), count, threads()):
            row = np.int32(row_begins[place])
            run = np.int32((place - row) >> level)
            low = np.int32(row + ((run ^ 1) << level))
            high = min(np.int32(low + (np.int32(1) << level)), row_ends[row])
            first = low
            mine = entries[side + place]
            while low < high:
                middle = np.int32((low + high) >> 1)
                other_entry = entries[side + middle]
                if run & 1:  # those of the run before come first if they are equal
                    lower = not goes_before(mine, other_entry, bits, order, begin)
                else:
                    lower = goes_before(other_entry, mine, bits, order, begin)
                if lower:
                    low = np.int32(middle + 1)
                else:
                    high = middle
            moved = np.int32(place + low - first)
            if run & 1:
                moved = np.int32(moved - (np.int32(1) << level))
            entries[to + moved] = mine
        sync_block()
        side = to
        level = np.int32(level + 1)
    return side


@bounded(MOST_THREADS)
@kernel
def sort_buckets(
    keys: Any, begins: Any, first: Any, last: Any, source_bits: Any, span: Any, most: Any,
    room: Any, indices: Any,
) -> None:  # fmt: skip
    """Write the sources of the rows of buckets `first` … last - 1, ascending in each row.

    No bucket has more than `most` arcs.  `room` is `most`, or 0 if no row is longer than a run.
    """
    row_ends = dynamic_shared(0, span, np.int32)
    row_begins = dynamic_shared(4 * span, most, np.uint16)
    entries = dynamic_shared(4 * span + 2 * most, most + room, np.int32)
    below = (np.int64(1) << source_bits) - 1
    for bucket in range(first + block(), last, blocks()):
        begin = begins[bucket]
        count = np.int32(begins[bucket + 1] - begin)
        if count > 0:
            for start in range(thread(), np.int32(span), threads()):
                row_ends[start] = start
            sync_block()
            for arc in range(thread(), count, threads()):
                key = np.int64(load_once(keys, begin + arc))
                row = np.int32((key >> source_bits) - begin)
                place = atomic_add(row_ends, row, 1)
                row_begins[place] = row
                entries[place] = key & below
            sync_block()
            for place in range(thread(), count, threads()):
                to = place_in_run(place, entries, row_begins, row_ends, 0, keys, begin)
                if room > 0:
                    entries[room + to] = entries[place]
                else:
                    indices[begin + to] = entries[place]
            sync_block()
            if room > 0:
                side = merge_runs(room, count, entries, row_begins, row_ends, 0, keys, begin)
                for place in range(thread(), count, threads()):
                    indices[begin + place] = entries[side + place]
                sync_block()


@bounded(MOST_THREADS)
@kernel
def sort_kept_buckets(
    spread: Any, begins: Any, first: Any, last: Any, source_bits: Any, span: Any, most: Any, room: Any,
    both: Any, carry: Any, filled: Any,
) -> None:  # fmt: skip
    """Write rows as `sort_buckets` does, parallel edges in input order; and each arc's edge or, with `carry`, value."""
    keys, order, values = spread
    indices, edges, carried = filled
    row_ends = dynamic_shared(0, span, np.int32)
    row_begins = dynamic_shared(4 * span, most, np.uint16)
    entries = dynamic_shared(4 * span + 2 * most, most + room, np.int64)
    below = (np.int64(1) << source_bits) - 1
    local = (np.int64(1) << LOCAL_BITS) - 1
    for bucket in range(first + block(), last, blocks()):
        begin = begins[bucket]
        count = np.int32(begins[bucket + 1] - begin)
        if count > 0:
            for start in range(thread(), np.int32(span), threads()):
                row_ends[start] = start
            sync_block()
            for arc in range(thread(), count, threads()):
                key = np.int64(load_once(keys, begin + arc))
                row = np.int32((key >> source_bits) - begin)
                place = atomic_add(row_ends, row, 1)
                row_begins[place] = row
                entries[place] = (key & below) << LOCAL_BITS | arc
            sync_block()
            side = np.int32(0)
            if room > 0:
                for place in range(thread(), count, threads()):
                    to = place_in_run(
                        place, entries, row_begins, row_ends, LOCAL_BITS, order, begin
                    )
                    entries[room + to] = entries[place]
                sync_block()
                side = np.int32(
                    merge_runs(room, count, entries, row_begins, row_ends, LOCAL_BITS, order, begin)
                )
            for place in range(thread(), count, threads()):
                to = np.int32(place)
                if room == 0:
                    to = place_in_run(
                        place, entries, row_begins, row_ends, LOCAL_BITS, order, begin
                    )
                entry = entries[side + place]
                arc = begin + (entry & local)
                indices[begin + to] = entry >> LOCAL_BITS
                if carry:
                    carried[begin + to] = load_once(values, arc)
                else:
                    edges[begin + to] = np.int64(load_once(order, arc)) >> both
            sync_block()
