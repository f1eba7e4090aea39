"""Up to 32 searches at once, from a source each, in one launch.

A vertex has a bit for each search, and the numbers of all searches lie side by side, at
`vertex * width + search`; so what several searches have to do at a vertex is read and done together
(MS-BFS: Then et al., "The more the merrier", VLDB 2015).  The width is a power of two, at most 32.

Each level of all three searches has two stages, each ended by a barrier.  First the queued vertices
change their out-neighbours, which are marked with the bits of what changed, and listed when marked
first; then the listed vertices take their marks over and queue their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_min,
    atomic_or,
    ballot,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    popc,
    shuffle,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    queue_row,
    reserve,
    row_of,
    scan,
    sum_of_lanes,
    take_pieces,
)

__all__ = ["choose_nearer", "list_decided", "search_hops", "search_lengths", "search_ties"]

# Places in the control block: sums, then three of each counter.  A stage uses one of the three,
# the next stage reads it, and the one after clears it: so one barrier a stage is enough.
READ, UNDECIDED, STEPS = 0, 1, 2
QUEUED, LISTED = 3, 6
ARCS = 1024  # that a warp takes in turn


@inline
def clear_next(control: Any, turn: Any) -> None:
    """Make the counters ready that the next stage will use."""
    if block() == 0 and thread() == 0:
        following = (turn + 1) % 3
        control[QUEUED + following] = 0
        control[LISTED + following] = 0


@inline
def take_over(
    offsets: Any,
    words: Any,
    listed: Any,
    count: Any,
    queue: Any,
    control: Any,
    turn: Any,
    closes: Any,
) -> None:
    """Turn the listed vertices' marks into what they spread next; with `closes`, clear those of `waiting`."""
    waiting, marks, spread = words
    rows, pieces = queue
    for first in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
        vertex, length = np.int64(0), np.int64(0)
        if first + lane() < count:
            vertex = np.int64(listed[first + lane()])
            length = offsets[vertex + 1] - offsets[vertex]
            marked = np.int64(marks[vertex])
            spread[vertex] = marked
            marks[vertex] = 0
            if closes:
                waiting[vertex] = np.int64(waiting[vertex]) & ~marked
        queue_row(control, QUEUED + turn, rows, pieces, np.int64(0), vertex, length)


@inline
def enlist(listed: Any, control: Any, turn: Any, vertex: Any, marked_first: Any) -> None:
    """List the vertices that were marked first by this lane; every lane takes part."""
    if any_of(FULL, marked_first):
        slot = reserve(control, LISTED + turn, np.int32(marked_first))
        if marked_first:
            listed[slot] = vertex


@inline
def mark(
    marks: Any,
    listed: Any,
    control: Any,
    turn: Any,
    vertex: Any,
    search: Any,
    width: Any,
    changed: Any,
) -> None:
    """Mark a vertex with the searches that changed it; `width` adjacent lanes handle one vertex."""
    bits = np.int64(np.uint32(ballot(FULL, changed)))
    bits = (bits >> np.int64(lane() - search)) & ((np.int64(1) << np.int64(width)) - 1)
    first = False
    if search == 0 and bits != 0:
        first = atomic_or(marks, vertex, bits) == 0
    enlist(listed, control, turn, vertex, first)


@kernel
def search_hops(
    adjacency: Any,
    words: Any,
    queue: Any,
    listed: Any,
    distance: Any,
    width: Any,
    count: Any,
    steps: Any,
    control: Any,
) -> None:
    """Count hops, level by level, all searches in step.  Cooperative.

    Parameters
    ----------
    adjacency : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours.
    words : tuple of uint32[vertices]
        For each vertex the searches that have not reached it; its marks, those that start there at
        first; scratch.
    queue : tuple of (int[n], int32[n])
        Scratch: n is the number of pieces of all rows.
    listed : int[vertices]
        The first `count` are those marked.
    distance : int32[vertices * width]
        Hops; those of starts are 0, the others are written when reached.
    width, count : int
    steps : int
        Most hops.
    control : int64[9]
        Added to: arcs read; written: levels.  The rest is scratch, 0 at first.
    """
    offsets, indices = adjacency
    waiting, marks, spread = words
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    turn, hops, read = 0, 0, 0
    while count > 0:
        clear_next(control, turn)
        take_over(offsets, words, listed, count, queue, control, turn, True)
        sync_grid()
        size = control[QUEUED + turn]
        turn = (turn + 1) % 3
        if hops == steps:
            size = np.int64(0)
        else:
            hops += 1
        clear_next(control, turn)
        for first in range(warp, size, 32 * warps):
            row, begin, length = take_pieces(offsets, queue, size, first, warps)
            read += length
            ends = scan(length)
            start = np.int32(ends - length)
            total = shuffle(FULL, ends, 31)
            for at in range(0, total, 32):
                source, arc = arc_at(at + lane(), ends, start, row, begin, 1)
                vertex = np.int64(0)
                marked_first = False
                if at + lane() < total:
                    vertex = np.int64(indices[arc])
                    fresh = np.int64(spread[source]) & np.int64(waiting[vertex])
                    if fresh != 0 and fresh & ~np.int64(load_fresh(marks, vertex)) != 0:
                        before = np.int64(atomic_or(marks, vertex, fresh))
                        fresh &= ~before
                        marked_first = before == 0
                        for search in range(width):
                            if (fresh >> search) & 1:
                                distance[vertex * width + search] = hops
                enlist(listed, control, turn, vertex, marked_first)
        sync_grid()
        count = control[LISTED + turn]
        turn = (turn + 1) % 3
    read = sum_of_lanes(read)
    if lane() == 0:
        atomic_add(control, READ, read)
    if block() == 0 and thread() == 0:
        control[STEPS] = hops


