"""Supersteps of a frontier, pushed or pulled; many of them in one cooperative launch.

This serves programs whose `apply` may take messages one by one, and twice, and whose state is one number.  The
state is changed by compare-and-swap, so no message is lost and none waits for another.

- Push: the listed vertices send along their out-arcs.  Pull: vertices that are not settled look for active
  in-neighbours, and stop at the first after which they are settled (Beamer, Asanović, Patterson 2012).  The first few
  in-neighbours are read by `kernels/cuda/pull.py`, so a pull is the first superstep of a launch.  Both read
  arcs in the same way (`kernels/cuda/walk.py`).
- A changed vertex gets a bit in the next superstep's bitmap, and is listed.  If a list is full or was not kept, it
  is made from the bitmap, in order (SIMD-X's ballot filter: Liu and Huang, USENIX ATC 2019).
- A small frontier is left to a single block (`kernels/cuda/cooperative.py`).
- For programs with a priority, some active vertices wait (`kernels/cuda/priorities.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import GROUPS, put_words
from cugraph_ws.kernels.cuda.cooperative import (
    advance,
    clear_following,
    clear_local,
    counters_of,
    following,
    warps_of,
)
from cugraph_ws.kernels.cuda.interface import (
    ORDERED,
    SETTLES,
    is_active,
    keep,
    load,
    same,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    AHEAD,
    ALONE,
    BALLOT,
    BEGAN,
    COUNT,
    DEGREES,
    FILLED,
    FRONTIER_BLOCK,
    KEPT,
    LIMIT,
    LISTED,
    NEAR_ROWS,
    PULL,
    STEPS,
    TURN,
    UNREAD,
    WAITERS,
    WOKEN,
)
from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    block,
    blocks,
    bounded,
    ffs,
    inline,
    kernel,
    lane,
    popc,
    shared,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.priorities import begin_wait, list_due, next_limit, weigh
from cugraph_ws.kernels.cuda.pull import is_pulled, limit_of
from cugraph_ws.kernels.cuda.rows import sum_of_lanes
from cugraph_ws.kernels.cuda.walk import expand, list_bitmap, sides

__all__ = ["compare", "enlist", "is_large", "traverse"]


@inline
def is_large(ahead: Any, large: Any) -> Any:
    """Return whether a frontier with so many arcs ahead is left to `push_large`, if it is pushed."""
    return not ORDERED and ahead > large


@inline
def add_counts(control: Any, count: Any, arcs: Any) -> None:
    """Add all lanes' vertices and arcs to the frontier's."""
    count = sum_of_lanes(count)
    arcs = sum_of_lanes(arcs)
    if lane() == 0 and count > 0:
        atomic_add(control, COUNT, count)
        atomic_add(control, AHEAD, arcs)


@inline
def arcs_of(bits: Any, base: Any, offsets: Any) -> Any:
    """Return the number of out-arcs of a lane's vertices; bit i stands for vertex base + 32 * i."""
    arcs = np.int64(0)
    while bits != 0:
        vertex = base + 32 * (ffs(bits) - 1)
        bits = np.int32(bits & (bits - 1))
        arcs += offsets[vertex + 1] - offsets[vertex]
    return arcs


@kernel
def enlist(vertices: Any, flags: Any, offsets: Any, bitmap: Any, control: Any) -> None:
    """Make the first frontier's bitmap from flags, and count its vertices and their out-arcs."""
    count, arcs = np.int64(0), np.int64(0)
    warp = (block() * threads() + thread()) // 32
    step = blocks() * threads() * GROUPS
    for base in range(32 * GROUPS * warp + lane(), vertices + lane(), step):  # all lanes come along
        bits = np.int32(0)
        for group in range(GROUPS):
            vertex = base + 32 * group
            active = np.int32(flags[min(vertex, vertices - 1)] != 0)
            bits |= (active & np.int32(vertex < vertices)) << group  # no branch: all loads at once
        put_words(bitmap, base, vertices, bits)
        count += popc(np.uint32(bits))
        arcs += arcs_of(bits, base, offsets)
    add_counts(control, count, arcs)


