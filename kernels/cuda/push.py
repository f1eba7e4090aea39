"""A superstep of a large frontier that is pushed, in a launch of its own.

Nearly every message of an early superstep changes a state, so a thread waits for memory several times for an arc:
the number of warps decides the time.  This kernel takes half of the registers of `traverse`, and writes no list:
of a large frontier that is pulled or gathered next, none is needed.  The next frontier is in its bitmap, and is
counted from there, in the order in which rows lie.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.cooperative import clear_following, following, warps_of
from cugraph_ws.kernels.cuda.frontier import is_large
from cugraph_ws.kernels.cuda.interface import SETTLES, with_sums
from cugraph_ws.kernels.cuda.layout import (
    AHEAD,
    BALLOT,
    COUNT,
    DEGREES,
    KEPT,
    LISTED,
    PIECE,
    QUEUED,
    STEPS,
    TURN,
    UNREAD,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    lean,
    popc,
    shuffle,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.pull import is_pulled, limit_of
from cugraph_ws.kernels.cuda.rows import queue_row, scan, sum_of_lanes, take_pieces
from cugraph_ws.kernels.cuda.walk import aim, apply_message, judge, look, sides

__all__ = ["push_large"]


@inline
def push_shares(
    share: Any, row: Any, begin: Any, indices: Any, edges: Any, after: Any, state: Any,
    constants: Any, values: Any,
) -> None:  # fmt: skip
    """Send along the arcs of the lanes' rows: `share` of each, from arc `begin` on."""
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    for at in range(np.int32(0), total, np.int32(64)):
        place = np.int32(at + lane())
        wide = at + 32 < total
        row_0, target_0, arc_0 = aim(place, total, ends, start, row, begin, indices)
        row_1, target_1, arc_1 = row_0, target_0, arc_0
        if wide:
            row_1, target_1, arc_1 = aim(
                np.int32(place + 32), total, ends, start, row, begin, indices
            )
        from_0, old_0, try_0 = look(place < total, row_0, target_0, False, after, state, constants)
        from_1, old_1, try_1 = from_0, old_0, False
        if wide:
            from_1, old_1, try_1 = look(
                place + 32 < total, row_1, target_1, False, after, state, constants
            )
        received_0, try_0 = judge(try_0, from_0, old_0, edges, arc_0, values)
        received_1 = received_0
        if wide:
            received_1, try_1 = judge(try_1, from_1, old_1, edges, arc_1, values)
        apply_message(
            target_0, old_0, received_0, try_0, after, after, state, constants, values, 0.0
        )
        if wide:
            apply_message(
                target_1, old_1, received_1, try_1, after, after, state, constants, values, 0.0
            )


@inline
def count_changed(words: Any, after: Any, offsets: Any, control: Any, turn: Any) -> None:
    """Count the vertices of the next frontier, and their out-arcs."""
    count, arcs = np.int64(0), np.int64(0)
    for first in range(32 * ((block() * threads() + thread()) // 32), words, blocks() * threads()):
        mine = np.uint32(0)
        if first + lane() < words:
            mine = np.uint32(after[first + lane()])
        count += popc(mine)
        mask = ballot(FULL, mine != 0)
        while mask != 0:
            place = ffs(mask) - 1
            mask = np.uint32(mask & (mask - 1))
            if (shuffle(FULL, np.int64(mine), place) >> lane()) & 1 != 0:
                vertex = ((first + place) << 5) + lane()
                arcs += offsets[vertex + 1] - offsets[vertex]
    count, arcs = sum_of_lanes(count), sum_of_lanes(arcs)
    if lane() == 0 and count > 0:
        atomic_add(control, LISTED + turn, count)
        atomic_add(control, DEGREES + turn, arcs)


@kernel
@lean(64)
def push_large(
    vertices: Any, forward: Any, edges: Any, program: Any, frontiers: Any, queue: Any, number: Any,
    steps: Any, leave: Any, settings: Any, control: Any, records: Any,
) -> None:  # fmt: skip
    """Run the next superstep if its frontier is large and is pushed; else do nothing.  Cooperative.

    Arguments are as for `traverse`, which ends before such a superstep.  A frontier is large if it has more out-arcs
    than the last of `settings`.
    """
    done, turn = control[STEPS], control[TURN]
    count, ahead, unread, list_form = control[COUNT], control[AHEAD], control[UNREAD], control[KEPT]
    if (
        count == 0
        or done >= limit_of(steps, control)
        or (done > 0 and ahead > leave)
        or not is_large(ahead, settings[9])
        or is_pulled(settings[0], ahead, unread, settings[3], settings[4])
    ):
        return
    offsets, indices = forward
    state, constants, parameters, sums = program
    number = np.int64(number + done)
    now, after, _, _ = sides(frontiers, number)
    values = with_sums(parameters, sums, vertices, number)
    words = (vertices + 31) // 32
    if list_form == 0:
        for word in range(block() * threads() + thread(), words, blocks() * threads()):
            after[word] = np.uint32(0)
        sync_grid()
    warp, warps = warps_of(False)  # so that the longest rows, the first ones, are spread
    warp, warps = np.int64(warp), np.int64(warps)
    for base in range(warp, words, 32 * warps):
        mine = np.uint32(0)
        if base + lane() * warps < words:
            mine = np.uint32(now[base + lane() * warps])
            if mine != 0:
                now[base + lane() * warps] = np.uint32(0)
        mask = ballot(FULL, mine != 0)
        while mask != 0:
            place = ffs(mask) - 1
            mask = np.uint32(mask & (mask - 1))
            row, begin, length = np.int64(0), np.int64(0), np.int64(0)
            if (shuffle(FULL, np.int64(mine), place) >> lane()) & 1 != 0:
                row = np.int64(32 * (base + place * warps) + lane())
                begin = np.int64(offsets[row])
                length = np.int64(offsets[row + 1] - begin)
            if any_of(FULL, length > PIECE):
                queue_row(
                    control, QUEUED + turn, queue[0], queue[1], np.int64(0), row,
                    length if length > PIECE else 0,
                )  # fmt: skip
            share = np.int32(0 if length > PIECE else length)
            if any_of(FULL, share > 0):
                push_shares(share, row, begin, indices, edges, after, state, constants, values)
    sync_grid()
    size = control[QUEUED + turn]
    for base in range(warp, size, 32 * warps):
        row, begin, share = take_pieces(offsets, queue, size, base, warps)
        push_shares(share, row, begin, indices, edges, after, state, constants, values)
    sync_grid()
    count_changed(words, after, offsets, control, turn)
    sync_grid()
    if block() == 0 and thread() == 0:
        records[3 * done], records[3 * done + 1], records[3 * done + 2] = count, ahead, BALLOT
        control[COUNT], control[AHEAD] = control[LISTED + turn], control[DEGREES + turn]
        if SETTLES:
            control[UNREAD] = max(unread - ahead, 0)
        control[KEPT] = np.int64(0)
        control[STEPS] = done + 1
        control[TURN] = following(turn)
        clear_following(control, turn)
