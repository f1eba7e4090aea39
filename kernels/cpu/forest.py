"""Kruskal's algorithm on edges that are sorted, in parts that can be interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["join", "label_trees"]

Array = npt.NDArray[Any]


@inline
def _root(parent: Array, vertex: int) -> int:
    """Return the root above a vertex; halve the path to it."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@jit
def join(
    tails: Array, heads: Array, parent: Array, chosen: npt.NDArray[np.bool_], low: int, high: int
) -> None:
    """Choose of the edges [low, high) those that join two trees; the lesser root stays one.

    Parameters
    ----------
    tails, heads : ndarray of int, shape (edges,)
    parent : ndarray of int, shape (vertices,)
        Of each vertex in a forest of roots; a root is its own.
    chosen : ndarray of bool, shape (edges,)
        False; written.
    low, high : int
    """
    for edge in range(low, high):
        first, second = _root(parent, tails[edge]), _root(parent, heads[edge])
        if first != second:
            chosen[edge] = True
            parent[max(first, second)] = min(first, second)


@jit
def label_trees(parent: Array) -> None:
    """Give each vertex its root as its parent; a parent is never greater than its child."""
    for vertex in range(len(parent)):
        parent[vertex] = parent[parent[vertex]]
