"""The entry point: `run` takes a program and a graph, and returns a vertex frame.

It makes a loop of the program, builds the graph, and drives the loop (`driver`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cugraph_ws.arguments import check_columns, shown
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import drive, loop_of
from cugraph_ws.execution.loop import Loop, Result
from cugraph_ws.execution.options import Options, Plan
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.conventions import columns_read, names_columns, reads_weights
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.program.walk_program import WalkProgram

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from cugraph_ws.execution.options import Engine
    from cugraph_ws.execution.profile import Profile
    from cugraph_ws.execution.progress import Progress

__all__ = ["RUNNABLE", "checked_program", "program_graph", "run"]

RUNNABLE = (VertexProgram, EdgeProgram, WalkProgram, Phases, Loop)


@names_columns
@accepts_dask_frames
def run(
    program: VertexProgram | EdgeProgram | WalkProgram | Phases | Loop | type[Any],
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
    profile: bool | Callable[[Profile], Any] = False,
    **parameters: Any,
) -> Result[FrameT]:
    """Run a vertex program on a graph.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, WalkProgram, Phases or Loop
        A class decorated with `ws.vertex_program` or `ws.edge_program`, a function decorated with `ws.walk`,
        several vertex programs combined by `ws.phases`, or an algorithm with its own loop.  To mypy a program
        is the decorated class; to Pyright it is a `VertexProgram`.
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
    profile : bool or callable
        Whether kernels or compiled loops are timed, for the result's `profile`; a function is called with that
        profile when the run ends, also if the run is one of a function such as `pagerank`.  Launches of the whole
        process are recorded, and each waits for its neighbours' time stamps; NVIDIA's profilers see a range for
        each superstep.
    **parameters : Any
        The program's own parameters, vertex values and vertex sets, by name; unknown names are
        errors.  For an edge program also `pairs`, a frame with the columns `first` and `second`; by
        default its values are computed for all pairs of neighbours.  For a walk also `length`, the most steps;
        `starts`, the ids where walks begin, by default those of all vertices; and `seed`.

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

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> result = ws.run(ws.BFS, edges, start="a")
    >>> result.frame.distance.tolist(), result.stopped
    ([0, 1, 2, 2], 'converged')
    """
    options = Options(
        engine=engine, max_iter=max_iter, tol=tol, predecessors=predecessors, plan=plan,
        progress=progress, timeout=timeout, checkpoint=checkpoint, every=every, resume=resume,
        profile=profile,
    )  # fmt: skip
    if isinstance(graph, RUNNABLE):
        raise InputError("run takes the program first, then the graph: exchange the two")
    runs = checked_program(program)
    check_columns(source_column, destination_column, weight_column, directed)
    choose_engine(options.engine)
    loop = loop_of(runs, options, parameters)
    built = program_graph(runs, graph, source_column, destination_column, weight_column, directed)
    return drive(loop, built, options)


def checked_program(program: Any) -> VertexProgram | EdgeProgram | WalkProgram | Phases | Loop:
    """Return what is given as a program; refuse what cannot be run.

    Raises
    ------
    InputError
    """
    if isinstance(program, RUNNABLE):
        return program
    if isinstance(program, str):
        raise InputError(
            f"program={shown(program)} is a name; give the program itself, such as ws.PageRank"
        )
    name = "" if isinstance(program, type) else getattr(program, "__name__", "")
    if name and callable(program):
        raise InputError(f"program={name} is a function; call it with the graph: {name}(graph)")
    raise InputError(
        f"program={shown(program)} is neither a vertex program nor a loop; put @ws.vertex_program "
        "or @ws.edge_program above the class"
    )


def program_graph(
    program: VertexProgram | EdgeProgram | WalkProgram | Phases | Loop,
    graph: Any,
    source_column: Any,
    destination_column: Any,
    weight_column: Any,
    directed: bool,
) -> GraphView:
    """Return the graph of a run, with the edge columns that its program reads.

    Parameters
    ----------
    program : VertexProgram, EdgeProgram, WalkProgram, Phases or Loop
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
