"""Inner products and combinations of vectors on the CPU; see `cugraph_ws.algorithms.rayleigh_ritz`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu import rayleigh_ritz
from cugraph_ws.runtime.threads import by_pieces

__all__ = ["combine", "products"]

Array = npt.NDArray[Any]

SUMS, FOUND = 12, 14


def products(vectors: Sequence[Array]) -> npt.NDArray[np.float64]:
    """Return inner products of three vectors, and of those with their images.

    Parameters
    ----------
    vectors : sequence of six ndarrays of float64, each of shape (n,)
        x, r, p, and their images X, R, P.

    Returns
    -------
    ndarray of float64, shape (14,)
        xx, xr, xp, rr, rp, pp, xX, xR, xP, rR, rP, pP, the greatest x or 0, the greatest absolute r.
    """
    sums: npt.NDArray[np.float64] = np.zeros(FOUND)
    for piece in by_pieces(rayleigh_ritz.products, len(vectors[0]), tuple(vectors)):
        sums[:SUMS] += piece[:SUMS]
        sums[SUMS:] = np.maximum(sums[SUMS:], piece[SUMS:])
    return sums


def combine(vectors: Sequence[Array], factors: Sequence[float]) -> None:
    """Replace x by a combination of x, r and p, p by its part without x, and r by the residual.

    Parameters
    ----------
    vectors : sequence of six ndarrays of float64, each of shape (n,)
        x, r, p, X, R, P; all but R are modified.
    factors : sequence of five floats
        Of x, r, p and R, and the quotient: the new r is X - quotient * x.
    """
    arguments = tuple(vectors), tuple(map(float, factors))
    by_pieces(rayleigh_ritz.combine, len(vectors[0]), *arguments)
