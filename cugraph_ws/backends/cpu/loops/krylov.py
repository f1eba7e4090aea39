"""Vectors of a Krylov space and their combinations on the CPU; see `cugraph_ws.algorithms.krylov`.

Each piece of vertices has its own sums, so these do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu import krylov
from cugraph_ws.runtime.threads import parallel

__all__ = ["combine", "shift"]

Array = npt.NDArray[Any]

PIECE = 1 << 15  # vertices


def shift(
    sums: Array, before: Array, found: Array, *, scale: float, by: float
) -> npt.NDArray[np.float64]:
    """Write the next vector: `scale` times the sums, less `by` times the one before.

    Parameters
    ----------
    sums : array of float64, shape (n,)
        Sums of the neighbours' entries of `before`.
    before : array of float64, shape (n,)
    found : array of float64, shape (n,)
        Written.
    scale, by : float

    Returns
    -------
    ndarray of float64, shape (2,)
        The inner products of the vector with the one before, and with itself.
    """
    return _added(krylov.shift, len(sums), sums, before, float(scale), float(by), found)


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
    return _added(krylov.combine, owned, vectors, np.ascontiguousarray(factors), factors.shape[1])


def _added(loop: Callable[..., Any], size: int, *given: Any) -> npt.NDArray[np.float64]:
    """Add up what a loop returns for each piece, in their order."""
    tasks = [(*given, low, min(low + PIECE, size)) for low in range(0, size, PIECE)]
    added: npt.NDArray[np.float64] = np.zeros(2)
    for one in parallel(loop, tasks):
        added += one
    return added
