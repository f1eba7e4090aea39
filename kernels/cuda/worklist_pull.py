"""Supersteps of a frontier in which marked vertices gather; many of them in one cooperative launch.

This serves programs that compare-and-swap cannot: with a state of several fields or of too few bytes, or with
messages that count once each.  A superstep has two phases:

- Active vertices mark their out-neighbours.  Each marked vertex gets a bit, and the first thread to set it adds
  the vertex to the worklist.
- Marked vertices gather from their active in-neighbours.  No other thread changes them, so nothing is swapped.
  A new state is written beside the old one, which others may be reading.

New states are put in place during the next superstep's marking, which reads none.  So all vertices read what the
previous superstep left, as on every engine.  If a frontier has more than a given share of all arcs, no vertex is
marked, and all vertices gather: a pull.

Worklists are made online, or from the bits in order of position (ballots).  With ballots the order in which the
messages of a row are combined depends only on the graph and the frontier, so sums of floats repeat from run to
run.

As in `frontier`, a single block handles small phases, and every thread computes the same decision about the
next phase.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add, drop, list_words
from cugraph_ws.kernels.cuda.interface import (
    ANY,
    CHANGES,
    SETTLES,
    TERMS,
    is_active,
    is_enough,
    is_settled,
    keep,
    load,
    load_target,
    merge,
    message,
    nothing,
    put,
    put_message,
    same,
    take_message,
    terms,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    ACTIVATED,
    AHEAD,
    ALONE,
    BALLOT,
    COUNT,
    DEGREES,
    ENTRIES,
    FIRST_ARCS,
    FRONTIER_BLOCK,
    KEPT,
    LEAST_ROWS,
    LISTED,
    PIECE,
    PULL,
    QUEUED,
    ROLES,
    STEPS,
    WOKEN,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
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
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    greatest_of_lanes,
    queue_row,
    reserve,
    scan,
    sum_of_lanes,
    take_pieces,
)
from cugraph_ws.kernels.cuda.superstep import (
    WARP_FIGURES,
    add_row,
    add_terms,
    fetch,
    fold_block,
    fold_lanes,
    fold_segments,
    gather_strided,
    no_tally,
    put_tally,
    put_terms,
)

__all__ = ["pull_worklist"]


@inline
def meet(alone: Any) -> None:
    """Wait at a barrier: of the grid, or of the single block that works."""
    if alone:
        sync_block()
    else:
        sync_grid()


@inline
def rows_a_warp(entries: Any, warps: Any) -> Any:
    """Return how many rows of a list a warp takes: fewer if some warps would get none."""
    rows = 32
    while rows > LEAST_ROWS and entries <= rows // 2 * warps:
        rows //= 2
    return rows


@inline
def is_over(count: Any, work: Any, done: Any, steps: Any, leave: Any) -> Any:
    """Return whether a launch ends before a superstep's marking."""
    return count == 0 or done == steps or (done > 0 and work > leave)


@inline
def list_flagged(
    vertices: Any, flags: Any, next_flags: Any, listed: Any, offsets: Any, control: Any, turn: Any
) -> None:
    """List flagged vertices, count their out-arcs, and clear the flags of the superstep after."""
    arcs = np.int64(0)
    for first in range(block() * threads() + thread() - lane(), vertices, blocks() * threads()):
        vertex = first + lane()
        active = False
        if vertex < vertices:
            active = flags[vertex] != 0
            next_flags[vertex] = np.uint8(0)
        if any_of(FULL, active):
            slot = reserve(control, LISTED + turn, np.int32(active))
            if active:
                listed[slot] = vertex
                arcs += offsets[vertex + 1] - offsets[vertex]
    arcs = sum_of_lanes(arcs)
    if lane() == 0 and arcs > 0:
        atomic_add(control, DEGREES + turn, arcs)


@inline
def call(place: Any, total: Any, ends: Any, start: Any, row: Any, begin: Any, indices: Any) -> Any:
    """Return the vertex that an arc leads to, and whether there is an arc."""
    _, arc = arc_at(place, ends, start, row, begin, 1)
    target = np.int64(0)
    if place < total:
        target = np.int64(load_once(indices, arc))
    return target, place < total


@inline
def enter(vertex: Any, is_called: Any, marks: Any) -> Any:
    """Mark a vertex if `is_called`; return whether this thread was the first to set its bit."""
    if is_called and (np.int64(load_fresh(marks, vertex >> 5)) >> (vertex & 31)) & 1 == 0:
        return add(marks, vertex)
    return False


