"""Searches for strong components on a single GPU; see `cugraph_ws.algorithms.strong_components`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["Searches"]

Array = Any  # CuPy's

BLOCK = 256
MARK, LOWER, TRIM = 0, 1, 2  # as in kernels/cuda/strong_components.py
NONE = -1
DENSE = 8  # arcs per vertex from which rounds are assumed to be large


class Searches:
    """Searches, colourings and trims; each is one launch.

    Parameters
    ----------
    part : Part
        Of a whole graph.
    """

    def __init__(self, part: Part) -> None:
        gpu = device()
        self._size, self._numbers = part.size, part.numbers.astype(np.int64)
        self._ins = part.csc.offsets, part.csc.indices
        self._outs = part.csr.offsets, part.csr.indices
        xp = gpu.xp
        arcs = len(part.csc.indices)
        self._room = 2 * (part.size + arcs // PIECE + 1)  # a trimmed vertex is queued both ways
        # Barriers of few blocks are quick, and rounds of sparse graphs small.
        blocks = gpu.multiprocessors * (1 if arcs < DENSE * part.size else 4)
        self._threads = BLOCK * blocks
        self._queue = xp.empty(2 * self._room, np.int64), xp.empty(2 * self._room, np.int32)
        loops = xp.zeros(part.size, np.int32)
        gpu.module("strong_components").launch(
            "own_loops", gpu.blocks_for(part.size, BLOCK), BLOCK, *self._ins, part.size, loops
        )
        # An arc that is followed forwards ends at one of its target's in-arcs.
        self._degrees = xp.empty(2 * part.size, np.int32)
        for place, rows in enumerate((self._ins, self._outs)):
            self._degrees[place::2] = xp.diff(rows[0][: part.size + 1]) - loops
        self._gone = xp.zeros(part.size, np.bool_)

    def trim(self, root: Array) -> None:
        """Repeat until none is left: settle vertices without an arc from, or to, unsettled ones."""
        xp = device().xp
        bare = (self._degrees[::2] <= 0) | (self._degrees[1::2] <= 0)
        loose = xp.flatnonzero(bare & (root == NONE))
        root[loose] = self._numbers[loose]
        listed = xp.flatnonzero((root != NONE) & ~self._gone)
        self._follow(TRIM, listed, 2, self._numbers, root, self._degrees)
        self._gone = root != NONE

    def reach(self, root: Array, start: Array) -> tuple[Array, Array]:
        """Return which unsettled vertices are reached from a vertex, and which ones reach it."""
        xp = device().xp
        marks = xp.zeros(2 * self._size, np.int32)
        marks[2 * start] = marks[2 * start + 1] = 1
        self._follow(MARK, start, 2, root, root, marks)
        return marks[::2] == 1, marks[1::2] == 1

    def lower(self, root: Array, color: Array, rows: Array) -> None:
        """Give unsettled vertices the least colour that reaches them."""
        stamps = device().xp.zeros(self._size, np.int32)
        self._follow(LOWER, rows, 1, root, color, stamps)

    def members(self, color: Array, rows: Array) -> Array:
        """Return the vertices that reach a vertex in `rows` along vertices of its colour."""
        xp = device().xp
        marks = xp.zeros(2 * self._size, np.int32)
        marks[2 * rows] = 1
        # Arcs are followed backwards, so in-arcs and out-arcs change places.
        self._follow(MARK, rows, 1, color, color, marks, backwards=True)
        return xp.flatnonzero(marks[::2])

    def _follow(
        self, mode: int, listed: Array, ways: int, keys: Array, values: Array, stamps: Array,
        *, backwards: bool = False,
    ) -> None:  # fmt: skip
        if not len(listed):
            return
        gpu = device()
        rows = (self._outs, self._ins) if backwards else (self._ins, self._outs)
        gpu.module("strong_components").prepare_together(
            "follow", self._threads, BLOCK, mode, *rows, listed, len(listed),
            ways, keys, values, stamps, self._queue, self._room, gpu.xp.zeros(3, np.int64),
        )()  # fmt: skip
