"""Dense supersteps that choose the heaviest of the messages of each row: `combine = ws.mode()`.

Messages are counted by keys: integers ordered as the messages' values, and equal for values that
count as one.  The weights of a key are added up in the order of sources, in chunks (decision 47).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.interface import (
    CHUNK,
    KEEPS,
    ROUNDED,
    SETTLES,
    change,
    empty_slots,
    is_active,
    is_settled,
    keep,
    key_at,
    keys_of,
    label_at,
    load,
    load_target,
    message,
    no_weight,
    nothing,
    put,
    put_message,
    update,
    weight_at,
)
from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["gather_modes", "heaviest"]

# The key of a free slot; a message with this key has a slot of its own, the last one
FREE = -(2**63)
SPREAD = 0x9E3779B97F4A7C15 - 2**64  # 2^64 over the golden ratio


@jit
def empty_table(longest: Any) -> Any:
    """Return by slot: keys, sums, numbers of messages in this chunk, sums of the full chunks.

    The last two are used for rows of more than a chunk, if sums depend on their order.
    """
    size = 2
    while size < 2 * longest:
        size *= 2
    more = size + 1 if ROUNDED and longest > CHUNK else 0
    none = no_weight()
    return (
        np.empty(size + 1, np.int64),
        np.full(size + 1, none),
        np.empty(more, np.uint8),
        np.full(more, none),
    )


@inline
def clear(keys: Any, count: Any) -> Any:
    """Free the slots of a row's table, and return their number less one."""
    size = 2
    while size < 2 * count:
        size *= 2
    keys[: size + 1] = FREE
    return size - 1


@inline
def slot_of(keys: Any, key: Any, mask: Any) -> Any:
    """Return the slot of a key, or the free one where it belongs."""
    if key == FREE:
        return mask + 1
    slot = (((key ^ (key >> 32)) * SPREAD) >> 32) & mask
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & mask
    return slot


@jit
def heaviest_of_totals(places: Any, table: Any, count: Any, mask: Any) -> Any:
    """Return the place of the heaviest message of a row whose weights have been added up."""
    keys, sums, _, chunks = table
    chosen, best, most = 0, key_at(places, 0), no_weight()
    for place in range(count):
        key = key_at(places, place)
        slot = slot_of(keys, key, mask)
        total = sums[slot]
        if ROUNDED and count > CHUNK:
            total = chunks[slot] + total
        above = total > most or (most != most and total == total)
        level = total == most or (most != most and total != total)
        if place == 0 or above or (level and key < best):
            chosen, best, most = place, key, total
    return chosen


@jit
def heaviest_in_chunks(slots: Any, places: Any, table: Any, count: Any) -> Any:
    """Return the place of the heaviest message of a row of more than a chunk, as `heaviest` does.

    `sums` are those of the chunks that are not full yet, `chunks` those of all full ones.
    """
    keys, sums, numbers, chunks = table
    mask = clear(keys, count)
    sums[mask + 1] = chunks[mask + 1] = no_weight()
    numbers[mask + 1] = 0
    chosen, best, most, rising = 0, key_at(places, 0), no_weight() - 1, True
    for place in range(count):
        key = key_at(places, place)
        weight = weight_at(slots, place)
        slot = slot_of(keys, key, mask)
        if keys[slot] != key:
            keys[slot] = key
            sums[slot] = chunks[slot] = no_weight()
            numbers[slot] = 0
        part = sums[slot] + weight
        total = chunks[slot] + part
        number = numbers[slot] + 1
        if number == CHUNK:
            chunks[slot] = total
            part, number = no_weight(), 0
        sums[slot] = part
        numbers[slot] = number
        if not (weight >= 0 and total >= 0):
            rising = False
        if total > most or (total == most and key < best):
            chosen, best, most = place, key, total
    return chosen if rising else heaviest_of_totals(places, table, count, mask)


@inline
def heaviest(slots: Any, places: Any, table: Any, count: Any) -> Any:
    """Return the place of a message whose key has the greatest total weight, the least such key.

    A total that is NaN is below all others.  While totals only grow, the greatest one is seen when its last
    weight is added.
    """
    keys, sums, _, _ = table
    mask = clear(keys, count)
    sums[mask + 1] = no_weight()
    chosen = 0
    best = key_at(places, 0)
    most = no_weight() - 1
    rising = True
    for place in range(count):
        key = key_at(places, place)
        weight = weight_at(slots, place)
        slot = slot_of(keys, key, mask)
        if keys[slot] != key:
            keys[slot] = key
            sums[slot] = no_weight()
        total = sums[slot] + weight
        sums[slot] = total
        if not (weight >= 0 and total >= 0):
            rising = False
        if total > most or (total == most and key < best):
            chosen = place
            best = key
            most = total
    return chosen if rising else heaviest_of_totals(places, table, count, mask)


@jit
def empty_label() -> Any:
    """Return a buffer with the message that stands for none."""
    slots = empty_slots(1)
    put_message(slots, 0, nothing())
    return slots


@jit
def gather_modes(
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
    """Compute the vertices [low, high) from the heaviest of their messages.

    Reads `state`, writes `fresh`.  `totals` is as in `dense.gather`.
    """
    offsets, indices = adjacency
    longest = np.int64(0)  # the literal 0 is a type of its own, for which more is compiled
    for vertex in range(low, high):
        longest = max(longest, offsets[vertex + 1] - offsets[vertex])
    slots = empty_slots(longest)
    places = keys_of(slots)
    table = empty_table(longest)
    unheard = label_at(empty_label(), 0)
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
            gathered = unheard
            if ROUNDED and count > CHUNK:
                gathered = label_at(slots, heaviest_in_chunks(slots, places, table, count))
            elif count > 0:
                gathered = label_at(slots, heaviest(slots, places, table, count))
            new = update(old, gathered, values)
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
