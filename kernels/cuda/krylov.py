"""Vectors of a Krylov space and their combinations; see `cugraph_ws.algorithms.krylov`.

Each sum is added up in one order, which depends on the grid alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.block_sums import WARPS, keep, put_sums
from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, shared, thread, threads

__all__ = ["combine", "shift"]

PIECES = 2 * WARPS


@kernel
def shift(
    products: Any, count: Any, before: Any, scale: Any, by: Any, found: Any, sums: Any
) -> None:
    """Write the next vector: `scale` times the products, less `by` times the one before.

    Parameters
    ----------
    products : float64[count]
        May be `found`.
    count : int
    before : float64[count]
    scale, by : float
    found : float64[count]
        Written.
    sums : float64[2 * blocks]
        Written: each block's part of the inner products with the vector before, and with itself.
    """
    pieces = shared(PIECES, np.float64)
    mixed, square = 0.0, 0.0
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        old = before[place]
        value = scale * products[place] - by * old
        found[place] = value
        mixed += value * old
        square += value * value
    keep(pieces, 0, mixed)
    keep(pieces, 1, square)
    put_sums(pieces, 2, sums)


@kernel
def combine(vectors: Any, width: Any, owned: Any, factors: Any, count: Any, sums: Any) -> None:
    """Replace the first two vectors by combinations of the first `count`.

    Parameters
    ----------
    vectors : float64[vectors * width]
    width : int
    owned : int
        Entries of each that are combined.
    factors : float64[2 * count]
    count : int
    sums : float64[2 * blocks]
        Written: each block's part of the square sums of both.
    """
    pieces = shared(PIECES, np.float64)
    first, second = 0.0, 0.0
    for place in range(block() * threads() + thread(), owned, blocks() * threads()):
        one, two = 0.0, 0.0
        for row in range(count):
            value = vectors[row * width + place]
            one += factors[row] * value
            two += factors[count + row] * value
        vectors[place] = one
        vectors[width + place] = two
        first += one * one
        second += two * two
    keep(pieces, 0, first)
    keep(pieces, 1, second)
    put_sums(pieces, 2, sums)
