"""Peeling of edges on the GPU; see `cugraph_ws.algorithms.truss`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.truss`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.loops.triangles import Lister
from cugraph_ws.partition.oriented import Oriented
from cugraph_ws.runtime.device import device

__all__ = ["Lister", "Peeler"]

Array = Any  # CuPy's

BLOCK = 256
ROUNDS_A_STEP = 64
FALLING, REMOVED = 1, 2  # as in kernels/cuda/truss.py


class Peeler:
    """Removes edges, and lowers the supports of the edges that are in triangles with them.

    Parameters
    ----------
    oriented : Oriented
        Of a single rank.
    target : int
        Remove only edges that fall to this support; -1 to peel all levels.
    supports : array of int64, shape (edges,)
        Triangles of each edge at first.  Edges in none are in no other edge's triangles.
    """

    def __init__(self, oriented: Oriented, target: int, supports: Array) -> None:
        in_triangles = oriented.xp.flatnonzero(supports)
        self._rows, self._ends = oriented.both_ways(in_triangles)
        self._target = target
        self._queue = oriented.xp.empty(len(self._ends[1]), np.int64)

    def peel(self, supports: Array, truss: Array, edges: Array) -> tuple[Array, int]:
        """Peel some levels, or to the target; return the remaining edges, and arcs read."""
        marks = (REMOVED * (truss > 0)).astype(np.int8)
        rounds, read = 0, 0
        while rounds < ROUNDS_A_STEP:
            edges = edges[truss[edges] == 0]
            if not len(edges):
                break
            current = supports[edges]
            level = self._target if self._target >= 0 else int(device().to_host(current.min()))
            falling = edges[current <= level]
            if not len(falling):
                return edges[:0], read
            while len(falling):
                truss[falling] = level + 2
                marks[falling] = FALLING
                queued, more = self._drop(marks, supports, falling, level)
                marks[falling] = REMOVED
                falling, rounds, read = queued, rounds + 1, read + more
        return edges, read

    def _drop(self, marks: Array, supports: Array, falling: Array, level: int) -> tuple[Array, int]:
        """Launch a round; return the edges that have fallen, and elements read."""
        gpu = device()
        control = gpu.xp.zeros(2, np.int64)
        gpu.module("truss").launch(
            "drop_edges", gpu.blocks_for(len(falling), BLOCK), BLOCK, self._rows, self._ends, marks,
            supports, falling, len(falling), level, self._queue, control,
        )  # fmt: skip
        count, read = gpu.to_host(control).tolist()
        return self._queue[:count].copy(), read