@inline
def bits_of(value: Any, scratch: Any) -> Any:
    """Return a distance as the integer whose order is the same: its bits, by way of memory."""
    numbers, words = scratch
    mine = block() * threads() + thread()
    numbers[mine] = value
    return words[mine]


@kernel
def search_lengths(
    adjacency: Any,
    weights: Any,
    stride: Any,
    words: Any,
    queue: Any,
    listed: Any,
    distance: Any,
    scratch: Any,
    width: Any,
    count: Any,
    cutoff: Any,
    steps: Any,
    control: Any,
) -> None:
    """Shorten paths until none can be shortened.  Cooperative.

    Distances are not negative, so they are ordered like the integers of the same bits, which are
    what is lowered.  A thread that reads one a moment too early passes on a length that is still one of
    a path, and the vertex is marked to pass on the shorter one.

    Parameters
    ----------
    adjacency : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours.
    weights : int64, float32 or float64 [arcs or 1]
        Lengths of the arcs.
    stride : int
        1, or 0 if all arcs have the first length.
    words : tuple of uint32[vertices]
        Not used; marks, the searches that start there at first; scratch.
    queue : tuple of (int[n], int32[n])
        Scratch: n is the number of pieces of all rows.
    listed : int[vertices]
        The first `count` are those marked.
    distance : tuple of two arrays of [vertices * width]
        Distances in the type of `weights`, and the same memory as integers of that size; 0 for
        starts, infinite (int64: 2**62) for others.
    scratch : tuple of two such arrays of [threads of the grid]
        The same memory in two types, too.
    width, count : int
    cutoff : float
        Greatest length of a path.
    steps : int
        Most supersteps.
    control : int64[9]
        As in `search_hops`.
    """
    offsets, indices = adjacency
    _, marks, spread = words
    lengths, integers = distance
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    turn, done, read = 0, 0, 0
    while count > 0 and done < steps:
        clear_next(control, turn)
        take_over(offsets, words, listed, count, queue, control, turn, False)
        sync_grid()
        size = control[QUEUED + turn]
        turn = (turn + 1) % 3
        clear_next(control, turn)
        for first in range(warp, size, 32 * warps):
            row, begin, length = take_pieces(offsets, queue, size, first, warps)
            read += length
            ends = scan(length * width)
            start = np.int32(ends - length * width)
            total = shuffle(FULL, ends, 31)
            for at in range(0, total, 32):
                place = at + lane()
                search = place % width
                source, arc = arc_at(place, ends, start, row, begin, width)
                vertex = np.int64(0)
                shorter = False
                if place < total:
                    vertex = np.int64(indices[arc])
                    if (np.int64(spread[source]) >> search) & 1:
                        length_here = load_fresh(lengths, source * width + search)
                        candidate = length_here + weights[arc * stride]
                        target = vertex * width + search
                        if candidate <= cutoff and candidate < load_fresh(lengths, target):
                            word = bits_of(candidate, scratch)
                            shorter = atomic_min(integers, target, word) > word
                mark(marks, listed, control, turn, vertex, search, width, shorter)
        sync_grid()
        count = control[LISTED + turn]
        turn = (turn + 1) % 3
        done += 1
    read = sum_of_lanes(read)
    if lane() == 0:
        atomic_add(control, READ, read)
    if block() == 0 and thread() == 0:
        control[STEPS] = done


