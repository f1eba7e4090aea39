"""Moves of a layout's vertices on the CPU; see `cugraph_ws.pictures.forces`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu import layout as kernels
from cugraph_ws.runtime.threads import cut_evenly, number_of_tasks, parallel

__all__ = ["relax"]

Array = npt.NDArray[Any]

TASK = 2048  # vertices whose forces a thread computes at a time, at least


def relax(
    rows: tuple[Array, Array, Array], masses: Array, x: Array, y: Array, step: float, iterations: int
) -> None:  # fmt: skip
    """Move vertices by the forces between them, in place.

    Parameters
    ----------
    rows : tuple of (ndarray of int64, ndarray of int32, ndarray of float64)
        Offsets of the neighbours of each vertex, these, and the weights of edges.
    masses : ndarray of float64, shape (n,)
        Integers.
    x, y : ndarray of float64, shape (n,)
        Written.
    step : float
        The length of the first move.
    iterations : int
        Number of moves.
    """
    size = len(x)
    codes, force = np.empty(size, np.int64), (np.empty(size), np.empty(size))
    ranges, cells = np.empty((2 * size, 3), np.int32), np.empty((2 * size, 4))
    state = np.array([step, np.inf, 0.0])
    cuts = cut_evenly(size, number_of_tasks(size, TASK, 16 * TASK))
    for _ in range(iterations):
        side = kernels.cell_codes(x, y, codes)
        codes.sort()
        order = codes & (2**31 - 1)
        ordered = x[order], y[order], masses[order]
        tree = ranges, cells, kernels.build_tree(codes, *ordered, side, ranges, cells)
        shared = rows, (x, y), order, ordered, tree, force
        parallel(kernels.forces, [(*shared, cut) for cut in cuts])
        kernels.move(x, y, force, masses, state)
