"""Loops over vectors, piece by piece.

Each piece of vertices has its own sums, so these do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.runtime.threads import parallel

__all__ = ["added", "by_pieces"]

PIECE = 1 << 15  # vertices


def by_pieces(loop: Callable[..., Any], size: int, *given: Any) -> list[Any]:
    """Return what a loop returns for each piece, in their order.

    Parameters
    ----------
    loop : callable
        Takes `given`, and the range of a piece.
    size : int
        Number of vertices.
    *given
        Arguments.
    """
    return parallel(loop, [(*given, low, min(low + PIECE, size)) for low in range(0, size, PIECE)])


def added(loop: Callable[..., Any], width: int, size: int, *given: Any) -> npt.NDArray[np.float64]:
    """Add up what a loop returns for each piece, in their order.

    Parameters
    ----------
    loop, size, *given
        As for `by_pieces`.
    width : int
        Length of what the loop returns.

    Returns
    -------
    ndarray of float64, shape (width,)
    """
    sums: npt.NDArray[np.float64] = np.zeros(width)
    for one in by_pieces(loop, size, *given):
        sums += one
    return sums
