"""The rows of a frontier are read: a superstep's messages are sent along the arcs, and what they change is listed.

A warp takes up to 32 rows of a list, and its lanes share out their arcs; longer rows are queued in pieces for all
warps, in a second stage.  Along each arc a message is computed from a state that may be stale, and applied by
compare-and-swap if it may change the receiver.  The first thread to set a receiver's bit in the next bitmap lists it,
with one atomic per warp (SIMD-X's online filter: Liu and Huang, USENIX ATC 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add, drop, has, list_words
from cugraph_ws.kernels.cuda.cooperative import rows_of_warp, sync_workers
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
)
from cugraph_ws.kernels.cuda.layout import (
    DEGREES,
    FILLED,
    FIRST_ARCS,
    LISTED,
    NEAR_ROWS,
    PIECE,
    QUEUED,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    inline,
    lane,
    load_fresh,
    load_once,
    popc,
    shuffle,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    queue_row,
    reserve,
    scan,
    sum_of_lanes,
    take_pieces,
)

__all__ = [
    "aim",
    "apply_message",
    "expand",
    "judge",
    "list_bitmap",
    "look",
    "note",
    "row_of_one",
    "sides",
]


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


# A lane has up to four arcs at a time, 32 places apart.  A step is done for all four before the next one, to have
# more loads in flight; for the last three only if the share is `wide` enough.


@inline
def aim_all(
    place: Any, wide: Any, total: Any, ends: Any, start: Any, row: Any, begin: Any, indices: Any
) -> Any:
    """Return what `aim` does, for each of the lane's arcs."""
    arc_0 = aim(place, total, ends, start, row, begin, indices)
    arc_1, arc_2, arc_3 = arc_0, arc_0, arc_0
    if wide:
        arc_1 = aim(np.int32(place + 32), total, ends, start, row, begin, indices)
        arc_2 = aim(np.int32(place + 64), total, ends, start, row, begin, indices)
        arc_3 = aim(np.int32(place + 96), total, ends, start, row, begin, indices)
    return arc_0, arc_1, arc_2, arc_3


@inline
def look_all(
    arcs: Any, place: Any, wide: Any, total: Any, pulls: Any, now: Any, state: Any, constants: Any
) -> Any:
    """Return the states of the senders and of the receivers, and which senders are active, as `look` does."""
    from_0, old_0, try_0 = look(
        place < total, arcs[0][0], arcs[0][1], pulls, now, state, constants
    )  # fmt: skip
    from_1, old_1, try_1 = from_0, old_0, wide  # which is False unless these are replaced
    from_2, old_2, try_2 = from_0, old_0, wide
    from_3, old_3, try_3 = from_0, old_0, wide
    if wide:
        from_1, old_1, try_1 = look(
            place + 32 < total, arcs[1][0], arcs[1][1], pulls, now, state, constants
        )
        from_2, old_2, try_2 = look(
            place + 64 < total, arcs[2][0], arcs[2][1], pulls, now, state, constants
        )
        from_3, old_3, try_3 = look(
            place + 96 < total, arcs[3][0], arcs[3][1], pulls, now, state, constants
        )
    return (
        (from_0, from_1, from_2, from_3),
        (old_0, old_1, old_2, old_3),
        (try_0, try_1, try_2, try_3),
    )


@inline
def judge_all(
    arcs: Any, wide: Any, sources: Any, olds: Any, tries: Any, edges: Any, values: Any
) -> Any:
    """Return the messages, and which of them may change their receivers, as `judge` does."""
    received_0, try_0 = judge(tries[0], sources[0], olds[0], edges, arcs[0][2], values)
    received_1, received_2, received_3 = received_0, received_0, received_0
    try_1, try_2, try_3 = tries[1], tries[2], tries[3]
    if wide:
        received_1, try_1 = judge(try_1, sources[1], olds[1], edges, arcs[1][2], values)
        received_2, try_2 = judge(try_2, sources[2], olds[2], edges, arcs[2][2], values)
        received_3, try_3 = judge(try_3, sources[3], olds[3], edges, arcs[3][2], values)
    return (received_0, received_1, received_2, received_3), (try_0, try_1, try_2, try_3)


