"""Messages of loopy sum-product, as logarithms; see `kernels.cpu.belief` for what they are.

Messages lie in the order of the arcs, `states` numbers each: first those along the edges, in the
order of the CSC, then, of a directed graph, those against them, in that of the CSR.  So a vertex
receives the messages of its two rows.  `reverse` is the place of the message that goes the other
way along the same edge.
"""

from __future__ import annotations

import math
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
    shared,
    shuffle,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import greatest_of_lanes, row_of, sum_of_lanes

__all__ = ["BLOCK", "add_messages", "pair_arcs", "send_coupled", "send_potts"]

BLOCK = 128  # threads of a block, at most
HELD = 8  # states whose weights a thread keeps in shared memory; of others it computes them again
ARCS = 1024  # that a warp takes in turn
LONG, HUGE = 32, 4096  # messages from which on a warp, and a block, add up a row


@inline
def first_not_below(indices: Any, low: Any, high: Any, vertex: Any) -> Any:
    """Return the first place in an ascending row that is `vertex` or more."""
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < vertex:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def pair_arcs(
    offsets: Any,
    indices: Any,
    back_offsets: Any,
    back_indices: Any,
    size: Any,
    arcs: Any,
    shift: Any,
    reverse: Any,
) -> None:
    """Find for each arc the arc the other way along the same edge.

    Rows are ascending and parallel edges in one order everywhere: the k-th of parallel arcs belongs
    to the k-th of those that lead back.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    back_offsets, back_indices : int64[size + 1], int[arcs]
        Those of the other direction.
    size, arcs : int
    shift : int
        Where the messages of the other direction begin.
    reverse : int64[shift + arcs]
        Written, in both directions.
    """
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    for low in range(warp * ARCS, arcs, warps * ARCS):
        high = min(low + ARCS, arcs)
        row = row_of(offsets, size, min(low + lane(), high - 1))
        for arc in range(low + lane(), high, 32):
            while offsets[row + 1] <= arc:
                row += 1
            neighbour = indices[arc]
            copies = arc - first_not_below(indices, offsets[row], arc, neighbour)
            begin, end = back_offsets[neighbour], back_offsets[neighbour + 1]
            back = shift + first_not_below(back_indices, begin, end, row) + copies
            reverse[arc] = back
            if shift > 0:
                reverse[back] = arc


@inline
def add_row(
    offsets: Any, base: Any, messages: Any, states: Any, row: Any, state: Any, first: Any, step: Any
) -> Any:
    """Add up one state of every `step`-th message of a row from `first` on."""
    total = 0.0
    for arc in range(offsets[row] + first, offsets[row + 1], step):
        total += messages[(base + arc) * states + state]
    return total


@inline
def add_rows(
    rows: Any, parts: Any, arcs: Any, messages: Any, states: Any, row: Any, state: Any,
    first: Any, step: Any,
) -> Any:  # fmt: skip
    """Add up one state of every `step`-th message of both rows of a vertex."""
    total = add_row(rows[0], 0, messages, states, row, state, first, step)
    if parts > 1:
        total += add_row(rows[1], arcs, messages, states, row, state, first, step)
    return total


