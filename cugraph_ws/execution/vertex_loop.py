"""A vertex program as a loop of supersteps over a graph, or over a rank's shard of one."""

from __future__ import annotations

import copy
import logging
import math
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.queues import check_piles
from cugraph_ws.contract import (
    BetweenSuperstepsOfRun,
    Counts,
    Executor,
    Planner,
    StartedBetweenSupersteps,
    Strategy,
    choose_engine,
)
from cugraph_ws.errors import ConvergenceError, InputError, ProgramError
from cugraph_ws.execution.jumps import Jumps
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.plain_errors import naming_errors
from cugraph_ws.execution.profile import Traffic, traffic_of
from cugraph_ws.execution.run_memory import program_memory
from cugraph_ws.execution.stall import FIRST_COMPARED, Repetition
from cugraph_ws.execution.unexpected_nan import warn_of_nan
from cugraph_ws.frames.base import Below, Masked, VertexNumbers
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.cut import own_constants
from cugraph_ws.partition.exchange import Exchange
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.partition.ways import names_of
from cugraph_ws.program.binding import BoundProgram, bind, program_on, with_draws_by_row
from cugraph_ws.program.combines import out_of_range
from cugraph_ws.program.declarations import EdgeState
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.infinity import STORED
from cugraph_ws.program.lists import beyond_list
from cugraph_ws.program.phases import Phases
from cugraph_ws.program.randomness import SEED, seed_of_phase
from cugraph_ws.program.typed import typed_function
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.looks import without_looks
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["VertexLoop", "as_columns"]

LOG = logging.getLogger("cugraph_ws")


