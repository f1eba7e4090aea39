"""Single-source widest paths (SSWP): the greatest width of any path to each vertex.

The vertex program of Khorasani, Gupta, Bhuyan: Scalable SIMD-efficient graph processing on GPUs
(2015), with the widest vertices first.
"""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

import math
from typing import Any, Unpack, cast

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_flag
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.keywords import takes_names_of_others
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.program.conventions import takes_source_for_start
from cugraph_ws.program.decorator import vertex_program
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["WidestPath", "widest_path"]


@vertex_program
class WidestPath:
    """Width of the widest path from the nearest start, and the predecessor on it.

    Of integer weights, widths are int64 and exact; see `widest_path`.

    Examples
    --------
    The heaviest lorry that reaches each town from one of two depots, by the loads that bridges bear:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> bridges = {"source": ["a", "b", "d"], "destination": ["b", "c", "c"], "weight": [7.5, 3.0, 5.0]}
    >>> result = ws.run(ws.WidestPath, pd.DataFrame(bridges), start=["a", "d"])
    >>> result.frame.width.tolist(), result.frame.predecessor.dropna().tolist()
    ([inf, 7.5, 5.0, inf], ['a', 'd'])
    """

    width: ws.nullable(ws.like("weight"), -math.inf)
    predecessor: ws.predecessor
    weight: ws.edge(ws.floating, default=1.0)
    start: ws.VertexSet(alias="source")

    def init(vertex, p, own):
        return math.inf if own.start else -math.inf

    def starts(state):
        return state.width == math.inf

    def compute(src, edge):
        return min(src.width, edge.weight)

    combine = max
    asynchronous = True

    def apply(old, gathered):
        return max(old.width, gathered)

    def active(old, new):
        return new.width > old.width

    def priority(state):
        return -state.width


LEAST, GREATEST = -(2**63), 2**63 - 1  # integer widths of vertices without a path, and of starts


@vertex_program
class IntegerWidestPath:
    """As `WidestPath`, for integer weights: widths are exact."""

    width: ws.nullable(ws.int64, LEAST)
    predecessor: ws.predecessor
    weight: ws.edge(ws.int64, default=1)
    start: ws.VertexSet(alias="source")

    def init(vertex, p, own):
        return GREATEST if own.start else LEAST

    def starts(state):
        return state.width == GREATEST

    def compute(src, edge):
        return min(src.width, edge.weight)

    combine = max
    asynchronous = True

    def apply(old, gathered):
        return max(old.width, gathered)

    def active(old, new):
        return new.width > old.width

    def priority(state):
        return -1 - state.width  # the negative of LEAST would overflow


# To mypy the decorated classes are classes.
cast(VertexProgram, WidestPath).for_integers = cast(VertexProgram, IntegerWidestPath)


@algorithm(
    group="paths",
    columns="vertex, width, predecessor",
    example=lambda ids: {"start": ids[0]},
    weights="read",
    note="Exact for integers.",
    program=WidestPath,
    by_group=True,
)
@takes_names_of_others
@takes_source_for_start
@accepts_dask_frames
def widest_path(
    graph: Graph[FrameT] | FrameT,
    start: Any = None,
    return_predecessors: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the width of the widest path from the nearest start to every vertex.

    The width of a path is the width of its narrowest edge.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame. Without weights every edge has width 1.
    start : id or list of ids
        Where paths start.
    weight : str or None
        For an edge frame: the column of widths; by default the column named `weight`, if there is
        one. None for no weights.

    Returns
    -------
    DataFrame
        vertex; width (null if unreachable; int64 and exact for integer weights, for starts the greatest
        int64; else float32 for weights of that type, float64 otherwise, for starts infinite);
        predecessor (an id; null for starts and unreachable vertices). Sorted by
        vertex.

    Raises
    ------
    InputError
        If a start vertex is unknown, or an argument is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame(
    ...     {"source": ["a", "b", "a"], "destination": ["b", "c", "c"], "weight": [1.0, 2.0, 5.0]}
    ... )
    >>> ws.widest_path(edges, "a").iloc[:, 1].tolist()
    [inf, 1.0, 5.0]
    """
    check_flag("return_predecessors", return_predecessors)
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    result = run_on(
        WidestPath,
        opened,
        start=start,
        predecessors=return_predecessors,
        **options,
    )
    return result.require_convergence("widest_path").frame
