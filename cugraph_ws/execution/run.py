"""The entry point: `run` takes a program and a graph, and returns a vertex frame.

`run()` makes a loop and drives it until convergence.  A vertex program becomes a `VertexLoop`,
which binds it, plans, and runs an executor and an exchange; phases become a `PhasedLoop` of those.
Algorithms with their own loop (union-find, peeling, messages on edges) implement `Loop` and are
driven by the same code.  So progress, time-outs, Ctrl-C, checkpoints and the trace are the same for
all.
"""

from __future__ import annotations

import math
import time
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from cugraph_ws.arguments import check_columns, shown
from cugraph_ws.contract import ShardLoops, choose_engine
from cugraph_ws.errors import ConvergenceError, InputError, Interrupted
from cugraph_ws.execution.checkpoint import Checkpoints, refuse_beyond
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.edge_loop import EdgeLoop
from cugraph_ws.execution.loop import NOT_COMPARABLE, Loop, Result, Step, Stopped
from cugraph_ws.execution.options import Options, Plan
from cugraph_ws.execution.partitioned_edges import PartitionedEdges
from cugraph_ws.execution.partitioned_loop import PartitionedLoop
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.execution.progress import ProgressUpdate, reporter
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints
from cugraph_ws.execution.run_memory import refuse_run
from cugraph_ws.execution.stall import IDLE_SUPERSTEPS
from cugraph_ws.execution.stop_requests import StopRequests
from cugraph_ws.execution.stop_vote import StopVote
from cugraph_ws.execution.trace import Trace
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.columns import AUTO
from cugraph_ws.graph.graph import as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.conventions import columns_read, names_columns, reads_weights
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases, programs_of
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.interrupts import HeldInterrupts
from cugraph_ws.runtime.looks import StepAbandoned, watched_by, without_looks
from cugraph_ws.runtime.warn import warn_caller

if TYPE_CHECKING:
    import os

    from cugraph_ws.execution.options import Engine
    from cugraph_ws.execution.progress import Progress

__all__ = ["run"]

LONG = 10.0  # seconds after which a run of a user's program without a limit is warned of


@names_columns
@accepts_dask_frames
def run(
    program: VertexProgram | EdgeProgram | Phases | Loop | type[Any],
    graph: GraphView[FrameT] | FrameT,
    *,
    source_column: str | list[str] = "source",
    destination_column: str | list[str] = "destination",
    weight_column: str | None = AUTO,
    directed: bool = True,
    engine: Engine = "auto",
    max_iter: int | None = None,
    tol: float | None = None,
    predecessors: bool = True,
    plan: Plan = Plan(),
    progress: Progress = False,
    timeout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 10,
    resume: str | os.PathLike[str] | None = None,
    **parameters: Any,
) -> Result[FrameT]:
    """Run a vertex program on a graph.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, Phases or Loop
        A class decorated with `ws.vertex_program` or `ws.edge_program`, several vertex programs
        combined by `ws.phases`, or an algorithm with its own loop.  To mypy a program is the decorated
        class; to Pyright it is a `VertexProgram`.
    graph : Graph or DataFrame
        The graph, or an edge frame.
    source_column, destination_column : str or list of str
        For an edge frame: its columns.  `source`, `destination` and `weight` name columns as
        well, unless the program has a parameter of that name.
    weight_column : str or None
        For an edge frame: its weight column; None for no weights.  By default it is the column
        named `weight`, if there is one and the program reads weights.  Edge attributes that
        the program declares by name are read automatically.
    directed : bool
        For an edge frame: whether edges are directed.
    engine : {"auto", "cpu", "cuda", "python"}
        Where to run: by default on the GPU if the graph is in its memory, else on the CPU.  "python" is the
        reference: it runs the program's functions uncompiled, one superstep after the other.  It is slow, and
        pdb can step through it.  It refuses a number that the declared state cannot hold, and its `math`
        functions raise errors where compiled code returns NaN or an infinity.
    max_iter : int, optional
        Maximum number of supersteps; by default the program's own.  With a limit, a message travels one edge
        per superstep, on every engine.
    tol : float, optional
        The run ends when the residual is at most this; by default the program's own.
    predecessors : bool
        Whether the program's predecessor column, if it declares one, is computed at the end.
    plan : Plan
        How supersteps are computed: direction, layout, partitions, exchange and others, which are chosen for
        the graph by default.
    progress : bool or callable
        True for a progress line on a terminal, or a function that takes a `ProgressUpdate`; the run stops if
        it returns False.
    timeout : float, optional
        Seconds after which the run stops with the state so far.
    checkpoint : path-like, optional
        Parquet file to which the state is written, atomically.
    every : int
        Minimum number of supersteps between checkpoints.
    resume : path-like, optional
        Checkpoint from which to continue.
    **parameters : Any
        The program's own parameters, vertex values and vertex sets, by name; unknown names are
        errors.  For an edge program also `pairs`, a frame with the columns `first` and `second`; by
        default its values are computed for all pairs of neighbours.

    Returns
    -------
    Result
        The vertex frame, the trace, and how the run ended.

    Raises
    ------
    InputError
        If an argument is invalid.
    ProgramError
        If the program is invalid.
    ConvergenceError
        If a run without a limit makes no progress: no vertex is active while some are pending,
        or the states repeat.
    EngineError
        If the engine cannot run here.
    GraphMemoryError
        If the run would not fit in memory besides the graph; raised before it starts.
    Interrupted
        On Ctrl-C; `.result` has the state so far.
    """
    options = Options(
        engine=engine, max_iter=max_iter, tol=tol, predecessors=predecessors, plan=plan,
        progress=progress, timeout=timeout, checkpoint=checkpoint, every=every, resume=resume,
    )  # fmt: skip
    if not isinstance(program, (VertexProgram, EdgeProgram, Phases, Loop)):
        raise InputError(
            f"program={shown(program)} is neither a vertex program nor a loop; put @ws.vertex_program "
            "or @ws.edge_program above the class"
        )
    check_columns(source_column, destination_column, weight_column, directed)
    choose_engine(options.engine)
    loop = _loop(program, options, parameters)
    bound_graph = program_graph(
        program, graph, source_column, destination_column, weight_column, directed
    )
    bound_graph.check_outputs(loop.outputs)
    if isinstance(loop, (VertexLoop, PhasedLoop, EdgeLoop)):
        loop = _over_ranks(loop, bound_graph, options.plan.partitions)
    here = choose_engine(options.engine, bound_graph)
    _refuse_checkpoints(loop, bound_graph, options)
    may_not_end = not all(one.built_in for one in programs_of(program))
    result = _drive(loop, bound_graph, options, on_device=here == "cuda", may_not_end=may_not_end)
    if here == "cuda":
        device().trim()
    return result


