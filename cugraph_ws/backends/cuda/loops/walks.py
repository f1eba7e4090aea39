"""Walks on the GPU; see `cugraph_ws.execution.walk_loop`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.walks`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.rows_by_number import RowsByNumber
from cugraph_ws.backends.cuda.walk_codegen import walk_kernels
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.walk_binding import BoundWalk
from cugraph_ws.runtime.device import device

__all__ = ["STEPS_AT_ONCE", "Walkers"]

Array = Any  # CuPy's

STEPS_AT_ONCE = 1 << 26  # of all walkers
BLOCK = 128


class Walkers:
    """The walkers of a run, which take steps.

    Parameters
    ----------
    bound : BoundWalk
    graph : GraphView
    starts : array of int64, shape (walkers,)
    length, seed : int
    plain : bool
        Must be False: plain Python does not run on a GPU.
    """

    def __init__(
        self,
        bound: BoundWalk,
        graph: GraphView,
        starts: Array,
        length: int,
        seed: int,
        *,
        plain: bool = False,
    ) -> None:
        assert not plain
        gpu, xp = device(), device().xp
        self._kernels = walk_kernels(gpu, bound.program, bound.types)
        rows = RowsByNumber(graph)
        self.paths = xp.full((length + 1, len(starts)), -1, rows.indices.dtype)
        self.paths[0] = starts
        self._arcs = xp.full(len(starts), -1, np.int64)
        self._beyond = xp.zeros(1, np.int64)
        named = dict(zip(bound.program.edges, bound.columns, strict=True))
        self._head = (
            (rows.offsets, rows.indices, np.int64(graph.number_of_vertices)),
            tuple(map(rows.values, bound.columns)),
            tuple(rows.sums(named[column]) for column in bound.program.weights),
            bound.values, np.int64(seed), self.paths.reshape(-1), self._arcs, self._beyond,
            np.int64(len(starts)),
        )  # fmt: skip

    def advance(self, walkers: range, steps: range) -> int:
        """Let some walkers take some steps, which follow those they have taken."""
        bounds = (steps.start, steps.stop, walkers.start, walkers.stop)
        blocks = device().blocks_for(len(walkers), BLOCK)
        self._kernels.launch("advance", blocks, BLOCK, *self._head, *map(np.int64, bounds))
        after = self.paths[steps.start + 1 : steps.stop + 1, walkers.start : walkers.stop]
        return int((after >= 0).sum())

    @property
    def beyond(self) -> bool:
        """Whether a walk has read or returned an edge that is not there."""
        return bool(int(self._beyond[0]))
