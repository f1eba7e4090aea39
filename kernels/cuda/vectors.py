"""Supersteps of programs with vectors, a warp for each vertex.

They are written against `vector_interface`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_once,
    shuffle,
    shuffle_down,
    sync_warp,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.vector_interface import (
    GREATEST,
    MASKED,
    MEASURES,
    SILENT,
    change,
    empty_message,
    fold,
    identity,
    initial,
    is_active,
    keep,
    put_terms,
    share,
    starts,
    update,
)

__all__ = ["gather_vectors", "initialise_vectors", "list_vector_terms"]


@inline
def change_of_lanes(size: Any) -> Any:
    """Return, to the first lane, the change that all lanes' parts make; a NaN stays."""
    distance = 16
    while distance > 0:
        above = shuffle_down(FULL, size, distance)
        if not GREATEST:
            size += above
        elif above > size or above != above:
            size = above
        distance //= 2
    return size


@inline
def fold_arc(
    folded: Any, hears: Any, state: Any, constants: Any, source: Any, vertex: Any, edges: Any, arc: Any, values: Any,
    sends: Any,
) -> Any:  # fmt: skip
    """Return what is folded, with the message along an arc, and whether there was any message."""
    if MASKED and sends[source] == 0:
        return folded, hears
    folded, received = fold(folded, state, constants, source, vertex, edges, arc, values)
    return folded, hears or received


@kernel
def initialise_vectors(
    numbers: Any, state: Any, constants: Any, values: Any, active: Any, size: Any
) -> None:
    """Write the first states, and which vertices are active.

    Parameters
    ----------
    numbers : int[size]
        The vertex number at each position.
    state, constants, values
        See `kernels/cpu/vector_interface.py`; arrays of vectors are flat.
    active : uint8[size]
        Written.
    size : int
    """
    warps = threads() // 32
    for place in range(block() * warps + thread() // 32, size, blocks() * warps):
        vertex = np.int64(place)
        initial(state, constants, vertex, np.int64(numbers[vertex]), values)
        sync_warp(FULL)
        begins = starts(state, constants, vertex, values)
        if lane() == 0:
            active[vertex] = 1 if begins else 0


@kernel
def gather_vectors(
    rows: Any, edges: Any, state: Any, fresh: Any, constants: Any, values: Any, sends: Any, active: Any,
    changes: Any, count: Any, owned: Any,
) -> None:  # fmt: skip
    """Compute the owned vertices from their in-neighbours that send, in the order of these.

    Parameters
    ----------
    rows : tuple of (int[owned + 1], int[arcs])
        Rows of in-neighbours.
    edges, state, constants, values
        See `kernels/cpu/vector_interface.py`; arrays of vectors are flat.
    fresh : tuple of arrays
        The new states.  Written.
    sends, active : uint8[size]
        Which vertices are active, and will be; the second is written.
    changes : float64[owned]
        Sizes of the changes, if the program has a residual; else of one element.  Written.
    count : int64[1]
        Number of vertices that will be active.  Added to.
    owned : int
    """
    offsets, indices = rows
    gathered = empty_message()
    warps = threads() // 32
    for place in range(block() * warps + thread() // 32, owned, blocks() * warps):
        vertex = np.int64(place)
        folded, hears = identity(), SILENT
        end = np.int64(offsets[vertex + 1])
        for at_arc in range(np.int64(offsets[vertex]), end, 32):
            first = np.int64(at_arc)
            of_lane = np.int64(load_once(indices, min(first + lane(), end - 1)))
            arcs = min(np.int64(32), end - first)
            fours = arcs - arcs % 4
            for at in range(
                0, fours, 4
            ):  # four at once, so that their rows are on the way together
                arc, a, b = first + at, shuffle(FULL, of_lane, at), shuffle(FULL, of_lane, at + 1)
                c, d = shuffle(FULL, of_lane, at + 2), shuffle(FULL, of_lane, at + 3)
                folded, hears = fold_arc(
                    folded, hears, state, constants, a, vertex, edges, arc, values, sends
                )
                folded, hears = fold_arc(
                    folded, hears, state, constants, b, vertex, edges, arc + 1, values, sends
                )
                folded, hears = fold_arc(
                    folded, hears, state, constants, c, vertex, edges, arc + 2, values, sends
                )
                folded, hears = fold_arc(
                    folded, hears, state, constants, d, vertex, edges, arc + 3, values, sends
                )
            for at in range(fours, arcs):
                source = shuffle(FULL, of_lane, at)
                folded, hears = fold_arc(
                    folded,
                    hears,
                    state,
                    constants,
                    source,
                    vertex,
                    edges,
                    first + at,
                    values,
                    sends,
                )
        share(gathered, folded)
        sync_warp(FULL)
        if hears:
            update(fresh, state, constants, vertex, gathered, values)
        else:
            keep(fresh, state, vertex)
        sync_warp(FULL)
        goes_on = any_of(FULL, hears and is_active(state, fresh, constants, vertex, values))
        if MEASURES:
            size = change_of_lanes(change(state, fresh, vertex))
            if lane() == 0:
                changes[vertex] = size
        if lane() == 0:
            active[vertex] = 1 if goes_on else 0
            if goes_on:
                atomic_add(count, 0, np.int64(1))


@kernel
def list_vector_terms(state: Any, constants: Any, values: Any, terms: Any, owned: Any) -> None:
    """Write the terms of the aggregates.

    Parameters
    ----------
    state, constants, values
        See `kernels/cpu/vector_interface.py`; arrays of vectors are flat.
    terms : float64[aggregates * owned]
        Written.
    owned : int
    """
    warps = threads() // 32
    for place in range(block() * warps + thread() // 32, owned, blocks() * warps):
        put_terms(state, constants, np.int64(place), values, terms, owned)
