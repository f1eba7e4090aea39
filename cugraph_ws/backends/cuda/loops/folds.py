"""Folds over rows of neighbours on the GPU; see `cugraph_ws.algorithms.neighbourhood`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.folds`, but on the device.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.runtime.device import Prepared, device

__all__ = [
    "RowClasses", "classes_of", "nearest", "prepare_sums", "sums", "sums_of_all", "tight",
    "words",
]  # fmt: skip

Array = Any  # CuPy's

BLOCK = 512  # threads, as MOST in kernels/cuda/folds.py
WARP = 32
LONG = 1024  # arcs of a row above which a block reads it, not a warp
# For the sums of all rows:
THREADS = 256
SHORT = 128  # arcs of a row that shares a warp with its neighbours
PIECE = 4096  # arcs of a longer row that a block reads


class RowClasses(NamedTuple):
    """Which rows are long, for `sums_of_all`.

    Attributes
    ----------
    total : int
        Number of rows.
    long : array of int64
        Rows of more than SHORT arcs and at most PIECE.
    cut : array of int64
        Rows of more than PIECE arcs.
    firsts : array of int64, shape (len(cut) + 1,)
        Where the pieces of each row of `cut` begin.
    rows, places : array of int64, shape (pieces,)
        The row of each piece, and its index among the row's pieces.
    """

    total: int
    long: Array
    cut: Array
    firsts: Array
    rows: Array
    places: Array

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(array.nbytes) for array in self[1:])


def classes_of(rows: Any, count: int, *, whole: bool = False) -> RowClasses:
    """Find the long ones among the first `count` rows; `whole` is for CPUs."""
    xp = device().xp
    lengths = xp.diff(rows.offsets[: count + 1])
    cut = xp.flatnonzero(lengths > PIECE)
    pieces = -(-lengths[cut] // PIECE)
    firsts = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(pieces)])
    all_pieces = xp.arange(int(firsts[-1]))
    which = xp.searchsorted(firsts[1:], all_pieces, side="right")
    long = xp.flatnonzero((lengths > SHORT) & (lengths <= PIECE))
    return RowClasses(count, long, cut, firsts, cut[which], all_pieces - firsts[which])


def sums_of_all(
    rows: Any, classes: RowClasses, values: Array, weights: Array | None, column: str = ""
) -> Array:
    """Add up neighbours' values for all rows of `classes`."""
    xp = device().xp
    totals = xp.empty(classes.total, np.float64)
    for launch in prepare_sums(rows, classes, weights, values, totals, xp.zeros(1)):
        launch()
    return totals


def prepare_sums(
    rows: Any, classes: RowClasses, weights: Array | None, values: Array, totals: Array, over: Array
) -> list[Prepared]:
    """Prepare the launches that add up neighbours' values for all rows of `classes`.

    Parameters
    ----------
    rows, classes, weights, values
        As for `sums_of_all`.
    totals : array of float64, shape (rows,)
        Written by the launches.
    over : array of float64, shape (1,)
        If it is not 0, the launches do nothing.

    Returns
    -------
    list of Prepared
    """
    gpu = device()
    parts = gpu.xp.empty(len(classes.rows), np.float64)
    head = (
        over, rows.offsets, rows.indices, values, values if weights is None else weights,
        int(weights is not None),
    )  # fmt: skip
    prepare = gpu.module("row_sums").prepare
    launches = []
    if len(classes.rows):
        launches.append(prepare(
            "sum_pieces", gpu.blocks_for(len(classes.rows) * THREADS, THREADS), THREADS, *head,
            classes.rows, classes.places, len(classes.rows), PIECE, parts,
        ))  # fmt: skip
    warps = len(classes.cut) + len(classes.long) + -(-classes.total // WARP)
    if classes.total:
        launches.append(prepare(
            "sum_all_rows", gpu.blocks_for(warps * WARP, THREADS), THREADS, *head, classes.total,
            SHORT, classes.cut, len(classes.cut), classes.firsts, parts, classes.long,
            len(classes.long), totals,
        ))  # fmt: skip
    return launches


def sums(
    rows: Any, which: Array, values: Array, weights: Array | None, marks: Array | None = None
) -> Array:
    """Add up neighbours' values; those of vertices without a mark are 0, and not read."""
    xp, columns = device().xp, values.shape[1]
    totals = xp.empty((len(which), columns), np.float64)
    flat, into = values.reshape(-1), totals.reshape(-1)
    if weights is None:
        mask = xp.zeros(1, np.uint8) if marks is None else marks
        marked = int(marks is not None)
        _launch("sum_columns", rows, which, flat, columns, mask, marked, LONG, into)
    else:
        _launch("sum_weighted_columns", rows, which, flat, columns, weights, into)
    return totals


def words(rows: Any, which: Array, values: Array, operation: int, identity: int) -> Array:
    """Combine neighbours' words."""
    folded = device().xp.empty(len(which), np.int64)
    _launch("fold_words", rows, which, values, operation, identity, LONG, folded)
    return folded


def nearest(rows: Any, which: Array, distances: Array, weights: Array) -> Array:
    """Find the least distance through a neighbour."""
    columns = distances.shape[1]
    least = device().xp.empty((len(which), columns), np.float64)
    flat, into = distances.reshape(-1), least.reshape(-1)
    _launch("nearest_columns", rows, which, flat, columns, weights, into)
    return least


def tight(
    rows: Any, which: Array, values: Array, distances: Array, weights: Array, forward: bool
) -> Array:
    """Add up values of neighbours along shortest paths."""
    columns = values.shape[1]
    totals = device().xp.empty((len(which), columns), np.float64)
    flat = values.reshape(-1), distances.reshape(-1)
    _launch("tight_columns", rows, which, *flat, columns, weights, int(forward), totals.reshape(-1))
    return totals


def _launch(name: str, rows: Any, which: Array, *arguments: Any) -> None:
    """Launch a kernel with a warp for each row."""
    gpu = device()
    if len(which):
        gpu.module("folds").launch(
            name, gpu.blocks_for(len(which) * WARP, BLOCK), BLOCK,
            rows.offsets, rows.indices, which, len(which), *arguments,
        )  # fmt: skip
