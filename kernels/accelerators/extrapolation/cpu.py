"""Sums and combinations of a run's last six vectors; see `cugraph_ws.accelerators.extrapolation.runs`.

The change of a superstep is the difference of two vectors that follow each other: five of them, from
`a`, the change of the earliest, to `e`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["combine", "products"]

Vector = npt.NDArray[np.float64]
Vectors = tuple[Vector, Vector, Vector, Vector, Vector, Vector]


@jit
def products(vectors: Vectors, lo: int, hi: int) -> tuple[float, ...]:
    """Return the inner products of the changes in pairs: aa, ab, … ae, bb, … ee.

    Parameters
    ----------
    vectors : tuple of six ndarrays of float64
    lo, hi : int
        Range of vertices.

    Returns
    -------
    tuple of 15 floats
    """
    first, second, third, fourth, fifth, sixth = vectors
    aa, ab, ac, ad, ae = 0.0, 0.0, 0.0, 0.0, 0.0
    bb, bc, bd, be = 0.0, 0.0, 0.0, 0.0
    cc, cd, ce = 0.0, 0.0, 0.0
    dd, de, ee = 0.0, 0.0, 0.0
    for place in range(lo, hi):
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
    return aa, ab, ac, ad, ae, bb, bc, bd, be, cc, cd, ce, dd, de, ee


@jit
def combine(
    vectors: Vectors, factors: tuple[Any, ...], combined: Vector, lo: int, hi: int
) -> tuple[float, float]:
    """Combine the last five vectors; negative entries become 0.

    Parameters
    ----------
    vectors : tuple of six ndarrays of float64
    factors : tuple of five floats
    combined : ndarray of float64
        Written.
    lo, hi : int
        Range of vertices.

    Returns
    -------
    float, float
        The L1 norm of the same combination of the changes, and that of the negative entries.
    """
    first, second, third, fourth, fifth, sixth = vectors
    of_a, of_b, of_c, of_d, of_e = factors
    total, below = 0.0, 0.0
    for place in range(lo, hi):
        x_0, x_1, x_2 = first[place], second[place], third[place]
        x_3, x_4, x_5 = fourth[place], fifth[place], sixth[place]
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
    return total, below
