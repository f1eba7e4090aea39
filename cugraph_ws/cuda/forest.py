"""The predecessor forest of a search's final state, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cuda.device import Device, KernelModule, Prepared
from cugraph_ws.cuda.partition import DevicePartition
from cugraph_ws.cuda.schedule import (
    launch_shape,
    launch_together,
    prepare_together,
    room_for_long_rows,
)
from cugraph_ws.kernels.cuda.layout import (
    AHEAD,
    COUNT,
    FRONTIER_BLOCK,
    GOING,
    LISTED,
    PIECES_QUEUED,
    STEPS,
    WAITERS_LEFT,
    WAITING,
    WOKEN,
)

__all__ = ["DeviceForest"]

DeviceArray = Any  # CuPy's or NumPy's

WIDE = 32  # in-degree from which a warp looks for a vertex's predecessor
LEVELS_A_LAUNCH = 1024
CONTROL, BRANCHING = 12, 32  # numbers that `grow` keeps on the device, and those of `branch`
NOBODY = 1 << 62  # as in `kernels/cuda/forest.py`, which takes a compiler to import
WIDEST = 4096  # and from which a block does
ALONE, ALONE_ARCS = (
    256,
    1 << 12,
)  # attached vertices and their out-arcs that one block does by itself


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

    Attributes
    ----------
    missing : int
        How many of those that have a predecessor are still without.
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
        xp, peers = device.xp, len(part.boundaries)
        self._levels = xp.empty(part.size, np.int32)
        self._found = xp.empty(part.size, np.int64)
        # What the host reads, in one piece: both controls, and how many are still to be told of.
        cuts = np.cumsum([CONTROL, BRANCHING, peers]).tolist()
        self._figures = xp.zeros(cuts[-1] + peers, np.int64)
        self._control, self._branching, *self._untold_counts = xp.split(self._figures, cuts)
        self.missing = 0
        self._lists: tuple[DeviceArray, ...] = ()
        self._bits = max(1, (part.vertices - 1).bit_length())
        self._offsets: DeviceArray = None  # of the rows that branches follow
        self._branches: Prepared | None = None
        self._level = (
            0  # the levels of branches so far, and how many vertices the last one attached
        )
        self._attached = 0
        self._untold: tuple[_Untold, _Untold] | None = None  # of boundaries, and of ghosts

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
        self.missing = int(self._look()[WAITERS_LEFT])
        if self.missing:
            self._lists = (waiting,)
        return self.missing

    def grow(self) -> int:
        """Attach waiting vertices to what has been attached; return how many.

        Where there are ghosts, a level at a time: they are attached between levels.
        """
        part, here, before = self._part, self._device, self.missing
        if not before:
            return 0
        if len(self._lists) == 1:
            self._lists = (*self._lists, here.xp.empty_like(self._lists[0]))
        queue = room_for_long_rows(here, part.graph)
        most = 1 if part.divided else LEVELS_A_LAUNCH
        going = True
        while going:
            self._control[PIECES_QUEUED:] = 0  # the last launch has left its counters
            arguments = (
                part.vertices, part.numbers, *self._program, self._levels, self._found, queue,
                self._lists, most, self._control,
            )  # fmt: skip
            _, block = self._shape(part.size)
            launch_together(here, self._kernels, "grow", part.size, block, *arguments)
            figures = self._look()
            self.missing = int(figures[WAITERS_LEFT])
            going = self.missing > 0 and int(figures[GOING]) > 0 and not part.divided
        return before - self.missing

    def branch(self, rows: tuple[Any, Any], edges: tuple[Any, ...]) -> int:
        """Do as `grow`, from those attached instead of for those who wait; return how many.

        Parameters
        ----------
        rows : tuple of device array
            Offsets and indices of the rows of out-neighbours; the same in every call.
        edges : tuple of device array
            The program's edge attributes in their order.

        Returns
        -------
        int
        """
        divided, before = self._part.divided, self.missing
        if not before:
            return 0
        if self._branches is None:
            self._branches = self._first_branches(rows, edges)
        # A level from nobody would write what its other blocks read, if only the same again.  How
        # many ghosts have been listed has to be looked up only where there is nobody else.
        going = self._attached > 0 or int(self._look()[CONTROL + COUNT]) > 0
        while going:
            self._branching[LISTED:WOKEN] = 0  # the last launch has left its counters
            self._branches()
            figures = self._look()[CONTROL:]
            self._attached, self._level = int(figures[COUNT]), int(figures[STEPS])
            going = self._attached > 0 and not divided
        if divided:
            self.missing -= self._attached
        else:
            waiting = (self._levels == WAITING) & (self._found == NOBODY)
            self.missing = int(self._device.xp.count_nonzero(waiting))
        return before - self.missing

    def _first_branches(self, rows: tuple[Any, Any], edges: tuple[Any, ...]) -> Prepared:
        """List those attached, ghosts too; return the launch in which branches grow on from a list."""
        part, here = self._part, self._device
        size, kind = part.size, self._lists[0].dtype
        self._lists = ()  # nobody needs to know who waits
        # The place behind a list is for ghosts that do not come into it.
        self._lists = tuple(here.xp.empty(size + 1, kind) for _ in range(2))
        self._offsets = rows[0]
        self._kernels.launch(
            "list_attached", *self._shape(size), size, self._levels, rows[0], self._lists[0],
            self._branching,
        )  # fmt: skip
        most = 1 if part.divided else LEVELS_A_LAUNCH
        arguments = (
            part.vertices, self._bits, part.numbers, rows, edges, *self._state, self._levels,
            self._found, room_for_long_rows(here, part.graph), self._lists, most, ALONE, ALONE_ARCS,
            self._branching,
        )  # fmt: skip
        block = here.most_threads(self._kernels, "branch", FRONTIER_BLOCK, *arguments)
        return prepare_together(here, self._kernels, "branch", size, block, *arguments)

    def is_attached(self, positions: Any) -> Any:
        """Tell which of some owned vertices have their place in the forest; device array of bool."""
        take = self._device.xp.take
        # Whom a branch has reached is told its level in the end.
        return (take(self._levels, positions) < WAITING) | (take(self._found, positions) < NOBODY)

    def attach_ghosts(self, first: int, last: int, attached: Any) -> None:
        """Take note of which ghosts at positions [first, last) have their place, before `grow`."""
        ghosts = self._levels[first:last]
        ghosts[:] = self._device.xp.where(attached, 0, ghosts)  # any level below the next

    def news(self) -> tuple[list[DeviceArray], list[DeviceArray]]:
        """Return what goes to each partition, and room for what comes from each; then call `hear`.

        Returns
        -------
        going, coming : list of device array of bool
            Which vertices have their place in the forest, of those that had none when this was told
            before: both sides know which these are.
        """
        xp, part = self._device.xp, self._part
        if self._untold is None:
            ghosts = [xp.arange(*ends, dtype=part.csc.indices.dtype) for ends in part.ghosts]
            boundaries, counts = part.boundaries, self._untold_counts
            self._untold = _Untold(xp, boundaries, counts[0]), _Untold(xp, ghosts, counts[1])
        elif any(one.dropping for one in self._untold):
            self._look()
        own, held = self._untold
        own.attached = self.is_attached(own.positions)
        held.attached = xp.empty(len(held.positions), np.bool_)
        return own.by_peer(), held.by_peer()

    def hear(self) -> None:
        """Queue attaching the ghosts of which that has come; branches grow on from them too."""
        assert self._untold is not None, "news come first"
        own, held = self._untold
        if self.missing and len(held.positions):
            self._levels[held.positions] = self._device.xp.where(held.attached, 0, WAITING)
            if self._branches is not None:
                self._list_ghosts(held.positions, held.attached)
        own.drop()
        held.drop()

    def _list_ghosts(self, positions: DeviceArray, attached: DeviceArray) -> None:
        """Append those attached of some ghosts to the list that the next level starts from."""
        xp, offsets = self._device.xp, self._offsets
        listed = self._lists[self._level % 2]
        count, ahead = self._branching[COUNT : COUNT + 1], self._branching[AHEAD : AHEAD + 1]
        places = count + xp.cumsum(attached, dtype=np.int64)
        listed[xp.where(attached, places - 1, len(listed) - 1)] = positions
        count[:] = places[-1:]
        degrees = xp.take(offsets, positions + 1) - xp.take(offsets, positions)
        ahead += xp.where(attached, degrees, 0).sum()

    def predecessors(self) -> Any:
        """Return each owned vertex's predecessor as a vertex number, −1 for none; by position."""
        owned = self._part.owned
        shape = self._shape(owned)
        if self._branches is not None:
            self._kernels.launch(
                "tell_levels", *shape, owned, self._bits, self._levels, self._found
            )
        found = self._device.xp.empty(owned, np.int64)
        self._kernels.launch("write_out", *shape, owned, self._found, found)
        return found

    def _look(self) -> npt.NDArray[np.int64]:
        """Return all figures, of one copy to the host; waits for what is queued."""
        figures = self._device.to_host(self._figures)
        if self._untold is not None:
            counts = np.split(figures[CONTROL + BRANCHING :], 2)
            for untold, ends in zip(self._untold, counts, strict=True):
                untold.shrink(ends.tolist())
        return figures

    def _shape(self, items: int) -> tuple[int, int]:
        return launch_shape(self._device, items)


