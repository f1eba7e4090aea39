"""Push: active vertices send along their out-arcs, straight into the neighbours' state.

Right for programs whose combine is idempotent and whose `apply` takes messages one by one: then a
message that arrives early, late or twice does no harm, and no inbox is needed.

A queued vertex has a mark (NEAR, or FAR where the program gives priorities), so that it is queued
once.  With several threads, a lock for each vertex makes the change of its state and its mark one
step; readers of a single field need none, since a stale value only sends again what is queued
already.  The far list has room for every vertex once, which is enough while changes lower a
vertex's rank; a program whose changes raise it finds the list full and goes on with the near one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cugraph_ws.kernels.cpu.atomics import compare_and_swap, exchange, store
from cugraph_ws.kernels.cpu.interface import (
    FIELDS,
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

__all__ = ["FAR", "NEAR", "advance", "push", "push_fused"]

NEAR = 1  # queued for the next superstep
FAR = 2  # queued for a later bucket


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

    Other threads send along others at the same time.  `queues` is the marks, the locks, and this
    range's lists of near and far vertices; `totals` becomes their lengths and the near ones' arcs.
    """
    offsets, indices = adjacency
    marks, locks, near, far = queues
    near_size = 0
    far_size = 0
    arcs = 0
    place = np.searchsorted(prefix, low, side="right") - 1
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
                if same(old, update(old, message(source, edges, arc, values), values)):
                    continue
            while not compare_and_swap(locks, target, 0, 1):
                pass
            old = load(state, constants, target)
            new = update(old, message(source, edges, arc, values), values)
            if not same(old, new):
                put(state, target, new)
                if is_active(old, new, values):
                    later = ORDERED and order(replace(old, new), values) > limit
                    if later and far_size < len(far):
                        if marks[target] == 0:
                            marks[target] = FAR
                            far[far_size] = target
                            far_size += 1
                    elif exchange(marks, target, NEAR) != NEAR:
                        near[near_size] = target
                        near_size += 1
                        arcs += offsets[target + 1] - offsets[target]
            store(locks, target, 0)
    totals[0] = near_size
    totals[1] = far_size
    totals[2] = arcs


@jit
def advance(
    far: Any,
    far_size: Any,
    marks: Any,
    state: Any,
    constants: Any,
    values: Any,
    near: Any,
    bucket: Any,
) -> Any:
    """Move the far vertices of the next bucket to the near list; return both lengths.

    `bucket` is the limit of the bucket, its width, and how many vertices it should hold about; the
    width is doubled or halved where it holds a half or twice as many.  A far vertex that has been
    near since is dropped.
    """
    kept = 0
    least = np.inf
    total = 0.0
    for place in range(far_size):
        vertex = far[place]
        if marks[vertex] != FAR:
            continue
        rank = order(load(state, constants, vertex), values)
        far[kept] = vertex
        kept += 1
        least = min(least, rank)
        total += rank
    if kept == 0:
        return 0, 0
    if bucket[1] <= 0.0:
        bucket[1] = (total / kept - least) * 0.5
    bucket[0] = least + bucket[1]
    near_size = 0
    far_size = 0
    for place in range(kept):
        vertex = far[place]
        if order(load(state, constants, vertex), values) <= bucket[0]:
            marks[vertex] = NEAR
            near[near_size] = vertex
            near_size += 1
        else:
            far[far_size] = vertex
            far_size += 1
    if near_size * 2 < bucket[2]:
        bucket[1] *= 2.0
    elif near_size > bucket[2] * 2:
        bucket[1] *= 0.5
    return near_size, far_size


@jit
def push_fused(
    sizes: Any,
    adjacency: Any,
    edges: Any,
    state: Any,
    constants: Any,
    values: Any,
    queues: Any,
    bucket: Any,
    limits: Any,
    history: Any,
) -> Any:
    """Run supersteps in one thread while the frontier is small; return how many.

    `queues` is the marks, two near lists that take turns (the frontier is in the first), and the
    far list; `sizes` their lengths, updated, with the number of arcs of the frontier third.
    `limits` is the most arcs of a frontier worth a single thread, the most arcs in all, and the
    most supersteps.  `history` gets the active vertices and the arcs read of each superstep.
    """
    offsets, indices = adjacency
    marks, near, spare, far = queues
    near_size = sizes[0]
    far_size = sizes[1]
    arcs = sizes[2]
    read = 0
    steps = 0
    while near_size > 0 and arcs <= limits[0] and read < limits[1] and steps < limits[2]:
        history[steps, 0] = near_size
        history[steps, 1] = arcs
        steps += 1
        read += arcs + near_size
        spare_size = 0
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
                new = update(old, message(source, edges, arc, values), values)
                if same(old, new):
                    continue
                put(state, target, new)
                if not is_active(old, new, values):
                    continue
                later = ORDERED and order(replace(old, new), values) > bucket[0]
                if later and far_size < len(far):
                    if marks[target] == 0:
                        marks[target] = FAR
                        far[far_size] = target
                        far_size += 1
                elif marks[target] != NEAR:
                    marks[target] = NEAR
                    spare[spare_size] = target
                    spare_size += 1
                    arcs += offsets[target + 1] - offsets[target]
        near, spare = spare, near
        near_size = spare_size
        if ORDERED and near_size == 0 and far_size > 0:
            near_size, far_size = advance(
                far, far_size, marks, state, constants, values, near, bucket
            )
            for place in range(near_size):
                arcs += offsets[near[place] + 1] - offsets[near[place]]
    sizes[0] = near_size
    sizes[1] = far_size
    sizes[2] = arcs
    return steps
