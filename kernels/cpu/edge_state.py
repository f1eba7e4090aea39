"""State on edges: one for each in-arc, first from `init_edge`, then from `update_edge`.

An arc's new state depends on its ends and on its own state alone, so it is written in place.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.interface import (
    initial_edge,
    load,
    next_edge,
    put_edge,
    same_edge,
)
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["initialise_edges", "update_edges"]


@jit
def initialise_edges(
    low: Any, high: Any, adjacency: Any, edges: Any, state: Any, constants: Any, values: Any
) -> None:
    """Write the first state of the arcs into the vertices [low, high)."""
    offsets, indices = adjacency
    for vertex in range(low, high):
        target = load(state, constants, vertex)
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            source = load(state, constants, indices[arc])
            put_edge(edges, arc, initial_edge(source, target, edges, arc, values))


@jit
def update_edges(
    low: Any, high: Any, adjacency: Any, edges: Any, state: Any, constants: Any, values: Any
) -> Any:
    """Write the next state of the arcs into the vertices [low, high); return how many changed."""
    offsets, indices = adjacency
    changed = 0
    for vertex in range(low, high):
        target = load(state, constants, vertex)
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            source = load(state, constants, indices[arc])
            new = next_edge(source, target, edges, arc, values)
            if not same_edge(edges, arc, new):
                put_edge(edges, arc, new)
                changed += 1
    return changed
