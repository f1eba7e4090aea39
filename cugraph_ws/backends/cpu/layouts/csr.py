"""Arcs by source, made of the CSC when they are first pushed along."""

from __future__ import annotations

from typing import Any

from cugraph_ws.contract import Conversion, LayoutName, Schedule
from cugraph_ws.graph.adjacency import Adjacency, cursor_dtype, index_dtype

__all__ = ["Layout"]


class Layout:
    """Rows of out-neighbours.

    Parameters
    ----------
    rows : Adjacency
    """

    name: LayoutName = "csr"
    schedules: tuple[Schedule, ...] = ("frontier",)

    def __init__(self, rows: Adjacency) -> None:
        self._rows = rows

    @staticmethod
    def cost(arcs: int, vertices: int) -> Conversion:
        """Return what a transposition costs; of an undirected graph, whose CSR is its CSC, nothing."""
        kept = 8 * (vertices + 1) + index_dtype(vertices).itemsize * arcs
        peak = kept + cursor_dtype(arcs).itemsize * (vertices + 1)
        return Conversion(kept, peak, 2 * arcs, arcs)

    @property
    def arrays(self) -> dict[str, Any]:
        """What is stored, by name."""
        return {"offsets": self._rows.offsets, "indices": self._rows.indices}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._rows.nbytes
