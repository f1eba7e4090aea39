"""The start of a pull: vertices that are not settled read their first few in-arcs, one thread each.

For most vertices that is enough (Beamer, Asanović, Patterson 2012).  Rows of the others are listed, and shared out
among warps by `traverse`.  This is a kernel of its own because loads depend on each other here, and the number of
registers decides how many warps hide the latency: it takes half of those of `traverse`.  Where few of 256 adjacent
vertices are left, these are compacted first, so a warp waits once for 32 of them, wherever they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add, has
from cugraph_ws.kernels.cuda.interface import (
    NO_TARGET,
    ORDERED,
    SETTLES,
    glance,
    is_active,
    is_settled,
    keep,
    message,
    put,
    replace,
    same,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    AHEAD,
    ALLOWED,
    AUTO,
    BEGAN,
    COUNT,
    DEGREES,
    FILLED,
    FIRST_ARCS,
    LISTED,
    PULL,
    PULL_BLOCK,
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
    shared,
    sync_warp,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import first_from, reserve, sum_of_lanes

__all__ = ["is_pulled", "limit_of", "pull_alone"]

WORDS = 8  # of 32 vertices, that a warp looks through at once
CROWDED = 128  # of their vertices, above which they are taken as they lie
PICKED = PULL_BLOCK * WORDS  # places of a block


@inline
def is_pulled(wanted: Any, ahead: Any, unread: Any, few_arcs: Any, pull_part: Any) -> Any:
    """Return whether a frontier with so many arcs ahead is pulled; see `settings` of `traverse`."""
    pulled = wanted == PULL or (wanted == AUTO and ahead > few_arcs and ahead > unread // pull_part)
    return pulled and not ORDERED


@inline
def limit_of(steps: Any, control: Any) -> Any:
    """Return how many supersteps there may be; without `steps`, what `agree` has allowed."""
    return steps if steps != 0 else control[ALLOWED]


@inline
def turned(place: Any, length: Any) -> Any:
    """Return a place in a row that is read as a ring."""
    return place - length if place >= length else place


@inline
def active_of_four(
    first: Any, count: Any, begin: Any, length: Any, indices: Any, now: Any
) -> Any:  # fmt: skip
    """Return a bit for each of up to four in-neighbours in a row read as a ring: whether it is active.

    All four are loaded together, so a warp waits for memory once.
    """
    last = first + count - 1
    sender_0 = np.int64(indices[begin + turned(first, length)])
    sender_1 = np.int64(indices[begin + turned(min(first + 1, last), length)])
    sender_2 = np.int64(indices[begin + turned(min(first + 2, last), length)])
    sender_3 = np.int64(indices[begin + turned(last, length)])
    active_bits = np.int32(has(now, sender_0)) | np.int32(has(now, sender_1)) << 1
    active_bits |= np.int32(has(now, sender_2)) << 2 | np.int32(has(now, sender_3)) << 3
    return np.int32(active_bits & ((1 << count) - 1))


@inline
def pull_first_arcs(
    vertex: Any, own: Any, begin: Any, length: Any, lead: Any, indices: Any, edges: Any, now: Any,
    state: Any, constants: Any, values: Any,
) -> Any:  # fmt: skip
    """Read a few in-arcs of a vertex, from position `lead` on and then from the front.

    The first is most often enough; further ones are read by fours.  Returns whether the vertex has become
    active, how many arcs were read, and whether it is settled.
    """
    activated = False
    new = keep(own)
    tried = np.int32(0)
    most = np.int32(min(length, FIRST_ARCS))
    skipped = np.int64(0)
    if lead > 0 and length > 1:
        skipped = first_from(lead, indices, begin, length)
    while tried < most:
        looked = np.int32(1)
        if tried == 0:
            active_bits = np.int32(has(now, np.int64(indices[begin + skipped])))
        else:
            looked = np.int32(min(int(most - tried), 4))
            active_bits = active_of_four(skipped + tried, looked, begin, length, indices, now)
        while active_bits != 0:
            which = np.int32(ffs(active_bits) - 1)
            active_bits = np.int32(active_bits & (active_bits - 1))
            arc = begin + turned(skipped + tried + which, length)
            sender = np.int64(indices[arc])
            received = message(glance(state, constants, sender), NO_TARGET, edges, arc, values)
            better = update(replace(own, new), received, values)
            if not same(replace(own, new), better):
                activated = activated or is_active(replace(own, new), better, values)
                new = better
                if is_settled(replace(own, new), values):
                    looked = np.int32(which + 1)
                    active_bits = most = np.int32(0)
        tried = np.int32(tried + looked)
    if not same(own, new):
        put(state, vertex, new)
    return activated, tried, most == 0


@inline
def is_open(vertex: Any, hearers: Any, state: Any, constants: Any, values: Any) -> Any:
    """Return whether a vertex may receive a message: it is not settled."""
    if not SETTLES:
        return vertex < hearers
    own_state = glance(state, constants, min(vertex, hearers - 1))
    # Without a branch, so that the loads that follow are issued at once
    return np.int32(vertex < hearers) & np.int32(not is_settled(own_state, values)) != 0


@inline
def pick(open_one: Any, place: Any, first: Any, count: Any, picked: Any) -> Any:
    """List the places of open vertices after `count` others; return the new count."""
    bits = ballot(FULL, open_one)
    if open_one:
        picked[first + count + popc(np.uint32(bits & ((1 << lane()) - 1)))] = place
    return np.int32(count + popc(bits))


@kernel
@lean(64)
def pull_alone(
    vertices: Any, backward: Any, out_offsets: Any, edges: Any, program: Any, frontiers: Any,
    number: Any, steps: Any, settings: Any, control: Any, records: Any,
) -> None:  # fmt: skip
    """Begin a pulled superstep: each vertex reads a few in-arcs, and those that need more are listed.

    Arguments are as for `traverse`, which is launched next and continues the superstep.  Changed vertices
    are in the next frontier's bitmap and its counts; vertices that need more are in this frontier's
    list, `control[FILLED]` of them.  For programs without `settled`, all vertices with in-arcs are listed.
    """
    wanted, lead, hearers = settings[0], settings[7], settings[8]
    few_arcs, pull_part = settings[3], settings[4]
    done, turn = control[STEPS], control[TURN]
    if (
        control[COUNT] == 0
        or done >= limit_of(steps, control)
        or not is_pulled(wanted, control[AHEAD], control[UNREAD], few_arcs, pull_part)
    ):
        return
    if block() == 0 and thread() == 0:
        control[BEGAN] = done + 1
    number = np.int64(number + done)
    picked = shared(PICKED, np.int16)
    offsets, indices = backward
    state, constants, parameters, sums = program
    bitmaps, lists = frontiers
    now, after, unfinished = bitmaps[0], bitmaps[1], lists[0][0]
    if number & 1:
        now, after, unfinished = bitmaps[1], bitmaps[0], lists[1][0]
    values = with_sums(parameters, sums, vertices, number)
    words = (vertices + 31) // 32
    mine = thread() // 32 * (32 * WORDS)
    read, heirs, activations = np.int64(0), np.int64(0), np.int64(0)
    warp = (block() * threads() + thread()) // 32
    for word in range(WORDS * warp, words, blocks() * threads() // 32 * WORDS):
        first = 32 * word
        count = np.int32(0)
        if first < hearers:
            for half in range(2):  # four loads at once
                place = np.int32(32 * (WORDS // 2) * half + lane())
                at = first + place
                open_0 = is_open(at, hearers, state, constants, values)
                open_1 = is_open(at + 32, hearers, state, constants, values)
                open_2 = is_open(at + 64, hearers, state, constants, values)
                open_3 = is_open(at + 96, hearers, state, constants, values)
                count = pick(open_0, place, mine, count, picked)
                count = pick(open_1, np.int32(place + 32), mine, count, picked)
                count = pick(open_2, np.int32(place + 64), mine, count, picked)
                count = pick(open_3, np.int32(place + 96), mine, count, picked)
        crowded = count > CROWDED
        heaps = np.int32(WORDS if crowded else (count + 31) // 32)
        if not crowded and lane() < WORDS and word + lane() < words:
            after[word + lane()] = np.uint32(0)
        sync_warp(FULL)
        for heap in range(heaps):
            place = np.int32(32 * heap + lane())
            takes = crowded or place < count
            if not crowded and takes:
                place = np.int32(picked[mine + place])
            vertex = first + place
            activated, waits = False, False
            if takes and vertex < hearers:
                own_state = glance(state, constants, vertex)
                if not SETTLES:
                    waits = True
                elif not is_settled(own_state, values):
                    begin = offsets[vertex]
                    length = offsets[vertex + 1] - begin
                    activated, tried, settled = pull_first_arcs(
                        vertex, own_state, begin, length, lead, indices, edges, now, state, constants,
                        values,
                    )  # fmt: skip
                    read += tried
                    waits = tried < length and not settled
            if activated:
                activations += 1
                heirs += out_offsets[vertex + 1] - out_offsets[vertex]
            if crowded:
                bits = ballot(FULL, activated)
                if lane() == 0 and word + heap < words:
                    after[word + heap] = bits
            elif activated:
                add(after, vertex)
            if any_of(FULL, waits):
                slot = reserve(control, FILLED + turn, np.int32(waits))
                if waits:
                    unfinished[slot] = vertex
        sync_warp(FULL)
    read, heirs, activations = sum_of_lanes(read), sum_of_lanes(heirs), sum_of_lanes(activations)
    if lane() == 0 and read > 0:
        atomic_add(records, 3 * done + 1, read)
    if lane() == 0 and activations > 0:
        atomic_add(control, LISTED + turn, activations)
        atomic_add(control, DEGREES + turn, heirs)
