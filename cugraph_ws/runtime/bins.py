"""Counts and sums by bin, for arrays of NumPy and of the device.

CuPy's `bincount` looks first for negative numbers and for the greatest: the host waits twice, and on a new machine CuPy
compiles a reduction for four seconds (`masks`).  Here all numbers are known to be in range.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.runtime.device import device

__all__ = ["bin_counts", "bin_sums"]


def bin_counts(bins: Any, count: int) -> Any:
    """Return how often each number occurs.

    Parameters
    ----------
    bins : ndarray or device array of integers
        From 0 to `count` - 1; a GPU does not check this.
    count : int

    Returns
    -------
    ndarray or device array of int64, shape (count,)
    """
    if isinstance(bins, np.ndarray):
        return np.bincount(bins, minlength=count)
    counts = device().xp.zeros(count, np.int64)
    device().xp.add.at(counts, bins, 1)
    return counts


def bin_sums(bins: Any, values: Any, count: int) -> Any:
    """Return the sum of the values of each number.

    Parameters
    ----------
    bins : ndarray or device array of integers, shape (n,)
        From 0 to `count` - 1; a GPU does not check this.
    values : ndarray or device array of numbers, shape (n,)
        On a GPU they are added in any order.
    count : int

    Returns
    -------
    ndarray or device array of float64, shape (count,)
    """
    if isinstance(bins, np.ndarray):
        return np.bincount(bins, values, minlength=count).astype(np.float64, copy=False)
    sums = device().xp.zeros(count, np.float64)
    device().xp.add.at(sums, bins, values.astype(np.float64, copy=False))
    return sums
