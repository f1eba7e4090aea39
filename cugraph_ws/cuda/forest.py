"""The predecessor forest of a search's final state, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cugraph_ws.cuda.device import Device
from cugraph_ws.cuda.graph import DeviceGraph
from cugraph_ws.cuda.schedule import launch_shape

__all__ = ["DeviceForest"]

WIDE = 16  # in-degree from which a warp looks for a vertex's predecessor
WIDEST = 4096  # and from which a block does


class DeviceForest:
    """Predecessors of all vertices; see `kernels/cuda/forest.py` for what they are.

    Parameters
    ----------
    device : Device
        Where the graph is.
    graph : DeviceGraph
        The graph.
    launch : callable
        Launches one of the program's kernels.
    state, constants, edges : tuple of device array
        As the program's kernels take them; the run is at its end.
    values : tuple
        The program's parameters, the aggregates' array and the number of the superstep.
    """

    def __init__(
        self,
        device: Device,
        graph: DeviceGraph,
        launch: Callable[..., None],
        state: tuple[Any, ...],
        constants: tuple[Any, ...],
        edges: tuple[Any, ...],
        values: tuple[Any, ...],
    ) -> None:
        self._device = device
        self._graph = graph
        self._launch = launch
        self._vertices = (graph.size, graph.numbers)
        self._rows = ((graph.csc.offsets, graph.csc.indices), edges)
        self._state = (state, constants)
        self._values = values
        self._levels = device.xp.empty(graph.size, np.int32)
        self._found = device.xp.empty(graph.size, np.int64)
        self._counts = device.xp.zeros(2, np.int64)
        self._level = 0

    def begin(self) -> int:
        """Choose predecessors where a strictly better one exists; return how many are missing."""
        self._launch(
            "plant", *self._shape(self._graph.size), *self._vertices, *self._state, *self._values,
            self._levels, self._found,
        )  # fmt: skip
        return self._choose(ties=False)[1]

    def grow(self) -> int:
        """Attach waiting vertices to what has been attached, level by level; return how many."""
        total = 0
        while True:
            self._level += 1
            attached, waiting = self._choose(ties=True)
            total += attached
            if not attached or not waiting:
                return total

    def _choose(self, *, ties: bool) -> tuple[int, int]:
        """Look for predecessors once; return how many were found, and how many are missing."""
        graph = self._graph
        widest, wide = graph.vertices_with(WIDEST), graph.vertices_with(WIDE)
        _, block = self._shape(graph.size)
        for low, high, lanes in ((0, widest, block), (widest, wide, 32), (wide, graph.size, 1)):
            if high > low:
                self._launch(
                    "choose", *self._shape((high - low) * lanes), low, high, lanes, ties, self._level, *self._vertices, *self._rows, *self._state,
                    *self._values, self._levels, self._found,
                )  # fmt: skip
        self._counts[:] = 0
        self._launch(
            "settle", *self._shape(graph.size), graph.size, self._level, self._levels, self._found,
            self._counts,
        )  # fmt: skip
        attached, waiting = self._device.to_host(self._counts).tolist()
        return attached, waiting

    def predecessors(self) -> Any:
        """Return each vertex's predecessor as a vertex number, −1 for none; by position."""
        size = self._graph.size
        found = self._device.xp.empty(size, np.int64)
        self._launch("write_out", *self._shape(size), size, self._found, found)
        return found

    def _shape(self, items: int) -> tuple[int, int]:
        return launch_shape(self._device, items)
