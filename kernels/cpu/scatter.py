"""Scatter and absorb: active vertices send into inboxes, then each receiver applies its messages.

It is for programs whose combine is not idempotent, so that each message must count exactly once.
One thread scatters, in the order of the frontier, so sums do not depend on the number of threads.
While the frontier is small, supersteps follow each other in one call.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.interface import (
    CHANGES,
    SETTLES,
    is_active,
    is_settled,
    load,
    load_target,
    merge,
    message,
    nothing,
    put,
    put_message,
    same,
    take_message,
    update,
)
from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["scatter_fused"]


@inline
def scatter(
    frontier: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    inbox: Any,
    marks: Any,
    receivers: Any,
) -> Any:
    """Send along every out-arc of the frontier; list the receivers and return how many."""
    offsets, indices = adjacency
    size = 0
    for place in range(len(frontier)):
        vertex = frontier[place]
        source = load(state, constants, vertex)
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            target = indices[arc]
            arc_message = message(source, load_target(state, constants, target), edges, arc, values)
            if marks[target] == 0:
                marks[target] = 1
                receivers[size] = target
                size += 1
                put_message(inbox, target, merge(nothing(), arc_message))  # as a gather does
            else:
                put_message(inbox, target, merge(take_message(inbox, target), arc_message))
    return size


@inline
def absorb(
    receivers: Any, state: Any, constants: Any, values: Any, inbox: Any, marks: Any, following: Any
) -> Any:
    """Apply the messages in inboxes; list the vertices that are active next and return how many."""
    size = 0
    for place in range(len(receivers)):
        vertex = receivers[place]
        marks[vertex] = 0
        old = load(state, constants, vertex)
        if SETTLES and is_settled(old, values):
            continue
        new = update(old, take_message(inbox, vertex), values)
        if CHANGES and same(old, new):
            continue
        if is_active(old, new, values):
            following[size] = vertex
            size += 1
        put(state, vertex, new)
    return size


@jit
def scatter_fused(
    sizes: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    inbox: Any,
    marks: Any,
    lists: Any,
    limits: Any,
    history: Any,
) -> Any:
    """Run supersteps in one thread while the frontier is small; return how many.

    `lists` are two lists of vertices, used in turn for the frontier, which is in the first, and for the
    receivers.  `sizes`, `limits` and `history` are as for `push_fused`.  The last of `values` is the number
    of the superstep.
    """
    offsets = adjacency[0]
    frontier, receivers = lists
    size, arcs = sizes[0], sizes[1]
    read = 0
    steps = 0
    while size > 0 and arcs <= limits[0] and read < limits[1] and steps < limits[2]:
        history[steps, 0] = size
        history[steps, 1] = arcs
        numbered = (*values[:-1], values[-1] + steps)
        read += arcs + size
        steps += 1
        received = scatter(
            frontier[:size], adjacency, edges, state, constants, numbered, inbox, marks, receivers
        )
        size = absorb(receivers[:received], state, constants, numbered, inbox, marks, frontier)
        arcs = 0
        for place in range(size):
            arcs += offsets[frontier[place] + 1] - offsets[frontier[place]]
    sizes[0] = size
    sizes[1] = arcs
    return steps
