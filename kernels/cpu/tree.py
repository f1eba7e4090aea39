"""Predecessors: for every vertex, an in-neighbour whose message alone gives it its final state.

An arc is tight if its message turns the target's first state into its final one.  The predecessor
is the least in-neighbour with a tight arc and a strictly better state, so paths of predecessors
have no cycles.  If all tight in-neighbours are only equally good (arcs of weight zero, equal
widths), two of them could choose each other.  Such vertices are left to a search that starts from
decided vertices.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.interface import (
    NO_TARGET,
    initial,
    is_active,
    keep,
    load,
    message,
    replace,
    same,
    update,
)
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["NO_VERTEX", "UNDECIDED", "choose_strictly_better", "search_ties"]

NO_VERTEX = -1
UNDECIDED = -2


@jit
def choose_strictly_better(
    low: Any,
    high: Any,
    numbers: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    predecessors: Any,
) -> Any:
    """Choose predecessors for the vertices [low, high); return how many stay undecided."""
    offsets, indices = adjacency
    undecided = 0
    for vertex in range(low, high):
        own_state = load(state, constants, vertex)
        first = initial(constants, vertex, numbers[vertex], values)
        predecessors[vertex] = NO_VERTEX
        if same(own_state, first):
            continue
        before = replace(own_state, first)
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            source = load(state, constants, indices[arc])
            if is_active(own_state, keep(source), values) and same(
                own_state, update(before, message(source, NO_TARGET, edges, arc, values), values)
            ):
                predecessors[vertex] = indices[arc]
                break
        if predecessors[vertex] == NO_VERTEX:
            predecessors[vertex] = UNDECIDED
            undecided += 1
    return undecided


@jit
def search_ties(
    numbers: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    predecessors: Any,
    levels: Any,
    queue: Any,
    limits: Any,
) -> Any:
    """Give undecided vertices the least tight in-neighbour of the previous level, level by level.

    Rows are of out-neighbours.  `queue` begins with the vertices that the previous level decided.
    `limits` are their number, the number of this level, and the most levels to do.  Return the
    length of the queue, and where in it the last level begins.
    """
    offsets, indices = adjacency
    first = 0
    size = limits[0]
    for level in range(limits[1], limits[1] + limits[2]):
        last = size
        for place in range(first, last):
            vertex = queue[place]
            source = load(state, constants, vertex)
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                target = indices[arc]
                if predecessors[target] != UNDECIDED and (
                    levels[target] != level or numbers[vertex] >= numbers[predecessors[target]]
                ):
                    continue
                target_state = load(state, constants, target)
                before = replace(target_state, initial(constants, target, numbers[target], values))
                if same(
                    target_state,
                    update(before, message(source, NO_TARGET, edges, arc, values), values),
                ):
                    if predecessors[target] == UNDECIDED:
                        levels[target] = level
                        queue[size] = target
                        size += 1
                    predecessors[target] = vertex
        first = last
        if first == size:
            break
    return size, first
