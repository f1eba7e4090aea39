"""Predecessors: for every vertex, the least in-neighbour whose message alone gives it its state.

As `kernels/cpu/tree.py`, by vertex number, so that all engines give the same forest: first the
tight in-neighbours whose state is strictly better; then, level by level, those that are merely as
good and have been decided in a level before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    initial,
    is_active,
    keep,
    load,
    message,
    replace,
    same,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    atomic_min,
    block,
    blocks,
    inline,
    kernel,
    lane,
    shuffle_xor,
    thread,
    threads,
)

__all__ = ["choose", "plant", "settle", "write_out"]

NOBODY = 1 << 62  # above every vertex number
WAITING = 1 << 30  # a level that is not reached


@inline
def least_tight(
    vertex: Any, begin: Any, stride: Any, ties: Any, level: Any, numbers: Any, adjacency: Any,
    edges: Any, state: Any, constants: Any, levels: Any, values: Any,
) -> Any:  # fmt: skip
    """Return the least number of a tight in-neighbour, of every `stride`-th arc."""
    offsets, indices = adjacency
    own = load(state, constants, vertex)
    before = replace(own, initial(constants, vertex, np.int64(numbers[vertex]), values))
    least = np.int64(NOBODY)
    for arc in range(offsets[vertex] + begin, offsets[vertex + 1], stride):
        position = indices[arc]
        number = np.int64(numbers[position])
        if number >= least:
            continue
        source = load(state, constants, position)
        if ties:
            allowed = levels[position] < level
        else:
            allowed = is_active(own, keep(source), values)
        if allowed and same(own, update(before, message(source, edges, arc, values), values)):
            least = number
    return least


@kernel
def plant(
    vertices: Any, numbers: Any, state: Any, constants: Any, parameters: Any, sums: Any,
    number: Any, levels: Any, found: Any,
) -> None:  # fmt: skip
    """Begin the forest with the vertices that are still in their first state: level 0."""
    values = with_sums(parameters, sums, vertices, number)
    for vertex in range(block() * threads() + thread(), vertices, blocks() * threads()):
        own = load(state, constants, vertex)
        first = initial(constants, vertex, np.int64(numbers[vertex]), values)
        levels[vertex] = 0 if same(own, first) else WAITING
        found[vertex] = NOBODY


@kernel
def choose(
    low: Any, high: Any, lanes: Any, ties: Any, level: Any, vertices: Any, numbers: Any,
    adjacency: Any, edges: Any, state: Any, constants: Any, parameters: Any, sums: Any,
    number: Any, levels: Any, found: Any,
) -> None:  # fmt: skip
    """Bring `found` down to the least tight in-neighbour, for waiting vertices in [low, high).

    Each vertex has `lanes` threads: 1, 32, or a whole block.  Without `ties` in-neighbours of a
    better state count, with `ties` those that have a level below `level`.
    """
    values = with_sums(parameters, sums, vertices, number)
    group = (block() * threads() + thread()) // lanes
    for vertex in range(low + group, high, blocks() * threads() // lanes):
        if levels[vertex] < WAITING:
            continue
        least = least_tight(
            vertex, thread() % lanes, lanes, ties, level, numbers, adjacency, edges, state,
            constants, levels, values,
        )  # fmt: skip
        if lanes > 1:
            bits = np.int32(16)
            while bits > 0:
                least = min(least, shuffle_xor(FULL, least, bits))
                bits = np.int32(bits >> 1)
            if lane() == 0:
                atomic_min(found, vertex, least)
        else:
            found[vertex] = least


@kernel
def settle(vertices: Any, level: Any, levels: Any, found: Any, counts: Any) -> None:
    """Give `level` to waiting vertices that have found a predecessor.

    Adds to `counts` how many have been given one, and how many still wait.
    """
    for vertex in range(block() * threads() + thread(), vertices, blocks() * threads()):
        if levels[vertex] == WAITING:
            if found[vertex] < NOBODY:
                levels[vertex] = level
                atomic_add(counts, 0, 1)
            else:
                atomic_add(counts, 1, 1)


@kernel
def write_out(vertices: Any, found: Any, predecessors: Any) -> None:
    """Write each vertex's predecessor, a vertex number, −1 for none."""
    for vertex in range(block() * threads() + thread(), vertices, blocks() * threads()):
        predecessors[vertex] = found[vertex] if found[vertex] < NOBODY else -1
