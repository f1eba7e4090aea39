"""Vectors of a Krylov space and their combinations; see `cugraph_ws.algorithms.krylov`.

Each sum is added up in one order, which depends on the grid alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    inline,
    kernel,
    lane,
    shared,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = ["combine", "shift"]

WARPS = 8  # of a block
PIECES = 2 * WARPS


@inline
def put_two(pieces: Any, one: Any, two: Any, sums: Any) -> None:
    """Write the block's sums of two numbers of each thread."""
    first, second = sum_of_lanes(one), sum_of_lanes(two)
    if lane() == 0:
        pieces[thread() // 32] = first
        pieces[WARPS + thread() // 32] = second
    sync_block()
    if thread() < 2:
        total = 0.0
        for warp in range(threads() // 32):
            total += pieces[thread() * WARPS + warp]
        sums[2 * block() + thread()] = total


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
    put_two(pieces, mixed, square, sums)


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
    put_two(pieces, first, second, sums)
