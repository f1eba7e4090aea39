"""Ties of a forest: branches that grow from those attached, on one GPU, or level by level on those of all.

Between levels members tell each other whom the last one attached.  Both sides of a boundary know of which
vertices that may still be told, so what travels has a length that is known beforehand: many levels are
queued, one behind the other, before the host looks how many each attached.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.kernels.cuda.layout import LISTED, NOBODY, WAITING, WOKEN
from cugraph_ws.runtime.device import Device, KernelModule, Prepared, as_host

__all__ = ["Branches", "DividedBranches", "Untold"]

DeviceArray = Any  # CuPy's or NumPy's

SLOT_AT = 7  # place in what `tell_attached` is given of that in which it counts


class Branches:
    """A launch in which branches grow on from those attached last; see `kernels/cuda/branch.py`.

    Parameters
    ----------
    launch : Prepared
    control : device array of int64
        How many were attached last, their out-arcs, and the levels so far.
    lists : two device arrays of positions
        Whom even levels and odd ones have attached.
    offsets : device array of int64
        Of the rows that are followed.
    levels, found : device array of int32, of int64
        The forest; see the kernel.
    bits : int
        That a vertex number takes.
    """

    def __init__(
        self,
        launch: Prepared,
        control: DeviceArray,
        lists: tuple[DeviceArray, ...],
        offsets: DeviceArray,
        levels: DeviceArray,
        found: DeviceArray,
        bits: int,
    ) -> None:
        self._launch = launch
        self._counters = control[LISTED:WOKEN]
        self.control, self.lists, self.offsets = control, lists, offsets
        self.levels, self.found, self.bits = levels, found, bits

    def grow(self) -> None:
        """Queue the next levels, or the next level."""
        self._counters.fill(0)  # the last launch has left them
        self._launch()


class DividedBranches:
    """The levels of a member's branches; all members queue as many.

    Parameters
    ----------
    device : Device
    kernels : KernelModule
        The program's.
    branches : Branches
        A level a launch.
    boundaries, ghosts : Untold
        Of which own vertices, and of which ghosts, it may still be told that they have got their place.
    most : int
        Levels between two calls of `leave_out`.

    Attributes
    ----------
    attached : device array of int64, shape (most,)
        How many each level has attached.
    """

    def __init__(
        self,
        device: Device,
        kernels: KernelModule,
        branches: Branches,
        boundaries: Untold,
        ghosts: Untold,
        most: int,
    ) -> None:
        self._device, self._kernels = device, kernels
        self._branches, self._boundaries, self._ghosts = branches, boundaries, ghosts
        self.attached = device.xp.zeros(most, np.int64)
        self._make_ready()

    def _make_ready(self) -> None:
        """Prepare what tells of those of whom it may still be told, and what hears it."""
        here, branches = self._device, self._branches
        untold, ghosts = self._boundaries.positions, self._ghosts.positions
        self._going, self._coming = (here.xp.empty(len(one), np.uint8) for one in (untold, ghosts))
        self._tell = self._kernels.prepare(
            "tell_attached", *launch_shape(here, max(1, len(untold))), untold, len(untold),
            branches.bits, branches.found, self._going, branches.control, self.attached, 0,
        )  # fmt: skip
        self._hear = self._kernels.prepare(
            "hear_attached", *launch_shape(here, len(ghosts)), ghosts, len(ghosts), self._coming,
            branches.levels, branches.offsets, branches.lists, branches.control,
        )  # fmt: skip

    def climb(self, level: int) -> tuple[list[DeviceArray], list[DeviceArray]]:
        """Queue a level; then what goes is to be sent, what comes to be taken in, and `hear` called.

        Parameters
        ----------
        level : int
            Since `leave_out`: its place in `attached`.

        Returns
        -------
        going, coming : list of device array of uint8
            For each member, of whom it may be told, whether this level has attached them.
        """
        self._branches.grow()
        self._tell.change(SLOT_AT, level)
        self._tell()
        return self._boundaries.parts(self._going), self._ghosts.parts(self._coming)

    def hear(self) -> None:
        """Queue that the ghosts of which it has been told are attached: the next level grows on from them."""
        self._hear()

    def leave_out(self) -> None:
        """Have those who have got their place told of no more; waits for the GPU."""
        take, branches = self._device.xp.take, self._branches
        found = take(branches.found, self._boundaries.positions)
        self._boundaries.keep(found == NOBODY)
        self._ghosts.keep(take(branches.levels, self._ghosts.positions) == WAITING)
        self._make_ready()


class Untold:
    """Vertices that had no place in the forest when they were last looked through, grouped by peer.

    The peers keep the same ones, in the same order.

    Parameters
    ----------
    xp : module
        `cupy` or `numpy`.
    groups : sequence of device array of int
        Their positions, for each peer.

    Attributes
    ----------
    positions : device array of int
    """

    def __init__(self, xp: Any, groups: Sequence[DeviceArray]) -> None:
        self._xp = xp
        self.positions = xp.concatenate(groups)
        self._ends = np.cumsum([len(one) for one in groups]).tolist()

    def parts(self, array: DeviceArray) -> list[DeviceArray]:
        """Return an array with an entry for each in parts by peer, which are not copied."""
        return [array[first:last] for first, last in pairwise((0, *self._ends))]

    def keep(self, which: DeviceArray) -> None:
        """Leave out all others."""
        xp = self._xp
        kept = xp.flatnonzero(which)
        self.positions = xp.take(self.positions, kept)
        self._ends = as_host(xp.searchsorted(kept, xp.asarray(self._ends, kept.dtype))).tolist()
