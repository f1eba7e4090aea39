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
    products: Any, count: Any, before: Any, scale: Any, by: Any, next_vector: Any, sums: Any
) -> None:
    """Write the next vector: `scale` times the products, less `by` times the one before.

    Parameters
    ----------
    products : float64[count]
        May be `next_vector`.
    count : int
    before : float64[count]
    scale, by : float
    next_vector : float64[count]
        Written.
    sums : float64[2 * blocks]
        Written: each block's part of the inner products with the vector before, and with itself.
    """
    pieces = shared(PIECES, np.float64)
    mixed, square = 0.0, 0.0
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        old = before[place]
        value = scale * products[place] - by * old
        next_vector[place] = value
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
        first_entry, second_entry = 0.0, 0.0
        for row in range(count):
            value = vectors[row * width + place]
            first_entry += factors[row] * value
            second_entry += factors[count + row] * value
        vectors[place] = first_entry
        vectors[width + place] = second_entry
        first += first_entry * first_entry
        second += second_entry * second_entry
    keep(pieces, 0, first)
    keep(pieces, 1, second)
    put_sums(pieces, 2, sums)
