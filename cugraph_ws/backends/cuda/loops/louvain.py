"""Moves of vertices between communities on the GPU; see `cugraph_ws.algorithms.louvain`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.louvain`, but on the device.  A sweep
is one cooperative launch.  Gains are computed by one operation at a time, so that none is fused with
another: they are bitwise equal to those of the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.label_tables import BLOCK, FAR, KINDS, FarRows, by_kind, kinds_of
from cugraph_ws.runtime.device import device

__all__ = ["Mover", "merged", "near_moved", "sum_by", "sum_inside"]

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


def near_moved(rows: Rows, sources: Array, before: Array, labels: Array) -> Array:
    """Mark the neighbours, in other communities, of vertices that have moved."""
    xp = device().xp
    called = xp.zeros(len(labels), np.bool_)
    arcs = xp.flatnonzero((labels != before)[sources])
    heads = rows[1][arcs]
    called[heads[labels[sources[arcs]] != labels[heads]]] = True
    return called


def merged(rows: Rows, sources: Array, labels: Array, count: int) -> Rows:
    """Add up the weights of arcs between communities, by sorting."""
    xp = device().xp
    one, other = labels[sources], labels[rows[1]]
    up = xp.flatnonzero(one < other)  # the other half is the same, turned around
    keys, weights = one[up] * count + other[up], rows[2][up]
    order = xp.argsort(keys)  # weights are integers: their order does not matter
    keys, weights = keys[order], weights[order]
    first = xp.flatnonzero(
        xp.concatenate([xp.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]])
    )
    before = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(weights)])
    ends = xp.concatenate([first, xp.full(1, len(keys), first.dtype)])
    keys, weights = keys[first], before[ends[1:]] - before[ends[:-1]]
    low = keys // max(1, count)
    high = keys - low * count
    one, other = xp.concatenate([low, high]), xp.concatenate([high, low])
    order = xp.argsort(one * count + other)
    offsets = xp.searchsorted(one[order], xp.arange(count + 1)).astype(np.int64)
    return offsets, other[order], xp.concatenate([weights, weights])[order]


class Mover:
    """Moves the vertices of a level, class after class."""

    def __init__(self, rows: Rows, degrees: Array) -> None:
        self._rows, self._degrees = rows, degrees
        lengths = device().xp.diff(rows[0])
        self._kinds = kinds_of(lengths)
        self._far = FarRows(lengths, self._kinds)

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
        xp, count = here.xp, len(order)
        classes = xp.full(len(self._degrees), len(ends))  # not listed
        classes[order] = xp.searchsorted(xp.array(ends), xp.arange(count), side="right")
        far = self._far.by_class(classes[self._far.rows], len(ends))
        if len(self._far.rows):
            order = order[self._kinds[order] < FAR]
        order, bounds = by_kind(order, KINDS * classes[order] + self._kinds[order], len(ends))
        marks = xp.zeros(len(sizes), np.int64) if strict else sizes
        moved = xp.zeros(1, np.int64)
        here.module("communities").prepare_together(
            "move_classes", 32 * len(self._degrees), BLOCK, self._rows, self._degrees, communities,
            (marks, marks if may is None else may), factor, strict, len(ends), order, bounds,
            xp.empty(len(order), np.int64), *far, moved,
        )()  # fmt: skip
        return int(here.to_host(moved)[0])
