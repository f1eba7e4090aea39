"""Degrees as frames: the number of edges at every vertex, or the sum of their weights."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from cugraph_ws.algorithms.core import CuGraphDegreeType, DegreeType, own_degree_type
from cugraph_ws.algorithms.louvain import row_sums
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    open_graph,
    refuse_checkpoints,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.options import Options
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import any_true

__all__ = ["degree", "degrees"]

Array = Any  # NumPy's or CuPy's

LOW = (1 << 32) - 1  # the lower bits of an integer


@algorithm(
    group="centrality",
    columns="vertex, degree",
    weights="weighted",
    checkpoints="nowhere",
    note="Sums of weights with `weighted=True`, exact for integers.",
    by_group=lambda arguments: arguments.get("vertices") is None,
)
@accepts_dask_frames
def degree(
    graph: Graph[FrameT] | FrameT,
    vertices: Any = None,
    *,
    degree_type: DegreeType | CuGraphDegreeType = "both",
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
    vertices : sequence, array, Series or frame, optional
        The vertices to list; by default all.
    weighted : bool
        Whether to add up the weights of the edges (the strength) instead of counting them.
    **options
        engine: see `run`; there are no checkpoints, and the others have no effect.

    Returns
    -------
    DataFrame
        Columns `vertex` and `degree`: int64, or float64 for weights that are floats.  Sorted by
        vertex.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a sum of integers exceeds
        int64.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.degree(edges).degree.tolist()
    [2, 2, 3, 1]
    """
    degree_type = own_degree_type(degree_type)
    opened = _opened(graph, weighted, source, destination, weight, directed, options)
    both = opened.directed and degree_type == "both"
    ways = [True, False] if both else [degree_type != "out"]
    return _listed(opened, {"degree": _sums(opened, weighted, ways)}, vertices)


@algorithm(
    group="centrality",
    columns="vertex, in_degree, out_degree",
    weights="weighted",
    checkpoints="nowhere",
    note="Sums of weights with `weighted=True`, exact for integers.",
    by_group=lambda arguments: arguments.get("vertices") is None,
)
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
    vertices : sequence, array, Series or frame, optional
        The vertices to list; by default all.
    weighted : bool
        Whether to add up the weights of the edges (the strength) instead of counting them.
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
        If the frame or an argument is invalid, a vertex is unknown, or a sum of integers exceeds
        int64.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> ws.degrees(edges).in_degree.tolist()
    [1, 1, 1, 1]
    """
    opened = _opened(graph, weighted, source, destination, weight, directed, options)
    columns = {
        "in_degree": _sums(opened, weighted, [True]),
        "out_degree": _sums(opened, weighted, [False]),
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


def _sums(graph: GraphView, weighted: bool, ways: list[bool]) -> Array:
    """Return degrees or strengths by owned vertex, added up over incoming (True) and outgoing edges; collective."""
    if weighted and graph.edge_dtype(str(graph.weight)).kind in "iu":
        return _exact_sums(graph, ways)
    on_device, total = graph.device_resident, 0
    for incoming in ways:
        if weighted:
            total = total + graph.weight_sums(graph.weight, incoming=incoming, on_device=on_device)
        else:
            total = total + graph.degree_array(incoming=incoming, on_device=on_device)
    return total


def _exact_sums(graph: GraphView, ways: list[bool]) -> Array:
    """Return the sums of integer weights at owned vertices as int64; collective.

    The upper and lower 32 bits are added up apart, so that no sum overflows before it is checked.
    """
    part, name = Part(graph, on_device=graph.device_resident), str(graph.weight)
    xp = part.xp
    upper = lower = xp.zeros(part.owned, np.int64)
    for incoming in ways:
        order: Any = "csc" if incoming or not part.directed else "csr"
        weights = part.arc_values(name, order).astype(np.int64)
        offsets = (part.csc if order == "csc" else part.csr).offsets
        halves = xp.stack(
            [row_sums(xp, half, offsets) for half in (weights >> 32, weights & LOW)], 1
        )
        if order == "csr":
            part.halo.reduce(halves, xp.add)
        upper, lower = upper + part.by_number(halves)[:, 0], lower + part.by_number(halves)[:, 1]
    upper = upper + (lower >> 32)
    beyond = (upper < -(1 << 31)) | (upper >= 1 << 31)
    first = int(graph.owners.number_at(int(beyond.argmax()))) if any_true(beyond) else None
    shown = [vertex for vertex in graph.comm.allgather(first) if vertex is not None]
    if shown:
        (vertex,) = graph.describe_vertices([min(shown)])
        raise InputError(
            f"column {name!r}: the weights at vertex {vertex} add up to more than an int64 holds; give "
            "them as floats"
        )
    return (upper << 32) | (lower & LOW)


def _listed(graph: GraphView[FrameT], columns: dict[str, Array], vertices: Any) -> FrameT:
    """Return a frame of all vertices, or of the given ones; collective."""
    if vertices is None:
        return graph.vertex_frame({name: values[: graph.owned] for name, values in columns.items()})
    graph.check_outputs(dict.fromkeys(columns, False))
    return graph.frame_of_own(graph.own_numbers(vertices, "vertices"), columns)
