"""Spanning forests on a CPU; see `cugraph_ws.algorithms.spanning_tree`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.forest import join, label_trees
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import cut_evenly

__all__ = ["forest_of_sorted"]

Array = npt.NDArray[Any]

EDGES_AT_ONCE = 1 << 20  # between two looks


def forest_of_sorted(size: int, tails: Array, heads: Array) -> tuple[Array, Array]:
    """Return the edges and the trees of the minimum spanning forest.

    Parameters
    ----------
    size : int
        Number of vertices.
    tails, heads : ndarray of int64, shape (edges,)
        Ends of the edges, by ascending weight.

    Returns
    -------
    places : ndarray of int64
        Indices of the edges of the forest, ascending.
    label : ndarray of int64, shape (size,)
        The least vertex of the tree of each vertex.
    """
    label, chosen = np.arange(size), np.zeros(len(tails), np.bool_)
    for low, high in cut_evenly(len(tails), 1 + len(tails) // EDGES_AT_ONCE):
        look()
        join(tails, heads, label, chosen, low, high)
    label_trees(label)
    return np.flatnonzero(chosen), label
