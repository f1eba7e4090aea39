"""Core numbers, and the subgraph of a core, by peeling."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Unpack, cast, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_count, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Loop, Result, Step
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import OFFSET, note_bytes
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["CoreNumber", "core_number", "k_core"]

Array = Any  # NumPy's or CuPy's
DegreeType = Literal["both", "in", "out"]
CuGraphDegreeType = Literal["bidirectional", "incoming", "outgoing"]

REMOVED = -1  # the degree of a peeled ghost: no more arcs are subtracted from it
NONE_LEFT = np.iinfo(np.int64).max  # a rank's smallest degree if it has no vertex left


@algorithm(
    group="structure",
    columns="vertex, core_number",
    note="Self-loops do not count.",
    by_group=True,
)
@accepts_dask_frames
def core_number(
    graph: Graph[FrameT] | FrameT,
    degree_type: DegreeType | CuGraphDegreeType = "both",
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the core number of every vertex: the largest k such that the k-core contains it.

    The k-core is the largest set of vertices in which each has at least k neighbours in the set.
    Self-loops do not count; each parallel edge counts.

    Returns
    -------
    DataFrame
        Columns `vertex` and `core_number`, int64.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the state so far.

    References
    ----------
    .. [1] V. Batagelj and M. Zaversnik, "An O(m) algorithm for cores decomposition of networks",
       2003.
    .. [2] H. Kabir and K. Madduri, "Parallel k-core decomposition on multicore platforms",
       IPDPSW 2017.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.core_number(edges, directed=False).core_number.tolist()
    [2, 2, 2, 1]
    """
    return _run(
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        degree_type,
        **options,
    ).frame


