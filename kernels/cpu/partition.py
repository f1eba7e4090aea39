"""Moves of vertices between clusters of limited size, with which a graph is cut into parts.

A vertex moves to the cluster that holds most of its neighbours and has room for it: label propagation
with a limit of size (Meyerhenke, Sanders and Schulz, "Partitioning complex networks via
size-constrained clustering", SEA 2014).  Vertices move one after another in a given order, so the
result depends on that order alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["breadth_first_order", "lower_ghosts", "propagate"]

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


@jit
def propagate(
    offsets: Numbers,
    indices: Array,
    weights: Numbers,
    work: Numbers,
    order: Numbers,
    labels: Numbers,
    sizes: Numbers,
    limit: int,
    rounds: int,
) -> None:
    """Move vertices to the labels with which they share the most weight.

    Parameters
    ----------
    offsets, indices, weights
        Rows of all neighbours, without self-loops, and the weights of the edges.
    work : ndarray of int64, shape (n,)
        The size of each vertex.
    order : ndarray of int64, shape (n,)
        In which vertices move.
    labels : ndarray of int64, shape (n,)
        Modified in place.
    sizes : ndarray of int64, one for each label
        The sums of the sizes of their vertices; modified in place.
    limit : int
        The size up to which labels take vertices.
    rounds : int
        The most passes over all vertices.
    """
    shared = np.zeros(len(sizes), np.int64)
    for _ in range(rounds):
        moved = 0
        for place in range(len(order)):
            vertex = order[place]
            first, last, old = offsets[vertex], offsets[vertex + 1], labels[vertex]
            for arc in range(first, last):
                shared[labels[indices[arc]]] += weights[arc]
            best = old
            for arc in range(first, last):
                label = labels[indices[arc]]
                if label == old or sizes[label] + work[vertex] > limit:
                    continue
                more = shared[label] - shared[best]
                if more > 0 or (more == 0 and sizes[label] + work[vertex] < sizes[best]):
                    best = label
            for arc in range(first, last):
                shared[labels[indices[arc]]] = 0
            if best != old:
                sizes[old] -= work[vertex]
                sizes[best] += work[vertex]
                labels[vertex] = best
                moved += 1
        if moved == 0:
            break


@jit
def lower_ghosts(
    out_offsets: Numbers,
    out_indices: Array,
    in_offsets: Numbers,
    in_indices: Array,
    work: Numbers,
    order: Numbers,
    owner: Numbers,
    sizes: Numbers,
    limit: int,
    rounds: int,
) -> None:
    """Move vertices to the parts where the fewest copies of vertices on other parts are left.

    A part holds a copy of every vertex of another part with an arc into it.

    Parameters
    ----------
    out_offsets, out_indices, in_offsets, in_indices
        Rows of distinct out-neighbours and in-neighbours, without self-loops.
    work, order, sizes, limit, rounds
        As for `propagate`.
    owner : ndarray of int64, shape (n,)
        The part of each vertex; modified in place.
    """
    parts = len(sizes)
    heads = np.zeros((len(owner), parts), np.int32)  # out-neighbours of each vertex in each part
    for vertex in range(len(owner)):
        for arc in range(out_offsets[vertex], out_offsets[vertex + 1]):
            heads[vertex, owner[out_indices[arc]]] += 1
    for _ in range(rounds):
        moved = 0
        for place in range(len(order)):
            vertex = order[place]
            old, best, most = owner[vertex], -1, 0
            for part in range(parts):
                if part == old or sizes[part] + work[vertex] > limit:
                    continue
                fewer = int(heads[vertex, part] > 0) - int(heads[vertex, old] > 0)
                for arc in range(in_offsets[vertex], in_offsets[vertex + 1]):
                    tail = in_indices[arc]
                    if heads[tail, old] == 1 and owner[tail] != old:
                        fewer += 1
                    if heads[tail, part] == 0 and owner[tail] != part:
                        fewer -= 1
                evens = fewer == 0 and best < 0 and sizes[part] + work[vertex] < sizes[old]
                if fewer > most or evens:
                    best, most = part, fewer
            if best >= 0:
                owner[vertex] = best
                sizes[old] -= work[vertex]
                sizes[best] += work[vertex]
                moved += 1
                for arc in range(in_offsets[vertex], in_offsets[vertex + 1]):
                    heads[in_indices[arc], old] -= 1
                    heads[in_indices[arc], best] += 1
        if moved == 0:
            break


@jit
def breadth_first_order(
    offsets: Numbers, indices: Array, start: int, order: Numbers, reached: npt.NDArray[np.bool_]
) -> int:
    """List all vertices in the order in which searches reach them, the first one from `start`.

    Parameters
    ----------
    offsets, indices
        Rows of all neighbours.
    start : int
    order : ndarray of int64, shape (n,)
        Written.  When a search ends, another begins at the least vertex that none has reached.
    reached : ndarray of bool, shape (n,)
        All False.

    Returns
    -------
    int
        How many vertices the search from `start` reaches.
    """
    count, done, least, first = 0, 0, 0, 0
    while count < len(order):
        if done == count:
            while count and reached[least]:
                least += 1
            first = count if first == 0 else first
            begin = least if count else start
            reached[begin] = True
            order[count] = begin
            count += 1
        vertex = order[done]
        done += 1
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbour = indices[arc]
            if not reached[neighbour]:
                reached[neighbour] = True
                order[count] = neighbour
                count += 1
    return first if first else count
