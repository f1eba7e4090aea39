"""Dense supersteps: every vertex gathers from its in-neighbours, by the schedule its degree asks for.

Vertices lie at positions by falling in-degree, so that a class of degrees is a range:

- hubs: a block for each chunk of a hub's arcs; the last to finish a hub combines the chunks;
- middle: a warp for each vertex;
- low: warp segmentation (Khorasani, Gupta, Bhuyan 2015).  A warp takes 32 consecutive vertices and
  strides over their arcs, which lie one after another.  Each lane finds whose arc it holds by
  searching the row ends that the other lanes hold, and messages are combined by segments within
  registers, in as many steps as the longest row needs.  No shared memory, no atomics, no barrier.

One launch is one superstep: gather, apply, the change of the residual's field, the aggregates and
the outbox of the next one.  The last block to finish adds up what all have tallied, in a fixed
order, and decides whether the run is over; launches that are queued behind it then do nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    CHANGES,
    FRONTIER,
    KEEPS,
    LANES,
    NO_TARGET,
    OUTBOX,
    SETTLES,
    TARGETS,
    TERMS,
    add_terms,
    change,
    initial,
    is_active,
    is_settled,
    keep,
    load,
    load_own,
    load_target,
    merge,
    message,
    no_terms,
    nothing,
    put,
    put_message,
    put_terms,
    replace,
    same,
    shared_messages,
    shuffle_message,
    shuffle_message_down,
    shuffle_message_xor,
    shuffle_terms_xor,
    starts,
    take_message,
    take_terms,
    terms,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    ACTIVE,
    ELSEWHERE,
    FIGURES,
    FINISHED,
    GREATEST,
    L1,
    NUMBER,
    RECORDS,
    ROW,
    STOP,
    TOTAL,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_exchange,
    ballot,
    block,
    blocks,
    fence,
    inline,
    kernel,
    lane,
    load_once,
    shared,
    shuffle,
    shuffle_xor,
    sync_block,
    thread,
    threads,
)

__all__ = ["initialise", "superstep", "take_stock", "virtual_warps"]

WARP_FIGURES = 32 * (FIGURES + TERMS)


@inline
def fetch(
    arc: Any, last: Any, vertex: Any, indices: Any, edges: Any, state: Any, constants: Any,
    outbox: Any, flags: Any, values: Any,
) -> Any:  # fmt: skip
    """Return the message along an arc to a vertex, and whether there is one."""
    received = nothing()
    live = arc < last
    if live:
        source = load_once(indices, arc)
        if FRONTIER:
            live = flags[source] != 0
        if live:
            if OUTBOX:
                received = take_message(outbox, source)
            else:
                target = load_target(state, constants, vertex)
                received = message(load(state, constants, source), target, edges, arc, values)
    return received, live


@inline
def owner_of(place: Any, end: Any) -> Any:
    """Return the lane whose row an arc is in: the first that ends after it."""
    owner = np.int32(0)
    step = np.int32(16)
    while step > 0:
        ends = shuffle(FULL, end, owner + step - 1)
        if ends <= place:
            owner = np.int32(owner + step)
        step = np.int32(step >> 1)
    return owner


@inline
def receiver(window: Any, vertex: Any, end: Any) -> Any:
    """Return the vertex that arc `window + lane()` leads to, if messages read it.

    `end` is where the row of the lane's own `vertex` ends.
    """
    if TARGETS:
        return vertex - lane() + owner_of(np.int32(window + lane()), end)
    return vertex


@inline
def fold_segments(
    window: Any, received: Any, live: Any, start: Any, end: Any, longest: Any, gathered: Any,
    has_message: Any,
) -> Any:  # fmt: skip
    """Combine a window of 32 arcs by segments; each lane adds its own row's part to `gathered`.

    `start` and `end` are the lane's row, `received` the message of arc `window + lane()`.
    """
    place = np.int32(window + lane())
    owner = owner_of(place, end)
    stop = min(shuffle(FULL, end, owner), np.int32(window + 32))
    distance = np.int32(1)
    while distance < longest:
        later_message = shuffle_message_down(FULL, received, distance)
        if place + distance < stop:
            received = merge(received, later_message)
        distance = np.int32(distance << 1)
    head = max(start - window, 0)
    part = shuffle_message(FULL, received, head & 31)
    tail = min(end - window, 32)
    if head < tail:
        gathered = merge(gathered, part)
    if FRONTIER:
        live_lanes = ballot(FULL, live)
        if head < tail and (np.int64(live_lanes) >> head) & ((np.int64(1) << (tail - head)) - 1):
            has_message = True
    return gathered, has_message


@inline
def gather_segments(
    vertex: Any, first: Any, last: Any, adjacency: Any, edges: Any, state: Any, constants: Any,
    outbox: Any, flags: Any, values: Any,
) -> Any:  # fmt: skip
    """Combine, for each lane, the messages of its vertex's row [first, last).

    The vertices of a warp are consecutive, and so are their rows.

    Four windows are read before the first is folded, to have more loads on their way.
    """
    indices = adjacency[1]
    begin = shuffle(FULL, first, 0)
    until = shuffle(FULL, last, 31)
    start = np.int32(first - begin)
    end = np.int32(last - begin)
    size = np.int32(until - begin)
    longest = min(shuffle(FULL, np.int32(end - start), 0), np.int32(32))  # rows fall in length
    gathered = nothing()
    has_message = (not FRONTIER) and not (KEEPS and first == last)
    window = np.int32(0)
    while window < size:
        arc = begin + window + lane()
        to = receiver(window, vertex, end)
        received_0, live_0 = fetch(
            arc, until, to, indices, edges, state, constants, outbox, flags, values
        )
        to = receiver(np.int32(window + 32), vertex, end)
        received_1, live_1 = fetch(
            arc + 32, until, to, indices, edges, state, constants, outbox, flags, values
        )
        to = receiver(np.int32(window + 64), vertex, end)
        received_2, live_2 = fetch(
            arc + 64, until, to, indices, edges, state, constants, outbox, flags, values
        )
        to = receiver(np.int32(window + 96), vertex, end)
        received_3, live_3 = fetch(
            arc + 96, until, to, indices, edges, state, constants, outbox, flags, values
        )
        gathered, has_message = fold_segments(
            window, received_0, live_0, start, end, longest, gathered, has_message
        )
        if window + 32 < size:
            gathered, has_message = fold_segments(
                np.int32(window + 32), received_1, live_1, start, end, longest, gathered,
                has_message,
            )  # fmt: skip
        if window + 64 < size:
            gathered, has_message = fold_segments(
                np.int32(window + 64), received_2, live_2, start, end, longest, gathered,
                has_message,
            )  # fmt: skip
        if window + 96 < size:
            gathered, has_message = fold_segments(
                np.int32(window + 96), received_3, live_3, start, end, longest, gathered,
                has_message,
            )  # fmt: skip
        window = np.int32(window + 128)
    return gathered, has_message


@inline
def gather_strided(
    vertex: Any, first: Any, last: Any, stride: Any, indices: Any, edges: Any, state: Any,
    constants: Any, outbox: Any, flags: Any, values: Any,
) -> Any:  # fmt: skip
    """Combine a vertex's messages along every `stride`-th arc of [first, last), four at a time."""
    gathered = nothing()
    has_message = False
    arc = first
    while arc < last:
        received_0, live_0 = fetch(
            arc, last, vertex, indices, edges, state, constants, outbox, flags, values
        )
        received_1, live_1 = fetch(
            arc + stride, last, vertex, indices, edges, state, constants, outbox, flags, values
        )
        received_2, live_2 = fetch(
            arc + 2 * stride, last, vertex, indices, edges, state, constants, outbox, flags, values
        )
        received_3, live_3 = fetch(
            arc + 3 * stride, last, vertex, indices, edges, state, constants, outbox, flags, values
        )
        has_message = has_message or live_0 or live_1 or live_2 or live_3
        gathered = merge(
            gathered, merge(merge(received_0, received_1), merge(received_2, received_3))
        )
        arc += 4 * stride
    return gathered, has_message


