"""Positions of vertices for a picture, as a vertex frame."""

from __future__ import annotations

from typing import Any

from cugraph_ws.algorithms.options import Columns, Weight
from cugraph_ws.arguments import check_count
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import is_on_cluster
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import NeighbourRows, neighbourhoods
from cugraph_ws.pictures.forces import positions
from cugraph_ws.runtime.arrays import as_host

__all__ = ["graph_to_draw", "layout", "neighbour_rows"]

MOST = 2**31 - 1  # vertices: numbers beside codes of 32 bits
SEEDS = 2**63 - 1


def layout(
    graph: Graph[FrameT] | FrameT,
    *,
    iterations: int = 50,
    seed: int = 0,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
) -> FrameT:
    """Give every vertex a position in the plane, so that neighbours are near each other.

    Edges attract their ends and all vertices repel each other, on coarse graphs first.  Neither the direction nor
    the weight of edges matters, parallel edges count once, and components are placed side by side.  It runs on
    the CPU; the rows of a graph on a GPU are copied to the host.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; not one on a cluster.
    iterations : int
        Moves of all vertices, on each level of coarser graphs.
    seed : int
        The same seed gives the same positions, bit by bit, with any number of threads.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame, which must exist but has no effect.
    directed : bool
        How an edge frame is read; it does not change the result.

    Returns
    -------
    DataFrame
        Columns `vertex`, `x` and `y` (float64).  The mean edge has length 1.

    Raises
    ------
    InputError
        If the graph is on a cluster, or the frame or an argument is invalid.

    References
    ----------
    .. [1] Y. Hu, "Efficient, high-quality force-directed graph drawing", The Mathematica Journal 10, 2005.
    .. [2] J. Barnes and P. Hut, "A hierarchical O(N log N) force-calculation algorithm", Nature 324, 1986.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> places = ws.layout(ws.datasets.karate_club(), directed=False)
    >>> list(places.columns), len(places)
    (['vertex', 'x', 'y'], 34)
    """
    check_count("iterations", iterations)
    check_count("seed", seed, most=SEEDS)
    opened: GraphView[FrameT] = graph_to_draw(
        "layout", graph, source=source, destination=destination, weight=weight, directed=directed
    )
    rows = neighbour_rows(opened)
    if len(rows.offsets) - 1 > MOST:
        raise InputError(f"layout() takes at most {MOST:,} vertices; contract the graph first")
    laid = positions(rows.offsets, rows.indices, iterations, seed)
    return opened.vertex_frame({"x": laid[:, 0].copy(), "y": laid[:, 1].copy()})


def graph_to_draw(function: str, graph: Any, **columns: Any) -> GraphView[Any]:
    """Return a graph of this machine, built of an edge frame if it is one.

    Parameters
    ----------
    function : str
        What draws it, for the error.
    graph : Graph or DataFrame
    **columns
        Of an edge frame; see `as_graph`.

    Returns
    -------
    GraphView

    Raises
    ------
    InputError
        If it is on a cluster.
    """
    if is_on_cluster(graph):
        raise InputError(
            f"{function}() draws graphs of one machine, and this one is on a cluster: give edges.compute() or, "
            "of a large graph, graph.contract(labels) or a subgraph"
        )
    return as_graph(graph, **columns)


def neighbour_rows(graph: GraphView[Any]) -> NeighbourRows:
    """Return the distinct neighbours of every vertex, on the host.

    Parameters
    ----------
    graph : GraphView

    Returns
    -------
    NeighbourRows
    """
    rows = neighbourhoods(graph, on_device=False).rows
    return NeighbourRows(as_host(rows.offsets), as_host(rows.indices))