@algorithm(
    group="structure",
    columns="edges",
    example={"k": 2},
    weights="kept",
)
@accepts_dask_frames
def k_core(
    graph: Graph[FrameT] | FrameT,
    k: int | None = None,
    *,
    degree_type: DegreeType | CuGraphDegreeType = "both",
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges between the vertices of the k-core.

    Parameters
    ----------
    k : int, optional
        The core; by default the innermost one that is not empty.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept, under their own names.  Self-loops of the
        core's vertices are included.  An undirected edge appears once, from the vertex with the
        smaller id.  Sorted by destination, then source; parallel edges are in the order of the
        frame.  For a Dask frame this is the order over all partitions: each worker has the edges
        into the vertices that it owns.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the state so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.k_core(edges, 2, directed=False).destination.tolist()
    ['b', 'c', 'c']
    """
    if k is not None:
        check_count("k", k)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    opened.check_edge_names()
    result = _run(opened, degree_type, k, **options)
    core: Any = result.arrays["core_number"]
    if k is None:
        k = max(opened.comm.allgather(int(core.max()) if len(core) else 0))
    return cast(FrameT, opened.edges_among(core >= k))


def own_degree_type(degree_type: Any) -> DegreeType:
    """Return a kind of degree by our name; cuGraph's names are taken too.

    Parameters
    ----------
    degree_type : str

    Returns
    -------
    {"both", "in", "out"}

    Raises
    ------
    InputError
        If it is unknown.
    """
    names: tuple[DegreeType, ...] = get_args(DegreeType)
    theirs = dict(zip(get_args(CuGraphDegreeType), names, strict=True))
    if not isinstance(degree_type, str) or degree_type not in (*names, *theirs):
        raise InputError(f"degree_type={shown(degree_type)}: choose 'both', 'in' or 'out'")
    return theirs.get(degree_type) or cast(DegreeType, degree_type)


def _run(
    graph: GraphView[FrameT],
    degree_type: DegreeType | CuGraphDegreeType,
    k: int | None = None,
    **options: Unpack[RunOptions],
) -> Result[FrameT]:
    return run_on(CoreNumber(degree_type, k), graph, **options).require_convergence("core_number")


class CoreNumber(Loop):
    """The algorithm as a loop for `run`, on one rank or several.

    A single rank peels several levels in a step, or on the CPU a part of a large one.  With several
    ranks, each peels in a step all vertices that reach the level without updates from other ranks; a
    peeled vertex may make others reach it.  Ranks then update the ghosts of peeled vertices, and send
    the decreases of degrees to the owners of vertices.  A level is done when no rank has more vertices to peel.  The next level is
    the smallest degree left on any rank, so empty levels are skipped.

    Parameters
    ----------
    degree_type : {"both", "in", "out"}
        Which edges count if the graph is directed.
    k : int, optional
        Stop when the k-core is known.  Core numbers of `k` or more are then only lower bounds, which
        are at least `k`.

    Examples
    --------
    How many members are in the 3-core; the run stops when that is known:

    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.CoreNumber(k=3), ws.datasets.karate_club(), directed=False)
    >>> int((result.frame.core_number >= 3).sum()), result.converged
    (22, True)
    """

    name = "core_number"
    outputs: ClassVar = {"core_number": False}
    by_vertex_state: tuple[str, ...] = ("core", "waiting")
    _core: Array  # by position: remaining degree, or core number once peeled
    _level: int  # the last level that was begun
    _alive: Array  # owned vertices above the level, and perhaps some that have reached it
    _waiting: Array  # owned vertices that have reached it, but whose neighbours are not updated yet
    _all_waiting: int  # number of these on all ranks
    _left_here: int  # owned vertices that have not reached the level yet
    _left: int  # the same over all ranks
    _fell: Array  # by entry of the boundaries: whether its holder is updated; all false if unused

    def __init__(
        self, degree_type: DegreeType | CuGraphDegreeType = "both", k: int | None = None
    ) -> None:
        degree_type = own_degree_type(degree_type)
        if k is not None:
            check_count("k", k)
        self._degree_type, self._k = degree_type, k

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["core_number"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Count the degrees."""
        backend = loops("core", on_device=on_device)
        self._part = part = Part(graph, on_device=on_device)
        incoming = not graph.directed or self._degree_type != "out"
        outgoing = graph.directed and self._degree_type != "in"
        # Rows of the neighbours that count a vertex in their degree.  An arc is stored with its
        # destination.  So if arcs into a vertex count, its holders need an update when it is
        # peeled; if arcs out of it count, its owner needs the losses that other ranks subtracted.
        rows = [*([part.csr] if incoming else []), *([part.csc] if outgoing else [])]
        self._sends_fallen, self._reports = incoming, outgoing
        # Degrees and losses are at most the number of arcs.  A ghost's entry is the largest integer
        # minus the ghost's losses since they were last sent, which is above every level.
        alone, arcs = part.halo.alone, graph.number_of_arcs
        most = len(rows) * arcs if alone else 2 * (arcs + 1)
        dtype = np.int32 if most <= np.iinfo(np.int32).max else np.int64
        self._top = int(np.iinfo(dtype).max)
        self._core = backend.count_degrees(part, dtype, incoming=incoming, outgoing=outgoing)
        if not alone:
            self._core[part.owned :] = self._top
        self._peeler = backend.Peeler(part, rows)
        self._enter(-1, part.xp.empty(0, np.int64))

    @property
    def converged(self) -> bool:
        """Whether every vertex is peeled, or every one that is not in the k-core."""
        if self._k is not None and self._level >= self._k - 1:
            return self._all_waiting == 0
        return self._left == 0

    def step(self) -> Step:
        """Peel several levels; with several ranks, peel locally and exchange the changes."""
        active, bytes_sent = self._left, 0
        if self._part.halo.alone:
            active += self._all_waiting
            self._alive, self._level, self._waiting, reached, read = self._peeler.peel_levels(
                self._core, self._alive, self._level, self._waiting
            )
            self._left -= reached
            self._all_waiting = len(self._waiting)
            self._note(active, read)
        else:
            if self._all_waiting == 0:
                self._rise()
            read = self._peel_here()
            self._left, self._all_waiting, read, bytes_sent = self._part.halo.totals(
                self._left_here, len(self._waiting), read
            )
        return Step(active, read, direction="peel", filter="list", bytes_sent=bytes_sent)

    def inputs(self) -> dict[str, Any]:
        """Return the type of degrees."""
        return {"degree_type": self._degree_type}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return degrees, core numbers and the last level; the waiting vertices too, if there may be any."""
        part, level = self._part, np.array([self._level], np.int64)
        by_position = {"core": self._core}
        if not part.whole or len(self._waiting):
            by_position["waiting"] = self._marks(self._waiting)
        return {name: as_host(part.by_number(values)) for name, values in by_position.items()} | {
            "level": level
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        highest = as_host(self._part.by_number(self._core))  # the degrees, after `start`
        core = state.integers("core", graph.owned, 0, highest)
        # On a GPU the level may be one above the highest at the end.
        most = int(highest.max(initial=0)) + 1 if graph.whole else 2 * graph.number_of_arcs
        level = state.number("level", -1, most)
        if graph.whole and "waiting" not in state:
            return
        at_level = core[state.flags("waiting", graph.owned)] == level
        state.require(
            "waiting", at_level.all(), "marks a vertex whose core number is not the level"
        )

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume at a level."""
        part, level = self._part, int(state["level"][0])
        self._core[part.order] = part.xp.asarray(state["core"].astype(self._core.dtype))
        waiting = part.xp.empty(0, np.int64)
        if "waiting" in state:
            marks = part.xp.zeros(part.size, np.bool_)
            marks[part.order] = part.xp.asarray(state["waiting"].astype(np.bool_))
            waiting = part.xp.flatnonzero(marks)
        if part.halo.alone and len(waiting):
            self._peeler.peel(self._core, waiting, level)
            waiting = waiting[:0]
        self._enter(level, waiting)

    def columns(self) -> dict[str, Array]:
        """Return the core number of each owned vertex (during the run: its remaining degree)."""
        return {"core_number": self._part.by_number(self._core).astype(np.int64)}

    def _enter(self, level: int, waiting: Array) -> None:
        """List the owned vertices that are left above a level; collective."""
        part, core, ends = self._part, self._core, self._part.halo.ends
        self._level, self._waiting = level, waiting
        self._alive = part.xp.flatnonzero(core[: part.owned] > level)
        self._left_here = len(self._alive)
        self._left, self._all_waiting, _ = part.halo.totals(self._left_here, len(waiting))
        if not part.halo.alone:
            fallen = (core[ends] <= level) & ~self._marks(waiting)[ends]
            self._fell = fallen if self._sends_fallen else ends < 0

    def _note(self, peeled: int, read: int) -> None:
        """Note an entry of degrees for each arc; and rows, degrees and lists of the peeled vertices."""
        index, degree = self._part.index.itemsize, self._core.itemsize
        ways = 1 + (self._sends_fallen and self._reports)
        vertex = 2 * OFFSET * ways + degree + 2 * index
        note_bytes(read * (index + degree) + peeled * vertex, peeled * (degree + 2 * index))

    def _marks(self, places: Array) -> Array:
        """Return a mask by position, true at the given ones."""
        marks = self._part.xp.zeros(self._part.size, np.bool_)
        marks[places] = True
        return marks

    def _rise(self) -> None:
        """Go to the next level that has vertices, and list those; collective."""
        self._alive = self._alive[self._core[self._alive] > self._level]
        degrees = self._core[self._alive]
        least = int(degrees.min()) if len(degrees) else NONE_LEFT
        self._level = min(self._part.halo.comm.allgather(least))
        self._waiting = self._alive[degrees == self._level]
        self._left_here -= len(self._waiting)

    def _peel_here(self) -> int:
        """Peel locally and exchange the changes; return the number of arcs read.  Collective."""
        halo, core, level, peeled_before = (
            self._part.halo,
            self._core,
            self._level,
            len(self._waiting),
        )
        counts = self._peeler.peel(core, self._waiting, level)
        fell = self._fell
        if self._sends_fallen:
            fell = (self._part.xp.take(core, halo.ends) <= level) > self._fell
            self._fell |= fell
        ghosts = core[self._part.owned :] if self._reports else core[:0]
        losses = self._top - ghosts
        lost = losses > 0  # for a peeled ghost the difference wraps around
        peeled_ghosts, reports, (peeled, read) = halo.swap(fell, lost, losses, counts)
        ghosts[lost] = self._top
        self._left_here -= peeled - peeled_before
        self._waiting, more = self._waiting[:0], 0
        if len(peeled_ghosts) or reports:
            core[peeled_ghosts] = REMOVED
            self._waiting, more = self._peeler.take_out(
                core, self._alive, peeled_ghosts, reports, level
            )
        self._left_here -= len(self._waiting)
        self._note(peeled_before + len(self._waiting), read + more)
        return read + more
