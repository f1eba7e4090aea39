"""The CUDA engine's frontiers: many supersteps of active vertices in one cooperative launch."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.codegen import Variant, has_codes, interface_source, program_kernels
from cugraph_ws.backends.cuda.executor import CudaExecutor
from cugraph_ws.backends.cuda.fields_read import reads_states_alone
from cugraph_ws.backends.cuda.schedule import launch_shape, room_for_long_rows
from cugraph_ws.backends.planner import Filter, WantedDirection
from cugraph_ws.contract import Choice, Counts
from cugraph_ws.kernels.cuda import layout
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.device import Prepared

__all__ = ["CudaFrontierExecutor"]

BLOCK = layout.FRONTIER_BLOCK
PUSH_BLOCK = 256  # threads
ROOM_SHARE = 1  # a list holds one in so many vertices; a larger frontier is a bitmap
ALONE, ALONE_ARCS = 256, 1 << 12  # vertices and out-arcs that a single block handles
PULL_PART = 12  # a frontier with one in so many of the unread arcs is pulled
# A frontier with more than one in LARGE_PART of all arcs, and more than LEAST_LARGE, is pushed by a launch of its own
LARGE_PART, LEAST_LARGE = 1024, 1 << 18
DUE_PART = 32  # a limit of priorities should release one in so many vertices
NO_LIMIT = 1 << 62
AS_ALLOWED = 0  # supersteps of a launch, if the GPU itself decides how many
# Places of a launch's arguments: the number of its first superstep, the most supersteps, and the
# arcs that end it
NUMBER_AT, STEPS_AT, LEAVE_AT = 9, 10, 11
PULL_NUMBER_AT, PULL_STEPS_AT = 6, 7  # the same in the kernel that begins a pull
PUSH_NUMBER_AT, PUSH_STEPS_AT, PUSH_LEAVE_AT = 6, 7, 8  # the same in `push_large`
COMPARED_NUMBER_AT = 3  # the same in the kernel that follows a gather
VERTICES_A_THREAD = 8  # in the kernel that begins a pull
LONGEST = 1024  # supersteps of a launch, at most
GLANCE = 64  # supersteps whose history the host reads along with the control
CONTROL = 32  # numbers in the control
LAUNCH_ARCS = 1 << 33  # after so many arcs a launch returns to the host
PULLS = 4  # launches before the host reads the control; each may begin with a pull
MODES = {  # direction and filter, by the bits in a record
    0: ("push", "online"),
    layout.BALLOT: ("push", "ballot"),
    layout.PULL: ("pull", "bitmap"),
    layout.ALONE: ("push", "online"),
    layout.ALONE + layout.BALLOT: ("push", "ballot"),
}
_DIRECTIONS = {"auto": layout.AUTO, "push": layout.PUSH, "pull": layout.PULL}


def _large_push(arcs: int) -> int:
    """Return the out-arcs of a frontier above which `push_large` pushes it, of a graph with so many arcs."""
    return max(LEAST_LARGE, arcs // LARGE_PART)


class CudaFrontierExecutor(CudaExecutor):
    """One program on a whole graph, by frontiers; see `CudaExecutor`.

    The graph makes out-neighbours, and edge attributes in their order, when they are first needed,
    and keeps them.  A subclass runs on a shard.

    Parameters
    ----------
    bound : BoundProgram
        A program for which `why_not_swapped` finds no reason.
    part : ProgramPart
        Adjacency, edge attributes and constants.
    wanted : {"auto", "push", "pull"}
        The directions that supersteps may use.
    filter : {"auto", "online", "ballot"}
        How frontiers are listed.  "online" lists the next frontier during the superstep.  "ballot"
        lists it afterwards from a bitmap.  "auto" is online while the list has room.
    ordered : bool
        Whether the program's priorities are honoured.

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
        ordered: bool = False,
    ) -> None:
        super().__init__(bound, part, frontier=True, in_place=True, swaps=True, ordered=ordered)
        graph = part.laid
        xp, n, index = self._device.xp, graph.size, graph.numbers.dtype
        self._rows = graph.csr if wanted != "pull" else graph.csc
        words = -(-n // 32)
        # One array, cleared at once: two frontiers' bitmaps, then that of postponed vertices.
        self._marks = xp.empty((3 if ordered else 2) * words, np.uint32)
        self._bitmaps = (self._marks[:words], self._marks[words : 2 * words])
        self._later = self._marks[2 * words :]
        self._queue = room_for_long_rows(self._device, graph)
        near = min(n, layout.NEAR_ROWS)
        self._lists = tuple(
            (xp.empty(n, index), xp.empty(near, np.int64), xp.empty(near, np.int32))
            for _ in range(2)
        )
        self._horizon = xp.empty(8, np.float64)
        # What the host reads in one copy: counters for the next superstep, history of the others.
        self._figures = xp.zeros(CONTROL + 3 * LONGEST, np.int64)
        self._frontiers, self._history = self._figures[:CONTROL], self._figures[CONTROL:]
        self._launches_in_row, self._most = PULLS, 0
        self._pulls = wanted == "pull"
        self._began = self._gathered = False
        room = {"auto": n // ROOM_SHARE, "online": n, "ballot": 0}[filter]
        if wanted == "auto" and "settled" not in bound.program.functions:
            wanted = "push"  # a pull that does not end early costs more than a gather from all
        listed_freely = filter != "online" and not ordered
        self._settings = (
            _DIRECTIONS[wanted], room, ALONE, ALONE_ARCS, PULL_PART, max(1, n // DUE_PART), LAUNCH_ARCS,
            self._lead(), graph.vertices_with(1), _large_push(graph.arcs) if listed_freely else NO_LIMIT,
        )  # fmt: skip

    def _lead(self) -> int:
        """Return the position from which pulling vertices read first: the highest degrees."""
        return 0

    @cached_property
    def _both_edges(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The program's edge attributes in the order of the rows of out- and of in-neighbours."""
        return self._edges if self._pulls else self._edge_arrays("csr"), self._edges

    def _take_stock(self) -> None:
        """Make the first frontier from the flagged vertices."""
        n = self._graph.size
        self._number = 0
        self._began = False
        self._figures.fill(0)
        self._frontiers[layout.UNREAD] = self._graph.arcs
        self._marks.fill(0)
        if len(self._later):
            self._horizon.fill(0.0)
            self._horizon[layout.LIMIT] = -np.inf
            self._horizon[layout.LEAST] = np.inf
        self._kernels.launch(
            "enlist", *launch_shape(self._device, n), n, self._flags[0], self._rows.offsets,
            self._bitmaps[0], self._frontiers,
        )  # fmt: skip

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> None:
        """Launch the number of supersteps in the plan; they end when no vertex is active."""
        if self._graph.size == 0:
            return
        self._begin_with(choice.number)
        self._gathered = choice.direction == "gather"
        if self._gathered:
            self._gather(choice.number)
            return
        steps = min(choice.supersteps, LONGEST)
        # Clear the counters and the history of earlier launches
        self._figures[layout.STEPS : CONTROL + 3 * steps].fill(0)
        self._most = steps
        self._advance(
            choice.number, steps, choice.arcs or NO_LIMIT, min(self._launches_in_row, steps)
        )

    def _begin_with(self, number: int) -> None:
        """Set the number of the next superstep; the first one after a resumption may be odd."""
        if not self._began and number % 2:
            even, odd = self._bitmaps
            odd[:] = even
            even[:] = 0
        self._number = number
        self._began = True

    def _advance(self, number: int, supersteps: int, leave: int, launches: int = 1) -> None:
        """Run supersteps until a frontier exceeds `leave` arcs.

        Large pushes, and beginnings of pulls, have launches of their own, queued before each of the main ones.
        """
        first, traversal = self._traversal
        for place, value in ((NUMBER_AT, number), (STEPS_AT, supersteps), (LEAVE_AT, leave)):
            traversal.change(place, value)
        arguments = number, supersteps, leave
        for launch, places in first:
            for place, value in zip(places, arguments, strict=False):
                launch.change(place, value)
        for _ in range(launches if first else 1):  # those with no work left return at once
            for launch, _ in first:
                launch()
            traversal()

    @cached_property
    def _traversal(self) -> tuple[list[tuple[Prepared, tuple[int, ...]]], Prepared]:
        """Marshalled launches: of a large push and the begin of a pull, if there may be any, and the main one.

        The first two come with the places of the arguments that change; see `kernels/cuda/push.py`,
        `kernels/cuda/pull.py` and `kernels/cuda/frontier.py`.
        """
        graph, gpu = self._graph, self._device
        program, frontiers = self._program, (self._bitmaps, self._lists)
        backward = (graph.csc.offsets, graph.csc.indices)
        first: list[tuple[Prepared, tuple[int, ...]]] = []
        if self._settings[0] != layout.PULL and graph.arcs > self._settings[-1]:
            push = self._kernels.prepare_together(
                "push_large", max(graph.size, graph.arcs), PUSH_BLOCK, graph.size, tuple(self._rows),
                self._both_edges[0], program, frontiers, self._queue, 0, 1, NO_LIMIT, self._settings,
                self._frontiers, self._history,
            )  # fmt: skip
            first.append((push, (PUSH_NUMBER_AT, PUSH_STEPS_AT, PUSH_LEAVE_AT)))
        if self._settings[0] != layout.PUSH:
            items = -(-graph.size // VERTICES_A_THREAD)
            pull = self._kernels.prepare(
                "pull_alone", *launch_shape(gpu, items), graph.size, backward, self._rows.offsets,
                self._both_edges[1], program, frontiers, 0, 1, self._settings, self._frontiers,
                self._history,
            )  # fmt: skip
            first.append((pull, (PULL_NUMBER_AT, PULL_STEPS_AT)))
        arguments = (
            graph.size, graph.arcs, tuple(self._rows), backward, self._both_edges, program, frontiers,
            self._later, self._queue, 0, 1, NO_LIMIT, self._settings, self._horizon, self._frontiers,
            self._history,
        )  # fmt: skip
        items = max(graph.size, graph.arcs)
        return first, self._kernels.prepare_together("traverse", items, BLOCK, *arguments)

    def _gather(self, number: int) -> None:
        """Gather from all in-neighbours of every vertex; changed ones are the next frontier."""
        before, gather, comparisons = self._gathering
        for old, column in zip(before, self._states[0], strict=True):
            old[:] = column
        self._control[:] = 0
        self._control[layout.NUMBER] = number
        gather()
        self._frontiers.fill(0)
        compare = comparisons[(number + 1) % 2]
        compare.change(COMPARED_NUMBER_AT, number)
        compare()

    @cached_property
    def _gathering(self) -> tuple[tuple[Any, ...], Prepared, list[Prepared]]:
        """Old states, a launch that gathers in place, and launches that find changed vertices.

        There are two of the last, for frontiers of even and of odd supersteps.
        """
        bound, graph, schedule = self._bound, self._graph, self._schedule
        program = bound.program
        interface = interface_source(program, self._types, Variant(in_place=True, lanes=32))
        kernels = program_kernels(self._device, program, interface)
        state, n = self._states[0], graph.size
        before = tuple(self._device.xp.empty_like(column) for column in state)
        nothing = tuple(self._device.xp.empty(0, kind) for kind in self._types.message)
        gather = kernels.prepare(
            "superstep", *schedule.launch, schedule.shape, schedule.hubs,
            (graph.csc.offsets, graph.csc.indices), self._edges, state, state, self._constants,
            (nothing, nothing), tuple(self._flags), bound.values, self._sums, self._control,
            (self._tallies, self._records, 0, -1.0),
        )  # fmt: skip
        comparisons = [
            self._kernels.prepare(
                "compare", *launch_shape(self._device, n), n, before, self._program, 0,
                self._rows.offsets, bitmap, self._frontiers,
            )
            for bitmap in self._bitmaps
        ]  # fmt: skip
        return before, gather, comparisons

    def counts(self) -> Counts:
        """Return the counts of the supersteps since the last call."""
        if self._graph.size == 0:
            return Counts()
        control = self._device.to_host(self._figures[: CONTROL + 3 * GLANCE])
        active, ahead = int(control[layout.COUNT]), int(control[layout.AHEAD])
        if not self._began:
            self._active = active
            return Counts(active=active, arcs=ahead, sums=np.zeros(0))
        if self._gathered:
            self._number += 1
            senders, self._active = self._active, active
            return Counts(
                active=active, arcs=ahead, read=self._graph.arcs, modes=[("gather", "all")],
                history=[(senders, self._graph.arcs)], sums=np.zeros(0),
            )  # fmt: skip
        self._active = active
        done = int(control[layout.STEPS])
        # After a launch that ran all its supersteps a pull is unlikely.
        self._launches_in_row = PULLS if done < self._most else 1
        rows = control[CONTROL:]
        if done > GLANCE:
            rows = self._device.to_host(self._history[: 3 * done])
        history = rows[: 3 * done].reshape(-1, 3)
        self._number += done
        return Counts(
            active=active,
            arcs=ahead,
            read=int(history[:, 1].sum()),
            history=[(senders, arcs) for senders, arcs, _ in history.tolist()],
            modes=[MODES[mode] for mode in history[:, 2].tolist()],
            sums=np.zeros(0),
        )

    @property
    def _forward(self) -> tuple[tuple[Any, Any], tuple[Any, ...]] | None:
        program, types = self._bound.program, self._bound.types
        few = "settled" in program.functions and has_codes(types) and not types.edges
        is_integer = few and np.dtype(types.state[0]).kind == "i"
        if self._pulls or not is_integer or not reads_states_alone(program, "active"):
            return None
        return self._out_rows

    @property
    def _out_rows(self) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
        return (self._rows.offsets, self._rows.indices), self._both_edges[0]

    @property
    def grows_forward(self) -> bool:
        """Whether trees grow along the out-arcs of attached vertices."""
        return not self._pulls

    def grow_trees(self) -> int:
        """Attach undecided vertices; return how many."""
        return (
            self.trees.grow_forward(*self._out_rows) if self.grows_forward else super().grow_trees()
        )

    def queue(self) -> npt.NDArray[np.int64]:
        """Return 1, 2, … for active vertices, −1 for postponed ones, and 0 for others."""
        if not self._began:
            return super().queue()
        gpu, part = self._device, self._part
        bits = gpu.xp.arange(32, dtype=np.uint32)

        def marked(bitmap: Any) -> npt.NDArray[np.bool_]:
            flags = ((bitmap[:, None] >> bits) & 1).ravel()[: part.size]
            flags_on_host = gpu.to_host(part.by_number(flags.astype(np.uint8)))
            is_marked: npt.NDArray[np.bool_] = flags_on_host != 0
            return is_marked

        active = marked(self._bitmaps[self._number % 2])
        places: npt.NDArray[np.int64] = np.where(active, np.cumsum(active, dtype=np.int64), 0)
        if len(self._later):
            places[marked(self._later) & ~active] = -1
        return places
