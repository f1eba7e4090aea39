"""Positions of vertices for a picture, as a vertex frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.algorithms.options import Columns, Weight, refuse_great, refuse_negative
from cugraph_ws.arguments import check_count
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import is_on_cluster
from cugraph_ws.execution.keywords import takes_names_of_others
from cugraph_ws.execution.options import Engine
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import NeighbourRows, neighbourhoods
from cugraph_ws.pictures.forces import positions
from cugraph_ws.runtime.arrays import as_host

__all__ = ["graph_to_draw", "layout", "neighbour_rows"]

MOST = 2**31 - 1  # vertices: numbers beside codes of 32 bits
SEEDS = 2**63 - 1


@takes_names_of_others
def layout(
    graph: Graph[FrameT] | FrameT,
    *,
    iterations: int = 50,
    seed: int = 0,
    engine: Engine = "auto",
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
) -> FrameT:
    """Give every vertex a position in the plane, so that neighbours are near each other.

    Edges attract their ends and all vertices repel each other, on coarse graphs first.  The direction
    of edges does not matter, parallel edges count once, or with the sum of their weights, and components are
    placed side by side.  On a GPU the large levels are made and moved there.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; not one on a cluster.
    iterations : int
        Moves of all vertices, on each level of coarser graphs.
    seed : int
        The same seed gives the same positions, bit by bit, with any number of threads; on a GPU others than on a
        CPU.
    engine : {"auto", "cpu", "cuda", "python"}
        Where forces are computed: by default on the GPU if the graph is there.  "python" is as "cpu".
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column, 0 or more: by how much an edge attracts its ends, in proportion to the mean weight.  By
        default all edges attract alike, also in a graph that has weights.
    directed : bool
        How an edge frame is read; it does not change the result.

    Returns
    -------
    DataFrame
        Columns `vertex`, `x` and `y` (float64).  The mean edge has length 1.

    Raises
    ------
    InputError
        If the graph is on a cluster, the frame or an argument is invalid, or a weight is negative.
    EngineError
        If there is no GPU for `engine="cuda"`.

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
        "layout", graph, source=source, destination=destination, weight=weight, directed=directed,
        weighted=True,
    )  # fmt: skip
    engine = choose_engine(engine, opened)
    refuse_negative(opened)
    refuse_great(opened, 4.0 * opened.number_of_arcs)
    on_device = engine == "cuda"
    rows = neighbour_rows(opened, opened.weight, on_device=on_device)
    if len(rows.offsets) - 1 > MOST:
        raise InputError(f"layout() takes at most {MOST:,} vertices; contract the graph first")
    weights = rows.values
    if weights is not None:
        weights = weights / (float(weights.mean()) or 1.0) if len(weights) else None
    laid = positions(rows.offsets, rows.indices, iterations, seed, weights, on_device=on_device)
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


def neighbour_rows(
    graph: GraphView[Any], weight: str | None = None, *, on_device: bool = False
) -> NeighbourRows:
    """Return the distinct neighbours of every vertex, on the host or on the GPU.

    Parameters
    ----------
    graph : GraphView
    weight : str, optional
        An edge column, of which the rows' values are the sums over parallel edges, as float64.
    on_device : bool

    Returns
    -------
    NeighbourRows
    """
    rows = neighbourhoods(graph, on_device=on_device, weight=weight).rows
    placed: Any = (lambda array: array) if on_device else as_host
    values = None if weight is None else placed(rows.values).astype(np.float64)
    return NeighbourRows(placed(rows.offsets), placed(rows.indices), values)
