"""Inner products of a vector, its residual and its last direction, and their combination.

Six vectors: three, and the image of each under a symmetric matrix.  See `cugraph_ws.algorithms.rayleigh_ritz`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["combine", "products"]

Vector = npt.NDArray[np.float64]
Vectors = tuple[Vector, Vector, Vector, Vector, Vector, Vector]


@jit
def products(vectors: Vectors, lo: int, hi: int) -> tuple[float, ...]:
    """Return inner products of the vectors x, r, p and of those with their images X, R, P.

    Parameters
    ----------
    vectors : tuple of six ndarrays of float64
        x, r, p, X, R, P.
    lo, hi : int
        Range of vertices.

    Returns
    -------
    tuple of 14 floats
        xx, xr, xp, rr, rp, pp, xX, xR, xP, rR, rP, pP, the greatest x, the greatest absolute r.
    """
    x, r, p, x_image, r_image, p_image = vectors
    xx, xr, xp, rr, rp, pp = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    x_x, x_r, x_p, r_r, r_p, p_p = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    greatest, furthest = 0.0, 0.0
    for place in range(lo, hi):
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
    return xx, xr, xp, rr, rp, pp, x_x, x_r, x_p, r_r, r_p, p_p, greatest, furthest


@jit
def combine(
    vectors: Vectors, factors: tuple[float, float, float, float, float], lo: int, hi: int
) -> None:
    """Replace x by a combination of x, r and p, p by its part without x, and r by the residual.

    Parameters
    ----------
    vectors : tuple of six ndarrays of float64
        x, r, p, X, R, P; all but R are modified.
    factors : tuple of five floats
        Of x, r, p and R, and the quotient: the new r is X - quotient * x.
    lo, hi : int
        Range of vertices.
    """
    x, r, p, x_image, r_image, p_image = vectors
    of_x, of_r, of_p, of_image, quotient = factors
    for place in range(lo, hi):
        step = of_r * r[place] + of_p * p[place]
        step_image = of_image * r_image[place] + of_p * p_image[place]
        value = of_x * x[place] + step
        image = of_x * x_image[place] + step_image
        x[place], x_image[place] = value, image
        p[place], p_image[place] = step, step_image
        r[place] = image - quotient * value
