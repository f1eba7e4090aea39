"""Stable sorting in pieces, so that a run may end in between.

NumPy sorts an array in one call, which takes a second for ten million keys.  Here keys are split by value, at
quantiles of a sample, and the order of each range is found by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.runtime.looks import look

__all__ = ["stable_order"]

Array = Any  # NumPy's or CuPy's

PIECE = 1 << 20  # keys that are sorted at once, if few are equal: a tenth of a second
SAMPLED = 64  # keys of the sample for each piece


def stable_order(xp: Any, keys: Array) -> Array:
    """Return `argsort(keys, kind="stable")`; on the CPU with looks in between.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    keys : array of int, shape (count,)

    Returns
    -------
    array of int64, shape (count,)
    """
    count = len(keys)
    if xp is not np or count <= PIECE:
        return xp.argsort(keys, kind="stable")
    if (keys[1:] >= keys[:-1]).all():
        return np.arange(count)
    pieces = -(-count // PIECE)
    sample = np.sort(keys[:: max(1, count // (pieces * SAMPLED))])
    bounds = np.unique(sample[:: -(-len(sample) // pieces)])[1:]
    order = np.empty(count, np.int64)
    end = 0
    for low, high in zip([None, *bounds], [*bounds, None], strict=True):
        look()
        inside = np.ones(count, np.bool_) if low is None else keys >= low
        if high is not None:
            inside &= keys < high
        places = np.flatnonzero(inside)
        look()
        begin, end = end, end + len(places)
        order[begin:end] = places[np.argsort(keys[places], kind="stable")]
    return order
