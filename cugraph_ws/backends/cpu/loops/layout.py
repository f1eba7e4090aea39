"""Levels of a layout and moves of their vertices on the CPU; see `cugraph_ws.pictures.forces`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu import layout as kernels
from cugraph_ws.runtime.threads import cut_evenly, number_of_tasks, parallel

__all__ = ["Components", "coarser", "relax"]

Array = npt.NDArray[Any]
Rows = tuple[Array, Array, Array]

SMALL = 384  # vertices of a graph whose forces are computed for all pairs
TASK = 2048  # vertices whose forces a thread computes at a time, at least


class Components:
    """The connected components of a graph.

    Parameters
    ----------
    offsets : array of int64, shape (n + 1,)
    indices : array of int, shape (arcs,)
        Rows of distinct neighbours: symmetric, without the vertex itself.
    weights : array of float64, shape (arcs,), optional
        1 by default.

    Attributes
    ----------
    order : ndarray of int64, shape (n,)
        Vertices, component by component.
    starts : ndarray of int64, shape (components + 1,)
        Where each component begins in `order`.
    """

    def __init__(self, offsets: Array, indices: Array, weights: Array | None) -> None:
        size = len(offsets) - 1
        self._rows = offsets, indices, np.ones(len(indices)) if weights is None else weights
        label, self.order = np.full(size, -1, np.int64), np.empty(size, np.int64)
        count = kernels.list_components(offsets, indices, label, self.order)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(label, minlength=count))])
        self._place = np.empty(size, np.int64)
        self._place[self.order] = np.arange(size)

    def rows(self, lo: int, hi: int) -> tuple[Rows, None]:
        """Return the rows of the vertices order[lo:hi], numbered from 0, and the unit of weights, if they have one."""
        return kernels.component_rows(self._rows, self.order, self._place, lo, hi), None

    def mean_length(self, laid: Array) -> float:
        """Return the mean length of edges; `laid` has positions in the order of `order`."""
        offsets, indices, _ = self._rows
        sources = np.repeat(self._place, np.diff(offsets))
        return float(np.linalg.norm(laid[sources] - laid[self._place[indices]], axis=1).mean())


def coarser(rows: Rows, masses: Array) -> tuple[Array, Rows, Array]:
    """Group vertices with their neighbours.

    Parameters
    ----------
    rows : tuple of (array of int64, array of int, array)
        Offsets of the neighbours of each vertex, these, and the weights of edges.
    masses : array of float64, shape (n,)
        Integers.

    Returns
    -------
    group : array of int64, shape (n,)
    rows, masses
        Of the graph of groups.
    """
    group = np.full(len(masses), -1, np.int64)
    order = np.argsort(np.diff(rows[0]), kind="stable")
    count = kernels.group_neighbours(*rows, masses, order, group)
    return group, kernels.contract_rows(*rows, group, count), np.bincount(group, masses, count)


def relax(
    rows: Rows, masses: Array, positions: tuple[Array, Array], step: float, iterations: int
) -> None:
    """Move vertices by the forces between them.

    Parameters
    ----------
    rows, masses
        See `coarser`.
    positions : tuple of two arrays of float64, shape (n,)
        x and y.  Written.
    step : float
        The length of the first move.
    iterations : int
        Number of moves.
    """
    size, (x, y) = len(masses), positions
    if size <= SMALL:
        kernels.relax(rows, masses, x, y, step, iterations)
        return
    codes, force = np.empty(size, np.int64), (np.empty(size), np.empty(size))
    ranges, cells = np.empty((2 * size, 3), np.int32), np.empty((2 * size, 4))
    state = np.array([step, np.inf, 0.0])
    cuts = cut_evenly(size, number_of_tasks(size, TASK, 16 * TASK))
    for _ in range(iterations):
        side = kernels.cell_codes(x, y, codes)
        codes.sort()
        order = codes & (2**31 - 1)
        ordered = x[order], y[order], masses[order]
        tree = ranges, cells, kernels.build_tree(codes, *ordered, side, ranges, cells)
        shared = rows, (x, y), order, ordered, tree, force
        parallel(kernels.forces, [(*shared, cut) for cut in cuts])
        kernels.move(x, y, force, masses, state)
