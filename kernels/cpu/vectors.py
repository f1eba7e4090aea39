"""Supersteps of programs with vectors: every vertex gathers from its in-neighbours that send."""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.jit import jit
from cugraph_ws.kernels.cpu.vector_interface import (
    AGGREGATES,
    MASKED,
    SILENT,
    add_terms,
    change,
    clear,
    empty_message,
    fold,
    initial,
    is_active,
    keep,
    starts,
    update,
)

__all__ = ["gather_vectors", "initialise_vectors", "sum_vector_terms"]


@jit
def initialise_vectors(
    low: Any, high: Any, numbers: Any, state: Any, constants: Any, values: Any, active: Any
) -> None:
    """Write the first state of the vertices [low, high), and which of them are active."""
    for vertex in range(low, high):
        initial(state, constants, vertex, numbers[vertex], values)
        active[vertex] = starts(state, constants, vertex, values)


@jit
def gather_vectors(
    low: Any,
    high: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    fresh: Any,
    constants: Any,
    values: Any,
    sends: Any,
    active: Any,
    totals: Any,
) -> None:
    """Compute the vertices [low, high) from their in-neighbours, in the order of these.

    Reads `state` and which vertices are active, `sends`; writes `fresh` and `active`.  `totals` becomes the number
    of active vertices, the sum of the changes, and their maximum.
    """
    offsets, indices = adjacency
    gathered = empty_message()
    count = 0
    total = 0.0
    greatest = 0.0
    for vertex in range(low, high):
        clear(gathered)
        hears = SILENT
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            source = indices[arc]
            if (not MASKED or sends[source]) and fold(
                gathered, state, constants, source, vertex, edges, arc, values
            ):
                hears = True
        if hears:
            update(fresh, state, constants, vertex, gathered, values)
        else:
            keep(fresh, state, vertex)
        active[vertex] = hears and is_active(state, fresh, constants, vertex, values)
        if active[vertex]:
            count += 1
        size = change(state, fresh, vertex)
        total += size
        if size > greatest or size != size:  # a NaN stays
            greatest = size
    totals[0] = count
    totals[1] = total
    totals[2] = greatest


@jit
def sum_vector_terms(
    low: Any, high: Any, state: Any, constants: Any, values: Any, totals: Any
) -> None:
    """Fold the terms of the vertices [low, high) into `totals`, which has the identities."""
    if AGGREGATES:
        for vertex in range(low, high):
            add_terms(state, constants, vertex, values, totals)