@inline
def rows_of_all(targets: Any, wide: Any, tries: Any, offsets: Any) -> Any:
    """Return where the out-arcs of the receivers begin, and how many they are, as `row_of_one` does."""
    row_0 = row_of_one(tries[0], targets[0], offsets)
    row_1, row_2, row_3 = row_0, row_0, row_0
    if wide:
        row_1 = row_of_one(tries[1], targets[1], offsets)
        row_2 = row_of_one(tries[2], targets[2], offsets)
        row_3 = row_of_one(tries[3], targets[3], offsets)
    return row_0, row_1, row_2, row_3


@inline
def apply_all(
    targets: Any, wide: Any, olds: Any, received: Any, tries: Any, after: Any, later: Any, state: Any,
    constants: Any, values: Any, limit: Any,
) -> Any:  # fmt: skip
    """Apply the messages; return which of them have activated their receivers, as `apply_message` does."""
    memory = after, later, state, constants, values, limit
    new_0 = apply_message(targets[0], olds[0], received[0], tries[0], *memory)
    new_1, new_2, new_3 = tries[1], tries[2], tries[3]
    if wide:
        new_1 = apply_message(targets[1], olds[1], received[1], new_1, *memory)
        new_2 = apply_message(targets[2], olds[2], received[2], new_2, *memory)
        new_3 = apply_message(targets[3], olds[3], received[3], new_3, *memory)
    return new_0, new_1, new_2, new_3


@inline
def list_all(ahead: Any, targets: Any, wide: Any, activated: Any, rows: Any, listing: Any) -> Any:
    """List the receivers that were activated; return `ahead` and the number of the lane's out-arcs."""
    listed, bins, counters, which, _ = listing
    new_0, new_1, new_2, new_3 = activated
    wanted = np.int32(new_0) + np.int32(new_1) + np.int32(new_2) + np.int32(new_3)
    if any_of(FULL, wanted > 0):
        slot = reserve(counters, which, np.int32(wanted))
        ahead += note(new_0, targets[0], rows[0][0], rows[0][1], slot, bins, listed)
        if wide:
            slot += np.int32(new_0)
            ahead += note(new_1, targets[1], rows[1][0], rows[1][1], slot, bins, listed)
            slot += np.int32(new_1)
            ahead += note(new_2, targets[2], rows[2][0], rows[2][1], slot, bins, listed)
            slot += np.int32(new_2)
            ahead += note(new_3, targets[3], rows[3][0], rows[3][1], slot, bins, listed)
    return ahead


@inline
def walk(
    share: Any, row: Any, begin: Any, pulls: Any, indices: Any, edges: Any, bitmaps: Any,
    listing: Any, state: Any, constants: Any, values: Any, limit: Any,
) -> Any:  # fmt: skip
    """Process the arcs of the lanes' rows; return how many out-arcs the lane's newly listed vertices have.

    `bitmaps` are the frontier's, the next one's, and that of vertices that are not due.  `listing` is where vertices
    are listed: the next list, its room, the counters, which of them, and the offsets of the out-arcs.
    """
    now, after, later = bitmaps
    ends = scan(share)
    start = np.int32(ends - share)
    total = shuffle(FULL, ends, 31)
    ahead = np.int64(0)
    for at in range(np.int32(0), total, np.int32(128)):
        place = np.int32(at + lane())
        wide = at + 32 < total
        arcs = aim_all(place, wide, total, ends, start, row, begin, indices)
        sources, olds, tries = look_all(arcs, place, wide, total, pulls, now, state, constants)
        received, tries = judge_all(arcs, wide, sources, olds, tries, edges, values)
        targets = arcs[0][1], arcs[1][1], arcs[2][1], arcs[3][1]
        if pulls:
            targets = arcs[0][0], arcs[1][0], arcs[2][0], arcs[3][0]
        if any_of(FULL, tries[0] or tries[1] or tries[2] or tries[3]):
            rows = rows_of_all(
                targets, wide, tries, listing[4]
            )  # in flight while states are swapped
            activated = apply_all(
                targets, wide, olds, received, tries, after, later, state, constants, values, limit
            )
            ahead = list_all(ahead, targets, wide, activated, rows, listing)
    return ahead