class VertexLoop(Loop):
    """Runs a vertex program; see `cugraph_ws.execution.loop.Loop` for the interface.

    Parameters
    ----------
    program : VertexProgram
        The program.
    arguments : mapping
        Its parameters, vertex values and vertex sets.
    options : Options
        Options of the run.
    threads : int, optional
        Maximum number of threads; all cores if not given.
    phase : bool
        Whether states may be those that another program has left.

    Attributes
    ----------
    engine : str
        The requested engine; once started, the engine in use.
    bound : BoundProgram
        The program bound to the graph, once started.
    """

    ends_within_steps = True  # in supersteps that do not write into the state that they read

    def __init__(
        self,
        program: VertexProgram,
        arguments: Mapping[str, Any],
        options: Options,
        *,
        threads: int | None = None,
        phase: bool = False,
    ) -> None:
        program = program.current()
        self.name, self.may_not_end = program.name, not program.built_in
        self.max_iter = program.max_iter if options.max_iter is None else options.max_iter
        self.tol = program.tol if options.tol is None else options.tol
        self._program = program
        self._arguments = arguments
        choose_engine(options.engine)
        self.engine: str = options.engine
        self._options = options
        self._in_place = (
            program.in_place if options.plan.in_place is None else options.plan.in_place
        )
        self._threads = threads
        self._phase = phase
        self._predecessors = options.predecessors and program.predecessor is not None
        self._executor: Executor
        self._exchange: Exchange
        self._plan: Planner
        self._counts = Counts()
        self._residual = math.inf
        self._measured = False
        self._number = 0
        self._repetition: Repetition | None = None
        self._until: Callable[..., Any] | None = None
        self._parameters: Any = None  # what `p` is in `until`
        self._jumps: Jumps | None = None
        self._between = self._steps_in_between()
        self._started_between: StartedBetweenSupersteps | None = None

    @property
    def _edge_state(self) -> dict[str, EdgeState]:
        """The state of edges that the program declares; what `scatter` sends is made anew in each superstep."""
        return {} if self._program.scatters else self._program.edge_state

    @property
    def outputs(self) -> dict[str, bool]:
        """The result's columns besides the ids, and whether each holds vertices."""
        columns = {
            name: declared.holds_vertex
            for name, declared in self._program.state.items()
            if declared.visible
        }
        if self._predecessors:
            columns[str(self._program.predecessor)] = True
        return columns

    @property
    def strategy(self) -> Strategy:
        """How the engine runs the program, once started."""
        return self._plan.strategy

    @property
    def source(self) -> str:
        """Text of the module that was generated for the program, once started."""
        return self._executor.source

    @property
    def traffic(self) -> Traffic:
        """The bytes that supersteps move on all ranks, once started."""
        bound = self.bound
        in_place = bool(self._in_place) or self.has_frontier
        prepared = bound.prepares_ahead if self.engine == "cuda" else bound.prepares
        index = 4 if self._graph.number_of_vertices < 1 << 31 else 8
        return traffic_of(
            bound,
            self._executor.types,
            self._graph.number_of_vertices,
            index,
            prepared=prepared and not in_place,
        )

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes; see `program_memory`."""
        between = 0 if self._between is None else self._between.bytes_a_vertex
        return program_memory(self._program, sizes, self._arguments, between=between)

    @property
    def converged(self) -> bool:
        """Whether no vertex is active any more, the residual is within `tol`, or the program's `until` is true."""
        if self.diverged:
            return False
        if self._counts.active == 0 and self._counts.waiting == 0:
            return True
        if self.tol is not None and self._residual <= self.tol:
            return True
        return "until" in self._program.functions and self._is_until()

    def _is_until(self) -> bool:
        """Return what the program's `until` says of the aggregates before the next superstep."""
        program = self.bound.program
        if self._until is None:
            self._until = typed_function(program.sources["until"], program.name)
            self._parameters = namedtuple("Parameters", program.parameter_names)  # type: ignore[misc]
        counts = map(np.int64, (self._graph.number_of_vertices, self._number))
        p = self._parameters(*self.bound.values, *map(np.float64, self._counts.sums), *counts)
        with self._errors():
            return bool(self._until(*[p] * len(program.sources["until"].parameters)))

    @property
    def diverged(self) -> bool:
        """Whether the residual's field is no longer finite."""
        return self._measured and not math.isfinite(self._residual)

    def _steps_in_between(self) -> BetweenSuperstepsOfRun | None:
        """Return what may replace states between supersteps, None if nothing may."""
        accelerators = provider("accelerators")
        if accelerators.left_out():
            accelerators.refuse_left_out(self._options)
        steps_in = accelerators.between_supersteps()
        if steps_in is None:
            return None
        between: BetweenSuperstepsOfRun | None = steps_in(
            self._program,
            self._options,
            in_place=bool(self._in_place),
            tol=self.tol,
            max_iter=self.max_iter,
        )
        if between is not None:
            self._in_place = False
        return between

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Bind the program, make the plan, and initialise the state of every vertex."""
        self.bind(graph)
        self._set_up(self.bound, graph)
        self.start_executor()

    def bind(self, graph: GraphView, *, on_host: bool = False) -> None:
        """Bind the program to a graph; collective.

        Parameters
        ----------
        graph : GraphView
        on_host : bool
            Whether its constants are made on the host even if the run is on the GPU.
        """
        if self.tol is not None and self._program.residual is None:
            raise InputError(
                f"tol={self.tol!r}: {self.name} declares no residual to compare it with; leave it out"
            )
        takes_target = self._program.reads_target and not self._program.draws_by_edge
        if self._options.plan.in_place and takes_target:
            raise InputError(
                f"in_place=True: {self.name}.compute takes `dst`, the destination's state after the previous "
                "superstep; leave it out"
            )
        if self._edge_state:
            if self._options.plan.in_place:
                raise InputError(
                    f"in_place=True: {self.name} keeps state on edges, which is updated after each superstep; "
                    "leave it out"
                )
            graph.check_edge_outputs(tuple(self._edge_state))
        if self._options.plan.in_place and self._program.scatters:
            raise InputError(
                f"in_place=True: {self.name}.scatter sees the states after the previous superstep; leave it out"
            )
        if self._options.plan.in_place and self._program.listing is not None:
            raise InputError(
                f"in_place=True: {self._program.listing!r} of {self.name} reads the states after the previous "
                "superstep; leave it out"
            )
        engine = choose_engine(self.engine, graph)
        if not self._phase:  # phases hand the fields of their states on, in one type
            self._program = program_on(self._program, graph)
        self._program = with_draws_by_row(self._program, graph)
        bound = bind(
            self._program,
            graph,
            self._arguments,
            on_device=engine == "cuda" and graph.binds_on_device and not on_host,
            plain=engine == "python",
            phase=self._phase,
        )
        self._program = bound.declared  # with the types of what is sent
        # Supersteps are counted if their number is bounded, and in the reference.
        synchronous = self.max_iter is not None or engine == "python"
        never_nan = bound.never_nan and not self._phase
        self.bound = replace(bound, synchronous=synchronous, never_nan=never_nan)
        named = dict(zip(self._program.parameters, bound.values, strict=True))
        self._seeds = {SEED: named[SEED]} if self._program.draws else {}
        self._graph, self.engine = graph, engine
        if self._in_place and not self.bound.runs_freely:
            if self._options.plan.in_place:
                raise self._not_in_place()
            self._in_place = None  # the program allows it where it changes nothing

    def _not_in_place(self) -> InputError:
        """Return the error for supersteps in place that would change what the program means."""
        if self.bound.in_order is not None:
            reason = f"the answer would depend on the order of messages ({self.bound.in_order})"
        elif self.engine == "python":
            reason = "engine='python' computes superstep by superstep"
        else:
            reason = f"max_iter={self.max_iter} counts supersteps, and in place a message travels any number of edges"
        return InputError(f"in_place=True: {self.name}: {reason}; leave it out")

    def _set_up(self, bound: BoundProgram, graph: GraphView) -> None:
        """Make the executor of a bound program; collective."""
        if not bound.program.reads_edges:
            graph = graph.without_edges()
        self.bound, self._graph = bound, graph
        if self.engine == "cuda":
            from cugraph_ws.backends.cuda.setup import set_up
        else:
            from cugraph_ws.backends.cpu.setup import set_up
        set_up_run = set_up(
            bound,
            graph,
            self._options,
            in_place=self._in_place,
            plain=self.engine == "python",
            threads=self._threads,
            tol=self.tol,
        )
        self._plan, self._executor, self._exchange = (
            set_up_run.planner,
            set_up_run.executor,
            set_up_run.exchange,
        )
        strategy = self._plan.strategy
        LOG.debug(
            "%s on the %s: %s, layout %s (%s)",
            self.name, self.engine, strategy.schedule, strategy.layout, strategy.why,
        )  # fmt: skip
        self._jumps = None
        if bound.program.jumps:
            on_device = self.engine == "cuda"
            self._jumps = Jumps(bound, graph, self._executor, on_device=on_device)
        if self._between is not None:
            self._started_between = self._between.started(
                bound, graph, self._executor, self._exchange, on_device=self.engine == "cuda"
            )

    def start_executor(self) -> None:
        """Initialise the state of every vertex; collective."""
        with self._errors():
            self._executor.start()
        self._take_stock()

    def _errors(self) -> AbstractContextManager[None]:
        """Return a context in which exceptions of plain functions become errors that say where."""
        if self.engine != "python":
            return nullcontext()
        return naming_errors(self.bound.program, self._graph)

    def _take_stock(self) -> None:
        """Read the counts of the state that the executor starts with; collective."""
        self._repetition = self.repetition() if self._graph.whole else None
        self._counts = self._exchange.merge(self._executor.counts())
        if self.bound.gathers_from_all:  # all vertices send, whatever `starts` returns
            self._counts.active = self._graph.number_of_vertices

    def begin(self, fields: Mapping[str, Any]) -> None:
        """Start again from given states, at superstep 0; collective, after `start`.

        All vertices are active, or, if the program has `starts`, those for which it is true.  Proofs that
        hold only on a whole graph are not used, so the number of supersteps is the same on shards.

        Parameters
        ----------
        fields : mapping of array
            Every state field of the owned vertices, in the order of their numbers.
        """
        part = Part(self._graph, on_device=self.engine == "cuda")
        self._exchange.finish()
        self._executor.begin({name: part.with_ghosts(fields[name]) for name in self._program.state})
        self._number, self._residual, self._measured = 0, math.inf, False
        self._take_stock()

    def seed_for(self, phase: int, round_: int) -> None:
        """Set the seed of a phase in a round of a run in phases; before `begin` or `restore`.

        Parameters
        ----------
        phase, round_ : int
            Both from 0.
        """
        for name, seed in self._seeds.items():
            values = dict(zip(self._program.parameters, self.bound.values, strict=True))
            values[name] = seed_of_phase(seed, phase, round_)
            self.bound.values = tuple(values.values())  # executors read it before each superstep

    def moved(self, bound: BoundProgram, graph: GraphView) -> VertexLoop:
        """Return the same run, started on another graph with the same vertices.

        Parameters
        ----------
        bound : BoundProgram
            Bound to that graph's constants.
        graph : GraphView
        """
        loop = self.set_up(bound, graph)
        loop.start_executor()
        return loop

    def set_up(self, bound: BoundProgram, graph: GraphView) -> VertexLoop:
        """Return the same run, with an executor that is not started; see `moved`."""
        loop = copy.copy(self)
        loop._set_up(bound, graph)
        return loop

    def on_shard(self, shard: ShardGraph) -> VertexLoop:
        """Return the same run of a whole graph, started on a shard cut out of it; collective.

        Parameters
        ----------
        shard : ShardGraph
        """
        return self.moved(own_constants(self.bound, shard), shard)

    @property
    def graph(self) -> GraphView:
        """The graph that the program is bound to."""
        return self._graph

    @property
    def active(self) -> int:
        """Number of vertices that are active in the next superstep."""
        return self._counts.active

    @property
    def number(self) -> int:
        """Number of the next superstep, from 0."""
        return self._number

    @property
    def has_frontier(self) -> bool:
        """Whether supersteps process active vertices only."""
        return self._plan.strategy.active_only

    @property
    def synchronous(self) -> bool:
        """Whether the states are those after `number` supersteps, each computed from the states of the last."""
        by_levels = self.bound.goes_by_levels
        return by_levels or not self._plan.strategy.out_of_order

    def repetition(self) -> Repetition | None:
        """Return a detector of repeated states if every superstep gathers from all, else None."""
        endless = self.max_iter is None and not self.has_frontier
        # Whether equal states are followed by equal states
        alike = not (self._program.reads_supersteps or self._edge_state)
        return Repetition() if self.engine != "cuda" and endless and alike else None

    def step(self) -> Step:
        """Plan and run the next superstep, or a few fused ones."""
        supersteps_left = 1 << 62 if self.max_iter is None else self.max_iter - self._number
        # All states are compared, or the host asks for the end.
        if self._repetition is not None or "until" in self._program.functions:
            supersteps_left = min(supersteps_left, 1)
        if self._started_between is not None:  # it reads the states of these supersteps
            supersteps_left = min(supersteps_left, self._started_between.supersteps(self._number))
        choice = self._plan.choose(self._counts, self._number, supersteps_left)
        if self._jumps is not None:
            self._exchange.finish()
            self._jumps.write()
        if self._program.scatters:
            self._exchange.finish()
            self._scatter(choice.number)
        with self._errors():
            self._executor.superstep(choice, self._counts.sums)
        self._counts, traffic = self._exchange.exchange(self._executor, choice)
        counts = self._counts
        if counts.beyond:  # on every rank
            self._exchange.finish()
            listed = self._program.listing is not None
            raise (
                beyond_list(counts.beyond) if listed else out_of_range(self._program, counts.beyond)
            )
        if self._edge_state:
            changed = self._executor.update_edges(choice.number)
            counts.waiting = self._exchange.total(changed)
        self._number += len(counts.history)
        if self._repetition is not None:
            self.refuse_repeated(self._repetition, list(self.own_state().values()))
        norm = self._program.residual
        residuals = [math.nan]
        replaced = False
        if norm is not None and choice.direction == "gather":
            changes = counts.changes or [(counts.total_change, counts.greatest_change)]
            residuals = [change[0 if norm.kind == "l1" else 1] for change in changes]
            before = residuals[-2] if len(residuals) > 1 else self._residual
            self._residual = residuals[-1]
            self._measured = True
            replaced = self._step_in(before)
        filters = {"gather": "all", "pull": "bitmap"}
        return Step(
            active=counts.active,
            edges=counts.read,
            residual=residuals[-1],
            residuals=residuals,
            direction=choice.direction,
            filter=filters.get(choice.direction, "list"),
            layout=counts.layout or self._plan.strategy.layout,
            bytes_sent=traffic.sent,
            bytes_useful=traffic.useful,
            history=counts.history,
            modes=counts.modes,
            exchanges=counts.exchanges,
            extrapolated=replaced,
            exchange=[names_of(ways) if ways else "" for ways in counts.ways or [traffic.ways]],
        )

    def _scatter(self, number: int) -> None:
        """Let all vertices send along their out-edges in superstep `number`."""
        with self._errors():
            is_outside = self._executor.scatter(number, self._counts.sums)
        if is_outside:
            raise ProgramError(
                f"{self.name}.scatter reads or sends along an edge that its vertex does not have; give an index from 0 "
                "to len(edges) - 1 (engine='python' shows where)"
            )

    def _step_in(self, before: float) -> bool:
        """Return whether the state has been replaced after the superstep; collective.

        Parameters
        ----------
        before : float
            The residual of the superstep before the last.
        """
        if self._started_between is None or self.converged or self.diverged:
            return False
        with without_looks():  # the state is that after the superstep
            replaced = self._started_between.after(self._number, before, self._residual)
        if replaced:
            self._counts.sums = self._exchange.merge(self._executor.counts()).sums
        return replaced

    def refuse_repeated(self, repetition: Repetition, columns: Sequence[npt.NDArray[Any]]) -> None:
        """Give up a run without a limit if its states repeat, since they would repeat forever.

        Parameters
        ----------
        repetition : Repetition
        columns : sequence of ndarray
            The states of all vertices.

        Raises
        ------
        ConvergenceError
        """
        if self._number < FIRST_COMPARED:
            return
        period = repetition.period(self._number, columns)
        if period is not None:
            raise ConvergenceError(
                f"{self.name} will not converge: after {self._number} supersteps its states are those of "
                f"{period} superstep{'s' * (period > 1)} before; give max_iter, or change the program so that it converges",
                None,
            )

    def own_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state fields of the owned vertices, in the order of their numbers."""
        return self._executor.columns()

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each vertex."""
        return (*self._program.state, "_queue", *self._kept_between)

    @property
    def _kept_between(self) -> tuple[str, ...]:
        """Names of the arrays by vertex that are kept for what steps in between supersteps."""
        return () if self._between is None else self._between.keeps

    @property
    def by_arc_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each arc, in the order of the CSC."""
        return tuple(f"_edge_{name}" for name in self._edge_state)

    @property
    def arc_inputs(self) -> tuple[str, ...]:
        """Names of the arrays of `inputs` with an entry for each arc."""
        return tuple(self._program.edges)

    def inputs(self) -> dict[str, Any]:
        """Return the program's source and types, its parameters, constants, and edge attributes."""
        bound, program = self.bound, self._program
        edges = zip(program.edges, bound.edge_columns, strict=True)
        return {
            "program": [
                *(source.text for source in program.sources.values()),
                program.combine,
                program.identity,
                program.fold,
                program.listing,
                program.contributors,
                program.residual,
                *self._edge_state.items(),
            ],
            "types": bound.types,
            **({} if self._between is None else self._between.inputs),
            **dict(zip(program.parameters, bound.values, strict=True)),
            **self._seeds,
            **{
                name: as_host(constant) if name not in program.jumps else repr(program.jumps[name])
                for name, constant in zip(program.constants, bound.constants, strict=True)
            },
            **{
                name: self._graph.edge_values(column)
                for name, column in edges
                if column is not None
            },
        }

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays that are needed to resume from this point."""
        self._exchange.finish()
        return {
            **{name: as_host(column) for name, column in self.own_state().items()},
            **{f"_edge_{name}": as_host(column) for name, column in self.edges().items()},
            "_queue": as_host(self._executor.queue()),
            "_schedule": self._executor.schedule(),
            "_sums": self._counts.sums,
            "_loop": np.array([self._number, self._residual]),
            **({} if self._started_between is None else self._started_between.state()),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        owned = graph.owned
        for name, kind in zip(self._program.state, self.bound.types.state, strict=True):
            state.like(name, owned, kind)
        arcs = self.number_of_arcs if self._edge_state else 0
        kinds = self._program.edge_state_kinds if self._edge_state else ()
        for name, kind in zip(self.by_arc_state, kinds, strict=True):
            state.like(name, arcs, kind)
        state.integers("_queue", owned, -1, graph.length)
        check_piles(state, "_schedule")
        state.like("_sums", len(self._program.aggregates), np.float64)
        number = state.like("_loop", 2, np.float64)[0]
        is_whole = 0 <= number < 1 << 53 and number == int(number)
        state.require("_loop", is_whole, f"has {number} supersteps")
        if self._between is not None:
            self._between.check(state, owned)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `state` returned, after `start`."""
        if self._started_between is not None:
            self._started_between.restore(state)
        if not self._graph.whole:
            shard = Part(self._graph, on_device=False)
            divided = set(self.by_vertex_state) - set(self._kept_between)
            state = {
                name: shard.with_ghosts(column) if name in divided else column
                for name, column in state.items()
            }
        columns = {name: state[name] for name in self._program.state if name in state}
        self._executor.restore(columns, state["_queue"], state["_schedule"])
        if self._edge_state:
            self._executor.restore_edges(
                {name: state[f"_edge_{name}"] for name in self._edge_state}
            )
        self._counts = self._exchange.merge(self._executor.counts())
        if self._edge_state:  # edges may have changed although no vertex has
            self._counts.waiting = 1
        self._counts.sums = state["_sums"]  # not recomputed: they may depend on `p.superstep`
        self._number = int(state["_loop"][0])
        self._residual = float(state["_loop"][1])
        self._measured = self._program.residual is not None and self._number > 0

    @property
    def columns_take_long(self) -> bool:
        """Whether predecessors are among the columns."""
        return self._predecessors

    def columns(self) -> dict[str, Column]:
        """Return the visible state fields and the predecessors."""
        return self.as_columns(self.arrays())

    def arrays(self) -> dict[str, Any]:
        """Return the state fields and, as `_predecessor`, predecessors' numbers, by vertex."""
        self._exchange.finish()
        arrays = self.own_state()
        if self._predecessors:
            self._exchange.grow_trees(self._executor, self._executor.begin_trees())
            arrays["_predecessor"] = self._executor.predecessors()
        return arrays

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs of the graph, or of this rank's shard."""
        return int(self._graph.csc.number_of_arcs)

    def edges(self) -> dict[str, Any]:
        """Return the state of edges by field, of this rank's arcs in the order of the CSC."""
        if not self._edge_state:
            return {}
        self._exchange.finish()
        return self._executor.edge_state()

    @property
    def by_vertex_arrays(self) -> tuple[str, ...]:
        """Names of the arrays that `arrays` may return."""
        return (*self._program.state, "_predecessor")

    def as_columns(self, arrays: Mapping[str, Any]) -> dict[str, Column]:
        """Return the arrays of `arrays` as columns of a result."""
        return as_columns(
            self._program,
            arrays,
            STORED,
            arrays.get("_predecessor"),
            self._graph,
        )


