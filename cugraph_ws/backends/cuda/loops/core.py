"""Peeling on the GPU; see `cugraph_ws.algorithms.core`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.core`, but on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.rows import Rows
from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["Peeler", "count_degrees"]

Array = Any  # CuPy's

BLOCK = 256
WORK_A_STEP = 1 << 26  # vertices sifted and rows peeled
LEAST, CONTROL = 11, 14  # an index of the control block, and its length; as in kernels/cuda/core.py
COUNTS = slice(3, 5)  # vertices peeled, arcs read
NOTHING = np.iinfo(np.int64).max


def count_degrees(part: Part, dtype: Any, *, incoming: bool, outgoing: bool) -> Array:
    """Count the arcs into and out of owned vertices, without self-loops; collective."""
    degrees = -(incoming + outgoing) * part.laid.count_self_loops()
    if outgoing:
        degrees += part.laid.out_degrees
        part.halo.reduce(degrees)  # each rank has some of the arcs out of a vertex
    if incoming:
        degrees += part.laid.in_degrees
    return degrees.astype(dtype)


class Peeler:
    """Removes vertices, and lowers the degrees of their neighbours.

    Parameters
    ----------
    part : Part
    rows : list of Rows
        One or two: the neighbours in whose degree each vertex counts.
    """

    def __init__(self, part: Part, rows: list[Rows]) -> None:
        xp, arcs = part.xp, part.laid.arcs
        pieces = part.size + arcs * len(rows) // PIECE
        self._adjacency, self._parts = (*rows[0], *rows[-1]), len(rows)
        self._items = arcs // 32
        self._queue = xp.empty(pieces, part.index), xp.empty(pieces, np.int32)
        self._spare = xp.empty(part.size, part.index)
        self._losses: Array = None  # by position, counted down from the greatest number

    def peel_levels(
        self, core: Array, alive: Array, level: int, waiting: Array
    ) -> tuple[Array, int, Array, int, int]:
        """Peel levels in one launch; return remaining vertices, level, vertices and arcs peeled.

        A launch ends after a level, so no vertices wait, and `waiting` is returned as it is: empty.
        """
        alive = alive.astype(self._spare.dtype, copy=False)
        control = self._launch(core, alive, level, WORK_A_STEP)
        done = device().to_host(control)[: COUNTS.stop].tolist()
        count, level, swapped, peeled, read = done
        if swapped:
            alive, self._spare = self._spare, alive
        return alive[:count], level, waiting, peeled, read

    def peel(self, core: Array, listed: Array, level: int) -> Array:
        """Peel vertices that have fallen to a level, or fall to it; count vertices and arcs."""
        if len(listed) == 0:
            return device().xp.zeros(2, np.int64)
        # No other list is left, so the launch ends after this level.
        listed = listed.astype(self._spare.dtype, copy=False)
        return self._launch(core, listed, level - 1, 1)[COUNTS]

    def take_out(
        self,
        core: Array,
        alive: Array,
        peeled_ghosts: Array,
        reports: Sequence[tuple[Array, Array]],
        level: int,
    ) -> tuple[Array, int]:
        """Lower degrees by the neighbours that other ranks have peeled; peel no vertex.

        Losses are summed in a separate array, so that no vertex reaches a level meanwhile.
        """
        xp, top, read = device().xp, np.iinfo(core.dtype).max, 0
        if self._losses is None:
            self._losses = xp.full(len(core), top, core.dtype)
        left_of = self._losses
        if len(peeled_ghosts):
            left_of[peeled_ghosts] = 0
            counts = self.peel(left_of, peeled_ghosts, 0)
            left_of[peeled_ghosts] = top
            read = int(device().to_host(counts)[1])
        for places, losses in reports:
            left_of[places] -= losses
        degrees, lost = core[alive], top - left_of[alive]
        left_of[alive] = top
        open_ = degrees > level  # the others keep their core numbers
        now = xp.where(open_, xp.maximum(degrees - lost, level), degrees)
        core[alive] = now
        return alive[open_ & (now == level)], read

    def _launch(self, core: Array, alive: Array, level: int, budget: int) -> Array:
        """Launch the kernel; return its control block."""
        first = np.zeros(CONTROL, np.int64)
        first[LEAST] = NOTHING
        gpu = device()
        control = gpu.xp.asarray(first)
        arguments = (
            self._adjacency, self._parts, core, alive, self._spare, self._queue, control, len(alive),
            level, budget,
        )  # fmt: skip
        items = max(len(alive), self._items)
        gpu.module("core").prepare_together("peel", items, BLOCK, *arguments)()
        return control
