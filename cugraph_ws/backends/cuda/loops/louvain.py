"""Moves of vertices between communities on the GPU; see `cugraph_ws.algorithms.louvain`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.louvain`, but on the device.  A sweep
is one cooperative launch.  Gains are computed by one operation at a time, so that none is fused with
another: they are bitwise equal to those of the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.label_tables import BLOCK, by_kind, far_tables, kinds_of
from cugraph_ws.runtime.device import device

__all__ = ["Mover", "sum_by", "sum_inside"]

Array = Any  # CuPy's
Rows = tuple[Array, Array, Array]


def sum_by(labels: Array, values: Array, count: int) -> Array:
    """Return the sum of the values of each label."""
    xp = device().xp
    sums = xp.zeros(count, np.int64)
    xp.add.at(sums.view(np.uint64), labels, values.view(np.uint64))
    return sums


def sum_inside(rows: Rows, sources: Array, labels: Array) -> int:
    """Return the sum of the weights of arcs whose ends have the same label."""
    here, arcs = device(), len(sources)
    sums = here.xp.zeros(1, np.int64)
    if arcs:
        here.module("communities").launch(
            "sum_inside", here.blocks_for(arcs, BLOCK), BLOCK, rows, sources, arcs, labels, sums
        )
    return int(here.to_host(sums)[0])


class Mover:
    """Moves the vertices of a level, class after class."""

    def __init__(self, rows: Rows, degrees: Array) -> None:
        here = device()
        self._rows, self._degrees = rows, degrees
        lengths = here.xp.diff(rows[0])
        self._kinds = kinds_of(lengths)
        self._tables = far_tables(int(here.to_host(lengths.max())))

    def move(
        self,
        communities: tuple[Array, Array, Array],
        factor: float,
        order: Array,
        ends: list[int],
        *,
        may: Array | None = None,
    ) -> int:
        """Let classes of vertices move, and return how many did."""
        here, (_, _, sizes), strict = device(), communities, may is not None
        xp = here.xp
        which = xp.searchsorted(xp.array(ends), xp.arange(len(order)), side="right")
        order, bounds = by_kind(order, 4 * which + self._kinds[order], len(ends))
        marks = xp.zeros(len(sizes), np.int64) if strict else sizes
        arrays, room, count = self._tables
        moved = xp.zeros(1, np.int64)
        here.module("communities").prepare_together(
            "move_classes", 32 * len(order), BLOCK, self._rows, self._degrees, communities,
            (marks, marks if may is None else may), factor, strict, len(ends), order, bounds,
            xp.empty(len(order), np.int64), arrays, room, count, moved,
        )()  # fmt: skip
        return int(here.to_host(moved)[0])
