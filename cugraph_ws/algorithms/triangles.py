"""Triangles of each vertex, and the local clustering coefficient."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Loop, Step
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.oriented import oriented
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.bins import bin_sums
from cugraph_ws.runtime.launch_times import note_bytes
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["ClusteringCoefficient", "TriangleCount", "clustering_coefficient", "triangle_count"]

Array = Any  # NumPy's or CuPy's

WORK_A_STEP = (
    1 << 28
)  # row entries looked up in a batch; the same on all backends, since checkpoints count batches
TOGETHER = 64  # batches in a step on a single GPU


@algorithm(
    group="structure",
    columns="vertex, counts",
    directions=False,
    note="Parallel edges count once, and self-loops do not.",
    by_group=True,
)
@accepts_dask_frames
def triangle_count(
    graph: Graph[FrameT] | FrameT,
    vertices: Any = None,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Count the triangles that each vertex is in.

    The direction of edges does not matter.  Parallel edges, and edges in both directions between
    two vertices, count once; self-loops do not count.

    Parameters
    ----------
    vertices : sequence, ndarray, Series or frame, optional
        Ids of the vertices to return; by default all.

    Returns
    -------
    DataFrame
        Columns `vertex` and `counts`, int64; sorted by vertex.  The sum of all counts is three
        times the number of triangles.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a vertex is unknown.
    ConvergenceError
        If the run is stopped early; `.result` has the counts so far.

    References
    ----------
    .. [1] M. Latapy, "Main-memory triangle computations for very large (sparse (power-law))
       graphs", Theoretical Computer Science, 2008.
    .. [2] Y. Hu, H. Liu and H. H. Huang, "TriCore: parallel triangle counting on GPUs", SC 2018.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.triangle_count(edges, directed=False).counts.tolist()
    [1, 1, 1, 0]
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    owned = None if vertices is None else opened.own_numbers(vertices, "vertices")
    result = run_on(TriangleCount(), opened, **options).require_convergence("triangle_count")
    return result.frame if owned is None else opened.frame_of_own(owned, result.arrays)


@algorithm(
    group="structure",
    columns="vertex, clustering_coefficient",
    note="On directed graphs LDBC's LCC.",
    by_group=True,
)
@accepts_dask_frames
def clustering_coefficient(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the local clustering coefficient: the fraction of pairs of neighbours that are joined.

    The neighbours of a vertex are those along edges in either direction.  In an undirected graph
    the coefficient is the fraction of pairs of neighbours that have an edge, as in NetworkX's
    `clustering`.  In a directed graph it is the fraction of ordered pairs of neighbours that have an
    edge from the first to the second, as LDBC Graphalytics defines it; NetworkX has another
    definition for directed graphs.  Parallel edges count once, self-loops do not count.

    Returns
    -------
    DataFrame
        Columns `vertex` and `clustering_coefficient`, float64: 0 to 1, and 0 for a vertex with
        fewer than two neighbours.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the coefficients of the triangles so far.

    References
    ----------
    .. [1] D. J. Watts and S. H. Strogatz, "Collective dynamics of 'small-world' networks", Nature,
       1998.
    .. [2] A. Iosup et al., "The LDBC Graphalytics benchmark", arXiv:2011.15028.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.clustering_coefficient(edges, directed=False).iloc[:, 1].round(3).tolist()
    [1.0, 1.0, 0.333, 0.0]
    """
    result = run_on(
        ClusteringCoefficient(),
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        **options,
    )
    return result.require_convergence("clustering_coefficient").frame


