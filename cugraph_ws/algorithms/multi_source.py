"""Searches from many vertices at once: one row for each start and vertex.

The starts are shared out among the cores: each runs whole searches of its own, with the loops of
`bfs` and `sssp`, which needs no locks and no exchange.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.bfs import BFS
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Unreachable,
    Weight,
    check_unreachable,
    with_unreachable,
)
from cugraph_ws.algorithms.sssp import SSSP
from cugraph_ws.arguments import check_count, check_number, check_word, shown
from cugraph_ws.cluster.spread import spreads
from cugraph_ws.conventions import AUTO, reads_weights
from cugraph_ws.declarations import VertexSet
from cugraph_ws.engines.threads import number_of_threads, parallel
from cugraph_ws.errors import InputError
from cugraph_ws.frame_types import FrameT
from cugraph_ws.frames import Masked, VertexNumbers
from cugraph_ws.graph import Graph, as_graph
from cugraph_ws.options import Engine, Options
from cugraph_ws.program import VertexProgram
from cugraph_ws.run import Column, Loop, Step, run
from cugraph_ws.saved_state import SavedState
from cugraph_ws.vertex_loop import VertexLoop

__all__ = ["MultiSource", "multi_source_bfs", "multi_source_sssp"]

SEARCHES_A_STEP = 4  # for each core: often enough to stop, seldom enough to keep cores busy


class MultiSource:
    """Runs a search from each of many vertices; see `cugraph_ws.run.Loop` for the interface.

    Parameters
    ----------
    program : VertexProgram
        `BFS` or `SSSP`.
    argument : str
        Its argument for the start.
    starts : list of ids
        Each is searched from on its own.
    engine : str
        As in `run`.
    max_iter : int, optional
        Most supersteps of each search.
    parameters : Any
        Further arguments of the program.
    """

    by_vertex = False
    diverged = False
    tol: float | None = None
    max_iter: int | None = None  # of the run, whose steps are batches of searches
    _threads: int | None = 1  # of each search

    def __init__(
        self,
        program: Any,  # a VertexProgram, which type checkers take for the class it was made of
        argument: str,
        starts: Any,
        *,
        engine: Engine = "auto",
        max_iter: int | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(program, VertexProgram):
            raise InputError(f"program={shown(program)} is no vertex program; give BFS or SSSP")
        sets = {name: one for name, one in program.constants.items() if isinstance(one, VertexSet)}
        if not isinstance(argument, str) or argument not in {
            *sets,
            *(one.alias for one in sets.values()),
        }:
            raise InputError(
                f"argument={shown(argument)}: {program.name} has no such set of vertices; it has "
                f"{', '.join(sets) or 'none'}"
            )
        check_word("engine", engine)
        if max_iter is not None:
            check_count("max_iter", max_iter)
        self.name = f"multi_source_{program.name.lower()}"
        self._program = program
        self._argument = argument
        self._starts = starts
        self._engine = engine
        self._limit = max_iter
        self._parameters = parameters
        self._done = 0

    def on_cuda(self) -> Loop:
        """Return the same loop for the CUDA engine: `BFS` or `SSSP`, up to 32 starts a step."""
        from cugraph_ws.cuda.multi_source import DeviceSearches

        return DeviceSearches(
            self._program,
            self._argument,
            self._starts,
            max_iter=self._limit,
            parameters=self._parameters,
        )

    def on_crew(self) -> Loop:
        """Return the same loop for a share of a graph: one search after the other, by all."""
        from cugraph_ws.cluster.multi_source import CrewSearches

        return CrewSearches(
            self._program,
            self._argument,
            self._starts,
            engine=self._engine,
            max_iter=self._limit,
            **self._parameters,
        )

    @property
    def reads_weights(self) -> bool:
        """Whether the search reads the weights of edges."""
        return reads_weights(self._program)

    @property
    def converged(self) -> bool:
        """Whether every start has been searched from."""
        return self._done == len(self._numbers)

    def start(self, graph: Graph) -> None:
        """Look the starts up and make room for the results."""
        if isinstance(self._starts, (str, bytes, tuple)) or not hasattr(self._starts, "__len__"):
            raise InputError(f"starts={self._starts!r} must be a list of vertices")
        self._graph = graph
        self._numbers = graph.numbers(self._starts, "starts")
        size = (len(self._numbers), graph.owned)
        first = self._loop(0) if len(self._numbers) else None
        kind = first.state()["distance"].dtype if first is not None else np.dtype(np.int64)
        self._distance = np.zeros(size, kind)
        self._valid = np.zeros(size, np.bool_)
        self._predecessor = np.full(size, -1, np.int64)

    def _loop(self, place: int) -> VertexLoop:
        loop = VertexLoop(
            self._program,
            {self._argument: self._members(self._numbers[place]), **self._parameters},
            Options(engine=self._engine, max_iter=self._limit),
            threads=self._threads,
        )
        loop.start(self._graph)
        return loop

    def _members(self, number: np.int64) -> npt.NDArray[np.bool_]:
        """Mark one vertex."""
        members = np.zeros(self._graph.number_of_vertices, np.bool_)
        members[number] = True
        return members

    def _search(self, place: int) -> tuple[int, int]:
        """Search from one start; return the arcs read, and the bytes sent."""
        loop = self._loop(place)
        steps = arcs = sent = 0
        while not loop.converged and (self._limit is None or steps < self._limit):
            step = loop.step()
            steps += len(step.history)
            arcs += step.edges
            sent += step.bytes_sent
        columns = loop.columns()
        distance, predecessor = columns["distance"], columns["predecessor"]
        assert isinstance(predecessor, VertexNumbers)
        if isinstance(distance, Masked):
            self._distance[place], self._valid[place] = distance.values, distance.valid
        else:
            assert isinstance(distance, np.ndarray)
            self._distance[place], self._valid[place] = distance, True
        self._predecessor[place] = predecessor.numbers
        return arcs, sent

    def step(self) -> Step:
        """Search from the next few starts."""
        threads = 1 if self._engine == "python" else number_of_threads()
        stop = min(self._done + SEARCHES_A_STEP * threads, len(self._numbers))
        places = list(range(self._done, stop))
        # The first alone, so that the program is compiled once.
        totals = [self._search(places[0])]
        rest = [(place,) for place in places[1:]]
        if threads == 1:
            totals += [self._search(*task) for task in rest]
        else:
            totals += parallel(self._search, rest)
        self._done = stop
        return Step(
            active=len(self._numbers) - stop,
            edges=sum(arcs for arcs, _ in totals),
            direction="push",
            filter="list",
        )

    def inputs(self) -> dict[str, Any]:
        """Return what the searches depend on beside the graph."""
        attributes = {name: self._graph.edge_values(name) for name in self._graph.edge_attributes}
        return {
            "depth_limit": self._limit,
            **self._parameters,
            "sources": self._numbers,
            **attributes,
        }

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the finished searches."""
        done = slice(0, self._done)
        return {
            "distance": self._distance[done].ravel(),
            "valid": self._valid[done].ravel(),
            "predecessor": self._predecessor[done].ravel(),
            "done": np.array([self._done]),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        check_searches(state, self._distance, graph.number_of_vertices)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on after the finished searches."""
        self._done = int(state["done"][0])
        for name in ("distance", "valid", "predecessor"):
            matrix = getattr(self, f"_{name}")
            matrix[: self._done] = state[name].reshape(self._done, matrix.shape[1])

    def columns(self) -> dict[str, Column]:
        """Return one row for each start searched from, in their order, and vertex."""
        done, vertices = self._done, self._vertices()
        rows = slice(0, done)
        return {
            "source": VertexNumbers(np.repeat(self._numbers[rows], len(vertices))),
            "vertex": VertexNumbers(np.tile(vertices, done)),
            "distance": Masked(self._distance[rows].ravel(), self._valid[rows].ravel()),
            "predecessor": VertexNumbers(self._predecessor[rows].ravel(), nullable=True),
        }

    def _vertices(self) -> npt.NDArray[np.int64]:
        """Return the vertices that each start has a row for."""
        return np.arange(self._graph.number_of_vertices)


def check_searches(state: SavedState, room: Any, vertices: int) -> None:
    """Refuse what is not the finished searches of such a run.

    Parameters
    ----------
    state : SavedState
    room : array, shape (sources, vertices)
        Where the distances go.
    vertices : int
        Number of vertices of the graph.

    Raises
    ------
    InputError
    """
    sources, width = room.shape
    size = state.number("done", 0, sources) * width
    state.like("distance", size, room.dtype)
    state.flags("valid", size)
    state.integers("predecessor", size, -1, vertices - 1)


@spreads
def multi_source_bfs(
    graph: Graph[FrameT] | FrameT,
    starts: Any,
    depth_limit: int | None = None,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    unreachable: Unreachable = "null",
    **options: Unpack[RunOptions],
) -> FrameT:
    """Count the hops from each of many vertices to every vertex.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    starts : list of ids
        Each is searched from on its own.
    depth_limit : int, optional
        Most hops; 0 reaches the start alone.
    source, destination : str or list of str
        For an edge frame: its columns.
    weight : str, optional
        For an edge frame: a weight column, which is checked and makes no difference.
    directed : bool
        For an edge frame: whether edges go one way.
    unreachable : {"null", "max"}
        How the distance of unreachable vertices looks: null, or the greatest int32.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

    Returns
    -------
    DataFrame
        source (the start), vertex, distance (int32, hops), predecessor; one row for each start, in the
        given order, and vertex, sorted.

    Raises
    ------
    InputError
        If a start vertex is unknown, or an argument cannot be used.
    ConvergenceError
        If `timeout` is reached first; `.result` has the searches that are done.
    """
    check_unreachable(unreachable)
    if depth_limit is not None:
        check_count("depth_limit", depth_limit)
    loop = MultiSource(
        BFS, "start", starts, engine=options.get("engine", "auto"), max_iter=depth_limit
    )
    result = run(
        loop,
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        **options,
    )
    result.require_convergence(loop.name)
    return with_unreachable(result, "distance", unreachable)


@spreads
def multi_source_sssp(
    graph: Graph[FrameT] | FrameT,
    starts: Any,
    cutoff: float | None = None,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    unreachable: Unreachable = "null",
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the length of the shortest path from each of many vertices to every vertex.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame. Without weights every edge has length 1.
    starts : list of ids
        Each is searched from on its own.
    cutoff : float, optional
        Greatest length of a path; vertices farther away are unreachable.
    source, destination : str or list of str
        For an edge frame: its columns.
    weight : str or None
        For an edge frame: the column of lengths, 0 or more; by default the column named `weight`, if there is
        one. None for no weights.
    directed : bool
        For an edge frame: whether edges go one way.
    unreachable : {"null", "max"}
        How the distance of unreachable vertices looks: null, or the type's greatest value.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

    Returns
    -------
    DataFrame
        source (the start), vertex, distance (as in `sssp`), predecessor; one row for each start, in the
        given order, and vertex, sorted.

    Raises
    ------
    InputError
        If a start vertex is unknown, a weight is negative, or integer paths could overflow.
    ConvergenceError
        If `timeout` is reached first; `.result` has the searches that are done.
    """
    check_unreachable(unreachable)
    if cutoff is not None:
        check_number("cutoff", cutoff)
    loop = MultiSource(SSSP, "start", starts, engine=options.get("engine", "auto"), cutoff=cutoff)
    result = run(
        loop,
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        **options,
    )
    result.require_convergence(loop.name)
    return with_unreachable(result, "distance", unreachable)
