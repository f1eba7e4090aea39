"""Inner products of a vector, its residual and its last direction, and their combination.

Six vectors: x, r, p, and their images X, R, P; see `kernels/cpu/rayleigh_ritz.py`.  Each sum is added up in one
order, which depends on the grid alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.block_sums import WARPS, keep, keep_greatest
from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    kernel,
    shared,
    sync_block,
    thread,
    threads,
)

__all__ = ["combine", "products"]

SUMS, FOUND = 12, 14
PIECES = FOUND * WARPS


@kernel
def products(vectors: Any, count: Any, inner_products: Any) -> None:
    """Write each block's inner products, and its greatest x and absolute r.

    Parameters
    ----------
    vectors : tuple of six float64[count]
    count : int
    inner_products : float64[blocks * FOUND]
        xx, xr, xp, rr, rp, pp, xX, xR, xP, rR, rP, pP, the greatest x, the greatest absolute r.
    """
    x, r, p, x_image, r_image, p_image = vectors
    pieces = shared(PIECES, np.float64)
    xx, xr, xp, rr, rp, pp = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    x_x, x_r, x_p, r_r, r_p, p_p = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    greatest, furthest = 0.0, 0.0
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        a, b, c = x[place], r[place], p[place]
        a_image, b_image, c_image = x_image[place], r_image[place], p_image[place]
        xx += a * a
        xr += a * b
        xp += a * c
        rr += b * b
        rp += b * c
        pp += c * c
        x_x += a * a_image
        x_r += a * b_image
        x_p += a * c_image
        r_r += b * b_image
        r_p += b * c_image
        p_p += c * c_image
        greatest = max(greatest, a)
        furthest = max(furthest, abs(b))
    keep(pieces, 0, xx)
    keep(pieces, 1, xr)
    keep(pieces, 2, xp)
    keep(pieces, 3, rr)
    keep(pieces, 4, rp)
    keep(pieces, 5, pp)
    keep(pieces, 6, x_x)
    keep(pieces, 7, x_r)
    keep(pieces, 8, x_p)
    keep(pieces, 9, r_r)
    keep(pieces, 10, r_p)
    keep(pieces, 11, p_p)
    keep_greatest(pieces, 12, greatest)
    keep_greatest(pieces, 13, furthest)
    sync_block()
    if thread() < FOUND:
        total = 0.0
        for warp in range(threads() // 32):
            value = pieces[thread() * WARPS + warp]
            if thread() < SUMS:
                total += value
            else:
                total = max(total, value)
        inner_products[block() * FOUND + thread()] = total


@kernel
def combine(vectors: Any, factors: Any, count: Any) -> None:
    """Replace x by a combination of x, r and p, p by its part without x, and r by the residual.

    Parameters
    ----------
    vectors : tuple of six float64[count]
        All but R are modified.
    factors : tuple of five float
        Of x, r, p and R, and the quotient: the new r is X - quotient * x.
    count : int
    """
    x, r, p, x_image, r_image, p_image = vectors
    of_x, of_r, of_p, of_image, quotient = factors
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        step = of_r * r[place] + of_p * p[place]
        step_image = of_image * r_image[place] + of_p * p_image[place]
        value = of_x * x[place] + step
        image = of_x * x_image[place] + step_image
        x[place] = value
        x_image[place] = image
        p[place] = step
        p_image[place] = step_image
        r[place] = image - quotient * value
