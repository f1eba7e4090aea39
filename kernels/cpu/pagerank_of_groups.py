"""PageRank of groups of vertices without edges between them, one group after the other.

A group of a few thousand arcs stays in a core's cache through all of its supersteps:

    rank(v) = alpha (sum over arcs u → v of w rank(u) / weight(u) + lost / n) + (1 - alpha) / n

with the n vertices of the group, and `lost` the ranks of those without out-edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["rank_groups"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@jit
def rank_groups(
    rows: tuple[Integers, Array, Floats],
    vertices: tuple[Floats, Floats, Floats],
    bounds: Integers,
    progress: tuple[Floats, Integers],
    limits: tuple[float, float, int],
    first: int,
    last: int,
    at_once: int,
) -> None:
    """Compute supersteps of the groups [first, last), each until it has converged.

    Parameters
    ----------
    rows : tuple
        Offsets and indices of in-neighbours, and the weights of arcs; none if each is 1.
    vertices : tuple
        The ranks, which are modified; room for the message of each vertex; and the weights of all arcs out of it.
    bounds : array of int64, shape (groups + 1,)
        The first vertex of each group.
    progress : tuple
        Of each group, the change of its last superstep and the number of supersteps; modified.
    limits : tuple
        `alpha`, `tol` and `max_iter`.
    first, last : int
    at_once : int
        Most supersteps of a group in this call.
    """
    offsets, indices, weights = rows
    ranks, shares, out_weight = vertices
    changes, supersteps = progress
    alpha, tol, max_iter = limits
    weighted = len(weights) > 0
    for group in range(first, last):
        low, high = bounds[group], bounds[group + 1]
        part = 1.0 / (high - low)
        for _ in range(at_once):
            if changes[group] <= tol or supersteps[group] >= max_iter:
                break
            lost = 0.0
            for vertex in range(low, high):
                if out_weight[vertex] > 0.0:
                    shares[vertex] = ranks[vertex] / out_weight[vertex]
                else:
                    shares[vertex] = 0.0
                    lost += ranks[vertex]
            change = 0.0
            for vertex in range(low, high):
                gathered = 0.0
                if weighted:
                    for arc in range(offsets[vertex], offsets[vertex + 1]):
                        gathered += shares[indices[arc]] * weights[arc]
                else:
                    for arc in range(offsets[vertex], offsets[vertex + 1]):
                        gathered += shares[indices[arc]]
                rank = alpha * (gathered + lost * part) + (1.0 - alpha) * part
                change += abs(rank - ranks[vertex])
                ranks[vertex] = rank
            changes[group] = change
            supersteps[group] += 1
