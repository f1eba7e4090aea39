"""The heaviest of the messages of each row: counted in hash tables, as labels are; see `communities`.

Messages are of any type of up to 64 bits, so they are counted by keys: integers in the order of the messages,
equal for equal ones.  Weights are integers, or floats whose sums are exact in any order.  A free slot has the
key `FREE`.  A message with that key is counted behind the table, in a slot of its own; there any other key says
that it came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.communities import (
    FREE,
    SHARE,
    TABLE,
    WARPS,
    best_of_block,
    best_of_lanes,
    better,
    clear,
    read_slot,
    slots_for,
)
from cugraph_ws.kernels.cuda.layout import LOWEST, STOP, UNCHOSEN
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    atomic_compare_and_swap,
    atomic_max,
    atomic_min,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    lean,
    shared,
    sync_block,
    sync_warp,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import greatest_of_lanes, least_of_lanes

__all__ = ["choose_modes", "measure_weights"]

SLOTS = TABLE + WARPS  # one behind the table of each warp
SPREAD = 0x9E3779B97F4A7C15 - 2**64  # 2^64 over the golden ratio


@inline
def key_of(messages: Any, place: Any) -> Any:
    """Return the key of a message."""
    labels, _, (flip, infinity, unknown) = messages
    key = np.int64(labels[place])
    if flip != 0:
        if key < 0:
            key = np.int64(key ^ flip)
        if key == -1:  # -0.0
            key = np.int64(0)
        if key > infinity or key < ~infinity:
            key = np.int64(unknown)
    return key


@inline
def weight_of_message(messages: Any, place: Any) -> Any:
    """Return the weight of a message."""
    _, (weights, weighted, scale), _ = messages
    weight = np.int64(1)
    if weighted:
        if scale != 0.0:
            weight = np.int64(np.float64(weights[place]) * scale)
        else:
            weight = np.int64(weights[place])
    return weight


@inline
def choose(chosen: Any, row: Any, key: Any, messages: Any) -> None:
    """Store the message with a key."""
    flip = messages[2][0]
    chosen[row] = key ^ flip if key < 0 else key


@inline
def add_message(table: Any, base: Any, size: Any, key: Any, weight: Any) -> None:
    """Add a weight to the sum of a key."""
    keys, sums = table
    slot = (((key ^ ((key >> 32) & 0xFFFFFFFF)) * SPREAD) >> 32) & (size - 1)
    stored_key = key
    if key == FREE:
        slot, stored_key = size, np.int64(0)
    waits = True
    while waits:
        slot_key = np.int64(atomic_compare_and_swap(keys, base + slot, np.int64(FREE), stored_key))
        if slot_key == FREE:
            slot_key = stored_key
        if slot_key == stored_key:
            atomic_add(sums, base + slot, weight)
            waits = False
        slot = (slot + 1) & (size - 1)


@inline
def add_messages(
    messages: Any, first: Any, last: Any, step: Any, table: Any, base: Any, size: Any
) -> None:
    """Add the weights of every `step`-th message of a row to the sums of their keys."""
    for place in range(first, last, step):
        add_message(table, base, size, key_of(messages, place), weight_of_message(messages, place))


@inline
def best_of_slots(table: Any, base: Any, size: Any, start: Any, step: Any, far: Any) -> Any:
    """Return the greatest sum in a thread's slots, and its key: the least of several."""
    keys, sums = table
    most, best = np.int64(LOWEST), np.int64(UNCHOSEN)
    for slot in range(start, size + 1, step):
        key = read_slot(keys, base + slot, far)
        if key != FREE:
            if slot == size:
                key = np.int64(FREE)
            total = read_slot(sums, base + slot, far)
            if better(total, key, most, best):
                most, best = total, key
    return most, best


@inline
def best_by_thread(messages: Any, first: Any, last: Any) -> Any:
    """Return the key of the heaviest of a few messages."""
    most, best = np.int64(LOWEST), np.int64(UNCHOSEN)
    for place in range(first, last):
        key, total = key_of(messages, place), np.int64(0)
        for other_place in range(first, last):
            if key_of(messages, other_place) == key:
                total += weight_of_message(messages, other_place)
        if better(total, key, most, best):
            most, best = total, key
    return best


@inline
def choose_by_block(
    offsets: Any, messages: Any, row: Any, chosen: Any, table: Any, base: Any, far: Any, scores: Any,
    warp_keys: Any,
) -> None:  # fmt: skip
    """Choose the message of a row, all threads of the block together."""
    first, last = np.int64(offsets[row]), np.int64(offsets[row + 1])
    size = slots_for(last - first)
    clear(table, base, size + 1, thread(), threads(), far)
    sync_block()
    add_messages(messages, first + thread(), last, threads(), table, base, size)
    sync_block()
    most, best = best_of_slots(table, base, size, thread(), threads(), far)
    best = best_of_block(most, best, scores, warp_keys)
    sync_block()
    if thread() == 0:
        choose(chosen, row, best, messages)


