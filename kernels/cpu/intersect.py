"""Folds over the common neighbours of pairs of vertices, on ascending rows.

Rows of similar length are merged.  In a much longer row each element of the shorter one is looked
up, from where the last one was (`search`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit
from cugraph_ws.kernels.cpu.search import leap

__all__ = ["fold_common"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

# What is added up over common neighbours.
COUNT, LEAST, PRODUCT = 0, 1, 2
MUCH_LONGER = 16


@inline
def count_merged(indices: Array, one: int, end: int, other: int, stop: int) -> int:
    """Count the equal entries of two rows of similar length; no branch depends on the entries."""
    found = 0
    while one < end and other < stop:
        left, right = indices[one], indices[other]
        found += 1 if left == right else 0
        one += 1 if left <= right else 0
        other += 1 if right <= left else 0
    return found


@jit
def fold_common(
    offsets: Integers,
    indices: Array,
    values: Array,
    firsts: Integers,
    seconds: Integers,
    kind: int,
    sums: Array,
    lo: int,
    hi: int,
) -> int:
    """Fold over the common neighbours of pairs of vertices.

    Parameters
    ----------
    offsets, indices : ndarray
        Ascending rows of neighbours.
    values : ndarray of float64, shape (arcs,)
        Read unless the kind is `COUNT`.
    firsts, seconds : ndarray of int64, shape (pairs,)
        The rows of each pair.
    kind : int
        `COUNT`; or `LEAST` or `PRODUCT` of the two values of each common neighbour, added up.
    sums : ndarray of float64, shape (pairs,)
        Written.
    lo, hi : int
        Range of pairs.

    Returns
    -------
    int
        Number of entries of the shorter rows.
    """
    read = 0
    for pair in range(lo, hi):
        one, end = offsets[firsts[pair]], offsets[firsts[pair] + 1]
        other, stop = offsets[seconds[pair]], offsets[seconds[pair] + 1]
        if stop - other < end - one:
            one, other = other, one
            end, stop = stop, end
        read += end - one
        gallop = (end - one) * MUCH_LONGER < stop - other
        if kind == COUNT and not gallop:
            sums[pair] = count_merged(indices, one, end, other, stop)
            continue
        total = 0.0
        while one < end and other < stop:
            wanted = indices[one]
            if gallop:
                other = leap(indices, other, stop, wanted)
            else:
                while other < stop and indices[other] < wanted:
                    other += 1
            if other < stop and indices[other] == wanted:
                if kind == COUNT:
                    total += 1.0
                elif kind == LEAST:
                    total += min(values[one], values[other])
                else:
                    total += values[one] * values[other]
            one += 1
        sums[pair] = total
    return read
