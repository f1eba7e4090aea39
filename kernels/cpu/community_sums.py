"""Sums over the arcs inside communities, in the order of the arcs, so that rounding is always the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["add_inside"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@jit
def add_inside(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    weights: Array,
    labels: Array,
    inside: Floats,
    loops: Floats,
    low: int,
    high: int,
) -> None:
    """Add the arcs of the rows [low, high) to the sums of the communities that they are inside.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of in-neighbours.
    weights : ndarray, shape (arcs,) or (0,)
        Empty if each arc counts 1.
    labels : ndarray of int, shape (size,)
        Community of each vertex.
    inside, loops : ndarray of float64, shape (communities,)
        Weights of arcs inside a community, and of self-loops.
    low, high : int
    """
    weighted = len(weights) > 0
    for row in range(low, high):
        label = labels[row]
        for arc in range(offsets[row], offsets[row + 1]):
            if labels[indices[arc]] == label:
                weight = np.float64(weights[arc]) if weighted else 1.0
                inside[label] += weight
                if indices[arc] == row:
                    loops[label] += weight
