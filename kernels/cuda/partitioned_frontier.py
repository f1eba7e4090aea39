"""Updates between ranks whose supersteps have a frontier.

Updates are packed as in `kernels/cuda/refine.py`, by the bitmap of changed vertices.  Beside the list of
changed vertices, a bit is written for each boundary vertex.  If all changed vertices have the same value, as in
a level of a search, the bits are sent in place of the list.  The receiver updates its ghosts and adds them to
the next superstep's frontier: to its bitmap, to its list as far as there is room, and to its counters.  A ghost
then sends along its out-arcs on this rank like any other vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import (
    GROUPS,
    add,
    add_bits,
    has,
    place_of,
    put_words,
    votes,
)
from cugraph_ws.kernels.cuda.interface import copy_sent
from cugraph_ws.kernels.cuda.layout import (
    ACTIVE,
    AHEAD,
    COUNT,
    FRONTIER_FIGURES,
    KEPT,
    MODE,
    OUT,
    READ,
    STEPS,
    WOKEN,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    popc,
    shuffle,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.refine import fill_buffer, of_entry
from cugraph_ws.kernels.cuda.rows import reserve, sum_of_lanes
from cugraph_ws.kernels.cuda.walk import note, row_of_one

__all__ = [
    "clear_bitmap",
    "find_unlike",
    "pack_updates",
    "take_bits",
    "unpack_equal_updates",
    "unpack_updates",
    "write_frontier_header",
]

HALF = 0.5  # added to the length of a list whose values are all equal; as an integer it is still the length


@kernel
def pack_updates(
    boundary: Any, count: Any, state: Any, bitmap: Any, lengths: Any, slot: Any, places: Any, buffer: Any,
    words: Any,
) -> None:  # fmt: skip
    """Write the changed vertices of a boundary into a send buffer, and a bit for each boundary vertex.

    `places` gets their indices in the boundary; `lengths[slot]`, which is 0 before, their number.
    """
    warp = (block() * threads() + thread()) // 32
    step = blocks() * threads() * GROUPS
    for base in range(32 * GROUPS * warp + lane(), count + lane(), step):  # all lanes come along
        bits = np.int32(0)
        for group in range(GROUPS):
            entry = base + 32 * group
            vertex = np.int64(boundary[min(entry, count - 1)])  # all loads at once
            bits |= (np.int32(has(bitmap, vertex)) & np.int32(entry < count)) << group
        mine = put_words(words, base, count, bits)
        fill_buffer(base, mine, boundary, state, lengths, slot, places, buffer)


@kernel
def find_unlike(lengths: Any, slot: Any, buffer: Any, unlike: Any) -> None:
    """Make `unlike[slot]`, which is 0 before, positive if a value in a buffer differs from the first.

    The search stops once one is found; of path lengths the first few differ.
    """
    number = np.int64(lengths[slot])
    base = np.int64(32 * ((block() * threads() + thread()) // 32))
    going = True
    while going and base < number:
        entry = min(base + lane(), number - 1)
        known = shuffle(FULL, np.int64(load_fresh(unlike, slot)), 0) != 0
        differs = any_of(FULL, buffer[0][entry] != buffer[0][0])
        if differs and not known and lane() == 0:
            atomic_add(unlike, slot, 1)
        going = not (differs or known)
        base += blocks() * threads()


@inline
def list_ghost(
    first: Any, ghost: Any, offsets: Any, slot: Any, entries: Any, room: Any, control: Any
) -> Any:
    """List a ghost at its `first` update; return its out-arcs, else 0."""
    begin, degree = row_of_one(first, ghost, offsets)
    arcs = note(first, ghost, begin, degree, slot, room, entries)
    if first and slot == room:
        control[KEPT] = 0  # the list is no longer complete
    return arcs


@inline
def take_bits(
    first: Any, count: Any, words: Any, begin: Any, buffer: Any, place: Any, state: Any, bitmap: Any,
    offsets: Any, entries: Any, room: Any, control: Any,
) -> Any:  # fmt: skip
    """Give ghosts whose bit is set, from `words[begin]` on, the value at a place of a buffer; add them to the frontier.

    A warp takes the bits of 256 ghosts.  Returns the out-arcs of the lane's new ones.
    """
    warp = (block() * threads() + thread()) // 32
    step = blocks() * threads() * GROUPS
    ahead = np.int64(0)
    for base in range(32 * GROUPS * warp, count, step):
        received, fresh = np.uint32(0), np.uint32(0)
        if lane() < GROUPS and base + 32 * lane() < count:
            received = words[begin + (base >> 5) + lane()]
            fresh = add_bits(bitmap, first + base + 32 * lane(), received)
        if any_of(FULL, received != 0):
            entered = reserve(control, COUNT, np.int32(popc(fresh)))
            for group in range(GROUPS):
                ghost = np.int64(first + base + 32 * group + lane())
                if (shuffle(FULL, np.int64(received), group) >> lane()) & 1 != 0:
                    copy_sent(buffer, place, state, ghost)
                is_new, slot = place_of(group, fresh, entered)
                ahead += list_ghost(is_new, ghost, offsets, slot, entries, room, control)
    return ahead


@kernel
def unpack_equal_updates(
    first: Any, count: Any, words: Any, buffer: Any, state: Any, bitmap: Any, offsets: Any, entries: Any,
    room: Any, control: Any,
) -> None:  # fmt: skip
    """Give ghosts whose bit is set the buffer's first value, and add them to the frontier; see `unpack_updates`."""
    ahead = take_bits(
        first, count, words, 0, buffer, 0, state, bitmap, offsets, entries, room, control
    )
    ahead = sum_of_lanes(ahead)
    if lane() == 0 and ahead > 0:
        atomic_add(control, AHEAD, ahead)


