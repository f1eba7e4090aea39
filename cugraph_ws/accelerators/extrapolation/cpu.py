"""Sums and combinations of vectors on the CPU; see `cugraph_ws.accelerators.extrapolation.runs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.accelerators.extrapolation import cpu as kernels
from cugraph_ws.runtime.threads import added

__all__ = ["combine", "products"]

Array = npt.NDArray[Any]


def products(vectors: Sequence[Array]) -> npt.NDArray[np.float64]:
    """Return the inner products of all pairs of changes.

    Parameters
    ----------
    vectors : sequence of six ndarrays of float64, each of shape (n,)
        Of consecutive supersteps; a change is the difference of two consecutive vectors.

    Returns
    -------
    ndarray of float64, shape (15,)
        Of the first change with each, of the second with itself and each later one, and so on.
    """
    return added(kernels.products, 15, len(vectors[0]), tuple(vectors))


def combine(
    vectors: Sequence[Array], factors: Sequence[float], combined: Array
) -> npt.NDArray[np.float64]:
    """Write the combination of the last five vectors, with negative entries set to 0.

    Parameters
    ----------
    vectors : sequence of six ndarrays of float64, each of shape (n,)
    factors : sequence of five floats
        Their sum is 1.
    combined : ndarray of float64, shape (n,)
        Written: the sum of factor times vector, over the last five vectors; 0 where it is negative.

    Returns
    -------
    ndarray of float64, shape (2,)
        The L1 norm of the sum of factor times change, over the five changes; and the total of the
        absolute values of the negative entries.
    """
    arguments = tuple(vectors), tuple(map(float, factors)), combined
    return added(kernels.combine, 2, len(vectors[0]), *arguments)
