"""Drives a loop on a graph that is built, until it converges or something stops it.

A vertex program becomes a `VertexLoop`, which binds it, plans, and runs an executor and an exchange;
phases become a `PhasedLoop` of those.  Algorithms with their own loop (union-find, peeling, messages on
edges) implement `Loop` and are driven by the same code.  So progress, time-outs, Ctrl-C, checkpoints
and the trace are the same for all.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from copy import copy
from typing import Any, cast

from cugraph_ws.contract import ShardLoops, choose_engine
from cugraph_ws.errors import ConvergenceError, InputError, Interrupted
from cugraph_ws.execution.checkpoint import Checkpoints, refuse_beyond
from cugraph_ws.execution.edge_loop import EdgeLoop
from cugraph_ws.execution.loop import (
    NOT_COMPARABLE,
    Column,
    ColumnsWhenRead,
    Loop,
    Result,
    Step,
    Stopped,
)
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.partitioned_edges import PartitionedEdges
from cugraph_ws.execution.partitioned_loop import PartitionedLoop
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.execution.profile import Profile, profile_of
from cugraph_ws.execution.progress import ProgressUpdate, reporter
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints
from cugraph_ws.execution.run_memory import refuse_run
from cugraph_ws.execution.stall import IDLE_SUPERSTEPS
from cugraph_ws.execution.stop_requests import HeldInterrupts, StopRequests, StopVote
from cugraph_ws.execution.trace import Trace
from cugraph_ws.execution.vector_loop import VectorLoop
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.execution.walk_loop import WalkLoop
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases
from cugraph_ws.program.vector_program import VectorProgram
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.program.walk_program import WalkProgram
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.launch_times import recorded_launches
from cugraph_ws.runtime.looks import StepAbandoned, watched_by, without_looks
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["drive", "loop_of", "run_on"]

LOG = logging.getLogger("cugraph_ws")
LONG = 10.0  # seconds after which a run of a user's program without a limit is warned of


def run_on(
    program: VertexProgram | WalkProgram | Loop | type[Any],
    graph: GraphView[FrameT],
    **arguments: Any,
) -> Result[FrameT]:
    """Run one of the library's programs or loops on a graph that is built; see `run`.

    Parameters
    ----------
    program : VertexProgram or Loop
        To mypy a program is the decorated class.
    graph : GraphView
    **arguments : Any
        Options of the run, and the program's own parameters.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        And what else `run` raises.
    """
    options, parameters = Options.taken_from(arguments)
    choose_engine(options.engine)
    return drive(loop_of(program, options, parameters), graph, options)


def loop_of(
    program: VertexProgram | EdgeProgram | WalkProgram | Phases | Loop | type[Any],
    options: Options,
    parameters: dict[str, Any],
) -> Loop:
    """Return the loop to run, before the graph is built.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, WalkProgram, Phases or Loop
    options : Options
    parameters : dict
        The program's own, by name.

    Raises
    ------
    InputError
        If it is no vertex program, and options or parameters are for one.
    """
    if isinstance(program, VectorProgram):
        return VectorLoop(program, parameters, options)
    if isinstance(program, VertexProgram):
        return VertexLoop(program, parameters, options)
    if isinstance(program, Phases):
        return PhasedLoop(program, parameters, options)
    if isinstance(program, EdgeProgram):
        return EdgeLoop(program, parameters, options)
    if isinstance(program, WalkProgram):
        return WalkLoop(program, parameters, options)
    if refused := [*options.for_programs()]:
        raise InputError(
            f"{', '.join(refused)}: {program.name} has a loop of its own, to which options for programs do "
            "not apply; leave them out"
        )
    if parameters:
        raise InputError(
            f"{', '.join(parameters)}: {program.name} takes its parameters when it is made, not in run()"
        )
    return cast(
        Loop, copy(program)
    )  # the caller's object holds no graph, and can run again on another


def drive(loop: Loop, graph: GraphView[FrameT], options: Options) -> Result[FrameT]:
    """Step a loop until it converges or something stops it.

    Parameters
    ----------
    loop : Loop
        Not started.
    graph : GraphView
    options : Options

    Returns
    -------
    Result
    """
    graph.check_outputs(loop.outputs)
    may_not_end = loop.may_not_end
    if isinstance(loop, (VertexLoop, VectorLoop, PhasedLoop, EdgeLoop)):
        loop = _over_ranks(loop, graph, options.plan.partitions)
    on_device = choose_engine(options.engine, graph) == "cuda"
    _refuse_checkpoints(loop, graph, options)
    vote = None if graph.whole else StopVote(graph.comm)
    progress, begun = options.progress, time.perf_counter()
    with (
        nullcontext() if progress is False else reporter(progress, loop.name) as report,
        nullcontext() if options.profile is False else recorded_launches() as launches,
    ):
        profile = None if launches is None else profile_of(graph, launches, on_device=on_device)
        stops = StopRequests(options.timeout, vote, report)
        result = _watched(
            loop, graph, options, stops, profile, on_device=on_device, may_not_end=may_not_end
        )
    if callable(options.profile) and result.profile is not None:
        options.profile(result.profile)
    LOG.info(
        "%s: %s after %d supersteps in %.3f s",
        loop.name, result.stopped, result.iterations, time.perf_counter() - begun,
    )  # fmt: skip
    if on_device:
        device().trim()
    return result


def _refuse_checkpoints(loop: Loop, graph: GraphView, options: Options) -> None:
    """Refuse options for checkpoints if the loop does not support them, before it starts."""
    where = loop.checkpoints
    if where == "everywhere" or (where == "on one machine" and graph.whole):
        return
    where_else = " on a cluster" if where == "on one machine" else ""
    for name in ("checkpoint", "resume"):
        if getattr(options, name) is not None:
            raise InputError(f"{name}=: {loop.name}{where_else} has no checkpoints; leave it out")


def _over_ranks(
    loop: VertexLoop | VectorLoop | PhasedLoop | EdgeLoop, graph: GraphView, partitions: int
) -> Loop:
    """Return the loop that runs programs on a shard, or in partitions of a whole graph."""
    if graph.whole:
        if isinstance(loop, EdgeLoop):
            return loop if partitions == 1 else PartitionedEdges(loop, partitions)
        return loop if partitions == 1 else PartitionedLoop(loop, partitions)
    if partitions != 1:
        raise InputError(
            f"partitions={partitions}: a graph on a cluster has one partition on each worker; "
            "leave it out"
        )
    if isinstance(loop, VertexLoop):
        shard_loops: ShardLoops | None = provider("accelerators").shard_loops()
        return loop if shard_loops is None else cast(Loop, shard_loops(loop))
    return loop


def _watched(
    loop: Loop,
    graph: GraphView,
    options: Options,
    stops: StopRequests,
    profile: Profile | None,
    *,
    on_device: bool,
    may_not_end: bool,
) -> Result:
    """Start a loop and step it, while looks ask `stops`."""
    trace = Trace(phase=[] if loop.phased else None)  # counts from here on what graphs give back
    with watched_by(stops):
        try:
            refuse_run(loop, graph, on_device=on_device)
            loop.start(graph, on_device=on_device)
        except StepAbandoned as abandoned:
            return _not_started(loop, graph, cast(Stopped, abandoned.reason))
        if profile is not None:
            profile.launched.forget()  # the start
        return _Run(loop, graph, options, stops, profile, trace, may_not_end=may_not_end).finish()


def _warn_of_no_end(name: str, supersteps: int, active: int) -> None:
    """Warn of a program that has run long without a limit."""
    warn_caller(
        f"{name} has run for {LONG:g} s without max_iter; active vertices after superstep {supersteps:,}: {active:,}; if "
        "states never settle, it runs for ever; give max_iter= or timeout=, or watch it with progress=True",
        at_once=True,
    )


def _not_started(loop: Loop, graph: GraphView, stopped: Stopped) -> Result:
    """Return the result of a run that was stopped before its loop had a state: there are no columns."""
    return Result(
        graph=graph,
        arrays={},
        iterations=0,
        converged=False,
        residual=math.nan,
        stopped=stopped,
        rows=Trace(phase=[] if loop.phased else None),
        by_vertex=loop.by_vertex,
    )


class _Run:
    """The run of a loop that has started: its supersteps, and what is known of them.

    Parameters
    ----------
    loop, graph, options, stops, profile, trace
        The loop has started, and the trace has no rows.
    may_not_end : bool
        Whether nothing is known that ends the run.
    """

    def __init__(
        self,
        loop: Loop,
        graph: GraphView,
        options: Options,
        stops: StopRequests,
        profile: Profile | None,
        trace: Trace,
        *,
        may_not_end: bool,
    ) -> None:
        self._loop, self._graph, self._options, self._stops = loop, graph, options, stops
        self._profile, self._trace = profile, trace
        self._checkpoints: Checkpoints | RankCheckpoints | None = None
        facts: dict[str, Any] = {}
        if options.checkpoint is not None or options.resume is not None:
            checkpoints: Any = Checkpoints if graph.whole else RankCheckpoints
            self._checkpoints = stored = checkpoints(
                loop, graph, options.checkpoint, options.resume
            )
            facts = stored.load()
            refuse_beyond(facts, loop.max_iter, options.resume, synchronous=loop.synchronous)
        self._iterations, self._residual = 0, math.nan
        if facts:
            self._iterations = int(facts["iterations"])
            if facts["residual"] is not None:
                self._residual = float(facts["residual"])
        self._saved = self._iterations  # when the last checkpoint was written
        self._was_synchronous = facts.get("synchronous", True)
        self._stopped: Stopped = "converged"
        self._idle = 0  # consecutive supersteps without active vertices
        self._warns = may_not_end and loop.max_iter is None and graph.comm.rank == 0
        self._is_complete = True  # whether the state is that of a complete superstep

    def finish(self) -> Result:
        """Step the loop until it converges or something stops it."""
        with HeldInterrupts() as interrupts:
            self._stops.begin_steps(interrupts, self._progress(0, 0))
            try:
                while not self._loop.converged:
                    started = time.perf_counter()
                    reason = self._reason_to_stop() or self._superstep(started, interrupts)
                    if reason is not None:
                        self._stopped = reason
                        break
                self._save()
            except KeyboardInterrupt:
                raise self._interrupted() from None
        return self._result()

    def _reason_to_stop(self) -> Stopped | None:
        """Return why no further superstep may follow, or None."""
        request = self._stops.between_steps()
        if request == "interrupt":
            raise KeyboardInterrupt
        if request is not None:
            return cast(Stopped, request)
        if self._loop.diverged:
            return "diverged"
        most = self._loop.max_iter
        return "max_iter" if most is not None and self._iterations >= most else None

    def _superstep(self, started: float, interrupts: HeldInterrupts) -> Stopped | None:
        """Run one step, and count it; return why the run stops within it, or None."""
        loop = self._loop
        self._is_complete = False
        profile, traffic = self._profile, None
        if profile is None:
            step = _step(loop)
        else:
            traffic = loop.traffic
            with profile.named(loop.name, self._iterations):
                step = _step(loop)
        self._is_complete = True
        if isinstance(step, StepAbandoned):
            if step.reason == "interrupt":
                raise KeyboardInterrupt
            return cast(Stopped, step.reason)
        self._residual = step.residual
        self._iterations += max(1, len(step.history))
        self._trace.add(step, time.perf_counter() - started, self._graph.comm.size)
        if profile is not None:
            profile.add(self._trace, step, loop.name, traffic)
        if interrupts.pressed:
            raise KeyboardInterrupt
        self._idle = self._idle + 1 if step.active == 0 and step.edges == 0 else 0
        if self._idle >= IDLE_SUPERSTEPS and not loop.converged:
            raise ConvergenceError(
                f"{loop.name} makes no progress: no vertex was active in {self._idle} supersteps, and "
                "vertices are still queued by priority; check the program's priority, or give "
                "priorities=False",
                self._result(),
            )
        if self._warns and not loop.converged and time.perf_counter() - self._stops.begun > LONG:
            self._warns = False
            _warn_of_no_end(loop.name, self._iterations, step.active)
        self._stops.report(self._progress(step.active, step.edges))
        due = self._iterations - self._saved >= self._options.every
        if self._options.checkpoint is not None and due:
            self._save()
            self._saved = self._iterations
        return None

    @property
    def _synchronous(self) -> bool:
        return bool(self._loop.synchronous and self._was_synchronous)

    def _progress(self, active: int, edges: int) -> ProgressUpdate:
        return ProgressUpdate(
            superstep=self._iterations,
            active=active,
            edges=edges,
            residual=self._residual,
            tol=self._loop.tol,
            max_iter=self._loop.max_iter,
            seconds=time.perf_counter() - self._stops.begun,
        )

    def _save(self) -> None:
        """Write a checkpoint, if the options ask for them."""
        if self._checkpoints is None:
            return
        residual = None if math.isnan(self._residual) else self._residual
        facts = {
            "iterations": self._iterations,
            "residual": residual,
            "synchronous": self._synchronous,
        }
        with without_looks():
            self._checkpoints.save(facts)

    def _result(self) -> Result:
        with without_looks():
            arrays: Mapping[str, Column]
            if (
                self._stopped in ("timeout", "callback", "interrupt")
                and self._loop.columns_take_long
                and isinstance(self._graph, Graph)
                and choose_engine(self._options.engine, self._graph) != "cuda"
            ):
                arrays = ColumnsWhenRead(self._loop, self._graph)
            else:
                arrays = dict(self._loop.columns())
            return Result(
                graph=self._graph,
                arrays=arrays,
                iterations=self._iterations,
                converged=self._loop.converged,
                residual=self._residual,
                stopped=self._stopped,
                rows=self._trace,
                by_vertex=self._loop.by_vertex,
                rows_by=self._loop.rows_by,
                synchronous=self._synchronous,
                edge_arrays=self._loop.edges(),
                profile=self._profile,
            )

    def _interrupted(self) -> Interrupted:
        """Return the error of a run that Ctrl-C has ended, with its state if a superstep is complete."""
        self._stopped = "interrupt"
        message = f"{self._loop.name} was interrupted after {self._iterations} supersteps"
        if not self._synchronous:
            message += f" ({NOT_COMPARABLE})"
        if not self._is_complete:
            return Interrupted(f"{message}, in the middle of one; its state is lost")
        self._save()
        return Interrupted(f"{message}; .result has the state so far", self._result())


def _step(loop: Loop) -> Step | StepAbandoned:
    """Return what a step does; if the run is to end within it, leave the state of the step before."""
    if not loop.ends_within_steps:
        with without_looks():
            return loop.step()
    before = vars(loop).copy()
    try:
        return loop.step()
    except StepAbandoned as abandoned:
        vars(loop).clear()
        vars(loop).update(before)
        return abandoned
