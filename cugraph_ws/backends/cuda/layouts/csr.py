"""Arcs by source, made of the CSC when a frontier first pushes along them."""

from __future__ import annotations

from typing import Any

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.memory import estimate_layout
from cugraph_ws.contract import Conversion, LayoutName, Schedule

__all__ = ["Layout"]


class Layout:
    """Rows of out-neighbours.

    Parameters
    ----------
    graph : DeviceGraph
        Keeps them.
    """

    name: LayoutName = "csr"
    schedules: tuple[Schedule, ...] = ("frontier", "worklist")

    def __init__(self, graph: DeviceGraph) -> None:
        self._rows = graph.csr

    @staticmethod
    def cost(arcs: int, vertices: int) -> Conversion:
        """Return what a transposition costs; of an undirected graph, whose CSR is its CSC, nothing."""
        return estimate_layout("csr", arcs, vertices)

    @property
    def arrays(self) -> dict[str, Any]:
        """What is stored, by name."""
        return self._rows._asdict()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(array.nbytes) for array in self._rows)
