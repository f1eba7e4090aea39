"""Arcs by destination, as the build leaves them."""

from __future__ import annotations

from typing import Any

from cugraph_ws.contract import Conversion, LayoutName, Schedule
from cugraph_ws.graph.adjacency import Adjacency

__all__ = ["Layout"]


class Layout:
    """Rows of in-neighbours.

    Parameters
    ----------
    rows : Adjacency
    """

    name: LayoutName = "csc"
    schedules: tuple[Schedule, ...] = ("dense", "frontier")

    def __init__(self, rows: Adjacency) -> None:
        self._rows = rows

    @staticmethod
    def cost(arcs: int, vertices: int) -> Conversion:
        """Return zeros: the build makes it."""
        return Conversion()

    @property
    def arrays(self) -> dict[str, Any]:
        """What is stored, by name."""
        return {"offsets": self._rows.offsets, "indices": self._rows.indices}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._rows.nbytes