@kernel
def measure_weights(bits: Any, arcs: Any, digits: Any, top: Any, exponents: Any) -> None:
    """Find the least unit and the greatest exponent of weights that are floats.

    A weight's unit is the greatest power of 2 that divides it.  `exponents` gets the least unit's exponent plus the
    bias and `digits`, and the greatest weight's exponent plus the bias.  Zeros have neither.

    Parameters
    ----------
    bits : int[arcs]
        The weights' bits.
    arcs : int
    digits, top : int
        Bits of a fraction, and the exponent of infinity and NaN.
    exponents : int64[2]
        Lowered; raised.
    """
    least, most = np.int64(UNCHOSEN), np.int64(LOWEST)
    for place in range(block() * threads() + thread(), arcs, blocks() * threads()):
        word = np.int64(bits[place])
        exponent, digit = (word >> digits) & top, np.int64(1) << digits
        number = word & (digit - 1)
        if exponent > 0:
            number += digit
        if number != 0:
            exponent = max(exponent, np.int64(1))
            low = number & 0xFFFFFFFF
            zeros = np.int64(ffs(low)) - 1
            if low == 0:
                zeros = np.int64(31) + ffs(number >> 32)
            least, most = min(least, exponent + zeros), max(most, exponent)
    least, most = least_of_lanes(least, 32), greatest_of_lanes(most)
    if lane() == 0 and least != UNCHOSEN:
        atomic_min(exponents, 0, least)
        atomic_max(exponents, 1, most)


@lean(64)
@kernel
def choose_modes(
    offsets: Any, messages: Any, order: Any, bounds: Any, chosen: Any, far_table: Any, room: Any,
    tables: Any, control: Any,
) -> None:  # fmt: skip
    """Choose for each row the message of the greatest total weight, the least of several.

    Parameters
    ----------
    offsets : int64[n + 1]
        Of the rows' messages.
    messages : tuple of (int[arcs], (int or float[arcs], bool, float), (int, int, int))
        Messages as integers of their bits.  Weights; whether they count, else each is 1; and what makes
        integers of them, a power of two, 0 for integers.  Of messages that are floats, the bits that make
        negative ones ascend, and the keys of infinity and of NaN, which is above; of integers, zeros.
    order : int64[n]
        Rows by kind; see `communities`.
    bounds : int64[5]
        Ends of the kinds.
    chosen : int[n]
        Written, as bits; not for a row without messages.
    far_table : tuple of (int64[slots], int64[slots])
        Tables in global memory, of `room` slots each.
    room, tables : int
    control : int64[...]
        Of the supersteps; nothing is done if they are over.
    """
    if control[STOP] != 0:
        return
    table = shared(SLOTS, np.int64), shared(SLOTS, np.int64)
    scores, warp_keys = shared(WARPS, np.int64), shared(WARPS, np.int64)
    place_of, everyone = block() * threads() + thread(), blocks() * threads()
    for place in range(bounds[0] + place_of, bounds[1], everyone):
        row = order[place]
        first, last = np.int64(offsets[row]), np.int64(offsets[row + 1])
        if first < last:
            choose(chosen, row, best_by_thread(messages, first, last), messages)
    base = np.int64(thread() // 32 * (SHARE + 1))
    for place in range(bounds[1] + place_of // 32, bounds[2], everyone // 32):
        row = order[place]
        first, last = np.int64(offsets[row]), np.int64(offsets[row + 1])
        size = slots_for(last - first)
        clear(table, base, size + 1, lane(), 32, False)
        sync_warp(FULL)
        add_messages(messages, first + lane(), last, 32, table, base, size)
        sync_warp(FULL)
        most, best = best_of_slots(table, base, size, lane(), 32, False)
        most, best = best_of_lanes(most, best)
        sync_warp(FULL)
        if lane() == 0:
            choose(chosen, row, best, messages)
    sync_block()
    for place in range(bounds[2] + block(), bounds[3], blocks()):
        choose_by_block(
            offsets, messages, order[place], chosen, table, 0, False, scores, warp_keys
        )  # fmt: skip
    if block() < tables:
        for place in range(bounds[3] + block(), bounds[4], min(tables, blocks())):
            choose_by_block(
                offsets, messages, order[place], chosen, far_table, np.int64(block()) * room, True,
                scores, warp_keys,
            )  # fmt: skip
