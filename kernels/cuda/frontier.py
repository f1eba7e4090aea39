"""Supersteps of a frontier, pushed or pulled; many of them in one cooperative launch.

This serves programs whose `apply` may take messages one by one, and twice, and whose state is one number.  The
state is changed by compare-and-swap, so no message is lost and none waits for another.

- Push: the listed vertices send along their out-arcs.  Pull: vertices that are not settled look for active
  in-neighbours, and stop at the first after which they are settled (Beamer, Asanović, Patterson 2012).  The first few
  in-neighbours are read by `kernels/cuda/pull.py`, so a pull is the first superstep of a launch.  Both read
  arcs in the same way: a warp takes 32 rows, and its lanes share out their arcs.  Longer rows are queued in
  pieces for all warps, in a second stage of the superstep.
- A changed vertex gets a bit in the next superstep's bitmap.  The first thread to set the bit lists the vertex,
  with one atomic per warp (SIMD-X's online filter: Liu and Huang, USENIX ATC 2019).  If a list is full or was
  not kept, it is made from the bitmap, in order (their ballot filter).
- A small frontier is left to a single block, with its counters in shared memory, while the other blocks wait
  at the grid's barrier.
- For programs with a priority, vertices that are not due are put into a second bitmap.  When no others are
  left, those within the next limit are listed (Davidson, Baxter, Garland, Owens 2014; a limit that adapts as
  in Wang, Fussell, Lin 2021).

Every thread computes the same decision about what to run next, from counters that the previous superstep left,
without the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import GROUPS, add, drop, has, list_words, put_words
from cugraph_ws.kernels.cuda.interface import (
    ANY,
    NO_TARGET,
    ORDERED,
    SETTLES,
    glance,
    is_active,
    is_settled,
    keep,
    load,
    message,
    nothing,
    order,
    replace,
    same,
    swap,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    ABOVE,
    AHEAD,
    ALONE,
    BALLOT,
    BEGAN,
    COUNT,
    DEGREES,
    FILLED,
    FIRST_ARCS,
    FRONTIER_BLOCK,
    KEPT,
    LEAST,
    LEAST_ROWS,
    LIMIT,
    LISTED,
    NEAR_ROWS,
    PIECE,
    PULL,
    QUEUED,
    ROLES,
    STEPS,
    TURN,
    UNREAD,
    WAITERS,
    WIDTH,
    WOKEN,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_compare_and_swap,
    ballot,
    block,
    blocks,
    bounded,
    ffs,
    inline,
    kernel,
    lane,
    load_fresh,
    load_once,
    popc,
    shared,
    shuffle,
    sync_block,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.pull import is_pulled, limit_of
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    least_of_lanes,
    queue_row,
    reserve,
    scan,
    sum_of_lanes,
    take_pieces,
)

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
    vertices: Any, before: Any, state: Any, constants: Any, parameters: Any, sums: Any, number: Any,
    offsets: Any, bitmap: Any, control: Any,
) -> None:  # fmt: skip
    """Make a frontier's bitmap of the vertices that have become active since `before`; count as `enlist` does."""
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
def aim(place: Any, total: Any, ends: Any, start: Any, row: Any, begin: Any, indices: Any) -> Any:
    """Return the row of an arc, the vertex at its other end, and the arc; 0 where there is none."""
    mine, arc = arc_at(place, ends, start, row, begin, 1)
    neighbour = np.int64(0)
    if place < total:
        neighbour = np.int64(load_once(indices, arc))
    else:
        arc = np.int64(0)
    return mine, neighbour, arc


@inline
def look(
    live: Any, mine: Any, neighbour: Any, pulls: Any, now: Any, state: Any, constants: Any
) -> Any:
    """Return the sender and the receiver along an arc, and whether the sender is active.

    States may be stale, since they are read through the cache; then a message is computed that changes
    nothing.
    """
    sender, receiver = (neighbour, mine) if pulls else (mine, neighbour)
    if pulls and live:
        live = has(now, sender)
    return glance(state, constants, sender), glance(state, constants, receiver), live


