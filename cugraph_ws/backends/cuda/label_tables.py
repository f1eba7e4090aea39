"""Rows by the kind of table that adds up their labels' weights; see `kernels/cuda/communities.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.device import device

__all__ = [
    "BLOCK",
    "FAR",
    "KINDS",
    "FarRows",
    "FarTables",
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
SLOT = 16  # bytes
LEAST_SLOTS = 32  # of a table
CHUNK = 1024  # slots of a long row's table that a warp scans


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


def far_tables(longest: int, *, beside: int = 0) -> FarTables:
    """Return tables for rows of up to `longest` arcs; none if they fit shared memory.

    Each has `beside` more slots than it is hashed to.
    """
    xp = device().xp
    if longest <= BY_BLOCK:
        return FarTables((xp.zeros(1, np.int64), xp.zeros(1, np.int64)), 1, 0)
    room = max(LEAST_SLOTS, 1 << (2 * longest - 1).bit_length()) + beside
    count = max(1, min(MOST_FAR, FAR_BYTES // (SLOT * room)))
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


class FarRows:
    """The rows that are too long for shared memory, with tables that the whole grid fills.

    Parameters
    ----------
    lengths, kinds : array of int64, shape (rows,)
        Arcs of each row, and its kind.
    """

    def __init__(self, lengths: Array, kinds: Array) -> None:
        xp = device().xp
        self.rows = xp.flatnonzero(kinds == FAR)
        self._lengths = lengths[self.rows]
        # Powers of two, at least twice the arcs.
        doubled = xp.maximum(2 * self._lengths, LEAST_SLOTS)
        _, exponents = xp.frexp((doubled - 1).astype(np.float64))
        self._slots = xp.left_shift(xp.ones(len(self.rows), np.int64), exponents.astype(np.int64))

    def by_class(self, by_vertex: Array, count: int) -> tuple[Any, ...]:
        """Return the last arguments of `move_classes` but one, for the classes of all vertices.

        Parameters
        ----------
        by_vertex : array of uint16, shape (vertices,)
            `count` or more for those that do not move.
        count : int
            Number of classes.
        """
        here = device()
        xp, nothing = here.xp, here.xp.zeros(1, np.int64)
        if not len(self.rows):
            bounds = xp.zeros(count + 1, np.int64)
            scores = xp.zeros(1, np.float64)
            return (nothing, nothing, nothing), bounds, (nothing, nothing), (scores, nothing, CHUNK)
        classes = by_vertex[self.rows]
        order = xp.argsort(classes, kind="stable")
        bounds = xp.searchsorted(classes[order], xp.arange(count + 1))
        ends, slots = (
            xp.concatenate([nothing, xp.cumsum(one[order])]) for one in (self._lengths, self._slots)
        )
        room = int(here.to_host(xp.diff(slots[bounds]).max()))
        tables = xp.empty(room, np.int64), xp.empty(room, np.int64)
        chunks = xp.empty(room // CHUNK, np.float64), xp.empty(room // CHUNK, np.int64), CHUNK
        return (self.rows[order], ends, slots), bounds, tables, chunks
