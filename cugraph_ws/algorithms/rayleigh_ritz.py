"""The eigenvector of the greatest eigenvalue of a symmetric matrix, by the locally optimal method.

A vector x with the image Mx has the Rayleigh quotient q = x·Mx / x·x and the residual r = Mx − qx.  A step multiplies
M by the residual, and replaces x by that vector of the span of x, r and p which has the greatest quotient, where p is
by what the last step changed x (Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block
preconditioned conjugate gradient method", SIAM Journal on Scientific Computing 23, 2001; here one vector, without a
preconditioner).  The images of the new x and p are the same combinations.  So a step needs one product, and about the
square root of the number of steps of power iteration; and all vectors are polynomials in M times the first one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.neighbourhood import Neighbourhood
from cugraph_ws.backends import loops
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.memory import available_memory

__all__ = ["Improved", "best_of_span", "has_room"]

Array = Any  # NumPy's or CuPy's
Table = list[list[float]]  # rows

SUMS = 12
SMALL = 1 << 26  # bytes that are always there: asking a driver takes as long as a small graph's run
PART = 4  # vectors may take 1/4 of the free memory
# Products of vectors of length 1 that are nearly dependent are rounding errors
DEPENDENT = 1e-6
SWEEPS = 8  # of rotations; the angles that are left are squared, or better, by each


class Improved:
    """A vector that steps improve, with what they need.

    Parameters
    ----------
    near : Neighbourhood
    vector : array of float64, shape (size,)
        By position; the owned part is replaced by each step.
    scale : float
        What images are divided by.

    Attributes
    ----------
    vectors : dict of str to array of float64
        By position: the image of the vector, the residual, the direction of the last step and its image.
    quotient : float
        The Rayleigh quotient of the vector.
    least : float
        The least square of a residual's length so far, relative to that of its vector.
    idle : int
        Steps since then.
    """

    names = ("image", "residual", "direction", "direction_image")

    def __init__(self, near: Neighbourhood, vector: Array, scale: float) -> None:
        self._near, self._vector, self.scale = near, vector, scale
        self._loops = loops("rayleigh_ritz", on_device=near.part.on_device)
        self.vectors = {name: near.xp.zeros(near.part.size) for name in self.names}
        self.quotient, self.least, self.idle = 0.0, math.inf, 0

    def begin(self, vector: Array, image: Array) -> None:
        """Replace the vector, given its image; the direction stays; collective.

        Parameters
        ----------
        vector, image : array of float64, shape (owned,)
        """
        owned, vectors = self._near.part.owned, self.vectors
        self._vector[:owned], vectors["image"][:owned] = vector, image
        vectors["residual"][:owned] = 0.0
        products = self._products(vectors["image"][:owned])
        self.quotient = float(products[6] / (products[0] or 1.0))
        vectors["residual"][:owned] = image - self.quotient * vector

    def forget(self) -> None:
        """Drop the direction of the last step."""
        self.vectors["direction"][:] = 0.0
        self.vectors["direction_image"][:] = 0.0

    def step(self, product: Callable[[Array], Array]) -> float | None:
        """Improve the vector; return how far it was from an eigenvector; collective.

        Parameters
        ----------
        product : callable
            Returns the image of a vector by position, of owned positions and times `scale`; may write the
            vector's ghosts; collective.

        Returns
        -------
        float or None
            The greatest absolute residual, relative to the quotient times the greatest entry; None if nothing
            could be improved.
        """
        owned = self._near.part.owned
        image = product(self.vectors["residual"])
        products = self._products(image)
        if self.scale != 1.0:
            products[[7, 9]] /= self.scale
        size = products[3] / products[0] if products[0] > 0.0 else math.nan
        best = best_of_span(products[:SUMS].tolist())
        if best is None or not size < math.inf or products[SUMS] <= 0.0 or self.quotient <= 0.0:
            return None
        self.idle = 0 if size < self.least else self.idle + 1
        self.least = min(self.least, float(size))
        far = float(products[SUMS + 1] / (self.quotient * products[SUMS]))
        (of_x, of_r, of_p), self.quotient = best
        factors = of_x, of_r, of_p, of_r / self.scale, self.quotient
        self._loops.combine(self._six(image[:owned]), factors)
        return far

    def _six(self, image: Array) -> Sequence[Array]:
        """Return owned entries: vector, residual, direction, and their images, given the residual's."""
        owned, vectors = self._near.part.owned, self.vectors
        basis = self._vector, vectors["residual"], vectors["direction"]
        rest = vectors["direction_image"][:owned]
        return *(vector[:owned] for vector in basis), vectors["image"][:owned], image, rest

    def _products(self, image: Array) -> npt.NDArray[np.float64]:
        """Return sums and greatest values over all ranks; collective."""
        own_sums = self._loops.products(self._six(image)).tolist()
        shown = np.array(self._near.part.graph.comm.allgather(own_sums))
        return np.concatenate([shown[:, :SUMS].sum(axis=0), shown[:, SUMS:].max(axis=0)])


