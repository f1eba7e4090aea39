"""Dense supersteps: every vertex of a range gathers from all its in-neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.interface import (
    AGGREGATES,
    KEEPS,
    NO_TARGET,
    READS_TARGET,
    SETTLES,
    add_terms,
    change,
    initial,
    is_active,
    is_settled,
    keep,
    load,
    load_target,
    merge,
    message,
    next_values,
    no_terms,
    nothing,
    put,
    put_message,
    same,
    starts,
    take_message,
    terms,
    update,
)
from cugraph_ws.kernels.cpu.jit import jit

__all__ = [
    "arcs_are_quiet",
    "finish",
    "gather",
    "gather_fused",
    "gather_part",
    "initialise",
    "list_unlike",
    "merge_parts",
    "prepare",
    "rows_are_quiet",
    "select_started",
    "sum_terms",
]


@jit
def initialise(low: Any, high: Any, numbers: Any, state: Any, constants: Any, values: Any) -> None:
    """Write the first state of the vertices [low, high)."""
    for vertex in range(low, high):
        put(state, vertex, initial(constants, vertex, numbers[vertex], values))


@jit
def prepare(
    low: Any, high: Any, edges: Any, state: Any, constants: Any, values: Any, outbox: Any
) -> None:
    """Write the messages of the vertices [low, high) to `outbox`: one for all arcs of a vertex."""
    for vertex in range(low, high):
        put_message(
            outbox, vertex, message(load(state, constants, vertex), NO_TARGET, edges, 0, values)
        )


@jit
def gather(
    low: Any,
    high: Any,
    longest: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    fresh: Any,
    constants: Any,
    values: Any,
    prepared: Any,
    outbox: Any,
    totals: Any,
) -> None:
    """Compute the vertices [low, high) from all of their in-neighbours.

    Reads `state`, writes `fresh`; both may be the same arrays.  If `prepared`, the message of each
    vertex is in `outbox`.  Rows of more than `longest` arcs are left to `gather_part` and `finish`.
    `totals` becomes the number of active vertices, the sum of the changes, and their maximum.
    """
    offsets, indices = adjacency
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
            gathered = nothing()
            target = load_target(state, constants, vertex)
            for arc in range(first, last):
                if prepared:
                    arc_message = take_message(outbox, indices[arc])
                else:
                    arc_message = message(
                        load(state, constants, indices[arc]), target, edges, arc, values
                    )
                gathered = merge(gathered, arc_message)
            new = update(old, gathered, values)
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


@jit
def gather_part(
    vertex: Any,
    first: Any,
    last: Any,
    indices: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    prepared: Any,
    outbox: Any,
) -> Any:
    """Combine the messages along the arcs [first, last) of the long row of `vertex`."""
    gathered = nothing()
    target = load_target(state, constants, vertex)
    for arc in range(first, last):
        if prepared:
            arc_message = take_message(outbox, indices[arc])
        else:
            arc_message = message(load(state, constants, indices[arc]), target, edges, arc, values)
        gathered = merge(gathered, arc_message)
    return gathered


@jit
def merge_parts(first: Any, second: Any) -> Any:
    """Combine the gathered messages of two parts of a row."""
    return merge(first, second)


@jit
def finish(
    vertex: Any,
    gathered: Any,
    state: Any,
    fresh: Any,
    constants: Any,
    values: Any,
    totals: Any,
) -> None:
    """Write the new state of a vertex with a long row; `totals` as in `gather`."""
    old = load(state, constants, vertex)
    new = keep(old)
    hears = not (SETTLES and is_settled(old, values))
    if hears:
        new = update(old, gathered, values)
    totals[0] = 1 if hears and is_active(old, new, values) else 0
    size = change(old, new)
    totals[1] = size
    totals[2] = size
    put(fresh, vertex, new)


@jit
def sum_terms(low: Any, high: Any, state: Any, constants: Any, values: Any, totals: Any) -> None:
    """Store in `totals` the aggregates of the vertices [low, high)."""
    folded = no_terms()
    for vertex in range(low, high):
        folded = add_terms(folded, terms(load(state, constants, vertex), values))
    for place in range(len(totals)):
        totals[place] = folded[place]


@jit
def gather_fused(
    adjacency: Any,
    edges: Any,
    states: Any,
    constants: Any,
    values: Any,
    prepared: Any,
    outbox: Any,
    sums: Any,
    norm: Any,
    tolerance: Any,
    changes: Any,
) -> Any:
    """Run dense supersteps of all vertices in one thread, until the run has converged; return how many.

    The first reads the first of `states`, two tuples of arrays, and writes the second; then they take turns.
    `sums`, of shape (2, aggregates), has the program's sums before the first superstep; its rows
    become the sums before the last superstep and after it.  `changes` has a row for the totals of each superstep,
    which `gather` describes.  The run has converged if nothing is active, or if the change `norm` of these is at
    most `tolerance`; it has diverged if that is not finite.  Without a residual, `norm` is 0.
    """
    state, fresh = states
    vertices = len(adjacency[0]) - 1
    steps = 0
    goes_on = True
    while goes_on and steps < len(changes):
        if steps > 0:
            for place in range(AGGREGATES):  # assignments of slices take Numba seconds to compile
                sums[0, place] = sums[1, place]
        superstep_values = next_values(values, sums[0], values[-1] + steps)
        if not READS_TARGET and prepared:  # where messages read the target, `prepare` has no types
            prepare(0, vertices, edges, state, constants, superstep_values, outbox)
        totals = changes[steps]
        gather(
            0, vertices, vertices + len(adjacency[1]), adjacency, edges, state, fresh, constants,
            superstep_values, prepared, outbox, totals,
        )  # fmt: skip
        if AGGREGATES:
            sum_terms(0, vertices, fresh, constants, superstep_values, sums[1])
        state, fresh = fresh, state
        steps += 1
        residual = totals[norm]
        goes_on = totals[0] > 0 and (norm == 0 or tolerance < residual < np.inf)  # false for NaN
    return steps


@jit
def select_started(
    low: Any, high: Any, state: Any, constants: Any, values: Any, selected: Any
) -> Any:
    """List the vertices of [low, high) that the program starts from; return how many."""
    size = 0
    for vertex in range(low, high):
        if starts(load(state, constants, vertex), values):
            selected[size] = vertex
            size += 1
    return size


@jit
def list_unlike(low: Any, high: Any, state: Any, constants: Any, example: Any, listed: Any) -> Any:
    """List the vertices of [low, high) with another state than `example`; return how many."""
    model = keep(load(state, constants, example))
    size = 0
    for vertex in range(low, high):
        if not same(load(state, constants, vertex), model):
            listed[size] = vertex
            size += 1
    return size


@jit
def arcs_are_quiet(
    low: Any, high: Any, edges: Any, state: Any, constants: Any, values: Any, example: Any
) -> Any:
    """Return whether no arc of [low, high) would change its target if both ends were `example`."""
    vertex = load(state, constants, example)
    for arc in range(low, high):
        if not same(vertex, update(vertex, message(vertex, NO_TARGET, edges, arc, values), values)):
            return False
    return True


@jit
def rows_are_quiet(
    rows: Any, adjacency: Any, edges: Any, state: Any, constants: Any, values: Any, example: Any
) -> Any:
    """Return whether no in-neighbour in the state of `example` changes a vertex of `rows`."""
    offsets, indices = adjacency
    model = load(state, constants, example)
    for vertex in rows:
        old = load(state, constants, vertex)
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            source = load(state, constants, indices[arc])
            if same(source, keep(model)) and not same(
                old, update(old, message(source, NO_TARGET, edges, arc, values), values)
            ):
                return False
    return True