@inline
def fold_lanes(gathered: Any, lanes: Any) -> Any:
    """Combine the messages of each group of `lanes` lanes; all of them get the outcome."""
    bits = np.int32(lanes >> 1)
    while bits > 0:
        gathered = merge(gathered, shuffle_message_xor(FULL, gathered, bits))
        bits = np.int32(bits >> 1)
    return gathered


@inline
def finish(
    vertex: Any, gathered: Any, has_message: Any, edges: Any, memory: Any, values: Any, tally: Any
) -> Any:
    """Give a vertex its new state, and add it to the tally."""
    state, fresh, constants, outbox, flags = memory
    active, total, greatest, sums = tally
    old = load_own(state, constants, vertex)
    new = keep(old)
    if SETTLES:
        has_message = has_message and not is_settled(old, values)
    if has_message:
        new = update(old, gathered, values)
    news = has_message and is_active(old, new, values)
    if FRONTIER:
        news = news and not (CHANGES and same(old, new))
        flags[vertex] = np.uint8(1) if news else np.uint8(0)
    if news:
        active += 1
    size = change(old, new)
    total += size
    if size > greatest or size != size:  # NaN once is NaN for good
        greatest = size
    put(fresh, vertex, new)
    after = replace(old, new)
    if OUTBOX:
        put_message(outbox, vertex, message(after, NO_TARGET, edges, 0, values))
    if TERMS:
        sums = add_terms(sums, terms(after, values))
    return active, total, greatest, sums