def has_room(part: Part) -> bool:
    """Return whether the vectors of an `Improved` fit in this rank's free memory.

    Parameters
    ----------
    part : Part
    """
    needed = 8 * (len(Improved.names) + 1) * part.size
    if needed <= SMALL:
        return True
    free = device().free_memory() if part.on_device else available_memory()
    return PART * needed <= free


def best_of_span(products: Sequence[float]) -> tuple[tuple[float, float, float], float] | None:
    """Find the vector of the greatest Rayleigh quotient in a span of three.

    Computed in plain Python, so that all ranks find the same bits, whatever their processors.

    Parameters
    ----------
    products : sequence of 12 floats
        xx, xr, xp, rr, rp, pp, and products with images: xX, xR, xP, rR, rP, pP.  p may be 0.

    Returns
    -------
    factors : tuple of three floats
        Of x, r and p; that of x is not negative.  The combination has the length 1.
    quotient : float

    None if the products are not finite, or x and r are dependent.
    """
    if not all(map(math.isfinite, products)):
        return None
    xx, _, _, rr, _, pp = products[:6]
    if not (xx > 0.0 and rr > 0.0):
        return None
    lengths = math.sqrt(xx), math.sqrt(rr), math.sqrt(pp) if pp > 0.0 else 1.0
    angles, images = (_table(part, lengths) for part in (products[:6], products[6:]))
    for count in (3, 2) if pp > 0.0 else (2,):
        root = _root(angles, count)
        if root is None:
            continue
        # The images' products with an orthonormal basis: twice divided by the root
        half = [_divided(root, row[:count]) for row in images[:count]]
        table = [_divided(root, list(row)) for row in zip(*half, strict=True)]
        quotient, vector = _greatest(table)
        for row in reversed(range(count)):  # the vector in terms of x, r and p
            for below in range(row + 1, count):
                vector[row] -= root[below][row] * vector[below]
            vector[row] /= root[row][row]
        sign = math.copysign(1.0, vector[0])
        of_x, of_r, of_p = (
            sign * factor / length
            for factor, length in zip([*vector, 0.0][:3], lengths, strict=True)
        )
        return (of_x, of_r, of_p), quotient
    return None


def _table(upper: Sequence[float], lengths: Sequence[float]) -> Table:
    """Return a symmetric table of three rows, divided by the lengths, given its upper triangle."""
    places = ((0, 1, 2), (1, 3, 4), (2, 4, 5))
    return [
        [upper[place] / (lengths[row] * lengths[column]) for column, place in enumerate(index)]
        for row, index in enumerate(places)
    ]


def _root(table: Table, count: int) -> Table | None:
    """Return the Cholesky factor of the first rows, or None if they are nearly dependent."""
    root: Table = []
    for row in range(count):
        solved = _divided(root, table[row][:row])
        remainder = table[row][row]
        for factor in solved:
            remainder -= factor * factor
        if not remainder > DEPENDENT * DEPENDENT:
            return None
        root.append([*solved, math.sqrt(remainder)])
    return root


def _divided(root: Table, right: list[float]) -> list[float]:
    """Return `right`, divided by a lower triangle."""
    quotients: list[float] = []
    for row, value in zip(root, right, strict=True):
        for factor, quotient in zip(row, quotients, strict=False):
            value -= factor * quotient
        quotients.append(value / row[len(quotients)])
    return quotients


def _greatest(table: Table) -> tuple[float, list[float]]:
    """Return the greatest eigenvalue of a symmetric table, and its vector, by Jacobi's rotations."""
    count = len(table)
    vectors = [[float(row == column) for column in range(count)] for row in range(count)]
    for _ in range(SWEEPS):
        for one, other in combinations(range(count), 2):
            beside = table[one][other]
            if beside == 0.0:
                continue
            slope = (table[other][other] - table[one][one]) / (2.0 * beside)
            tangent = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(slope * slope + 1.0))
            cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
            sine = tangent * cosine
            for row in (*table, *vectors):
                row[one], row[other] = (
                    cosine * row[one] - sine * row[other],
                    sine * row[one] + cosine * row[other],
                )
            first, second = table[one], table[other]
            for column in range(count):
                first[column], second[column] = (
                    cosine * first[column] - sine * second[column],
                    sine * first[column] + cosine * second[column],
                )
            first[other] = second[one] = 0.0
    best = max(range(count), key=lambda place: table[place][place])
    return table[best][best], [row[best] for row in vectors]
