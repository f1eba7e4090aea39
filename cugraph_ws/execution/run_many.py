"""Several programs on one graph: bound before the first runs, and on a CPU run at once if that is faster.

Supersteps of a graph of some thousand edges are too short for all cores, and those of searches seldom read
enough for them.  So each run has a core of its own.  What runs read is the graph's, and made once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from cugraph_ws.arguments import check_columns, shown
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import CugraphWsError, InputError, Interrupted
from cugraph_ws.execution.dask_frames import is_on_cluster
from cugraph_ws.execution.driver import drive, loop_of
from cugraph_ws.execution.keywords import takes_names_of_others
from cugraph_ws.execution.loop import Loop, Result
from cugraph_ws.execution.options import Options, RunOptions
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.execution.run import RUNNABLE, checked_program, run
from cugraph_ws.execution.run_memory import (
    refuse_beyond_memory,
    refuse_run,
    room_for_runs,
    sizes_of,
)
from cugraph_ws.execution.stop_requests import ended_by
from cugraph_ws.execution.vector_loop import VectorLoop
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.frames.base import table_if_stream
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO, Columns
from cugraph_ws.graph.graph import as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.conventions import columns_read, reads_weights
from cugraph_ws.runtime.arrays import on_default_stream
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.threads import number_of_threads, threads_at_most

if TYPE_CHECKING:
    from cugraph_ws.program.edge_program import EdgeProgram
    from cugraph_ws.program.phases import Phases
    from cugraph_ws.program.vertex_program import VertexProgram
    from cugraph_ws.program.walk_program import WalkProgram

    Program = VertexProgram | EdgeProgram | WalkProgram | Phases | Loop | type[Any]

__all__ = ["run_many"]

LEAST_ARCS = 1 << 16  # with fewer, threads wait for each other's Python code more than they gain
VALUE = 9  # most bytes of a result's value, with the mark of null


class _Call(NamedTuple):
    """A program, its own parameters, and the options of its run."""

    program: Any
    parameters: dict[str, Any]
    options: Options

    def loop(self) -> Loop:
        """Return a loop, not started."""
        return loop_of(self.program, self.options, self.parameters)


@takes_names_of_others
def run_many(
    programs: Iterable[Program | tuple[Program, Mapping[str, Any]]],
    graph: GraphView[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: str | None = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> list[Result[FrameT]]:
    """Run several programs, or one with several parameters, on one graph.

    Each result is that of `run`, bit for bit.  An edge frame is made a graph once; all programs are checked and
    bound to it before the first runs.  On a CPU, several runs are computed at once, each on one core, as far as
    they fit in memory together; on a GPU and on a cluster they follow each other.

    Parameters
    ----------
    programs : iterable of programs, or of tuples (program, arguments)
        What `run` takes; `arguments` are a mapping of the program's parameters, and of options of this run alone,
        such as `max_iter`.
    graph : Graph or DataFrame
        The graph, or an edge frame.
    source, destination, weight, directed
        For an edge frame: its columns, and whether edges are directed; see `run`.  The graph keeps all columns that
        a program reads.
    **options : Any
        Options for all runs, such as engine, plan, max_iter, progress, timeout and profile.  With `progress` or
        `profile`, runs follow each other.  `timeout` is for each run.

    Returns
    -------
    list of Result
        In the order of `programs`.

    Raises
    ------
    InputError
        If an argument is invalid; a note says which of the programs it is of.  So it is with other errors.
    GraphMemoryError
        If a run, or all results, would not fit in memory beside the graph; raised before the first runs.
    Interrupted
        On Ctrl-C; `.results` is the list, with None for runs that had not ended.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1.0, 2.0, 4.0]})
    >>> near, far, ranks = ws.run_many(
    ...     [(ws.SSSP, {"start": 0}), (ws.SSSP, {"start": 2}), ws.PageRank], edges
    ... )
    >>> far.frame["distance"].tolist()
    [4.0, 5.0, 0.0]
    """
    if isinstance(graph, (*RUNNABLE, list, tuple)):
        raise InputError("run_many takes the programs first, then the graph: exchange the two")
    check_columns(source, destination, weight, directed)
    calls = _calls(programs, dict(options))
    opened = _opened(calls, table_if_stream(graph), source, destination, weight, directed)
    if is_on_cluster(opened):
        return [_run_on_cluster(place, call, opened) for place, call in enumerate(calls)]
    with on_default_stream():
        return _run_all(calls, opened, _checked(calls, opened))


def _calls(programs: Iterable[Any], options: dict[str, Any]) -> list[_Call]:
    """Return what is to be run, with checked options."""
    for name in ("checkpoint", "resume"):
        if options.get(name) is not None:
            raise InputError(
                f"{name}={shown(options[name])}: each run has a file of its own; give it in the program's tuple, "
                f"as in (ws.PageRank, {{{name!r}: ...}})"
            )
    if isinstance(programs, (str, Mapping, *RUNNABLE)) or not isinstance(programs, Iterable):
        raise InputError(
            f"programs={shown(programs)}: give a list of programs, or of tuples (program, arguments)"
        )
    calls = []
    for place, given in enumerate(programs):
        program, arguments = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
        with _noted(place, program):
            checked_program(program)
            if not isinstance(arguments, Mapping):
                raise InputError(
                    f"arguments={shown(arguments)}: give a mapping by name, as in (ws.SSSP, {{'start': 0}})"
                )
            chosen, parameters = Options.taken_from({**options, **arguments})
            calls.append(_Call(program, parameters, chosen))
            choose_engine(chosen.engine)
            calls[-1].loop()
    return calls


@contextmanager
def _noted(place: int, program: Any) -> Iterator[None]:
    """Note on errors inside the `with` block of which program they are."""
    try:
        yield
    except CugraphWsError as error:
        error.add_note(f"in programs[{place}], {getattr(program, 'name', shown(program))}")
        raise


def _opened(
    calls: Sequence[_Call], graph: Any, source: Columns, destination: Columns, weight: Any, directed: bool
) -> Any:  # fmt: skip
    """Return the graph of all runs, with the edge columns that their programs read."""
    if isinstance(graph, GraphView) or getattr(graph, "is_partitioned", False):
        return graph
    columns: dict[str, None] = {}
    chosen = None
    for call in calls:
        read, attributes = columns_read(call.program, graph, weight, source, destination)
        chosen = read if chosen is None else chosen
        columns |= dict.fromkeys(attributes)
    columns.pop(chosen, None)  # type: ignore[arg-type]
    if is_on_cluster(graph):
        return provider("graphs of dask").ClusterGraph(
            graph, source, destination, chosen, directed, attributes=tuple(columns)
        )
    return as_graph(
        graph, source=source, destination=destination, weight=chosen, directed=directed,
        attributes=tuple(columns), weighted=any(reads_weights(call.program) for call in calls),
    )  # fmt: skip


def _run_on_cluster(place: int, call: _Call, graph: Any) -> Any:
    """Return the result of a run on the workers."""
    with _noted(place, call.program):
        return run(call.program, graph, **call.options.chosen(), **call.parameters)


def _checked(calls: Sequence[_Call], graph: GraphView) -> int:
    """Refuse runs that could not start or would not fit in memory; return how many run at once."""
    results, needed = 0.0, [0.0]
    engines, in_turn = {"cpu"}, not graph.whole
    for place, call in enumerate(calls):
        options = call.options
        engine = choose_engine(options.engine, graph)
        with _noted(place, call.program):
            loop = call.loop()
            graph.check_outputs(loop.outputs)
            refuse_run(loop, graph, on_device=engine == "cuda")
            needed.append(loop.memory(sizes_of(graph, on_device=engine == "cuda")))
            if isinstance(loop, (VertexLoop, VectorLoop, PhasedLoop)):
                loop.bind(graph)
        results += VALUE * graph.owned * max(1, len(loop.outputs))
        engines.add(engine)
        in_turn |= options.plan.partitions > 1
        in_turn |= options.progress is not False or options.profile is not False
    refuse_beyond_memory(
        f"run_many of {len(calls)} programs",
        results + max(needed),
        on_device="cuda" in engines,
        graph=graph,
    )
    few = graph.number_of_arcs < LEAST_ARCS
    if in_turn or engines != {"cpu"} or few or graph.arcs_apart(on_device=False):
        return 1
    needed = heapq.nlargest(number_of_threads(), needed[1:])
    room = room_for_runs(on_device=False, graph=graph) - results
    return max([k for k in range(1, len(needed) + 1) if sum(needed[:k]) <= room], default=1)


def _kept_for(calls: Sequence[_Call], graph: Any) -> AbstractContextManager[None]:
    """Have the graph on the GPU be the last that gives back memory, if later calls run there."""
    if graph.whole and any(choose_engine(call.options.engine, graph) == "cuda" for call in calls):
        kept: AbstractContextManager[None] = provider("device memory").needed_later(
            graph.on_device()
        )
        return kept
    return nullcontext()


def _run_all(
    calls: Sequence[_Call], graph: GraphView[FrameT], at_once: int
) -> list[Result[FrameT]]:
    """Run all programs, so many at once."""
    results: list[Any] = [None] * len(calls)
    places = iter(range(len(calls)))  # next() on a range iterator is atomic under the GIL
    threads = max(1, number_of_threads() // at_once)
    ended = Event()

    def work() -> None:
        for place in places:
            if ended.is_set():
                return
            call = calls[place]
            with (
                ending(), _noted(place, call.program), threads_at_most(threads), ended_by(ended),
                _kept_for(calls[place + 1 :], graph),
            ):  # fmt: skip
                result = drive(call.loop(), graph, call.options)
            if not ended.is_set():
                results[place] = result

    @contextmanager
    def ending() -> Iterator[None]:
        try:
            yield
        except BaseException:
            ended.set()
            raise

    try:
        with ending(), ThreadPoolExecutor(max(1, at_once - 1), "cugraph_ws run") as pool:
            helpers = [pool.submit(copy_context().run, work) for _ in range(at_once - 1)]
            work()
            for helper in helpers:
                helper.result()
    except KeyboardInterrupt as error:
        done = sum(result is not None for result in results)
        interrupted = Interrupted(
            f"run_many was interrupted after {done} of {len(calls)} runs; .results has theirs",
            getattr(error, "result", None),
        )
        interrupted.results = results
        raise interrupted from None
    return results