@kernel
def compare(
    vertices: Any, before: Any, program: Any, number: Any, offsets: Any, bitmap: Any, control: Any
) -> None:  # fmt: skip
    """Make a frontier's bitmap of the vertices that have become active since `before`; count as `enlist` does."""
    state, constants, parameters, sums = program
    values = with_sums(parameters, sums, vertices, number)
    count, arcs = np.int64(0), np.int64(0)
    warp = (block() * threads() + thread()) // 32
    step = blocks() * threads() * GROUPS
    for base in range(32 * GROUPS * warp + lane(), vertices + lane(), step):  # all lanes come along
        bits = np.int32(0)
        for group in range(GROUPS):
            vertex = min(base + 32 * group, vertices - 1)
            old = load(before, constants, vertex)
            new = keep(load(state, constants, vertex))
            active = np.int32(not same(old, new)) & np.int32(is_active(old, new, values))
            bits |= (active & np.int32(base + 32 * group < vertices)) << group
        put_words(bitmap, base, vertices, bits)
        count += popc(np.uint32(bits))
        arcs += arcs_of(bits, base, offsets)
    add_counts(control, count, arcs)


@inline
def hand_over(
    control: Any, count: Any, ahead: Any, unread: Any, list_form: Any, done: Any
) -> None:  # fmt: skip
    """Store what the single block knows, for the blocks that have waited for it."""
    control[WOKEN] = count
    control[WOKEN + 1] = ahead
    control[WOKEN + 2] = unread
    control[WOKEN + 3] = list_form
    control[WOKEN + 4] = done


@inline
def take_over_from_block(control: Any) -> Any:
    """Return what `hand_over` has stored."""
    count, ahead, unread = control[WOKEN], control[WOKEN + 1], control[WOKEN + 2]
    return count, ahead, unread, control[WOKEN + 3], np.int32(control[WOKEN + 4])


