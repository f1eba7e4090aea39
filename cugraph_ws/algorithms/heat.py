"""Heat simulation: temperatures even out along edges.

The vertex program HS of Khorasani, Gupta, Bhuyan: Scalable SIMD-efficient graph processing on GPUs
(2015), in explicit steps.
"""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

from typing import Any, Unpack

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    check_finite,
    check_not_negative,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.decorator import max_norm, vertex_program

__all__ = ["Heat", "heat"]


@vertex_program
class Heat:
    """Temperature of every vertex after heat has flowed along the edges until convergence.

    Examples
    --------
    The rooms between a stove and a cold window, after two supersteps:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> names = ["stove", "kitchen", "hall", "window"]
    >>> rooms = pd.DataFrame({"source": names[:-1], "destination": names[1:], "weight": 0.25})
    >>> first = {"stove": 60.0, "kitchen": 16.0, "hall": 16.0, "window": 0.0}
    >>> result = ws.run(
    ...     ws.Heat, rooms, temperature=first, fixed=["stove", "window"], directed=False, max_iter=2
    ... )
    >>> result.frame.set_index("vertex").temperature[names].tolist(), result.stopped
    ([60.0, 31.5, 12.75, 0.0], 'max_iter')
    """

    temperature: ws.float64
    weight: ws.edge(ws.float64, least=0.0)
    total: ws.in_weight
    initial: ws.vertex_value(ws.float64, argument="temperature")
    fixed: ws.optional_vertex_set
    residual = max_norm("temperature")
    tol = 1e-6
    max_iter = 10_000

    def init(vertex, p, own):
        return own.initial

    def compute(src, edge):
        return src.temperature * edge.weight

    combine = sum

    def apply(old, gathered):
        flow = gathered - old.total * old.temperature
        return old.temperature if old.fixed else old.temperature + flow

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_finite("temperature", graph, values["initial"])
        check_not_negative("total", graph, values["total"])
        loose = values["total"] * ~values["fixed"]
        if len(loose) and loose.max() > 1.0 + 1e-9:
            vertex = int(loose.argmax())
            raise InputError(
                f"the coefficients into vertex {graph.describe(vertex)} add up to "
                f"{float(loose[vertex]):.6g}; above 1 a step overshoots: scale the weights down"
            )


@algorithm(
    group="simulation",
    columns="vertex, temperature",
    example=lambda ids: {"temperature": {vertex: place % 3 for place, vertex in enumerate(ids)}},
    weights="required",
    program=Heat,
)
@accepts_dask_frames
def heat(
    graph: Graph[FrameT] | FrameT,
    temperature: Any,
    fixed: Any = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Simulate heat flow until convergence: T(v) += Σ c(u,v)·(T(u) − T(v)).

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; weights are the coefficients c, 0 or more.
    temperature : frame, mapping, number or column name
        Initial temperature of every vertex.
    fixed : list of ids, optional
        Vertices with a constant temperature.
    tol : float
        The run ends when no temperature changes by more than this in a superstep.
    weight : str
        For an edge frame: the column of coefficients; by default the column named `weight`.
    directed : bool
        For an edge frame: whether heat flows one way only.

    Returns
    -------
    DataFrame
        vertex; temperature (float64). Sorted by vertex.

    Raises
    ------
    InputError
        If the coefficients into a vertex that is not fixed sum to more than 1, one is negative,
        or a temperature is missing.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the temperatures so far.

    Examples
    --------
    A stove and a cold window keep their temperatures, and heat flows through the rooms between:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> names = ["stove", "kitchen", "hall", "window"]
    >>> rooms = pd.DataFrame({"source": names[:-1], "destination": names[1:], "weight": 0.25})
    >>> first = {"stove": 60.0, "kitchen": 16.0, "hall": 16.0, "window": 0.0}
    >>> last = ws.heat(rooms, first, fixed=["stove", "window"], directed=False)
    >>> last.set_index("vertex").temperature.round(1)[names].tolist()
    [60.0, 40.0, 20.0, 0.0]
    """
    result = run_on(
        Heat,
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        temperature=temperature,
        fixed=fixed,
        tol=tol,
        max_iter=max_iter,
        **options,
    )
    return result.require_convergence("heat").frame