@inline
def no_tally() -> Any:
    """Return the tally of no vertices."""
    return np.int64(0), 0.0, 0.0, no_terms()


@inline
def fold_tally(tally: Any) -> Any:
    """Add up the tallies of a warp's lanes."""
    active, total, greatest, sums = tally
    bits = np.int32(16)
    while bits > 0:
        active += shuffle_xor(FULL, active, bits)
        total += shuffle_xor(FULL, total, bits)
        peer_greatest = shuffle_xor(FULL, greatest, bits)
        if peer_greatest > greatest or peer_greatest != peer_greatest:
            greatest = peer_greatest
        if TERMS:
            sums = add_terms(sums, shuffle_terms_xor(FULL, sums, bits))
        bits = np.int32(bits >> 1)
    return active, total, greatest, sums


@inline
def put_tally(array: Any, row: Any, tally: Any) -> None:
    """Store a tally in a row of figures."""
    active, total, greatest, sums = tally
    place = row * (FIGURES + TERMS)
    array[place + ACTIVE] = np.float64(active)
    array[place + TOTAL] = total
    array[place + GREATEST] = greatest
    if TERMS:
        put_terms(array, place + FIGURES, sums)


@inline
def add_row(array: Any, row: Any, tally: Any) -> Any:
    """Add a stored tally."""
    active, total, greatest, sums = tally
    place = row * (FIGURES + TERMS)
    active += np.int64(array[place + ACTIVE])
    total += array[place + TOTAL]
    row_greatest = array[place + GREATEST]
    if row_greatest > greatest or row_greatest != row_greatest:
        greatest = row_greatest
    if TERMS:
        sums = add_terms(sums, take_terms(array, place + FIGURES))
    return active, total, greatest, sums


