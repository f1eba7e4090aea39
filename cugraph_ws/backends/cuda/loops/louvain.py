"""Moves of vertices between communities on the GPU; see `cugraph_ws.algorithms.louvain`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.louvain`, but on the device.  A sweep
is one cooperative launch.  Gains are computed by one operation at a time, so that none is fused with
another: they are bitwise equal to those of the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.label_tables import BLOCK, KINDS, FarRows, kinds_of
from cugraph_ws.runtime.device import device

__all__ = ["Mover", "merged", "sum_by", "sum_inside", "sum_moves", "within"]

Array = Any  # CuPy's
Rows = tuple[Array, Array, Array]

MOST_LISTING = 256  # blocks that list vertices: each adds to the size of every group


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


def sum_moves(
    rows: Rows, sources: Array, listed: Array, labels: tuple[Array, Array], stirred: Array
) -> int:
    """Return by how much moves change the sum of the weights of arcs within communities."""
    here, arcs = device(), len(sources)
    change = here.xp.zeros(1, np.int64)
    here.module("communities").launch(
        "sum_moves", here.blocks_for(arcs, BLOCK), BLOCK, rows, sources, arcs, *labels, stirred,
        change,
    )  # fmt: skip
    return int(here.to_host(change)[0])


def within(rows: Rows, sources: Array, labels: Array) -> Rows:
    """Return rows of the arcs of positive weight whose ends have the same label."""
    xp = device().xp
    kept = xp.flatnonzero((labels[sources] == labels[rows[1]]) & (rows[2] > 0))
    offsets = xp.searchsorted(sources[kept], xp.arange(len(labels) + 1)).astype(np.int64)
    return offsets, rows[1][kept], rows[2][kept]


def merged(rows: Rows, sources: Array, labels: Array, count: int) -> Rows:
    """Add up the weights of arcs between communities, by sorting."""
    xp = device().xp
    one, other = labels[sources], labels[rows[1]]
    up = xp.flatnonzero(one < other)  # the other half are the reversed arcs
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
        listed: Array,
        classes: Array,
        count: int,
        *,
        may: Array | None = None,
    ) -> int:
        """Let classes of vertices move, and return how many did."""
        if not len(listed):
            return 0
        here, (_, _, sizes), strict = device(), communities, may is not None
        xp, vertices = here.xp, len(self._degrees)
        order, bounds = self._grouped(listed, classes, count)
        class_of = self._far.rows
        if len(class_of):
            by_vertex = xp.full(vertices, count)  # `count` is the class of unlisted vertices
            by_vertex[listed] = classes
            class_of = by_vertex[class_of]
        far = self._far.by_class(class_of, count)
        marks = xp.zeros(len(sizes), np.int64) if strict else sizes
        moved = xp.zeros(1, np.int64)
        # A few listed rows may have all arcs.  Otherwise a block for each row is enough, and barriers
        # of fewer blocks take less time.
        items = BLOCK * (vertices if len(self._far.rows) else len(listed))
        here.module("communities").prepare_together(
            "move_classes", items, BLOCK, self._rows, self._degrees, communities,
            (marks, marks if may is None else may), factor, strict, count, order, bounds,
            xp.empty(len(order), np.int64), *far, moved,
        )()  # fmt: skip
        return int(here.to_host(moved)[0])

    def _grouped(self, listed: Array, classes: Array, count: int) -> tuple[Array, Array]:
        """Return listed vertices by class and kind, and the bounds of those groups."""
        here, length, groups = device(), len(listed), KINDS * count
        xp, module = here.xp, here.module("communities")
        shape = min(MOST_LISTING, here.blocks_for(length, BLOCK)), BLOCK
        group_of = listed, length, classes, self._kinds, groups
        bounds, order = xp.zeros(groups + 1, np.int64), xp.empty(length, np.int64)
        module.launch("count_groups", *shape, *group_of, bounds[1:])
        xp.cumsum(bounds, out=bounds)
        module.launch("list_groups", *shape, *group_of, bounds[:-1].copy(), order)
        return order, bounds
