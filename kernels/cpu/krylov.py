"""Vectors of a Krylov space and their combinations; see `cugraph_ws.algorithms.krylov`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["combine", "shift"]

Vector = npt.NDArray[np.float64]


@jit
def shift(
    sums: Vector, before: Vector, scale: float, by: float, found: Vector, lo: int, hi: int
) -> tuple[float, float]:
    """Write the next vector of a range of vertices: `scale` times the sums, less `by` times the one before.

    Parameters
    ----------
    sums : ndarray of float64
        Sums of the neighbours' entries of `before`.
    before : ndarray of float64
    scale, by : float
    found : ndarray of float64
        Written.
    lo, hi : int
        Range of vertices.

    Returns
    -------
    float, float
        The inner products of the vector with the one before, and with itself.
    """
    mixed, square = 0.0, 0.0
    for place in range(lo, hi):
        value = scale * sums[place] - by * before[place]
        found[place] = value
        mixed += value * before[place]
        square += value * value
    return mixed, square


@jit
def combine(
    vectors: Vector, factors: npt.NDArray[Any], count: int, lo: int, hi: int
) -> tuple[float, float]:
    """Replace the first two vectors by combinations of the first `count`.

    Parameters
    ----------
    vectors : ndarray of float64, two-dimensional
    factors : ndarray of float64, shape (2, count)
    count : int
    lo, hi : int
        Range of vertices.

    Returns
    -------
    float, float
        The square sums of both.
    """
    first, second = 0.0, 0.0
    for place in range(lo, hi):
        one, two = 0.0, 0.0
        for row in range(count):
            value = vectors[row, place]
            one += factors[0, row] * value
            two += factors[1, row] * value
        vectors[0, place] = one
        vectors[1, place] = two
        first += one * one
        second += two * two
    return first, second
