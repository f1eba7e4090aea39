"""Searches from many vertices at once: one row for each start and vertex.

On the CPU each search is a vertex loop.  On GPUs up to 32 searches form a batch: see
`multi_source` in `backends/{cpu,cuda}/loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from operator import length_hint
from typing import Any, Unpack, cast

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.bfs import BFS
from cugraph_ws.algorithms.footprints import RESULTS
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Unreachable,
    Weight,
    check_unreachable,
    with_unreachable,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.sssp import SSSP
from cugraph_ws.arguments import check_count, check_number, check_word, is_one_vertex, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.options import Engine, Options
from cugraph_ws.execution.run_memory import program_memory
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.frames.base import Masked, VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.program.binding import BoundProgram, bind
from cugraph_ws.program.conventions import reads_weights
from cugraph_ws.program.declarations import VertexSet
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["MultiSource", "multi_source_bfs", "multi_source_sssp"]

FIELDS = ("distance", "valid", "predecessor")
BATCHED: tuple[Any, ...] = (BFS, SSSP)  # programs with kernels for batches


@dataclass(frozen=True)
class Search:
    """What all searches of a run share.

    Attributes
    ----------
    bound : BoundProgram
        The program on the graph.
    limit : int or None
        Maximum number of supersteps of each search.
    plain : bool
        Whether the program runs as plain Python.
    by_hops : bool
        Whether it is `BFS`.
    begin : callable
        Takes a vertex number and a maximum number of threads (None for all cores); returns the
        search from that vertex as a started `VertexLoop`.
    """

    bound: BoundProgram
    limit: int | None
    plain: bool
    by_hops: bool
    begin: Callable[[int, int | None], VertexLoop]


class MultiSource(Loop):
    """The loop that runs a search from each of many vertices, for `run`.

    On GPUs a step is a batch of up to 32 searches.  On the CPU it is a few searches for each core
    or, on a shard, one search by all ranks.  The result has one row for each start and owned
    vertex: starts in the given order, then vertices ascending.

    Parameters
    ----------
    program : VertexProgram
        `BFS` or `SSSP`.
    argument : str
        The program's argument for the start.
    starts : list of ids, optional
        Start vertices; a separate search runs from each.  None: from every vertex.
    engine : str
        As in `run`.
    max_iter : int, optional
        Maximum number of supersteps of each search.
    parameters : Any
        Further arguments of the program.

    Examples
    --------
    Parameters of the program hold for every search, here that paths are no longer than 3:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> roads = {"source": ["a", "b", "c"], "destination": ["b", "c", "a"], "weight": [1.0, 2.0, 4.0]}
    >>> loop = ws.MultiSource(ws.SSSP, "start", ["a", "b"], cutoff=3.0)
    >>> frame = ws.run(loop, pd.DataFrame(roads)).frame
    >>> frame.pivot(index="source", columns="vertex", values="distance").values.tolist()
    [[0.0, 1.0, 3.0], [nan, 0.0, 2.0]]
    """

    by_vertex = False
    rows_by = "vertex", True
    less_memory = "search from fewer starts at a time, or use a larger machine"
    max_iter: int | None = None  # of the run, in which a step is a batch of searches
    ends_within_steps = True

    def __init__(
        self,
        program: Any,  # a VertexProgram; type checkers see the class that it is made from
        argument: str,
        starts: Any,
        *,
        engine: Engine = "auto",
        max_iter: int | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(program, VertexProgram):
            raise InputError(f"program={shown(program)} is not a vertex program; give BFS or SSSP")
        sets = {
            name: constant
            for name, constant in program.constants.items()
            if isinstance(constant, VertexSet)
        }
        if not isinstance(argument, str) or argument not in {
            *sets,
            *(constant.alias for constant in sets.values()),
        }:
            raise InputError(
                f"argument={shown(argument)}: {program.name} has no vertex set of this name; it has: "
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

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {} if self._starts is None else {"starts": self._starts}

    @property
    def reads_weights(self) -> bool:
        """Whether the search reads the weights of edges."""
        return reads_weights(self._program)

    @property
    def arc_inputs(self) -> Collection[str]:
        """Names of the arrays of `inputs` with an entry for each arc."""
        return self._graph.edge_attributes

    @property
    def converged(self) -> bool:
        """Whether all searches are done."""
        return self._done == len(self._numbers)

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes of the rows of the result, one for each start and vertex, and of a search."""
        starts = sizes.vertices if self._starts is None else length_hint(self._starts, 1)
        if sizes.on_device and sizes.whole:
            return self._memory_on_gpu(sizes, starts * sizes.vertices)
        each = self._bytes_a_row() + 1.5 * sizes.wide_ids
        return each * starts * sizes.vertices + program_memory(self._program, sizes)

    def _memory_on_gpu(self, sizes: Sizes, rows: int) -> float:
        """Return the bytes of the result's rows and of a batch of searches, or while the CSR is made."""
        each, framed = self._bytes_a_row(" on a GPU"), self._bytes_a_row()
        lengths = 8 * sizes.arcs * (sizes.weighted and self.reads_weights)
        edges = sizes.csr + (1 + sizes.directed) * lengths
        begun = lengths or 21 * rows
        running = max(each * rows + edges, begun + sizes.transposing)
        return max(running, (framed + 1.5 * sizes.wide_ids) * rows * sizes.framed)

    def _bytes_a_row(self, where: str = "") -> float:
        """Return the bytes of a row of the result; of another search by lengths those of shortest paths."""
        return RESULTS.get(self.name + where, RESULTS["multi_source_sssp" + where])

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Look up the starts and allocate the results."""
        program = self._program
        batched = on_device and any(
            _are_alike(program, batched_program) for batched_program in BATCHED
        )
        if on_device and not batched and graph.whole:
            raise InputError(
                f"multi-source searches on the CUDA engine run BFS or SSSP, not {program.name}; "
                "use engine='cpu'"
            )
        if "distance" not in program.state or program.predecessor != "predecessor":
            raise InputError(
                f"program={program.name} has no `distance` and `predecessor`; give BFS or SSSP"
            )
        if self._starts is None:
            self._numbers = np.arange(graph.number_of_vertices)
        elif is_one_vertex(self._starts):
            raise InputError(f"starts={shown(self._starts)} must be a list of vertices")
        else:
            self._numbers = np.asarray(graph.numbers(self._starts, "starts"))
        self._graph, self._done = graph, 0
        self._part = part = Part(graph, on_device=batched)
        number = np.dtype(np.int64)
        search = self._search()
        state = zip(search.bound.program.state, search.bound.types.state, strict=True)
        kind = np.dtype(dict(state)["distance"])
        if len(self._numbers):
            backend = loops("multi_source", on_device=batched)
            self._searches = backend.Searches(part, search)
            number = self._searches.number
        size = (len(self._numbers), part.owned)
        self._found = {
            "distance": part.xp.zeros(size, kind),
            "valid": part.xp.zeros(size, np.bool_),
            "predecessor": part.xp.full(size, -1, number),
        }

    def _search(self) -> Search:
        """Check arguments and weights as for a single search."""
        plain = self._engine == "python"
        first = int(self._numbers[0]) if len(self._numbers) else -1
        bound = bind(self._program.current(), self._graph, self._arguments(first), plain=plain)
        by_hops = _are_alike(self._program, cast(VertexProgram, BFS))
        return Search(bound, self._limit, plain, by_hops, self._begin)

    def _begin(self, number: int, threads: int | None) -> VertexLoop:
        """Return the started search from a vertex."""
        loop = VertexLoop(
            self._program,
            self._arguments(number),
            Options(engine=self._engine, max_iter=self._limit),
            threads=threads,
        )
        loop.start(self._graph)
        return loop

    def _arguments(self, number: int) -> dict[str, Any]:
        """Return the program's arguments, with the start as a mask by position if it is owned."""
        graph = self._graph
        members, place = np.zeros(graph.length, np.bool_), graph.owners.place(number)
        if place >= 0:
            members[place] = True
        else:
            members[graph.owned :] = graph.positions[graph.owned :] == number
        return {self._argument: members, **self._parameters}

    def step(self) -> Step:
        """Search from the next few starts."""
        first, count = self._done, len(self._numbers)
        done = min(first + self._searches.width, count)
        into = [self._found[field][first:done] for field in FIELDS]
        arcs, bytes_sent = self._searches.run(self._numbers[first:done], *into)
        self._done = done
        return Step(count - done, arcs, direction="push", filter="list", bytes_sent=bytes_sent)

    def inputs(self) -> dict[str, Any]:
        """Return what the searches depend on besides the graph."""
        graph = self._graph
        return {
            "depth_limit": self._limit,
            **self._parameters,
            # Not an array on a shard: one could be taken for an array by vertex.
            "sources": self._numbers if graph.whole else self._numbers.tolist(),
            **{name: graph.edge_values(name) for name in graph.edge_attributes},
        }

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each owned vertex of a shard."""
        return tuple(self._saved(0))

    def _saved(self, done: int) -> dict[str, tuple[str, slice]]:
        """Return for each array of `state` its matrix and rows.

        On a whole graph an array holds all finished searches; on a shard it holds one search,
        finished or not.
        """
        if self._graph.whole:
            return {field: (field, slice(done)) for field in FIELDS}
        places = range(len(self._numbers))
        return {f"{f}_{place}": (f, slice(place, place + 1)) for place in places for f in FIELDS}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the searches, and how many are done."""
        arrays = {"done": np.array([self._done])}
        for name, (field, rows) in self._saved(self._done).items():
            array = as_host(self._found[field][rows]).ravel()
            arrays[name] = array.astype(np.int64) if field == "predecessor" else array
        return arrays

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        done = state.number("done", 0, len(self._numbers))
        for name, (field, rows) in self._saved(done).items():
            size = self._found[field][rows].size
            if field == "distance":
                state.like(name, size, self._found[field].dtype)
            elif field == "valid":
                state.flags(name, size)
            else:
                state.integers(name, size, -1, graph.number_of_vertices - 1)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume after the finished searches."""
        self._done = int(state["done"][0])
        for name, (field, rows) in self._saved(self._done).items():
            room = self._found[field][rows]
            values = state[name].astype(room.dtype, copy=False).reshape(room.shape)
            room[:] = self._part.xp.asarray(values)

    def columns(self) -> dict[str, Column]:
        """Return one row for each finished start, in the given order, and owned vertex."""
        part, xp, done = self._part, self._part.xp, slice(self._done)
        distance, valid, predecessor = (self._found[field][done].ravel() for field in FIELDS)
        if not self._graph.whole:  # other ranks look up ids by int64 numbers
            predecessor = predecessor.astype(np.int64, copy=False)
        vertices = part.owners.numbers(xp)
        return {
            "source": VertexNumbers(xp.repeat(xp.asarray(self._numbers[done]), part.owned)),
            "vertex": VertexNumbers(xp.tile(vertices, self._done)),
            "distance": Masked(distance, valid),
            "predecessor": VertexNumbers(predecessor, nullable=True),
        }


@algorithm(
    group="paths",
    columns="source, vertex, distance, predecessor",
    example=lambda ids: {"starts": ids[:2]},
    divides="starts",
)
@accepts_dask_frames
def multi_source_bfs(
    graph: Graph[FrameT] | FrameT,
    starts: Any = None,
    *,
    depth_limit: int | None = None,
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
    starts : list of ids, optional
        Start vertices; a separate search runs from each.  By default from every vertex, which gives
        the distances of all pairs.
    depth_limit : int, optional
        Maximum number of hops; 0 reaches only the start.
    unreachable : {"null", "max"}
        Distance of unreachable vertices: null, or the greatest int32.

    Returns
    -------
    DataFrame
        source (the start), vertex, distance (int32, hops), predecessor; one row for each start, in
        the given order, and vertex, ascending.

    Raises
    ------
    InputError
        If a start vertex is unknown, or an argument is invalid.
    ConvergenceError
        If `timeout` is reached first; `.result` has the finished searches.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> ws.multi_source_bfs(edges, ["a", "d"]).shape
    (8, 4)
    """
    check_unreachable(unreachable)
    if depth_limit is not None:
        check_count("depth_limit", depth_limit)
    loop = MultiSource(
        BFS, "start", starts, engine=options.get("engine", "auto"), max_iter=depth_limit
    )
    result = run_on(
        loop,
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        **options,
    )
    result.require_convergence(loop.name)
    return with_unreachable(result, "distance", unreachable)


