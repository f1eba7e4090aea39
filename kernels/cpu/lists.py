"""Dense supersteps that list the messages of each row: for the most frequent, and `gather_list`."""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.interface import (
    CHUNK,
    KEEPS,
    SETTLES,
    WEIGHTED,
    alike,
    change,
    empty_slots,
    gather_row,
    is_active,
    is_settled,
    keep,
    label_at,
    load,
    load_target,
    message,
    no_weight,
    nothing,
    put,
    put_message,
    sort_slots,
    update,
    weight_at,
    with_notes,
)
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["gather_lists", "most_frequent"]


@jit
def weigh(slots: Any, first: Any, last: Any) -> Any:
    """Return the total weight of the messages [first, last), which have the same value."""
    total = no_weight()
    if not WEIGHTED:
        return total + (last - first)
    for begin in range(first, last, CHUNK):
        part = no_weight()
        for place in range(begin, min(begin + CHUNK, last)):
            part += weight_at(slots, place)
        total += part
    return total


@jit
def most_frequent(slots: Any, first: Any, count: Any) -> Any:
    """Return the value of the greatest total weight among sorted messages, the least of several.

    A total that is NaN is below all others.
    """
    if count == 0:
        return label_at(empty_label(), 0)
    chosen = first
    heaviest = no_weight()
    start = first
    end = first + count
    while start < end:
        label = label_at(slots, start)
        after = start + 1
        while after < end and alike(label_at(slots, after), label):
            after += 1
        total = weigh(slots, start, after)
        better = total > heaviest or (heaviest != heaviest and total == total)
        if start == first or better:
            chosen = start
            heaviest = total
        start = after
    return label_at(slots, chosen)


@jit
def empty_label() -> Any:
    """Return a buffer with the message that stands for none."""
    slots = empty_slots(1)
    put_message(slots, 0, nothing())
    return slots


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
    longest = 0
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
