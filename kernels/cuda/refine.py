"""Online Vertex Refinement: pack what has changed in a boundary for a peer, and unpack it there.

A peer holds copies of some of a rank's vertices: its ghosts.  At the end of a superstep the lanes of a warp read 32
of those vertices at a time.  Each changed vertex finds its place in the send buffer from the votes of lower lanes,
after the offset that one atomic has reserved for the warp (Khorasani, Gupta, Bhuyan, "Scalable SIMD-efficient graph
processing on GPUs", PACT 2015, Section IV).  The paper's warp reserves room for its 32 vertices; here it is for 256,
since all atomics of a boundary are on one counter.  Only the filled part is sent.

If GPUs exchange without their hosts, the superstep's record and the lengths go into a header, and the aggregates
are added up from the headers of all ranks.

`old` and `new` are what the program's messages are computed from, before and after the superstep: some of the
state's fields, or the outbox.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import GROUPS, has, place_of, votes
from cugraph_ws.kernels.cuda.interface import (
    FRONTIER,
    SWAPS,
    TERMS,
    add_terms,
    copy_sent,
    differs,
    put_terms,
    take_terms,
)
from cugraph_ws.kernels.cuda.layout import BEYOND, FIGURES, GREATEST, RECORDS, ROW, TOTAL
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    popc,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import reserve, sum_of_lanes

__all__ = [
    "fill_buffer",
    "of_entry",
    "pack_all",
    "pack_changed",
    "sum_headers",
    "unpack",
    "write_header",
]


@inline
def is_outdated(vertex: Any, old: Any, new: Any, flags: Any) -> Any:
    """Return whether a vertex has changed in the superstep, so that copies of it are stale."""
    if SWAPS:
        return has(flags, vertex)
    if FRONTIER:
        return flags[vertex] != 0
    return differs(old, new, vertex)


@inline
def fill_buffer(
    base: Any,
    mine: Any,
    boundary: Any,
    state: Any,
    lengths: Any,
    slot: Any,
    places: Any,
    buffer: Any,
) -> None:
    """Append the selected ones of 256 entries to a send buffer, with their indices."""
    if any_of(FULL, mine != 0):
        first = reserve(lengths, slot, np.int32(popc(mine)))
        for group in range(GROUPS):
            chosen, place = place_of(group, mine, first)
            if chosen:
                entry = base + 32 * group
                places[place] = entry
                copy_sent(state, np.int64(boundary[entry]), buffer, place)


@kernel
def pack_changed(
    boundary: Any, count: Any, old: Any, new: Any, flags: Any, lengths: Any, slot: Any,
    places: Any, buffer: Any,
) -> None:  # fmt: skip
    """Write the changed vertices of a boundary into a send buffer.

    `places` gets their indices in the boundary; `lengths[slot]`, which is 0 before, their number.
    """
    warp = (block() * threads() + thread()) // 32
    step = blocks() * threads() * GROUPS
    for base in range(32 * GROUPS * warp + lane(), count + lane(), step):  # all lanes come along
        bits = np.int32(0)
        for group in range(GROUPS):
            entry = base + 32 * group
            vertex = np.int64(boundary[min(entry, count - 1)])  # all loads at once
            outdated = np.int32(is_outdated(vertex, old, new, flags))
            bits |= (outdated & np.int32(entry < count)) << group
        fill_buffer(base, votes(bits), boundary, new, lengths, slot, places, buffer)


@kernel
def pack_all(
    boundary: Any, count: Any, old: Any, new: Any, flags: Any, lengths: Any, slot: Any, buffer: Any,
    active: Any,
) -> None:  # fmt: skip
    """Write all vertices of a boundary into a send buffer, in order; for frontiers, also flags.

    A flag says whether a vertex is active.  `lengths[slot]`, which is 0 before, becomes the number of
    changed vertices.
    """
    changed = np.int64(0)
    for entry in range(block() * threads() + thread(), count, blocks() * threads()):
        vertex = np.int64(boundary[entry])
        copy_sent(new, vertex, buffer, entry)
        outdated = is_outdated(vertex, old, new, flags)
        if outdated:
            changed += 1
        if FRONTIER:
            active[entry] = np.uint8(1) if outdated else np.uint8(0)
    changed = sum_of_lanes(changed)
    if lane() == 0 and changed > 0:
        atomic_add(lengths, slot, changed)


@inline
def of_entry(first: Any, entry: Any, listed: Any, places: Any) -> Any:
    """Return the ghost of an entry of a received buffer, and its place there; see `unpack`."""
    if listed == 1:
        return np.int64(first + places[entry]), np.int64(entry)
    if listed == 2:
        return np.int64(first + entry), np.int64(places[entry])
    return np.int64(first + entry), np.int64(entry)


@kernel
def unpack(
    first: Any, count: Any, listed: Any, places: Any, buffer: Any, new: Any, old: Any, flags: Any,
    active: Any, headers: Any, slot: Any,
) -> None:  # fmt: skip
    """Update ghosts, the first of which is at position `first`, from a received buffer.

    Both copies of the state are written, since the next superstep, which writes into `old`, skips ghosts.
    `listed` says what the buffer has: 0, all ghosts in order, and for frontiers `active` flags; 1, the
    ghosts in `places`, which are active; 2, more than the ghosts, whose places in it are `places`.  If
    `slot` is not negative, `headers[slot]` is the number of entries, at most `count`.
    """
    number = np.int64(count)
    if slot >= 0:
        number = np.int64(headers[slot])
    for entry in range(block() * threads() + thread(), number, blocks() * threads()):
        ghost, place = of_entry(first, entry, listed, places)
        copy_sent(buffer, place, new, ghost)
        copy_sent(buffer, place, old, ghost)
        if FRONTIER:
            if listed == 1:
                flags[ghost] = np.uint8(1)
            else:
                flags[ghost] = active[place]


@kernel
def write_header(
    control: Any, records: Any, lengths: Any, slots: Any, header: Any, owned: Any, size: Any,
    flags: Any,
) -> None:  # fmt: skip
    """Write the latest record and then all lengths into a header that other ranks read.

    Lengths become 0 for the next superstep; ghosts become inactive until they are unpacked.
    """
    width = FIGURES + TERMS
    latest = (control[ROW] - 1) % RECORDS * width
    first, step = block() * threads() + thread(), blocks() * threads()
    for place in range(first, width + slots, step):
        if place < width:
            header[place] = records[latest + place]
            noted = np.int64(control[BEYOND])
            if noted != 0:  # the run is over; the halves are exact
                header[place] = np.nan
                if place == TOTAL:
                    header[place] = np.float64(noted >> 32)
                elif place == GREATEST:
                    header[place] = np.float64(noted & 0xFFFFFFFF)
        else:
            header[place] = np.float64(lengths[place - width])
            lengths[place - width] = np.int64(0)
    if FRONTIER:
        for ghost in range(owned + first, size, step):
            flags[ghost] = np.uint8(0)


@kernel
def sum_headers(headers: Any, words: Any, ranks: Any, sums: Any) -> None:
    """Fold the aggregates of all ranks, in order of rank; each has a header of `words` numbers."""
    if TERMS and block() == 0 and thread() == 0:
        everyone = take_terms(headers, FIGURES)
        for rank in range(1, ranks):
            everyone = add_terms(everyone, take_terms(headers, rank * words + FIGURES))
        put_terms(sums, 0, everyone)
