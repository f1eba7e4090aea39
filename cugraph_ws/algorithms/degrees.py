"""Degrees as frames: the number of edges at every vertex, or the sum of their weights."""

from __future__ import annotations

from typing import Any, Unpack, get_args

from cugraph_ws.algorithms.core import DegreeType
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    open_graph,
    refuse_checkpoints,
)
from cugraph_ws.arguments import check_choice
from cugraph_ws.contract import choose_engine
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.options import Options
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView

__all__ = ["degree", "degrees"]

Array = Any  # NumPy's or CuPy's


@accepts_dask_frames
def degree(
    graph: Graph[FrameT] | FrameT,
    vertices: Any = None,
    *,
    degree_type: DegreeType = "both",
    weighted: bool = False,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Count the edges at every vertex: those into it, those out of it, or both.

    In an undirected graph every edge of a vertex counts once, also a self-loop (NetworkX counts it
    twice).  In a directed graph a self-loop counts as both an in-edge and an out-edge.  Each parallel
    edge counts.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    vertices : sequence, array, Series or frame, optional
        The vertices to list; by default all.
    degree_type : {"both", "in", "out"}
        Which edges count if the graph is directed.
    weighted : bool
        Whether to add up the weights of the edges (the strength) instead of counting them.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; read only if `weighted`, by default the column named
        `weight`.
    directed : bool
        Whether the edges of an edge frame are directed.
    **options
        engine: see `run`; there are no checkpoints, and the others have no effect.

    Returns
    -------
    DataFrame
        Columns `vertex` and `degree`: int64, or float64 if `weighted`.  Sorted by vertex.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a vertex is unknown.
    """
    check_choice("degree_type", degree_type, get_args(DegreeType))
    opened = _opened(graph, weighted, source, destination, weight, directed, options)
    total = _sums(opened, weighted, incoming=degree_type != "out")
    if opened.directed and degree_type == "both":
        total = total + _sums(opened, weighted, incoming=False)
    return _listed(opened, {"degree": total}, vertices)


@accepts_dask_frames
def degrees(
    graph: Graph[FrameT] | FrameT,
    vertices: Any = None,
    *,
    weighted: bool = False,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Count the edges into and the edges out of every vertex.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    vertices : sequence, array, Series or frame, optional
        The vertices to list; by default all.
    weighted : bool
        Whether to add up the weights of the edges (the strength) instead of counting them.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; see `degree`.
    directed : bool
        Whether the edges of an edge frame are directed.
    **options
        engine: see `run`; there are no checkpoints, and the others have no effect.

    Returns
    -------
    DataFrame
        Columns `vertex`, `in_degree` and `out_degree`: int64, or float64 if `weighted`.  Sorted by
        vertex.  In an undirected graph the two are equal.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a vertex is unknown.
    """
    opened = _opened(graph, weighted, source, destination, weight, directed, options)
    columns = {
        "in_degree": _sums(opened, weighted, incoming=True),
        "out_degree": _sums(opened, weighted, incoming=False),
    }
    return _listed(opened, columns, vertices)


def _opened(
    graph: Graph[FrameT] | FrameT,
    weighted: bool,
    source: Columns,
    destination: Columns,
    weight: Weight,
    directed: bool,
    options: RunOptions,
) -> GraphView[FrameT]:
    """Check the arguments, and return the graph."""
    refuse_checkpoints(options, "degrees have")
    choose_engine(Options(**options).engine)
    return open_graph(
        graph, weighted, source=source, destination=destination, weight=weight, directed=directed
    )


def _sums(graph: GraphView, weighted: bool, *, incoming: bool) -> Array:
    """Return degrees or strengths by vertex; collective."""
    there = graph.device_resident
    if weighted:
        return graph.weight_sums(graph.weight, incoming=incoming, on_device=there)
    return graph.degrees(incoming=incoming, on_device=there)


def _listed(graph: GraphView[FrameT], columns: dict[str, Array], vertices: Any) -> FrameT:
    """Return a frame of all vertices, or of the given ones; collective."""
    if vertices is None:
        return graph.vertex_frame({name: one[: graph.owned] for name, one in columns.items()})
    graph.check_outputs(dict.fromkeys(columns, False))
    return graph.frame_of_own(graph.own_numbers(vertices, "vertices"), columns)
