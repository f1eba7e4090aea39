"""Priority buckets: near vertices go first, others are in a middle or a far pile by their rank.

This is delta-stepping (Meyer, Sanders 2003) in its near-far form (Davidson et al. 2014).  The
bucket width adapts to the work (as in ADDS: Wang, Fussell, Lin 2021).  The next bucket is taken
from the middle pile, which is short.  The far pile is scanned only when the middle pile is empty.
Piles are arrays to which vertices are appended.  An entry is stale if the vertex's mark has changed
since; it is dropped when it is read.

`piles` is a tuple: the middle pile, the far pile, and scalars, at the places below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.interface import load, order
from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = [
    "FAR",
    "FAR_SIZE",
    "GOAL",
    "HORIZON",
    "LIMIT",
    "MIDDLE",
    "MIDDLE_SIZE",
    "NEAR",
    "NUMBERS",
    "PENDING",
    "WIDTH",
    "balance",
    "file_later",
    "file_pending",
]

NEAR = 1  # queued for the next superstep
MIDDLE = 2  # in the middle pile
FAR = 3  # in the far pile
PENDING = 4  # put on a pile after the superstep

LIMIT = 0  # greatest rank that is near
HORIZON = 1  # greatest rank that belongs in the middle
WIDTH = 2  # of a bucket, in units of the rank; 0 while unknown
GOAL = 3  # target number of vertices in a bucket
MIDDLE_SIZE = 4
FAR_SIZE = 5
NUMBERS = 6

SPAN = 8.0  # a new horizon is this many bucket widths above the least rank
CROWDED = 8  # a near list longer than this many times the goal is split


@inline
def file_later(vertex: Any, rank: Any, marks: Any, piles: Any) -> Any:
    """Put a vertex on the pile of its rank; return False if the pile is full.

    A pile has room for every vertex.  It can be full only if ranks rise again, as in a program
    whose priority does not fall with every change.
    """
    middle, far, numbers = piles
    if rank <= numbers[HORIZON]:
        size = int(numbers[MIDDLE_SIZE])
        if marks[vertex] != MIDDLE:
            if size == len(middle):
                return False
            marks[vertex] = MIDDLE
            middle[size] = vertex
            numbers[MIDDLE_SIZE] += 1
    elif marks[vertex] != FAR:
        size = int(numbers[FAR_SIZE])
        if size == len(far):
            return False
        marks[vertex] = FAR
        far[size] = vertex
        numbers[FAR_SIZE] += 1
    return True


@jit
def file_pending(
    pending: Any, marks: Any, state: Any, constants: Any, values: Any, piles: Any, near: Any
) -> Any:
    """Put the vertices that a parallel push postponed on piles; return how many are near.

    A vertex whose pile is full becomes near, and is listed in `near`.
    """
    size = 0
    for place in range(len(pending)):
        vertex = pending[place]
        if marks[vertex] != PENDING:
            continue
        marks[vertex] = 0
        rank = order(load(state, constants, vertex), values)
        if not file_later(vertex, rank, marks, piles):
            marks[vertex] = NEAR
            near[size] = vertex
            size += 1
    return size


@inline
def _refill_middle(marks: Any, state: Any, constants: Any, values: Any, piles: Any) -> None:
    """Raise the horizon, and move the vertices within it from the far to the middle pile."""
    middle, far, numbers = piles
    near_count = 0
    least = np.inf
    total = 0.0
    for place in range(int(numbers[FAR_SIZE])):
        vertex = far[place]
        if marks[vertex] == FAR:
            rank = order(load(state, constants, vertex), values)
            far[near_count] = vertex
            near_count += 1
            least = min(least, rank)
            total += rank
    numbers[FAR_SIZE] = near_count
    if near_count == 0:
        return
    if not numbers[WIDTH] > 0.0:
        width = 2.0 * (total / near_count - least) * min(numbers[GOAL] / near_count, 1.0)
        # A sum of great ranks overflows.  Without a width only the least rank is next.
        numbers[WIDTH] = width if width > 0.0 and np.isfinite(width) else 0.0
    numbers[HORIZON] = least + SPAN * numbers[WIDTH]
    size = 0
    far_count = 0
    for place in range(near_count):
        vertex = far[place]
        if order(load(state, constants, vertex), values) > numbers[HORIZON]:
            far[far_count] = vertex
            far_count += 1
        else:  # also for a NaN rank, which must not stay on a pile for ever
            marks[vertex] = MIDDLE
            middle[size] = vertex
            size += 1
    numbers[FAR_SIZE] = far_count
    numbers[MIDDLE_SIZE] = size


@inline
def _next_bucket(near: Any, marks: Any, state: Any, constants: Any, values: Any, piles: Any) -> Any:
    """Make the next bucket's vertices near; return how many."""
    middle, _, numbers = piles
    near_count = 0
    least = np.inf
    while near_count == 0:
        if numbers[MIDDLE_SIZE] == 0:
            _refill_middle(marks, state, constants, values, piles)
            if numbers[MIDDLE_SIZE] == 0:
                return 0
        for place in range(int(numbers[MIDDLE_SIZE])):
            vertex = middle[place]
            if marks[vertex] == MIDDLE:
                least = min(least, order(load(state, constants, vertex), values))
                middle[near_count] = vertex
                near_count += 1
        numbers[MIDDLE_SIZE] = near_count
    numbers[LIMIT] = least + numbers[WIDTH]
    size = 0
    far_count = 0
    for place in range(near_count):
        vertex = middle[place]
        if marks[vertex] != MIDDLE:
            continue
        if order(load(state, constants, vertex), values) > numbers[LIMIT]:
            middle[far_count] = vertex
            far_count += 1
        else:
            marks[vertex] = NEAR
            near[size] = vertex
            size += 1
    numbers[MIDDLE_SIZE] = far_count
    if size * 2 < numbers[GOAL]:
        numbers[WIDTH] *= 2.0
    elif size > numbers[GOAL] * 2:
        numbers[WIDTH] *= 0.5
    return size


@jit
def balance(
    near: Any, near_size: Any, marks: Any, state: Any, constants: Any, values: Any, piles: Any
) -> Any:
    """Keep the near list at a good size between supersteps; return its length.

    An empty list gets the next bucket.  A list far above the target size keeps the vertices of
    least rank, if there are piles for the others.
    """
    numbers = piles[2]
    if len(piles[0]) == 0:
        return near_size
    if near_size == 0:
        near_size = _next_bucket(near, marks, state, constants, values, piles)
    if near_size <= CROWDED * numbers[GOAL]:
        return near_size
    least = np.inf
    greatest = -np.inf
    for place in range(near_size):
        rank = order(load(state, constants, near[place]), values)
        least = min(least, rank)
        greatest = max(greatest, rank)
    width = (greatest - least) * numbers[GOAL] / near_size
    if not width > 0.0 or not np.isfinite(width):
        return near_size  # ranks are equal or not finite: the list cannot be split
    limit = least + width
    count = 0
    for place in range(near_size):
        vertex = near[place]
        rank = order(load(state, constants, vertex), values)
        if rank <= limit or not file_later(vertex, rank, marks, piles):
            near[count] = vertex
            count += 1
    numbers[LIMIT] = limit
    numbers[WIDTH] = width
    return count
