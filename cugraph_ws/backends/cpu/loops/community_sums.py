"""Sums over the arcs inside communities on the CPU; see `cugraph_ws.algorithms.modularity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.community_sums import add_inside
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import cut_offsets

__all__ = ["sums_inside"]

Array = npt.NDArray[Any]

ARCS_AT_ONCE = 1 << 23  # between two looks


def sums_inside(rows: Any, weights: Array | None, labels: Array, count: int) -> tuple[Array, Array]:
    """Return for each community the weights of the arcs inside it, and of self-loops.

    Parameters
    ----------
    rows : Adjacency
        Rows of in-neighbours.
    weights : ndarray, shape (arcs,), or None
        None if each arc counts 1.
    labels : ndarray of int64, shape (size,)
        Community of each vertex.
    count : int
        Number of communities.

    Returns
    -------
    inside, loops : ndarray of float64, shape (count,)
    """
    inside, loops = np.zeros(count), np.zeros(count)
    factors = np.empty(0) if weights is None else weights
    for low, high in cut_offsets(rows.offsets, 1 + len(rows.indices) // ARCS_AT_ONCE):
        look()
        add_inside(rows.offsets, rows.indices, factors, labels, inside, loops, low, high)
    return inside, loops
