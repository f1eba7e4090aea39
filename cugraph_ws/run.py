"""The whole story: a program and a graph in, supersteps, a vertex frame out.

`run()` binds the program, makes the plan and an executor for each partition, and drives a loop:
plan, superstep, exchange, stop?  Algorithms with loops of their own (union-find, peeling, messages
on edges) implement `Loop` and are driven by the same code, so that progress, time-outs, Ctrl-C,
checkpoints and the trace are the same for all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, Self, cast

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_columns, shown
from cugraph_ws.checkpoint import Checkpoints
from cugraph_ws.cluster.checkpoint import CrewCheckpoints
from cugraph_ws.cluster.council import Council
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cluster.spread import spreads
from cugraph_ws.columns import AUTO
from cugraph_ws.conventions import columns_read, names_columns, reads_weights
from cugraph_ws.engines import choose_engine
from cugraph_ws.errors import ConvergenceError, InputError, Interrupted
from cugraph_ws.frame_types import FrameT
from cugraph_ws.frames import Below, Masked, VertexNumbers
from cugraph_ws.graph import Graph, as_graph
from cugraph_ws.interrupts import HeldInterrupts
from cugraph_ws.memory import check_run_memory
from cugraph_ws.options import Options, shows_options
from cugraph_ws.program import VertexProgram
from cugraph_ws.progress import ProgressUpdate, reporter
from cugraph_ws.saved_state import SavedState
from cugraph_ws.stall import IDLE_SUPERSTEPS
from cugraph_ws.trace import Trace

if TYPE_CHECKING:
    import os

    from cugraph_ws.cluster.refinement import ExchangeMethod
    from cugraph_ws.options import Engine, Method
    from cugraph_ws.plan import Filter, WantedDirection
    from cugraph_ws.progress import Progress

__all__ = ["Loop", "Result", "Run", "Step", "run"]

Column = npt.NDArray[Any] | VertexNumbers | Masked
NOT_COMPARABLE = "supersteps are not comparable: messages were taken out of order"
Stopped = Literal["converged", "max_iter", "timeout", "callback", "interrupt", "diverged"]


@dataclass
class Step:
    """What one call of `Loop.step` did.

    Attributes
    ----------
    active : int
        Vertices that are active next.
    edges : int
        Arcs read.
    residual : float
        Norm of the change; NaN where the algorithm has none.
    direction, filter : str
        For the trace.
    residuals : list of float
        Norm of each superstep in the call, where it took several; else empty.
    bytes_sent : int
        Bytes exchanged between partitions.
    bytes_useful : int
        Of those, values of vertices that had changed.
    partitions : int
        Into how many the graph was cut in it; 0 for as many as hold a share of it.
    history : list of (int, int)
        Active vertices and arcs of each superstep in the call; empty for one superstep.
    modes : list of (str, str)
        Direction and filter of each, where they may differ; else empty.
    """

    active: int
    edges: int
    residual: float = math.nan
    direction: str = ""
    filter: str = ""
    bytes_sent: int = 0
    bytes_useful: int = 0
    partitions: int = 0
    residuals: list[float] = field(default_factory=list)
    history: list[tuple[int, int]] = field(default_factory=list)
    modes: list[tuple[str, str]] = field(default_factory=list)


class Loop(Protocol):
    """An algorithm in supersteps; one instance is one call.

    Attributes
    ----------
    name : str
        For messages and checkpoints.
    max_iter, tol : int or None, float or None
        When to stop.
    by_vertex : bool
        Whether the result has one row for each vertex; else its columns are all of one length.
    outputs : mapping of str to bool, optional
        Of a result by vertex: its columns beside the ids, and whether each holds vertices.  Where a
        loop has this, ids that a column would overwrite are refused before it starts.
    """

    name: str
    max_iter: int | None
    tol: float | None
    by_vertex: bool

    @property
    def converged(self) -> bool:
        """Whether the last step was the last one needed."""

    @property
    def diverged(self) -> bool:
        """Whether there is no sense in going on: the state is no longer finite."""

    def start(self, graph: Graph) -> None:
        """Check the arguments against the graph and allocate the state."""

    def step(self) -> Step:
        """Do a bounded amount of work: a superstep, or a few."""

    def inputs(self) -> dict[str, Any]:
        """Return by name what the outcome depends on beside the graph: arrays and values."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays that are needed to go on from here."""

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a checkpoint that has anything else than `state` returns; alone, after `start`."""

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned and `check` has let pass, after `start`."""

    def columns(self) -> Mapping[str, Column]:
        """Return the result's columns; by vertex number if there is one row for each vertex."""

    def on_cuda(self) -> Loop:
        """Return the same algorithm for the CUDA engine.

        A loop for members of a crew returns one for members with GPUs, or itself if it has none.
        """

    def on_crew(self) -> Loop:
        """Return the same algorithm for members of a crew, each with a share of the graph."""


