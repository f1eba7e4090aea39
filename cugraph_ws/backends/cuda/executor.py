"""The CUDA engine: one program on a partition in device memory, by the kernels in `kernels/cuda`.

On a whole graph several supersteps are launched at a time.  They decide on the device whether the
run has converged, and the host reads their counts once.  On a partitioned graph an exchange follows
each superstep, and the host reads the lengths of the messages and the counts in one copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.queues import empty_piles
from cugraph_ws.backends.cuda.codegen import (
    EDGE_STATE_LOOPS,
    LOOPS,
    WORKLIST_LOOPS,
    ProgramText,
    Variant,
    frontier_loops,
    has_codes,
    interface_source,
    program_kernels,
    source_fields,
)
from cugraph_ws.backends.cuda.edge_state import EdgeState
from cugraph_ws.backends.cuda.fields_read import sent_fields
from cugraph_ws.backends.cuda.graph import Order
from cugraph_ws.backends.cuda.lists import ListedRows
from cugraph_ws.backends.cuda.out_edges import OutRows
from cugraph_ws.backends.cuda.predecessors import DeviceTrees
from cugraph_ws.backends.cuda.refinement import DeviceRefinement
from cugraph_ws.backends.cuda.schedule import (
    CscLayout,
    Schedule,
    cut_in_two,
    launch_shape,
    layout_of,
)
from cugraph_ws.backends.cuda.start import mark_starters
from cugraph_ws.backends.cuda.streamed_rows import StreamedRows
from cugraph_ws.contract import (
    BoundaryUpdate,
    Choice,
    ChooseWay,
    Counts,
    folded_terms,
    terms_of_none,
)
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cuda import layout
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.codegen import Types
from cugraph_ws.program.scatter import OUT_EDGES
from cugraph_ws.runtime.device import Device, Prepared, device

__all__ = ["CudaExecutor", "counts_of"]

NARROW_TOL = 1e-7  # of a residual; below it no field is stored in fewer bits than declared
_METHODS = {"auto": 0, "ws": 0, **{f"vwc-{lanes}": lanes for lanes in (2, 4, 8, 16, 32)}}
_NORMS = {"l1": layout.L1, "max": layout.MAXIMUM}


class CudaExecutor:
    """One program on one partition; see `cugraph_ws.contract.Executor` for the interface.

    Columns, predecessors and queues are in the partition's order outside, which on a whole graph is
    by vertex number.  Boundaries are given by position.

    Parameters
    ----------
    bound : BoundProgram
        The program, its types and its arguments.
    part : ProgramPart
        Adjacency, edge attributes and constants.
    frontier : bool
        Whether only active vertices send messages.
    in_place : bool
        Whether supersteps write into the state that they read.
    swaps : bool
        Whether states are changed by compare-and-swap; see `CudaFrontierExecutor`.
    ordered : bool
        Whether the program's priorities are honoured; requires `swaps`.
    worklist : bool
        Whether active vertices call the vertices that gather; see `CudaWorklistExecutor`.
    layout_name : str
        The layout of the arcs that dense supersteps read.
    method : {"auto", "ws", "vwc-2", "vwc-4", "vwc-8", "vwc-16", "vwc-32"}
        Warp segmentation with warps and blocks for vertices of high degree, or virtual warps.
    shard_bytes : int, optional
        Shared memory of a shard, for layouts that have shards.
    tol : float, optional
        Bound of the residual at which supersteps stop on the device; a frontier has none.

    Raises
    ------
    InputError
        If there is no such method.

    Attributes
    ----------
    refinement : DeviceRefinement
        Packs updates for peers, and unpacks theirs.
    midway : callable, optional
        Called in the next superstep after the positions from `cut` on are queued, and before the
        others.
    """

    knows_changes_early = False  # lengths are counted while the superstep runs

    def __init__(
        self,
        bound: BoundProgram,
        part: ProgramPart,
        *,
        frontier: bool = False,
        in_place: bool = False,
        swaps: bool = False,
        ordered: bool = False,
        worklist: bool = False,
        layout_name: str = "csc",
        method: str = "auto",
        shard_bytes: int | None = None,
        tol: float | None = None,
    ) -> None:
        self._device: Device = device()
        self._bound = bound
        self._part = part
        self._graph = part.laid
        self._frontier, self._in_place = frontier, in_place
        self._lanes = _METHODS[method]
        self._sizes = {} if shard_bytes is None else {"shard_bytes": shard_bytes}
        self._tol = tol
        self._types = _types_on_gpu(bound, tol)
        program = bound.program
        # All partitions must agree on what peers read, those without arcs too.
        prepared = program.predecessor is None if part.divided else part.arcs > 0
        self._outbox = bound.prepares_ahead and not in_place and not worklist and prepared
        self._layout_class = layout_of(layout_name)
        variant = Variant(
            outbox=self._outbox,
            frontier=frontier,
            in_place=in_place,
            lanes=self._lanes or 32,
            swaps=swaps,
            ordered=ordered,
            layout=self._layout_class.compiled_as,
        )
        if program.listing is not None:
            self._layout_class = ListedRows
        elif part.laid.arcs_on_host and self._layout_class is CscLayout:
            self._layout_class = StreamedRows
        more = (OUT_EDGES,) if program.scatters else EDGE_STATE_LOOPS if program.edge_state else ()
        dense = (*LOOPS, *self._layout_class.loops, *more)
        loops = frontier_loops() if swaps else WORKLIST_LOOPS if worklist else dense
        interface = interface_source(program, self._types, variant)
        self._kernels = program_kernels(self._device, program, interface, loops)
        self._text = ProgramText(program, interface, loops)
        self._constants = part.constants
        # Frontiers that push use bitmaps after the first superstep.
        self._allocate_states(again=frontier and not swaps)
        self._allocate_report()
        self._header_launches: dict[int, Callable[[], None]] = {}
        self._agreement: Callable[[], None] | None = None
        self._agreed = False  # whether the device has the aggregates of all ranks
        self._launches: list[Callable[[], None]] = []
        self._prepared_values: tuple[Any, ...] | None = None
        self.midway: Callable[[], None] | None = None
        self._begun = False  # whether the first part of the next superstep is queued
        self._now = 0  # which copy of the state is the latest
        self._read = 0  # rows of the records that the host has seen
        self._number = 0  # of the next superstep
        self._active = 0
        self._trees: DeviceTrees | None = None
        self._scattering: OutRows | None = None  # along which `scatter` sends

    def _allocate_states(self, *, again: bool) -> None:
        """Allocate copies of the state, of prepared messages and of flags: both copies of flags if `again`."""
        xp, n, program, types = self._device.xp, self._part.size, self._bound.program, self._types
        copies = 1 if self._in_place else 2
        self._states = [tuple(xp.empty(n, kind) for kind in types.state) for _ in range(copies)]
        self._edge_state = (
            EdgeState(self._device, self._part, program) if program.edge_state else None
        )
        # Whether the host decides after each superstep if the run is over
        self._asks = self._part.divided or self._edge_state is not None
        outbox_size = n if self._outbox else 0
        self._outboxes = [
            tuple(xp.empty(outbox_size, kind) for kind in types.message) for _ in range(2)
        ]
        self._flags = [
            xp.empty(n if self._frontier else 0, np.uint8),
            xp.zeros(n if again else 0, np.uint8),
        ]

    def _allocate_report(self) -> None:
        """Allocate what the host reads in one copy: control, lengths of messages, records."""
        xp, terms = self._device.xp, len(self._bound.program.aggregates)
        self._width = layout.FIGURES + terms
        self._sums = xp.zeros(terms, np.float64)
        self._folds = self._bound.program.aggregate_folds
        cuts = np.cumsum(
            [layout.CONTROL, len(self._part.boundaries), layout.RECORDS * self._width]
        ).tolist()
        self._report = xp.zeros(cuts[-1], np.int64)
        self._cuts = cuts[:-1]
        first, second = self._cuts
        self._control, self._lengths = self._report[:first], self._report[first:second]
        self._records = self._report[second:].view(np.float64)
        self._on_host: list[npt.NDArray[np.int64]] | None = None

    @cached_property
    def refinement(self) -> DeviceRefinement:
        """Packs what is sent to other partitions, and unpacks what they send."""
        fields_sent = self._outboxes if self._outbox else [
            tuple(self._states[copy % len(self._states)][place] for place in sent_fields(self._bound.program))
            for copy in range(2)
        ]  # fmt: skip
        return DeviceRefinement(
            self._device, self._kernels, fields_sent, self._flags, in_place=self._in_place,
            frontier=self._frontier, owned=self._part.owned, lengths=self._lengths,
        )  # fmt: skip

    @cached_property
    def _header(self) -> Any:
        """What other GPUs read: the latest record, and the lengths of messages."""
        xp = self._device.xp
        header = xp.zeros(self._width + len(self._lengths), np.float64)
        header[layout.FIGURES : self._width] = xp.asarray(terms_of_none(self._folds))
        return header

    @cached_property
    def _layout(self) -> Any:
        """The layout of the arcs that dense supersteps read; made when it is first needed."""
        program = self._bound.program
        if program.listing is not None:
            return ListedRows(
                self._device, self._part, program.listing, self._types, targets=program.reads_target
            )
        fields = source_fields(program, self._types, outbox=self._outbox)
        return self._layout_class(
            self._device, self._part, self._bound.types.message, tuple(kind for *_, kind in fields),
            **self._sizes,
        )  # fmt: skip

    @property
    def _schedule(self) -> Schedule:
        """The schedule of each class of vertices over the CSC."""
        schedule: Schedule = self._layout.schedule
        return schedule

    @cached_property
    def cut(self) -> int:
        """Where a superstep is cut into two launches; see `cut_in_two`."""
        return cut_in_two(self._part) if self._part.size else 0

    @cached_property
    def _tallies(self) -> Any:
        """Scratch for the counts of each block of a superstep."""
        rows = max(self._layout.blocks, launch_shape(self._device, 32 * self._part.size)[0])
        return self._device.xp.empty(rows * self._width, np.float64)

    # -------------------------------------------------------------------------------- supersteps

    @property
    def types(self) -> Types:
        """The program's types, as its state is stored."""
        return self._types

    @property
    def source(self) -> str:
        """Text of the module that was generated for the program."""
        return self._text()

    def start(self) -> None:
        """Initialise every vertex, ghosts included, and find the active ones."""
        part, flags = self._part, self._flags[0]
        if part.size == 0:
            return
        self._kernels.launch(
            "initialise", *launch_shape(self._device, part.size), part.size, part.vertices,
            part.numbers, self._states[0], self._constants, self._bound.values, self._sums, flags,
        )  # fmt: skip
        if self._frontier and "starts" not in self._bound.program.functions:
            mark_starters(
                self._device, self._bound, part, self._kernels.launch, self._states[0],
                self._constants, self._edges, self._sums, flags,
            )  # fmt: skip
        if not self._bound.program.scatters:
            self._launch_over_edges("initialise_edges")
        self._take_stock()

    def begin(self, columns: Mapping[str, Any]) -> None:
        """Start again from given states."""
        part, program = self._part, self._bound.program
        self.midway, self._begun = None, False
        if part.size == 0:
            return
        for name, column in zip(program.state, self._states[0], strict=True):
            column[:] = columns[name].astype(column.dtype, copy=False)
        if self._frontier and "starts" in program.functions:
            self._kernels.launch(
                "flag_starters", *launch_shape(self._device, part.size), part.size, part.vertices,
                self._states[0], self._constants, self._bound.values, self._sums, self._flags[0],
            )  # fmt: skip
        else:
            self._flags[0][:] = 1
        self._take_stock()

    def _take_stock(self) -> None:
        """Prepare the first superstep from the present states and flags."""
        self._now = self._read = self._number = 0
        self._on_host = None
        self._agreed = False
        part = self._part
        self._control[:] = 0
        self._control[layout.NUMBER] = -1
        self._kernels.launch(
            "take_stock", *launch_shape(self._device, part.size),
            (part.vertices, part.owned, part.size), self._edges, self._states[0],
            self._constants, self._outboxes[0], self._flags[0], self._bound.values, self._sums,
            self._control, self._tallies, self._records, layout.ELSEWHERE if self._asks else 0,
        )  # fmt: skip
        # Initialise ghosts in both copies; later updates are written to both.
        if part.owned < part.size:
            for before, after in ((self._states[0], self._states[-1]), self._outboxes):
                for column, copy in zip(before, after, strict=True):
                    copy[part.owned :] = column[part.owned :]
        # Without a frontier no other argument changes; each round of a run in phases has another seed.
        if self._frontier or self._prepared_values is not self._bound.values:
            self._prepare()

    @cached_property
    def _edges(self) -> tuple[Any, ...]:
        """The edge arrays that messages read, by the CSC, and the array where errors are recorded."""
        noted = [self._beyond] if self._bound.program.notes_errors else []
        state = () if self._edge_state is None else self._edge_state.columns
        return (*self._edge_arrays("csc"), *state, *noted)

    @property
    def _beyond(self) -> Any:
        """Where errors are recorded: in a block that the host reads after each superstep."""
        return self._control[layout.BEYOND :]

    def _edge_arrays(self, order: Order) -> tuple[Any, ...]:
        """Return the program's edge attributes; arrays of constants are empty."""
        return self._part.edges(order)

    def _prepare(self) -> None:
        """Marshal the arguments of a superstep, once for each copy of the state."""
        part = self._part
        self._launches, self._prepared_values = [], self._bound.values
        self.__dict__.pop("_half_launches", None)
        for now in range(2):
            if self._lanes:
                shape = launch_shape(self._device, part.owned * self._lanes)
                launch: Callable[[], None] = self._kernels.prepare(
                    "virtual_warps", *shape, part.vertices, part.owned,
                    *self._arguments(now, self._tallies),
                )  # fmt: skip
            else:
                launch = self._layout.superstep(self._kernels, self._arguments(now, self._tallies))
            self._launches.append(launch)

    @cached_property
    def _half_launches(self) -> list[list[Prepared]]:
        """Supersteps in two launches each, marshalled when a superstep is first cut."""
        halves = self._schedule.parts(self._device, self.cut)
        rows = sum(half.launch[0] for half in halves)
        tallies = self._device.xp.empty(rows * self._width, np.float64)
        return [[self._by_schedule(half, now, tallies) for half in halves] for now in range(2)]

    def _by_schedule(self, schedule: Schedule, now: int, tallies: Any) -> Prepared:
        """Marshal a launch of a superstep, or a part of one, that reads copy `now` of the state."""
        return self._kernels.prepare(
            "superstep", *schedule.launch, schedule.shape, schedule.hubs,
            *self._arguments(now, tallies),
        )  # fmt: skip

    def _arguments(self, now: int, tallies: Any) -> tuple[Any, ...]:
        """Return the kernel arguments that all schedules share."""
        program, part, after = self._bound.program, self._part, 1 - now
        norm = 0
        if self._asks:
            norm = layout.ELSEWHERE
        elif program.residual is not None and not self._frontier:
            norm = _NORMS[program.residual.kind]
        tol = -1.0 if self._tol is None else float(self._tol)
        state, fresh = (self._states[copy % len(self._states)] for copy in (now, after))
        return (
            tuple(part.csc), self._edges, state, fresh, self._constants,
            (self._outboxes[now], self._outboxes[after]), (self._flags[now], self._flags[after]),
            self._bound.values, self._sums, self._control, (tallies, self._records, norm, tol),
        )  # fmt: skip

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> None:
        """Queue the number of supersteps in the plan; they stop at convergence."""
        if self._part.size == 0:
            return
        self._on_host = None
        resumed = choice.number != self._number
        if resumed:
            self._control[layout.NUMBER] = self._number = choice.number
        alone = self._part.divided and not self._agreed  # the device has its own rank's sums only
        if len(self._sums) and (resumed or alone):
            self._sums[:] = self._device.xp.asarray(sums)
        if self._part.divided:
            self.refinement.begin(1 - self._now)
        midway, self.midway = self.midway, None
        begun, self._begun = self._begun, False
        if begun or midway is not None:
            tail, head = self._half_launches[self._now]
            if not begun:
                tail()
            if midway is not None:
                midway()
            head()
            return
        for number in range(min(choice.supersteps, layout.RECORDS - 1)):
            self._launches[(self._now + number) % 2]()

    def counts(self) -> Counts:
        """Return the counts of the supersteps since the last call."""
        if self._part.size == 0:
            return Counts(sums=terms_of_none(self._folds), folds=self._folds)
        control, _, log = self._report_on_host()
        rows = int(control[layout.ROW])
        new = range(self._read, rows)
        records = log.view(np.float64).reshape(layout.RECORDS, self._width)
        figures = [records[row % layout.RECORDS] for row in new]
        first = self._read == 0
        supersteps = len(figures) - first
        self._read = rows
        self._now = (self._now + supersteps) % 2
        self._number += supersteps
        arcs = self._part.arcs
        history = [(self._part.owned, arcs)] * supersteps
        if self._frontier:
            active = [int(record[layout.ACTIVE]) for record in figures]
            history = [
                (senders, arcs) for senders in (active if first else [self._active, *active])[:-1]
            ]
        counts = counts_of(figures[-1], arcs, history)
        counts.folds = self._folds
        counts.beyond = int(control[layout.BEYOND])
        self._active = counts.active
        counts.changes = [
            (float(record[layout.TOTAL]), float(record[layout.GREATEST]))
            for record in figures[first:]
        ]
        return counts

    @property
    def _state(self) -> tuple[Any, ...]:
        return self._states[self._now % len(self._states)]

    @property
    def _program(self) -> tuple[Any, ...]:
        """The present state, and the constants, parameters and sums that the program reads."""
        return self._state, self._constants, self._bound.values, self._sums

    def _report_on_host(self) -> list[npt.NDArray[np.int64]]:
        """Return control, lengths and records on the host; copied once per superstep."""
        if self._on_host is None:
            self._on_host = np.split(self._device.to_host(self._report), self._cuts)
        return self._on_host

    def begin_next(self) -> None:
        """Queue the first part of the superstep after the queued one.

        If that superstep is never run, the state is intact: this part writes into the older copy.
        """
        if self._part.size:
            self._half_launches[1 - self._now][0]()
            self._begun = True

    # ------------------------------------------------------------------------------ state of edges

    def _launch_over_edges(self, kernel: str, *more: Any) -> None:
        """Launch a kernel that goes through all arcs, if there is state on them."""
        part = self._part
        if self._edge_state is not None and part.arcs:
            self._kernels.launch(
                kernel, *launch_shape(self._device, part.arcs), (part.vertices, part.owned, part.arcs),
                tuple(part.csc), self._edges, self._state, self._constants, self._bound.values, self._sums,
                *more,
            )  # fmt: skip

    def update_edges(self, number: int) -> int:
        """Write the state of edges after superstep `number`; return how many have changed."""
        changed = self._device.xp.zeros(1, np.int64)
        self._launch_over_edges("update_edges", number, changed)
        return int(self._device.to_host(changed)[0])

    def scatter(self, number: int, sums: npt.NDArray[np.float64]) -> bool:
        """Store what vertices send in superstep `number`; return whether one asked for an edge that it lacks."""
        assert self._edge_state is not None
        if self._scattering is None:
            self._scattering = OutRows(
                self._device, self._part, self._bound.program, self._edge_state.columns
            )
        if len(self._sums):
            self._sums[:] = self._device.xp.asarray(sums)
        return self._scattering.send(
            self._kernels.launch,
            self._state,
            self._constants,
            self._bound.values,
            self._sums,
            number,
        )

    def edge_state(self) -> dict[str, Any]:
        """Return the state of edges by field, in the order of the graph's CSC."""
        return {} if self._edge_state is None else self._edge_state.outside()

    def restore_edges(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `edge_state` returned."""
        if self._edge_state is not None:
            self._edge_state.restore(columns)

    # --------------------------------------------------------------------- exchange between GPUs

    def header(self) -> Any:
        """Queue the filling of the header with the last superstep's record and message lengths.

        Returns
        -------
        device array of float64, shape (figures and aggregates + updates + 1,)
            The same array in every superstep; if there are no vertices, their aggregates and zeros.  The last number is not
            written.
        """
        if self._part.size:
            now = self.refinement.now
            if now not in self._header_launches:
                part, slots = self._part, len(self._lengths)
                self._header_launches[now] = self._kernels.prepare(
                    "write_header", *launch_shape(self._device, max(len(self._header), part.size - part.owned)),
                    self._control, self._records, self._lengths, slots, self._header, part.owned, part.size,
                    self._flags[now],
                )  # fmt: skip
                self.refinement.sweep()
            self._header_launches[now]()
        return self._header

    def read_headers(self, headers: Any, ranks: int) -> None:
        """Queue the fold of aggregates over all ranks, which the next superstep reads.

        Parameters
        ----------
        headers : device array of float64, shape (ranks * words,)
            The headers of all ranks, by rank; the same array in every superstep.
        ranks : int
            Number of ranks.
        """
        if self._part.size == 0 or not len(self._sums):
            return
        if self._agreement is None:
            self._agreement = self._kernels.prepare(
                "sum_headers", *launch_shape(self._device, len(self._sums)), headers,
                len(headers) // ranks, ranks, self._sums,
            )  # fmt: skip
        self._agreement()
        self._agreed = True

    def merged_counts(
        self, records: npt.NDArray[np.float64], active: int | None, arcs: int
    ) -> Counts:
        """Return the counts of one superstep over all ranks; the same on all ranks.

        Parameters
        ----------
        records : ndarray of float64, shape (ranks, figures and aggregates)
            The record of each rank.
        active : int or None
            Number of vertices that sent; None if the graph has no vertices.
        arcs : int
            Number of arcs of the whole graph.
        """
        # If a rank has recorded an error, its record is the error's two halves; see `write_header`.
        beyond = [record for record in records if np.isnan(record[layout.ACTIVE])]
        if beyond:
            high, low = int(beyond[0][layout.TOTAL]), int(beyond[0][layout.GREATEST])
            return Counts(beyond=(high << 32) + low, sums=records[0, layout.FIGURES :].copy())
        merged = reduce(np.add, records)
        merged[layout.FIGURES :] = folded_terms(list(records[:, layout.FIGURES :]), self._folds)
        merged[layout.GREATEST] = records[:, layout.GREATEST].max()
        return counts_of(merged, arcs, [] if active is None else [(active, arcs)])

    def advance(self, record: npt.NDArray[np.float64]) -> None:
        """Count one superstep whose record the host has read from a header, not by `counts`.

        Parameters
        ----------
        record : ndarray of float64, shape (figures and aggregates,)
            This rank's record.
        """
        if self._part.size:
            self._read += 1
            self._number += 1
            self._now = 1 - self._now
            self._active = int(np.nan_to_num(record[layout.ACTIVE]))

    # ------------------------------------------------------------------------ boundary exchange

    @property
    def in_parts(self) -> bool:
        """Whether a superstep can be launched in two parts."""
        program = self._bound.program
        undivided = (
            self._lanes or self._frontier or self._in_place or program.jumps or program.edge_state
        )
        return not undivided and bool(self._layout_class.in_parts)

    def pack(
        self, boundary: Any, *, refine: bool | ChooseWay, trees: bool = False
    ) -> BoundaryUpdate:
        """Return the message with the state of `boundary`, owned vertices that are a peer's ghosts."""
        if trees:
            return BoundaryUpdate(None, (self.trees.is_attached(boundary),))
        assert self._on_host is None, "updates are sealed at once, before counts() is called"
        return self.refinement.pack(boundary, refine=bool(refine))

    def seal(self, updates: Sequence[BoundaryUpdate]) -> list[BoundaryUpdate]:
        """Return the messages cut to the filled lengths; waits for the superstep."""
        if self._part.size == 0 or not updates:
            return list(updates)
        lengths = self._report_on_host()[1]
        return [self.refinement.cut(update, lengths) for update in updates]

    def unpack(self, first: int, last: int, update: BoundaryUpdate, *, trees: bool = False) -> None:
        """Update the ghosts at positions [first, last); received ghosts become active."""
        if trees:
            self.trees.attach_ghosts(first, last, update.fields[0])
            return
        self.refinement.unpack(first, last, update)

    # --------------------------------------------------------------------- forest and checkpoint

    @property
    def trees(self) -> DeviceTrees:
        """The predecessor forest; valid after `begin_trees`."""
        assert self._trees is not None
        return self._trees

    def begin_trees(self) -> int:
        """Choose predecessors where a strictly better one exists; return how many are missing."""
        self._trees = DeviceTrees(
            self._device, self._part, self._kernels, self._program, self._number, self._edges,
            coded=has_codes(self._bound.types), forward=self._forward,
        )  # fmt: skip
        return self._trees.begin() if self._part.size else 0

    @property
    def _forward(self) -> tuple[tuple[Any, Any], tuple[Any, ...]] | None:
        """Out-rows that let the forest read fewer arcs, or None; see `DeviceTrees`."""
        return None

    def grow_trees(self) -> int:
        """Attach undecided vertices to attached ones; return how many."""
        return self.trees.grow()

    def recent(self, name: str) -> tuple[Any, Any]:
        """Return a state field before and after the last superstep."""
        place = list(self._bound.program.state).index(name)
        return self._states[1 - self._now][place], self._states[self._now][place]

    def by_position(self, place: int) -> Any:
        """Return the array of a vertex constant."""
        return self._constants[place]

    def predecessors(self) -> Any:
        """Return each owned vertex's predecessor as a vertex number, −1 for none."""
        return self.trees.predecessors()

    def columns(self) -> dict[str, Any]:
        """Return the state fields of the owned vertices."""
        fields = zip(self._bound.program.state, self._state, strict=True)
        return {name: self._part.by_number(column) for name, column in fields}

    def queue(self) -> npt.NDArray[np.int64]:
        """Return 1, 2, … for active vertices and 0 for others; all are active in a dense run."""
        if not self._frontier:
            return np.arange(1, self._part.owned + 1)
        flags = self._device.to_host(self._part.by_number(self._flags[self._now]))
        places: npt.NDArray[np.int64] = np.where(flags != 0, np.cumsum(flags, dtype=np.int64), 0)
        return places

    def schedule(self) -> npt.NDArray[np.float64]:
        """Return empty priority queues; this engine has none."""
        return empty_piles(ordered=True)

    def restore(
        self,
        columns: dict[str, npt.NDArray[Any]],
        queue: npt.NDArray[np.int64],
        schedule: npt.NDArray[np.float64],
    ) -> None:
        """Resume from a checkpoint; columns and queue are in the order outside, ghosts included."""
        xp = self._device.xp
        for name, column in zip(self._bound.program.state, self._states[0], strict=True):
            if name not in columns:
                raise InputError(
                    f"the checkpoint has no column {name!r}; resume with the same program"
                )
            values = columns[name].astype(column.dtype, casting="same_kind")
            column[:] = self._part.laid.by_position(xp.asarray(values))
        if self._frontier:
            active = xp.asarray((queue != 0).astype(np.uint8))
            self._flags[0][:] = self._part.laid.by_position(active)
        if self._part.size:
            self._take_stock()


def _types_on_gpu(bound: BoundProgram, tol: float | None) -> Types:
    """Return a program's types with its state as it is stored on the GPU: narrower if `tol` allows."""
    if tol is not None and 0.0 < tol < NARROW_TOL:
        return bound.types
    fields = zip(bound.types.state, bound.program.state.values(), strict=True)
    stored = tuple(
        kind if declared.on_gpu is None else declared.on_gpu.name for kind, declared in fields
    )
    return replace(bound.types, state=stored)


def counts_of(record: npt.NDArray[np.float64], arcs: int, history: list[tuple[int, int]]) -> Counts:
    """Return the counts of supersteps from the record of the last one.

    Parameters
    ----------
    record : ndarray of float64, shape (figures and aggregates,)
    arcs : int
        Number of arcs of the partition; each superstep reads all of them.
    history : list of (int, int)
        For each superstep, the number of active vertices and of arcs.

    Returns
    -------
    Counts
    """
    return Counts(
        active=int(record[layout.ACTIVE]),
        arcs=arcs,
        read=arcs * len(history),
        total_change=float(record[layout.TOTAL]),
        greatest_change=float(record[layout.GREATEST]),
        history=history,
        sums=record[layout.FIGURES :].copy(),
    )
