"""Supersteps of a frontier and their exchange, many in one cooperative launch on each of several GPUs.

All ranks launch `traverse_linked` together.  After a superstep each rank stores its changed boundary vertices
into the other ranks' windows: memory of theirs that it can address.  A header follows, with the length of the
message and the rank's counts; its last word is a serial number, stored with release semantics, for which the
receiver waits.  From the headers every rank computes the same totals, so all make the same decision, without a
host (Atos: Chen et al., "Scalable irregular parallelism with GPUs", SC 2022, has no CPU in the control path
either).

A window has two halves, for exchanges of even and of odd serial numbers: a rank may be one exchange ahead,
since it waits for the headers of the previous one, but never two.  If a message does not fit its place, all ranks
see that in the headers, and the launch ends: the exchange is left to `kernels/accelerators/linked/exchange.py` or to the
hosts.

Vertices that other ranks hold as ghosts are found by a bitmap for each rank, with the number of ones before
each word: the place of a boundary vertex among the ghosts that this rank has there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.accelerators.linked.exchange import meet
from cugraph_ws.kernels.accelerators.linked.layout import (
    BOX_ACTIVE,
    BOX_COUNT,
    BOX_FULL,
    BOX_HISTORY,
    BOX_OUT,
    BOX_READ,
    BOX_SERIAL,
    BOX_WORDS,
    MEETINGS,
)
from cugraph_ws.kernels.cuda.bitmaps import add
from cugraph_ws.kernels.cuda.cooperative import clear_following, following, warps_of
from cugraph_ws.kernels.cuda.interface import SETTLES, copy_sent, with_sums
from cugraph_ws.kernels.cuda.layout import (
    AHEAD,
    ALLOWED,
    COUNT,
    DEGREES,
    FRONTIER_BLOCK,
    KEPT,
    LARGE,
    LISTED,
    NEAR_ROWS,
    OVER,
    PHASE,
    SMALL,
    STEPS,
    TURN,
    UNREAD,
    UNSENT,
    WOKEN,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    block,
    bounded,
    fence_system,
    inline,
    kernel,
    lane,
    load_fresh,
    popc,
    sync_grid,
    thread,
)
from cugraph_ws.kernels.cuda.rows import reserve, sum_of_lanes
from cugraph_ws.kernels.cuda.walk import expand, list_bitmap, note, row_of_one, sides

__all__ = ["traverse_linked"]


@inline
def send_changed(
    count: Any, listed: Any, state: Any, exchange: Any, half: Any
) -> None:  # fmt: skip
    """Store the listed vertices into the windows of the ranks that hold them; count them by rank."""
    links, mirrors, window, ledger = exchange
    rank, size, capacity, words, direct, _ = links
    bits, before, ghosts, firsts = mirrors
    _, places, values, _, starts, _ = window
    warp, warps = warps_of(False)
    stored = False
    for base in range(32 * warp, count, 32 * warps):
        vertex = np.int64(0)
        if base + lane() < count:
            vertex = np.int64(listed[0][base + lane()])
        for peer in range(size):
            if peer == rank:
                continue
            at = peer * words + (vertex >> 5)
            below = np.int64(bits[at]) if base + lane() < count else np.int64(0)
            is_mirrored = (below >> (vertex & 31)) & 1 != 0
            slot = reserve(ledger, half * size + peer, np.int32(is_mirrored))
            if is_mirrored and slot < capacity:
                below &= (np.int64(1) << (vertex & 31)) - 1
                ghost = firsts[peer] + before[at] + popc(np.uint32(below))
                if direct == 0:
                    ghost = np.int64(ghosts[ghost])
                buffer = (half * size + rank) * capacity + slot
                places[starts[size + peer] + buffer] = np.int32(ghost)
                copy_sent(state, vertex, values, starts[2 * size + peer] + buffer)
                stored = True
    if any_of(FULL, stored):
        fence_system()


@inline
def receive(
    exchange: Any, half: Any, state: Any, bitmap: Any, offsets: Any, listed: Any, bins: Any,
    control: Any, turn: Any,
) -> None:  # fmt: skip
    """Update ghosts from what the other ranks have stored, and list them in the next frontier."""
    links, _, window, _ = exchange
    rank, size, capacity, _, _, _ = links
    words, places, values, _, starts, _ = window
    warp, warps = warps_of(False)
    ahead = np.int64(0)
    for peer in range(size):
        if peer == rank:
            continue
        count = load_fresh(words, starts[rank] + (half * size + peer) * BOX_WORDS + BOX_COUNT)
        buffer = (half * size + peer) * capacity
        for base in range(32 * warp, count, 32 * warps):
            first, ghost = False, np.int64(0)
            if base + lane() < count:
                at = buffer + base + lane()
                ghost = np.int64(places[starts[size + rank] + at])
                copy_sent(values, starts[2 * size + rank] + at, state, ghost)
                first = add(bitmap, ghost)
            slot = reserve(control, LISTED + turn, np.int32(first))
            begin, degree = row_of_one(first, ghost, offsets)
            ahead += note(first, ghost, begin, degree, slot, bins, listed)
    ahead = sum_of_lanes(ahead)
    if lane() == 0 and ahead > 0:
        atomic_add(control, DEGREES + turn, ahead)


@inline
def record(records: Any, row: Any, count: Any, read: Any) -> None:
    """Write a record of a pushed superstep."""
    records[row], records[row + 1], records[row + 2] = count, read, 0


@kernel
@bounded(FRONTIER_BLOCK)
def traverse_linked(
    vertices: Any, forward: Any, edges: Any, program: Any, frontiers: Any, queue: Any, number: Any,
    steps: Any, leave: Any, most: Any, spend: Any, serial: Any, exchange: Any, control: Any,
    records: Any, history: Any,
) -> None:  # fmt: skip
    """Run supersteps, each with its exchange, until there have been `steps` on all ranks.  Cooperative.

    Ends earlier if no vertex is active on any rank, if the next frontier is too large, or if a message does
    not fit the window; `control[PHASE]` says which.  Does nothing unless that is `SMALL`.  Active vertices push;
    see `traverse` for the arguments that are not listed here.

    Parameters
    ----------
    leave, most : int
        Out-arcs and vertices of a frontier, over all ranks, above which the launch ends.
    spend : int
        Arcs, over all ranks, after which it ends.
    serial : int
        Serial number of the first exchange of a sequence of launches: 1 more than that of the last one over this
        window.
    exchange : (links, mirrors, window, ledger)
        These four:
    links : (rank, size, capacity, words, direct, marks)
        This rank; the ranks, at most 32; vertices of a list; words of a bitmap of `mirrors`; whether
        places among the ghosts are ghosts' positions less a constant; and words of a message in bits.
    mirrors : (uint32[size * words], int32[size * words], int32[n], int64[size])
        For each rank the owned vertices that it holds, as a bitmap, and the number of ones before each word.
        If `direct`, `firsts` has the position of the first of them there; else their positions are in
        `ghosts`, for each rank from `firsts` on.
    window : (int64[], int32[], values, uint32[], int64[4 * size], int64[1])
        Headers, positions, values of states, and bits, of this rank and, at other addresses, of all others; where
        each rank's headers, positions, values, and bits begin; and the alarm, which is not 0 once a rank is lost:
        the host writes it.
    ledger : int64[2 * size + BOX_WORDS + LEDGER_REST]
        Lengths of messages by rank, for even and odd serial numbers; the totals of headers; and the other numbers that
        `layout` lists.  0 before the sequence.
    records : int64[3 * steps]
        Gets this rank's record of the last superstep if its exchange is left to others; the first one too.
    history : int64[BOX_HISTORY * steps]
        For each superstep, over all ranks: the figures of the headers.

    Notes
    -----
    At the end the ledger has the number of the sequence's supersteps at `BOX_COUNT` of the totals, and at `BOX_FULL`
    whether the last one's messages are still to be exchanged.
    """
    state, constants, parameters, sums = program
    links, _, window, ledger = exchange
    out_offsets = forward[0]
    bins = vertices
    words = (vertices + 31) // 32
    size = links[1]
    totals = 2 * size
    rest = totals + BOX_WORDS
    if control[PHASE] != SMALL:
        return
    leads = block() == 0 and thread() == 0
    warp, warps = warps_of(False)
    count, ahead, unread = control[COUNT], control[AHEAD], control[UNREAD]
    list_form = control[KEPT]
    turn, done = np.int32(0), np.int32(control[STEPS])
    begun = serial
    serial += ledger[rest + MEETINGS] - done  # the next one after that of the last exchange
    spent = np.float32(0.0)
    going, over, full = True, False, np.int64(0)
    while going:
        half = (serial + done) & 1
        now, after, listed, next_listed = sides(frontiers, number + done)
        values = with_sums(parameters, sums, vertices, np.int64(number + done))
        read = ahead
        if SETTLES:
            unread = max(unread - ahead, 0)
        fill = list_form == 0
        near = list_form == 2 and count <= NEAR_ROWS
        if leads:
            clear_following(control, turn)
        if fill:
            list_bitmap(words, warp, warps, now, after, listed, out_offsets, control, turn)
            sync_grid()
        count, ahead = expand(
            (warp, warps, False, control, turn), (listed, count, near, fill), forward, edges, queue,
            False, 0, (now, after, now), (next_listed, bins, control, LISTED + turn, out_offsets),
            (state, constants, values, 0.0), records, done,
        )  # fmt: skip
        send_changed(count, next_listed, state, exchange, half)
        sync_grid()
        if block() == 0 and thread() < 32:
            nothing = np.int64(0)
            meet(
                count, ahead, read, nothing, nothing, nothing, False, False, links, window, half,
                serial + done, ledger,
            )  # fmt: skip
            if lane() == 0:
                for place in range(BOX_HISTORY):
                    history[BOX_HISTORY * done + place] = ledger[totals + BOX_ACTIVE + place]
                if ledger[totals + BOX_FULL] != 0:  # for the host, or for `agree`
                    record(records, 0, count, read)
                    record(records, 3 * done, count, read)
        sync_grid()
        active, out = ledger[totals + BOX_ACTIVE], ledger[totals + BOX_OUT]
        spent = np.float32(spent + np.float32(ledger[totals + BOX_READ]))
        full = ledger[totals + BOX_FULL] + ledger[totals + BOX_SERIAL]
        done = np.int32(done + 1)
        over = active == 0 or done >= steps or spent > spend
        going = not over and active <= most and out <= leave
        if full == 0:
            receive(
                exchange, half, state, after, out_offsets, next_listed, bins, control, turn
            )  # fmt: skip
            sync_grid()
            count, ahead = control[LISTED + turn], control[DEGREES + turn]
        else:
            going = False
        list_form = np.int64(2)
        turn = following(turn)
    sync_grid()  # all threads have read the counters
    if leads:
        control[COUNT] = count
        control[AHEAD] = ahead
        control[UNREAD] = unread
        control[KEPT] = list_form
        for place in range(TURN, WOKEN):
            control[place] = 0
        control[STEPS] = done
        phase = OVER if over else LARGE
        if full != 0:
            phase = UNSENT if ledger[totals + BOX_SERIAL] == 0 else OVER
        control[PHASE] = phase
        control[ALLOWED] = done + 1 if phase == LARGE else done
        ledger[rest + MEETINGS] = serial + done - begun
        ledger[totals + BOX_COUNT] = done
        for peer in range(2 * size):
            ledger[peer] = 0