class TriangleCount(Loop):
    """The algorithm as a loop for `run`: each step finds the triangles of some least vertices.

    Edges are oriented from the end of lower degree to the other, so each triangle has one least
    vertex.  Batch i has the vertices whose number is i modulo the number of batches, which depends
    on the graph alone; so a checkpoint is valid for any engine and any number of ranks.  Ranks
    fetch the rows of their vertices' neighbours in pieces of bounded size.

    Examples
    --------
    Each triangle counts for its three vertices:

    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.TriangleCount(), ws.datasets.karate_club(), directed=False)
    >>> int(result.arrays["counts"].sum()) // 3, result.converged
    (45, True)
    """

    name = "triangle_count"
    ends_within_steps = True
    outputs: ClassVar = {"counts": False}
    by_vertex_state: tuple[str, ...] = ("counts",)
    _directions = False  # whether the directions of opposite edges are counted
    _counts: Array  # of owned vertices, in the order of numbers

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["triangle_count"].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Find the neighbours, and orient the edges."""
        self._oriented = orientation = oriented(
            graph, on_device=on_device, directions=self._directions
        )
        near = orientation.near
        self._degrees = near.rows.degrees
        self._lister = loops("triangles", on_device=on_device).Lister(orientation)
        self._steps = 1 + orientation.work // WORK_A_STEP
        self._together = TOGETHER if on_device and near.halo.alone else 1
        self._done = 0
        self._counts = near.xp.zeros(near.owned, np.int64)

    @property
    def converged(self) -> bool:
        """Whether the triangles of every least vertex are counted."""
        return self._done >= self._steps

    def step(self) -> Step:
        """Find the triangles of the next least vertices."""
        oriented = self._oriented
        near, xp = oriented.near, oriented.xp
        end = min(self._done + self._together, self._steps)
        if end - self._done == 1 and near.owners.in_ranges:
            low = near.owners.number_at(0)
            pivots = oriented.own[(self._done - low) % self._steps :: self._steps]
        else:
            turns = near.owners.numbers(xp) % self._steps
            pivots = oriented.own[(turns >= self._done) & (turns < end)]
        pivots = xp.sort(pivots)
        counts, read = xp.zeros(oriented.size, np.int64), 0
        for heads in oriented.heads(pivots):
            read += self._lister.count(heads, pivots, counts)
        oriented.note_lookups(pivots, read)
        note_bytes(0.0, counts.nbytes)
        self._counts = self._counts + self._own(counts)
        self._done = end
        active, read, bytes_sent = near.halo.totals(len(pivots), read)
        return Step(active, read, direction="intersect", filter="list", bytes_sent=bytes_sent)

    def _own(self, counts: Array) -> Array:
        """Return the sums over all ranks of the owned vertices' counts; collective."""
        oriented, xp = self._oriented, self._oriented.xp
        near = oriented.near
        own_counts = counts[oriented.own]
        if near.halo.alone:
            return own_counts
        counts[oriented.own] = 0
        places = xp.flatnonzero(counts)
        numbers, received_counts = near.halo.send_to_owners(oriented.known[places], counts[places])
        if not len(numbers):
            return own_counts
        sums = bin_sums(near.owners.places(numbers), received_counts, near.owned)
        return own_counts + sums.astype(np.int64)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the counts so far, and the number of steps done."""
        return {"counts": as_host(self._counts), "done": np.array([self._done], np.int64)}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        degrees = as_host(self._degrees)
        pairs = degrees * (degrees - 1)
        state.integers("counts", graph.owned, 0, pairs if self._directions else pairs // 2)
        state.number("done", 0, self._steps)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume after some steps."""
        self._counts = self._oriented.xp.asarray(state["counts"].astype(np.int64))
        self._done = int(state["done"][0])

    def columns(self) -> dict[str, Array]:
        """Return the counts of owned vertices."""
        return {"counts": self._counts}


class ClusteringCoefficient(TriangleCount):
    """The algorithm as a loop for `run`: triangles are counted with the directions of an edge.

    The state counts for each vertex the edges between its neighbours, each direction by itself in a
    directed graph.

    Examples
    --------
    The members whose friends all know each other:

    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.ClusteringCoefficient(), ws.datasets.karate_club(), directed=False)
    >>> result.frame.vertex[result.frame.clustering_coefficient == 1.0].tolist()
    [7, 12, 14, 15, 16, 17, 18, 20, 21, 22, 26]
    """

    name = "clustering_coefficient"
    outputs: ClassVar = {"clustering_coefficient": False}
    _directions = True

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Find the neighbours, and orient the edges."""
        super().start(graph, on_device=on_device)
        self._ways = 1 if graph.directed else 2  # an undirected edge joins two ordered pairs

    def columns(self) -> dict[str, Array]:
        """Return the coefficients of owned vertices."""
        xp, pairs = self._oriented.xp, self._degrees * (self._degrees - 1)
        shares = self._ways * self._counts / xp.maximum(pairs, 1)
        return {"clustering_coefficient": shares.astype(np.float64)}
