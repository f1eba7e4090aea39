"""Push: active vertices send along their out-arcs, straight into the neighbours' state.

It is for programs whose combine is idempotent and whose `apply` takes messages one by one.  Then a
message may arrive early, late or twice, and no inbox is needed.

A queued vertex has a mark (see `buckets`), so that it is queued once.  With several threads, a lock
for each vertex makes the change of its state and of its mark atomic.  Readers of a single field
need no lock: a vertex whose stale value is read is queued already, and sends again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.atomics import compare_and_swap, store
from cugraph_ws.kernels.cpu.buckets import (
    FAR_SIZE,
    LIMIT,
    MIDDLE_SIZE,
    NEAR,
    PENDING,
    balance,
    file_later,
)
from cugraph_ws.kernels.cpu.interface import (
    FIELDS,
    NO_TARGET,
    ORDERED,
    SETTLES,
    is_active,
    is_settled,
    load,
    message,
    order,
    put,
    replace,
    same,
    update,
)
from cugraph_ws.kernels.cpu.jit import jit
from cugraph_ws.kernels.cpu.search import leap

__all__ = ["push", "push_fused"]


@jit
def push(
    low: Any,
    high: Any,
    frontier: Any,
    prefix: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    queues: Any,
    limit: Any,
    totals: Any,
) -> None:
    """Send along the arcs [low, high) of the frontier, counted over all its vertices.

    Other threads send along other arcs at the same time.  `queues` are the marks, the locks, and
    this range's lists of near vertices and of pending ones, which `file_pending` reads.  `totals`
    becomes the lengths of these lists.
    """
    offsets, indices = adjacency
    marks, locks, near, pending = queues
    near_size = 0
    pending_size = 0
    place = leap(prefix, 0, len(prefix), low + 1) - 1
    done = low
    while done < high:
        vertex = frontier[place]
        first = offsets[vertex] + (done - prefix[place])
        last = min(offsets[vertex + 1], first + (high - done))
        done += last - first
        place += 1
        if first == last:
            continue
        if FIELDS > 1:
            while not compare_and_swap(locks, vertex, 0, 1):
                pass
        source = load(state, constants, vertex)
        if FIELDS > 1:
            store(locks, vertex, 0)
        for arc in range(first, last):
            target = indices[arc]
            if FIELDS == 1:
                old = load(state, constants, target)
                if SETTLES and is_settled(old, values):
                    continue
                if same(old, update(old, message(source, NO_TARGET, edges, arc, values), values)):
                    continue
            while not compare_and_swap(locks, target, 0, 1):
                pass
            old = load(state, constants, target)
            new = update(old, message(source, NO_TARGET, edges, arc, values), values)
            if not same(old, new):
                put(state, target, new)
                if is_active(old, new, values):
                    if ORDERED and order(replace(old, new), values) > limit:
                        if marks[target] != PENDING and marks[target] != NEAR:
                            marks[target] = PENDING
                            pending[pending_size] = target
                            pending_size += 1
                    elif marks[target] != NEAR:
                        marks[target] = NEAR
                        near[near_size] = target
                        near_size += 1
            store(locks, target, 0)
    totals[0] = near_size
    totals[1] = pending_size


@jit
def push_fused(
    sizes: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    queues: Any,
    piles: Any,
    limits: Any,
    history: Any,
) -> Any:
    """Run supersteps in one thread while the frontier is small; return how many.

    `queues` are the marks and two near lists, used in turn; the frontier is in the first.  `sizes`
    are the length of the frontier and its number of arcs, updated.  `limits` are the most arcs of a
    frontier for a single thread, the most arcs, vertices and entries of piles in all, and the most supersteps.
    `history` receives the numbers of active vertices and of their arcs in each superstep.
    """
    offsets, indices = adjacency
    marks, near, spare = queues
    numbers = piles[2]
    near_size = sizes[0]
    arcs = sizes[1]
    read = 0
    steps = 0
    while near_size > 0 and arcs <= limits[0] and read < limits[1] and steps < limits[2]:
        history[steps, 0] = near_size
        history[steps, 1] = arcs
        steps += 1
        read += arcs + near_size
        spare_size = np.int64(0)  # for a literal 0 `balance` is compiled once more
        arcs = 0
        for place in range(near_size):
            marks[near[place]] = 0
        for place in range(near_size):
            vertex = near[place]
            source = load(state, constants, vertex)
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                target = indices[arc]
                old = load(state, constants, target)
                if SETTLES and is_settled(old, values):
                    continue
                new = update(old, message(source, NO_TARGET, edges, arc, values), values)
                if same(old, new):
                    continue
                put(state, target, new)
                if not is_active(old, new, values):
                    continue
                if ORDERED:
                    rank = order(replace(old, new), values)
                    if rank > numbers[LIMIT] and (
                        marks[target] == NEAR or file_later(target, rank, marks, piles)
                    ):
                        continue
                if marks[target] != NEAR:
                    marks[target] = NEAR
                    spare[spare_size] = target
                    spare_size += 1
                    arcs += offsets[target + 1] - offsets[target]
        near, spare = spare, near
        near_size = spare_size
        if ORDERED:
            before = near_size
            if near_size == 0:  # the next bucket is taken from a pile, all of which is read
                pile = numbers[MIDDLE_SIZE] if numbers[MIDDLE_SIZE] > 0 else numbers[FAR_SIZE]
                read += np.int64(pile)
            near_size = balance(near, near_size, marks, state, constants, values, piles)
            if near_size != before:
                arcs = 0
                for place in range(near_size):
                    arcs += offsets[near[place] + 1] - offsets[near[place]]
    sizes[0] = near_size
    sizes[1] = arcs
    return steps
