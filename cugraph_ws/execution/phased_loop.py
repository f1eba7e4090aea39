"""Several vertex programs that run in turn over shared state, as one loop.

Each phase is a `VertexLoop` on the graph, or on a view of it along reversed edges; its executor is made
once.  When a phase ends, the states of its vertices are passed to the next one in place, on the host
or on the device.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import ConvergenceError, InputError, ProgramError
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.profile import Traffic
from cugraph_ws.execution.stall import Repetition
from cugraph_ws.execution.vertex_loop import VertexLoop, as_columns
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.reversed import reversed_view
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.program.infinity import STORED
from cugraph_ws.program.phases import Phases
from cugraph_ws.runtime.arrays import any_true, as_host
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["PhasedLoop"]

Array = Any  # NumPy's or CuPy's

GOING, CONVERGED, GAVE_UP = range(3)
BEFORE = "_before "  # prefix of a field's name, for its values at the beginning of the round


class PhasedLoop(Loop):
    """Runs phases; see `cugraph_ws.execution.loop.Loop` for the interface.

    Parameters
    ----------
    phases : Phases
    arguments : mapping
        The parameters, vertex values and vertex sets of all programs.
    options : Options
        `max_iter` bounds the supersteps of all phases together; `tol` is for `phases.until`.

    Raises
    ------
    InputError
        If an argument is unknown, or `tol` is given without `until`.

    Attributes
    ----------
    engine : str
        The requested engine; once started, the engine in use.
    phase_names : tuple of str
    """

    ends_within_steps = True
    phased = True

    def __init__(self, phases: Phases, arguments: Mapping[str, Any], options: Options) -> None:
        if options.plan.extrapolate == "always":
            raise InputError(
                f"extrapolate='always': {phases.name} runs in phases, which are not extrapolated; leave it out"
            )
        if options.tol is not None and phases.until is None:
            raise InputError(
                f"tol={options.tol!r}: {phases.name} has no `until`, so there is no norm to compare "
                "it with; pass `until` to ws.phases(), or set tol in one of its programs"
            )
        self.name = phases.name
        self.may_not_end = not all(program.built_in for program in phases.programs)
        self.tol = phases.tol if options.tol is None else options.tol
        self.phase_names = tuple(member.name for member in phases.phases)
        self._phases = phases
        self.max_iter = options.max_iter
        self._loops = [
            VertexLoop(
                member.program,
                share,
                replace(
                    options,
                    tol=None,
                    max_iter=options.max_iter if member.limit is None else member.limit,
                    plan=replace(options.plan, extrapolate="never"),
                ),
                phase=True,
            )
            for member, share in zip(phases.phases, phases.shares(arguments), strict=True)
        ]  # fmt: skip
        self._limits = [member.limit for member in phases.phases]
        self.engine: str = options.engine
        self._graph: GraphView
        self._fields: dict[str, Array] = {}  # the states that ended phases have left
        self._before: dict[str, Array] = {}  # the states when the round began
        self._at = self._round = self._done = 0
        self._norm = math.inf  # norm of the last round's change
        self._end = GOING
        self._repetition: Repetition | None = None

    # ----------------------------------------------------------------------------- current state

    @property
    def _loop(self) -> VertexLoop:
        """The loop of the current phase."""
        return self._loops[self._at]

    @property
    def loops(self) -> tuple[VertexLoop, ...]:
        """The loop of each phase."""
        return tuple(self._loops)

    @property
    def place(self) -> tuple[int, int]:
        """The index of the current phase, and the number of its next superstep."""
        return self._at, self._loop.number

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the runs of all programs take, of which the first makes the CSR."""
        first, *later_loops = self._loops
        later = replace(sizes, has_csr=True)
        return first.memory(sizes) + sum(loop.memory(later) for loop in later_loops)

    @property
    def outputs(self) -> dict[str, bool]:
        """The result's columns besides the ids, and whether each holds vertices."""
        return {
            name: declared.holds_vertex
            for name, declared in self._phases.state.items()
            if declared.visible
        }

    @property
    def converged(self) -> bool:
        """Whether a round changed nothing or at most `tol` by `until`'s norm, or all rounds are done."""
        return self._end == CONVERGED

    @property
    def diverged(self) -> bool:
        """Whether the field of the current phase's residual, or of `until`, is no longer finite."""
        lost = self._phases.until is not None and self._round > 0 and not math.isfinite(self._norm)
        return lost or self._loop.diverged

    @property
    def synchronous(self) -> bool:
        """Whether the states are those after the given number of supersteps."""
        return all(loop.synchronous for loop in self._loops)

    # --------------------------------------------------------------------------------- beginning

    def bind(self, graph: GraphView, *, on_host: bool = False) -> None:
        """Bind every program to the graph, or to its view along reversed edges; collective.

        Parameters
        ----------
        graph : GraphView
        on_host : bool
            See `VertexLoop.bind`.
        """
        self._graph = graph
        views = self._views(graph)
        for place, (loop, view) in enumerate(zip(self._loops, views, strict=True)):
            loop.bind(view, on_host=on_host)
            loop.seed_for(place, 0)
        self.engine = self._loops[0].engine
        self._check_types()

    def _views(self, graph: GraphView) -> list[GraphView]:
        """Return for each phase the graph along whose edges it gathers; collective."""
        ways = [member.direction for member in self._phases.phases]
        turned = reversed_view(graph) if "out" in ways else graph
        return [turned if way == "out" else graph for way in ways]

    def _check_types(self) -> None:
        """Refuse a shared field whose type depends on the graph and differs between programs."""
        known: dict[str, tuple[str, str]] = {}
        for loop in self._loops:
            for name, kind in zip(loop.bound.program.state, loop.bound.types.state, strict=True):
                first, owner = known.setdefault(name, (kind, loop.name))
                if kind != first:
                    raise ProgramError(
                        f"the state field `{name}` is {first} in {owner} and {kind} in {loop.name} on "
                        "this graph; phases share it: declare it alike, or rename one"
                    )

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Bind the programs, and initialise the state of every vertex; collective."""
        self.bind(graph)
        # All executors are made before one is started: the kernels of all phases are compiled side by side
        self._loops = [loop.set_up(loop.bound, loop.graph) for loop in self._loops]
        for loop in self._loops:
            loop.start_executor()
        self._initialise()

    def on_shard(self, shard: ShardGraph) -> PhasedLoop:
        """Return the same run of a whole graph, started on a shard cut out of it; collective.

        Parameters
        ----------
        shard : ShardGraph
        """
        phased = copy.copy(self)
        phased._graph = shard
        views: Sequence[Any] = self._views(shard)
        phased._loops = [loop.on_shard(view) for loop, view in zip(self._loops, views, strict=True)]
        phased._initialise()
        return phased

    def _initialise(self) -> None:
        """Take each field's first values from the first program that declares it."""
        self._fields = {}
        for loop in self._loops:
            self._fields = {**loop.own_state(), **self._fields}
        self._fields = {name: self._fields[name].copy() for name in self._phases.state}
        self._before = dict(self._fields)
        endless = self.max_iter is None and self._phases.rounds is None and self.engine != "cuda"
        endless &= not any(program.draws for program in self._phases.programs)
        self._repetition = Repetition() if endless else None
        self._begin_phase()
        self._go_on()  # a phase may have nothing to do

    # ------------------------------------------------------------------------------------- steps

    @property
    def traffic(self) -> Traffic:
        """The bytes that the current phase moves."""
        return self._loop.traffic

    def step(self) -> Step:
        """Run the next superstep of the current phase, or a few fused ones; collective."""
        loop, name = self._loop, self.phase_names[self._at]
        step = loop.step()
        self._done += len(step.history)
        self._go_on()
        active = step.active if self._end else self._loop.active
        residual = step.residual
        if self._phases.until is not None:
            residual = self._norm if self._round else math.nan
        return replace(step, active=active, residual=residual, phase=name)

    def _bound_supersteps(self) -> None:
        """Set the maximum number of supersteps of the current phase."""
        supersteps_left = None if self.max_iter is None else self.max_iter - self._done
        limits = [limit for limit in (self._limits[self._at], supersteps_left) if limit is not None]
        self._loop.max_iter = min(limits) if limits else None

    def _go_on(self) -> None:
        """If the phase has ended, begin the next one, and if the round has, the next round; collective."""
        while self._end == GOING:
            loop, limit = self._loop, self._limits[self._at]
            if not (loop.converged or (limit is not None and loop.number >= limit)):
                return
            self._fields |= loop.arrays()
            if self._at + 1 == len(self._loops):
                self._end_round()
                if self._end != GOING:
                    return
                self._at = 0
            else:
                self._at += 1
            self._begin_phase()

    def _begin_phase(self) -> None:
        """Pass the states to the current phase; collective."""
        self._bound_supersteps()
        self._loop.seed_for(self._at, self._round)
        self._loop.begin(self._fields)

    def _end_round(self) -> None:
        """Compare the states with those at the beginning of the round; collective."""
        graph, phases = self._graph, self._phases
        self._round += 1
        changed = graph.any_rank(
            any(_differ(self._before[name], column) for name, column in self._fields.items())
        )
        if phases.until is not None:
            name = phases.until.field
            own_norm = _norm(phases.until.kind, self._before[name], self._fields[name])
            shares = graph.comm.allgather(own_norm)
            self._norm = sum(shares) if phases.until.kind == "l1" else max(shares)
        if not changed or (self.tol is not None and self._norm <= self.tol):
            self._end = CONVERGED
        elif self._round == phases.rounds:
            self._end = CONVERGED if phases.until is None else GAVE_UP
            self.max_iter = self._done  # so that `run` ends too
        else:
            self._before = {name: column.copy() for name, column in self._fields.items()}
            self._refuse_repeated()

    def _refuse_repeated(self) -> None:
        """Give up a run without a limit if the states of its rounds repeat; collective."""
        if self._repetition is None:
            return
        own_period = self._repetition.period(
            self._round, [as_host(entry) for entry in self._before.values()]
        )
        periods = self._graph.comm.allgather(own_period)
        if all(entry is not None for entry in periods):
            raise ConvergenceError(
                f"{self.name} will not converge: after {self._round} rounds its states are those of "
                f"{periods[0]} rounds before; give rounds or max_iter, or change a program so that it "
                "converges",
                None,
            )

    def repetition(self) -> None:
        """Return None: this loop compares rounds itself instead of supersteps."""

    def refuse_repeated(self, repetition: Repetition, columns: Sequence[Array]) -> None:
        """Do nothing; see `repetition`."""

    # ------------------------------------------------------------------------ results and checkpoints

    def own_state(self) -> dict[str, Array]:
        """Return the state fields of the owned vertices, in the order of their numbers."""
        return {**self._fields, **({} if self._end else self._loop.own_state())}

    def arrays(self) -> dict[str, Array]:
        """Return the state fields by owned vertex; collective."""
        return {**self._fields, **({} if self._end else self._loop.arrays())}

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each vertex."""
        return (*self._phases.state, "_queue", *(BEFORE + name for name in self._phases.state))

    @property
    def arc_inputs(self) -> tuple[str, ...]:
        """Names of the arrays of `inputs` with an entry for each arc."""
        return tuple(
            f"{place} {name}"
            for place, loop in enumerate(self._loops)
            for name in loop.bound.program.edges
        )

    def inputs(self) -> dict[str, Any]:
        """Return what all programs depend on besides the graph; arcs in the graph's own order."""
        named: dict[str, Any] = {
            "phases": [
                [(member.name, member.direction, member.limit) for member in self._phases.phases],
                self._phases.rounds,
                self._phases.until,
            ]
        }
        for place, loop in enumerate(self._loops):
            bound = loop.bound
            columns = dict(zip(bound.program.edges, bound.edge_columns, strict=True))
            for name, value in loop.inputs().items():
                if columns.get(name) is not None and name not in bound.program.constants:
                    value = self._graph.edge_values(str(columns[name]))
                elif isinstance(value, np.ndarray) and value.shape == (loop.graph.length,):
                    own_values = np.zeros(self._graph.length, value.dtype)  # ghosts may differ
                    own_values[: self._graph.owned] = value[: self._graph.owned]
                    value = own_values
                named[f"{place} {name}"] = value
        return named

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays that are needed to resume from this point."""
        state = self._loop.state()
        before = {BEFORE + name: as_host(column) for name, column in self._before.items()}
        return {
            **state,
            **{name: as_host(column) for name, column in self.arrays().items()},
            **before,
            "_phases": np.array([self._at, self._round, self._done, self._end], np.int64),
            "_norm": np.array([self._norm]),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        last = len(self._loops) - 1
        most = np.array([last, 1 << 53, 1 << 53, GAVE_UP])
        at = int(state.integers("_phases", 4, 0, most)[0])
        state.like("_norm", 1, np.float64)
        kinds: dict[str, Any] = {}
        for loop in self._loops:
            kinds |= dict(zip(loop.bound.program.state, loop.bound.types.state, strict=True))
        for name, kind in kinds.items():
            state.like(name, graph.owned, kind)
            state.like(BEFORE + name, graph.owned, kind)
        self._loops[at].check(state, graph)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `state` returned, after `start`."""
        self._at, self._round, self._done, self._end = state["_phases"].tolist()
        self._norm = float(state["_norm"][0])
        kinds = {name: column.dtype for name, column in self._fields.items()}
        self._fields = {name: state[name].astype(kind) for name, kind in kinds.items()}
        self._before = {name: state[BEFORE + name].astype(kind) for name, kind in kinds.items()}
        if self._end == GAVE_UP:
            self.max_iter = self._done
        self._loop.seed_for(self._at, self._round)
        self._loop.restore(state)
        self._bound_supersteps()

    def columns(self) -> dict[str, Column]:
        """Return the visible state fields."""
        return self.as_columns(self.arrays())

    def as_columns(self, arrays: Mapping[str, Any]) -> dict[str, Column]:
        """Return the arrays of `arrays` as columns of a result."""
        return as_columns(self._phases, arrays, STORED, None, self._graph)


def _differ(before: Array, after: Array) -> bool:
    """Return whether two columns differ anywhere; NaN equals NaN."""
    return any_true((before != after) & ((before == before) | (after == after)))


def _norm(kind: str, before: Array, after: Array) -> float:
    """Return a norm of the change of a column."""
    if not len(after):
        return 0.0
    change = abs(after.astype(np.float64) - before.astype(np.float64))
    change[before == after] = 0.0  # also for equal infinities, whose difference is NaN
    return float(change.sum() if kind == "l1" else change.max())
