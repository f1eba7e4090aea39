"""From a list of edges to rows of neighbours on the GPU: counts, keys for a sort, and what follows.

An edge between two vertices is one arc, or with `both` two: then slot 2e of the arcs is edge e, and
slot 2e + 1 the same edge turned around, which a self-loop does not have.  `columns` are the
edges' destinations and sources, by vertex number, just as they came; `positions` translates.

The order of the arcs comes from sorting 64-bit keys, part by part: a part is a range of rows.
`cuts` says which: the number of parts, then the first row and first arc of each, and of the end.
Warps go through `slots` in units of `tile`, so that what they select keeps its order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    load_once,
    popc,
    shuffle_up,
    thread,
    threads,
)

__all__ = [
    "count_ends",
    "cut_rows",
    "expand_rows",
    "find_degrees",
    "finish_arcs",
    "gather",
    "key_arcs",
    "key_degrees",
    "key_rows",
    "key_slots",
    "key_sources",
    "mark_arcs",
    "place_sources",
    "place_vertices",
    "select_arcs",
    "take_low",
]

NO_PART = 255


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
def source_end(columns: Any, both: Any, slot: Any) -> Any:
    """Return the vertex that an arc comes from."""
    if slot & both:
        return np.int64(columns[0][slot >> both])
    return np.int64(columns[1][slot >> both])


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
def count_ends(ends: Any, others: Any, loops: Any, edges: Any, counts: Any) -> None:
    """Add to `counts` how often each vertex is in `ends`, self-loops only with `loops`.

    Equal ends side by side, as in a sorted list, are added at once.
    """
    for base in range(worker() // 32 * 32, edges, workers()):
        edge = base + lane()
        vertex = np.int64(-1)
        if edge < edges:
            vertex = np.int64(load_once(ends, edge))
            if not loops and vertex == load_once(others, edge):
                vertex = np.int64(-1)
        before = shuffle_up(FULL, vertex, 1)
        head = lane() == 0 or vertex != before
        heads = ballot(FULL, head)
        if head and vertex >= 0:
            later = np.uint32(np.uint32(heads) >> np.uint32(lane())) >> np.uint32(1)
            run = np.int64(32 - lane())
            if later:
                run = np.int64(ffs(later))
            atomic_add(counts, vertex, run)


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
def find_degrees(offsets: Any, size: Any, degrees: Any, count: Any, found: Any) -> None:
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
        found[which] = low


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

    One thread, a bisection for each part: any two neighbours are together larger than a share.
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


@kernel
def mark_arcs(
    columns: Any,
    both: Any,
    slots: Any,
    positions: Any,
    translate: Any,
    cuts: Any,
    parts: Any,
    tile: Any,
    marks: Any,
    counts: Any,
) -> None:
    """Write the part that each arc's row is in, and how many arcs of each part a unit has.

    Without `translate` the columns hold positions.  `parts` is at most 32: a lane counts for each.
    """
    units = (slots + tile - 1) // tile
    for unit in range(worker() // 32, units, workers() // 32):
        last = min((unit + 1) * tile, slots)
        count = np.int64(0)
        for base in range(unit * tile, last, 32):
            slot = base + lane()
            row = np.int64(-1)
            if slot < last:
                row = row_end(columns, both, slot)
                if slot & both and row == source_end(columns, both, slot):
                    row = np.int64(-1)
                elif translate:
                    row = np.int64(positions[row])
            mark = np.int64(NO_PART)
            for part in range(parts):
                here = cuts[1 + 2 * part] <= row and row < cuts[3 + 2 * part]
                found = ballot(FULL, here)
                if here:
                    mark = np.int64(part)
                if lane() == part:
                    count += popc(found)
            if slot < last:
                marks[slot] = np.uint8(mark)
        if lane() < parts:
            counts[1 + lane() * units + unit] = count


@inline
def append(slot: Any, last: Any, mark: Any, part: Any, below: Any, place: Any, chosen: Any) -> Any:
    """Write the warp's slots that are of the part; return where the next goes."""
    mine = slot < last and mark == part
    found = ballot(FULL, mine)
    if mine:
        chosen[place + popc(found & below)] = slot
    return place + popc(found)


