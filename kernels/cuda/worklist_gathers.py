"""The second phase of a worklist's superstep: marked vertices gather from their active in-neighbours.

No other thread changes them, so nothing is swapped.  A new state is written beside the old one, which others may be
reading.  Rows that are longer than a piece are combined by pieces, each by a warp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import drop
from cugraph_ws.kernels.cuda.cooperative import rows_of_warp
from cugraph_ws.kernels.cuda.interface import (
    ANY,
    CHANGES,
    SETTLES,
    is_active,
    is_enough,
    is_settled,
    load,
    load_target,
    merge,
    message,
    nothing,
    put,
    put_message,
    same,
    take_message,
    update,
)
from cugraph_ws.kernels.cuda.layout import (
    ACTIVATED,
    DEGREES,
    FIRST_ARCS,
    LISTED,
    PIECE,
    QUEUED,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    ballot,
    ffs,
    inline,
    lane,
    shuffle,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    greatest_of_lanes,
    queue_row,
    reserve,
    scan,
)
from cugraph_ws.kernels.cuda.superstep import (
    fetch,
    fold_lanes,
    fold_segments,
    gather_strided,
)
from cugraph_ws.kernels.cuda.worklist_calls import count_in

__all__ = ["answer_pieces", "gather_pieces", "gather_rows"]


@inline
def ask(
    place: Any, total: Any, ends: Any, start: Any, row: Any, begin: Any, indices: Any, edges: Any,
    state: Any, constants: Any, flags: Any, values: Any,
) -> Any:  # fmt: skip
    """Return the message along an arc of the lanes' rows, and whether there is one."""
    receiver, arc = arc_at(place, ends, start, row, begin, 1)
    last = arc
    if place < total:
        last = arc + 1
    return fetch(arc, last, receiver, indices, edges, state, constants, (), flags, values)


@inline
def ask_all(
    gathered: Any, has_message: Any, share: Any, row: Any, begin: Any, indices: Any, edges: Any,
    state: Any, constants: Any, flags: Any, values: Any,
) -> Any:  # fmt: skip
    """Combine the messages along the lanes' rows, each into its lane's; lanes share out all arcs."""
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    longest = min(greatest_of_lanes(np.int32(share)), np.int32(32))
    window = np.int32(0)
    while window < total:
        place = np.int32(window + lane())
        received_0, live_0 = ask(
            place, total, ends, start, row, begin, indices, edges, state, constants, flags, values
        )
        received_1, live_1 = ask(
            np.int32(place + 32), total, ends, start, row, begin, indices, edges, state, constants,
            flags, values,
        )  # fmt: skip
        gathered, has_message = fold_segments(
            window, received_0, live_0, start, ends, longest, gathered, has_message
        )
        if window + 32 < total:
            gathered, has_message = fold_segments(
                np.int32(window + 32), received_1, live_1, start, ends, longest, gathered,
                has_message,
            )  # fmt: skip
        window = np.int32(window + 64)
    return gathered, has_message


@inline
def ask_in_haste(
    row: Any, begin: Any, length: Any, indices: Any, edges: Any, state: Any, constants: Any,
    flags: Any, values: Any,
) -> Any:  # fmt: skip
    """Read the first few in-arcs of a row until one has a message; for `any` one is enough.

    For flags only a message that is set counts; if the first few have none, the whole row is read.
    """
    gathered = nothing()
    has_message, enough = False, False
    tried = np.int64(0)
    while not enough and tried < min(length, FIRST_ARCS):
        arc = begin + tried
        sender = np.int64(indices[arc])
        if flags[sender] != 0:
            target = load_target(state, constants, row)
            received = message(load(state, constants, sender), target, edges, arc, values)
            gathered = merge(gathered, received)
            has_message = True
            enough = is_enough(gathered)
        tried += 1
    if not enough and length > FIRST_ARCS:
        gathered, has_message = nothing(), False
    return gathered, has_message, tried


@inline
def answer(
    row: Any, gathered: Any, has_message: Any, state: Any, fresh: Any, constants: Any, values: Any,
    flags: Any, listed: Any, counters: Any, which: Any, offsets: Any,
) -> Any:  # fmt: skip
    """Write the new state of a vertex with messages, if it has changed, and list it.

    Returns
    -------
    (int64, int64)
        Whether it has become active; and its out-degree if so, else 0.
    """
    written, activated = False, False
    if has_message:
        old = load(state, constants, row)
        new = update(old, gathered, values)
        written = not same(old, new)
        if written or not CHANGES:
            activated = is_active(old, new, values)
        written = written or activated
        if written:
            put(fresh, row, new)
    degree = np.int64(0)
    if any_of(FULL, written):
        slot = reserve(counters, which, np.int32(written))
        if written:
            listed[slot] = row
        if activated:
            flags[row] = np.uint8(1)
            degree = offsets[row + 1] - offsets[row]
    return np.int64(activated), degree


