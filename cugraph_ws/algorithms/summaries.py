"""Numbers that summarise a graph: density, reciprocity, clustering and assortativity."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Unpack

import numpy as np

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import Neighbourhood, row_of_arcs
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_checkpoints
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.triangles import ClusteringCoefficient, TriangleCount
from cugraph_ws.arguments import check_flag
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.run_memory import refuse_call
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import neighbourhoods
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.bins import bin_counts

__all__ = ["assortativity", "average_clustering", "density", "reciprocity", "transitivity"]

Array = Any  # NumPy's or CuPy's


@algorithm(group="structure", columns="density", checkpoints="nowhere", note="A number.")
@accepts_dask_frames
def density(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> float:
    """Compute the density: the number of edges, divided by that of a graph with all edges.

    As in NetworkX, self-loops and each parallel edge count, so it may exceed 1.

    Parameters
    ----------
    **options
        engine: see `run`; there are no checkpoints, and the others have no effect.

    Returns
    -------
    float
        m / (n (n - 1)) for n vertices and m edges, twice that for an undirected graph; 0 if there are
        fewer than two vertices.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> ws.density(edges, directed=False)
    0.6666666666666666
    """
    opened, _ = _opened(graph, source, destination, weight, directed, options)
    n, m = opened.number_of_vertices, opened.number_of_edges
    if n < 2:
        return 0.0
    return m * (1 if opened.directed else 2) / (n * (n - 1))


@algorithm(group="structure", columns="reciprocity", checkpoints="nowhere", note="A number.")
@accepts_dask_frames
def reciprocity(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> float:
    """Compute the reciprocity of a directed graph: the fraction of edges with an edge the other way.

    As in NetworkX, a self-loop is an edge without one the other way.  Parallel edges, which NetworkX
    refuses, count once.

    Parameters
    ----------
    **options
        engine: see `run`; there are no checkpoints, and the others have no effect.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, the graph is undirected, or it has no edges.

    References
    ----------
    .. [1] M. E. J. Newman, S. Forrest and J. Balthrop, "Email networks and the spread of computer
       viruses", Physical Review E 66, 2002.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b"], "destination": ["b", "a", "c"]})
    >>> ws.reciprocity(edges)
    0.6666666666666666
    """
    opened, on_device = _opened(graph, source, destination, weight, directed, options)
    if not opened.directed:
        raise InputError(
            "directed=False: every edge of an undirected graph leads both ways; give directed=True"
        )
    refuse_call("reciprocity", ROWS["neighbours"], opened, on_device=on_device)
    near = neighbourhoods(opened, on_device=on_device)
    ways = near.rows.values  # 1 or 2, in the rows of both vertices
    loops = count_true(_loops(Part(opened, on_device=on_device)) > 0)
    twice_edges, both, _ = near.halo.totals(
        int(ways.sum(dtype=np.int64)) + 2 * loops, int((ways == 2).sum())
    )
    if not twice_edges:
        raise InputError(f"reciprocity of {_empty(opened)} is undefined; give a graph with edges")
    return 2 * both / twice_edges


@algorithm(group="structure", columns="transitivity", directions=False, note="A number.")
@accepts_dask_frames
def transitivity(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> float:
    """Compute the transitivity: the fraction of paths of two edges whose ends have an edge.

    The direction of edges does not matter (in NetworkX it does).  Parallel edges, and edges in both
    directions between two vertices, count once; self-loops do not count.

    Returns
    -------
    float
        From 0 to 1; 0 if there is no such path.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the triangles of each vertex so far.

    References
    ----------
    .. [1] M. E. J. Newman, D. J. Watts and S. H. Strogatz, "Random graph models of social networks",
       PNAS 99, 2002.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.transitivity(edges)
    0.6
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    loop = Triads()
    result = run_on(loop, opened, **options).require_convergence("transitivity")
    closed, paths = (opened.vertex_sum(result.arrays[name]) for name in ("counts", "paths"))
    return float(closed / paths) if paths else 0.0


