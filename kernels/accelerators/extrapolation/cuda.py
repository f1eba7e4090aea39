"""Sums and combinations of a run's last six vectors; see `cugraph_ws.accelerators.extrapolation.runs`.

The change of a superstep is the difference of two vectors that follow each other: five of them, from
`a`, the change of the earliest, to `e`.  Each sum is added up in one order, which depends on the grid
alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.block_sums import WARPS, keep, put_sums
from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, shared, thread, threads

__all__ = ["combine", "products"]

PRODUCTS = 15
PIECES = PRODUCTS * WARPS


@kernel
def products(vectors: Any, count: Any, sums: Any) -> None:
    """Write each block's part of the inner products of all pairs of changes: aa, ab, … ae, bb, … ee."""
    first, second, third, fourth, fifth, sixth = vectors
    pieces = shared(PIECES, np.float64)
    aa, ab, ac, ad, ae = 0.0, 0.0, 0.0, 0.0, 0.0
    bb, bc, bd, be = 0.0, 0.0, 0.0, 0.0
    cc, cd, ce = 0.0, 0.0, 0.0
    dd, de, ee = 0.0, 0.0, 0.0
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        x_1, x_2, x_3, x_4 = second[place], third[place], fourth[place], fifth[place]
        a, b, c = x_1 - first[place], x_2 - x_1, x_3 - x_2
        d, e = x_4 - x_3, sixth[place] - x_4
        aa += a * a
        ab += a * b
        ac += a * c
        ad += a * d
        ae += a * e
        bb += b * b
        bc += b * c
        bd += b * d
        be += b * e
        cc += c * c
        cd += c * d
        ce += c * e
        dd += d * d
        de += d * e
        ee += e * e
    keep(pieces, 0, aa)
    keep(pieces, 1, ab)
    keep(pieces, 2, ac)
    keep(pieces, 3, ad)
    keep(pieces, 4, ae)
    keep(pieces, 5, bb)
    keep(pieces, 6, bc)
    keep(pieces, 7, bd)
    keep(pieces, 8, be)
    keep(pieces, 9, cc)
    keep(pieces, 10, cd)
    keep(pieces, 11, ce)
    keep(pieces, 12, dd)
    keep(pieces, 13, de)
    keep(pieces, 14, ee)
    put_sums(pieces, PRODUCTS, sums)


@kernel
def combine(vectors: Any, factors: Any, count: Any, combined: Any, sums: Any) -> None:
    """Combine the last five vectors, with 0 in place of negative values.

    Write each block's sums of the absolute combined changes, and of how far values were below 0.
    """
    first, second, third, fourth, fifth, sixth = vectors
    of_a, of_b, of_c, of_d, of_e = factors
    pieces = shared(PIECES, np.float64)
    total, below = 0.0, 0.0
    for place in range(block() * threads() + thread(), count, blocks() * threads()):
        x_1, x_2, x_3, x_4 = second[place], third[place], fourth[place], fifth[place]
        x_0, x_5 = first[place], sixth[place]
        value = of_a * x_1 + of_b * x_2 + of_c * x_3 + of_d * x_4 + of_e * x_5
        combined[place] = max(value, 0.0)
        below += max(-value, 0.0)
        total += abs(
            of_a * (x_1 - x_0)
            + of_b * (x_2 - x_1)
            + of_c * (x_3 - x_2)
            + of_d * (x_4 - x_3)
            + of_e * (x_5 - x_4)
        )
    keep(pieces, 0, total)
    keep(pieces, 1, below)
    put_sums(pieces, 2, sums)
