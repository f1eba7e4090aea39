"""Rows by the kind of table that adds up their labels' weights; see `kernels/cuda/communities.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.device import device

__all__ = [
    "BLOCK",
    "FAR",
    "KINDS",
    "FarTables",
    "class_tables",
    "far_tables",
    "kinds_of",
    "row_order",
]

Array = Any  # CuPy's

BLOCK = 256  # threads
BY_THREAD = 8  # arcs of a row at most; the others are half of `SHARE` and `TABLE` in the kernels
BY_WARP = 128
BY_BLOCK = 1024
KINDS = 4
FAR = KINDS - 1  # the last of them
FAR_BYTES = 1 << 28  # of all tables in global memory, but one at least
MOST_FAR = 512  # tables
SHARE_OF_FREE = 4  # they take at most this part of the free memory
SLOT = 16  # bytes
LEAST_SLOTS = 32  # of a table
CHUNK = 256  # slots of a long row's table that a warp scans


class FarTables(NamedTuple):
    """Tables in global memory for rows that are too long for shared memory.

    Attributes
    ----------
    arrays : tuple of (array of int64, array of int64)
        Labels and sums of all tables.
    room : int
        Slots of a table.
    tables : int
    """

    arrays: tuple[Array, Array]
    room: int
    tables: int


def kinds_of(lengths: Array) -> Array:
    """Return the kind of each row by its number of arcs, int64."""
    long = (lengths > BY_THREAD).astype(np.int64)
    return long + (lengths > BY_WARP) + (lengths > BY_BLOCK)


def far_tables(lengths: Array, longest: int, *, beside: int = 0) -> FarTables:
    """Return tables for the rows of up to `longest` arcs that do not fit shared memory, one each at most.

    Each has `beside` more slots than it is hashed to.
    """
    xp = device().xp
    if longest <= BY_BLOCK:
        return FarTables((xp.zeros(1, np.int64), xp.zeros(1, np.int64)), 1, 0)
    room = max(LEAST_SLOTS, 1 << (2 * longest - 1).bit_length()) + beside
    most = min(FAR_BYTES, device().free_memory() // SHARE_OF_FREE) // (SLOT * room)
    count = max(1, min(MOST_FAR, most, count_true(lengths > BY_BLOCK)))
    return FarTables(
        (xp.empty(room * count, np.int64), xp.empty(room * count, np.int64)), room, count
    )


def row_order(lengths: Array) -> tuple[Array, Array]:
    """Return rows by kind, and the five bounds of the kinds."""
    xp, kinds = device().xp, kinds_of(lengths)
    bounds = xp.zeros(KINDS + 1, np.int64)
    if len(lengths):
        bounds[1:] = xp.cumsum(bin_counts(kinds, KINDS))
    return xp.argsort(kinds.astype(np.uint16), kind="stable"), bounds  # two digits, not eight


def class_tables(
    offsets: Array, order: Array, bounds: Array, count: int, *, some: bool
) -> tuple[Any, Any, Any]:
    """Return the arguments of `move_classes` for rows that are too long for shared memory.

    Parameters
    ----------
    offsets : array of int64, shape (rows + 1,)
    order, bounds : array of int64
        Listed rows by class and kind, and the bounds of those groups.
    count : int
        Number of classes.
    some : bool
        Whether there are such rows.
    """
    gpu, room = device(), 0
    xp = gpu.xp
    places = xp.empty((2, len(order) + count if some else 1), np.int64)
    if some:
        most = xp.zeros(1, np.int64)
        gpu.module("communities").launch(
            "measure_far", count, BLOCK, offsets, order, bounds, *places, most
        )
        room = int(gpu.to_host(most)[0])
    tables = xp.empty((2, max(1, room)), np.int64)
    parts = max(1, room // CHUNK)
    chunks = xp.empty(parts, np.float64), xp.empty(parts, np.int64), CHUNK
    return tuple(places), tuple(tables), chunks