@algorithm(group="structure", columns="average_clustering", note="A number.")
@accepts_dask_frames
def average_clustering(
    graph: Graph[FrameT] | FrameT,
    count_zeros: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> float:
    """Compute the mean of the vertices' clustering coefficients.

    In a directed graph they are those of `clustering_coefficient`; NetworkX has another definition.

    Parameters
    ----------
    count_zeros : bool
        Whether vertices with a coefficient of 0 count.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or no vertex counts.
    ConvergenceError
        If the run is stopped early; `.result` has the coefficients of the triangles so far.

    References
    ----------
    .. [1] D. J. Watts and S. H. Strogatz, "Collective dynamics of 'small-world' networks", Nature,
       1998.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "c", "a"]})
    >>> ws.average_clustering(edges, directed=False)
    1.0
    """
    check_flag("count_zeros", count_zeros)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    result = run_on(ClusteringCoefficient(), opened, **options)
    values: Any = result.require_convergence("average_clustering").arrays["clustering_coefficient"]
    count = opened.number_of_vertices if count_zeros else int(opened.vertex_sum(values > 0))
    if not count:
        raise InputError(
            f"count_zeros={count_zeros}: no vertex counts among the {opened.number_of_vertices} of the "
            f"graph, so there is no mean; give {'a graph with vertices' if count_zeros else 'count_zeros=True'}"
        )
    return float(opened.vertex_sum(values)) / count


@algorithm(group="structure", columns="assortativity", checkpoints="nowhere", note="A number.")
@accepts_dask_frames
def assortativity(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> float:
    """Compute the degree assortativity: the correlation of the degrees at both ends of the edges.

    In a directed graph it is that of the source's out-degree and the destination's in-degree.  As in
    NetworkX, a self-loop of an undirected graph counts twice in a degree, and each parallel edge counts.

    Parameters
    ----------
    **options
        engine: see `run`; there are no checkpoints, and the others have no effect.

    Returns
    -------
    float
        Pearson's correlation coefficient, from -1 to 1; NaN if all degrees at one end are equal.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.

    References
    ----------
    .. [1] M. E. J. Newman, "Mixing patterns in networks", Physical Review E 67, 2003.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "a", "a"], "destination": ["b", "c", "d"]})
    >>> ws.assortativity(edges, directed=False)
    -1.0
    """
    opened, on_device = _opened(graph, source, destination, weight, directed, options)
    refuse_call("assortativity", ROWS["assortativity"], opened, on_device=on_device)
    near = Neighbourhood(opened, on_device=on_device)
    part = near.part
    loops = 0 if opened.directed else part.by_number(_loops(part))
    ends = []
    for incoming in (False, True):
        arcs = opened.degree_array(incoming=incoming, on_device=on_device)[: opened.owned]
        ends.append(_centred(opened, arcs, (arcs + loops).astype(np.float64)))
    (out, out_squares), (into, into_squares) = ends
    sums = part.by_number(near.sums(part.with_ghosts(out), "in"))
    product = float(opened.vertex_sum(sums * into))
    scale = math.sqrt(out_squares) * math.sqrt(into_squares)
    return min(1.0, max(-1.0, product / scale)) if scale else math.nan


class Triads(TriangleCount):
    """Triangles as a loop for `run`, with the paths of two edges at each vertex.

    Counts are of closed paths: each triangle of a vertex closes one.
    """

    outputs: ClassVar = {"counts": False, "paths": False}

    def columns(self) -> dict[str, Array]:
        """Return triangles and paths of owned vertices."""
        return {**super().columns(), "paths": self._degrees * (self._degrees - 1) // 2}


def _opened(
    graph: Any,
    source: Columns,
    destination: Columns,
    weight: Weight,
    directed: bool,
    options: RunOptions,
) -> tuple[GraphView, bool]:
    """Check the arguments; return the graph, and whether the GPU computes."""
    refuse_checkpoints(options, "this number has")
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    return opened, choose_engine(Options(**options).engine, opened) == "cuda"


def _empty(graph: GraphView) -> str:
    """Describe a graph without edges, for errors."""
    return f"a graph of {graph.number_of_vertices} vertices and no edges"


def _loops(part: Part) -> Array:
    """Return the number of self-loops at each owned vertex, by position."""
    rows = row_of_arcs(part)
    return bin_counts(rows[rows == part.csc.indices], part.owned)


def _centred(graph: GraphView, arcs: Array, degrees: Array) -> tuple[Array, float]:
    """Return owned vertices' degrees less their mean over the ends of arcs, and the squares' sum; collective."""
    ends = float(graph.vertex_sum(arcs))
    mean = float(graph.vertex_sum(arcs * degrees)) / ends if ends else 0.0
    centred = degrees - mean
    return centred, float(graph.vertex_sum(arcs * centred * centred))