@inline
def write_down(first: Any, vertex: Any, slot: Any, room: Any, listed: Any, offsets: Any) -> Any:
    """List a vertex when it is `first` marked, if there is room; return its in-degree, 0 later."""
    degree = np.int64(0)
    if first:
        degree = offsets[vertex + 1] - offsets[vertex]
        if slot < room:
            listed[slot] = vertex
    return degree


@inline
def call_all(
    share: Any, row: Any, begin: Any, indices: Any, marks: Any, listed: Any, room: Any,
    counters: Any, which: Any, offsets: Any,
) -> Any:  # fmt: skip
    """Mark the vertices that the arcs of the lanes' rows lead to; return the in-arcs of the lane's new ones."""
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    degrees = np.int64(0)
    for at in range(np.int32(0), total, np.int32(64)):
        place = np.int32(at + lane())
        vertex_0, try_0 = call(place, total, ends, start, row, begin, indices)
        vertex_1, try_1 = call(np.int32(place + 32), total, ends, start, row, begin, indices)
        try_0 = enter(vertex_0, try_0, marks)
        try_1 = enter(vertex_1, try_1, marks)
        wanted = np.int32(try_0) + np.int32(try_1)
        if any_of(FULL, wanted > 0):
            slot = reserve(counters, which, np.int32(wanted))
            degrees += write_down(try_0, vertex_0, slot, room, listed, offsets)
            slot += np.int32(try_0)
            degrees += write_down(try_1, vertex_1, slot, room, listed, offsets)
    return degrees


@inline
def list_in_order(
    words: Any, warp: Any, warps: Any, marks: Any, listed: Any, offsets: Any, shares: Any
) -> None:
    """List marked vertices by position, and clear the bits; each warp takes a range of the bitmap."""
    span = (words + warps - 1) // warps
    begin = min(np.int64(warp) * span, words)
    end = min(begin + span, words)
    count = np.int64(0)
    for word in range(begin + lane(), end, 32):
        count += np.int64(popc(marks[word]))
    count = sum_of_lanes(count)
    if lane() == 0:
        shares[warp] = count
    sync_grid()
    below = np.int64(0)
    for peer_warp in range(lane(), warp, 32):
        below += shares[peer_warp]
    below = sum_of_lanes(below)
    for first in range(begin, end, 32):
        mine = np.uint32(0)
        if first + lane() < end:
            mine = marks[first + lane()]
            marks[first + lane()] = np.uint32(0)
        wanted = np.int32(popc(mine))
        ends = scan(wanted)
        if any_of(FULL, wanted > 0):
            list_words(mine, first, np.int64(below + ends - wanted), (listed,), offsets)
        below += np.int64(shuffle(FULL, ends, 31))


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
def count_in(value: Any, counters: Any, which: Any) -> None:
    """Add all lanes' numbers to a counter."""
    if any_of(FULL, value > 0):
        total = sum_of_lanes(value)
        if lane() == 0:
            atomic_add(counters, which, total)


@inline
def add_up(vertices: Any, state: Any, constants: Any, values: Any, sums: Any, tallies: Any) -> None:
    """Add up the program's aggregates over all vertices, in the same order each time."""
    figures = shared(WARP_FIGURES, np.float64)
    active, total, greatest, added = no_tally()
    for vertex in range(block() * threads() + thread(), vertices, blocks() * threads()):
        added = add_terms(added, terms(load(state, constants, vertex), values))
    tally = fold_block((active, total, greatest, added), figures)
    if thread() == 0:
        put_tally(tallies, block(), tally)
    sync_grid()
    if block() == 0:
        everyone = no_tally()
        for row in range(thread(), blocks(), threads()):
            everyone = add_row(tallies, row, everyone)
        everyone = fold_block(everyone, figures)
        if thread() == 0:
            put_terms(sums, 0, everyone[3])
    sync_grid()