@kernel
def choose_nearer(
    adjacency: Any,
    weights: Any,
    stride: Any,
    numbers: Any,
    distance: Any,
    before: Any,
    width: Any,
    size: Any,
    arcs: Any,
) -> None:
    """Choose as predecessor the least in-neighbour that is nearer and whose arc is tight.

    Parameters
    ----------
    adjacency : tuple of (int64[size + 1], int[arcs])
        Rows of in-neighbours.
    weights, stride
        As in `search_lengths`, in the order of these rows.
    numbers : int[size]
        The number of the vertex at each position.
    distance : array of [size * width]
    before : int[size * width]
        Numbers of predecessors, lowered: -1 for starts, the greatest number for others.
    width, size, arcs : int
    """
    offsets, indices = adjacency
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    search = lane() % width
    for low in range(warp * ARCS, arcs, warps * ARCS):
        high = min(low + ARCS, arcs)
        begin = low + lane() // width
        row = row_of(offsets, size, min(begin, high - 1))
        for arc in range(begin, high, 32 // width):
            while offsets[row + 1] <= arc:
                row += 1
            neighbour = np.int64(indices[arc])
            row_distance, neighbour_distance = (
                distance[row * width + search], distance[neighbour * width + search],
            )  # fmt: skip
            if (
                neighbour_distance < row_distance
                and neighbour_distance + weights[arc * stride] == row_distance
            ):
                number = numbers[neighbour]
                # Where a smaller one is known, as mostly at hubs, nothing needs to be locked.
                if number < load_fresh(before, row * width + search):
                    atomic_min(before, row * width + search, number)


@kernel
def list_decided(
    words: Any,
    listed: Any,
    distance: Any,
    before: Any,
    infinity: Any,
    nobody: Any,
    width: Any,
    size: Any,
    control: Any,
) -> None:
    """Find which reached vertices have a predecessor, or need none, and which are undecided.

    Parameters
    ----------
    words : tuple of uint32[size]
        Output: bits of the undecided searches, and marks of the decided ones.
    listed : int[size]
        Output: vertices with marks.
    distance, before : arrays of [size * width]
    infinity, nobody : number
        Distance of unreached vertices, and the predecessor that stands for none.
    width, size : int
    control : int64[9]
        The numbers of undecided and of listed vertices are added to `UNDECIDED` and `LISTED`.
    """
    waiting, marks, _ = words
    for first in range(block() * threads() + thread() - lane(), size, blocks() * threads()):
        vertex = np.int64(first + lane())
        undecided, decided = np.int64(0), np.int64(0)
        if vertex < size:
            for search in range(width):
                if distance[vertex * width + search] < infinity:
                    if before[vertex * width + search] == nobody:
                        undecided |= np.int64(1) << search
                    else:
                        decided |= np.int64(1) << search
            waiting[vertex] = undecided
            marks[vertex] = decided
        slot = reserve(control, LISTED, np.int32(decided != 0))
        if decided != 0:
            listed[slot] = vertex
        undecided_vertices = popc(ballot(FULL, undecided != 0))
        if lane() == 0 and undecided_vertices > 0:
            atomic_add(control, UNDECIDED, undecided_vertices)


@kernel
def search_ties(
    adjacency: Any,
    weights: Any,
    stride: Any,
    numbers: Any,
    words: Any,
    queue: Any,
    listed: Any,
    distance: Any,
    before: Any,
    width: Any,
    count: Any,
    control: Any,
) -> None:
    """Give undecided vertices the least tight in-neighbour decided one level before.  Cooperative.

    Parameters
    ----------
    adjacency : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours.
    weights, stride
        As in `search_lengths`.
    numbers : int[vertices]
        The number of the vertex at each position.
    words : tuple of uint32[vertices]
        For each vertex the searches in which it is undecided; its marks, those in which it is
        decided at first; scratch.
    queue : tuple of (int[n], int32[n])
        Scratch: n is the number of pieces of all rows.
    listed : int[vertices]
        The first `count` are those marked.
    distance, before : arrays of [vertices * width]
        As in `choose_nearer`.
    width, count : int
    control : int64[9]
        As in `search_hops`.
    """
    offsets, indices = adjacency
    waiting, marks, spread = words
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    turn, read = 0, 0
    while count > 0:
        clear_next(control, turn)
        take_over(offsets, words, listed, count, queue, control, turn, True)
        sync_grid()
        size = control[QUEUED + turn]
        turn = (turn + 1) % 3
        clear_next(control, turn)
        for first in range(warp, size, 32 * warps):
            row, begin, length = take_pieces(offsets, queue, size, first, warps)
            read += length
            ends = scan(length * width)
            start = np.int32(ends - length * width)
            total = shuffle(FULL, ends, 31)
            for at in range(0, total, 32):
                place = at + lane()
                search = place % width
                source, arc = arc_at(place, ends, start, row, begin, width)
                vertex = np.int64(0)
                tight = False
                if place < total:
                    vertex = np.int64(indices[arc])
                    both = np.int64(spread[source]) & np.int64(waiting[vertex])
                    if (both >> search) & 1:
                        source_distance = distance[source * width + search]
                        target = vertex * width + search
                        if source_distance + weights[arc * stride] == distance[target]:
                            tight = True
                            atomic_min(before, target, numbers[source])
                mark(marks, listed, control, turn, vertex, search, width, tight)
        sync_grid()
        count = control[LISTED + turn]
        turn = (turn + 1) % 3
    read = sum_of_lanes(read)
    if lane() == 0:
        atomic_add(control, READ, read)
