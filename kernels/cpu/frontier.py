"""The set of active vertices, as a list and as a bitmap; these loops are independent of programs.

A bitmap has 32 vertices in a word, lowest bit first.  Ranges for parallel loops that write a bitmap
begin at multiples of 32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["begin_superstep", "count_arcs", "list_from_bitmap", "list_to_bitmap"]


@jit
def begin_superstep(frontier: Any, offsets: Any, marks: Any, prefix: Any) -> None:
    """Take the frontier off the queue and sum its arcs.

    `prefix[i]` becomes the number of arcs of the vertices before `frontier[i]`.  Marks are cleared
    before any state is read, so that a vertex that changes later is queued again.
    """
    total = 0
    for place in range(len(frontier)):
        vertex = frontier[place]
        marks[vertex] = 0
        prefix[place] = total
        total += offsets[vertex + 1] - offsets[vertex]
    prefix[len(frontier)] = total


@jit
def count_arcs(low: Any, high: Any, owned: Any, bitmap: Any, offsets: Any, totals: Any) -> None:
    """Count the bitmap's owned vertices in [low, high), and the arcs of its owned and ghost ones."""
    size = 0
    arcs = 0
    for vertex in range(low, high):
        if (bitmap[vertex >> 5] >> (vertex & 31)) & 1:
            if vertex < owned:
                size += 1
            arcs += offsets[vertex + 1] - offsets[vertex]
    totals[0] = size
    totals[1] = arcs


@jit
def list_to_bitmap(frontier: Any, bitmap: Any) -> None:
    """Set the bits of the vertices of a list."""
    for vertex in frontier:
        bitmap[vertex >> 5] |= np.uint32(1) << np.uint32(vertex & 31)


@jit
def list_from_bitmap(low: Any, high: Any, bitmap: Any, frontier: Any) -> Any:
    """List the vertices of [low, high) whose bits are set, in order; return how many."""
    size = 0
    for word in range(low >> 5, (high + 31) >> 5):
        if bitmap[word] == 0:
            continue
        for vertex in range(word << 5, min((word + 1) << 5, high)):
            if (bitmap[word] >> (vertex & 31)) & 1:
                frontier[size] = vertex
                size += 1
    return size
