"""Subgraphs as edge frames: the edges between given vertices, or between those near a vertex."""

from __future__ import annotations

from typing import Any, Unpack, cast

import numpy as np

from cugraph_ws.algorithms.bfs import BFS
from cugraph_ws.algorithms.footprints import ROWS, subgraph_memory
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_checkpoints
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.sssp import SSSP
from cugraph_ws.arguments import (
    check_count,
    check_flag,
    check_number,
    is_label,
    is_one_vertex,
    shown,
)
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.run_memory import refuse_beyond_memory, refuse_call, sizes_of
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO, is_auto
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host

__all__ = ["ego_graph", "subgraph"]


@algorithm(
    group="structure",
    columns="edges",
    example=lambda ids: {"vertices": ids[:3]},
    weights="kept",
    checkpoints="nowhere",
)
@accepts_dask_frames
def subgraph(
    graph: Graph[FrameT] | FrameT,
    vertices: Any,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges whose ends are both among given vertices.

    Parameters
    ----------
    vertices : sequence, array, Series or frame
        Ids of the vertices.
    **options
        engine: see `run`; there are no checkpoints, and the others have no effect.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept, under their own names; sorted by destination,
        then source.  An undirected edge appears once, from the vertex with the smaller id.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a vertex is unknown.
    GraphMemoryError
        If marks of all edges would not fit in memory, or, on a CPU, the edges that they keep.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.subgraph(edges, ["a", "b"]).destination.tolist()
    ['b']
    """
    refuse_checkpoints(options, "subgraph has")
    choose_engine(Options(**options).engine)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    opened.check_edge_names()
    refuse_call("subgraph", ROWS["marks of edges"], opened, on_device=opened.device_resident)
    numbers = np.unique(as_host(opened.numbers(vertices, "vertices")))
    owned = numbers[opened.owners.holds(numbers)]
    marks = np.zeros(opened.owned, np.bool_)
    marks[opened.owners.places(owned)] = True
    return _edges_among(opened, marks, "subgraph")


@algorithm(
    group="structure",
    columns="edges",
    example=lambda ids: {"vertex": ids[0]},
    weights="kept",
)
@accepts_dask_frames
def ego_graph(
    graph: Graph[FrameT] | FrameT,
    vertex: Any,
    radius: float = 1,
    center: bool = True,
    undirected: bool | None = None,
    distance: str | None = None,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges between the vertices near a given vertex.

    Parameters
    ----------
    vertex : id or list of ids
        The center vertex, or several; then the distance from the nearest counts.
    radius : int or float
        Maximum distance from the center, in hops, or in weights if `distance` is given.
    center : bool
        Whether the vertex itself is included.
    undirected : bool, optional
        NetworkX's name for paths in both directions.  In a directed graph True is refused: read the
        edges with `directed=False`.
    distance : str, optional
        The weight column, if distances are sums of weights.
    directed : bool
        Whether the edges of an edge frame are directed; paths are along them.

    Returns
    -------
    DataFrame
        As returned by `subgraph`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a vertex is unknown.
    GraphMemoryError
        If marks of all edges would not fit in memory, or, on a CPU, the edges that they keep.
    ConvergenceError
        If the run is stopped early; `.result` has the distances so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.ego_graph(edges, "a").destination.tolist()
    ['b']
    """
    if distance is None:
        check_count("radius", radius)
    else:
        check_number("radius", radius)
        if not is_label(distance):
            raise InputError(f"distance={shown(distance)} must be the name of a column")
        if not is_auto(weight) and (not is_label(weight) or weight != distance):
            raise InputError(
                f"distance={shown(distance)} and weight={shown(weight)} name different columns; give one"
            )
        weight = distance
    check_flag("center", center)
    if undirected is not None:
        check_flag("undirected", undirected)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    opened.check_edge_names()
    if undirected and opened.directed:
        raise InputError(
            "undirected=True: paths follow the edges of a directed graph; read them with directed=False"
        )
    refuse_call("ego_graph", ROWS["marks of edges"], opened, on_device=opened.device_resident)
    given = opened.members([vertex] if is_one_vertex(vertex) else vertex, "vertex")
    if distance is None:
        result = run_on(
            BFS, opened, start=given, max_iter=int(radius), predecessors=False, **options
        )
    else:
        result = run_on(
            SSSP, opened, start=given, cutoff=radius, predecessors=not center, **options
        )
    if result.stopped != "max_iter":
        result.require_convergence("ego_graph")
    far: Any = result.arrays["distance"]
    near = far.valid
    if not center and distance is None:
        near = near & (far.values > 0)
    elif not center:  # edges may have length 0, but only a center has no predecessor
        before: Any = result.arrays["predecessor"]
        near = near & (before.numbers >= 0)
    return _edges_among(opened, near, "ego_graph")


def _edges_among(graph: GraphView[FrameT], marks: Any, name: str) -> FrameT:
    """Return the edges between marked vertices, unless they are counted and would not fit in memory."""
    if not graph.whole or graph.device_resident:
        return cast(FrameT, graph.edges_among(marks))
    csc: Any = graph.csc
    marks = as_host(marks)
    are_among = marks[csc.indices]
    are_among &= np.repeat(marks, csc.degrees)
    edges = int(np.count_nonzero(are_among)) / (1 if graph.directed else 2)
    refuse_beyond_memory(
        name, subgraph_memory(sizes_of(graph), edges, searched=name == "ego_graph")
    )
    return graph.edge_frame(are_among)