class _Untold:
    """Vertices that had no place in the forest when it was last told of, grouped by peer.

    The peers keep the same ones, in the same order.

    Parameters
    ----------
    xp : module
        `cupy` or `numpy`.
    groups : sequence of device array of int
        Their positions, for each peer.
    left : device array of int64, shape (peers,)
        Keeps where the groups end.

    Attributes
    ----------
    positions : device array of int
    attached : device array of bool
        Which of them have their place now.
    dropping : bool
        Whether those that do have been dropped, and `shrink` is to be called.
    """

    def __init__(self, xp: Any, groups: Sequence[DeviceArray], left: DeviceArray) -> None:
        self._xp = xp
        self.positions = xp.concatenate(groups)
        self._ends = np.cumsum([len(one) for one in groups]).tolist()
        self._left = left
        self._left[:] = xp.asarray(self._ends)
        self._kept: DeviceArray = None
        self.attached: DeviceArray = xp.zeros(len(self.positions), np.bool_)

    @property
    def dropping(self) -> bool:
        return self._kept is not None

    def by_peer(self) -> list[DeviceArray]:
        """Return `attached` in parts, which are not copied."""
        return [self.attached[first:last] for first, last in pairwise((0, *self._ends))]

    def drop(self) -> None:
        """Queue leaving out those attached; how many are left is known when `left` is read."""
        xp, size = self._xp, len(self.positions)
        if not size:
            return
        ranks = xp.zeros(size + 1, np.int64)
        ranks[1:] = xp.cumsum(~self.attached, dtype=np.int64)
        # The place behind all others is for those who go.
        self._kept = xp.empty(size + 1, self.positions.dtype)
        self._kept[xp.where(self.attached, size, ranks[:-1])] = self.positions
        self._left[:] = xp.take(ranks, self._left)

    def shrink(self, ends: list[int]) -> None:
        """Have only those left, of whom there are as many as `left` says, for the peers up to each."""
        if self.dropping:
            self.positions, self._kept = self._kept[: ends[-1]], None
            self._ends = ends
