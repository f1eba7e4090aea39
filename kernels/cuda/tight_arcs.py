"""Rows of the tight arcs into undecided vertices.

Trees grow along the out-arcs of all attached vertices (`kernels/cuda/tree_growth.py`).  Few of these arcs lead
to an undecided vertex, and fewer are tight: one in 30 on an R-MAT graph with widths from 1 to 63.  Here the
in-arcs of undecided vertices are read once, as in `predecessors.choose`, and the tight ones become rows by
source.  Trees then grow along these rows without reading any state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    NO_TARGET,
    initial,
    load,
    message_near,
    replace,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import TIGHT_SHARE
from cugraph_ws.kernels.cuda.predecessors import four_along, makes
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    shuffle,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import greatest_of_lanes, scan

__all__ = ["list_tight_arcs", "place_tight_arcs"]


@inline
def holds(
    belongs: Any, source: Any, own: Any, before: Any, edges: Any, arc: Any, values: Any
) -> Any:  # fmt: skip
    """Return whether an arc belongs to the row and is tight."""
    return belongs and makes(
        message_near(source, NO_TARGET, edges, arc, values), own, before, values
    )


@inline
def keep_tight_arc(
    tied: Any, slot: Any, source: Any, vertex: Any, room: Any, sources: Any, targets: Any,
    degrees: Any,
) -> Any:  # fmt: skip
    """Store a tight arc if there is room, and count it for its source; return the next slot."""
    if tied and slot < room:
        sources[slot] = source
        targets[slot] = vertex
        atomic_add(degrees, source + 1, 1)
    return slot + np.int64(tied)


@kernel
def list_tight_arcs(
    turns: Any, lanes_of: Any, ends: Any, waiting: Any, vertices: Any, numbers: Any, adjacency: Any,
    edges: Any, program: Any, number: Any, codes: Any, coded: Any, output: Any, control: Any,
) -> None:  # fmt: skip
    """List the tight arcs into undecided vertices.

    The vertices were listed in turns, by classes of in-degrees.  Each vertex of a turn has the same number
    of threads: a power of two up to 32, or a whole block.

    Parameters
    ----------
    turns : int
    lanes_of, ends : int[turns]
        Threads for a vertex, and where each turn's vertices end.
    waiting : int[ends[turns - 1]]
        Positions of vertices without a better in-neighbour, so sources of tight arcs are equally good.
    vertices, numbers, adjacency, edges, program, number, codes
        As `predecessors.choose` takes them.
    coded : bool
        Whether codes are compared first, if they are of floats.
    output : (room, int[room], int[room], int32[positions + 1])
        The most arcs that are stored; their sources and targets, in any order: unused entries of the sources keep
        their -1; and degrees: the number of stored arcs of each source is added, one place further on.
    control : int64[1]
        The slots that warps have reserved are added, also those beyond `room`.
    """
    offsets, indices = adjacency
    state, constants, parameters, sums = program
    values = with_sums(parameters, sums, vertices, number)
    thread_number = np.int32(block() * threads() + thread())
    slot, limit = np.int64(0), np.int64(0)  # of the warp's share
    low = np.int64(0)
    for turn in range(turns):
        high, lanes = np.int64(ends[turn]), np.int32(min(lanes_of[turn], threads()))
        first = (thread_number - lane()) // lanes  # of the groups of threads in the warp
        for base in range(low + first, high, blocks() * threads() // lanes):
            place = base + thread_number // lanes - first
            vertex = np.int64(waiting[min(place, high - 1)])
            row, end = offsets[vertex], offsets[vertex + 1]
            degree = np.int32(end - row if place < high else 0)
            own_state = load(state, constants, vertex)
            before = replace(
                own_state, initial(constants, vertex, np.int64(numbers[vertex]), values)
            )
            longest = greatest_of_lanes(degree)
            for window in range(np.int32(0), longest, np.int32(4 * lanes)):
                place_0 = np.int32(window + thread() % lanes)
                places, ats, source_0, source_1, source_2, source_3 = four_along(
                    row, place_0, lanes, degree, vertex, indices, codes, coded, state, constants
                )
                _, place_1, place_2, place_3 = places
                at_0, at_1, at_2, at_3 = ats
                receiver = own_state, before, edges
                tied_0 = holds(place_0 < degree, source_0, *receiver, row + place_0, values)
                tied_1 = holds(place_1 < degree, source_1, *receiver, row + place_1, values)
                tied_2 = holds(place_2 < degree, source_2, *receiver, row + place_2, values)
                tied_3 = holds(place_3 < degree, source_3, *receiver, row + place_3, values)
                mine = np.int32(tied_0) + np.int32(tied_1) + np.int32(tied_2)
                mine = np.int32(mine + np.int32(tied_3))
                after = scan(mine)
                total = shuffle(FULL, after, 31)
                if slot + total > limit:
                    if lane() == 0:
                        slot = np.int64(atomic_add(control, 0, TIGHT_SHARE))
                    slot = shuffle(FULL, slot, 0)
                    limit = slot + TIGHT_SHARE
                at = slot + after - mine
                at = keep_tight_arc(tied_0, at, at_0, vertex, *output)
                at = keep_tight_arc(tied_1, at, at_1, vertex, *output)
                at = keep_tight_arc(tied_2, at, at_2, vertex, *output)
                at = keep_tight_arc(tied_3, at, at_3, vertex, *output)
                slot += total
        low = high


@kernel
def place_tight_arcs(count: Any, sources: Any, targets: Any, cursors: Any, indices: Any) -> None:
    """Write arcs into the rows of their sources; `cursors` is the next free place of each row."""
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        source = np.int64(sources[place])
        if source >= 0:
            indices[atomic_add(cursors, source, 1)] = targets[place]
