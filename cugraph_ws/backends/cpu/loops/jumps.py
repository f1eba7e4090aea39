"""Folds of values by the vertices that they are sent to, on the CPU; see `cugraph_ws.execution.jumps`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.program.jumps import nothing_of
from cugraph_ws.runtime.looks import look

__all__ = ["fold", "lower"]

Array = npt.NDArray[Any]

WORDS_AT_ONCE = 1 << 21  # some hundredths of a second; a run may end between two pieces


def fold(kind: str, values: Array, places: Array, size: int) -> Array:
    """Fold values by place.

    Parameters
    ----------
    kind : {"least", "greatest", "sum"}
    values : ndarray of bool, int64, float32 or float64
        Sums are added in this order.
    places : ndarray of int64, shape (len(values),)
        Below `size`.
    size : int

    Returns
    -------
    ndarray, shape (size,), of the dtype of `values`
        A place without a value gets the identity of the fold.  NaN is neither least nor greatest.
    """
    nothing = nothing_of(kind, values.dtype)
    results = np.full(size, nothing, values.dtype)
    if kind == "sum":
        with np.errstate(all="ignore"):
            np.add.at(results, places, values)
        return results
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), nothing, values + values.dtype.type(0))  # no -0.0
    if values.dtype.kind == "b":
        (np.logical_and if kind == "least" else np.logical_or).at(results, places, values)
    else:
        (np.minimum if kind == "least" else np.maximum).at(results, places, values)
    return results


def lower(least: Array, places: Array, words: Array) -> None:
    """Lower each entry to the least of the words for its place.

    Parameters
    ----------
    least : ndarray of int64
        Modified in place.
    places : ndarray of int64, shape (len(words),)
        Indices of `least`.
    words : ndarray of int64
    """
    for first in range(0, len(words), WORDS_AT_ONCE):
        some = slice(first, first + WORDS_AT_ONCE)
        np.minimum.at(least, places[some], words[some])
        look()
