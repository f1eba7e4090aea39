"""Drives a loop on a graph that is built, until it converges or something stops it.

A vertex program becomes a `VertexLoop`, which binds it, plans, and runs an executor and an exchange;
phases become a `PhasedLoop` of those.  Algorithms with their own loop (union-find, peeling, messages on
edges) implement `Loop` and are driven by the same code.  So progress, time-outs, Ctrl-C, checkpoints
and the trace are the same for all.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from copy import copy
from typing import Any, cast

from cugraph_ws.contract import ShardLoops, choose_engine
from cugraph_ws.errors import ConvergenceError, InputError, Interrupted
from cugraph_ws.execution.checkpoint import Checkpoints, refuse_beyond
from cugraph_ws.execution.edge_loop import EdgeLoop
from cugraph_ws.execution.loop import NOT_COMPARABLE, Loop, Result, Step, Stopped
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.partitioned_edges import PartitionedEdges
from cugraph_ws.execution.partitioned_loop import PartitionedLoop
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.execution.progress import ProgressUpdate, reporter
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints
from cugraph_ws.execution.run_memory import refuse_run
from cugraph_ws.execution.stall import IDLE_SUPERSTEPS
from cugraph_ws.execution.stop_requests import HeldInterrupts, StopRequests, StopVote
from cugraph_ws.execution.trace import Trace
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.looks import StepAbandoned, watched_by, without_looks
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["drive", "loop_of", "run_on"]

LONG = 10.0  # seconds after which a run of a user's program without a limit is warned of


def run_on(
    program: VertexProgram | Loop | type[Any], graph: GraphView[FrameT], **arguments: Any
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
    program: VertexProgram | EdgeProgram | Phases | Loop | type[Any],
    options: Options,
    parameters: dict[str, Any],
) -> Loop:
    """Return the loop to run, before the graph is built.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, Phases or Loop
    options : Options
    parameters : dict
        The program's own, by name.

    Raises
    ------
    InputError
        If it is no vertex program, and options or parameters are for one.
    """
    if isinstance(program, VertexProgram):
        return VertexLoop(program, parameters, options)
    if isinstance(program, Phases):
        return PhasedLoop(program, parameters, options)
    if isinstance(program, EdgeProgram):
        return EdgeLoop(program, parameters, options)
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
    if isinstance(loop, (VertexLoop, PhasedLoop, EdgeLoop)):
        loop = _over_ranks(loop, graph, options.plan.partitions)
    on_device = choose_engine(options.engine, graph) == "cuda"
    _refuse_checkpoints(loop, graph, options)
    vote = None if graph.whole else StopVote(graph.comm)
    progress = options.progress
    with nullcontext() if progress is False else reporter(progress, loop.name) as report:
        stops = StopRequests(options.timeout, vote, report)
        result = _watched(loop, graph, options, stops, on_device=on_device, may_not_end=may_not_end)
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
    loop: VertexLoop | PhasedLoop | EdgeLoop, graph: GraphView, partitions: int
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
    *,
    on_device: bool,
    may_not_end: bool,
) -> Result:
    """Start a loop and step it, while looks ask `stops`."""
    refuse_run(loop, graph, on_device=on_device)
    with watched_by(stops):
        try:
            loop.start(graph, on_device=on_device)
        except StepAbandoned as abandoned:
            return _not_started(loop, graph, cast(Stopped, abandoned.reason))
        return _driven(loop, graph, options, stops, may_not_end=may_not_end)


def _warn_of_no_end(name: str, supersteps: int, active: int) -> None:
    """Warn of a program that has run long without a limit."""
    count = f"{active:,} vertices are" if active != 1 else "1 vertex is"
    warn_caller(
        f"{name} has run for {LONG:g} s without max_iter; after superstep {supersteps:,}, {count} active: if "
        "states never settle, it runs for ever; give max_iter= or timeout=, or watch it with progress=True"
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


def _driven(
    loop: Loop, graph: GraphView, options: Options, stops: StopRequests, *, may_not_end: bool
) -> Result:
    """Step a loop that has started."""
    stored: Checkpoints | RankCheckpoints | None = None
    facts: dict[str, Any] = {}
    if options.checkpoint is not None or options.resume is not None:
        checkpoints: Any = Checkpoints if graph.whole else RankCheckpoints
        stored = checkpoints(loop, graph, options.checkpoint, options.resume)
        facts = stored.load()
        refuse_beyond(facts, loop.max_iter, options.resume, synchronous=loop.synchronous)
    iterations, saved, residual = 0, 0, math.nan
    if facts:
        iterations = saved = int(facts["iterations"])
        residual = math.nan if facts["residual"] is None else float(facts["residual"])
    trace = Trace(phase=[] if loop.phased else None)
    holders = graph.comm.size
    stopped: Stopped = "converged"
    idle = 0  # consecutive supersteps without active vertices
    silent = may_not_end and loop.max_iter is None and graph.comm.rank == 0
    is_complete = True  # whether the state is that of a complete superstep

    def result() -> Result:
        with without_looks():
            return Result(
                graph=graph,
                arrays=dict(loop.columns()),
                iterations=iterations,
                converged=loop.converged,
                residual=residual,
                stopped=stopped,
                rows=trace,
                by_vertex=loop.by_vertex,
                synchronous=synchronous(),
                edge_arrays=loop.edges(),
            )

    def synchronous() -> bool:
        return loop.synchronous and facts.get("synchronous", True)

    def update(active: int, edges: int) -> ProgressUpdate:
        return ProgressUpdate(
            superstep=iterations,
            active=active,
            edges=edges,
            residual=residual,
            tol=loop.tol,
            max_iter=loop.max_iter,
            seconds=time.perf_counter() - stops.begun,
        )

    def save() -> None:
        if stored is None:
            return
        known = None if math.isnan(residual) else residual
        with without_looks():
            stored.save({"iterations": iterations, "residual": known, "synchronous": synchronous()})

    with HeldInterrupts() as interrupts:
        stops.begin_steps(interrupts, update(0, 0))
        try:
            while not loop.converged:
                started = time.perf_counter()
                request = stops.between_steps()
                if request == "interrupt":
                    raise KeyboardInterrupt
                if request is not None:
                    stopped = cast(Stopped, request)
                    break
                if loop.diverged:
                    stopped = "diverged"
                    break
                if loop.max_iter is not None and iterations >= loop.max_iter:
                    stopped = "max_iter"
                    break
                is_complete = False
                step = _step(loop)
                is_complete = True
                if isinstance(step, StepAbandoned):
                    if step.reason == "interrupt":
                        raise KeyboardInterrupt
                    stopped = cast(Stopped, step.reason)
                    break
                residual = step.residual
                iterations += max(1, len(step.history))
                trace.add(step, time.perf_counter() - started, holders)
                if interrupts.pressed:
                    raise KeyboardInterrupt
                idle = idle + 1 if step.active == 0 and step.edges == 0 else 0
                if idle >= IDLE_SUPERSTEPS and not loop.converged:
                    raise ConvergenceError(
                        f"{loop.name} makes no progress: no vertex was active in {idle} supersteps, and "
                        "vertices are still queued by priority; check the program's priority, or give "
                        "priorities=False",
                        result(),
                    )
                if silent and not loop.converged and time.perf_counter() - stops.begun > LONG:
                    silent = False
                    _warn_of_no_end(loop.name, iterations, step.active)
                stops.report(update(step.active, step.edges))
                if options.checkpoint is not None and iterations - saved >= options.every:
                    save()
                    saved = iterations
            save()
        except KeyboardInterrupt:
            stopped = "interrupt"
            message = f"{loop.name} was interrupted after {iterations} supersteps"
            if not synchronous():
                message += f" ({NOT_COMPARABLE})"
            if not is_complete:
                raise Interrupted(f"{message}, in the middle of one; its state is lost") from None
            save()
            raise Interrupted(f"{message}; .result has the state so far", result()) from None
    return result()


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
