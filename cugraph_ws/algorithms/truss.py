"""Truss numbers of edges, and the subgraph of a truss, by peeling."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, cast

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_count
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Loop, Result, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.oriented import oriented
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host, module_of
from cugraph_ws.runtime.launch_times import OFFSET, note_bytes
from cugraph_ws.runtime.looks import awaited
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["TrussNumber", "k_truss", "truss_number"]

Array = Any  # NumPy's or CuPy's


@algorithm(
    group="structure",
    columns="edges, truss_number",
    checkpoints="on one machine",
    directions=False,
    by_group=True,
)
@accepts_dask_frames
def truss_number(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the truss number of every edge: the largest k such that the k-truss contains it.

    The k-truss is the largest set of edges in which each is in at least k - 2 triangles.  The
    direction of edges does not matter.  Parallel edges, and edges in both directions between two
    vertices, are one edge; self-loops are left out.

    Returns
    -------
    DataFrame
        Columns of the ids, named as those of the graph if an id is one column (else `source_a`,
        `destination_a` and so on), and `truss_number`, int64, at least 2.  One row for each pair
        of neighbours, the smaller vertex first; sorted by destination, then source.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; in `.result`, edges without a truss number yet have 0.

    References
    ----------
    .. [1] J. Wang and J. Cheng, "Truss decomposition in massive networks", PVLDB 2012.
    .. [2] H. Kabir and K. Madduri, "Shared-memory graph truss decomposition", HiPC 2017.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.truss_number(edges, directed=False).truss_number.tolist()
    [3, 3, 3, 2]
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    if "truss_number" in opened.end_names:
        opened.check_edge_outputs(["truss_number"])
    return _run(opened, None, "truss_number", options).frame


@algorithm(
    group="structure",
    columns="edges",
    example={"k": 2},
    weights="kept",
    checkpoints="on one machine",
    by_group=True,
)
@accepts_dask_frames
def k_truss(
    graph: Graph[FrameT] | FrameT,
    k: int,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges of the k-truss, in which each edge is in at least k - 2 triangles.

    Triangles are those of `truss_number`: the direction of edges does not matter, and parallel edges
    count once.

    Parameters
    ----------
    k : int
        The truss; 2 or less for all edges but self-loops.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept, under their own names, parallel edges
        included.  An undirected edge appears once, from the vertex with the smaller id.  Sorted
        by destination, then source.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the edges removed so far.

    References
    ----------
    .. [1] J. Cohen, "Trusses: cohesive subgraphs for social network analysis", 2008.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> len(ws.k_truss(edges, 3, directed=False))
    3
    """
    check_count("k", k)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    opened.check_edge_names()
    result = _run(opened, int(k), "k_truss", options)
    sources, destinations, truss = (cast(Any, column) for column in result.arrays.values())
    arcs_of = partial(_arcs_between, opened, sources.numbers, destinations.numbers, truss == 0)
    return opened.edge_frame(arcs_of)


def _run(graph: GraphView[FrameT], k: int | None, name: str, options: RunOptions) -> Result[FrameT]:
    return run_on(TrussNumber(k), graph, **options).require_convergence(name)


def _arcs_between(
    graph: Any, sources: Array, destinations: Array, in_truss: Array, tails: Array, heads: Array
) -> Array:
    """Mark the arcs of a graph whose ends are joined by a kept edge; collective.

    Parameters
    ----------
    graph : Graph
    sources, destinations : array of int64
        The ends of edges, the smaller vertex first.
    in_truss : array of bool
    tails, heads : array of int64, shape (arcs,)
        Sources and destinations of this rank's arcs.

    Returns
    -------
    array of bool, shape (arcs,)
    """
    xp, vertices = module_of(tails), graph.number_of_vertices
    low, high = (
        xp.asarray(end if xp is not np else as_host(end)) for end in (sources, destinations)
    )
    chosen = xp.asarray(in_truss if xp is not np else as_host(in_truss))
    low, high = low[chosen], high[chosen]
    if graph.comm.size > 1:  # an arc is stored with its destination, which may be either end
        halo = Part(graph, on_device=False).halo  # the ends are on the host
        ends = xp.concatenate([high, low]), xp.concatenate([low, high])
        first_ends, second_ends = halo.send_to_owners(*ends)
        low, high = xp.minimum(first_ends, second_ends), xp.maximum(first_ends, second_ends)
    keys = awaited(xp.sort, low * vertices + high)
    if not len(keys):
        return xp.zeros(len(tails), np.bool_)
    wanted = xp.minimum(tails, heads) * vertices + xp.maximum(tails, heads)
    places = xp.minimum(xp.searchsorted(keys, wanted), len(keys) - 1)
    is_wanted: Array = xp.take(keys, places) == wanted
    return is_wanted


PLACE = 8  # bytes, of an edge


