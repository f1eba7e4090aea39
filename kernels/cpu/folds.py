"""Folds over rows of neighbours: sums and minima of floats, and folds of 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = [
    "MAX",
    "MIN",
    "OR",
    "fold_words",
    "nearest_rows",
    "sum_all_rows",
    "sum_rows",
    "tight_rows",
]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

MIN, MAX, OR = 0, 1, 2


@jit
def sum_rows(
    offsets: Integers,
    indices: Array,
    which: Integers,
    values: Array,
    weights: Array | None,
    sums: Array,
    lo: int,
    hi: int,
) -> None:
    """Add up neighbours' values, for the rows from `lo` to `hi` of `which`.

    Parameters
    ----------
    offsets, indices : ndarray of int
        Rows of neighbours.
    which : ndarray of int64
        Rows.
    values : ndarray of float64, shape (vertices, columns)
    weights : ndarray of float64, shape (arcs,), or None
        Factors by arc; None for ones.
    sums : ndarray of float64, shape (len(which), columns)
        Written.
    lo, hi : int
        Range of `which`.
    """
    columns = values.shape[1]
    for place in range(lo, hi):
        row = which[place]
        for column in range(columns):
            sums[place, column] = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            neighbour = indices[arc]
            factor = 1.0 if weights is None else weights[arc]
            for column in range(columns):
                sums[place, column] += factor * values[neighbour, column]


@jit
def sum_all_rows(
    offsets: Integers,
    indices: Array,
    values: Array,
    weights: Array | None,
    sums: Array,
    lo: int,
    hi: int,
) -> None:
    """Add up neighbours' values, for the rows from `lo` to `hi`; the same sums as `sum_rows`.

    Parameters
    ----------
    offsets, indices : ndarray of int
        Rows of neighbours.
    values : ndarray of float64, shape (vertices,)
    weights : ndarray of float64, shape (arcs,), or None
        Factors by arc; None for ones.
    sums : ndarray of float64, shape (rows,)
        Written.
    lo, hi : int
        Range of rows.
    """
    for row in range(lo, hi):
        total = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            factor = 1.0 if weights is None else weights[arc]
            total += factor * values[indices[arc]]
        sums[row] = total


@jit
def fold_words(
    offsets: Integers,
    indices: Array,
    which: Integers,
    values: Integers,
    operation: int,
    identity: int,
    results: Integers,
    lo: int,
    hi: int,
) -> None:
    """Combine neighbours' words, for the rows from `lo` to `hi` of `which`.

    Parameters
    ----------
    offsets, indices : ndarray of int
        Rows of neighbours.
    which : ndarray of int64
        Rows.
    values : ndarray of int64, shape (vertices,)
    operation : int
        MIN, MAX or OR.
    identity : int
        The result of an empty row.
    results : ndarray of int64, shape (len(which),)
        Written.
    lo, hi : int
        Range of `which`.
    """
    for place in range(lo, hi):
        row = which[place]
        best = identity
        for arc in range(offsets[row], offsets[row + 1]):
            value = values[indices[arc]]
            if operation == MIN:
                best = min(best, value)
            elif operation == MAX:
                best = max(best, value)
            else:
                best |= value
        results[place] = best


@jit
def nearest_rows(
    offsets: Integers,
    indices: Array,
    which: Integers,
    distances: Array,
    weights: Array,
    results: Array,
    lo: int,
    hi: int,
) -> None:
    """Find the least distance through a neighbour, for the rows from `lo` to `hi` of `which`.

    Parameters
    ----------
    offsets, indices : ndarray of int
        Rows of neighbours.
    which : ndarray of int64
        Rows.
    distances : ndarray of float64, shape (vertices, columns)
    weights : ndarray of float64, shape (arcs,)
    results : ndarray of float64, shape (len(which), columns)
        Written; infinite without neighbours.
    lo, hi : int
        Range of `which`.
    """
    columns = distances.shape[1]
    for place in range(lo, hi):
        row = which[place]
        for column in range(columns):
            results[place, column] = np.inf
        for arc in range(offsets[row], offsets[row + 1]):
            neighbour, weight = indices[arc], weights[arc]
            for column in range(columns):
                results[place, column] = min(
                    results[place, column], distances[neighbour, column] + weight
                )


@jit
def tight_rows(
    offsets: Integers,
    indices: Array,
    which: Integers,
    values: Array,
    distances: Array,
    weights: Array,
    forward: bool,
    sums: Array,
    lo: int,
    hi: int,
) -> None:
    """Add up neighbours' values along tight arcs, for the rows from `lo` to `hi` of `which`.

    Parameters
    ----------
    offsets, indices : ndarray of int
        Rows of neighbours.
    which : ndarray of int64
        Rows.
    values, distances : ndarray of float64, shape (vertices, columns)
    weights : ndarray of float64, shape (arcs,)
        Lengths.  An arc is tight if its length is the difference of the distances of its ends.
    forward : bool
        Whether paths lead from the row to the neighbour, instead of from the neighbour to the row.
    sums : ndarray of float64, shape (len(which), columns)
        Written.
    lo, hi : int
        Range of `which`.
    """
    columns = values.shape[1]
    for place in range(lo, hi):
        row = which[place]
        for column in range(columns):
            sums[place, column] = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            neighbour, weight = indices[arc], weights[arc]
            for column in range(columns):
                near, far = distances[neighbour, column], distances[row, column]
                if forward:
                    near, far = far, near
                if near + weight == far and far < np.inf:
                    sums[place, column] += values[neighbour, column]