@inline
def take_listed(
    base: Any, rows: Any, frontier: Any, offsets: Any, now: Any, pulls: Any, lead: Any, queue: Any,
    counters: Any, which: Any,
) -> Any:  # fmt: skip
    """Return what a lane takes of listed rows: row, first arc, number of arcs; see `expand` for `frontier`.

    A row that is longer than a piece is queued, and nothing of it is taken.
    """
    listed, listings, near, fill = frontier
    row, begin, length, row_length = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
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
            counters,
            which,
            queue[0],
            queue[1],
            np.int64(0),
            row,
            row_length if length > PIECE else 0,
        )
    return row, begin, np.int32(0 if length > PIECE else length)


@inline
def expand(
    team: Any, frontier: Any, adjacency: Any, edges: Any, queue: Any, pulls: Any, lead: Any,
    bitmaps: Any, listing: Any, memory: Any, records: Any, done: Any,
) -> Any:  # fmt: skip
    """Read the rows of a frontier, and then those that were queued; return the next one's vertices and arcs.

    Parameters
    ----------
    team : (warp, warps, alone, counters, at)
        The warp's number among those that work, and how many these are; whether they are a single block's;
        their counters, and which of three.
    frontier : (listed, listings, near, fill)
        The list, its length, whether it has rows too, and whether it was made from the bitmap.
    adjacency, edges
        The rows to be read: out-neighbours, or in-neighbours if this is a pull.
    queue, lead, records
        See `traverse`; `lead` is of its settings.
    bitmaps, listing
        See `walk`.
    memory : (state, constants, values, limit)
    done : int
        Supersteps before this one.
    """
    warp, warps, alone, counters, at = team
    state, constants, values, limit = memory
    offsets, indices = adjacency
    read, heirs = np.int64(0), np.int64(0)
    size, count, ahead = np.int64(0), np.int64(0), np.int64(0)
    listings = frontier[1]
    rows = rows_of_warp(listings, warps)
    top, pace = np.int32((listings + rows - 1) // rows), warps
    for stage in range(2):
        if stage == 1:
            sync_workers(alone)  # all threads have read the counters
            top, pace = np.int32(size), np.int32(32 * warps)
        for base in range(warp, top, pace):
            if stage == 1:
                row, begin, share = take_pieces(offsets, queue, size, base, warps)
            else:
                row, begin, share = take_listed(
                    base, rows, frontier, offsets, bitmaps[0], pulls, lead, queue, counters,
                    QUEUED + at,
                )  # fmt: skip
            read += share
            if any_of(FULL, share > 0):
                heirs += walk(
                    share, row, begin, pulls, indices, edges, bitmaps, listing, state, constants,
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
        sync_workers(alone)
        size = counters[QUEUED + at]
        count = counters[LISTED + at]
        ahead = counters[DEGREES + at]
        if size == 0:
            break
    return count, ahead


@inline
def sides(frontiers: Any, number: Any) -> Any:
    """Return the bitmaps of a superstep and of the next one, and the lists of both."""
    bitmaps, lists = frontiers
    now, after, listed, next_listed = bitmaps[0], bitmaps[1], lists[0], lists[1]
    if number & 1:
        now, after, listed, next_listed = bitmaps[1], bitmaps[0], lists[1], lists[0]
    return now, after, listed, next_listed


@inline
def list_bitmap(
    words: Any, warp: Any, warps: Any, now: Any, after: Any, listed: Any, offsets: Any, control: Any,
    turn: Any,
) -> None:  # fmt: skip
    """List the vertices of a frontier that is in its bitmap only, and clear both bitmaps."""
    for first in range(32 * warp, words, 32 * warps):
        mine = np.uint32(0)
        if first + lane() < words:
            mine = now[first + lane()]
            now[first + lane()] = 0
            after[first + lane()] = 0
        if any_of(FULL, mine != 0):
            slot = reserve(control, FILLED + turn, np.int32(popc(mine)))
            list_words(mine, first, slot, listed, offsets)