@dataclass
class Result(Generic[FrameT]):
    """What a run returns.

    Attributes
    ----------
    frame : DataFrame
        The vertex frame, of the kind of the edge frame, sorted by vertex.
    arrays : dict
        Its columns by vertex number, before decoding.
    iterations : int
        Supersteps, those before a resumed checkpoint included.
    converged : bool
        Whether the run reached its end: no vertex active, or the residual within `tol`.
    residual : float
        Norm of the last superstep's change; NaN where the program has none.
    stopped : {"converged", "max_iter", "timeout", "callback", "interrupt", "diverged"}
        Why it ended.
    trace : DataFrame
        One row a superstep: superstep, direction, filter, active, edges, milliseconds, residual,
        bytes_sent, bytes_useful, partitions, fused.
    synchronous : bool
        Whether the states are those after `iterations` supersteps, each of which read what the last
        one left. If not, messages were taken out of order: the fixpoint is the same, but supersteps
        are not comparable, and a state before the end is between those of several.
    """

    graph: Graph[FrameT] = field(repr=False)
    arrays: Mapping[str, Column] = field(repr=False)
    iterations: int
    converged: bool
    residual: float
    stopped: Stopped
    rows: Trace = field(repr=False)
    by_vertex: bool = field(default=True, repr=False)
    synchronous: bool = True

    @property
    def frame(self) -> FrameT:
        """The vertex frame, of the kind of the edge frame, sorted by vertex."""
        if self.by_vertex:
            return self.graph.vertex_frame(self.arrays)
        return self.graph.frame_like(self.arrays)

    @property
    def trace(self) -> FrameT:
        """One row a superstep, as a frame of the same kind."""
        return self.graph.frame_like(self.rows.columns())

    @property
    def _caveat(self) -> str:
        return "" if self.synchronous else f" ({NOT_COMPARABLE})"

    def require_convergence(self, name: str) -> Self:
        """Return the result itself, or raise if the run ended early.

        Parameters
        ----------
        name : str
            Of the algorithm, for the message.

        Returns
        -------
        Result
            This result.

        Raises
        ------
        ConvergenceError
            If `converged` is false; `.result` is this result.
        """
        if self.converged:
            return self
        remedy = "raise max_iter, tol or timeout"
        if self.stopped == "diverged":
            remedy = "scale the weights or the first values down"
        raise ConvergenceError(
            f"{name} did not converge: stopped by {self.stopped} after {self.iterations} supersteps, "
            f"residual {self.residual:.3g}{self._caveat}; {remedy}, or take the error's .result",
            self,
        )


class Run(Protocol):
    """What type checkers see of `run`: the options by name, as `Options` declares them.

    To mypy a program is the class that it is made of; to Pyright, a `VertexProgram`.
    """

    def __call__(
        self,
        program: VertexProgram | Loop | type[Any],
        graph: Graph[FrameT] | FrameT,
        *,
        source_column: str | list[str] = "source",
        destination_column: str | list[str] = "destination",
        weight_column: str | None = AUTO,
        directed: bool = True,
        engine: Engine = "auto",
        max_iter: int | None = None,
        tol: float | None = None,
        direction: WantedDirection = "auto",
        in_place: bool | None = None,
        priorities: bool = True,
        fused: bool = True,
        predecessors: bool = True,
        partitions: int = 1,
        exchange: ExchangeMethod = "auto",
        method: Method = "auto",
        filter: Filter = "auto",  # noqa: A002 - the papers' word
        progress: Progress = False,
        timeout: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 10,
        resume: str | os.PathLike[str] | None = None,
        **parameters: Any,
    ) -> Result[FrameT]:
        """Run a vertex program on a graph."""


def _typed(function: Callable[..., Any]) -> Run:
    """Return `run` as type checkers see it."""
    return cast(Run, function)