@kernel
@bounded(FRONTIER_BLOCK)
def traverse(
    vertices: Any, arcs: Any, forward: Any, backward: Any, both_edges: Any, program: Any, frontiers: Any,
    later: Any, queue: Any, number: Any, steps: Any, leave: Any, settings: Any, horizon: Any,
    control: Any, records: Any,
) -> None:  # fmt: skip
    """Run supersteps until there have been `steps`, the first of which had this number.  Cooperative.

    `control[STEPS]` counts them, so several launches may be queued before the host reads it.

    Parameters
    ----------
    vertices, arcs : int
    forward, backward : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours and of in-neighbours.
    both_edges : two tuples of arrays of [arcs]
        The program's edge attributes, in the order of `forward` and of `backward`.
    program : tuple
        The state and the constants, tuples of arrays of [vertices]; the parameters and the sums that the program
        reads.
    frontiers : tuple of two bitmaps and two lists
        Of even and of odd supersteps; the bitmap, uint32[ceil(vertices / 32)], that is not current is scratch.
        A list is (int[vertices], int64[NEAR_ROWS], int32[NEAR_ROWS]): the frontier's vertices; for the first
        NEAR_ROWS of them also the first out-arc and the out-degree.
    later : uint32[ceil(vertices / 32)]
        For programs with a priority: active vertices that are not due.
    queue : tuple of (int[n], int32[n])
        Scratch; n is the number of pieces of all rows that are longer than a piece.
    number, steps : int
    leave : int
        Arcs of a frontier above which the launch ends, but not before its first superstep.
    settings : tuple of int
        The direction; the room in a list; the vertices and the arcs that a single block handles; the
        k for which a frontier with more than 1/k of the unread arcs is pulled; how many vertices a limit
        of priorities should admit; the arcs after which the launch ends; the position from which a pulling
        vertex begins to read its row; how many vertices have in-neighbours: the first ones; and the arcs of
        a frontier above which `push_large` pushes it.
        The launch ends before a superstep that is to be pulled, unless `pull_alone` has begun it, and before
        one for `push_large`.
    horizon : float64[8]
        The limit of priorities, and the values from which the next one is computed.
    control : int64[32]
        The frontier's size and arcs, and counters; see `layout`.
    records : int64[3 * steps]
        For each superstep the active vertices, the arcs read, and the direction.
    """
    wanted, bins, few, few_arcs, pull_part, goal, most_arcs, lead, _, large = settings
    state, constants, parameters, sums = program
    out_offsets = forward[0]
    words = (vertices + 31) // 32
    local = shared(32, np.int64)
    leads = block() == 0 and thread() == 0
    count, ahead, unread = control[COUNT], control[AHEAD], control[UNREAD]
    list_form = control[KEPT]
    limit = horizon[LIMIT]
    alone, asleep = False, False  # one block works, the others wait
    turn, beat, done = np.int32(control[TURN]), np.int32(0), np.int32(control[STEPS])
    spent = np.float32(0.0)  # one register
    while True:
        heavy = done > 0 and ahead > leave
        if asleep or (
            alone
            and (
                count == 0
                or done == limit_of(steps, control)
                or heavy
                or count > few
                or ahead > few_arcs
                or list_form == 0
            )
        ):
            if alone and leads:
                hand_over(control, count, ahead, unread, list_form, done)
            sync_grid()
            if asleep:
                count, ahead, unread, list_form, done = take_over_from_block(control)
                heavy = done > 0 and ahead > leave
            alone, asleep = False, False
        if ORDERED and count == 0 and not alone:
            # Which vertices are due next?
            values = with_sums(parameters, sums, vertices, np.int64(number + done))
            weigh(words, later, state, constants, values, horizon)
            sync_grid()
            if horizon[WAITERS] > 0.0:
                limit, width = next_limit(horizon, limit, goal)
                now, _, listed, _ = sides(frontiers, number + done)
                if leads:
                    clear_following(control, turn)
                list_due(
                    words, now, later, listed, out_offsets, control, turn, state, constants, values,
                    limit,
                )  # fmt: skip
                sync_grid()
                count, ahead = control[FILLED + turn], control[DEGREES + turn]
                list_form = np.int64(1)
                if leads:
                    begin_wait(horizon, limit, width)
                turn = following(turn)
        if count == 0 or done == limit_of(steps, control) or heavy or spent > most_arcs:
            break
        pulls = not alone and is_pulled(wanted, ahead, unread, few_arcs, pull_part)
        if pulls and control[BEGAN] != done + 1:
            break
        if not alone and not pulls and is_large(ahead, large):
            break
        if not alone and list_form != 0 and count <= few and ahead <= few_arcs and wanted != PULL:
            if block() != 0:
                asleep = True
                continue
            alone = True
            beat = np.int32(0)
            clear_local(local)
        counters, at = counters_of(alone, control, turn, local, beat)
        warp, warps = warps_of(alone)
        now, after, listed, next_listed = sides(frontiers, number + done)
        values = with_sums(parameters, sums, vertices, np.int64(number + done))
        if SETTLES:
            unread = max(unread - ahead, 0)
        if not alone:
            spent = np.float32(spent + np.float32(arcs if pulls else ahead))
        fill = not pulls and list_form == 0
        near = list_form == 2 and count <= NEAR_ROWS and not pulls
        if leads:
            clear_following(counters, at)
            records[3 * done] = count
            if not pulls:
                records[3 * done + 1] = ahead
            records[3 * done + 2] = (
                (PULL if pulls else 0)
                + (BALLOT if fill or (list_form == 1 and not pulls) else 0)
                + (ALONE if alone else 0)
            )
        if fill:
            list_bitmap(words, warp, warps, now, after, listed, out_offsets, control, turn)
            sync_grid()
        listings = control[FILLED + turn] if pulls else count
        count, ahead = expand(
            (warp, warps, alone, counters, at),
            (listed, listings, near, fill),
            backward if pulls else forward,
            both_edges[1] if pulls else both_edges[0],
            queue, pulls, lead, (now, after, later),
            (next_listed, bins, counters, LISTED + at, out_offsets),
            (state, constants, values, limit), records, done,
        )  # fmt: skip
        list_form = np.int64(0 if pulls or count > bins else 2)
        turn, beat = advance(alone, turn, beat)
        done = np.int32(done + 1)
    if leads and done != control[STEPS]:
        control[COUNT] = count
        control[AHEAD] = ahead
        control[UNREAD] = unread
        control[KEPT] = list_form
        control[STEPS] = done
        control[TURN] = turn
