"""PageRank of groups on the CPU, a thread for each; see `cugraph_ws.algorithms.pagerank_of_groups`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.pagerank_of_groups import rank_groups
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel

__all__ = ["Ranks"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

WORK_A_STEP = 1 << 25  # vertices and arcs, times supersteps
PIECES = 8  # of a step for each thread


class Ranks:
    """The ranks of the vertices of all groups, and how far each group is.

    Parameters
    ----------
    part : Part
        Of a whole graph.
    bounds : ndarray of int64, shape (groups + 1,)
        The first vertex number of each group.
    out_weight : ndarray of float64, shape (vertices,)
        By vertex number.
    weight : str or None
        The edge column of weights.
    limits : (float, float, int)
        `alpha`, `tol` and `max_iter`.

    Attributes
    ----------
    ranks : ndarray of float64, shape (vertices,)
        By position.
    done : bool
        Whether every group has converged, or has done `max_iter` supersteps.
    """

    def __init__(
        self,
        part: Part,
        bounds: Array,
        out_weight: Floats,
        weight: str | None,
        limits: tuple[float, float, int],
    ) -> None:
        self._limits, self._bounds, groups = limits, bounds, len(bounds) - 1
        self.ranks = np.repeat(1.0 / np.maximum(np.diff(bounds), 1), np.diff(bounds))
        self._vertices = self.ranks, np.empty_like(self.ranks), out_weight
        weights = np.empty(0)
        if weight is not None:
            weights = part.arc_values(weight).astype(np.float64, copy=False)
        self._rows = part.csc.offsets, part.csc.indices, weights
        self._work = part.csc.offsets[bounds].astype(np.int64) + bounds
        self._progress = np.full(groups, np.inf), np.zeros(groups, np.int64)
        self._first = 0  # of the groups that are not done
        self.done = not groups

    def step(self) -> tuple[int, int, float]:
        """Compute some groups to their ends, or some supersteps of a large one.

        Returns
        -------
        active : int
            Vertices of groups that are not done.
        read : int
            Arcs.
        change : float
            The greatest change of a group's last superstep.
        """
        first, work, (changes, supersteps) = self._first, self._work, self._progress
        budget = int(work[first]) + WORK_A_STEP // max(1, self._limits[2])
        last = max(first + 1, int(np.searchsorted(work, budget, side="right")) - 1)
        at_once = max(1, WORK_A_STEP // int(work[last] - work[first]))
        cuts = cut_offsets(work[first : last + 1] - work[first], PIECES * number_of_threads())
        before = supersteps[first:last].copy()
        parallel(
            rank_groups,
            [
                (
                    self._rows, self._vertices, self._bounds, self._progress, self._limits,
                    first + low, first + high, at_once,
                )
                for low, high in cuts
            ],
        )  # fmt: skip
        _, tol, most = self._limits
        arcs = np.diff(self._rows[0][self._bounds[first : last + 1]])
        read = int((arcs * (supersteps[first:last] - before)).sum())
        if ((changes[first:last] <= tol) | (supersteps[first:last] >= most)).all():
            self._first = last
        self.done = self._first == len(changes)
        active = len(self.ranks) - int(self._bounds[self._first])
        return active, read, float(changes[: self._first].max(initial=0.0))
