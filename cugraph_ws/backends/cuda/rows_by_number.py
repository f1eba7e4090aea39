"""Rows of neighbours by vertex number on a GPU, for walks and samples, whose draws are of places in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.graph.arcs import Order
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import row_numbers
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["RowsByNumber", "sums_of"]

Array = Any  # CuPy's

BLOCK = 128


class RowsByNumber:
    """Rows of out-edges or in-edges by vertex number, in the order of the neighbours' numbers.

    The graph's own rows are by position, in which vertices are sorted by degree.  What is made of them is kept
    with the graph.

    Parameters
    ----------
    graph : GraphView
    order : {"csr", "csc"}
        Whether the edges lead out of the rows' vertices, or into them.

    Attributes
    ----------
    offsets : array of int64, shape (vertices + 1,)
    indices : array of int, shape (arcs,)
        The neighbours' numbers.
    """

    def __init__(self, graph: GraphView, order: Order = "csr") -> None:
        self._kept, self._part = graph.derived, Part(graph, on_device=True)
        self._direction: Order = order if graph.directed else "csr"
        made = self._kept.get(f"{self._direction} by number")
        if made is None:
            made = self._kept[f"{self._direction} by number"] = self._made()
        self.offsets, self.indices, self._order = made.arrays

    def _made(self) -> _Kept:
        """Sort the arcs by the numbers of their rows' vertices, then of the neighbours."""
        part, xp = self._part, self._part.xp
        rows = part.csr if self._direction == "csr" else part.csc
        vertices = xp.take(part.numbers, row_numbers(xp, rows.offsets, len(rows.indices)))
        neighbours = xp.take(part.numbers, rows.indices)
        # Sorts are stable, so parallel edges stay in the order of the frame.
        order = xp.argsort(neighbours, kind="stable")
        order = order[xp.argsort(xp.take(vertices, order), kind="stable")]
        offsets = xp.zeros(part.size + 1, np.int64)
        offsets[1:] = xp.cumsum(part.by_number(xp.diff(rows.offsets)))
        indices = xp.take(neighbours, order).astype(rows.indices.dtype)
        return _Kept(offsets, indices, order)

    def values(self, column: str) -> Array:
        """Return an edge column in the order of the rows."""
        xp = self._part.xp
        return self._recall(
            f"{column} in {self._direction} by number",
            lambda: xp.take(self._part.arc_values(column, self._direction), self._order),
        )

    def sums(self, column: str) -> Array:
        """Return the running sums of a column's values within rows."""
        return self._recall(
            f"sums of {column} in {self._direction} by number",
            lambda: sums_of(self.offsets, self.values(column)),
        )

    def _recall(self, key: str, make: Any) -> Array:
        """Return an array that is kept with the graph, made when first needed."""
        if key not in self._kept:
            self._kept[key] = _Kept(make())
        return self._kept[key].arrays[0]


class _Kept:
    """Arrays that are kept with a graph, and their bytes."""

    def __init__(self, *arrays: Array) -> None:
        self.arrays = arrays
        self.nbytes = sum(int(array.nbytes) for array in arrays)


def sums_of(offsets: Array, values: Array) -> Array:
    """Return the running sums of values within rows; float64."""
    gpu, rows = device(), len(offsets) - 1
    sums = gpu.xp.empty(len(values), np.float64)
    if rows:
        gpu.module("running_sums").launch(
            "sum_rows", gpu.blocks_for(rows, BLOCK), BLOCK, offsets, values, sums, np.int64(rows)
        )
    return sums