def _refuse_unknown_vertices(
    program: VertexProgram | Phases | EdgeProgram,
    name: str,
    values: npt.NDArray[Any],
    known: npt.NDArray[np.bool_],
    graph: GraphView,
) -> None:
    """Refuse numbers in a field that holds vertices, if they name none; collective."""
    wrong = ~known & (values != -1) & (values < STORED["int64"])
    if not graph.any_rank(bool(wrong.any())):
        return
    most = f"there are {graph.number_of_vertices} vertices"
    where = "of a vertex on another rank is no vertex"
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        of_pairs = isinstance(program, EdgeProgram)
        owner = f"pair {place}" if of_pairs else f"vertex {graph.describe(place)}"
        where = f"of {owner} is {int(values[place])}, which is no vertex"
    raise ProgramError(
        f"{program.name}: `{name}` {where}: {most}, numbered from 0; bound what apply and init return, or "
        "return -1 or math.inf for none"
    )


def as_columns(
    program: VertexProgram | Phases | EdgeProgram,
    state: Mapping[str, npt.NDArray[Any]],
    infinities: Mapping[str, int],
    predecessors: npt.NDArray[np.int64] | None,
    graph: GraphView,
) -> dict[str, Column]:
    """Convert a program's final state to the columns of its result.

    Parameters
    ----------
    program : VertexProgram, Phases or EdgeProgram
        Declares the state.
    state : mapping of ndarray, each of shape (n,)
        Its state fields.
    infinities : mapping
        For integer types, the value that represents math.inf.
    predecessors : ndarray of int64, shape (n,), or None
        Vertex numbers, −1 for none.
    graph : GraphView
        The graph, or a shard, whose vertices `state` holds; collective.

    Returns
    -------
    dict
        The visible fields, then the predecessors.

    Raises
    ------
    ProgramError
        If a field that holds vertices has a number that names none: neither a vertex, nor −1 or
        infinity.
    """
    vertices = graph.number_of_vertices
    if not getattr(program, "built_in", False):  # phases are asked one by one
        warn_of_nan(program, state, graph)
    columns: dict[str, Column] = {}
    for name, declared in program.state.items():
        if not declared.visible:
            continue
        values = state[name]
        if declared.holds_vertex:
            known = (values >= 0) & (values < vertices)
            _refuse_unknown_vertices(program, name, values, known, graph)
            columns[name] = VertexNumbers(np.where(known, values, -1), nullable=True)
        elif declared.null is None:
            columns[name] = values
        elif math.isnan(declared.null):
            columns[name] = Masked(values, values == values)
        elif declared.null == math.inf and (
            values.dtype.kind == "f" or values.dtype.name in infinities
        ):
            columns[name] = Below(values, infinities.get(values.dtype.name, math.inf))
        else:
            columns[name] = Masked(values, values != declared.null)
    if program.predecessor is not None and predecessors is not None:
        columns[program.predecessor] = VertexNumbers(predecessors, nullable=True, near=True)
    return columns