@inline
def judge(live: Any, source: Any, old: Any, edges: Any, arc: Any, values: Any) -> Any:
    """Return the message along an arc, and whether it may change the receiver."""
    received = nothing()
    if live:
        received = message(source, NO_TARGET, edges, arc, values)
        if (SETTLES and is_settled(old, values)) or same(old, update(old, received, values)):
            live = False
    return received, live


@inline
def apply_message(
    vertex: Any, old: Any, received: Any, promising: Any, after: Any, later: Any, state: Any,
    constants: Any, values: Any, limit: Any,
) -> Any:  # fmt: skip
    """Apply a message to a vertex, last seen as `old`; return whether it is the first to activate it."""
    activated, due = False, True
    latest = keep(old)
    while promising:
        new = update(old, received, values)
        if (SETTLES and is_settled(old, values)) or same(old, new):
            promising = False
        elif swap(state, vertex, old, new):
            activated = is_active(old, new, values)
            latest = new
            if ORDERED:
                due = not order(replace(old, new), values) > limit  # NaN is
            promising = False
        else:
            old = load(state, constants, vertex)
    if ORDERED and activated and not due:
        add(later, vertex)
        activated = False
    if activated:
        # If any message settles a vertex, nothing waits for the atomic's answer: it settles only once.
        first = add(after, vertex)
        if not (ANY and SETTLES and is_settled(replace(old, latest), values)):
            activated = first
        if ORDERED and (np.int64(load_fresh(later, vertex >> 5)) >> (vertex & 31)) & 1 != 0:
            drop(later, vertex)
    return activated


@inline
def row_of_one(wanted: Any, vertex: Any, offsets: Any) -> Any:
    """Return where a vertex's out-arcs begin, and their number; 0 if it is not `wanted`."""
    begin, degree = np.int64(0), np.int32(0)
    if wanted:
        begin = offsets[vertex]
        degree = np.int32(offsets[vertex + 1] - begin)
    return begin, degree


@inline
def note(
    first: Any, vertex: Any, begin: Any, degree: Any, slot: Any, bins: Any, listed: Any
) -> Any:
    """List a vertex with its row, if there is room; return its out-degree, 0 if it is not the `first`."""
    vertices, begins, lengths = listed
    if not first:
        return np.int32(0)
    if slot < bins:
        vertices[slot] = vertex
    if slot < NEAR_ROWS:
        begins[slot] = begin
        lengths[slot] = degree
    return degree


