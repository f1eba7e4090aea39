"""Core numbers, and the subgraph of a core, by peeling."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Unpack, cast, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.arguments import check_count
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cluster.spread import spreads
from cugraph_ws.columns import AUTO
from cugraph_ws.cuda.device import as_host
from cugraph_ws.engines.threads import cut_offsets, number_of_threads, parallel
from cugraph_ws.errors import InputError
from cugraph_ws.frame_types import FrameT
from cugraph_ws.graph import Adjacency, Graph, as_graph
from cugraph_ws.kernels.cpu.core import add_degrees, peel
from cugraph_ws.loop import Loop, Result, Step
from cugraph_ws.run import run
from cugraph_ws.saved_state import SavedState

__all__ = ["CoreNumber", "core_number", "k_core"]

Array = npt.NDArray[Any]
DegreeType = Literal["both", "in", "out"]

ARCS_A_STEP = 1 << 22


@spreads
def core_number(
    graph: Graph[FrameT] | FrameT,
    *,
    degree_type: DegreeType = "both",
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Find for every vertex the largest k such that it belongs to the k-core.

    The k-core is the largest set of vertices of which each has at least k neighbours in the set.
    Self-loops do not count; parallel edges count each.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    degree_type : {"both", "in", "out"}
        Which edges count as neighbours where the graph is directed.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; it does not matter here.
    directed : bool
        Whether the edges of an edge frame go one way.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

    Returns
    -------
    DataFrame
        Columns `vertex` and `core_number`, int64.

    Raises
    ------
    InputError
        If the frame or an argument cannot be used.
    ConvergenceError
        If the run was stopped early; `.result` has the state so far.

    References
    ----------
    .. [1] V. Batagelj and M. Zaversnik, "An O(m) algorithm for cores decomposition of networks",
       2003.
    .. [2] H. Kabir and K. Madduri, "Parallel k-core decomposition on multicore platforms",
       IPDPSW 2017.
    """
    return _run(
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        degree_type,
        **options,
    ).frame


