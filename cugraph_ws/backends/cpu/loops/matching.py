"""Rounds of proposals on the CPU; see `cugraph_ws.algorithms.matching`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.matching import accept, find_inside, propose
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.threads import cut_evenly, cut_offsets, number_of_threads, parallel

__all__ = ["Rounds", "edge_inside"]

Array = npt.NDArray[Any]

GRAIN = 1 << 12  # least number of vertices of a task
ARCS_A_TASK = 1 << 16


class Rounds:
    """The rounds of proposals among the free vertices of a part.

    Parameters
    ----------
    part : Part
        With the rows of all neighbours.
    key : int
        Seed of the edges' ranks.
    """

    def __init__(self, part: Part, key: int) -> None:
        csc, csr = part.csc, part.csr if part.directed else part.csc
        more = csr.indices if part.directed else csr.indices[:0]
        numbers = None if part.numbers_are_positions else part.numbers
        self._head = (csc.offsets, csc.indices, csr.offsets, more), numbers
        self._key = key
        self._read = 0  # arcs, in this round

    def propose(self, mate: Array, best: Array, free: Array) -> None:
        """Let free vertices propose to the best of their free neighbours."""
        tasks = [(*self._head, mate, best, free, self._key, *cut) for cut in _ranges(free)]
        self._read = int(sum(parallel(propose, tasks)))

    def accept(self, mate: Array, best: Array, free: Array) -> tuple[Array, int]:
        """Match mutual proposals; return the vertices that may still be matched, and arcs read."""
        parallel(accept, [(mate, best, free, *cut) for cut in _ranges(free)])
        return free[(mate[free] < 0) & (best[free] >= 0)], self._read


def edge_inside(part: Part, left: Array) -> tuple[int, int, bool] | None:
    """Find an edge with both ends on one side.

    Parameters
    ----------
    part : Part
    left : ndarray of bool, shape (size,), by position

    Returns
    -------
    (source, destination, whether they are on the left) or None
        The ends are vertex numbers.
    """
    rows = part.csc
    pieces = min(4 * number_of_threads(), 1 + len(rows.indices) // ARCS_A_TASK)
    tasks = [(rows.offsets, rows.indices, left, *cut) for cut in cut_offsets(rows.offsets, pieces)]
    for destination, source in parallel(find_inside, tasks):
        if destination >= 0:
            ends = part.named(np.array([source, destination]))
            return int(ends[0]), int(ends[1]), bool(left[source])
    return None


def _ranges(free: Array) -> list[tuple[int, int]]:
    """Split free vertices into ranges, one for each task."""
    return cut_evenly(len(free), min(8 * number_of_threads(), 1 + len(free) // GRAIN))
