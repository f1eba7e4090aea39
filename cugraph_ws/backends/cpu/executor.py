"""The CPU engine: runs one program on one partition, by the loops in `kernels/cpu`, on all cores.

`engine="python"` is this engine with the loops and the user's functions as plain Python, in one
thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import SMALL_WORK, Array, Context, running
from cugraph_ws.backends.cpu.frontier import Frontier, declared_frontier, first_frontier, on_words
from cugraph_ws.backends.cpu.predecessors import PredecessorTrees
from cugraph_ws.backends.cpu.queues import Queues
from cugraph_ws.contract import (
    BoundaryUpdate,
    Choice,
    ChooseWay,
    Counts,
    Entry,
    HostGathersOfRun,
    folded_terms,
)
from cugraph_ws.errors import InputError
from cugraph_ws.graph.arcs import Order
from cugraph_ws.kernels.cpu.frontier import begin_superstep
from cugraph_ws.partition.out_arcs import OutArcs
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.codegen import Types, generated_source
from cugraph_ws.program.scatter import reads_targets
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.threads import cut_evenly, cut_offsets

__all__ = ["CpuExecutor"]

LONG_ROW = 1 << 16  # arcs above which a row is split among threads
FUSED_BUDGET = 1 << 20  # arcs of a fused call, so that time-outs, Ctrl-C and progress are served
FUSED_SUPERSTEPS = 1 << 12
FEW = 64  # vertices whose values are compared first
SUMMED_TOGETHER = 1 << 15  # vertices; fixed, so that rounding does not depend on the threads


class CpuExecutor:
    """One program on one partition; see `cugraph_ws.contract.Executor` for the interface.

    Parameters
    ----------
    bound : BoundProgram
        The program, its types and its arguments.
    part : ProgramPart
        Adjacency, edge attributes and constants.
    in_place : bool
        Whether dense supersteps write into the state that they read.
    ordered : bool
        Whether the program's priorities are honoured.
    plain : bool
        Whether to run as plain Python.
    threads : int, optional
        Most threads; by default one per core.
    layout : str
        What dense supersteps read: "auto", "csc", or what an accelerator has.
    gathers : bool
        Whether every superstep gathers from all in-neighbours.
    tol : float, optional
        Bound of the residual, at which several dense supersteps in one call end.

    Raises
    ------
    EngineError
        If a layout is requested that the program cannot use.
    """

    knows_changes_early = True

    def __init__(
        self,
        bound: BoundProgram,
        part: ProgramPart,
        *,
        in_place: bool = False,
        ordered: bool = False,
        plain: bool = False,
        threads: int | None = None,
        layout: str = "csc",
        gathers: bool = True,
        tol: float | None = None,
    ) -> None:
        self._tol = tol
        self._context = Context(bound, part, plain=plain, threads=threads)
        self._part = part
        self._in_place = in_place
        self._ordered = ordered
        self._fresh: tuple[Array, ...] = ()  # where supersteps write, if not in place
        self._outbox: tuple[Array, ...] = ()  # the message of each vertex
        # In place, others must see a vertex's new state within the superstep.
        self._prepares = bound.prepares and not in_place and len(part.csc.indices) > 0
        host_gathers = provider("accelerators").host_gathers()
        # What gathers of all vertices may go over instead of rows
        self._accelerated: HostGathersOfRun | None = None
        if host_gathers is not None:
            self._accelerated = host_gathers.of_run(
                self._context,
                layout,
                gathers=gathers,
                in_place=in_place,
                plain=plain,
                prepares=self._prepares,
            )
        self._frontier = Frontier(self._context)
        self._queues: Queues | None = None
        arcs = part.arcs
        kinds = bound.program.edge_state_kinds
        self._edge_state = tuple(np.zeros(arcs, kind) for kind in kinds)  # in the order of the CSC
        self._out_arcs: OutArcs | None = None  # along which `scatter` sends
        # Where kernels record an error: a message, or an index of a list, that is out of range
        self._beyond = (np.zeros(1, np.int64),) * bound.program.notes_errors
        self._hubs: list[int] | None = None  # rows that are split among all threads
        self._gathered = bound.gathers_from_all  # whether the last superstep was dense
        self._changed: npt.NDArray[np.bool_] | None = None  # changed in the last superstep; cached
        self._did = Counts()

    @property
    def state(self) -> tuple[Array, ...]:
        """The state fields, each of shape (part.size,)."""
        return self._context.state

    @property
    def types(self) -> Types:
        """The program's types, as its state is stored."""
        return self._context.types

    @property
    def source(self) -> str:
        """Text of the module that was generated for the program."""
        return generated_source(self._context.bound.program, self._context.types)

    def start(self) -> None:
        """Initialise every vertex, ghosts included, and find the active ones."""
        context, part, values = self._context, self._part, self._context.values
        tasks = [
            (*bounds, part.numbers, context.state, part.constants, values)
            for bounds in cut_evenly(part.size, context.pieces(part.size))
        ]
        with running(context.bound.program):
            context.run(context.loops.initialise, tasks)
            if self._edge_state and not context.bound.program.scatters:
                context.run(context.loops.initialise_edges, self._edge_tasks())
            self._frontier.set_list(first_frontier(context))

    def begin(self, columns: Mapping[str, Array]) -> None:
        """Start again from given states."""
        context = self._context
        for name, column in zip(context.bound.program.state, context.state, strict=True):
            np.copyto(column, columns[name], casting="same_kind")
        context.number = 0
        self._queues = self._changed = None
        self._gathered = context.bound.gathers_from_all
        if self._gathered:  # no frontier has to be counted
            arcs = len(self._part.csc.indices)
            self._did = Counts(active=self._part.owned, arcs=arcs)
        with running(context.bound.program):
            self._frontier.set_list(declared_frontier(context))

    def _edges(self, order: Order = "csc") -> tuple[Array, ...]:
        """Return the edge arrays that messages read, and the array where errors are recorded.

        The state of edges is in the order of the CSC whatever `order` is: programs with such state
        read no other order.
        """
        return (*self._part.edges(order), *self._edge_state, *self._beyond)

    def _edge_tasks(self) -> list[tuple[Any, ...]]:
        """Return the arguments of the loops over all arcs, in ranges of rows."""
        context, values = self._context, self._context.values
        rows, edges = context.rows("csc"), self._edges()
        return [
            (*bounds, rows, edges, context.state, self._part.constants, values)
            for bounds in context.row_ranges()
        ]

    def update_edges(self, number: int) -> int:
        """Write the state of edges after superstep `number`; return how many have changed."""
        self._context.number = number
        with running(self._context.bound.program):
            changed = self._context.run(self._context.loops.update_edges, self._edge_tasks())
        return sum(changed)

    def scatter(self, number: int, sums: npt.NDArray[np.float64]) -> bool:
        """Store what vertices send in superstep `number`; return whether one asked for an edge that it lacks."""
        context, part = self._context, self._part
        if (
            self._out_arcs is None
        ):  # no cached property, whose lock would keep ranks in threads from meeting
            reads = reads_targets(context.bound.program)
            self._out_arcs = OutArcs(part, self._edge_state, reads_target=reads)
        out = self._out_arcs
        context.number, context.sums = number, sums
        beyond = np.zeros(1, np.int64)
        out.clear()
        arrays = (out.indices, out.places, out.edges, out.stored, beyond)
        state, constants = map(out.with_targets, (context.state, part.constants))
        offsets = out.offsets[: part.owned + 1]
        ranges = cut_offsets(offsets, context.pieces(len(out.places) + part.owned))
        tasks = [(*bounds, offsets, arrays, state, constants, context.values) for bounds in ranges]
        with running(context.bound.program):
            context.run(context.loops.send_messages, tasks)
        out.deliver()
        return bool(part.halo.totals(int(beyond[0]))[0])

    def edge_state(self) -> dict[str, Array]:
        """Return the state of edges by field, in the order of the CSC."""
        return dict(zip(self._context.bound.program.edge_state, self._edge_state, strict=True))

    def restore_edges(self, columns: dict[str, Array]) -> None:
        """Resume from what `edge_state` returned."""
        for name, column in self.edge_state().items():
            column[:] = columns[name]

    # -------------------------------------------------------------------------------- supersteps

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> None:
        """Run the planned supersteps; `sums` are the aggregates over all partitions."""
        context = self._context
        context.sums, context.number = sums, choice.number
        self._changed = None
        self._gathered = choice.direction == "gather"
        with running(context.bound.program):
            if self._gathered:
                self._did = self._gather_for(choice)
            elif choice.direction == "fused" and context.bound.accumulates:
                self._did = self._push_fused(choice)
            elif choice.direction in ("fused", "scatter"):
                self._did = self._scatter(choice)
            else:
                self._did = self._pull() if choice.direction == "pull" else self._push()

    def counts(self) -> Counts:
        """Return the counts of the last superstep and the next frontier, with ghosts' arcs."""
        counts, self._did = self._did, Counts()
        if not self._gathered:
            counts.active, counts.arcs = self._frontier.count()
            counts.waiting = self._queues.waiting if self._queues is not None else 0
        if not len(counts.sums):
            counts.sums = self._sum_terms()
        counts.folds = self._context.bound.program.aggregate_folds
        counts.beyond = sum(int(one[0]) for one in self._beyond)
        return counts

    def _sum_terms(self) -> npt.NDArray[np.float64]:
        """Return this partition's part of each of the program's aggregates."""
        context, part = self._context, self._part
        aggregates = len(context.bound.program.aggregates)
        if not aggregates:
            return np.zeros(0)
        ranges = cut_evenly(part.owned, 1 + part.owned // SUMMED_TOGETHER)
        totals = np.zeros((len(ranges), aggregates))
        values = context.values
        tasks = [
            (*bounds, context.state, part.constants, values, totals[place])
            for place, bounds in enumerate(ranges)
        ]
        with running(context.bound.program):
            context.run(context.loops.sum_terms, tasks)
        return folded_terms(list(totals), context.bound.program.aggregate_folds)

    def _gather_for(self, choice: Choice) -> Counts:
        """Gather: one superstep, or several if one thread takes all rows, and all terms of sums, in one range."""
        part, accelerated = self._part, self._accelerated
        if accelerated is not None and not accelerated.due():
            accelerated = None
        most = min(SMALL_WORK, LONG_ROW)  # so that no row is split either
        is_small = part.owned < SUMMED_TOGETHER and len(part.csc.indices) + part.owned < most
        if choice.supersteps > 1 and is_small and accelerated is None:
            return self._gather_fused(choice)
        return self._gather(accelerated)

    def _gather(self, accelerated: HostGathersOfRun | None) -> Counts:
        """Gather: every vertex reads all of its in-neighbours."""
        context, part = self._context, self._part
        rows = context.rows("csc")
        fresh = context.state if self._in_place else self._fresh_state()
        arcs = len(rows[1])
        alone = context.threads == 1
        longest = arcs + 1 if alone else max(LONG_ROW, arcs // (4 * context.threads))
        ranges, hubs = context.row_ranges(), self._rows_longer_than(longest)
        if context.bound.program.listing is not None:
            hubs = []  # a list is gathered by one thread
        values, outbox = context.values, self._prepare()
        # A superstep in place has no state to go back to, should the run end within it.
        run = context.run if self._in_place else context.look_and_run
        totals = np.zeros((len(ranges) + len(hubs), 3))
        arguments = (rows, self._edges(), context.state, fresh, part.constants, values)
        listing = context.bound.program.listing
        if listing is not None:
            lists = [(*bounds, *arguments, totals[place]) for place, bounds in enumerate(ranges)]
            loops = context.loops
            run(loops.gather_lists if listing.kind == "list" else loops.gather_modes, lists)
        elif accelerated is not None:
            accelerated.gather(outbox, fresh, longest, ranges, totals)
        else:
            tasks = [
                (*bounds, longest, *arguments, self._prepares, outbox, totals[place])
                for place, bounds in enumerate(ranges)
            ]
            run(context.loops.gather, tasks)
        for place, vertex in enumerate(hubs, start=len(ranges)):
            self._gather_long_row(vertex, fresh, outbox, totals[place])
        if not self._in_place:
            for old, new in zip(context.state, fresh, strict=True):
                new[part.owned :] = old[part.owned :]  # ghosts that no message updates
            context.state, self._fresh = fresh, context.state
        return Counts(
            active=int(totals[:, 0].sum()),
            arcs=arcs,
            read=arcs,
            total_change=float(totals[:, 1].sum()),
            greatest_change=float(totals[:, 2].max(initial=0.0)),
            history=[(part.owned, arcs)],
            layout="" if accelerated is None else accelerated.layout,
        )

    def _gather_fused(self, choice: Choice) -> Counts:
        """Run several dense supersteps in one call, in one thread."""
        context, part = self._context, self._part
        rows, states = context.rows("csc"), (context.state, self._fresh_state())
        program, arcs = context.bound.program, len(rows[1])
        norm = 0 if program.residual is None else 1 if program.residual.kind == "l1" else 2
        most = min(choice.supersteps, FUSED_SUPERSTEPS, 1 + FUSED_BUDGET // (1 + arcs + part.owned))
        sums, changes = np.zeros((2, len(context.sums))), np.zeros((most, 3))
        sums[0] = context.sums
        steps = context.loops.gather_fused(
            rows, self._edges(), states, part.constants, context.values, self._prepares,
            self._open_outbox(), sums, norm, -1.0 if self._tol is None else self._tol, changes,
        )  # fmt: skip
        context.state, self._fresh = states[steps % 2], states[1 - steps % 2]
        context.sums, context.number = sums[0], choice.number + steps - 1
        totals = changes[:steps].tolist()
        active, change, greatest = totals[-1]
        return Counts(
            active=int(active),
            arcs=arcs,
            read=arcs * steps,
            total_change=change,
            greatest_change=greatest,
            history=[(part.owned, arcs)] * steps,
            sums=sums[1],
            changes=[(total, largest) for _, total, largest in totals],
        )

    def _rows_longer_than(self, longest: int) -> list[int]:
        """List the owned vertices with more than `longest` in-arcs."""
        if self._hubs is None:
            self._hubs = np.flatnonzero(np.diff(self._context.rows("csc")[0]) > longest).tolist()
        return self._hubs

    def _open_outbox(self) -> tuple[Array, ...]:
        """Return arrays for the message of each vertex, or empty ones if messages differ by arc."""
        if not self._outbox:
            size = self._part.size if self._prepares else 0
            self._outbox = tuple(np.empty(size, kind) for kind in self._context.bound.types.message)
        return self._outbox

    def _prepare(self) -> tuple[Array, ...]:
        """Compute the message of each vertex once, not per arc; nothing if messages differ by arc."""
        context, part = self._context, self._part
        if self._prepares:
            edges, values = self._edges(), context.values
            tasks = [
                (*bounds, edges, context.state, part.constants, values, self._open_outbox())
                for bounds in cut_evenly(part.size, context.pieces(part.size))
            ]
            context.run(context.loops.prepare, tasks)
        return self._open_outbox()

    def _gather_long_row(
        self,
        vertex: int,
        fresh: tuple[Array, ...],
        outbox: tuple[Array, ...],
        totals: npt.NDArray[np.float64],
    ) -> None:
        """Compute a hub, with a part of its row on each thread."""
        context, part = self._context, self._part
        offsets, indices = context.rows("csc")
        first, values = int(offsets[vertex]), context.values
        tasks = [
            (
                vertex, first + low, first + high, indices, self._edges(), context.state,
                part.constants, values, self._prepares, outbox,
            )
            for low, high in cut_evenly(int(offsets[vertex + 1]) - first, context.threads)
        ]  # fmt: skip
        parts = context.run(context.loops.gather_part, tasks)
        gathered = parts[0]
        for part_value in parts[1:]:
            gathered = context.loops.merge_parts(gathered, part_value)
        context.loops.finish(
            vertex, gathered, context.state, fresh, part.constants, context.values, totals
        )

    def _pull(self) -> Counts:
        """Pull: every vertex reads its active in-neighbours."""
        context, part = self._context, self._part
        rows = context.rows("csc")
        senders = self._frontier.count()[0]
        if self._queues is not None:
            self._queues.marks[self._frontier.as_list()] = 0
        frontier = self._frontier.as_bitmap()
        following = np.zeros_like(frontier)
        fresh = context.state
        # If messages count once, none may be computed from a state of this superstep.  If a state
        # has several fields, none may be computed from a half-written one.
        if not context.bound.accumulates or len(context.state) > 1:
            fresh = self._fresh_state()
            for old, new in zip(context.state, fresh, strict=True):
                np.copyto(new, old)
        ranges = on_words(context.row_ranges())
        values = context.values
        totals = np.zeros((len(ranges), 3), np.int64)
        tasks = [
            (
                *bounds, rows, self._edges(), context.state, fresh, part.constants,
                values, (frontier, following), totals[place],
            )
            for place, bounds in enumerate(ranges)
        ]  # fmt: skip
        context.run(context.loops.pull, tasks)
        if fresh is not context.state:
            context.state, self._fresh = fresh, context.state
        self._frontier.set_bitmap(following)
        read = int(totals[:, 1].sum())
        return Counts(read=read, history=[(senders, read)])

    def _push(self) -> Counts:
        """Push: active vertices change their out-neighbours, in place."""
        context, part, queues = self._context, self._part, self._open_queues()
        rows = context.rows("csr")
        frontier = self._frontier.as_list()
        senders = self._frontier.count()[0]
        prefix = np.empty(len(frontier) + 1, np.int64)
        begin_superstep(frontier, rows[0], queues.marks, prefix)
        arcs = int(prefix[-1])
        ranges = cut_evenly(arcs, context.pieces(arcs))
        room = [min(part.owned, high - low) for low, high in ranges]
        near = [np.empty(most, context.index) for most in room]
        pending = [np.empty(most if queues.ordered else 0, context.index) for most in room]
        totals = np.zeros((len(ranges), 2), np.int64)
        values = context.values
        tasks = [
            (
                *bounds, frontier, prefix, rows, self._edges("csr"), context.state, part.constants,
                values, (queues.marks, queues.locks, near[place], pending[place]),
                queues.limit, totals[place],
            )
            for place, bounds in enumerate(ranges)
        ]  # fmt: skip
        context.run(context.loops.push, tasks)
        queued = [queue[:size] for queue, size in zip(near, totals[:, 0], strict=True)]
        self._frontier.set_list(np.concatenate([np.empty(0, context.index), *queued]))
        if queues.ordered:
            for queue, size in zip(pending, totals[:, 1], strict=True):
                queues.file(queue[:size], self._frontier)
            queues.balance(self._frontier)
        return Counts(read=arcs, history=[(senders, arcs)])

    def _push_fused(self, choice: Choice) -> Counts:
        """Run several supersteps in one call, in one thread."""
        context, part, queues = self._context, self._part, self._open_queues()
        listed = self._frontier.as_list()
        near, spare = np.empty((2, part.size), context.index)
        near[: len(listed)] = listed
        sizes, limits, history = self._limits_of(choice)
        steps = context.loops.push_fused(
            sizes, context.rows("csr"), self._edges("csr"), context.state, part.constants,
            context.values, (queues.marks, near, spare), queues.piles, limits, history,
        )  # fmt: skip
        self._frontier.set_list((near, spare)[steps % 2][: sizes[0]].copy())
        rows = [(active, arcs) for active, arcs in history[:steps].tolist()]
        return Counts(read=sum(arcs for _, arcs in rows), history=rows)

    def _limits_of(self, choice: Choice) -> tuple[Array, Array, Array]:
        """Return the size of the frontier, the limits, and the history of a call of several supersteps."""
        arcs = self._frontier.count()[1]
        sizes = np.array([len(self._frontier.as_list()), arcs], dtype=np.int64)
        history = np.empty((min(choice.supersteps, FUSED_SUPERSTEPS), 2), np.int64)
        most = max(choice.arcs, arcs)
        return sizes, np.array([most, FUSED_BUDGET, len(history)], dtype=np.int64), history

    def _scatter(self, choice: Choice) -> Counts:
        """Scatter: active vertices fill inboxes, receivers empty them; one superstep or several."""
        context, part, queues = self._context, self._part, self._open_queues()
        listed, (senders, arcs) = self._frontier.as_list(), self._frontier.count()
        inbox = tuple(np.empty(part.owned, kind) for kind in context.bound.types.message)
        frontier, receivers = np.empty((2, part.size), context.index)
        frontier[: len(listed)] = listed
        sizes, limits, history = self._limits_of(choice)
        steps = context.loops.scatter_fused(
            sizes, context.rows("csr"), self._edges("csr"), context.state, part.constants,
            context.values, inbox, queues.marks, (frontier, receivers), limits, history,
        )  # fmt: skip
        self._frontier.set_list(frontier[: sizes[0]].copy())
        # Without ghosts, and also if nothing is active in this partition
        history[0] = senders, arcs
        rows = [(active, arcs) for active, arcs in history[: max(1, steps)].tolist()]
        fused = choice.direction == "fused"
        return Counts(
            read=sum(arcs for _, arcs in rows),
            history=rows,
            modes=[("scatter", "list")] * len(rows) if fused else [],
        )

    def _fresh_state(self) -> tuple[Array, ...]:
        if not self._fresh:
            self._fresh = tuple(np.empty_like(column) for column in self._context.state)
        return self._fresh

    def _open_queues(self) -> Queues:
        if self._queues is None:
            self._queues = Queues(self._context, ordered=self._ordered)
        return self._queues

    # ------------------------------------------------------------------------ boundary exchange

    def pack(
        self, boundary: npt.NDArray[np.int64], *, refine: bool | ChooseWay, trees: bool = False
    ) -> BoundaryUpdate:
        """Return the message with the state of `boundary`, owned vertices that are a peer's ghosts."""
        if trees:
            return BoundaryUpdate(None, (self._trees.is_attached(boundary),))
        places = active = None
        changed = self._find_changed()[boundary]
        useful = int(np.count_nonzero(changed))
        if not isinstance(refine, bool):

            def alike() -> bool:  # a level of a search, say
                which = boundary[changed]
                columns = self._context.state
                return all(
                    (column[some] == column[which[0]]).all()
                    for some in (which[:FEW], which)  # most that differ do so among the first
                    for column in columns
                )

            width = sum(column.itemsize for column in self._context.state)
            place = np.dtype(self._context.index).itemsize
            entry = Entry(width, place, 0 if self._gathered else 1)
            way = refine(useful, len(boundary), entry, alike)
            if way == "bits":
                first = boundary[changed.argmax()]
                fields = tuple(column[first : first + 1].copy() for column in self._context.state)
                return BoundaryUpdate(None, fields, None, useful, np.packbits(changed))
            refine = way == "vr"
        if refine:
            places = np.flatnonzero(changed).astype(self._context.index)
            boundary = boundary[places]
        elif not self._gathered:
            active = changed
        fields = tuple(column[boundary] for column in self._context.state)
        return BoundaryUpdate(places, fields, active, useful)

    def seal(self, updates: Sequence[BoundaryUpdate]) -> list[BoundaryUpdate]:
        """Return the messages unchanged: they have been filled."""
        return list(updates)

    def _find_changed(self) -> npt.NDArray[np.bool_]:
        """Return for every position whether its ghosts are stale; computed once per superstep."""
        if self._changed is not None:
            return self._changed
        self._changed = changed = np.zeros(self._part.size, np.bool_)
        if not self._gathered:
            changed[self._frontier.as_list()] = True
        elif self._in_place:
            changed[:] = True
        else:
            for old, new in zip(self._fresh, self._context.state, strict=True):
                changed |= old != new
        return changed

    def unpack(self, first: int, last: int, update: BoundaryUpdate, *, trees: bool = False) -> None:
        """Update the ghosts at positions [first, last); received ghosts become active."""
        ghosts = np.arange(first, last, dtype=self._context.index)
        if trees:
            self._trees.attach_ghosts(ghosts[update.fields[0]])
            return
        update = update.unfolded()
        if update.places is not None:
            ghosts = ghosts[update.places]
        for column, values in zip(self._context.state, update.fields, strict=True):
            column[ghosts] = values
        if not self._gathered:
            self._frontier.add(ghosts if update.active is None else ghosts[update.active])

    # --------------------------------------------------------------------- forest and checkpoint

    @cached_property
    def _trees(self) -> PredecessorTrees:
        return PredecessorTrees(self._context)

    def begin_trees(self) -> int:
        """Choose predecessors where a strictly better one exists; return how many are missing."""
        with running(self._context.bound.program):
            return self._trees.begin()

    def grow_trees(self) -> int:
        """Attach undecided owned vertices to attached ones; return how many."""
        return self._trees.grow()

    def recent(self, name: str) -> tuple[Array, Array]:
        """Return a state field before and after the last superstep."""
        place = list(self._context.bound.program.state).index(name)
        return self._fresh[place], self._context.state[place]

    def by_position(self, place: int) -> Array:
        """Return the array of a vertex constant."""
        column: Array = self._part.constants[place]
        return column

    def predecessors(self) -> npt.NDArray[np.int64]:
        """Return each owned vertex's predecessor as a vertex number, −1 for none."""
        return self._trees.predecessors()

    def columns(self) -> dict[str, Array]:
        """Return the state fields of the owned vertices."""
        fields = zip(self._context.bound.program.state, self._context.state, strict=True)
        return {name: column[: self._part.owned] for name, column in fields}

    def queue(self) -> npt.NDArray[np.int64]:
        """Return each owned vertex's place in the frontier, from 1; −1 if postponed; else 0."""
        queue = np.zeros(self._part.size, np.int64)
        if self._queues is not None:
            queue[self._queues.later()] = -1
        active = self._frontier.as_list()
        queue[active] = np.arange(1, len(active) + 1)
        return queue[: self._part.owned]

    def schedule(self) -> npt.NDArray[np.float64]:
        """Return the scalars of the priority queues, for a checkpoint."""
        return self._open_queues().numbers()

    def restore(
        self,
        columns: dict[str, Array],
        queue: npt.NDArray[np.int64],
        schedule: npt.NDArray[np.float64],
    ) -> None:
        """Resume from a checkpoint; columns and queue are by position, ghosts included."""
        self._gathered = False
        fields = zip(self._context.bound.program.state, self._context.state, strict=True)
        for name, column in fields:
            if name not in columns:
                raise InputError(
                    f"the checkpoint has no column {name!r}; resume with the same program"
                )
            np.copyto(column, columns[name], casting="same_kind")
        active = np.flatnonzero(queue > 0)
        self._frontier.set_list(active[np.argsort(queue[active])].astype(self._context.index))
        later: Array = np.flatnonzero(queue < 0).astype(self._context.index)
        if self._ordered:
            self._open_queues().restore(schedule, later[later < self._part.owned], self._frontier)
        else:  # this run ignores priorities
            self._frontier.add(later)