@inline
def fold_block(tally: Any, warps: Any) -> Any:
    """Add up the tallies of a block's threads, in the order of its warps; right in thread 0.

    `warps` is shared memory for a row of figures of each warp.
    """
    tally = fold_tally(tally)
    if lane() == 0:
        put_tally(warps, thread() // 32, tally)
    sync_block()
    if thread() == 0:
        for warp in range(1, threads() // 32):
            tally = add_row(warps, warp, tally)
    sync_block()
    return tally


@inline
def conclude(
    tally: Any, zero: Any, part: Any, control: Any, sums: Any, conclusion: Any
) -> None:  # fmt: skip
    """Count a block in; the last one adds all up, records the superstep, and decides.

    A superstep may be launched in parts.  `part` is how many blocks the earlier ones had, and whether
    more is to come: then blocks only leave their tallies.  `conclusion` is scratch for these, the records
    of supersteps, and the norm and the bound of the residual.
    """
    earlier, more = part
    tallies, records, norm, tol = conclusion
    warps = shared(WARP_FIGURES, np.float64)
    last = shared(1, np.int32)
    tally = fold_block(tally, warps)
    if thread() == 0:
        put_tally(tallies, earlier + block(), tally)
        fence()
        last[0] = 0
        if not more:
            last[0] = 1 if atomic_add(control, FINISHED, 1) == blocks() - 1 else 0
        fence()
    sync_block()
    if last[0] == 0:
        return
    everyone = zero
    for row in range(thread(), earlier + blocks(), threads()):
        everyone = add_row(tallies, row, everyone)
    everyone = fold_block(everyone, warps)
    if thread() == 0:
        active, total, greatest, added = everyone
        put_tally(records, control[ROW] % RECORDS, everyone)
        if TERMS:
            put_terms(sums, 0, added)
        control[ROW] += 1
        control[NUMBER] += 1
        atomic_exchange(control, FINISHED, 0)
        residual = total if norm == L1 else greatest
        over = active == 0 or (norm != 0 and not (residual > tol and residual < np.inf))
        if over and norm != ELSEWHERE:
            control[STOP] = 1


@kernel
def initialise(
    size: Any, vertices: Any, numbers: Any, state: Any, constants: Any, parameters: Any, sums: Any,
    flags: Any,
) -> None:  # fmt: skip
    """Give every position, ghosts' too, its first state, and flag it if the program starts there.

    `vertices` is the number of vertices of the whole graph, here and in all kernels.
    """
    values = with_sums(parameters, sums, vertices, np.int64(0))
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        put(state, vertex, initial(constants, vertex, np.int64(numbers[vertex]), values))
        if FRONTIER:
            begins = starts(load(state, constants, vertex), values)
            flags[vertex] = np.uint8(1) if begins else np.uint8(0)


@kernel
def take_stock(
    shape: Any, edges: Any, state: Any, constants: Any, outbox: Any, flags: Any, parameters: Any,
    sums: Any, control: Any, tallies: Any, records: Any, norm: Any,
) -> None:  # fmt: skip
    """Count active vertices, add up the aggregates, and fill the outbox, before superstep 0.

    States are initialised and, for a frontier, flags too.  `shape` is the number of vertices, of owned
    vertices, and of positions.
    """
    vertices, owned, size = shape
    values = with_sums(parameters, sums, vertices, np.int64(0))
    zero = no_tally()
    active, total, greatest, added = zero
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        own_state = load(state, constants, vertex)
        counts = vertex < owned
        if FRONTIER:
            counts = counts and flags[vertex] != 0
        if counts:
            active += 1
        if OUTBOX:
            put_message(outbox, vertex, message(own_state, NO_TARGET, edges, 0, values))
        if TERMS and vertex < owned:
            added = add_terms(added, terms(own_state, values))
    tally = (active, total, greatest, added)
    conclude(tally, zero, (0, False), control, sums, (tallies, records, norm, 0.0))


@kernel
def superstep(
    shape: Any, hubs: Any, adjacency: Any, edges: Any, state: Any, fresh: Any, constants: Any,
    outboxes: Any, flags: Any, parameters: Any, sums: Any, control: Any, conclusion: Any,
) -> None:  # fmt: skip
    """Compute every owned vertex anew, each class of degrees by its own schedule.

    `shape` is the number of vertices, where the middle and the low class begin and where the latter
    ends, how many blocks work on hubs and on the middle class, how many blocks have worked on other
    positions before, and whether others are to follow.  Ghosts lie behind the owned and have no rows.
    `hubs` is, for each chunk of a hub's arcs, the hub and where the chunk begins and ends, for each hub
    its first chunk and a count of those done, the chunks' outcomes and whether they found anything, and
    the number of chunks.
    """
    if control[STOP] != 0:
        return
    vertices, middle, low, end, hub_blocks, middle_blocks, earlier, more = shape
    offsets, indices = adjacency
    outbox, next_outbox = outboxes
    before, after = flags
    values = with_sums(parameters, sums, vertices, control[NUMBER])
    memory = (state, fresh, constants, next_outbox, after)
    zero = no_tally()
    tally = zero
    warp = thread() // 32
    if block() < hub_blocks:
        chunks, chunk_first, chunk_last, first_chunks, done, parts, parts_found, count = hubs
        pieces = shared_messages()
        pieces_found = shared(32, np.int32)
        turn = shared(1, np.int32)
        for chunk in range(block(), count, hub_blocks):
            hub = np.int64(chunks[chunk])
            gathered, has_message = gather_strided(
                hub, chunk_first[chunk] + thread(), chunk_last[chunk], threads(), indices, edges,
                state, constants, outbox, before, values,
            )  # fmt: skip
            gathered = fold_lanes(gathered, 32)
            has_message = any_of(FULL, has_message)
            if lane() == 0:
                put_message(pieces, warp, gathered)
                pieces_found[warp] = 1 if has_message else 0
            sync_block()
            if thread() == 0:
                for peer_warp in range(1, threads() // 32):
                    gathered = merge(gathered, take_message(pieces, peer_warp))
                    has_message = has_message or pieces_found[peer_warp] != 0
                put_message(parts, chunk, gathered)
                parts_found[chunk] = 1 if has_message else 0
                fence()
                of_hub = first_chunks[hub + 1] - first_chunks[hub]
                turn[0] = 1 if atomic_add(done, hub, 1) == of_hub - 1 else 0
            sync_block()
            if turn[0] != 0 and thread() == 0:  # this block was the hub's last
                fence()
                atomic_exchange(done, hub, 0)
                gathered = nothing()
                has_message = not FRONTIER
                for part in range(first_chunks[hub], first_chunks[hub + 1]):
                    gathered = merge(gathered, take_message(parts, part))
                    has_message = has_message or parts_found[part] != 0
                tally = finish(hub, gathered, has_message, edges, memory, values, tally)
    elif block() < hub_blocks + middle_blocks:
        first_warp = (block() - hub_blocks) * (threads() // 32) + warp
        for vertex in range(middle + first_warp, low, middle_blocks * (threads() // 32)):
            gathered, has_message = gather_strided(
                vertex, offsets[vertex] + lane(), offsets[vertex + 1], 32, indices, edges, state,
                constants, outbox, before, values,
            )  # fmt: skip
            gathered = fold_lanes(gathered, 32)
            if FRONTIER:
                has_message = any_of(FULL, has_message)
            else:
                has_message = True
            if lane() == 0:
                tally = finish(vertex, gathered, has_message, edges, memory, values, tally)
    else:
        begun = hub_blocks + middle_blocks
        first_warp = (block() - begun) * (threads() // 32) + warp
        for base in range(low + 32 * first_warp, end, 32 * (blocks() - begun) * (threads() // 32)):
            vertex = base + lane()
            first = load_once(offsets, min(vertex, end))
            last = load_once(offsets, min(vertex + 1, end))
            gathered, has_message = gather_segments(
                vertex, first, last, adjacency, edges, state, constants, outbox, before, values
            )
            if vertex < end:
                tally = finish(vertex, gathered, has_message, edges, memory, values, tally)
    conclude(tally, zero, (earlier, more), control, sums, conclusion)


@kernel
def virtual_warps(
    vertices: Any, owned: Any, adjacency: Any, edges: Any, state: Any, fresh: Any, constants: Any,
    outboxes: Any, flags: Any, parameters: Any, sums: Any, control: Any, conclusion: Any,
) -> None:  # fmt: skip
    """Compute every owned vertex anew, each by `LANES` lanes (Hong et al. 2011): the papers' baseline."""
    if control[STOP] != 0:
        return
    offsets, indices = adjacency
    outbox, next_outbox = outboxes
    before, after = flags
    values = with_sums(parameters, sums, vertices, control[NUMBER])
    memory = (state, fresh, constants, next_outbox, after)
    zero = no_tally()
    tally = zero
    place = lane() % LANES
    for base in range(
        (block() * threads() + thread() - lane()) // LANES, owned, blocks() * threads() // LANES
    ):
        vertex = base + lane() // LANES
        first = offsets[min(vertex, owned)]
        last = offsets[min(vertex + 1, owned)]
        gathered, has_message = gather_strided(
            vertex, first + place, last, LANES, indices, edges, state, constants, outbox, before,
            values,
        )  # fmt: skip
        gathered = fold_lanes(gathered, LANES)
        if FRONTIER:
            bits = np.int64(ballot(FULL, has_message))
            has_message = ((bits >> (lane() - place)) & ((1 << LANES) - 1)) != 0
        else:
            has_message = not (KEEPS and first == last)
        if place == 0 and vertex < owned:
            tally = finish(vertex, gathered, has_message, edges, memory, values, tally)
    conclude(tally, zero, (0, False), control, sums, conclusion)
