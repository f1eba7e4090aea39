"""Pull: a vertex reads its active in-neighbours, and stops early if possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.interface import (
    ANY,
    CHANGES,
    SETTLES,
    is_active,
    is_enough,
    is_settled,
    load,
    load_target,
    merge,
    message,
    nothing,
    put,
    same,
    update,
)
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["pull"]


@jit
def pull(
    low: Any,
    high: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    fresh: Any,
    constants: Any,
    values: Any,
    bitmaps: Any,
    totals: Any,
) -> None:
    """Pull for the vertices [low, high) from their active in-neighbours.

    `bitmaps` are the frontier and the next frontier.  `low` is a multiple of 32, so that each word
    of the latter has one writer.  Reads `state`, writes `fresh`; these are the same arrays for a
    program that may run in place.  `totals` becomes the number of vertices active next, of arcs
    read, and of settled vertices.
    """
    offsets, indices = adjacency
    frontier, following = bitmaps
    active = 0
    read = 0
    settled = 0
    for vertex in range(low, high):
        old = load(state, constants, vertex)
        if SETTLES and is_settled(old, values):
            settled += 1
            continue
        gathered = nothing()
        has_message = False
        target = load_target(state, constants, vertex)
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbour = indices[arc]
            read += 1
            if (frontier[neighbour >> 5] >> (neighbour & 31)) & 1:
                arc_message = message(load(state, constants, neighbour), target, edges, arc, values)
                gathered = merge(gathered, arc_message)
                has_message = True
                if ANY and is_enough(gathered):
                    break
        if not has_message:
            continue
        new = update(old, gathered, values)
        if CHANGES and same(old, new):
            continue
        if is_active(old, new, values):
            active += 1
            following[vertex >> 5] |= np.uint32(1) << np.uint32(vertex & 31)
        put(fresh, vertex, new)
    totals[0] = active
    totals[1] = read
    totals[2] = settled
