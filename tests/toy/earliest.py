"""The least vertex with a path to each: a program as `algorithms/NAME.py` would hold it."""

# A vertex program: its annotations are declarations, and its functions no methods.
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

from typing import Unpack

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.program.decorator import vertex_program

__all__ = ["Earliest", "earliest"]


@vertex_program
class Earliest:
    """The least number of a vertex with a path to this one."""

    ancestor: ws.vertex_id
    combine = min

    def init(vertex):
        return vertex

    def compute(src):
        return src.ancestor

    def apply(old, gathered):
        return min(old.ancestor, gathered)


@algorithm(group="structure", columns="vertex, ancestor", program=Earliest)
@accepts_dask_frames
def earliest(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Find the least vertex with a path to each vertex.

    Returns
    -------
    DataFrame
        Columns `vertex` and `ancestor`, an id.
    """
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed
    )
    return run_on(Earliest, opened, **options).require_convergence("earliest").frame
