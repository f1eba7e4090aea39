"""Of programs with a priority: which of the vertices that wait are due next.

Active vertices that are not due have a bit in a second bitmap.  When no others are left, those within the next limit
are moved to the frontier (Davidson, Baxter, Garland, Owens 2014; a limit that adapts as in Wang, Fussell, Lin 2021).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import list_words
from cugraph_ws.kernels.cuda.interface import glance, order
from cugraph_ws.kernels.cuda.layout import (
    ABOVE,
    DEGREES,
    FILLED,
    LEAST,
    LIMIT,
    WAITERS,
    WIDTH,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    atomic_compare_and_swap,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    lane,
    load_fresh,
    popc,
    shuffle,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import least_of_lanes, reserve, sum_of_lanes

__all__ = ["begin_wait", "list_due", "next_limit", "weigh"]


@inline
def due_bits(
    mask: Any, words: Any, first: Any, state: Any, constants: Any, values: Any, limit: Any
) -> Any:
    """Return the lane's word without the vertices that are not due; each lane holds one of 32 words."""
    due_word = words
    while mask != 0:
        place = ffs(mask) - 1
        mask = np.uint32(mask & (mask - 1))
        word = shuffle(FULL, np.int64(words), place)
        due = (word >> lane()) & 1 != 0
        if due:
            vertex = ((first + place) << 5) + lane()
            due = not order(glance(state, constants, vertex), values) > limit
        bits = ballot(FULL, due)
        if lane() == place:
            due_word = bits
    return due_word


@inline
def weigh(words: Any, later: Any, state: Any, constants: Any, values: Any, horizon: Any) -> None:
    """Find the least priority of waiting vertices, the sum of their priorities, and their number."""
    least, above, count = np.inf, 0.0, 0.0
    for first in range(32 * ((block() * threads() + thread()) // 32), words, blocks() * threads()):
        mine = np.uint32(0)
        if first + lane() < words:
            mine = later[first + lane()]
        mask = ballot(FULL, mine != 0)
        while mask != 0:
            place = ffs(mask) - 1
            mask = np.uint32(mask & (mask - 1))
            word = shuffle(FULL, np.int64(mine), place)
            if (word >> lane()) & 1 != 0:
                when = order(glance(state, constants, ((first + place) << 5) + lane()), values)
                above += when
                count += 1.0
                least = min(least, when)
    least = least_of_lanes(least, 32)
    above, count = sum_of_lanes(above), sum_of_lanes(count)
    if lane() == 0 and count > 0.0:
        atomic_add(horizon, ABOVE, above)
        atomic_add(horizon, WAITERS, count)
        current = load_fresh(horizon, LEAST)
        while least < current:
            previous = atomic_compare_and_swap(horizon, LEAST, current, least)
            current = least if previous == current else previous


@inline
def next_limit(horizon: Any, limit: Any, goal: Any) -> Any:
    """Return a limit of priorities that should admit `goal` vertices, and how far it is above the least."""
    waiting, least = horizon[WAITERS], horizon[LEAST]
    width = 2.0 * (horizon[ABOVE] / waiting - least) * goal / waiting
    if waiting < goal:
        width = max(width, 2.0 * (least - limit), 2.0 * horizon[WIDTH])
    if not (width > 0.0 and width < np.inf):
        width = 0.0
    return least + width, width


@inline
def list_due(
    words: Any, now: Any, later: Any, listed: Any, offsets: Any, control: Any, turn: Any,
    state: Any, constants: Any, values: Any, limit: Any,
) -> None:  # fmt: skip
    """Move vertices that have become due from `later` to the frontier; list them, and count their out-arcs."""
    arcs = np.int64(0)
    for first in range(32 * ((block() * threads() + thread()) // 32), words, blocks() * threads()):
        mine = np.uint32(0)
        if first + lane() < words:
            mine = later[first + lane()]
        mask = ballot(FULL, mine != 0)
        if mask != 0:
            due = due_bits(mask, mine, first, state, constants, values, limit)
            if due != 0:
                now[first + lane()] = due
                later[first + lane()] = mine ^ due
            slot = reserve(control, FILLED + turn, np.int32(popc(due)))
            arcs += list_words(due, first, slot, listed, offsets)
    arcs = sum_of_lanes(arcs)
    if lane() == 0 and arcs > 0:
        atomic_add(control, DEGREES + turn, arcs)


@inline
def begin_wait(horizon: Any, limit: Any, width: Any) -> None:
    """Store a new limit, and clear what `weigh` adds to; one thread does it."""
    horizon[LIMIT] = limit
    horizon[WIDTH] = width
    horizon[LEAST] = np.inf
    horizon[ABOVE] = 0.0
    horizon[WAITERS] = 0.0
