"""Single-source shortest paths over non-negative weights.

Label-correcting with priority buckets: near vertices first, far ones later (Davidson, Baxter,
Garland, Owens: Work-efficient parallel GPU methods for single-source shortest paths, 2014).  The
width of the buckets adapts to the amount of work (Wang, Fussell, Lin: A fast work-efficient SSSP
algorithm for GPUs, 2021).
"""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

import math
from typing import Any, Unpack

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Unreachable,
    Weight,
    check_unreachable,
    with_unreachable,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_flag, check_number
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.keywords import takes_names_of_others
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.conventions import takes_source_for_start
from cugraph_ws.program.decorator import vertex_program

__all__ = ["SSSP", "sssp"]


@vertex_program
class SSSP:
    """Length of the shortest path from the nearest start, and the predecessor on it.

    Examples
    --------
    The nearest of two depots, no farther than 4, and the place before on the way:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> roads = {"source": ["a", "b", "d"], "destination": ["b", "c", "c"], "weight": [1.0, 2.0, 4.5]}
    >>> result = ws.run(ws.SSSP, pd.DataFrame(roads), start=["a", "d"], cutoff=4.0)
    >>> result.frame.distance.tolist(), result.frame.predecessor.dropna().tolist()
    ([0.0, 1.0, 3.0, 0.0], ['a', 'b'])
    """

    distance: ws.nullable(ws.like("weight"), math.inf)
    predecessor: ws.predecessor
    weight: ws.edge(default=1, least=0)
    start: ws.VertexSet(alias="source")
    cutoff: ws.parameter(ws.float64, default=math.inf)

    def init(vertex, p, own):
        return 0 if own.start else math.inf

    def starts(state):
        return state.distance == 0

    def compute(src, edge):
        return src.distance + edge.weight

    combine = min
    asynchronous = True

    def apply(old, gathered, p):
        return gathered if gathered < old.distance and gathered <= p.cutoff else old.distance

    def active(old, new):
        return new.distance < old.distance

    def priority(state):
        return state.distance

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_number("cutoff", values["cutoff"])


@algorithm(
    group="paths",
    columns="vertex, distance, predecessor",
    example=lambda ids: {"start": ids[0]},
    weights="read",
    note="Lengths are 0 or more; exact for integers.",
    program=SSSP,
    by_group=True,
)
@takes_names_of_others
@takes_source_for_start
@accepts_dask_frames
def sssp(
    graph: Graph[FrameT] | FrameT,
    start: Any = None,
    *,
    cutoff: float | None = None,
    return_predecessors: bool = True,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    unreachable: Unreachable = "null",
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the length of the shortest path from the nearest start to every vertex.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame. Without weights every edge has length 1.
    start : id or list of ids
        Where paths start.  If `graph` is a `Graph`, cuGraph's keyword `source` is accepted too.
    cutoff : float, optional
        Maximum length of a path; vertices farther away are unreachable.
    weight : str or None
        For an edge frame: the column of lengths, 0 or more; by default the column named `weight`,
        if there is one. None for no weights.
    unreachable : {"null", "max"}
        Distance of unreachable vertices: null, or the type's greatest value, as in cuGraph.

    Returns
    -------
    DataFrame
        vertex; distance (int64 and exact for integer weights or none, else the weights' type; null
        if unreachable); predecessor (an id; null for starts and unreachable vertices). Sorted by
        vertex.

    Raises
    ------
    InputError
        If a start vertex is unknown, a weight is negative, or integer paths could overflow.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame(
    ...     {"source": ["a", "b", "a"], "destination": ["b", "c", "c"], "weight": [1.0, 2.0, 5.0]}
    ... )
    >>> ws.sssp(edges, "a").distance.tolist()
    [0.0, 1.0, 3.0]
    """
    check_unreachable(unreachable)
    check_flag("return_predecessors", return_predecessors)
    if cutoff is not None:
        check_number("cutoff", cutoff)
    result = run_on(
        SSSP,
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        start=start,
        cutoff=cutoff,
        predecessors=return_predecessors,
        **options,
    )
    result.require_convergence("sssp")
    return with_unreachable(result, "distance", unreachable)
