"""News across the border of a share, where its supersteps are a frontier's.

What leaves is packed as in `kernels/cuda/refine.py`, by the bitmap of who has news; beside the list of who
they are a bit for each vertex of the boundary is written, which travels instead where all have the same
value, as on a level of a search.  What comes in brings ghosts up to date and puts them into the next
superstep's frontier: its bitmap, its list as far as there is room, and its counters.  Then a ghost sends
along its out-arcs in this share like any other vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add, has
from cugraph_ws.kernels.cuda.frontier import note, row_of_one
from cugraph_ws.kernels.cuda.interface import copy_sent
from cugraph_ws.kernels.cuda.layout import (
    ACTIVE,
    AHEAD,
    COUNT,
    FRONTIER_FIGURES,
    KEPT,
    LISTED,
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
    ballot,
    block,
    blocks,
    inline,
    kernel,
    lane,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.refine import of_entry
from cugraph_ws.kernels.cuda.rows import reserve, sum_of_lanes

__all__ = ["count_unlike", "pack_news", "sweep", "tell_frontier", "wake", "wake_alike"]

HALF = 0.5  # more than a length is told of vertices whose values are all alike; whoever reads it as whole is right


@kernel
def pack_news(
    boundary: Any, count: Any, state: Any, bitmap: Any, lengths: Any, slot: Any, places: Any, box: Any,
    words: Any,
) -> None:  # fmt: skip
    """Write those of a boundary's vertices that have news into a box, and a bit for each of all.

    `places` tells which entries of the boundary they are; `lengths[slot]`, which is 0 before, how many.
    """
    for base in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        entry = base + lane()  # every lane of a warp comes along
        vertex = np.int64(0)
        news = False
        if entry < count:
            vertex = np.int64(boundary[entry])
            news = has(bitmap, vertex)
        votes = ballot(FULL, news)
        if lane() == 0:
            words[base >> 5] = votes
        if votes != 0:
            place = reserve(lengths, slot, np.int32(news))
            if news:
                places[place] = entry
                copy_sent(state, vertex, box, place)


@kernel
def count_unlike(lengths: Any, slot: Any, box: Any, unlike: Any) -> None:
    """Count the values in a box that are not the first one's, into `unlike[slot]`."""
    found = np.int64(0)
    number = np.int64(lengths[slot])
    for entry in range(block() * threads() + thread(), number, blocks() * threads()):
        if box[0][entry] != box[0][0]:
            found += 1
    found = sum_of_lanes(found)
    if lane() == 0 and found > 0:
        atomic_add(unlike, slot, found)


@inline
def enter(
    news: Any, ghost: Any, bitmap: Any, offsets: Any, entries: Any, room: Any, control: Any
) -> Any:
    """Put the ghosts of a warp that have news into the frontier; return the lane's out-arcs."""
    arcs = np.int64(0)
    if news:
        news = add(bitmap, ghost)
    if any_of(FULL, news):
        begin, degree = row_of_one(news, ghost, offsets)
        entered = reserve(control, COUNT, np.int32(news))
        arcs = note(news, ghost, begin, degree, entered, room, entries)
        if news and entered == room:
            control[KEPT] = 0  # the list is not whole any more
    return arcs


@kernel
def wake_alike(
    first: Any, count: Any, words: Any, box: Any, state: Any, bitmap: Any, offsets: Any, entries: Any,
    room: Any, control: Any,
) -> None:  # fmt: skip
    """Give the ghosts whose bit is set the first value of a box, and put them into the frontier.

    The rest is as for `wake`.
    """
    ahead = np.int64(0)
    for base in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        word = np.int64(words[base >> 5])
        if word != 0:
            ghost = np.int64(first + base + lane())
            news = (word >> lane()) & 1 != 0
            if news:
                copy_sent(box, 0, state, ghost)
            ahead += enter(news, ghost, bitmap, offsets, entries, room, control)
    ahead = sum_of_lanes(ahead)
    if lane() == 0 and ahead > 0:
        atomic_add(control, AHEAD, ahead)


@kernel
def wake(
    first: Any, count: Any, listed: Any, places: Any, box: Any, state: Any, active: Any,
    headers: Any, slot: Any, bitmap: Any, offsets: Any, entries: Any, room: Any, control: Any,
) -> None:  # fmt: skip
    """Bring ghosts up to date with what is in a box, and put those with news into the frontier.

    Which ghosts came, and where in the box they are, is as for `unpack`.  `offsets` are of the rows of
    out-neighbours; `entries` is the frontier's list, which has `room` for so many.
    """
    number = np.int64(count)
    if slot >= 0:
        number = np.int64(headers[slot])
    ahead = np.int64(0)
    for base in range(block() * threads() + thread() - lane(), number, blocks() * threads()):
        entry = base + lane()  # every lane of a warp comes along
        ghost = np.int64(0)
        news = False
        if entry < number:
            ghost, place = of_entry(first, entry, listed, places)
            copy_sent(box, place, state, ghost)
            news = listed == 1 or active[place] != 0
        ahead += enter(news, ghost, bitmap, offsets, entries, room, control)
    ahead = sum_of_lanes(ahead)
    if lane() == 0 and ahead > 0:
        atomic_add(control, AHEAD, ahead)


@kernel
def sweep(control: Any, words: Any, bitmap: Any) -> None:
    """Clear the bitmap of those with news if nobody was active: the superstep has left it as it was.

    A list that is kept has cleared it already.
    """
    if control[STEPS] == 0 and control[KEPT] == 0:
        for word in range(block() * threads() + thread(), words, blocks() * threads()):
            bitmap[word] = np.uint32(0)


@kernel
def tell_frontier(
    control: Any, records: Any, lengths: Any, unlike: Any, slots: Any, header: Any
) -> None:
    """Write what a superstep did and, behind it, all lengths into a header, which others will read.

    To the length of a list of vertices whose values are all alike `HALF` is added.  One block does it.
    Lengths, the superstep's record and its counters become 0 for the next one.
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
        if place == STEPS or place >= LISTED:
            control[place] = np.int64(0)
    for place in range(thread(), slots, threads()):
        told = np.float64(lengths[place])
        if told > 0 and unlike[place] == 0:
            told += HALF
        header[FRONTIER_FIGURES + place] = told
        lengths[place] = np.int64(0)
        unlike[place] = np.int64(0)
