"""Dense supersteps over tiles of arcs, whose sources and rows both fit into a core's cache.

After propagation and cache blocking (Beamer, Asanović, Patterson, IPDPS 2017; Chen and others, "GraphCage",
2019).  A tile has the arcs into a range of rows from a block of sources.  One thread goes through the
tiles of a range by ascending source, so a row's messages are combined in the order of its arcs, as in
`dense.gather`, and the result is the same bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.interface import (
    KEEPS,
    SETTLES,
    change,
    is_active,
    is_settled,
    keep,
    load,
    load_target,
    merge,
    message,
    nothing,
    put,
    put_message,
    take_message,
    update,
)
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["finish_rows", "fold_tiles"]


@jit
def fold_tiles(
    low: Any,
    high: Any,
    bits: Any,
    firsts: Any,
    sources: Any,
    places: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    prepared: Any,
    outbox: Any,
    inbox: Any,
) -> None:
    """Combine the messages to the rows [low, high) in `inbox`.

    `firsts` has the first arc of each tile; `sources` and `places` are uint16, counted from the
    start of the block and of the range.  `edges` are in the order of the tiles.
    """
    for row in range(low, high):
        put_message(inbox, row, nothing())
    start = np.uint64(low)
    for block in range(len(firsts) - 1):
        base = np.uint64(block << bits)
        for arc in range(firsts[block], firsts[block + 1]):
            to = start + np.uint64(places[arc])
            source = base + np.uint64(sources[arc])
            if prepared:
                received = take_message(outbox, source)
            else:
                target = load_target(state, constants, to)
                received = message(load(state, constants, source), target, edges, arc, values)
            put_message(inbox, to, merge(take_message(inbox, to), received))


@jit
def finish_rows(
    low: Any,
    high: Any,
    longest: Any,
    offsets: Any,
    state: Any,
    fresh: Any,
    constants: Any,
    values: Any,
    inbox: Any,
    totals: Any,
) -> None:
    """Compute the vertices [low, high) from what is in `inbox`; see `dense.gather`."""
    active = 0
    total = 0.0
    greatest = 0.0
    for vertex in range(low, high):
        first = offsets[vertex]
        last = offsets[vertex + 1]
        if last - first > longest:
            continue
        old = load(state, constants, vertex)
        new = keep(old)
        hears = not (KEEPS and first == last) and not (SETTLES and is_settled(old, values))
        if hears:
            new = update(old, take_message(inbox, vertex), values)
        if hears and is_active(old, new, values):
            active += 1
        size = change(old, new)
        total += size
        if size > greatest or size != size:  # a NaN stays
            greatest = size
        put(fresh, vertex, new)
    totals[0] = active
    totals[1] = total
    totals[2] = greatest
