"""State on edges: each arc's own, first from `init_edge`, then from `update_edge`.

A warp takes `SPAN` consecutive arcs.  It searches for the rows of the first and of the last one, and
each lane for its arc's row between them.  A new state depends on the arc's ends and on its own state
alone, so it is written in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    initial_edge,
    load,
    next_edge,
    put_edge,
    same_edge,
    with_sums,
)
from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_once,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import row_between, row_of, sum_of_lanes

__all__ = ["initialise_edges", "update_edges"]

SPAN = 256  # arcs


@inline
def ends_of(arc: Any, low: Any, high: Any, adjacency: Any, state: Any, constants: Any) -> Any:
    """Return the source and the target of an arc in the rows [low, high)."""
    offsets, indices = adjacency
    target = load(state, constants, row_between(offsets, low, high, arc))
    return load(state, constants, np.int64(load_once(indices, arc))), target


@kernel
def initialise_edges(
    shape: Any, adjacency: Any, edges: Any, state: Any, constants: Any, parameters: Any, sums: Any
) -> None:
    """Write the first state of all arcs; `shape` is the numbers of vertices, rows and arcs."""
    vertices, rows, arcs = shape
    offsets, _ = adjacency
    values = with_sums(parameters, sums, vertices, np.int64(0))
    warp = (block() * threads() + thread()) // 32
    for first in range(SPAN * warp, arcs, SPAN * (blocks() * threads() // 32)):
        last = min(first + SPAN, arcs)
        low, high = row_of(offsets, rows, first), row_of(offsets, rows, last - 1) + 1
        for arc in range(first + lane(), last, 32):
            source, target = ends_of(arc, low, high, adjacency, state, constants)
            put_edge(edges, arc, initial_edge(source, target, edges, arc, values))


@kernel
def update_edges(
    shape: Any, adjacency: Any, edges: Any, state: Any, constants: Any, parameters: Any, sums: Any,
    number: Any, changed: Any,
) -> None:  # fmt: skip
    """Write the state of all arcs after superstep `number`; add to `changed` how many have changed."""
    vertices, rows, arcs = shape
    offsets, _ = adjacency
    values = with_sums(parameters, sums, vertices, np.int64(number))
    warp = (block() * threads() + thread()) // 32
    count = np.int64(0)
    for first in range(SPAN * warp, arcs, SPAN * (blocks() * threads() // 32)):
        last = min(first + SPAN, arcs)
        low, high = row_of(offsets, rows, first), row_of(offsets, rows, last - 1) + 1
        for arc in range(first + lane(), last, 32):
            source, target = ends_of(arc, low, high, adjacency, state, constants)
            new = next_edge(source, target, edges, arc, values)
            if not same_edge(edges, arc, new):
                put_edge(edges, arc, new)
                count += 1
    total = sum_of_lanes(count)
    if lane() == 0 and total > 0:
        atomic_add(changed, 0, total)