class TrussNumber(Loop):
    """The algorithm as a loop for `run`.

    A single rank peels several levels in a step.  Several ranks count the triangles of all edges
    again in each step, and remove the edges in the fewest; the number of fetched arcs is bounded.

    Parameters
    ----------
    k : int, optional
        Remove only the edges that are not in the k-truss.  They all get the number k - 1, which need
        not be their truss number; the others keep 0.

    Examples
    --------
    Edges in no triangle get 2, and the others keep 0:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> frame = ws.run(ws.TrussNumber(k=3), edges, directed=False).frame
    >>> frame[frame.truss_number == 2].values.tolist()
    [['c', 'd', 2]]
    """

    name = "truss_number"
    checkpoints = "on one machine"
    by_vertex = False
    _left: Array  # the edges that are left, and perhaps some that are removed
    _all_left: int  # number of edges left on all ranks

    def __init__(self, k: int | None = None) -> None:
        if k is not None:
            check_count("k", k)
        self._target = -1 if k is None else max(int(k) - 3, -1)
        self._all = k is None
        self._nothing = k is not None and k < 3  # every edge is in the 2-truss

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["truss_number"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Orient the edges, and count the triangles of each."""
        backend = loops("truss", on_device=on_device)
        self._oriented = orientation = oriented(graph, on_device=on_device)
        near = orientation.near
        self._graph, self._backend = graph, backend
        self._alone = near.halo.alone
        xp, edges = orientation.xp, len(orientation.rows.indices)
        self._ends = orientation.ends()
        self._lister = backend.Lister(orientation)
        self._truss = xp.zeros(edges, np.int64)
        self._level = 0  # with several ranks: the support at which edges are removed
        self._left = xp.arange(edges)
        if self._nothing:
            self._left = self._left[:0]
        elif self._alone:
            self._supports, _ = orientation.supports(self._lister)
            self._first = self._supports.copy()
            self._peeler = backend.Peeler(orientation, self._target, self._supports)
        (self._all_left, _) = near.halo.totals(len(self._left))

    @property
    def converged(self) -> bool:
        """Whether every edge is removed, or all that are not in the k-truss."""
        return self._all_left == 0

    def step(self) -> Step:
        """Remove edges in the fewest triangles."""
        active, bytes_sent = self._all_left, 0
        if self._alone:
            self._left, read = self._peeler.peel(self._supports, self._truss, self._left)
            self._all_left = len(self._left)
            # An element is a neighbour and the place of its edge, whose mark or support is read too
            removed, element = active - self._all_left, self._oriented.rows.indices.itemsize + PLACE
            edge = 2 * PLACE + element + 4 * OFFSET
            note_bytes(read * element + removed * (edge + PLACE), removed * PLACE)
        else:
            read, bytes_sent = self._remove()
        return Step(active, read, direction="peel", filter="list", bytes_sent=bytes_sent)

    def _remove(self) -> tuple[int, int]:
        """Remove the edges in too few triangles; return arcs read, and bytes sent; collective."""
        oriented, halo = self._oriented, self._oriented.near.halo
        supports, read = oriented.supports(self._lister)
        least = int(supports.min()) if len(supports) else np.iinfo(np.int64).max
        least = min(halo.comm.allgather(least))
        self._level = self._target if self._target >= 0 else max(self._level, least)
        supported = supports > self._level
        self._truss[self._left[~supported]] = self._level + 2
        self._left = self._left[supported]
        oriented.keep(supported)
        removed, self._all_left, read, bytes_sent = halo.totals(
            len(supported) - len(self._left), len(self._left), read
        )
        if self._target >= 0 and removed == 0:
            self._all_left = 0  # the others are the k-truss
        return read, bytes_sent

    def inputs(self) -> dict[str, Any]:
        """Return the support at which peeling ends."""
        return {"target": self._target}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return truss numbers and supports of all edges; none if no edge can be removed."""
        if self._nothing:
            return {}
        return {
            "truss": as_host(self._truss),
            "supports": as_host(self._supports),
            "ended": np.array([self.converged]),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        if not self._nothing:
            first = as_host(self._first)
            most = np.maximum(first, self._target) + 2
            state.integers("truss", len(first), 0, most)
            state.integers("supports", len(first), 0, first)
            state.flags("ended", 1)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume with some edges removed."""
        if "truss" not in state:
            return
        xp = self._oriented.xp
        self._truss = xp.asarray(state["truss"].astype(np.int64))
        self._supports = xp.asarray(state["supports"].astype(np.int64))
        self._left = xp.flatnonzero(self._truss == 0)
        self._all_left = 0 if state["ended"][0] else len(self._left)

    @property
    def rows_by(self) -> tuple[str, bool]:
        """The destinations, whose owners have the edges."""
        return self._graph.end_names[1], False

    def columns(self) -> dict[str, Column]:
        """Return the edges, the smaller vertex first, and their truss numbers; collective.

        They are sorted, unless k was given: `k_truss` looks them up.
        """
        xp, halo = self._oriented.xp, self._oriented.near.halo
        low, high = self._ends
        high, low, truss = halo.send_to_owners(high, low, self._truss)
        names, order = self._graph.end_names, cast(Any, slice(None))
        if self._all:
            order = xp.argsort(high * self._graph.number_of_vertices + low)
        ends = {
            name: VertexNumbers(end[order]) for name, end in zip(names, (low, high), strict=True)
        }
        return {**ends, "truss_number": truss[order]}
