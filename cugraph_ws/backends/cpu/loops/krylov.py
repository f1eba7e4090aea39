"""Vectors of a Krylov space and their combinations on the CPU; see `cugraph_ws.algorithms.krylov`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu import krylov
from cugraph_ws.runtime.threads import added

__all__ = ["combine", "shift"]

Array = npt.NDArray[Any]


def shift(
    sums: Array, before: Array, product: Array, *, scale: float, by: float
) -> npt.NDArray[np.float64]:
    """Write the next vector: `scale` times the sums, less `by` times the one before.

    Parameters
    ----------
    sums : array of float64, shape (n,)
        Sums of the neighbours' entries of `before`.
    before : array of float64, shape (n,)
    product : array of float64, shape (n,)
        Written.
    scale, by : float

    Returns
    -------
    ndarray of float64, shape (2,)
        The inner products of the vector with the one before, and with itself.
    """
    return added(krylov.shift, 2, len(sums), sums, before, float(scale), float(by), product)


def combine(
    vectors: Array, owned: int, factors: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Replace the first two vectors by combinations.

    Parameters
    ----------
    vectors : array of float64, shape (most, size)
    owned : int
        Entries of each that are combined.
    factors : ndarray of float64, shape (2, vectors)
        Of the first vectors.

    Returns
    -------
    ndarray of float64, shape (2,)
        The square sums of both.
    """
    return added(krylov.combine, 2, owned, vectors, np.ascontiguousarray(factors), factors.shape[1])
