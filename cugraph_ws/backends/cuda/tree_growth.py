"""Tree growth: attach undecided vertices level by level along the out-arcs of attached vertices.

It runs on one GPU, or on all GPUs of a communicator.  Between levels ranks send each other which
boundary vertices the last level attached.  Sender and receiver keep the same list of undecided
vertices, so the lengths of the messages are known beforehand.  Many levels are queued before the
host reads how many vertices each one attached.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.kernels.cuda.layout import LISTED, NOBODY, WAITING, WOKEN
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.device import Device, KernelModule, Prepared

__all__ = ["DividedTreeGrowth", "TreeGrowth", "Unattached"]

DeviceArray = Any  # CuPy's or NumPy's

SLOT_AT = 7  # which argument of `pack_attached` is the slot in which it counts


class TreeGrowth:
    """A launch that grows trees from the vertices attached last; see `kernels/cuda/tree_growth.py`.

    Parameters
    ----------
    launch : Prepared
    control : device array of int64
        Number of vertices attached last, number of their out-arcs, and number of levels so far.
    lists : two device arrays of positions
        The vertices attached by the last even level and by the last odd level.
    offsets : device array of int64
        Offsets of the rows that are followed.
    levels, found : device array of int32, of int64
        The forest; see the kernel.
    bits : int
        Bits that a vertex number takes.
    """

    def __init__(
        self,
        launch: Prepared,
        control: DeviceArray,
        lists: tuple[DeviceArray, ...],
        offsets: DeviceArray,
        levels: DeviceArray,
        predecessors: DeviceArray,
        bits: int,
    ) -> None:
        self._launch = launch
        self._counters = control[LISTED:WOKEN]
        self.control, self.lists, self.offsets = control, lists, offsets
        self.levels, self.found, self.bits = levels, predecessors, bits

    def grow(self) -> None:
        """Queue the next levels, or the next level."""
        self._counters.fill(0)  # the last launch does not clear them
        self._launch()


class DividedTreeGrowth:
    """The levels of tree growth on one rank; all ranks queue the same number.

    Parameters
    ----------
    device : Device
    kernels : KernelModule
        The program's kernels.
    growth : TreeGrowth
        With one level per launch.
    boundaries, ghosts : Unattached
        The undecided boundary vertices, and the undecided ghosts.
    most : int
        The most levels between two calls of `leave_out`.

    Attributes
    ----------
    attached : device array of int64, shape (most,)
        How many vertices each level has attached.
    """

    def __init__(
        self,
        device: Device,
        kernels: KernelModule,
        growth: TreeGrowth,
        boundaries: Unattached,
        ghosts: Unattached,
        most: int,
    ) -> None:
        self._device, self._kernels = device, kernels
        self._growth, self._boundaries, self._ghosts = growth, boundaries, ghosts
        self.attached = device.xp.zeros(most, np.int64)
        self._allocate_buffers()

    def _allocate_buffers(self) -> None:
        """Allocate the send and receive buffers for undecided vertices; prepare their kernels."""
        gpu, growth = self._device, self._growth
        untold, ghosts = self._boundaries.positions, self._ghosts.positions
        self._going, self._coming = (
            gpu.xp.empty(len(positions), np.uint8) for positions in (untold, ghosts)
        )
        self._pack = self._kernels.prepare(
            "pack_attached", *launch_shape(gpu, max(1, len(untold))), untold, len(untold),
            growth.bits, growth.found, self._going, growth.control, self.attached, 0,
        )  # fmt: skip
        self._unpack = self._kernels.prepare(
            "unpack_attached", *launch_shape(gpu, len(ghosts)), ghosts, len(ghosts), self._coming,
            growth.levels, growth.offsets, growth.lists, growth.control,
        )  # fmt: skip

    def climb(self, level: int) -> tuple[list[DeviceArray], list[DeviceArray]]:
        """Queue a level; the caller then exchanges the buffers, and calls `receive`.

        Parameters
        ----------
        level : int
            Counted from the last `leave_out`; its place in `attached`.

        Returns
        -------
        going, coming : list of device array of uint8
            Send and receive buffers for each rank: for each undecided vertex whether this level has
            attached it.
        """
        self._growth.grow()
        self._pack.change(SLOT_AT, level)
        self._pack()
        return self._boundaries.parts(self._going), self._ghosts.parts(self._coming)

    def receive(self) -> None:
        """Queue the attaching of received ghosts; the next level grows from them too."""
        self._unpack()

    def leave_out(self) -> None:
        """Drop attached vertices from the messages; waits for the GPU."""
        take, growth = self._device.xp.take, self._growth
        predecessors = take(growth.found, self._boundaries.positions)
        self._boundaries.keep(predecessors == NOBODY)
        self._ghosts.keep(take(growth.levels, self._ghosts.positions) == WAITING)
        self._allocate_buffers()


class Unattached:
    """Vertices that were undecided when last checked, grouped by peer.

    Each peer keeps the same vertices in the same order.

    Parameters
    ----------
    xp : module
        `cupy` or `numpy`.
    groups : sequence of device array of int
        Positions of the vertices, for each peer.

    Attributes
    ----------
    positions : device array of int
        Positions of all groups, concatenated.
    """

    def __init__(self, xp: Any, groups: Sequence[DeviceArray]) -> None:
        self._xp = xp
        self.positions = xp.concatenate(groups)
        self._ends = np.cumsum([len(group) for group in groups]).tolist()

    def parts(self, array: DeviceArray) -> list[DeviceArray]:
        """Split an array with an entry for each vertex by peer, without copies."""
        return [array[first:last] for first, last in pairwise((0, *self._ends))]

    def keep(self, which: DeviceArray) -> None:
        """Keep the vertices that `which` marks, and drop all others."""
        xp = self._xp
        places = xp.flatnonzero(which)
        self.positions = xp.take(self.positions, places)
        self._ends = as_host(xp.searchsorted(places, xp.asarray(self._ends, places.dtype))).tolist()