@kernel
def add_messages(
    rows: Any,
    parts: Any,
    arcs: Any,
    messages: Any,
    log_priors: Any,
    totals: Any,
    size: Any,
    states: Any,
) -> None:
    """Sum the log prior of each vertex and the messages that it receives.

    Parameters
    ----------
    rows : tuple of int64[size + 1]
        Offsets of the CSC and the CSR.
    parts : int
        2, or 1 if there are no messages against the edges.
    arcs : int
        Arcs of the CSC.
    messages : float64[parts * arcs * states]
    log_priors : float64[size * states]
    totals : float64[size * states]
        Written.
    size, states : int
    """
    hubs = shared(1024, np.int64)
    number_of_hubs = shared(1, np.int32)
    partial = shared(32, np.float64)
    if thread() == 0:
        number_of_hubs[0] = 0
    sync_block()
    items = size * states
    for base in range(block() * threads(), items, blocks() * threads()):
        item = np.int64(base + thread())
        length = np.int64(-1)
        if item < items:
            row = item // states
            length = rows[0][row + 1] - rows[0][row]
            if parts > 1:
                length += rows[1][row + 1] - rows[1][row]
        if 0 <= length < LONG:
            total = add_rows(
                rows, parts, arcs, messages, states, item // states, item % states, 0, 1
            )
            totals[item] = log_priors[item] + total
        if length >= HUGE:
            hubs[atomic_add(number_of_hubs, 0, 1)] = item
        waiting = np.int64(np.uint32(ballot(FULL, LONG <= length < HUGE)))
        while waiting != 0:
            shown = shuffle(FULL, item, np.int32(ffs(waiting)) - 1)
            waiting &= waiting - 1
            total = sum_of_lanes(
                add_rows(
                    rows, parts, arcs, messages, states, shown // states, shown % states, lane(), 32
                )
            )
            if lane() == 0:
                totals[shown] = log_priors[shown] + total
        sync_block()
        for hub in range(number_of_hubs[0]):
            shown = hubs[hub]
            total = sum_of_lanes(
                add_rows(
                    rows, parts, arcs, messages, states, shown // states, shown % states, thread(),
                    threads(),
                )
            )  # fmt: skip
            if lane() == 0:
                partial[thread() // 32] = total
            sync_block()
            if thread() == 0:
                for warp in range(1, threads() // 32):
                    total += partial[warp]
                totals[shown] = log_priors[shown] + total
            sync_block()
        sync_block()
        if thread() == 0:
            number_of_hubs[0] = 0
        sync_block()


@inline
def belief(totals: Any, sender: Any, old: Any, back: Any, largest: Any, state: Any) -> Any:
    """Return what a sender believes without the receiver's own message; the largest is 1."""
    return math.exp(totals[sender + state] - old[back + state] - largest)


@inline
def hold(weights: Any, totals: Any, sender: Any, old: Any, back: Any, states: Any) -> Any:
    """Keep a sender's beliefs in shared memory; return the logarithm of the largest."""
    largest = -math.inf
    for state in range(states):
        largest = max(largest, totals[sender + state] - old[back + state])
    for state in range(min(states, HELD)):
        weights[state * threads() + thread()] = belief(totals, sender, old, back, largest, state)
    return largest


@inline
def held(
    weights: Any, totals: Any, sender: Any, old: Any, back: Any, largest: Any, state: Any
) -> Any:
    """Return one of the sender's beliefs: kept, or computed again."""
    if state < HELD:
        return weights[state * threads() + thread()]
    return belief(totals, sender, old, back, largest, state)


@inline
def settle(new: Any, old: Any, place: Any, states: Any, damping: Any) -> Any:
    """Scale a new message, mix its logarithm with the old one, and return the largest change."""
    largest = new[place]
    for state in range(1, states):
        largest = max(largest, new[place + state])
    change = 0.0
    for state in range(states):
        before = old[place + state]
        after = (1.0 - damping) * math.log(new[place + state] / largest) + damping * before
        new[place + state] = after
        change = max(change, abs(after - before))
    return change


@inline
def report(change: Any, changes: Any, place: Any) -> None:
    """Write the largest change in the block."""
    greatest = shared(32, np.float64)
    change = greatest_of_lanes(change)
    if lane() == 0:
        greatest[thread() // 32] = change
    sync_block()
    if thread() == 0:
        for warp in range(1, threads() // 32):
            change = max(change, greatest[warp])
        changes[place] = change


@kernel
def send_coupled(
    rows: Any,
    part: Any,
    reverse: Any,
    totals: Any,
    old: Any,
    new: Any,
    coupling: Any,
    damping: Any,
    shape: Any,
    changes: Any,
) -> None:
    """Send the messages of one direction through one coupling for all edges.

    Parameters
    ----------
    rows : tuple of (int64[size + 1], int[arcs])
        The CSC for messages along the edges, the CSR for those against them.
    part : int
        0 along the edges, 1 against them.
    reverse : int64[messages]
    totals : float64[size * states]
        From `add_messages`.
    old, new : float64[messages * states]
        Messages read, and written.
    coupling : float64[states * states]
        Positive, at most 1; of the source's and the destination's state.
    damping : float
        Share of the old message that stays.
    shape : tuple of (int, int, int)
        Vertices, arcs, states.
    changes : float64[(part + 1) * blocks]
        Written: the largest change of an entry, for each block.
    """
    weights = shared(1024, np.float64)
    offsets, indices = rows
    size, arcs, states = shape
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    change = 0.0
    for low in range(warp * ARCS, arcs, warps * ARCS):
        high = min(low + ARCS, arcs)
        row = row_of(offsets, size, min(low + lane(), high - 1))
        for arc in range(low + lane(), high, 32):
            while offsets[row + 1] <= arc:
                row += 1
            sender = np.int64(load_once(indices, arc))
            if sender != row:
                sender *= states
                place = (part * arcs + arc) * states
                back = load_once(reverse, part * arcs + arc) * states
                largest = hold(weights, totals, sender, old, back, states)
                for state in range(states):
                    mass = 0.0
                    for source_state in range(states):
                        weight = held(weights, totals, sender, old, back, largest, source_state)
                        if part == 0:
                            mass += weight * coupling[source_state * states + state]
                        else:
                            mass += weight * coupling[state * states + source_state]
                    new[place + state] = mass
                change = max(change, settle(new, old, place, states, damping))
    report(change, changes, part * blocks() + block())


@kernel
def send_potts(
    rows: Any,
    part: Any,
    reverse: Any,
    totals: Any,
    old: Any,
    new: Any,
    strengths: Any,
    damping: Any,
    shape: Any,
    changes: Any,
) -> None:
    """Send the messages of one direction, each edge with a strength of its own.

    Parameters
    ----------
    rows, part, reverse, totals, old, new, damping, shape, changes
        As in `send_coupled`.
    strengths : float64[arcs]
        Logarithm of the coupling of equal states over that of different ones; in the order of `rows`.
    """
    weights = shared(1024, np.float64)
    offsets, indices = rows
    size, arcs, states = shape
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    change = 0.0
    for low in range(warp * ARCS, arcs, warps * ARCS):
        high = min(low + ARCS, arcs)
        row = row_of(offsets, size, min(low + lane(), high - 1))
        for arc in range(low + lane(), high, 32):
            while offsets[row + 1] <= arc:
                row += 1
            sender = np.int64(load_once(indices, arc))
            if sender != row:
                sender *= states
                place = (part * arcs + arc) * states
                back = load_once(reverse, part * arcs + arc) * states
                same = math.exp(min(strengths[arc], 0.0))
                differs = math.exp(-max(strengths[arc], 0.0))
                largest = hold(weights, totals, sender, old, back, states)
                for state in range(states):
                    mass = 0.0
                    for source_state in range(states):  # no difference of sums: digits would cancel
                        weight = held(weights, totals, sender, old, back, largest, source_state)
                        mass += weight * (same if source_state == state else differs)
                    new[place + state] = mass
                change = max(change, settle(new, old, place, states, damping))
    report(change, changes, part * blocks() + block())
