"""The CUDA engine's frontiers on a shard of a graph: one superstep at a time, then an exchange."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.frontier import (
    MODES,
    NO_LIMIT,
    CudaFrontierExecutor,
)
from cugraph_ws.backends.cuda.refinement import FrontierRefinement
from cugraph_ws.backends.cuda.schedule import BLOCK, launch_shape
from cugraph_ws.backends.cuda.tree_growth import DividedTreeGrowth
from cugraph_ws.backends.planner import Filter, WantedDirection
from cugraph_ws.contract import Choice, Counts
from cugraph_ws.kernels.cuda import layout
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.arrays import count_on_device, read_scalars
from cugraph_ws.runtime.device import Prepared

__all__ = ["CudaPartitionedFrontierExecutor"]

DeviceArray = Any  # CuPy's or NumPy's


class CudaPartitionedFrontierExecutor(CudaFrontierExecutor):
    """One program on a shard of a graph, by frontiers; see `CudaFrontierExecutor`.

    Every superstep is a launch of its own.  Ghosts push along their out-arcs in this shard.  Their
    new states come from their owners over links between GPUs (`backends/cuda/exchange.py`).

    Parameters
    ----------
    bound : BoundProgram
        A program for which `why_not_swapped` finds no reason.
    part : ProgramPart
        The shard.
    wanted, filter
        See `CudaFrontierExecutor`.

    Raises
    ------
    GraphMemoryError
        If the out-neighbours would not fit.
    """

    def __init__(
        self,
        bound: BoundProgram,
        part: ProgramPart,
        *,
        wanted: WantedDirection = "auto",
        filter: Filter = "auto",  # noqa: A002 - the papers' word
    ) -> None:
        super().__init__(bound, part, wanted=wanted, filter=filter)
        xp = self._device.xp
        self._lengths, self._unlike = (xp.zeros(len(part.boundaries), np.int64) for _ in range(2))
        self._starting = Counts()

    @cached_property
    def refinement(self) -> FrontierRefinement:
        """Packs what is sent to other ranks, and unpacks what they send."""
        return FrontierRefinement(
            self._device, self._kernels, self._states[0], self._bitmaps, owned=self._part.owned,
            lengths=self._lengths, unlike=self._unlike, offsets=self._rows.offsets,
            lists=self._lists, room=self._settings[1], control=self._frontiers,
        )  # fmt: skip

    @cached_property
    def _header(self) -> DeviceArray:
        """The header that other ranks read; see `CudaExecutor.header`."""
        return self._device.xp.zeros(layout.FRONTIER_FIGURES + len(self._lengths), np.float64)

    def _lead(self) -> int:
        """Return where the vertices of the rank with the most out-arcs per vertex here begin.

        In rows ghosts come after owned vertices.  If another rank owns the hubs, most pulling
        vertices would first read in-neighbours of few arcs, in vain.
        """
        part = self._part
        settles = "settled" in self._bound.program.functions
        if self._pulls or not settles:
            return 0
        groups = [(0, part.owned), *(ghosts for ghosts in part.ghosts if ghosts[0] < ghosts[1])]
        return int(part.laid.busiest(groups))

    def _take_stock(self) -> None:
        """Make the first frontier from the flagged vertices and ghosts."""
        super()._take_stock()
        starting = count_on_device(self._flags[0][: self._part.owned].view(np.bool_))
        # Out-arcs of starting vertices and ghosts: on all ranks together, those of all starting vertices
        active, arcs = read_scalars(starting, self._frontiers[layout.AHEAD])
        self._starting = Counts(active=active, arcs=arcs, sums=np.zeros(0))
        self._lengths[:] = self._unlike[:] = 0

    def counts(self) -> Counts:
        """Return how many vertices start, and the arcs out of them here; valid until the first superstep."""
        return self._starting

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> None:
        """Launch one superstep."""
        self._gathered = choice.direction == "gather"
        if choice.direction == "fused":
            self._begin_sequence(choice)
            return
        if self._part.size == 0:
            return
        self._begin_with(choice.number)
        self.refinement.begin((choice.number + 1) % 2)
        if self._gathered:
            self._gather(choice.number)
            return
        self._advance(choice.number, 1, NO_LIMIT)
        self._sweeps[self.refinement.now]()

    def _begin_sequence(self, choice: Choice) -> None:
        """Launch several supersteps with their exchanges; only accelerators plan that."""
        raise NotImplementedError

    @cached_property
    def _sweeps(self) -> list[Prepared]:
        """Launches, one for each bitmap, that clear the next frontier's bitmap if still needed."""
        words = len(self._bitmaps[0])
        shape = launch_shape(self._device, words)
        return [
            self._kernels.prepare("clear_bitmap", *shape, self._frontiers, words, bitmap)
            for bitmap in self._bitmaps
        ]

    @cached_property
    def _fill_header(self) -> Prepared:
        return self._kernels.prepare(
            "write_frontier_header", 1, BLOCK, self._frontiers, self._history, self._lengths, self._unlike,
            len(self._lengths), self._header,
        )  # fmt: skip

    def header(self) -> DeviceArray:
        """Queue the filling of the header; see `CudaExecutor.header`."""
        if self._part.size:
            self._fill_header()
        return self._header

    def merged_counts(
        self, records: npt.NDArray[np.float64], active: int | None, arcs: int
    ) -> Counts:
        """Return the counts of all ranks; see `CudaExecutor.merged_counts`."""
        totals = records.sum(axis=0)
        ahead, read = int(totals[layout.OUT]), int(totals[layout.READ])
        mode = MODES[int(records[records[:, layout.READ].argmax(), layout.MODE])]
        if self._gathered:
            read, mode = arcs, ("gather", "all")
        return Counts(
            active=int(totals[layout.ACTIVE]), arcs=ahead, read=read, history=[(active or 0, read)],
            modes=[mode], sums=np.zeros(0),
        )  # fmt: skip

    def advance(self, record: npt.NDArray[np.float64]) -> None:
        """Count one superstep."""
        self._number += 1

    def begin_growth(self, most: int) -> DividedTreeGrowth:
        """Return the tree growth of undecided vertices; call it after the first exchange of ghosts.

        Parameters
        ----------
        most : int
            Levels that are queued before the host reads counts.
        """
        trees = self.trees
        growth = trees.begin_growth(*self._out_rows)
        return DividedTreeGrowth(
            self._device, self._kernels, growth, trees.boundaries, trees.ghosts, most
        )