@algorithm(
    group="paths",
    columns="source, vertex, distance, predecessor",
    example=lambda ids: {"starts": ids[:2]},
    weights="read",
    divides="starts",
)
@accepts_dask_frames
def multi_source_sssp(
    graph: Graph[FrameT] | FrameT,
    starts: Any = None,
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
    starts : list of ids, optional
        Start vertices; a separate search runs from each.  By default from every vertex, which gives
        the distances of all pairs.
    cutoff : float, optional
        Maximum length of a path; vertices farther away are unreachable.
    weight : str or None
        For an edge frame: the column of lengths, 0 or more; by default the column named `weight`,
        if there is one. None for no weights.
    unreachable : {"null", "max"}
        Distance of unreachable vertices: null, or the type's greatest value.

    Returns
    -------
    DataFrame
        source (the start), vertex, distance (as in `sssp`), predecessor; one row for each start, in
        the given order, and vertex, ascending.

    Raises
    ------
    InputError
        If a start vertex is unknown, a weight is negative, or integer paths could overflow.
    ConvergenceError
        If `timeout` is reached first; `.result` has the finished searches.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame(
    ...     {"source": ["a", "b", "a"], "destination": ["b", "c", "c"], "weight": [1.0, 2.0, 5.0]}
    ... )
    >>> ws.multi_source_sssp(edges, ["a", "b"]).distance.tolist()
    [0.0, 1.0, 3.0, nan, 0.0, 2.0]
    """
    check_unreachable(unreachable)
    if cutoff is not None:
        check_number("cutoff", cutoff)
    loop = MultiSource(SSSP, "start", starts, engine=options.get("engine", "auto"), cutoff=cutoff)
    result = run_on(
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


def _are_alike(candidate: VertexProgram, pattern: VertexProgram) -> bool:
    """Return whether two programs are equal; one sent to a worker is a different object there."""

    def said(program: VertexProgram) -> tuple[Any, ...]:
        functions = {name: source.text for name, source in program.sources.items()}
        kinds = [*program.state.items(), *program.edges.items()]
        return program.name, program.combine, program.contributors, functions, kinds

    return said(candidate) == said(pattern)