@inline
def gather_rows(
    team: Any, called: Any, entries: Any, listed: Any, everyone: Any, marks: Any, backward: Any,
    edges: Any, memory: Any, now: Any, queue: Any, listing: Any, records: Any, done: Any,
) -> None:  # fmt: skip
    """Gather the messages of called vertices, and write their new states; longer rows are queued in pieces.

    Parameters
    ----------
    team, everyone, memory
        See `call_neighbours`.
    called, entries, listed
        The list of called vertices, its length, and whether it was made online, so that marks are still set.
    listing : (list, flags, offsets of out-arcs)
        Where changed vertices are listed, and where active ones are flagged.
    """
    warp, warps, _, counters, at = team
    offsets, indices = backward
    state, fresh, constants, values = memory
    next_changed, after, out_offsets = listing
    rows = np.int32(32) if everyone else rows_of_warp(entries, warps)
    read, woken, ahead = np.int64(0), np.int64(0), np.int64(0)
    for base in range(warp, np.int32((entries + rows - 1) // rows), warps):
        row, begin, length = np.int64(0), np.int64(0), np.int64(0)
        if lane() < rows and rows * base + lane() < entries:
            if everyone:
                row = np.int64(rows * base + lane())
            else:
                row = np.int64(called[rows * base + lane()])
                if listed:
                    drop(marks, row)
            if not (SETTLES and is_settled(load(state, constants, row), values)):
                begin = offsets[row]
                length = offsets[row + 1] - begin
        gathered, has_message = nothing(), False
        if ANY:
            gathered, has_message, tried = ask_in_haste(
                row, begin, length, indices, edges, state, constants, now, values
            )
            read += tried
            if has_message or length <= FIRST_ARCS:
                length = np.int64(0)
        if any_of(FULL, length > PIECE):
            queue_row(
                counters, QUEUED + at, queue[0], queue[1], np.int64(0), row,
                length if length > PIECE else 0,
            )  # fmt: skip
        share = np.int32(0 if length > PIECE else length)
        read += length
        if any_of(FULL, share > 0):
            gathered, has_message = ask_all(
                gathered, has_message, share, row, begin, indices, edges, state, constants, now, values
            )  # fmt: skip
        activated, degree = answer(
            row, gathered, has_message, state, fresh, constants, values, after, next_changed,
            counters, LISTED + at, out_offsets,
        )  # fmt: skip
        woken += activated
        ahead += degree
    count_in(read, records, 3 * done + 1)
    count_in(woken, counters, ACTIVATED + at)
    count_in(ahead, counters, DEGREES + at)


@inline
def gather_pieces(
    team: Any,
    size: Any,
    backward: Any,
    edges: Any,
    memory: Any,
    now: Any,
    queue: Any,
    outcomes: Any,
) -> None:
    """Combine the messages of each queued piece, by a warp."""
    warp, warps, _, _, _ = team
    offsets, indices = backward
    state, _, constants, values = memory
    for slot in range(warp, np.int32(size), warps):
        row = np.int64(queue[0][slot])
        begin = offsets[row] + np.int64(queue[1][slot]) * PIECE
        gathered, has_message = gather_strided(
            row, begin + lane(), min(begin + PIECE, offsets[row + 1]), 32, indices, edges, state,
            constants, (), now, values,
        )  # fmt: skip
        gathered = fold_lanes(gathered, 32)
        has_message = any_of(FULL, has_message)
        if lane() == 0:
            put_message(outcomes[0], slot, gathered)
            outcomes[1][slot] = np.uint8(1) if has_message else np.uint8(0)


@inline
def answer_pieces(
    team: Any, size: Any, offsets: Any, memory: Any, queue: Any, outcomes: Any, listing: Any
) -> None:
    """Combine the pieces of each queued row, and write its vertex's new state; see `gather_rows`."""
    warp, warps, _, counters, at = team
    state, fresh, constants, values = memory
    next_changed, after, out_offsets = listing
    woken, ahead = np.int64(0), np.int64(0)
    for base in range(warp, np.int32((size + 31) // 32), warps):
        begins = False
        if 32 * base + lane() < size:
            begins = queue[1][32 * base + lane()] == 0
        mask = ballot(FULL, begins)
        while mask != 0:  # a row whose pieces begin here
            head = np.int64(32 * base + ffs(mask) - 1)
            mask = np.uint32(mask & (mask - 1))
            row = np.int64(queue[0][head])
            pieces = (offsets[row + 1] - offsets[row] + PIECE - 1) // PIECE
            gathered, has_message = nothing(), False
            for piece in range(head + lane(), head + pieces, 32):
                gathered = merge(gathered, take_message(outcomes[0], piece))
                has_message = has_message or outcomes[1][piece] != 0
            gathered = fold_lanes(gathered, 32)
            has_message = any_of(FULL, has_message)
            activated, degree = answer(
                row, gathered, has_message and lane() == 0, state, fresh, constants, values, after,
                next_changed, counters, LISTED + at, out_offsets,
            )  # fmt: skip
            woken += activated
            ahead += degree
    count_in(woken, counters, ACTIVATED + at)
    count_in(ahead, counters, DEGREES + at)
