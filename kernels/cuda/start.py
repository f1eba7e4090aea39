"""The active vertices before the first superstep: those that `starts` names, or those unlike the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    NO_TARGET,
    keep,
    load,
    message,
    same,
    starts,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    ballot,
    block,
    blocks,
    ffs,
    kernel,
    lane,
    shared,
    sync_block,
    thread,
    threads,
)

__all__ = ["count_changing_arcs", "count_changing_rows", "flag_starters", "mark_unlike"]


@kernel
def flag_starters(
    size: Any, vertices: Any, state: Any, constants: Any, parameters: Any, sums: Any, flags: Any
) -> None:
    """Flag the positions, ghosts included, at which a program with a `starts` function starts."""
    values = with_sums(parameters, sums, vertices, np.int64(0))
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        begins = starts(load(state, constants, vertex), values)
        flags[vertex] = np.uint8(1) if begins else np.uint8(0)


@kernel
def mark_unlike(
    size: Any, example: Any, state: Any, constants: Any, flags: Any, counts: Any
) -> None:
    """Flag the positions whose state differs from that of `example`; count them."""
    model = keep(load(state, constants, example))
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        unlike = not same(load(state, constants, vertex), model)
        flags[vertex] = np.uint8(1) if unlike else np.uint8(0)
        if unlike:
            atomic_add(counts, 0, 1)


@kernel
def count_changing_arcs(
    arcs: Any, vertices: Any, example: Any, edges: Any, state: Any, constants: Any,
    parameters: Any, sums: Any, counts: Any,
) -> None:  # fmt: skip
    """Count in `counts[1]` the arcs along which a vertex like `example` would change one like it."""
    values = with_sums(parameters, sums, vertices, np.int64(0))
    vertex = load(state, constants, example)
    changing = np.int64(0)
    for arc in range(block() * threads() + thread(), arcs, blocks() * threads()):
        if not same(vertex, update(vertex, message(vertex, NO_TARGET, edges, arc, values), values)):
            changing += 1
    if changing:
        atomic_add(counts, 1, changing)


@kernel
def count_changing_rows(
    owned: Any, vertices: Any, example: Any, adjacency: Any, edges: Any, state: Any, constants: Any,
    parameters: Any, sums: Any, flags: Any, counts: Any,
) -> None:  # fmt: skip
    """Count the arcs along which vertices like `example` would change flagged owned vertices.

    Each thread of a block reads a flag; then the whole block reads the rows of flagged vertices.
    """
    offsets, indices = adjacency
    values = with_sums(parameters, sums, vertices, np.int64(0))
    model = keep(load(state, constants, example))
    flagged = shared(32, np.uint32)
    changing = np.int64(0)
    for first in range(block() * threads(), owned, blocks() * threads()):
        mine = False
        if first + thread() < owned:
            mine = flags[first + thread()] != 0
        word = ballot(FULL, mine)
        if lane() == 0:
            flagged[thread() // 32] = word
        sync_block()
        for warp in range(threads() // 32):
            word = flagged[warp]
            while word != 0:
                vertex = np.int64(first + 32 * warp + ffs(word) - 1)
                word = np.uint32(word & (word - 1))
                old = load(state, constants, vertex)
                for arc in range(offsets[vertex] + thread(), offsets[vertex + 1], threads()):
                    source = load(state, constants, indices[arc])
                    if same(source, model) and not same(
                        old, update(old, message(source, NO_TARGET, edges, arc, values), values)
                    ):
                        changing += 1
        sync_block()
    if changing:
        atomic_add(counts, 1, changing)
