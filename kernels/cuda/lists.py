"""Dense supersteps that list the messages of each row: for `mode` and `gather_list`.

A superstep is a few launches.  `list_messages` computes the message of each arc and puts it where it
belongs in its row.  Modes are counted in tables (`modes`); if that is not exact, or messages are wanted by
value, the host sorts rows.  In sorted rows equal values are runs: `sum_chunks` adds up the weights of a
run in chunks, `weigh_runs` adds the sums of its chunks, `rank_runs` finds a row's greatest total, and
`choose_runs` its first run that has it.  All of these have a thread for each message, so that a hub is
spread over many blocks.  `apply_lists` has a thread for each vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    CHUNK,
    KEEPS,
    PLACED,
    SETTLES,
    TARGETS,
    alike,
    is_settled,
    label_at,
    load,
    load_own,
    load_target,
    message,
    no_gathered,
    no_weight,
    precedes,
    put_message,
    row_result,
    weight_at,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import LOWEST, NUMBER, STOP, UNCHOSEN
from cugraph_ws.kernels.cuda.primitives import (
    atomic_max,
    atomic_min,
    block,
    blocks,
    inline,
    kernel,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.superstep import conclude, finish, no_tally

__all__ = ["apply_lists", "choose_runs", "list_messages", "rank_runs", "sum_chunks", "weigh_runs"]


@kernel
def list_messages(
    vertices: Any, arcs: Any, rows: Any, places: Any, adjacency: Any, edges: Any, state: Any,
    constants: Any, parameters: Any, sums: Any, control: Any, slots: Any,
) -> None:  # fmt: skip
    """Write the message of each arc to its place in `slots`.

    `rows` are the arcs' destinations, read only if messages read them; `places` are empty if any order
    will do.
    """
    if control[STOP] != 0:
        return
    _, indices = adjacency
    values = with_sums(parameters, sums, vertices, control[NUMBER])
    for arc in range(block() * threads() + thread(), arcs, blocks() * threads()):
        source = load(state, constants, indices[arc])
        row = np.int64(0)
        if TARGETS:
            row = np.int64(rows[arc])
        target = load_target(state, constants, row)
        place = np.int64(arc)
        if PLACED:
            place = np.int64(places[arc])
        put_message(slots, place, message(source, target, edges, arc, values))


@inline
def begins(slots: Any, first: Any, place: Any) -> Any:
    """Return whether a run begins at a place of a row, which begins at `first`."""
    return place == first or not alike(label_at(slots, place - 1), label_at(slots, place))


@inline
def run_start(slots: Any, first: Any, place: Any) -> Any:
    """Return where the run begins that has a place of a row, which begins at `first`."""
    label = label_at(slots, place)
    low, high = np.int64(first), np.int64(place)
    while low < high:
        middle = (low + high) >> 1
        if precedes(label_at(slots, middle), label):
            low = middle + 1
        else:
            high = middle
    return low


@inline
def run_end(slots: Any, place: Any, last: Any) -> Any:
    """Return where the run ends that has a place of a row, which ends at `last`."""
    label = label_at(slots, place)
    low, high = np.int64(place + 1), np.int64(last)
    while low < high:
        middle = (low + high) >> 1
        if precedes(label, label_at(slots, middle)):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def sum_chunks(
    arcs: Any, rows: Any, adjacency: Any, control: Any, slots: Any, chunk_sums: Any
) -> None:  # fmt: skip
    """Add up the weights of each chunk of a run, in order, where the chunk begins."""
    if control[STOP] != 0:
        return
    offsets, _ = adjacency
    for place in range(block() * threads() + thread(), arcs, blocks() * threads()):
        row = rows[place]
        start = run_start(slots, offsets[row], place)
        if (place - start) % CHUNK == 0:
            label = label_at(slots, place)
            last = min(np.int64(place + CHUNK), np.int64(offsets[row + 1]))
            part = no_weight()
            at = np.int64(place)
            while at < last and alike(label_at(slots, at), label):
                part += weight_at(slots, at)
                at += 1
            chunk_sums[place] = part


@kernel
def weigh_runs(
    arcs: Any, rows: Any, adjacency: Any, control: Any, slots: Any, chunk_sums: Any, totals: Any
) -> None:  # fmt: skip
    """Write the total weight of each run where it begins."""
    if control[STOP] != 0:
        return
    offsets, _ = adjacency
    for place in range(block() * threads() + thread(), arcs, blocks() * threads()):
        row = rows[place]
        if begins(slots, offsets[row], place):
            end = run_end(slots, place, offsets[row + 1])
            total = no_weight()
            at = np.int64(place)
            while at < end:
                total += chunk_sums[at]
                at += CHUNK
            totals[place] = total


@inline
def rank_at(totals: Any, bits: Any, place: Any) -> Any:
    """Return an integer that is greater for greater totals, least for NaN."""
    total, word = totals[place], bits[place]
    if total != total:
        return np.int64(LOWEST)
    if total == 0.0:
        return np.int64(0)
    return word if word >= 0 else word ^ np.int64(UNCHOSEN)


@kernel
def rank_runs(
    arcs: Any, rows: Any, adjacency: Any, control: Any, slots: Any, totals: Any, bits: Any, best: Any
) -> None:  # fmt: skip
    """Find the greatest rank of the runs of each row.

    `bits` are the totals as integers.
    """
    if control[STOP] != 0:
        return
    offsets, _ = adjacency
    for place in range(block() * threads() + thread(), arcs, blocks() * threads()):
        row = rows[place]
        if begins(slots, offsets[row], place):
            atomic_max(best, row, rank_at(totals, bits, place))


@kernel
def choose_runs(
    arcs: Any, rows: Any, adjacency: Any, control: Any, slots: Any, totals: Any, bits: Any, best: Any,
    chosen: Any,
) -> None:  # fmt: skip
    """Find where the first run of each row begins that has the greatest rank."""
    if control[STOP] != 0:
        return
    offsets, _ = adjacency
    for place in range(block() * threads() + thread(), arcs, blocks() * threads()):
        row = rows[place]
        if begins(slots, offsets[row], place) and rank_at(totals, bits, place) == best[row]:
            atomic_min(chosen, row, np.int64(place))


@kernel
def apply_lists(
    shape: Any, slots: Any, chosen: Any, adjacency: Any, edges: Any, state: Any, fresh: Any,
    constants: Any, outboxes: Any, flags: Any, parameters: Any, sums: Any, control: Any,
    conclusion: Any,
) -> None:  # fmt: skip
    """Compute every owned vertex from the list of its messages.

    `shape` is the number of vertices, and of owned ones.  `chosen` are the modes by row.
    """
    if control[STOP] != 0:
        return
    vertices, owned = shape
    offsets, _ = adjacency
    _, next_outbox = outboxes
    _, after = flags
    values = with_sums(parameters, sums, vertices, control[NUMBER])
    memory = (state, fresh, constants, next_outbox, after)
    zero = no_tally()
    tally = zero
    for vertex in range(block() * threads() + thread(), owned, blocks() * threads()):
        first = np.int64(offsets[vertex])
        count = np.int64(offsets[vertex + 1]) - first
        old = load_own(state, constants, vertex)
        has_message = not (KEEPS and count == 0)
        if SETTLES:
            has_message = has_message and not is_settled(old, values)
        gathered = no_gathered()
        if has_message:
            gathered = row_result(old, slots, first, count, chosen, vertex, values)
        tally = finish(vertex, gathered, has_message, edges, memory, values, tally)
    conclude(tally, zero, (0, False), control, sums, conclusion)
