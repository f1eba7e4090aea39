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
def count_merged(indices: Array, first: int, end: int, second: int, stop: int) -> int:
    """Count the equal entries of two rows of similar length; no branch depends on the entries."""
    common = 0
    while first < end and second < stop:
        low_index, right = indices[first], indices[second]
        common += 1 if low_index == right else 0
        first += 1 if low_index <= right else 0
        second += 1 if right <= low_index else 0
    return common


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
        first, end = offsets[firsts[pair]], offsets[firsts[pair] + 1]
        second, stop = offsets[seconds[pair]], offsets[seconds[pair] + 1]
        if stop - second < end - first:
            first, second = second, first
            end, stop = stop, end
        read += end - first
        gallop = (end - first) * MUCH_LONGER < stop - second
        if kind == COUNT and not gallop:
            sums[pair] = count_merged(indices, first, end, second, stop)
            continue
        total = 0.0
        while first < end and second < stop:
            wanted = indices[first]
            if gallop:
                second = leap(indices, second, stop, wanted)
            else:
                while second < stop and indices[second] < wanted:
                    second += 1
            if second < stop and indices[second] == wanted:
                if kind == COUNT:
                    total += 1.0
                elif kind == LEAST:
                    total += min(values[first], values[second])
                else:
                    total += values[first] * values[second]
            first += 1
        sums[pair] = total
    return read
