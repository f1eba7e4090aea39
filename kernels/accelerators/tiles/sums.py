"""Sums of neighbours' values over tiles of arcs, in the order in which `sum_all_rows` adds them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["sum_tiles"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


@jit
def sum_tiles(
    low: int,
    high: int,
    bits: int,
    firsts: Integers,
    sources: npt.NDArray[np.uint16],
    places: npt.NDArray[np.uint16],
    values: Array,
    weights: Array | None,
    sums: Array,
) -> None:
    """Add up neighbours' values for the rows [low, high), tile by tile; see `gathers.fold_tiles`.

    Parameters
    ----------
    low, high : int
        Rows of a range.
    bits : int
        A block has 2^`bits` sources.
    firsts : ndarray of int64, shape (blocks + 1,)
        Index of the first arc of each tile of the range, and the end of the last one.
    sources, places : ndarray of uint16, shape (arcs,)
        Source of each arc within its block, and row within the range.
    values : ndarray of float64, shape (vertices,)
    weights : ndarray of float64, shape (arcs,), or None
        Factors by arc, in the order of the tiles; None for ones.
    sums : ndarray of float64, shape (rows,)
        Written.
    """
    for row in range(low, high):
        sums[row] = 0.0
    start = np.uint64(low)
    for block in range(len(firsts) - 1):
        base = np.uint64(block << bits)
        for arc in range(firsts[block], firsts[block + 1]):
            factor = 1.0 if weights is None else weights[arc]
            sums[start + np.uint64(places[arc])] += factor * values[base + np.uint64(sources[arc])]