@_typed
@names_columns
@spreads
@shows_options
def run(
    program: VertexProgram | Loop,
    graph: Graph[FrameT] | FrameT,
    *,
    source_column: str | list[str] = "source",
    destination_column: str | list[str] = "destination",
    weight_column: str | None = AUTO,
    directed: bool = True,
    **parameters: Any,
) -> Result[FrameT]:
    """Run a vertex program on a graph.

    Parameters
    ----------
    program : VertexProgram or Loop
        What `ws.vertex_program` made, or an algorithm with its own loop.
    graph : Graph or DataFrame
        The graph, or an edge frame.
    source_column, destination_column : str or list of str
        For an edge frame: its columns.  `source`, `destination` and `weight` name columns as well,
        unless the program has a parameter of that name.
    weight_column : str or None
        For an edge frame: its weight column; by default the column named `weight`, if there is one and
        the program reads weights; None for none.  Edge attributes that the program declares by name
        are read without being named here.
    directed : bool
        For an edge frame: whether edges go one way.
    <options>
    **parameters : Any
        The program's own parameters, vertex values and vertex sets, by name; an unknown one is
        an error.

    Returns
    -------
    Result
        The vertex frame, the trace, and how the run ended.

    Raises
    ------
    InputError
        If an argument cannot be used.
    ProgramError
        If the program is wrong.
    ConvergenceError
        If a run without a limit makes no progress: no vertex is active while some wait, or the same
        states come again.
    EngineError
        If the engine cannot run here.
    GraphMemoryError
        If the run would not fit beside the graph; raised before it starts.
    Interrupted
        On Ctrl-C; `.result` has the state so far.
    """
    options, parameters = Options.taken_from(parameters)
    steps = ("start", "step", "columns")
    if not isinstance(program, VertexProgram) and not all(
        callable(getattr(program, name, None)) for name in steps
    ):
        raise InputError(
            f"program={shown(program)} is neither a vertex program nor a loop; put @ws.vertex_program "
            "above the class"
        )
    check_columns(source_column, destination_column, weight_column, directed)
    choose_engine(options.engine)
    loop = _loop(program, options, parameters)
    bound_graph = program_graph(
        program, graph, source_column, destination_column, weight_column, directed
    )
    bound_graph.check_outputs(getattr(loop, "outputs", {}))
    here = choose_engine(options.engine, bound_graph)
    if isinstance(bound_graph, ShardGraph):
        loop = loop.on_crew()
    if here == "cuda":
        loop = loop.on_cuda()
    elif not isinstance(bound_graph, ShardGraph):
        check_run_memory(program, bound_graph)
    result = _drive(loop, bound_graph, options)
    if here == "cuda":
        from cugraph_ws.cuda.device import device

        device().trim()
    return result


def _loop(program: VertexProgram | Loop, options: Options, parameters: dict[str, Any]) -> Loop:
    """Return the loop that a run is of; refuse what is for vertex programs if it has one of its own."""
    if isinstance(program, VertexProgram):
        from cugraph_ws.vertex_loop import VertexLoop

        return VertexLoop(program, parameters, options)
    refused = [*options.given("program", "gpu"), *parameters]
    if refused:
        raise InputError(
            f"{program.name} has a loop of its own: {', '.join(refused)} cannot be given to run(); "
            "its parameters are given when it is made"
        )
    return program


def program_graph(
    program: VertexProgram | Loop,
    graph: Any,
    source_column: Any,
    destination_column: Any,
    weight_column: Any,
    directed: bool,
) -> Graph:
    """Return the graph that a run is of, with the edge columns that its program reads.

    Parameters
    ----------
    program : VertexProgram or Loop
    graph : Graph or DataFrame
    source_column, destination_column, weight_column, directed
        As in `run`.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If a column is missing, or a Graph was built otherwise.
    """
    attributes: tuple[str, ...] = ()
    if not isinstance(graph, Graph):
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


