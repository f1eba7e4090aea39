"""Frontiers on a shard of a graph, several supersteps at a time, by launches that exchange updates themselves."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from cugraph_ws.accelerators.linked.launches import (
    LinkedArrays,
    LinkedLaunch,
    LinkedSteps,
    Window,
    mirrors_of,
)
from cugraph_ws.backends.cuda.frontier import AS_ALLOWED, CONTROL, LAUNCH_ARCS, LONGEST, NO_LIMIT
from cugraph_ws.backends.cuda.partitioned_frontier import CudaPartitionedFrontierExecutor
from cugraph_ws.contract import Choice
from cugraph_ws.kernels.cuda import layout
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram

__all__ = ["LinkedFrontierExecutor"]


class LinkedFrontierExecutor(CudaPartitionedFrontierExecutor):
    """One program on a shard of a graph; see `CudaPartitionedFrontierExecutor`.  Making it is collective.

    Parameters
    ----------
    bound, part
        See `CudaPartitionedFrontierExecutor`.
    window : Window
    **options
        `wanted` and `filter`.
    """

    def __init__(
        self, bound: BoundProgram, part: ProgramPart, *, window: Window, **options: Any
    ) -> None:
        super().__init__(bound, part, **options)
        self._window, self._mirrors = window, mirrors_of(part)

    def _begin_sequence(self, choice: Choice) -> None:
        """Launch several supersteps with their exchanges."""
        number, steps = choice.number, min(choice.supersteps, LONGEST)
        self._begin_with(number)
        self._figures[layout.STEPS : CONTROL + 3 * steps].fill(0)
        if choice.large:
            self._frontiers[layout.ALLOWED :].fill(1)  # allow one, which is LARGE
        large = partial(self._advance, number, AS_ALLOWED, NO_LIMIT)
        self.linked(number, steps, choice.arcs or NO_LIMIT, large, choice.rounds)

    @cached_property
    def linked(self) -> LinkedLaunch:
        """Launches of several supersteps with their exchanges."""
        arrays = LinkedArrays(
            rows=tuple(self._rows), edges=self._both_edges[0], program=self._program,
            frontiers=(self._bitmaps, self._lists), queue=self._queue, control=self._frontiers,
            records=self._history,
        )  # fmt: skip
        return LinkedLaunch(
            self._device, self._kernels, self._window, self._part, self._mirrors, arrays,
            room=self._settings[1], spend=LAUNCH_ARCS,
        )  # fmt: skip

    def finish_linked(self, steps: LinkedSteps) -> None:
        """Adopt the counts of a launch; a pending exchange is that of its last superstep."""
        done = len(steps.history)
        self._number += done - steps.pending
        if steps.pending:
            self.refinement.begin(self._number % 2 ^ 1)
        else:  # for a superstep that the host launches
            self._figures[layout.STEPS : CONTROL + 3].fill(0)
