"""The arcs by which those who wait for a predecessor hang on others: rows of these alone.

A forest's branches (`kernels/cuda/branch.py`) follow the out-arcs of all who are attached, of which few
lead to a vertex that waits, and fewer are tight: of an R-MAT graph with widths from 1 to 63, one in
30.  Here the in-arcs of those who wait are read once, as `forest.choose` reads rows, and those that are tight
become rows by their sources, along which branches then grow without looking at any state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.forest import is_tight, load_four
from cugraph_ws.kernels.cuda.interface import (
    initial,
    load,
    replace,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import TIE_PIECES, TIES
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_once,
    shuffle,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import arc_at, reserve, scan, take_rows

__all__ = ["list_ties", "place_ties"]


@inline
def end_of(
    place: Any, total: Any, ends: Any, start: Any, row: Any, begin: Any, indices: Any
) -> Any:  # fmt: skip
    """Return from where an arc of the lanes' rows comes, whose it is, and which it is; past the last, some."""
    vertex, arc = arc_at(place, ends, start, row, begin, 1)
    source = np.int64(load_once(indices, arc)) if place < total else np.int64(vertex)
    return source, vertex, arc


@inline
def holds(
    belongs: Any, source: Any, vertex: Any, arc: Any, numbers: Any, edges: Any, state: Any,
    constants: Any, values: Any,
) -> Any:  # fmt: skip
    """Tell whether an arc is one of the row, and tight."""
    own = load(state, constants, vertex)
    before = replace(own, initial(constants, vertex, np.int64(numbers[vertex]), values))
    return belongs and is_tight(source, own, before, edges, arc, values)


@inline
def keep_tie(
    tied: Any, slot: Any, source: Any, vertex: Any, room: Any, sources: Any, targets: Any,
    degrees: Any,
) -> Any:  # fmt: skip
    """Write a tight arc down, if there is room, and count its source's; return the next slot."""
    if tied and slot < room:
        sources[slot] = source
        targets[slot] = vertex
        atomic_add(degrees, source + 1, 1)
    return slot + np.int64(tied)


@kernel
def list_ties(
    stage: Any, waiting: Any, count: Any, vertices: Any, numbers: Any, adjacency: Any, edges: Any,
    state: Any, constants: Any, parameters: Any, sums: Any, number: Any, codes: Any, coded: Any,
    queue: Any, room: Any, sources: Any, targets: Any, degrees: Any, control: Any,
) -> None:  # fmt: skip
    """List the tight arcs into the first `count` vertices of `waiting`.

    Parameters
    ----------
    stage : int
        0: rows of up to `PIECE` arcs, and longer ones are queued in pieces; 1, afterwards: those.
    waiting : int[count]
        Positions of vertices without a better in-neighbour: who makes an arc of theirs tight is as good.
    vertices, numbers, adjacency, edges, state, constants, parameters, sums, number, codes
        As `forest.choose` takes them.
    queue : tuple of (int[n], int32[n])
        Scratch, n is the number of pieces of all rows longer than one.
    coded : bool
        Whether codes are to be asked first, if they are of floats.
    room : int
        Arcs that are written down, at most; all are counted.
    sources, targets : int[room]
        Written, in any order.
    degrees : int32[positions + 1]
        How many arcs of each source are written down is added, one place further on.
    control : int64[2]
        See `layout`.
    """
    offsets, indices = adjacency
    values = with_sums(parameters, sums, vertices, number)
    warp, warps = thread() // 32 * blocks() + block(), blocks() * threads() // 32
    size = np.int64(0)
    top, pace = (count + 31) // 32, warps
    if stage == 1:
        size = control[TIE_PIECES]
        top, pace = size, 32 * warps
    for base in range(warp, top, pace):
        row, begin, share = take_rows(
            stage, waiting, count, base, 32, offsets, queue, size, warps, control, TIE_PIECES
        )
        ends = scan(share)
        start = np.int32(ends - share)
        total = shuffle(FULL, ends, 31)
        for window in range(np.int32(0), total, np.int32(128)):
            one = np.int32(window + lane())
            two, three, four = np.int32(one + 32), np.int32(one + 64), np.int32(one + 96)
            given = total, ends, start, row, begin, indices
            at_one, to_one, arc_one = end_of(one, *given)
            at_two, to_two, arc_two = end_of(two, *given)
            at_three, to_three, arc_three = end_of(three, *given)
            at_four, to_four, arc_four = end_of(four, *given)
            first, second, third, fourth = load_four(
                at_one, at_two, at_three, at_four, codes, coded, state, constants
            )
            program = numbers, edges, state, constants, values
            tied_one = holds(one < total, first, to_one, arc_one, *program)
            tied_two = holds(two < total, second, to_two, arc_two, *program)
            tied_three = holds(three < total, third, to_three, arc_three, *program)
            tied_four = holds(four < total, fourth, to_four, arc_four, *program)
            wanted = np.int32(tied_one) + np.int32(tied_two) + np.int32(tied_three)
            slot = reserve(control, TIES, np.int32(wanted + np.int32(tied_four)))
            kept = room, sources, targets, degrees
            slot = keep_tie(tied_one, slot, at_one, to_one, *kept)
            slot = keep_tie(tied_two, slot, at_two, to_two, *kept)
            slot = keep_tie(tied_three, slot, at_three, to_three, *kept)
            slot = keep_tie(tied_four, slot, at_four, to_four, *kept)


@kernel
def place_ties(count: Any, sources: Any, targets: Any, cursors: Any, indices: Any) -> None:
    """Write arcs into the rows of their sources; `cursors` is where each row's next one belongs."""
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        indices[atomic_add(cursors, np.int64(sources[place]), 1)] = targets[place]
