"""Peeling of edges on the CPU; see `cugraph_ws.algorithms.truss`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.loops.triangles import Lister
from cugraph_ws.kernels.cpu.truss import peel_edges
from cugraph_ws.partition.oriented import Oriented

__all__ = ["Lister", "Peeler"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

WORK_A_STEP = 1 << 23  # arcs


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

    def __init__(self, oriented: Oriented, target: int, supports: Integers) -> None:
        in_triangles = np.flatnonzero(supports)
        self._rows, self._ends = oriented.both_ways(in_triangles)
        self._target = target
        self._queue = np.empty(len(self._ends[1]), np.int64)

    def peel(self, supports: Integers, truss: Integers, edges: Integers) -> tuple[Integers, int]:
        """Peel some levels, or to the target.

        Parameters
        ----------
        supports : array of int64, shape (edges,)
            Triangles of each edge among those left; lowered.
        truss : array of int64, shape (edges,)
            0 for edges that are left; written for those that are removed.
        edges : array of int64
            The edges that are left; overwritten.

        Returns
        -------
        edges : array of int64
            The edges that are left, or perhaps removed; none at the end.
        read : int
            Arcs.
        """
        count, read = peel_edges(
            self._rows, self._ends, supports, truss, edges, len(edges), self._queue, self._target,
            WORK_A_STEP,
        )  # fmt: skip
        return edges[:count], read
