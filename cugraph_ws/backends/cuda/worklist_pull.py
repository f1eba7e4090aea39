"""The CUDA engine's worklist pull: active vertices mark their out-neighbours, which gather."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.executor import CudaExecutor
from cugraph_ws.backends.cuda.frontier import (
    ALONE,
    ALONE_ARCS,
    BLOCK,
    CONTROL,
    LAUNCH_ARCS,
    MODES,
    NO_LIMIT,
    PULL_PART,
)
from cugraph_ws.backends.cuda.schedule import room_for_long_rows
from cugraph_ws.backends.planner import Filter, WantedDirection
from cugraph_ws.contract import Choice, Counts
from cugraph_ws.kernels.cuda import layout
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram

__all__ = ["CudaWorklistExecutor"]

ROOM_SHARE = 4  # a list holds one in so many vertices; more are better listed by position
GATHER_PART = 8  # one in so many arcs, from which every vertex gathers, if rows are read in full
MOST_WARPS = 64  # of a multiprocessor
NOBODY = -1  # no worklist runs in a single block


class CudaWorklistExecutor(CudaExecutor):
    """One program on a whole graph, by frontiers whose receivers gather; see `CudaExecutor`.

    It runs any state and any combine, unless the program gathers from all in-neighbours.  If the
    plan chooses a pull, every vertex gathers from its active in-neighbours, in a launch of its own
    with the schedules of dense supersteps.

    Parameters
    ----------
    bound : BoundProgram
        The program, its types and its arguments.
    part : ProgramPart
        Adjacency, edge attributes and constants of the whole graph.
    wanted : {"auto", "push"}
        The directions that supersteps may use.
    filter : {"auto", "online", "ballot"}
        How the worklist is made.  "online" adds vertices as they are marked.  "ballot" lists them
        afterwards, by position.  "auto" is "online" while the list has room, or "ballot" if the
        order would change sums of floats.

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
        super().__init__(bound, part, frontier=True, worklist=True)
        graph = part.laid
        gpu, n, index = self._device, graph.size, graph.numbers.dtype
        xp = gpu.xp
        self._out = graph.csr
        self._marks = xp.zeros(-(-n // 32), np.uint32)
        self._queue = room_for_long_rows(gpu, graph)
        pieces = len(self._queue[0])
        self._parts = (
            tuple(xp.empty(pieces, kind) for kind in bound.types.message),
            xp.empty(pieces, np.uint8),
        )
        self._lists = [xp.empty(n, index) for _ in range(3)]
        warps = MOST_WARPS * gpu.multiprocessors
        self._shares = xp.empty(warps, np.int64)
        self._totals = xp.empty(warps * self._width, np.float64)
        self._counters = xp.zeros(CONTROL + 1, np.int64)
        self._frontiers = self._counters[:CONTROL]
        self._history = xp.zeros(0, np.int64)
        self._began = self._pulled = self._turned = False
        if filter == "auto" and _order_shows(bound):
            filter = "ballot"  # noqa: A001
        room = {"auto": n // ROOM_SHARE, "online": n, "ballot": 0}[filter]
        share = PULL_PART if bound.program.combine == "any" else GATHER_PART
        self._settings = (
            NO_LIMIT if wanted == "push" else max(1, graph.arcs // share), room,
            NOBODY if filter == "ballot" or bound.program.aggregates else ALONE, ALONE_ARCS,
            LAUNCH_ARCS,
        )  # fmt: skip

    @property
    def _beyond(self) -> Any:
        """Where errors are recorded: after the counters of frontiers."""
        return self._counters[CONTROL:]

    def _take_stock(self) -> None:
        """Prepare the first superstep from the present states and flags."""
        super()._take_stock()
        self._began = self._turned = False
        self._list()

    def _prepare(self) -> None:
        """Leave it to the first superstep that gathers from all: its kernel is not compiled before."""
        self._launches = []

    def _list(self) -> None:
        """List the flagged vertices, and count their out-arcs."""
        self._frontiers[:] = 0
        self._launch(0, 0, 0)

    def _launch(self, number: int, supersteps: int, leave: int) -> None:
        """Run at most `supersteps` supersteps, until a frontier has more than `leave` out-arcs."""
        graph, gpu, now = self._graph, self._device, self._now
        self._frontiers[layout.LISTED : layout.WOKEN] = 0  # the last launch does not clear them
        self._history = gpu.xp.zeros(3 * supersteps, np.int64)
        scratch = (
            self._states[1 - now], self._marks, self._queue, self._parts, self._shares, self._totals,
        )  # fmt: skip
        arguments = (
            graph.size, graph.arcs, (self._out.offsets, self._out.indices),
            (graph.csc.offsets, graph.csc.indices), self._edges, self._program,
            (self._flags[now], self._flags[1 - now]), tuple(self._lists), scratch, number, supersteps,
            leave or NO_LIMIT, self._settings, self._frontiers, self._history,
        )  # fmt: skip
        items = max(graph.size, graph.arcs)
        self._kernels.prepare_together("pull_worklist", items, BLOCK, *arguments)()

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> None:
        """Launch the number of supersteps in the plan; they end when no vertex is active."""
        if self._graph.size == 0:
            return
        if choice.number != self._number:  # resumed
            self._number = choice.number
            self._sums[:] = self._device.xp.asarray(sums)
        self._began = True
        self._pulled = choice.direction == "pull"
        if not self._pulled:
            self._launch(choice.number, choice.supersteps, choice.arcs)
            return
        # The arguments are not marshalled, or the flag arrays were swapped since
        if self._turned or not self._launches:
            super()._prepare()
            self._turned = False
        self._control[:] = 0
        self._control[layout.NUMBER] = choice.number
        self._launches[self._now]()
        self._now = 1 - self._now
        self._list()

    def counts(self) -> Counts:
        """Return the counts of the supersteps since the last call."""
        if self._graph.size == 0:
            return Counts()
        gpu = self._device
        control = gpu.to_host(self._counters)
        senders, self._active = self._active, int(control[layout.COUNT])
        counts = Counts(
            active=self._active,
            arcs=int(control[layout.AHEAD]),
            sums=gpu.to_host(self._sums) if len(self._sums) else np.zeros(0),
            beyond=int(control[CONTROL]),
        )
        if not self._began:
            return counts
        if self._pulled:
            self._number += 1
            counts.read = self._graph.arcs
            counts.history, counts.modes = [(senders, self._graph.arcs)], [("pull", "bitmap")]
            return counts
        done = int(control[layout.STEPS])
        history = gpu.to_host(self._history).reshape(-1, 3)[:done]
        self._number += done
        if done % 2:
            self._flags.reverse()
            self._lists[:2] = self._lists[1::-1]
            self._turned = not self._turned
        counts.read = int(history[:, 1].sum())
        counts.history = [(active, arcs) for active, arcs, _ in history.tolist()]
        counts.modes = [MODES[mode] for mode in history[:, 2].tolist()]
        return counts


def _order_shows(bound: BoundProgram) -> bool:
    """Return whether the order in which messages are combined may change the result."""
    picks = bound.accumulates or bound.program.combine in ("min", "max", "any")
    kinds: list[Any] = [np.dtype(kind) for kind in bound.types.message]
    return not picks and any(kind.kind == "f" for kind in kinds)
