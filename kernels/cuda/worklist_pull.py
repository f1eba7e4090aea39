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

from cugraph_ws.kernels.cuda.cooperative import (
    advance,
    clear_following,
    clear_local,
    counters_of,
    sync_workers,
    warps_of,
)
from cugraph_ws.kernels.cuda.interface import (
    TERMS,
    keep,
    load,
    put,
    terms,
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
    FRONTIER_BLOCK,
    KEPT,
    LISTED,
    PULL,
    QUEUED,
    STEPS,
    WOKEN,
)
from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    bounded,
    inline,
    kernel,
    lane,
    shared,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.superstep import (
    WARP_FIGURES,
    add_row,
    add_terms,
    fold_block,
    no_tally,
    put_tally,
    put_terms,
)
from cugraph_ws.kernels.cuda.worklist_calls import call_neighbours, list_flagged, list_in_order
from cugraph_ws.kernels.cuda.worklist_gathers import answer_pieces, gather_pieces, gather_rows

__all__ = ["pull_worklist"]


@inline
def is_over(count: Any, work: Any, done: Any, steps: Any, leave: Any) -> Any:
    """Return whether a launch ends before a superstep's marking."""
    return count == 0 or done == steps or (done > 0 and work > leave)


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


@inline
def hand_over(
    control: Any, entries: Any, count: Any, work: Any, before: Any, done: Any, calling: Any, listed: Any
) -> None:  # fmt: skip
    """Store what the single block knows, for the blocks that have waited for it."""
    control[WOKEN] = entries
    control[WOKEN + 1] = count
    control[WOKEN + 2] = work
    control[WOKEN + 3] = before
    control[WOKEN + 4] = done
    control[WOKEN + 5] = np.int64(calling)
    control[WOKEN + 6] = np.int64(listed)


@inline
def take_over_from_block(control: Any) -> Any:
    """Return what `hand_over` has stored."""
    entries, count, work = control[WOKEN], control[WOKEN + 1], control[WOKEN + 2]
    before, done = control[WOKEN + 3], np.int32(control[WOKEN + 4])
    return entries, count, work, before, done, control[WOKEN + 5] != 0, control[WOKEN + 6] != 0


@inline
def put_in_place(changed: Any, entries: Any, first: Any, step: Any, memory: Any) -> None:
    """Put the new states of changed vertices in place."""
    state, fresh, constants, _ = memory
    for place in range(first, entries, step):
        row = np.int64(changed[place])
        put(state, row, keep(load(fresh, constants, row)))


@kernel
@bounded(FRONTIER_BLOCK)
def pull_worklist(
    vertices: Any, arcs: Any, forward: Any, backward: Any, edges: Any, program: Any, flags: Any,
    lists: Any, scratch: Any, number: Any, steps: Any, leave: Any, settings: Any, control: Any,
    records: Any,
) -> None:  # fmt: skip
    """Run up to `steps` supersteps, the first of them with this number.  Cooperative.

    Parameters
    ----------
    vertices, arcs : int
    forward, backward : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours and of in-neighbours.
    edges : tuple of arrays of [arcs]
        The program's edge attributes, in the order of the in-neighbours.
    program : tuple
        The state and the constants, tuples of arrays of [vertices]; the parameters and the sums that the program
        reads.
    flags : two of uint8[vertices]
        Active vertices of the first superstep, and scratch for the next one.  After an odd number of
        supersteps they have changed places, as the first two lists have.
    lists : three of int[vertices]
        Vertices changed in the last superstep, and in the one before; marked vertices.
    scratch : tuple
        New states, as the state; bits of marked vertices, uint32[ceil(vertices / 32)], zeros before and after; a
        queue, (int[n], int32[n]), where n is the number of pieces of all rows that are longer than a piece; the
        combined messages of each piece, and whether there were any, (tuple of arrays of [n], uint8[n]); shares,
        int64[warps]; and for aggregates tallies, float64[blocks * (FIGURES + TERMS)].
    number, steps : int
    leave : int
        Arcs of a frontier above which the launch ends, but not before its first superstep.
    settings : tuple of int
        The arcs of a frontier above which all vertices gather, the room in the worklist, the vertices
        and the arcs that a single block handles, and the arcs after which the launch ends.
    control : int64[32]
        The frontier's size and arcs, and counters; see `layout`.
    records : int64[3 * steps]
        For each superstep the active vertices, the arcs read, and the direction.
    """
    state, constants, parameters, sums = program
    fresh, marks, queue, outcomes, shares, tallies = scratch
    pull_above, room, few, few_arcs, most_arcs = settings
    out_offsets = forward[0]
    in_offsets = backward[0]
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
            if alone and leads:
                hand_over(control, entries, count, work, before, done, calling, listed)
            sync_grid()
            if asleep:
                entries, count, work, before, done, calling, listed = take_over_from_block(control)
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
            clear_local(local)
        counters, at = counters_of(alone, control, turn, local, beat)
        warp, warps = warps_of(alone)
        team = warp, warps, alone, counters, at
        now, after, changed, next_changed = flags[0], flags[1], lists[0], lists[1]
        if done & 1:
            now, after, changed, next_changed = flags[1], flags[0], lists[1], lists[0]
        values = with_sums(parameters, sums, vertices, np.int64(number + done))
        memory = state, fresh, constants, values
        if leads:
            clear_following(counters, at)
        if not alone:
            spent = np.float32(spent + np.float32(work))
        if calling:
            everyone = work > pull_above and not alone
            if leads:
                records[3 * done] = count
                records[3 * done + 1] = 0 if everyone else work
                records[3 * done + 2] = (PULL if everyone else 0) + (ALONE if alone else 0)
            for place in range(32 * warp + lane(), before, 32 * warps):
                after[next_changed[place]] = np.uint8(0)
            call_neighbours(
                team, changed, entries, everyone, done, now, memory, forward, in_offsets, queue, marks,
                called, room,
            )  # fmt: skip
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
            listing = next_changed, after, out_offsets
            gather_rows(
                team, called, entries, listed, everyone, marks, backward, edges, memory, now, queue,
                listing, records, done,
            )  # fmt: skip
            sync_workers(alone)
            size = counters[QUEUED + at]
            if size > 0:
                gather_pieces(team, size, backward, edges, memory, now, queue, outcomes)
                sync_workers(alone)
                answer_pieces(team, size, in_offsets, memory, queue, outcomes, listing)
                sync_workers(alone)
            entries, count, work = (
                counters[LISTED + at],
                counters[ACTIVATED + at],
                counters[DEGREES + at],
            )
            if TERMS:  # all blocks work
                put_in_place(next_changed, entries, 32 * warp + lane(), 32 * warps, memory)
                sync_grid()
                add_up(vertices, state, constants, values, sums, tallies)
            calling, listed, everyone = True, True, False
            done = np.int32(done + 1)
        turn, beat = advance(alone, turn, beat)
    first, step = block() * threads() + thread(), blocks() * threads()
    after, changed, next_changed = flags[1], lists[0], lists[1]
    if done & 1:
        after, changed, next_changed = flags[0], lists[1], lists[0]
    if done > 0:
        put_in_place(changed, entries, first, step, (state, fresh, constants, ()))
        for place in range(first, before, step):
            after[next_changed[place]] = np.uint8(0)
    if leads:
        control[COUNT] = count
        control[AHEAD] = work
        control[ENTRIES] = entries
        control[KEPT] = 1
        control[STEPS] = done
