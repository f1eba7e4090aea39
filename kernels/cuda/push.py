"""A frontier pushes its news along its out-arcs, superstep after superstep within one launch.

For programs whose `apply` may take messages one by one, and twice, and whose state is one number: it is
changed by compare-and-swap, so that no message is lost and none waits for another.  A superstep
has two stages, each ended by a barrier of the grid: the rows of the listed vertices are queued in
pieces, which any warp may take (`rows`); then the arcs are gone through, and who hears news is listed,
once, for the next superstep (SIMD-X's online filter: Liu and Huang, USENIX ATC 2019; here with one
atomic a warp, so that there are no bins that overflow).  The host starts a number of supersteps and
reads once what became of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    SETTLES,
    is_active,
    is_settled,
    load,
    message,
    same,
    swap,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import COUNT, LISTED, QUEUED, STEPS
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_exchange,
    block,
    blocks,
    inline,
    kernel,
    lane,
    shuffle,
    sync_grid,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    queue_row,
    reserve,
    scan,
    sum_of_lanes,
    take_pieces,
)

__all__ = ["list_active", "push"]


@kernel
def list_active(vertices: Any, flags: Any, marks: Any, listed: Any, control: Any) -> None:
    """List and mark the flagged vertices, and count them in `control[COUNT]`."""
    for first in range(block() * threads() + thread() - lane(), vertices, blocks() * threads()):
        vertex = first + lane()
        active = False
        if vertex < vertices:
            active = flags[vertex] != 0
            marks[vertex] = 1 if active else 0
        if any_of(FULL, active):
            slot = reserve(control, COUNT, np.int32(active))
            if active:
                listed[slot] = vertex


@inline
def deliver(state: Any, constants: Any, vertex: Any, heard: Any, values: Any) -> Any:
    """Let a vertex hear a message; return whether it has news for others now."""
    news = False
    waiting = True
    while waiting:
        old = load(state, constants, vertex)
        if SETTLES and is_settled(old, values):
            waiting = False
        else:
            new = update(old, heard, values)
            if same(old, new):
                waiting = False
            elif swap(state, vertex, old, new):
                news = is_active(old, new, values)
                waiting = False
    return news


@kernel
def push(
    vertices: Any, adjacency: Any, edges: Any, state: Any, constants: Any, marks: Any, queue: Any,
    listed: Any, parameters: Any, sums: Any, number: Any, steps: Any, control: Any, records: Any,
) -> None:  # fmt: skip
    """Run up to `steps` supersteps, the first of them with this number.  Cooperative.

    Parameters
    ----------
    vertices : int
    adjacency : tuple of (int64[vertices + 1], int[arcs])
        Rows of out-neighbours.
    edges : tuple of arrays of [arcs]
        The program's edge attributes, in the order of these rows.
    state, constants : tuples of arrays of [vertices]
    marks : uint32[vertices]
        1 for the vertices of the frontier.
    queue : tuple of (int[n], int32[n])
        Scratch: n is the number of pieces of all rows.
    listed : int[vertices]
        The frontier, `control[COUNT]` vertices.
    parameters, sums
        What the program reads.
    number, steps : int
    control : int64[8]
        Written: the size of the frontier that is left, and the number of supersteps.  The counters
        are 0 at first.
    records : int64[2 * steps]
        For each superstep the vertices that have sent, written, and the arcs, added.
    """
    offsets, indices = adjacency
    rows, pieces = queue
    warp = (block() * threads() + thread()) // 32
    warps = blocks() * threads() // 32
    leads = block() == 0 and thread() == 0
    count = control[COUNT]
    turn, done = 0, 0
    while count > 0 and done < steps:
        if leads:
            records[2 * done] = count
            control[QUEUED + (turn + 1) % 3] = 0
            control[LISTED + (turn + 1) % 3] = 0
        for first in range(block() * threads() + thread() - lane(), count, blocks() * threads()):
            vertex, length = np.int64(0), np.int64(0)
            if first + lane() < count:
                vertex = np.int64(listed[first + lane()])
                length = offsets[vertex + 1] - offsets[vertex]
                marks[vertex] = 0
            queue_row(control, QUEUED + turn, rows, pieces, np.int64(0), vertex, length)
        sync_grid()
        size = control[QUEUED + turn]
        turn = (turn + 1) % 3
        if leads:
            control[QUEUED + (turn + 1) % 3] = 0
            control[LISTED + (turn + 1) % 3] = 0
        values = with_sums(parameters, sums, vertices, np.int64(number + done))
        read = np.int64(0)
        for first in range(warp, size, 32 * warps):
            row, begin, share = take_pieces(offsets, queue, size, first, warps)
            read += share
            ends = scan(share)
            start = np.int32(ends - share)
            total = shuffle(FULL, ends, 31)
            for at in range(0, total, 32):
                source, arc = arc_at(at + lane(), ends, start, row, begin, 1)
                target = np.int64(0)
                listed_first = False
                if at + lane() < total:
                    target = np.int64(indices[arc])
                    heard = message(load(state, constants, source), edges, arc, values)
                    if deliver(state, constants, target, heard, values):
                        listed_first = atomic_exchange(marks, target, 1) == 0
                if any_of(FULL, listed_first):
                    slot = reserve(control, LISTED + turn, np.int32(listed_first))
                    if listed_first:
                        listed[slot] = target
        read = sum_of_lanes(read)
        if lane() == 0 and read > 0:
            atomic_add(records, 2 * done + 1, read)
        sync_grid()
        count = control[LISTED + turn]
        turn = (turn + 1) % 3
        done += 1
    if leads:
        control[COUNT] = count
        control[STEPS] = done
