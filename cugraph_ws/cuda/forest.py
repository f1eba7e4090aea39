"""The predecessor forest of a search's final state, on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.cuda.device import Device, KernelModule
from cugraph_ws.cuda.partition import DevicePartition
from cugraph_ws.cuda.schedule import launch_shape, launch_together, room_for_long_rows
from cugraph_ws.kernels.cuda.layout import GOING, PIECES_QUEUED, WAITERS_LEFT, WAITING

__all__ = ["DeviceForest"]

WIDE = 32  # in-degree from which a warp looks for a vertex's predecessor
LEVELS_A_LAUNCH = 1024
CONTROL = 12
WIDEST = 4096  # and from which a block does


class DeviceForest:
    """Predecessors of a partition's vertices; see `kernels/cuda/forest.py` for what they are.

    Parameters
    ----------
    device : Device
        Where the graph is.
    part : DevicePartition
        The graph, or a part of it.
    kernels : KernelModule
        The program's kernels.
    state, constants, edges : tuple of device array
        As the program's kernels take them; the run is at its end.
    values : tuple
        The program's parameters, the aggregates' array and the number of the superstep.
    """

    def __init__(
        self,
        device: Device,
        part: DevicePartition,
        kernels: KernelModule,
        state: tuple[Any, ...],
        constants: tuple[Any, ...],
        edges: tuple[Any, ...],
        values: tuple[Any, ...],
    ) -> None:
        self._device = device
        self._part = part
        self._kernels = kernels
        # What every kernel of the forest is about
        self._program = (
            tuple(part.csc), edges, state, constants, *values,
        )  # fmt: skip
        self._state = (state, constants, *values)
        self._levels = device.xp.empty(part.size, np.int32)
        self._found = device.xp.empty(part.size, np.int64)
        self._control = device.xp.zeros(CONTROL, np.int64)
        self._waiting: tuple[Any, ...] = ()

    def begin(self) -> int:
        """Choose predecessors where a strictly better one exists; return how many are missing."""
        part, trees = self._part, (self._levels, self._found)
        shape = self._shape(part.size)
        self._kernels.launch(
            "plant", *shape, part.size, part.vertices, part.numbers, *self._state, *trees
        )
        widest, wide = part.vertices_with(WIDEST), part.vertices_with(WIDE)
        for low, high, lanes in ((0, widest, shape[1]), (widest, wide, 32), (wide, part.owned, 1)):
            if high > low:
                self._kernels.launch(
                    "choose", *self._shape((high - low) * lanes), low, high, lanes, part.vertices,
                    part.numbers, *self._program, *trees,
                )  # fmt: skip
        waiting = self._device.xp.empty(part.owned, part.csc.indices.dtype)
        self._kernels.launch("list_waiting", *shape, part.owned, *trees, waiting, self._control)
        missing = int(self._device.to_host(self._control)[WAITERS_LEFT])
        if missing:
            self._waiting = waiting, self._device.xp.empty_like(waiting)
        return missing

    def grow(self) -> int:
        """Attach waiting vertices to what has been attached; return how many.

        Where there are ghosts, a level at a time: they are attached between levels.
        """
        part, here = self._part, self._device
        queue = room_for_long_rows(here, part.graph)
        most = 1 if part.divided else LEVELS_A_LAUNCH
        before = left = int(here.to_host(self._control)[WAITERS_LEFT])
        going = left > 0
        while going:
            self._control[PIECES_QUEUED:] = 0  # the last launch has left its counters
            arguments = (
                part.vertices, part.numbers, *self._program, self._levels, self._found, queue,
                self._waiting, most, self._control,
            )  # fmt: skip
            _, block = self._shape(part.size)
            launch_together(here, self._kernels, "grow", part.size, block, *arguments)
            control = here.to_host(self._control)
            left = int(control[WAITERS_LEFT])
            going = left > 0 and int(control[GOING]) > 0 and not part.divided
        return before - left

    def is_attached(self, positions: Any) -> Any:
        """Tell which of some owned vertices have their place in the forest; device array of bool."""
        return self._device.xp.take(self._levels, positions) < WAITING

    def attach_ghosts(self, first: int, last: int, attached: Any) -> None:
        """Take note of which ghosts at positions [first, last) have their place in the forest."""
        ghosts = self._levels[first:last]
        ghosts[:] = self._device.xp.where(attached, 0, ghosts)  # any level below the next

    def predecessors(self) -> Any:
        """Return each owned vertex's predecessor as a vertex number, −1 for none; by position."""
        owned = self._part.owned
        found = self._device.xp.empty(owned, np.int64)
        self._kernels.launch("write_out", *self._shape(owned), owned, self._found, found)
        return found

    def _shape(self, items: int) -> tuple[int, int]:
        return launch_shape(self._device, items)
