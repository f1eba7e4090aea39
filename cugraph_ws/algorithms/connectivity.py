"""Whether a graph is connected."""

from __future__ import annotations

from typing import Any, Unpack

from cugraph_ws.algorithms.components import WeaklyConnectedComponents
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.strong_components import StronglyConnectedComponents
from cugraph_ws.arguments import check_flag
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.runtime.arrays import any_true

__all__ = ["is_connected"]


@algorithm(group="structure", columns="is_connected", note="True or False.")
@accepts_dask_frames
def is_connected(
    graph: Graph[FrameT] | FrameT,
    strong: bool = False,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> bool:
    """Tell whether there is a path between every two vertices.

    Parameters
    ----------
    strong : bool
        Whether paths are along the edges of a directed graph; by default their direction does not
        matter.

    Returns
    -------
    bool

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or the graph has no vertices.
    ConvergenceError
        If the run is stopped early; `.result` has the components so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    >>> ws.is_connected(edges), ws.is_connected(edges, strong=True)
    (True, False)
    """
    check_flag("strong", strong)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    if not opened.number_of_vertices:
        raise InputError(
            "whether a graph of 0 vertices is connected is undefined; give one with vertices"
        )
    along = strong and opened.directed
    loop = StronglyConnectedComponents() if along else WeaklyConnectedComponents()
    result = run_on(loop, opened, **options).require_convergence("is_connected")
    labels: Any = result.arrays["labels"]
    return not opened.any_rank(any_true(labels.numbers != 0))  # labels are the least vertices
