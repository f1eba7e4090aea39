"""Folds over rows of neighbours on the CPU; see `cugraph_ws.algorithms.neighbourhood`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import HostSums
from cugraph_ws.kernels.cpu.folds import (
    fold_words,
    nearest_rows,
    sum_all_rows,
    sum_rows,
    tight_rows,
)
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.threads import cut_offsets, number_of_tasks, parallel

__all__ = ["AllRows", "classes_of", "nearest", "sums", "sums_of_all", "tight", "words"]

Array = npt.NDArray[Any]

WORK_A_TASK = 1 << 14  # rows and arcs, at least
MOST_A_TASK = 1 << 23  # rows and arcs, times columns


class AllRows(NamedTuple):
    """How `sums_of_all` reads the rows.

    Attributes
    ----------
    total : int
        Number of rows.
    ranges : list of (int, int)
        Rows of each task.
    otherwise : HostSums or None
        What the next sums may go over; None if all are over rows.
    """

    total: int
    ranges: list[tuple[int, int]]
    otherwise: HostSums | None


def sums(
    rows: Any, which: Array, values: Array, weights: Array | None, marks: Array | None = None
) -> Array:
    """Add up neighbours' values.

    Parameters
    ----------
    rows : Adjacency
    which : ndarray of int64
        Rows to read.
    values : ndarray of float64, shape (size, columns)
    weights : ndarray of float64, shape (arcs,), or None
        Factors by arc; None for ones.
    marks : ndarray of uint8, shape (size,), optional
        Which vertices have values other than 0; a GPU reads no others.

    Returns
    -------
    ndarray of float64, shape (len(which), columns)
    """
    cuts = _cuts(rows, which, values.shape[1])
    totals = np.empty((len(which), values.shape[1]))
    arguments = (rows.offsets, rows.indices, which, values, weights, totals)
    parallel(sum_rows, [(*arguments, *cut) for cut in cuts])
    return totals


def classes_of(rows: Any, count: int, *, whole: bool = False) -> AllRows:
    """Return the `classes` argument of `sums_of_all` for the first `count` rows.

    Parameters
    ----------
    rows : Adjacency
    count : int
    whole : bool
        Whether they are a whole graph's rows of in-neighbours, of which accelerators may keep another
        layout.
    """
    host_gathers = provider("accelerators").host_gathers() if whole else None
    otherwise = None if host_gathers is None else host_gathers.of_sums(rows, count)
    return AllRows(count, _cuts(rows, np.arange(count)), otherwise)


def sums_of_all(
    rows: Any, classes: AllRows, values: Array, weights: Array | None, column: str = ""
) -> Array:
    """Add up neighbours' values for all rows; the same bits over any layout.

    Parameters
    ----------
    rows : Adjacency
    classes : AllRows
        As `classes_of` returns.
    values : ndarray of float64, shape (size,)
    weights : ndarray of float64, shape (arcs,), or None
        Factors by arc; None for ones.
    column : str
        The edge column of the weights.

    Returns
    -------
    ndarray of float64, shape (rows,)
    """
    totals = np.empty(classes.total)
    if classes.otherwise is not None and classes.otherwise.due():
        classes.otherwise.sums(values, weights, column, totals)
        return totals
    arguments = (rows.offsets, rows.indices, values, weights, totals)
    parallel(sum_all_rows, [(*arguments, *cut) for cut in classes.ranges])
    return totals


def words(rows: Any, which: Array, values: Array, operation: int, identity: int) -> Array:
    """Combine neighbours' words.

    Parameters
    ----------
    rows : Adjacency
    which : ndarray of int64
        Rows to read.
    values : ndarray of int64, shape (size,)
    operation : int
        See `kernels/cpu/folds.py`.
    identity : int
        The result of an empty row.

    Returns
    -------
    ndarray of int64, shape (len(which),)
    """
    cuts = _cuts(rows, which)
    results = np.empty(len(which), np.int64)
    arguments = (rows.offsets, rows.indices, which, values, operation, identity, results)
    parallel(fold_words, [(*arguments, *cut) for cut in cuts])
    return results


def nearest(rows: Any, which: Array, distances: Array, weights: Array) -> Array:
    """Find the least distance through a neighbour.

    Parameters
    ----------
    rows : Adjacency
    which : ndarray of int64
        Rows to read.
    distances : ndarray of float64, shape (size, columns)
    weights : ndarray of float64, shape (arcs,)

    Returns
    -------
    ndarray of float64, shape (len(which), columns)
        Infinite without neighbours.
    """
    cuts = _cuts(rows, which, distances.shape[1])
    results = np.empty((len(which), distances.shape[1]))
    arguments = (rows.offsets, rows.indices, which, distances, weights, results)
    parallel(nearest_rows, [(*arguments, *cut) for cut in cuts])
    return results


def tight(
    rows: Any, which: Array, values: Array, distances: Array, weights: Array, forward: bool
) -> Array:
    """Add up values of neighbours along shortest paths.

    Parameters
    ----------
    rows : Adjacency
    which : ndarray of int64
        Rows to read.
    values, distances : ndarray of float64, shape (size, columns)
    weights : ndarray of float64, shape (arcs,)
    forward : bool
        Whether paths lead from the row to the neighbour.

    Returns
    -------
    ndarray of float64, shape (len(which), columns)
    """
    cuts = _cuts(rows, which, values.shape[1])
    results = np.empty((len(which), values.shape[1]))
    arguments = (rows.offsets, rows.indices, which, values, distances, weights, forward, results)
    parallel(tight_rows, [(*arguments, *cut) for cut in cuts])
    return results


def _cuts(rows: Any, which: Array, columns: int = 1) -> list[tuple[int, int]]:
    """Split rows of some columns into ranges of about equal work, one for each task."""
    ends = np.zeros(len(which) + 1, np.int64)
    ends[1:] = rows.offsets[1:][which]
    ends[1:] -= rows.offsets[which]
    np.cumsum(ends, out=ends)
    work = int(ends[-1]) + len(which)
    return cut_offsets(ends, number_of_tasks(work, WORK_A_TASK, MOST_A_TASK // max(1, columns)))
