"""Sort pairs of vertex numbers on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.device import device

__all__ = ["arc_rows", "parallel_ranks", "sort_ends"]

DeviceArray = Any
_INT64_MAX = np.iinfo(np.int64).max


def sort_ends(first: DeviceArray, second: DeviceArray, size: int) -> DeviceArray:
    """Return the order that sorts pairs of vertex numbers, stable.

    Parameters
    ----------
    first, second : device arrays of int32 or int64, shape (pairs,)
        The pairs are sorted by `first`, ties by `second`.
    size : int
        Number of vertices.

    Returns
    -------
    device array of int64, shape (pairs,)
    """
    xp = device().xp
    if size * size <= _INT64_MAX:
        keys = first.astype(np.int64) * size
        keys += second
        return xp.argsort(keys, kind="stable")
    order = xp.argsort(second, kind="stable")
    return order[xp.argsort(first[order], kind="stable")]


def arc_rows(offsets: DeviceArray, arcs: int) -> DeviceArray:
    """Return the row that each arc is in.

    Parameters
    ----------
    offsets : device array of int64, shape (rows + 1,)
    arcs : int

    Returns
    -------
    device array of int64, shape (arcs,)
    """
    xp = device().xp
    begun = bin_counts(offsets[1:-1], arcs + 1)[:arcs]  # rows that begin at each arc
    return xp.cumsum(begun)


def parallel_ranks(offsets: DeviceArray, indices: DeviceArray) -> DeviceArray:
    """Count for each arc those before it in its row that lead to the same vertex.

    Parameters
    ----------
    offsets : device array of int64, shape (rows + 1,)
    indices : device array of int, shape (arcs,)
        Equal ones are neighbours within a row.

    Returns
    -------
    device array of int64, shape (arcs,)
    """
    xp, arcs = device().xp, len(indices)
    rows = arc_rows(offsets, arcs)
    is_first = xp.ones(arcs, np.bool_)
    is_first[1:] = (indices[1:] != indices[:-1]) | (rows[1:] != rows[:-1])
    return xp.arange(arcs) - xp.flatnonzero(is_first)[xp.cumsum(is_first) - 1]
