"""Running sums within rows, by which walks draw edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["sum_rows"]


@jit
def sum_rows(
    offsets: npt.NDArray[Any], values: npt.NDArray[Any], sums: npt.NDArray[np.float64], lo: int, hi: int
) -> None:  # fmt: skip
    """Write at each arc the sum of its row's values up to it.

    Parameters
    ----------
    offsets : ndarray of int64, shape (rows + 1,)
    values : ndarray of int64, float32 or float64, shape (arcs,)
    sums : ndarray of float64, shape (arcs,)
        Written.
    lo, hi : int
        Range of rows.
    """
    for row in range(lo, hi):
        total = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            total += np.float64(values[arc])
            sums[arc] = total
