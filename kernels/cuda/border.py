"""News across the border of a share, where its supersteps are a frontier's.

What leaves is packed as in `kernels/cuda/refine.py`, by the bitmap of who has news.  What comes in brings
ghosts up to date and puts them into the next superstep's frontier: its bitmap, its list as far as there
is room, and its counters.  Then a ghost sends along its out-arcs in this share like any other vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add
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
    block,
    blocks,
    kernel,
    lane,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import reserve, sum_of_lanes

__all__ = ["sweep", "tell_frontier", "wake"]


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
            ghost = np.int64(first + entry)
            place = np.int64(entry)
            if listed == 1:
                ghost = np.int64(first + places[entry])
            if listed == 2:
                place = np.int64(places[entry])
            copy_sent(box, place, state, ghost)
            news = listed == 1 or active[place] != 0
        if news:
            news = add(bitmap, ghost)
        if any_of(FULL, news):
            begin, degree = row_of_one(news, ghost, offsets)
            entered = reserve(control, COUNT, np.int32(news))
            ahead += note(news, ghost, begin, degree, entered, room, entries)
            if news and entered == room:
                control[KEPT] = 0  # the list is not whole any more
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
def tell_frontier(control: Any, records: Any, lengths: Any, slots: Any, header: Any) -> None:
    """Write what a superstep did and, behind it, all lengths into a header, which others will read.

    One block does it.  Lengths, the superstep's record and its counters become 0 for the next one.
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
        header[FRONTIER_FIGURES + place] = np.float64(lengths[place])
        lengths[place] = np.int64(0)
