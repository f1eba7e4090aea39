"""A maximal independent set, and a colouring: greedy by priorities.

Every vertex has a priority: a hash of its number, or for colours without a seed its degree.  In a
round, every vertex without an undecided neighbour of higher priority decides.  So on every engine the
result is that of the greedy algorithm on the vertices by falling priority (Luby, 1986; Jones and
Plassmann, 1993).  A CPU colours all vertices of a rank in one pass in that order; a GPU works in rounds,
and leaves long chains of vertices that wait for one another to its host.
"""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import LEAST, MOST, ArrayLoop, Neighbourhood, priorities
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_count
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import neighbourhoods
from cugraph_ws.runtime.arrays import as_host

__all__ = ["Coloring", "MaximalIndependentSet", "coloring", "maximal_independent_set"]

Array = Any  # NumPy's or CuPy's

GREATEST_SEED = 2**128 - 1
UNDECIDED = -1
WINDOW = 62  # colours for which a word has bits
MOST_ROUNDS = 256  # of a GPU; vertices of equal degree may wait for one another in long chains
FEW_ARCS = 1 << 20  # of a whole graph: a host colours it in the time of a few rounds of a GPU


@algorithm(
    group="structure",
    columns="vertex, in_set",
    directions=False,
    note="Deterministic for a seed.",
)
@accepts_dask_frames
def maximal_independent_set(
    graph: Graph[FrameT] | FrameT,
    *,
    seed: int = 0,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Find a maximal independent set: no two of its vertices are neighbours, and none can be added.

    The direction of edges and self-loops do not matter.

    Parameters
    ----------
    seed : int
        Different seeds give different sets; the same seed gives the same set on any machine.

    Returns
    -------
    DataFrame
        Columns `vertex` and `in_set` (bool), a row for every vertex.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the vertices chosen so far.

    References
    ----------
    .. [1] M. Luby, "A simple parallel algorithm for the maximal independent set problem", SIAM
       Journal on Computing 15, 1986.
    .. [2] G. E. Blelloch, J. T. Fineman and J. Shun, "Greedy sequential maximal independent set
       and matching are parallel on average", SPAA 2012.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.maximal_independent_set(edges, directed=False).columns.tolist()
    ['vertex', 'in_set']
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    result = run_on(MaximalIndependentSet(seed), opened, **options)
    return result.require_convergence("maximal_independent_set").frame


@algorithm(
    group="structure",
    columns="vertex, color",
    directions=False,
    note="Without a seed greedy by largest degree, ties by id; deterministic for a seed.",
    by_group=lambda arguments: arguments.get("seed") is None,
)
@accepts_dask_frames
def coloring(
    graph: Graph[FrameT] | FrameT,
    *,
    seed: int | None = None,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Give every vertex a colour that none of its neighbours has.

    Vertices are coloured one after the other, those with the most neighbours first and of these the
    vertex of least id; each takes the least colour that no neighbour has (Welsh and Powell).  So a
    vertex with d neighbours has a colour of at most d.  Parallel edges, the direction of edges and
    self-loops do not matter.

    Parameters
    ----------
    seed : int, optional
        Colour vertices in a random order instead, the same for a seed on any machine; that usually
        takes more colours.

    Returns
    -------
    DataFrame
        Columns `vertex` and `color` (int64, from 0).

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; in `.result`, vertices without a colour have -1.

    References
    ----------
    .. [1] D. J. A. Welsh and M. B. Powell, "An upper bound for the chromatic number of a graph and
       its application to timetabling problems", The Computer Journal 10, 1967.
    .. [2] M. T. Jones and P. E. Plassmann, "A parallel graph coloring heuristic", SIAM Journal on
       Scientific Computing 14, 1993.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.coloring(edges, directed=False).color.nunique()
    3
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    return run_on(Coloring(seed), opened, **options).require_convergence("coloring").frame


class _GreedyLoop(ArrayLoop):
    """Rounds of decisions by falling priority, as a loop for `run`.

    Parameters
    ----------
    seed : int
        Seed of the priorities.
    """

    _decided: Array  # by position: UNDECIDED, or the decision
    _waiting: Array  # by position: the priority, or LEAST once decided
    _rows: Array  # owned undecided vertices that may have the highest priority among neighbours

    _seed: int | None
    converged = False

    def __init__(self, seed: int = 0) -> None:
        check_count("seed", seed, most=GREATEST_SEED)
        self._seed = seed

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Make every vertex undecided."""
        self.near = near = Neighbourhood(graph, on_device=on_device, symmetric=True)
        if near.part.directed and not on_device:
            _ = near.part.csr  # a run cannot end while the first step makes it
        self._priority = self._priorities(graph)
        self._decided = near.xp.full(near.part.size, UNDECIDED, np.int64)
        self._list()

    def _priorities(self, graph: GraphView) -> Array:
        """Return the priority of each position, no two the same; collective."""
        assert self._seed is not None
        return priorities(self.near.part, self._seed)

    def restore(self, state: dict[str, Any]) -> None:
        """Resume with the decisions that are made."""
        super().restore(state)
        self._list()

    def inputs(self) -> dict[str, Any]:
        """Return the seed."""
        return {"seed": self._seed}

    def _list(self) -> None:
        """List the undecided vertices; collective."""
        near, decided = self.near, self._decided[: self.near.part.owned]
        self._waiting = near.xp.where(self._decided == UNDECIDED, self._priority, LEAST)
        self._rows = near.xp.flatnonzero(decided == UNDECIDED)
        self._left_here = len(self._rows)
        self._left = near.total(self._left_here)
        self.converged = self._left == 0

    def step(self) -> Step:
        """Decide for the vertices that have no undecided neighbour of higher priority."""
        near, rows, active = self.near, self._rows, self._left
        best = near.words(self._waiting, "all", "max", rows)
        first = rows[self._priority[rows] >= best]  # equal: a self-loop
        changed = self._decide(first)
        moved = near.update(self._decided, changed)
        self._waiting[moved] = LEAST
        # Only a vertex with a neighbour that has decided may now have the highest priority.
        self._rows = self._undecided_beside(moved)
        self._left_here -= len(changed)
        self.done += 1
        self._left, read, bytes_sent = near.part.halo.totals(self._left_here, len(rows))
        self.converged = self._left == 0
        return Step(active, read, direction="gather", filter="list", bytes_sent=bytes_sent)

    def _undecided_beside(self, places: Array) -> Array:
        """Return the owned undecided neighbours of some vertices."""
        readers = self.near.followers(places, "all")
        return readers[self._decided[readers] == UNDECIDED]

    def _decide(self, first: Array) -> Array:
        """Decide for the first vertices; return the owned vertices that are decided now."""
        raise NotImplementedError


class MaximalIndependentSet(_GreedyLoop):
    """The independent set as a loop for `run`: each step is a round.

    Parameters
    ----------
    seed : int
        Seed of the priorities.

    Examples
    --------
    Another seed may give another set; no two of its vertices are joined:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> frame = ws.run(ws.MaximalIndependentSet(seed=1), edges, directed=False).frame
    >>> frame.vertex[frame.in_set].tolist()
    ['b', 'd']
    """

    name = "maximal_independent_set"
    outputs: ClassVar = {"in_set": False}
    saved: ClassVar = {"decided": (UNDECIDED, 1)}

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["maximal_independent_set"].of(sizes)

    def columns(self) -> dict[str, Column]:
        """Return which owned vertices are in the set."""
        return {"in_set": self.near.part.by_number(self._decided) == 1}

    def _decide(self, first: Array) -> Array:
        """Add the first vertices to the set, and exclude their neighbours."""
        near = self.near
        chosen = near.xp.zeros(near.part.size, np.int64)
        chosen[first] = 1
        self._decided[first] = 1
        beside = self._undecided_beside(near.update(chosen, first))
        out = beside[near.words(chosen, "all", "or", beside) == 1]
        self._decided[out] = 0
        return near.xp.concatenate([first, out])


class Coloring(_GreedyLoop):
    """The colouring as a loop for `run`: each step is a round, or a pass over a rank's vertices.

    Parameters
    ----------
    seed : int, optional
        Seed of the priorities; by default vertices with many neighbours are first.

    Examples
    --------
    Exams that have a student in common are joined; exams of one colour can take place at once:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> exams = {"source": ["art", "art", "law", "law"], "destination": ["law", "music", "music", "sport"]}
    >>> result = ws.run(ws.Coloring(), pd.DataFrame(exams), directed=False)
    >>> result.frame.groupby("color").vertex.apply(list).tolist(), result.converged
    ([['law'], ['art', 'sport'], ['music']], True)
    """

    name = "coloring"
    outputs: ClassVar = {"color": False}
    saved: ClassVar = {"decided": (UNDECIDED, MOST)}
    _in_order: Any  # colours this rank's vertices on the host; None until the first pass

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(0 if seed is None else seed)
        self._seed = seed

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["coloring" if self._seed is None else "coloring by seed"].of(sizes)

    def _priorities(self, graph: GraphView) -> Array:
        """Return priorities by seed, or by number of neighbours and then by falling number; collective."""
        if self._seed is not None:
            return super()._priorities(graph)
        part = self.near.part
        degrees = neighbourhoods(graph, on_device=part.on_device).rows.degrees
        n = graph.number_of_vertices
        return part.with_ghosts(degrees.astype(np.int64)) * n + (n - 1 - part.numbers)

    def _list(self) -> None:
        """List the undecided vertices; collective."""
        super()._list()
        self._in_order = None

    def step(self) -> Step:
        """Colour the vertices that are ready: a round of them on a GPU, on a host all of them."""
        near, part, active = self.near, self.near.part, self._left
        few = part.halo.alone and len(part.csc.indices) <= FEW_ARCS
        if part.on_device and not few and self.done < MOST_ROUNDS:
            return super().step()
        if self._in_order is None:
            sides = [part.csc, part.csr] if part.directed else [part.csc]
            rows = [
                (as_host(side.offsets).astype(np.int64, copy=False), as_host(side.indices))
                for side in sides
            ]
            undecided = as_host(near.xp.flatnonzero(self._decided[: part.owned] == UNDECIDED))
            in_order = loops("coloring", on_device=False).InOrder
            self._in_order = in_order(rows, as_host(self._priority), undecided)
        color = as_host(self._decided)
        colored, arcs = self._in_order.color(color)
        changed = near.xp.asarray(colored)
        self._decided[changed] = near.xp.asarray(color[colored])
        near.update(self._decided, changed)
        self._left_here -= len(colored)
        self.done += 1
        self._left, read, bytes_sent = part.halo.totals(self._left_here, arcs)
        self.converged = self._left == 0
        return Step(active, read, direction="gather", filter="list", bytes_sent=bytes_sent)

    def columns(self) -> dict[str, Column]:
        """Return the colour of each owned vertex."""
        return {"color": self.near.part.by_number(self._decided)}

    def _decide(self, first: Array) -> Array:
        """Give each of the first vertices the least colour that no neighbour has."""
        near, xp = self.near, self.near.xp
        pending, low = first, 0
        colors = xp.zeros(len(first), np.int64)
        places = xp.arange(len(first))
        while near.total(len(pending)):
            inside = (self._decided >= low) & (self._decided < low + WINDOW)
            bit = xp.where(inside, self._decided - low, 0)
            used = near.words(
                xp.where(inside, xp.left_shift(np.int64(1), bit), 0), "all", "or", pending
            )
            lowest = ~used & (used + 1)  # the lowest bit that is not set
            free = lowest < (1 << WINDOW)
            # frexp of a power of two is exact everywhere; a GPU's log2 of 8 may be less than 3.
            _, exponents = xp.frexp(lowest[free].astype(np.float64))
            colors[places[free]] = low + exponents.astype(np.int64) - 1
            pending, places, low = pending[~free], places[~free], low + WINDOW
        self._decided[first] = colors
        return first