@inline
def walk(
    share: Any, row: Any, begin: Any, pulls: Any, indices: Any, edges: Any, now: Any, after: Any,
    later: Any, listed: Any, bins: Any, counters: Any, which: Any, offsets: Any, state: Any,
    constants: Any, values: Any, limit: Any,
) -> Any:  # fmt: skip
    """Process the arcs of the lanes' rows; return how many out-arcs the lane's newly listed vertices have.

    Four windows of 32 arcs are loaded before the first message is applied, to have more loads in flight.
    """
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    ahead = np.int64(0)
    for at in range(np.int32(0), total, np.int32(128)):
        place = np.int32(at + lane())
        wide = at + 32 < total
        row_0, vertex_0, arc_0 = aim(place, total, ends, start, row, begin, indices)
        row_1, vertex_1, arc_1 = row_0, vertex_0, arc_0
        row_2, vertex_2, arc_2 = row_0, vertex_0, arc_0
        row_3, vertex_3, arc_3 = row_0, vertex_0, arc_0
        if wide:
            row_1, vertex_1, arc_1 = aim(
                np.int32(place + 32), total, ends, start, row, begin, indices
            )
            row_2, vertex_2, arc_2 = aim(
                np.int32(place + 64), total, ends, start, row, begin, indices
            )
            row_3, vertex_3, arc_3 = aim(
                np.int32(place + 96), total, ends, start, row, begin, indices
            )
        from_0, old_0, try_0 = look(place < total, row_0, vertex_0, pulls, now, state, constants)
        from_1, old_1, try_1 = from_0, old_0, False
        from_2, old_2, try_2 = from_0, old_0, False
        from_3, old_3, try_3 = from_0, old_0, False
        if wide:
            from_1, old_1, try_1 = look(
                place + 32 < total, row_1, vertex_1, pulls, now, state, constants
            )
            from_2, old_2, try_2 = look(
                place + 64 < total, row_2, vertex_2, pulls, now, state, constants
            )
            from_3, old_3, try_3 = look(
                place + 96 < total, row_3, vertex_3, pulls, now, state, constants
            )
        received_0, try_0 = judge(try_0, from_0, old_0, edges, arc_0, values)
        received_1, received_2, received_3 = received_0, received_0, received_0
        if wide:
            received_1, try_1 = judge(try_1, from_1, old_1, edges, arc_1, values)
            received_2, try_2 = judge(try_2, from_2, old_2, edges, arc_2, values)
            received_3, try_3 = judge(try_3, from_3, old_3, edges, arc_3, values)
        if pulls:
            vertex_0, vertex_1, vertex_2, vertex_3 = row_0, row_1, row_2, row_3
        if any_of(FULL, try_0 or try_1 or try_2 or try_3):
            # In flight while states are swapped
            begin_0, degree_0 = row_of_one(try_0, vertex_0, offsets)
            begin_1, degree_1 = begin_0, degree_0
            begin_2, degree_2 = begin_0, degree_0
            begin_3, degree_3 = begin_0, degree_0
            if wide:
                begin_1, degree_1 = row_of_one(try_1, vertex_1, offsets)
                begin_2, degree_2 = row_of_one(try_2, vertex_2, offsets)
                begin_3, degree_3 = row_of_one(try_3, vertex_3, offsets)
            try_0 = apply_message(
                vertex_0, old_0, received_0, try_0, after, later, state, constants, values, limit
            )
            if wide:
                try_1 = apply_message(
                    vertex_1,
                    old_1,
                    received_1,
                    try_1,
                    after,
                    later,
                    state,
                    constants,
                    values,
                    limit,
                )
                try_2 = apply_message(
                    vertex_2, old_2, received_2, try_2, after, later, state, constants, values,
                    limit,
                )  # fmt: skip
                try_3 = apply_message(
                    vertex_3, old_3, received_3, try_3, after, later, state, constants, values,
                    limit,
                )  # fmt: skip
            wanted = np.int32(try_0) + np.int32(try_1) + np.int32(try_2) + np.int32(try_3)
            if any_of(FULL, wanted > 0):
                slot = reserve(counters, which, np.int32(wanted))
                ahead += note(try_0, vertex_0, begin_0, degree_0, slot, bins, listed)
                if wide:
                    slot += np.int32(try_0)
                    ahead += note(try_1, vertex_1, begin_1, degree_1, slot, bins, listed)
                    slot += np.int32(try_1)
                    ahead += note(try_2, vertex_2, begin_2, degree_2, slot, bins, listed)
                    slot += np.int32(try_2)
                    ahead += note(try_3, vertex_3, begin_3, degree_3, slot, bins, listed)
    return ahead


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


