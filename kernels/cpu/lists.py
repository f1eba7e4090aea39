"""Dense supersteps that list the messages of each row, for `gather_list`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.interface import (
    KEEPS,
    SETTLES,
    change,
    empty_slots,
    gather_row,
    is_active,
    is_settled,
    keep,
    load,
    load_target,
    message,
    put,
    put_message,
    sort_slots,
    update,
    with_notes,
)
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["gather_lists"]


@jit
def gather_lists(
    low: Any,
    high: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    fresh: Any,
    constants: Any,
    values: Any,
    totals: Any,
) -> None:
    """Compute the vertices [low, high) from the lists of their messages.

    Reads `state`, writes `fresh`.  `totals` is as in `dense.gather`.
    """
    offsets, indices = adjacency
    longest = np.int64(0)  # the literal 0 is a type of its own, for which more is compiled
    for vertex in range(low, high):
        longest = max(longest, offsets[vertex + 1] - offsets[vertex])
    slots = with_notes(empty_slots(longest), edges)
    active = 0
    total = 0.0
    greatest = 0.0
    for vertex in range(low, high):
        first = offsets[vertex]
        count = offsets[vertex + 1] - first
        old = load(state, constants, vertex)
        new = keep(old)
        hears = not (KEEPS and count == 0) and not (SETTLES and is_settled(old, values))
        if hears:
            target = load_target(state, constants, vertex)
            for place in range(count):
                arc = first + place
                source = load(state, constants, indices[arc])
                put_message(slots, place, message(source, target, edges, arc, values))
            sort_slots(slots, count)
            new = update(old, gather_row(old, slots, 0, count, values), values)
        if hears and is_active(old, new, values):
            active += 1
        size = change(old, new)
        total += size
        if size > greatest or size != size:  # a NaN stays
            greatest = size
        put(fresh, vertex, new)
    totals[0] = active
    totals[1] = total
    totals[2] = greatest
