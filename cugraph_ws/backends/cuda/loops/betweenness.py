"""Levels of a search from several sources on a single GPU; see `cugraph_ws.algorithms.betweenness`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["LONG", "Levels", "has_short_rows"]

Array = Any  # CuPy's

BLOCK = 256
COLUMNS = 32  # most sources, as in kernels/cuda/betweenness.py
LONG = 256  # arcs of a row that a warp reads alone, at most
LEVELS = 1024  # levels that a launch finds, at most
BLOCKS = 4  # blocks of a launch per multiprocessor


def has_short_rows(part: Part) -> bool:
    """Return whether no row is long, in either direction."""
    here = device()
    if not part.owned or not len(part.csc.indices):
        return False
    rows = [part.csc, part.csr] if part.directed else [part.csc]
    longest = max(int(here.to_host(here.xp.diff(one.offsets).max())) for one in rows)
    return longest <= LONG


class Levels:
    """The levels of a batch of sources, and the paths to their vertices.

    Parameters
    ----------
    part : Part
        Of a whole graph without long rows.
    starts : array of int64
        Positions of the sources.
    high : float
        If a number of paths reaches it, those of the same level and source are divided by the
        greatest among them.
    """

    def __init__(self, part: Part, starts: Array, high: float) -> None:
        self._here, self._part, self._high = device(), part, high
        self._scales: list[Array] = []
        xp, size, count = self._here.xp, part.size, len(starts)
        self._ins = part.csc.offsets, part.csc.indices
        self._outs = (part.csr.offsets, part.csr.indices) if part.directed else self._ins
        self._columns = count
        self.levels = xp.full((size, count), -1, np.int32)
        self.levels[starts, xp.arange(count)] = 0
        self.paths = (self.levels == 0).astype(np.float64)
        self._stack = xp.empty(size * count, np.int32)
        first = xp.unique(starts)
        self._stack[: len(first)] = first
        self._ends = [0, len(first)]
        self._count()

    @property
    def rows(self) -> int:
        """Total number of vertices in all levels; a vertex counts once for each level it is in."""
        return self._ends[-1]

    def _count(self) -> None:
        """Find levels until one is empty."""
        here, xp, size = self._here, self._here.xp, self._part.size
        threads = BLOCK * BLOCKS * here.multiprocessors
        readers, stamps = xp.empty(size, np.int32), xp.zeros(size, np.int32)
        sizes = xp.zeros(9, np.int64)
        parts = xp.empty((threads // 32 + 1) * COLUMNS, np.float64)
        while self._ends[-1] > self._ends[-2]:
            ends = xp.zeros(LEVELS + 2, np.int64)
            ends[:2] = xp.asarray(np.array(self._ends[-2:], np.int64))
            scales = xp.ones(LEVELS * COLUMNS, np.float64)
            sizes[:] = 0
            here.module("betweenness").prepare_together(
                "count_paths", threads, BLOCK, self._ins, self._outs, self._columns,
                self.levels.reshape(-1), self.paths.reshape(-1), self._stack, ends, scales, parts,
                readers, stamps, sizes, len(self._ends) - 2, LEVELS,
                self._high,
            )()  # fmt: skip
            found = [end for end in here.to_host(ends)[2:].tolist() if end]
            self._ends += found
            self._scales.append(scales[: COLUMNS * len(found)])
        self._ends.pop()

    def depend(self) -> tuple[Array, Array]:
        """Return the dependency of each source on each vertex, and their shares of a path."""
        here, xp = self._here, self._here.xp
        dependency, shares = xp.zeros(self.paths.shape), xp.zeros(self.paths.shape)
        here.module("betweenness").prepare_together(
            "add_dependencies", BLOCK * BLOCKS * here.multiprocessors, BLOCK, self._outs,
            self._columns, self.levels.reshape(-1), self.paths.reshape(-1), shares.reshape(-1),
            dependency.reshape(-1), self._stack, xp.asarray(np.array(self._ends, np.int64)),
            xp.concatenate(self._scales), len(self._ends) - 1,
        )()  # fmt: skip
        return dependency, shares