@kernel
def unpack_updates(
    first: Any, count: Any, listed: Any, places: Any, buffer: Any, state: Any, active: Any,
    headers: Any, slot: Any, bitmap: Any, offsets: Any, entries: Any, room: Any, control: Any,
) -> None:  # fmt: skip
    """Update ghosts from a received buffer, and add those that are active to the frontier.

    Entries are read as by `unpack`.  `offsets` are of the rows of out-neighbours; `entries` is the
    frontier's list, with places for `room` vertices.
    """
    number = np.int64(count)
    if slot >= 0:
        number = np.int64(headers[slot])
    warp = (block() * threads() + thread()) // 32
    step = blocks() * threads() * GROUPS
    ahead = np.int64(0)
    for base in range(32 * GROUPS * warp + lane(), number + lane(), step):  # all lanes come along
        bits = np.int32(0)
        for group in range(GROUPS):
            entry = base + 32 * group
            if entry < number:
                ghost, place = of_entry(first, entry, listed, places)
                copy_sent(buffer, place, state, ghost)
                if add(bitmap, ghost) if listed == 1 else active[place] != 0:
                    bits |= np.int32(1 << group)
        mine = votes(bits)
        if listed != 1 and lane() < GROUPS:  # ghosts in a row
            mine = add_bits(bitmap, first + base + 31 * lane(), mine)
        if any_of(FULL, mine != 0):
            entered = reserve(control, COUNT, np.int32(popc(mine)))
            for group in range(GROUPS):
                is_new, at = place_of(group, mine, entered)
                ghost = np.int64(0)
                if is_new:
                    ghost, _ = of_entry(first, base + 32 * group, listed, places)
                ahead += list_ghost(is_new, ghost, offsets, at, entries, room, control)
    ahead = sum_of_lanes(ahead)
    if lane() == 0 and ahead > 0:
        atomic_add(control, AHEAD, ahead)


@kernel
def clear_bitmap(control: Any, words: Any, bitmap: Any) -> None:
    """Clear the frontier's bitmap if no vertex was active, since the superstep has not cleared it.

    If a list is kept, it has been cleared already.
    """
    if control[STEPS] == 0 and control[KEPT] == 0:
        for word in range(block() * threads() + thread(), words, blocks() * threads()):
            bitmap[word] = np.uint32(0)


@kernel
def write_frontier_header(
    control: Any, records: Any, lengths: Any, unlike: Any, slots: Any, header: Any
) -> None:
    """Write the superstep's record and then all lengths into a header that other ranks read.

    If all values of a list are equal, `HALF` is added to its length.  One block.  Lengths, the superstep's
    record and its counters become 0 for the next one.
    """
    if thread() == 0:
        header[ACTIVE] = np.float64(control[COUNT])
        header[OUT] = np.float64(control[AHEAD])
        header[READ] = np.float64(records[1])
        header[MODE] = np.float64(records[2])
    sync_block()
    for place in range(thread(), WOKEN, threads()):
        if place < 3:
            records[place] = np.int64(0)
        if place >= STEPS:
            control[place] = np.int64(0)
    for place in range(thread(), slots, threads()):
        length = np.float64(lengths[place])
        if length > 0 and unlike[place] == 0:
            length += HALF
        header[FRONTIER_FIGURES + place] = length
        lengths[place] = np.int64(0)
        unlike[place] = np.int64(0)