@kernel
@bounded(FRONTIER_BLOCK)
def traverse(
    vertices: Any, arcs: Any, forward: Any, backward: Any, edges: Any, state: Any, constants: Any,
    bitmaps: Any, later: Any, queue: Any, lists: Any, parameters: Any, sums: Any, number: Any,
    steps: Any, leave: Any, settings: Any, horizon: Any, control: Any, records: Any,
) -> None:  # fmt: skip
    """Run supersteps until there have been `steps`, the first of which had this number.  Cooperative.

    `control[STEPS]` counts them, so several launches may be queued before the host reads it.

    Parameters
    ----------
    vertices, arcs : int
    forward, backward : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours and of in-neighbours.
    edges : two tuples of arrays of [arcs]
        The program's edge attributes, in the order of `forward` and of `backward`.
    state, constants : tuples of arrays of [vertices]
    bitmaps : two of uint32[ceil(vertices / 32)]
        The frontiers of even and of odd supersteps; the one that is not current is scratch.
    later : uint32[ceil(vertices / 32)]
        For programs with a priority: active vertices that are not due.
    queue : tuple of (int[n], int32[n])
        Scratch; n is the number of pieces of all rows that are longer than a piece.
    lists : two of (int[vertices], int64[NEAR_ROWS], int32[NEAR_ROWS])
        The frontier's vertices, of even and of odd supersteps; for the first NEAR_ROWS of them also the
        first out-arc and the out-degree.
    parameters, sums
        What the program reads.
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
            # The single block releases the others.
            if alone and leads:
                control[WOKEN] = count
                control[WOKEN + 1] = ahead
                control[WOKEN + 2] = unread
                control[WOKEN + 3] = list_form
                control[WOKEN + 4] = done
            sync_grid()
            if asleep:
                count, ahead, unread = control[WOKEN], control[WOKEN + 1], control[WOKEN + 2]
                list_form = control[WOKEN + 3]
                done = np.int32(control[WOKEN + 4])
                heavy = done > 0 and ahead > leave
            alone, asleep = False, False
        if ORDERED and count == 0 and not alone:
            # Which vertices are due next?
            values = with_sums(parameters, sums, vertices, np.int64(number + done))
            weigh(words, later, state, constants, values, horizon)
            sync_grid()
            waiting, least = horizon[WAITERS], horizon[LEAST]
            if waiting > 0.0:
                width = 2.0 * (horizon[ABOVE] / waiting - least) * goal / waiting
                if waiting < goal:
                    width = max(width, 2.0 * (least - limit), 2.0 * horizon[WIDTH])
                if not (width > 0.0 and width < np.inf):
                    width = 0.0
                limit = least + width
                now, listed = bitmaps[0], lists[0]
                if (number + done) & 1:
                    now, listed = bitmaps[1], lists[1]
                arcs_due = np.int64(0)
                if leads:
                    for role in range(ROLES):
                        control[LISTED + 3 * role + (turn + 1) % 3] = 0
                for first in range(
                    32 * ((block() * threads() + thread()) // 32), words, blocks() * threads()
                ):
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
                        arcs_due += list_words(due, first, slot, listed, out_offsets)
                arcs_due = sum_of_lanes(arcs_due)
                if lane() == 0 and arcs_due > 0:
                    atomic_add(control, DEGREES + turn, arcs_due)
                sync_grid()
                count = control[FILLED + turn]
                ahead = control[DEGREES + turn]
                list_form = np.int64(1)
                if leads:
                    horizon[LIMIT] = limit
                    horizon[WIDTH] = width
                    horizon[LEAST] = np.inf
                    horizon[ABOVE] = 0.0
                    horizon[WAITERS] = 0.0
                turn = np.int32((turn + 1) % 3)
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
            if thread() < 32:
                local[thread()] = 0
            sync_block()
        counters, at = control, turn
        # Neighbouring warps are of different blocks, so that few rows are spread over many.
        warp = np.int32(thread() // 32 * blocks() + block())
        warps = np.int32(blocks() * threads() // 32)
        if alone:
            counters, at = local, beat
            warp, warps = np.int32(thread() // 32), np.int32(threads() // 32)
        now, after, listed, next_listed = bitmaps[0], bitmaps[1], lists[0], lists[1]
        if (number + done) & 1:
            now, after, listed, next_listed = bitmaps[1], bitmaps[0], lists[1], lists[0]
        values = with_sums(parameters, sums, vertices, np.int64(number + done))
        if SETTLES:
            unread = max(unread - ahead, 0)
        if not alone:
            spent = np.float32(spent + np.float32(arcs if pulls else ahead))
        fill = not pulls and list_form == 0
        near = list_form == 2 and count <= NEAR_ROWS and not pulls
        if leads:
            for role in range(ROLES):
                counters[LISTED + 3 * role + (at + 1) % 3] = 0
            records[3 * done] = count
            if not pulls:
                records[3 * done + 1] = ahead
            records[3 * done + 2] = (
                (PULL if pulls else 0)
                + (BALLOT if fill or (list_form == 1 and not pulls) else 0)
                + (ALONE if alone else 0)
            )
        if fill:
            for first in range(32 * warp, words, 32 * warps):
                mine = np.uint32(0)
                if first + lane() < words:
                    mine = now[first + lane()]
                    now[first + lane()] = 0
                    after[first + lane()] = 0
                if any_of(FULL, mine != 0):
                    slot = reserve(control, FILLED + turn, np.int32(popc(mine)))
                    list_words(mine, first, slot, listed, out_offsets)
            sync_grid()
        offsets, indices = backward if pulls else forward
        attributes = edges[1] if pulls else edges[0]
        read, heirs = np.int64(0), np.int64(0)
        size, next_count = np.int64(0), np.int64(0)
        listings = control[FILLED + turn] if pulls else count
        rows = np.int32(32)  # of a warp
        while rows > LEAST_ROWS and listings <= rows // 2 * warps:
            rows = np.int32(rows >> 1)
        top, pace = np.int32((listings + rows - 1) // rows), warps
        for stage in range(2):
            if stage == 1:
                if alone:  # All threads have read the counters.
                    sync_block()
                else:
                    sync_grid()
                top, pace = np.int32(size), np.int32(32 * warps)
            for base in range(warp, top, pace):
                row, begin, share = np.int64(0), np.int64(0), np.int32(0)
                if stage == 1:
                    row, begin, share = take_pieces(offsets, queue, size, base, warps)
                else:
                    length, row_length = np.int64(0), np.int64(0)
                    place = rows * base + lane()
                    if lane() < rows and place < listings:
                        row = np.int64(listed[0][place])
                        if near:
                            begin = np.int64(listed[1][place])
                            length = np.int64(listed[2][place])
                        else:
                            begin = offsets[row]
                            length = offsets[row + 1] - begin
                        row_length = length
                        if not pulls:
                            if not fill:
                                drop(now, row)
                        elif SETTLES and lead == 0:  # else what has been read is not at the front
                            begin += FIRST_ARCS
                            length -= FIRST_ARCS
                    if any_of(FULL, length > PIECE):
                        queue_row(
                            counters, QUEUED + at, queue[0], queue[1], np.int64(0), row,
                            row_length if length > PIECE else 0,
                        )  # fmt: skip
                    share = np.int32(0 if length > PIECE else length)
                read += share
                if any_of(FULL, share > 0):
                    heirs += walk(
                        share, row, begin, pulls, indices, attributes, now, after, later,
                        next_listed, bins, counters, LISTED + at, out_offsets, state, constants,
                        values, limit,
                    )  # fmt: skip
            if pulls:
                read = sum_of_lanes(read)
                if lane() == 0 and read > 0:
                    atomic_add(records, 3 * done + 1, read)
            if any_of(FULL, heirs > 0):
                heirs = sum_of_lanes(heirs)
                if lane() == 0:
                    atomic_add(counters, DEGREES + at, heirs)
            read, heirs = np.int64(0), np.int64(0)
            if alone:
                sync_block()
            else:
                sync_grid()
            size = counters[QUEUED + at]
            next_count = counters[LISTED + at]
            ahead = counters[DEGREES + at]
            if size == 0:
                break
        count = next_count
        list_form = np.int64(0 if pulls or count > bins else 2)
        if alone:
            beat = np.int32((beat + 1) % 3)
        else:
            turn = np.int32((turn + 1) % 3)
        done = np.int32(done + 1)
    if leads and done != control[STEPS]:
        control[COUNT] = count
        control[AHEAD] = ahead
        control[UNREAD] = unread
        control[KEPT] = list_form
        control[STEPS] = done
        control[TURN] = turn
