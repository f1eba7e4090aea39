"""Breadth-first search: the number of hops from the nearest start.

Direction-optimising (Beamer, Asanović, Patterson: Direction-optimizing breadth-first search,
2012).  A small frontier pushes.  With a large one, unreached vertices pull: each reads its
in-neighbours until it finds an active one.
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
from cugraph_ws.arguments import check_count, check_flag
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.program.decorator import any_message, vertex_program

__all__ = ["BFS", "bfs"]

UNREACHED = 2**30  # represents math.inf in an int32 field


@vertex_program
class BFS:
    """Hops from the nearest start vertex, and the predecessor on such a path.

    Examples
    --------
    Friends of friends of Ann: the run stops after two supersteps.

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> names = ["Ann", "Bob", "Cy", "Dee", "Eve"]
    >>> friends = pd.DataFrame({"source": names[:-1], "destination": names[1:]})
    >>> result = ws.run(ws.BFS, friends, start="Ann", max_iter=2, directed=False)
    >>> result.frame.dropna(subset="distance").vertex.tolist(), result.stopped
    (['Ann', 'Bob', 'Cy'], 'max_iter')
    >>> ws.run(ws.BFS, friends, start=["Ann", "Eve"], directed=False).frame.distance.tolist()
    [0, 1, 2, 1, 0]
    """

    distance: ws.nullable(ws.int32, math.inf)
    predecessor: ws.predecessor
    start: ws.vertex_set

    def init(vertex, p, own):
        return 0 if own.start else math.inf

    def starts(state):
        return state.distance == 0

    def compute(src):
        return src.distance + 1

    combine = any_message  # all messages of one superstep are equal
    asynchronous = True

    def apply(old, gathered):
        return min(old.distance, gathered)

    def active(old, new):
        return new.distance < old.distance

    def settled(state):
        return state.distance < UNREACHED


@algorithm(
    group="paths",
    columns="vertex, distance, predecessor",
    example=lambda ids: {"start": ids[0]},
    program=BFS,
    by_group=True,
)
@accepts_dask_frames
def bfs(
    graph: Graph[FrameT] | FrameT,
    start: Any,
    depth_limit: int | None = None,
    *,
    return_predecessors: bool = True,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    unreachable: Unreachable = "null",
    **options: Unpack[RunOptions],
) -> FrameT:
    """Count the hops from the nearest start vertex to every vertex.

    Parameters
    ----------
    start : id or list of ids
        Where the search starts.
    depth_limit : int, optional
        Maximum number of hops; 0 reaches only the start.
    unreachable : {"null", "max"}
        Distance of unreachable vertices: null, or the greatest int32, as in cuGraph.

    Returns
    -------
    DataFrame
        vertex; distance (int32, hops; null if unreachable); predecessor (an id: the smallest
        in-neighbour that is one hop nearer; null for starts and unreachable vertices). Sorted by
        vertex.

    Raises
    ------
    InputError
        If a start vertex is unknown, or an argument is invalid.
    ConvergenceError
        If `timeout` is reached first; `.result` has the distances so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> ws.bfs(edges, "a").distance.tolist()
    [0, 1, 2, 2]
    """
    check_unreachable(unreachable)
    check_flag("return_predecessors", return_predecessors)
    if depth_limit is not None:
        check_count("depth_limit", depth_limit)
    result = run_on(
        BFS,
        as_graph(graph, source=source, destination=destination, weight=weight, directed=directed),
        start=start,
        max_iter=depth_limit,
        predecessors=return_predecessors,
        **options,
    )
    if result.stopped != "max_iter":
        result.require_convergence("bfs")
    return with_unreachable(result, "distance", unreachable)
