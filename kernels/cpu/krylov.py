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
    sums: Vector, before: Vector, scale: float, by: float, product: Vector, lo: int, hi: int
) -> tuple[float, float]:
    """Write the next vector of a range of vertices: `scale` times the sums, less `by` times the one before.

    Parameters
    ----------
    sums : ndarray of float64
        Sums of the neighbours' entries of `before`.
    before : ndarray of float64
    scale, by : float
    product : ndarray of float64
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
        product[place] = value
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
        first_sum, second_sum = 0.0, 0.0
        for row in range(count):
            value = vectors[row, place]
            first_sum += factors[0, row] * value
            second_sum += factors[1, row] * value
        vectors[0, place] = first_sum
        vectors[1, place] = second_sum
        first += first_sum * first_sum
        second += second_sum * second_sum
    return first, second