def _drive(loop: Loop, graph: Graph, options: Options) -> Result:
    """Step until the loop converges or something stops it."""
    begun = time.perf_counter()
    loop.start(graph)
    kept: Checkpoints | CrewCheckpoints
    ask: Callable[[str | None], str | None]
    if isinstance(graph, ShardGraph):
        kept = CrewCheckpoints(loop, graph, options.checkpoint, options.resume)
        ask = Council(graph.crew).ask
    else:
        kept = Checkpoints(loop, graph, options.checkpoint, options.resume)
        ask = _own_wish
    iterations, saved, residual = 0, 0, math.nan
    facts = kept.load()
    if facts:
        iterations = saved = int(facts["iterations"])
        residual = math.nan if facts["residual"] is None else float(facts["residual"])
    trace = Trace()
    holders = graph.crew.size if isinstance(graph, ShardGraph) else 1
    stopped: Stopped = "converged"
    wish: str | None = None
    idle = 0  # supersteps in a row without active vertices
    whole = True  # whether the state is that between two supersteps

    def result() -> Result:
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
        )

    def synchronous() -> bool:
        return getattr(loop, "synchronous", True)  # loops of their own are

    def save() -> None:
        known = None if math.isnan(residual) else residual
        kept.save({"iterations": iterations, "residual": known})

    with reporter(options.progress, loop.name) as report, HeldInterrupts() as interrupts:
        try:
            while not loop.converged:
                started = time.perf_counter()
                if options.timeout is not None and started - begun > options.timeout:
                    wish = wish or "timeout"
                wish = ask(wish)
                if wish == "interrupt":
                    raise KeyboardInterrupt
                if wish is not None:
                    stopped = cast(Stopped, wish)
                    break
                if loop.diverged:
                    stopped = "diverged"
                    break
                if loop.max_iter is not None and iterations >= loop.max_iter:
                    stopped = "max_iter"
                    break
                whole = False
                step = loop.step()
                whole = True
                now = time.perf_counter()
                history = step.history or [(step.active, step.edges)]
                residual = step.residual
                iterations += len(history)
                trace.add(
                    step.direction,
                    step.filter,
                    history,
                    now - started,
                    step.residuals or [residual],
                    (step.bytes_sent, step.bytes_useful),
                    step.modes,
                    step.partitions or holders,
                )
                if interrupts.pressed:
                    raise KeyboardInterrupt
                idle = idle + 1 if step.active == 0 and step.edges == 0 else 0
                if idle >= IDLE_SUPERSTEPS and not loop.converged:
                    raise ConvergenceError(
                        f"{loop.name} makes no progress: no vertex was active in {idle} supersteps, and "
                        "vertices still wait for their turn; check the program's priority, or give "
                        "priorities=False",
                        result(),
                    )
                update = ProgressUpdate(
                    superstep=iterations,
                    active=step.active,
                    edges=step.edges,
                    residual=residual,
                    tol=loop.tol,
                    max_iter=loop.max_iter,
                    seconds=now - begun,
                )
                if not report.update(update):
                    wish = "callback"
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


def _own_wish(wish: str | None) -> str | None:
    """Return why a run on one machine ends: nobody else has to agree."""
    return wish


def as_columns(
    program: VertexProgram,
    state: Mapping[str, npt.NDArray[Any]],
    infinities: Mapping[str, int],
    predecessors: npt.NDArray[np.int64] | None,
    vertices: int,
) -> dict[str, Column]:
    """Turn a program's final state into the columns of its result.

    Parameters
    ----------
    program : VertexProgram
        The program.
    state : mapping of ndarray, each of shape (n,)
        Its state fields.
    infinities : mapping
        For integer types, the value that stands for math.inf.
    predecessors : ndarray of int64, shape (n,), or None
        Vertex numbers, −1 for none.
    vertices : int
        Number of vertices of the graph, of which `state` may hold a share.

    Returns
    -------
    dict
        The visible fields, then the predecessors.
    """
    columns: dict[str, Column] = {}
    for name, declared in program.state.items():
        if not declared.visible:
            continue
        values = state[name]
        if getattr(declared.type, "holds_vertex", False):
            known = (values >= 0) & (values < vertices)
            columns[name] = VertexNumbers(np.where(known, values, -1), nullable=True)
        elif declared.null is None:
            columns[name] = values
        elif declared.null == math.inf and (
            values.dtype.kind == "f" or values.dtype.name in infinities
        ):
            columns[name] = Below(values, infinities.get(values.dtype.name, math.inf))
        else:
            columns[name] = Masked(values, values != declared.null)
    if program.predecessor is not None and predecessors is not None:
        columns[program.predecessor] = VertexNumbers(predecessors, nullable=True)
    return columns