@kernel
def select_arcs(
    marks: Any, slots: Any, tile: Any, starts: Any, part: Any, first_arc: Any, chosen: Any
) -> None:
    """List the slots of a part, in order; `starts` are the running sums of `mark_arcs`' counts."""
    units = (slots + tile - 1) // tile
    below = np.uint32((np.int64(1) << lane()) - 1)
    for unit in range(worker() // 32, units, workers() // 32):
        last = min((unit + 1) * tile, slots)
        place = starts[part * units + unit] - first_arc
        for base in range(unit * tile, last, 128):
            # Four loads under way at once; past the end, of the last slot again.
            one = base + lane()
            two, three, four = one + 32, one + 64, one + 96
            mark_one = marks[min(one, last - 1)]
            mark_two = marks[min(two, last - 1)]
            mark_three = marks[min(three, last - 1)]
            mark_four = marks[min(four, last - 1)]
            place = append(one, last, mark_one, part, below, place, chosen)
            place = append(two, last, mark_two, part, below, place, chosen)
            place = append(three, last, mark_three, part, below, place, chosen)
            place = append(four, last, mark_four, part, below, place, chosen)


# ---------------------------------------------------------------------------------------- keys


@kernel
def key_arcs(
    columns: Any,
    both: Any,
    positions: Any,
    chosen: Any,
    count: Any,
    first_row: Any,
    shift: Any,
    keys: Any,
) -> None:
    """Write keys that sort a part's arcs by row, then source: the row, and the source below it."""
    for which in range(worker(), count, workers()):
        slot = np.int64(chosen[which])
        row = np.int64(positions[row_end(columns, both, slot)]) - first_row
        keys[which] = row << shift | np.int64(positions[source_end(columns, both, slot)])


@kernel
def place_sources(
    columns: Any, both: Any, positions: Any, chosen: Any, count: Any, indices: Any
) -> None:
    """Write the sources of the arcs of a part of one row; they are sorted as they are."""
    for which in range(worker(), count, workers()):
        indices[which] = positions[source_end(columns, both, np.int64(chosen[which]))]


@kernel
def key_sources(
    columns: Any,
    both: Any,
    positions: Any,
    chosen: Any,
    count: Any,
    bits: Any,
    keys: Any,
    rows: Any,
) -> None:
    """Write keys that sort a part's arcs by source, then by input order; and their rows."""
    for which in range(worker(), count, workers()):
        slot = np.int64(chosen[which])
        rows[which] = positions[row_end(columns, both, slot)]
        keys[which] = np.int64(positions[source_end(columns, both, slot)]) << bits | which


@kernel
def key_rows(keys: Any, rows: Any, count: Any, first_row: Any, bits: Any, second: Any) -> None:
    """Write keys that sort a part's arcs by row, then as they are sorted now."""
    for rank in range(worker(), count, workers()):
        which = keys[rank] & ((np.int64(1) << bits) - 1)
        second[rank] = (np.int64(rows[which]) - first_row) << bits | rank


@kernel
def finish_arcs(
    second: Any,
    keys: Any,
    chosen: Any,
    count: Any,
    bits: Any,
    both: Any,
    indices: Any,
    order: Any,
) -> None:
    """Read keys sorted by `key_sources` and again by `key_rows`: sources, and their edges."""
    below = (np.int64(1) << bits) - 1
    for place in range(worker(), count, workers()):
        key = keys[second[place] & below]
        indices[place] = key >> bits
        order[place] = np.int64(chosen[key & below]) >> both


@kernel
def key_slots(rows: Any, chosen: Any, count: Any, first_row: Any, shift: Any, keys: Any) -> None:
    """Write keys that sort a part's arcs by row, then by slot."""
    for which in range(worker(), count, workers()):
        slot = np.int64(chosen[which])
        keys[which] = (np.int64(rows[slot]) - first_row) << shift | slot


@kernel
def take_low(keys: Any, count: Any, bits: Any, out: Any) -> None:
    """Write the lowest `bits` of keys."""
    below = (np.int64(1) << bits) - 1
    for place in range(worker(), count, workers()):
        out[place] = load_once(keys, place) & below


@kernel
def gather(values: Any, order: Any, count: Any, out: Any) -> None:
    """Write values in another order."""
    for place in range(worker(), count, workers()):
        out[place] = values[load_once(order, place)]
