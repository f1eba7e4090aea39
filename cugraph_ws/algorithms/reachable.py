"""The vertices that a vertex reaches, and those that reach it."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from cugraph_ws.algorithms.bfs import BFS
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import is_one_vertex
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.reversed import reversed_view
from cugraph_ws.runtime.arrays import as_host

__all__ = ["ancestors", "descendants"]


@algorithm(
    group="paths",
    columns="vertex, distance",
    example=lambda ids: {"vertex": ids[0]},
    program=BFS,
)
@accepts_dask_frames
def descendants(
    graph: Graph[FrameT] | FrameT,
    vertex: Any,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the vertices that can be reached from a vertex.

    Parameters
    ----------
    vertex : id or list of ids
        Where paths begin.  With several, those that one of them reaches, without all of them.

    Returns
    -------
    DataFrame
        vertex, without the given ones; distance (int32, hops from the nearest given one).  Sorted by
        vertex.

    Raises
    ------
    InputError
        If the vertex is unknown, or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the distances so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "d"], "destination": ["b", "c", "c"]})
    >>> ws.descendants(edges, "a").vertex.tolist()
    ['b', 'c']
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    return _reached(opened, opened, vertex, "descendants", options)


@algorithm(
    group="paths",
    columns="vertex, distance",
    example=lambda ids: {"vertex": ids[3]},
    program=BFS,
)
@accepts_dask_frames
def ancestors(
    graph: Graph[FrameT] | FrameT,
    vertex: Any,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the vertices from which a vertex can be reached.

    Parameters
    ----------
    vertex : id or list of ids
        Where paths end.  With several, those that reach one of them, without all of them.

    Returns
    -------
    DataFrame
        vertex, without the given ones; distance (int32, hops to the nearest given one).  Sorted by
        vertex.

    Raises
    ------
    InputError
        If the vertex is unknown, or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the distances so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "d"], "destination": ["b", "c", "c"]})
    >>> ws.ancestors(edges, "c").vertex.tolist()
    ['a', 'b', 'd']
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    backward: GraphView[FrameT] = reversed_view(opened)
    return _reached(opened, backward, vertex, "ancestors", options)


def _reached(
    graph: GraphView[FrameT], along: GraphView[FrameT], vertex: Any, name: str, options: RunOptions
) -> FrameT:
    """Return the vertices that a search along the edges of a graph, or of its reverse, reaches."""
    given = along.members([vertex] if is_one_vertex(vertex) else vertex, "vertex")
    result = run_on(BFS, along, start=given, predecessors=False, **options)
    far: Any = result.require_convergence(name).arrays["distance"]
    places = as_host(far.valid & (far.values > 0))
    own = graph.owners.number_at(np.flatnonzero(places))
    return graph.frame_of_own(own, {"distance": far.values})
