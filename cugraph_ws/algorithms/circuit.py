"""Circuit simulation: node voltages of a resistor network, by Kirchhoff's current law.

The vertex program CS of Khorasani, Gupta, Bhuyan: Scalable SIMD-efficient graph processing on GPUs
(2015): Jacobi iteration.
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

__all__ = ["Circuit", "circuit"]


GREATEST_TOTAL = 1e300  # larger totals could make conductance times voltage overflow


@vertex_program
class Circuit:
    """Voltage of every vertex, given the voltages of some.

    Examples
    --------
    A coarse tolerance needs fewer supersteps, and the residual says how far the last one moved:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> wires = pd.DataFrame({"source": ["plus", "a", "b"], "destination": ["a", "b", "minus"]})
    >>> ends = {"plus": 9.0, "minus": 0.0}
    >>> result = ws.run(ws.Circuit, wires, sources=ends, directed=False, tol=0.1)
    >>> result.frame.voltage.round(2).tolist(), result.iterations, round(result.residual, 3)
    ([5.98, 2.95, 0.0, 9.0], 7, 0.07)
    """

    voltage: ws.float64
    weight: ws.edge(ws.float64, default=1.0, least=0.0)
    total: ws.in_weight
    sources: ws.vertex_value(ws.float64, default=math.nan)
    residual = max_norm("voltage")
    tol = 1e-6
    max_iter = 10_000

    def init(vertex, p, own):
        return own.sources if own.sources == own.sources else 0.0

    def compute(src, edge):
        return src.voltage * edge.weight

    combine = sum

    def apply(old, gathered):
        fixed = old.sources == old.sources or old.total == 0.0
        return old.voltage if fixed else gathered / old.total

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_finite("sources", graph, values["sources"])
        check_not_negative("total", graph, values["total"])
        total = values["total"]
        if len(total) and total.max() > GREATEST_TOTAL:
            vertex = int(total.argmax())
            raise InputError(
                f"the conductances into vertex {graph.describe(vertex)} add up to {float(total[vertex]):.6g}; "
                "scale them down: only their ratios matter"
            )


@algorithm(
    group="simulation",
    columns="vertex, voltage",
    example=lambda ids: {"sources": {ids[0]: 1.0, ids[1]: 0.0}},
    weights="read",
    note="Kirchhoff's law.",
)
@accepts_dask_frames
def circuit(
    graph: Graph[FrameT] | FrameT,
    sources: Any,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute voltages: V(v) = Σ g(u,v)·V(u) / Σ g(u,v), with source voltages fixed.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; weights are the conductances g, 0 or more (1 without
        weights). A network of resistors is undirected.
    sources : frame or mapping
        Vertices with a fixed voltage, and their voltages.
    tol : float
        The run ends when no voltage changes by more than this in a superstep.
    weight : str or None
        For an edge frame: the column of conductances; by default the column named `weight`, if there
        is one. None for no weights.

    Returns
    -------
    DataFrame
        vertex; voltage (float64; 0 if no source reaches the vertex). Sorted by vertex.

    Raises
    ------
    InputError
        If a conductance is negative, or a source vertex is unknown.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the voltages so far.

    Examples
    --------
    A battery of 9 volts, and resistors of 100 and 200 ohms in series:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> wires = pd.DataFrame({"source": ["plus", "middle"], "destination": ["middle", "minus"]})
    >>> wires["conductance"] = [1 / 100, 1 / 200]
    >>> ends = {"plus": 9.0, "minus": 0.0}
    >>> ws.circuit(wires, ends, weight="conductance", directed=False).voltage.round(3).tolist()
    [6.0, 0.0, 9.0]
    """
    result = run_on(
        Circuit,
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        sources=sources,
        tol=tol,
        max_iter=max_iter,
        **options,
    )
    return result.require_convergence("circuit").frame