def _loop(
    program: VertexProgram | EdgeProgram | Phases | Loop,
    options: Options,
    parameters: dict[str, Any],
) -> Loop:
    """Return the loop to run; refuse options for vertex programs if it is not one."""
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
    return copy(program)  # the caller's object holds no graph, and can run again on another


def _refuse_checkpoints(loop: Loop, graph: GraphView, options: Options) -> None:
    """Refuse options for checkpoints if the loop does not support them, before it starts."""
    where = loop.checkpoints
    if where == "everywhere" or (where == "on one machine" and graph.whole):
        return
    there = " on a cluster" if where == "on one machine" else ""
    for name in ("checkpoint", "resume"):
        if getattr(options, name) is not None:
            raise InputError(f"{name}=: {loop.name}{there} has no checkpoints; leave it out")


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


def program_graph(
    program: VertexProgram | EdgeProgram | Phases | Loop,
    graph: Any,
    source_column: Any,
    destination_column: Any,
    weight_column: Any,
    directed: bool,
) -> GraphView:
    """Return the graph of a run, with the edge columns that its program reads.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, Phases or Loop
    graph : Graph or DataFrame
    source_column, destination_column, weight_column, directed
        As in `run`.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If a column is missing, or an argument contradicts how a Graph was built.
    """
    attributes: tuple[str, ...] = ()
    if not isinstance(graph, GraphView):
        weight_column, attributes = columns_read(
            program, graph, weight_column, source_column, destination_column
        )
    return as_graph(
        graph,
        source=source_column,
        destination=destination_column,
        weight=weight_column,
        directed=directed,
        attributes=attributes,
        weighted=reads_weights(program),
    )


def _drive(
    loop: Loop, graph: GraphView, options: Options, *, on_device: bool, may_not_end: bool
) -> Result:
    """Step until the loop converges or something stops it."""
    vote = None if graph.whole else StopVote(graph.comm)
    with reporter(options.progress, loop.name) as report:
        stops = StopRequests(options.timeout, vote, report)
        return _watched(loop, graph, options, stops, on_device=on_device, may_not_end=may_not_end)


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
    kept: Checkpoints | RankCheckpoints
    if not graph.whole:
        shard: Any = graph
        kept = RankCheckpoints(loop, shard, options.checkpoint, options.resume)
    else:
        kept = Checkpoints(loop, graph, options.checkpoint, options.resume)
    iterations, saved, residual = 0, 0, math.nan
    facts = kept.load()
    refuse_beyond(facts, loop.max_iter, options.resume, synchronous=loop.synchronous)
    if facts:
        iterations = saved = int(facts["iterations"])
        residual = math.nan if facts["residual"] is None else float(facts["residual"])
    trace = Trace(phase=[] if loop.phased else None)
    holders = graph.comm.size
    stopped: Stopped = "converged"
    idle = 0  # consecutive supersteps without active vertices
    silent = may_not_end and loop.max_iter is None and graph.comm.rank == 0
    whole = True  # whether the state is that of a complete superstep

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
        known = None if math.isnan(residual) else residual
        with without_looks():
            kept.save({"iterations": iterations, "residual": known, "synchronous": synchronous()})

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
                whole = False
                step = _step(loop)
                whole = True
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
            if not whole:
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
