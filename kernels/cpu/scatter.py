"""Scatter and absorb: active vertices send into inboxes, then each receiver applies its messages.

It is for programs whose combine is not idempotent, so that each message must count exactly once.
One thread scatters, in the order of the frontier, so sums do not depend on the number of threads.
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
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["absorb", "scatter"]


@jit
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


@jit
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
