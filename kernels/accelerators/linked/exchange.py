"""The exchange of frontiers between GPUs through their windows: headers, and changed vertices as bits.

`traverse_linked` runs small frontiers with their exchange. A large one is a superstep by `pull_alone` and `traverse`,
queued behind it with the kernels here: bits of the changed boundary vertices into the windows, headers, and the
ghosts' new values. All of them are queued several times over; each looks at `control[PHASE]` and returns at once if it
is not its turn. So the host does not wait between them.

Bits suffice only if all changed vertices of a rank have the same value, as in a level of a search. If that is not
so on some rank, all ranks see it in the headers and leave the exchange to their hosts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.accelerators.linked.layout import (
    ARRIVED,
    BOX_ACTIVE,
    BOX_BITS,
    BOX_COUNT,
    BOX_FULL,
    BOX_HISTORY,
    BOX_MARKED,
    BOX_OUT,
    BOX_PULLED,
    BOX_READ,
    BOX_SENT,
    BOX_SERIAL,
    BOX_WORDS,
    EXAMPLE,
    IN_BITS,
    MARKED,
    MEETINGS,
    UNLIKE,
)
from cugraph_ws.kernels.cuda.bitmaps import GROUPS, has, votes
from cugraph_ws.kernels.cuda.interface import copy_sent
from cugraph_ws.kernels.cuda.layout import (
    AHEAD,
    ALLOWED,
    COUNT,
    KEPT,
    LARGE,
    OVER,
    PHASE,
    PULL,
    SMALL,
    STEPS,
    TURN,
    UNSENT,
    WOKEN,
)
from cugraph_ws.kernels.cuda.partitioned_frontier import take_bits
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_compare_and_swap,
    ballot,
    block,
    blocks,
    fence_system,
    ffs,
    inline,
    kernel,
    lane,
    load_fresh,
    load_system,
    pause,
    popc,
    shuffle,
    store_system,
    sync_warp,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = ["agree", "find_example", "mark_changed", "meet", "take_marked"]

LOOKS = 1 << 12  # at a header, between two looks at the alarm


@inline
def meet(
    active: Any, out: Any, read: Any, marked: Any, nbytes: Any, pulled: Any, in_bits: Any, unfit: Any,
    links: Any, window: Any, half: Any, serial: Any, ledger: Any,
) -> None:  # fmt: skip
    """Send headers, wait for those of all ranks, and add them up into the ledger; one warp.

    Without `in_bits` the lengths of messages are in the ledger.  At the end BOX_FULL of the totals is positive if a
    message is `unfit` or too long, and BOX_SERIAL if a rank is lost.
    """
    rank, size, capacity, _, _, _ = links
    words, _, _, _, starts, alarm = window
    peer = lane()
    is_peer = peer < size and peer != rank
    length = np.int64(0)
    if is_peer and not in_bits:
        length = load_fresh(ledger, half * size + peer)
    full = np.int64(any_of(FULL, unfit or length > capacity))
    total_listed = sum_of_lanes(length)
    lost = np.int64(0)
    if peer < size:
        ledger[(1 - half) * size + peer] = np.int64(0)
    if is_peer:
        remote_box = starts[peer] + (half * size + rank) * BOX_WORDS
        words[remote_box + BOX_COUNT] = np.int64(IN_BITS) if in_bits else length
        words[remote_box + BOX_ACTIVE] = active
        words[remote_box + BOX_OUT] = out
        words[remote_box + BOX_READ] = read
        words[remote_box + BOX_SENT] = total_listed
        words[remote_box + BOX_MARKED] = marked
        words[remote_box + BOX_BITS] = nbytes
        words[remote_box + BOX_PULLED] = pulled
        words[remote_box + BOX_FULL] = full
        store_system(words, remote_box + BOX_SERIAL, serial)
        local_box = starts[rank] + (half * size + peer) * BOX_WORDS
        looks = np.int32(0)
        while lost == 0 and load_system(words, local_box + BOX_SERIAL) != serial:
            pause()
            looks = np.int32(looks + 1)
            if looks % LOOKS == 0:
                lost = load_system(alarm, 0)
        active = load_fresh(words, local_box + BOX_ACTIVE)
        out = load_fresh(words, local_box + BOX_OUT)
        read = load_fresh(words, local_box + BOX_READ)
        total_listed = load_fresh(words, local_box + BOX_SENT)
        marked = load_fresh(words, local_box + BOX_MARKED)
        nbytes = load_fresh(words, local_box + BOX_BITS)
        pulled = load_fresh(words, local_box + BOX_PULLED)
        full = load_fresh(words, local_box + BOX_FULL)
    if peer >= size:
        active, out, read, total_listed, full = (
            active * 0, out * 0, read * 0, total_listed * 0, full * 0,
        )  # fmt: skip
        marked, nbytes, pulled = marked * 0, nbytes * 0, pulled * 0
    active, out, read = sum_of_lanes(active), sum_of_lanes(out), sum_of_lanes(read)
    total_listed, full, lost = sum_of_lanes(total_listed), sum_of_lanes(full), sum_of_lanes(lost)
    marked, nbytes, pulled = sum_of_lanes(marked), sum_of_lanes(nbytes), sum_of_lanes(pulled)
    if lane() == 0:
        totals = 2 * size
        ledger[totals + BOX_ACTIVE] = active
        ledger[totals + BOX_OUT] = out
        ledger[totals + BOX_READ] = read
        ledger[totals + BOX_SENT] = total_listed
        ledger[totals + BOX_MARKED] = marked
        ledger[totals + BOX_BITS] = nbytes
        ledger[totals + BOX_PULLED] = pulled
        ledger[totals + BOX_FULL] = full
        ledger[totals + BOX_SERIAL] = lost


@inline
def is_due(control: Any) -> Any:
    """Return whether the exchange of a superstep comes next."""
    return control[PHASE] == LARGE or control[PHASE] == UNSENT


@inline
def has_run(control: Any) -> Any:
    """Return whether the superstep to be exchanged has run here: it does not where no vertex is active."""
    return control[STEPS] == control[ALLOWED]


@inline
def changed_of(number: Any, control: Any, bitmaps: Any) -> Any:
    """Return the bitmap of the vertices that the superstep to be exchanged has changed."""
    return bitmaps[0] if (number + control[ALLOWED] - 1) & 1 else bitmaps[1]


@kernel
def find_example(
    owned: Any, number: Any, bitmaps: Any, rest: Any, ledger: Any, control: Any
) -> None:
    """Find any owned vertex that the last superstep has changed.

    Parameters
    ----------
    owned : int
        Owned vertices, the first ones.
    number : int
        Number of the first superstep of the sequence of launches.
    bitmaps, control
        As for `traverse`.
    rest : int
        Where the ledger's numbers after the totals begin.
    ledger : int64[]
        As for `traverse_linked`; `EXAMPLE` gets the vertex + 1, and stays 0 if there is none.
    """
    if not is_due(control) or not has_run(control):
        return
    changed = changed_of(number, control, bitmaps)
    words = (owned + 31) // 32
    first = np.int64(32 * ((block() * threads() + thread()) // 32))
    going = first < words
    while going:
        mine = np.uint32(0)
        if first + lane() < words:
            mine = changed[first + lane()]
        known = shuffle(FULL, np.int64(load_fresh(ledger, rest + EXAMPLE)), 0) != 0
        mask = ballot(FULL, mine != 0)
        if mask != 0 and not known and lane() == ffs(mask) - 1:
            atomic_compare_and_swap(ledger, rest + EXAMPLE, 0, 32 * (first + lane()) + ffs(mine))
        first += blocks() * threads()
        going = mask == 0 and not known and first < words


@kernel
def mark_changed(
    vertices: Any, number: Any, bitmaps: Any, states: Any, links: Any, halo: Any, window: Any,
    serial: Any, rest: Any, ledger: Any, control: Any,
) -> None:  # fmt: skip
    """Store a bit for each boundary vertex into the windows, and the value of those that have changed.

    Where no vertex was active, the superstep has not run, so the next frontier's bitmap may have to be cleared.

    Parameters
    ----------
    vertices : int
    states : tuple of one array of [vertices]
    links, window, serial, ledger
        As for `traverse_linked`; `serial` is that of the first exchange of the sequence.
    halo : (int[n], int64[size + 1], int64[size], int64[size])
        The boundaries of all ranks in a row, and where each begins; each rank's ghosts: the first position, and how
        many.
    number, bitmaps, rest, control
        As for `find_example`.
    """
    if not is_due(control):
        return
    changed = changed_of(number, control, bitmaps)
    warp = (block() * threads() + thread()) // 32
    if not has_run(control):
        if control[KEPT] == 0:
            words = (vertices + 31) // 32
            for word in range(block() * threads() + thread(), words, blocks() * threads()):
                changed[word] = np.uint32(0)
        return
    example = ledger[rest + EXAMPLE] - 1
    if example < 0:
        return
    rank, size, capacity, _, _, room = links
    boundary, bounds, _, _ = halo
    _, _, values, marks, starts, _ = window
    half = (serial + ledger[rest + MEETINGS]) & 1
    value = states[0][example]
    step = blocks() * threads() * GROUPS
    marked, unlike = np.int64(0), False
    for peer in range(size):
        begin = bounds[peer]
        count = bounds[peer + 1] - begin
        if peer == rank or count > 32 * room:
            continue
        box = half * size + rank
        remote_marks = starts[3 * size + peer] + box * room
        if warp == 0 and lane() == 0:
            copy_sent(states, example, values, starts[2 * size + peer] + box * capacity)
        for base in range(
            32 * GROUPS * warp + lane(), count + lane(), step
        ):  # all lanes come along
            bits = np.int32(0)
            for group in range(GROUPS):
                entry = base + 32 * group
                vertex = np.int64(boundary[begin + min(entry, count - 1)])  # all loads at once
                is_changed = np.int32(has(changed, vertex)) & np.int32(entry < count)
                unlike = unlike or (is_changed != 0 and states[0][vertex] != value)
                bits |= is_changed << group
            mine = votes(bits)
            word = (base >> 5) + lane()
            if lane() < GROUPS and 32 * word < count:
                marked += popc(mine)
                marks[remote_marks + word] = mine
    if any_of(FULL, unlike) and lane() == 0:
        atomic_add(ledger, rest + UNLIKE, 1)
    marked = sum_of_lanes(marked)
    if lane() == 0 and marked > 0:
        atomic_add(ledger, rest + MARKED, marked)
    fence_system()


@kernel
def agree(
    steps: Any, leave: Any, most: Any, links: Any, halo: Any, window: Any, serial: Any, rest: Any,
    ledger: Any, control: Any, records: Any, history: Any,
) -> None:  # fmt: skip
    """Exchange headers after a superstep whose changes are marked, and decide what comes next; one warp.

    Arguments are as for `traverse_linked` and `mark_changed`.  Every rank decides the same.  If bits do not suffice,
    nothing comes next, BOX_FULL of the totals is not 0, and the first record is that of the superstep.
    """
    rank, size, _, _, _, room = links
    totals = 2 * size
    if not is_due(control):
        if lane() == 0:
            ledger[rest + ARRIVED] = np.int64(0)
        return
    done = np.int64(control[ALLOWED])  # this superstep among them
    row = 3 * (done - 1)
    bounds = halo[1]
    active, out, read, pulled = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    if has_run(control):
        active, out = np.int64(control[COUNT]), np.int64(control[AHEAD])
        read, pulled = np.int64(records[row + 1]), np.int64(records[row + 2] & PULL)
    in_bits = ledger[rest + EXAMPLE] > 0
    boundary_count = np.int64(0)
    if lane() < size and lane() != rank:
        boundary_count = bounds[lane() + 1] - bounds[lane()]
    unfit = in_bits and (boundary_count > 32 * room or ledger[rest + UNLIKE] != 0)
    nbytes = sum_of_lanes((boundary_count + 31) // 32 * 4)
    if not in_bits:
        nbytes = nbytes * 0
    marked = np.int64(ledger[rest + MARKED])
    meetings = np.int64(ledger[rest + MEETINGS])
    meet(
        active, out, read, marked, nbytes, np.int64(pulled != 0), in_bits, unfit, links, window,
        (serial + meetings) & 1, serial + meetings, ledger,
    )  # fmt: skip
    sync_warp(FULL)
    if lane() == 0:
        for place in range(BOX_HISTORY):
            history[BOX_HISTORY * (done - 1) + place] = ledger[totals + BOX_ACTIVE + place]
        ledger[totals + BOX_COUNT] = done
        ledger[rest + MEETINGS] = meetings + 1
        ledger[rest + EXAMPLE] = ledger[rest + UNLIKE] = ledger[rest + MARKED] = np.int64(0)
        everyone = np.int64(ledger[totals + BOX_ACTIVE])
        full = ledger[totals + BOX_FULL] + ledger[totals + BOX_SERIAL]
        ledger[rest + ARRIVED] = done if full == 0 else np.int64(0)
        for place in range(TURN, WOKEN):
            control[place] = 0
        control[STEPS] = done
        phase = SMALL
        if full != 0 or everyone == 0 or done >= steps:
            phase = OVER
        elif everyone > most or ledger[totals + BOX_OUT] > leave:
            phase = LARGE
        control[PHASE] = phase
        control[ALLOWED] = done + 1 if phase == LARGE else done
        if full != 0:
            records[0], records[1], records[2] = active, read, pulled


@kernel
def take_marked(
    number: Any, offsets: Any, bitmaps: Any, state: Any, lists: Any, room: Any, links: Any, halo: Any,
    window: Any, serial: Any, rest: Any, ledger: Any, control: Any,
) -> None:  # fmt: skip
    """Give the ghosts whose bits have come the value that came with them, and add them to the next frontier.

    Parameters
    ----------
    offsets : int64[vertices + 1]
        Of the rows of out-neighbours.
    lists : two tuples
        As for `traverse`, with places for `room` vertices.
    number, bitmaps, state, links, halo, window, serial, rest, ledger, control
        As for `mark_changed`.
    """
    done = ledger[rest + ARRIVED]
    if done == 0:
        return
    rank, size, capacity, _, _, most = links
    words, _, values, marks, starts, _ = window
    _, _, firsts, counts = halo
    bitmap, entries = bitmaps[1], lists[1]
    if (number + done - 1) & 1:
        bitmap, entries = bitmaps[0], lists[0]
    half = (serial + ledger[rest + MEETINGS] - 1) & 1
    ahead = np.int64(0)
    for peer in range(size):
        box = half * size + peer
        count = load_fresh(words, starts[rank] + box * BOX_WORDS + BOX_COUNT)
        if peer == rank or count != IN_BITS:
            continue
        ahead += take_bits(
            firsts[peer], counts[peer], marks, starts[3 * size + rank] + box * most, values,
            starts[2 * size + rank] + box * capacity, state, bitmap, offsets, entries, room, control,
        )  # fmt: skip
    ahead = sum_of_lanes(ahead)
    if lane() == 0 and ahead > 0:
        atomic_add(control, AHEAD, ahead)
