"""PageRank of groups on the GPU, a superstep of all groups at a time; see `cugraph_ws.algorithms.pagerank_of_groups`.

The ranks of a group are added up as the values in a row of neighbours are: in an order that does not depend on the
run.  A group that has converged keeps its ranks.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.loops.folds import classes_of, sums_of_all
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import count_on_device
from cugraph_ws.runtime.device import device

__all__ = ["Ranks"]

Array = Any  # CuPy's

QUEUED = 8  # supersteps before the host looks whether all groups are done


class Ranks:
    """The ranks of the vertices of all groups, and how far each group is; see the CPU's.

    Parameters
    ----------
    part : Part
    bounds : array of int64, shape (groups + 1,)
    out_weight : array of float64, shape (vertices,)
    weight : str or None
    limits : (float, float, int)
    """

    def __init__(
        self,
        part: Part,
        bounds: Array,
        out_weight: Array,
        weight: str | None,
        limits: tuple[float, float, int],
    ) -> None:
        xp = part.xp
        alpha, self._tol, self._most = limits
        self._alpha, self._xp = alpha, xp
        offsets, sizes = xp.asarray(bounds), xp.asarray(np.diff(bounds))
        self._group = xp.searchsorted(offsets[1:], part.numbers, side="right")
        positions = part.placed(xp.arange(part.size)).astype(part.index)
        self._members = SimpleNamespace(offsets=offsets, indices=positions)
        self._classes = classes_of(self._members, len(sizes))
        self._rows, self._row_classes = part.csc, classes_of(part.csc, part.size)
        self._weights = None
        if weight is not None:
            self._weights = part.arc_values(weight).astype(np.float64, copy=False)
        weights = part.by_position(out_weight)
        self._sends = weights > 0.0
        self._divisors = xp.where(self._sends, weights, 1.0)
        self._part = 1.0 / sizes[self._group]
        self.ranks = self._part.copy()
        self._running = xp.ones(len(sizes), np.bool_)
        self._changes = xp.full(len(sizes), np.inf)
        self._supersteps = 0
        self.done = not len(sizes)

    def step(self) -> tuple[int, int, float]:
        """Compute some supersteps of the groups that are not done; see the CPU's."""
        before = self._supersteps
        while self._supersteps < min(before + QUEUED, self._most):
            self._superstep()
            self._supersteps += 1
        running = device().to_host(self._running)
        self.done = self._supersteps >= self._most or not running.any()
        active = int(device().to_host(count_on_device(self._running[self._group])))
        read = len(self._rows.indices) * (self._supersteps - before)
        return active, read, float(device().to_host(self._changes).max())

    def _superstep(self) -> None:
        xp, ranks = self._xp, self.ranks
        shares = xp.where(self._sends, ranks / self._divisors, 0.0)
        gathered = sums_of_all(self._rows, self._row_classes, shares, self._weights)
        lost = self._sums(xp.where(self._sends, 0.0, ranks))[self._group]
        computed = self._alpha * (gathered + lost * self._part) + (1.0 - self._alpha) * self._part
        changes = self._sums(abs(computed - ranks))
        self.ranks = xp.where(self._running[self._group], computed, ranks)
        self._changes = xp.where(self._running, changes, self._changes)
        self._running &= changes > self._tol

    def _sums(self, values: Array) -> Array:
        """Add up values by group."""
        return sums_of_all(self._members, self._classes, values, None)