@kernel
@bounded(FRONTIER_BLOCK)
def pull_worklist(
    vertices: Any, arcs: Any, forward: Any, backward: Any, edges: Any, state: Any, fresh: Any,
    constants: Any, flags: Any, marks: Any, queue: Any, parts: Any, lists: Any, parameters: Any,
    sums: Any, number: Any, steps: Any, leave: Any, settings: Any, shares: Any, tallies: Any,
    control: Any, records: Any,
) -> None:  # fmt: skip
    """Run up to `steps` supersteps, the first of them with this number.  Cooperative.

    Parameters
    ----------
    vertices, arcs : int
    forward, backward : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours and of in-neighbours.
    edges : tuple of arrays of [arcs]
        The program's edge attributes, in the order of the in-neighbours.
    state, fresh, constants : tuples of arrays of [vertices]
        `fresh` is scratch.
    flags : two of uint8[vertices]
        Active vertices of the first superstep, and scratch for the next one.  After an odd number of
        supersteps they have changed places, as the first two lists have.
    marks : uint32[ceil(vertices / 32)]
        Bits of marked vertices; zeros before and after.
    queue : tuple of (int[n], int32[n])
        Scratch; n is the number of pieces of all rows that are longer than a piece.
    parts : tuple of (tuple of arrays of [n], uint8[n])
        Scratch: the combined messages of a piece, and whether there were any.
    lists : three of int[vertices]
        Vertices changed in the last superstep, and in the one before; marked vertices.
    parameters, sums
        What the program reads.
    number, steps : int
    leave : int
        Arcs of a frontier above which the launch ends, but not before its first superstep.
    settings : tuple of int
        The arcs of a frontier above which all vertices gather, the room in the worklist, the vertices
        and the arcs that a single block handles, and the arcs after which the launch ends.
    shares : int64[warps]
        Scratch.
    tallies : float64[blocks * (FIGURES + TERMS)]
        Scratch, for aggregates.
    control : int64[32]
        The frontier's size and arcs, and counters; see `layout`.
    records : int64[3 * steps]
        For each superstep the active vertices, the arcs read, and the direction.
    """
    pull_above, room, few, few_arcs, most_arcs = settings
    out_offsets, out_indices = forward
    in_offsets, in_indices = backward
    called = lists[2]
    words = np.int64((vertices + 31) // 32)
    local = shared(32, np.int64)
    leads = block() == 0 and thread() == 0
    turn, beat, done = np.int32(0), np.int32(0), np.int32(0)
    if control[KEPT] == 0:
        list_flagged(vertices, flags[0], flags[1], lists[0], out_offsets, control, turn)
        sync_grid()
        count, work = control[LISTED + turn], control[DEGREES + turn]
        entries = count
        turn = np.int32(1)
    else:
        count, work = control[COUNT], control[AHEAD]
        entries = control[ENTRIES]
    before = np.int64(0)  # entries of the list before
    calling, listed, everyone = True, True, False
    alone, asleep = False, False  # one block works, the others wait
    spent = np.float32(0.0)  # one register
    while True:
        over = calling and (is_over(count, work, done, steps, leave) or spent > most_arcs)
        small = listed and entries <= few and work <= few_arcs
        if asleep or (alone and (over or not small)):
            # The single block releases the others.
            if alone and leads:
                control[WOKEN] = entries
                control[WOKEN + 1] = count
                control[WOKEN + 2] = work
                control[WOKEN + 3] = before
                control[WOKEN + 4] = done
                control[WOKEN + 5] = np.int64(calling)
                control[WOKEN + 6] = np.int64(listed)
            sync_grid()
            if asleep:
                entries, count, work = control[WOKEN], control[WOKEN + 1], control[WOKEN + 2]
                before, done = control[WOKEN + 3], np.int32(control[WOKEN + 4])
                calling, listed = control[WOKEN + 5] != 0, control[WOKEN + 6] != 0
                everyone = False
                over = calling and (is_over(count, work, done, steps, leave) or spent > most_arcs)
                small = False
            alone, asleep = False, False
        if over:
            break
        if small and not alone and not (calling and work > pull_above):
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
        now, after, changed, next_changed = flags[0], flags[1], lists[0], lists[1]
        if done & 1:
            now, after, changed, next_changed = flags[1], flags[0], lists[1], lists[0]
        values = with_sums(parameters, sums, vertices, np.int64(number + done))
        if leads:
            for role in range(ROLES):
                counters[LISTED + 3 * role + (at + 1) % 3] = 0
        if not alone:
            spent = np.float32(spent + np.float32(work))
        size = np.int64(0)
        rows = rows_a_warp(entries, warps)
        if calling:
            everyone = work > pull_above and not alone
            if leads:
                records[3 * done] = count
                records[3 * done + 1] = 0 if everyone else work
                records[3 * done + 2] = (PULL if everyone else 0) + (ALONE if alone else 0)
            for place in range(32 * warp + lane(), before, 32 * warps):
                after[next_changed[place]] = np.uint8(0)
            degrees = np.int64(0)
            top, pace = np.int32((entries + rows - 1) // rows), warps
            for stage in range(2):
                if stage == 1:
                    top, pace = np.int32(size), np.int32(32 * warps)
                for base in range(warp, top, pace):
                    row, begin, share = np.int64(0), np.int64(0), np.int32(0)
                    if stage == 1:
                        row, begin, share = take_pieces(out_offsets, queue, size, base, warps)
                    else:
                        length = np.int64(0)
                        if lane() < rows and rows * base + lane() < entries:
                            row = np.int64(changed[rows * base + lane()])
                            if done > 0:
                                put(state, row, keep(load(fresh, constants, row)))
                            if not everyone and now[row] != 0:
                                begin = out_offsets[row]
                                length = out_offsets[row + 1] - begin
                        if any_of(FULL, length > PIECE):
                            queue_row(
                                counters, QUEUED + at, queue[0], queue[1], np.int64(0), row,
                                length if length > PIECE else 0,
                            )  # fmt: skip
                        share = np.int32(0 if length > PIECE else length)
                    if any_of(FULL, share > 0):
                        degrees += call_all(
                            share, row, begin, out_indices, marks, called, room, counters,
                            LISTED + at, in_offsets,
                        )  # fmt: skip
                count_in(degrees, counters, DEGREES + at)
                degrees = np.int64(0)
                meet(alone)
                size = counters[QUEUED + at]
                if size == 0:
                    break
            before = entries
            entries, work = counters[LISTED + at], counters[DEGREES + at]
            listed = everyone or entries <= room
            if everyone:
                entries, work = np.int64(vertices), np.int64(arcs)
            calling = False
        else:
            if not listed:
                list_in_order(words, warp, warps, marks, called, in_offsets, shares)
                if leads:
                    records[3 * done + 2] += BALLOT
                sync_grid()
            if everyone:
                rows = 32
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
                        begin = in_offsets[row]
                        length = in_offsets[row + 1] - begin
                gathered, has_message = nothing(), False
                if ANY:
                    gathered, has_message, tried = ask_in_haste(
                        row, begin, length, in_indices, edges, state, constants, now, values
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
                        gathered, has_message, share, row, begin, in_indices, edges, state, constants,
                        now, values,
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
            meet(alone)
            size = counters[QUEUED + at]
            if size > 0:
                for slot in range(warp, np.int32(size), warps):
                    row = np.int64(queue[0][slot])
                    begin = in_offsets[row] + np.int64(queue[1][slot]) * PIECE
                    gathered, has_message = gather_strided(
                        row, begin + lane(), min(begin + PIECE, in_offsets[row + 1]), 32,
                        in_indices, edges, state, constants, (), now, values,
                    )  # fmt: skip
                    gathered = fold_lanes(gathered, 32)
                    has_message = any_of(FULL, has_message)
                    if lane() == 0:
                        put_message(parts[0], slot, gathered)
                        parts[1][slot] = np.uint8(1) if has_message else np.uint8(0)
                meet(alone)
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
                        pieces = (in_offsets[row + 1] - in_offsets[row] + PIECE - 1) // PIECE
                        gathered, has_message = nothing(), False
                        for piece in range(head + lane(), head + pieces, 32):
                            gathered = merge(gathered, take_message(parts[0], piece))
                            has_message = has_message or parts[1][piece] != 0
                        gathered = fold_lanes(gathered, 32)
                        has_message = any_of(FULL, has_message)
                        activated, degree = answer(
                            row, gathered, has_message and lane() == 0, state, fresh, constants, values,
                            after, next_changed, counters, LISTED + at, out_offsets,
                        )  # fmt: skip
                        woken += activated
                        ahead += degree
                count_in(woken, counters, ACTIVATED + at)
                count_in(ahead, counters, DEGREES + at)
                meet(alone)
            entries, count, work = (
                counters[LISTED + at],
                counters[ACTIVATED + at],
                counters[DEGREES + at],
            )
            if TERMS:  # all blocks work
                for place in range(32 * warp + lane(), entries, 32 * warps):
                    row = np.int64(next_changed[place])
                    put(state, row, keep(load(fresh, constants, row)))
                sync_grid()
                add_up(vertices, state, constants, values, sums, tallies)
            calling, listed, everyone = True, True, False
            done = np.int32(done + 1)
        if alone:
            beat = np.int32((beat + 1) % 3)
        else:
            turn = np.int32((turn + 1) % 3)
    first, pace = block() * threads() + thread(), blocks() * threads()
    after, changed, next_changed = flags[1], lists[0], lists[1]
    if done & 1:
        after, changed, next_changed = flags[0], lists[1], lists[0]
    if done > 0:
        for place in range(first, entries, pace):
            row = np.int64(changed[place])
            put(state, row, keep(load(fresh, constants, row)))
        for place in range(first, before, pace):
            after[next_changed[place]] = np.uint8(0)
    if leads:
        control[COUNT] = count
        control[AHEAD] = work
        control[ENTRIES] = entries
        control[KEPT] = 1
        control[STEPS] = done
