"""Rows and draws of samples on the CPU; see `cugraph_ws.algorithms.neighbor_sample`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.arcs import Order
from cugraph_ws.graph.view import GraphView
from cugraph_ws.kernels.cpu.running_sums import sum_rows
from cugraph_ws.kernels.cpu.sampling import draw_arcs, draw_by_weight
from cugraph_ws.runtime.threads import cut_offsets, number_of_tasks, parallel

__all__ = ["Rows", "draw", "sums_of"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

LEAST, MOST = 1 << 10, 1 << 18  # edges of a task


class Rows:
    """Rows of out-edges or in-edges by vertex number, in the order of the neighbours' numbers.

    Parameters
    ----------
    graph : GraphView
    order : {"csr", "csc"}
        Whether the edges lead out of the rows' vertices, or into them.

    Attributes
    ----------
    offsets : ndarray of int64, shape (vertices + 1,)
    indices : ndarray of int, shape (arcs,)
        The neighbours' numbers.
    """

    def __init__(self, graph: GraphView, order: Order) -> None:
        rows = graph.csc if order == "csc" else graph.csr
        self.offsets, self.indices = rows.offsets, rows.indices
        self._graph, self._order = graph, order

    def values(self, column: str) -> Array:
        """Return an edge column in the order of the rows."""
        return self._graph.edge_values(column, self._order)


def draw(
    begins: Integers, degrees: Integers, vertices: Integers, keys: Integers, ends: Integers, hop: int, *, replace: bool,
    sums: Array | None = None,
) -> Integers:  # fmt: skip
    """Return arcs drawn from rows.

    Parameters
    ----------
    begins, degrees, vertices, keys : array of int64, shape (rows,)
        See `kernels/cpu/sampling.py`.
    ends : array of int64, shape (rows + 1,)
        Where the arcs of each row are listed.
    hop : int
    replace : bool
    sums : array of float64, optional
        The sum of weights of the row up to each arc; by default all arcs are equally likely.

    Returns
    -------
    array of int64, shape (ends[rows],)
    """
    arcs = np.empty(int(ends[-1]), np.int64)
    pieces = number_of_tasks(len(arcs), LEAST, MOST)
    head = (begins, degrees, vertices, keys, ends, arcs, np.int64(hop), replace)
    kernel, more = (draw_arcs, ()) if sums is None else (draw_by_weight, (sums,))
    parallel(kernel, [(*head, *more, *cut) for cut in cut_offsets(ends, pieces)])
    return arcs


def sums_of(offsets: Integers, values: Array) -> Array:
    """Return the running sums of values within rows; float64."""
    sums = np.empty(len(values))
    pieces = number_of_tasks(len(values), 1 << 16, 1 << 24)
    parallel(sum_rows, [(offsets, values, sums, *cut) for cut in cut_offsets(offsets, pieces)])
    return sums
