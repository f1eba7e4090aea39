"""Folds over rows of neighbours on the GPU; see `cugraph_ws.algorithms.neighbourhood`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.folds`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.runtime.device import device

__all__ = ["nearest", "sums", "tight", "words"]

Array = Any  # CuPy's

BLOCK = 512  # as many as MOST in kernels/cuda/folds.py
WARP = 32
LONG = 1024  # arcs of a row above which a block reads it, not a warp


def sums(
    rows: Any, which: Array, values: Array, weights: Array | None, marks: Array | None = None
) -> Array:
    """Add up neighbours' values; those of vertices without a mark are 0, and not read."""
    xp, columns = device().xp, 1 if values.ndim == 1 else values.shape[1]
    found = xp.empty((len(which), *values.shape[1:]), np.float64)
    flat, into = values.reshape(-1), found.reshape(-1)
    if columns > 1:
        if weights is None:
            given = xp.zeros(1, np.uint8) if marks is None else marks
            marked = int(marks is not None)
            _launch("sum_columns", rows, which, flat, columns, given, marked, LONG, into)
        else:
            _launch("sum_weighted_columns", rows, which, flat, columns, weights, into)
    else:
        factors = flat if weights is None else weights
        _launch("sum_rows", rows, which, flat, factors, int(weights is not None), LONG, into)
    return found


def words(rows: Any, which: Array, values: Array, operation: int, identity: int) -> Array:
    """Combine neighbours' words."""
    found = device().xp.empty(len(which), np.int64)
    _launch("fold_words", rows, which, values, operation, identity, LONG, found)
    return found


def nearest(rows: Any, which: Array, distances: Array, weights: Array) -> Array:
    """Find the least distance through a neighbour."""
    columns = distances.shape[1]
    found = device().xp.empty((len(which), columns), np.float64)
    flat, into = distances.reshape(-1), found.reshape(-1)
    _launch("nearest_columns", rows, which, flat, columns, weights, into)
    return found


def tight(
    rows: Any, which: Array, values: Array, distances: Array, weights: Array, forward: bool
) -> Array:
    """Add up values of neighbours along shortest paths."""
    columns = values.shape[1]
    found = device().xp.empty((len(which), columns), np.float64)
    flat = values.reshape(-1), distances.reshape(-1)
    _launch("tight_columns", rows, which, *flat, columns, weights, int(forward), found.reshape(-1))
    return found


def _launch(name: str, rows: Any, which: Array, *arguments: Any) -> None:
    """Launch a kernel with a warp for each row."""
    here = device()
    if len(which):
        here.module("folds").launch(
            name, here.blocks_for(len(which) * WARP, BLOCK), BLOCK,
            rows.offsets, rows.indices, which, len(which), *arguments,
        )  # fmt: skip