@spreads
def k_core(
    graph: Graph[FrameT] | FrameT,
    k: int | None = None,
    *,
    degree_type: DegreeType = "both",
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges between the vertices of the k-core.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    k : int, optional
        The core; where it is not given, the innermost that is not empty.
    degree_type : {"both", "in", "out"}
        Which edges count as neighbours where the graph is directed.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame, which the result keeps; by default the column named
        `weight`, if there is one.
    directed : bool
        Whether the edges of an edge frame go one way.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept, under their own names, self-loops of the
        core's vertices among them; an undirected edge once, from the vertex of the smaller id.
        Sorted by destination, then source, parallel edges in the order of the frame.  Of a Dask
        frame, over all partitions: each worker has the edges into the vertices that it owns.

    Raises
    ------
    InputError
        If the frame or an argument cannot be used.
    ConvergenceError
        If the run was stopped early; `.result` has the state so far.
    """
    if k is not None:
        check_count("k", k)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    opened.check_edge_names()
    result = _run(
        opened,
        degree_type,
        **options,
    )
    core: Any = result.arrays["core_number"]
    if isinstance(opened, ShardGraph):
        from cugraph_ws.cluster.core import edges_of_core

        return cast(FrameT, edges_of_core(opened, core, k))
    core = as_host(core)
    inside = core >= (core.max(initial=0) if k is None else k)
    rows = opened.csc
    return opened.edge_frame(inside[rows.indices] & np.repeat(inside, rows.degrees))


def _run(
    graph: Graph[FrameT], degree_type: DegreeType, **options: Unpack[RunOptions]
) -> Result[FrameT]:
    return run(CoreNumber(degree_type), graph, **options).require_convergence("core_number")


class CoreNumber:
    """The algorithm as a loop for `run`: each step peels a few levels.

    Parameters
    ----------
    degree_type : {"both", "in", "out"}
        Which edges count where the graph is directed.
    """

    name = "core_number"
    outputs: ClassVar = {"core_number": False}
    by_vertex = True
    diverged = False
    max_iter: int | None = None
    tol: float | None = None
    _core: Array  # degrees among the vertices left; core numbers of the others
    _alive: Array  # the first `_count` are the vertices left, and perhaps some of `_level`
    _count: int
    _left: int
    _level: int  # the last one peeled

    def __init__(self, degree_type: DegreeType = "both") -> None:
        if not isinstance(degree_type, str) or degree_type not in get_args(DegreeType):
            raise InputError(f"degree_type={degree_type!r}: choose 'both', 'in' or 'out'")
        self._degree_type = degree_type

    def on_cuda(self) -> Loop:
        """Return the same loop for the CUDA engine."""
        from cugraph_ws.cuda.core import DeviceCores

        return DeviceCores(self._degree_type)

    def on_crew(self) -> Loop:
        """Return the same loop for a share of a graph."""
        from cugraph_ws.cluster.core import CrewCores

        return CrewCores(self._degree_type)

    def start(self, graph: Graph) -> None:
        """Count the degrees."""
        counted, lowered = self._adjacencies(graph)
        arcs = sum(rows.number_of_arcs for rows in counted)
        dtype = np.int32 if arcs <= np.iinfo(np.int32).max else np.int64
        self._core = np.zeros(graph.number_of_vertices, dtype)
        for rows in counted:
            ranges = cut_offsets(rows.offsets, min(4 * number_of_threads(), 1 + arcs // (1 << 16)))
            tasks = [(rows.offsets, rows.indices, self._core, low, high) for low, high in ranges]
            parallel(add_degrees, tasks)
        first, second = lowered[0], lowered[-1]
        more = second.indices if len(lowered) > 1 else second.indices[:0]
        self._lowered = first.offsets, first.indices, second.offsets, more
        self._queue = np.empty(len(self._core) + 1, first.indices.dtype)
        self._enter(-1)

    @property
    def converged(self) -> bool:
        """Whether every vertex is peeled."""
        return self._left == 0

    def step(self) -> Step:
        """Peel levels until enough arcs are read."""
        active = self._left
        self._count, self._level, peeled, read = peel(
            self._lowered,
            self._core,
            self._alive,
            self._count,
            self._queue,
            self._level,
            ARCS_A_STEP,
        )
        self._left -= peeled
        return Step(active, read, direction="peel", filter="list")

    def inputs(self) -> dict[str, Any]:
        """Return which degrees count."""
        return {"degree_type": self._degree_type}

    def state(self) -> dict[str, Array]:
        """Return degrees and core numbers, and the level up to which they are core numbers."""
        return {"core": self._core, "level": np.array([self._level], np.int64)}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        highest = self._core  # the degrees, after `start`
        state.integers("core", len(highest), 0, highest)
        state.number("level", -1, int(highest.max(initial=0)) + 1)  # a GPU's end is above all

    def restore(self, state: dict[str, Array]) -> None:
        """Go on above a level."""
        self._core = state["core"].astype(self._core.dtype)
        self._enter(int(state["level"][0]))

    def columns(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return the core number of each vertex (the degree that is left, while it runs)."""
        return {"core_number": self._core.astype(np.int64)}

    def _enter(self, level: int) -> None:
        """List the vertices that are left above a level."""
        self._level = level
        self._alive = np.flatnonzero(self._core > level).astype(self._queue.dtype)
        self._count = self._left = len(self._alive)

    def _adjacencies(self, graph: Graph) -> tuple[list[Adjacency], list[Adjacency]]:
        """Return the rows that count for a vertex's degree, and those whose degrees it is in."""
        if not graph.directed:
            return [graph.csc], [graph.csc]
        if self._degree_type == "both":
            return [graph.csc, graph.csr], [graph.csc, graph.csr]
        if self._degree_type == "in":
            return [graph.csc], [graph.csr]
        return [graph.csr], [graph.csc]
