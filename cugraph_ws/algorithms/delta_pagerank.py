"""PageRank by changes: a vertex sends its pending change if that is large enough.

After Zhang, Gao, Gao, Wang: Maiter, an asynchronous graph processing framework for delta-based
accumulative iterative computation (2014), in supersteps.
"""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

from typing import Any

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.pagerank import check_surfer
from cugraph_ws.arguments import check_number
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.decorator import vertex_program

__all__ = ["DeltaPageRank"]


@vertex_program
class DeltaPageRank:
    """PageRank up to a factor: divide by the sum. Changes not sent sum to `tolerance` at most.

    Restarts are uniform.  Vertices without out-edges send nothing.  In `pagerank` without
    `personalization` and `dangling` they spread their rank uniformly; this scales all ranks by one
    factor.

    Examples
    --------
    Divided by their sum, the ranks are those of `pagerank`; a greater tolerance needs fewer supersteps:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> result = ws.run(ws.DeltaPageRank, edges)
    >>> (result.frame.pagerank / result.frame.pagerank.sum()).round(3).tolist()
    [0.265, 0.308, 0.214, 0.214]
    >>> ws.run(ws.DeltaPageRank, edges, tolerance=0.01).iterations < result.iterations
    True
    """

    pagerank: ws.float64
    pending: ws.hidden(ws.float64)  # change not sent yet; above the limit, it has just been sent
    weight: ws.edge(ws.float64, default=1.0, least=0.0)
    out_weight: ws.Constant("out_weight")
    alpha: ws.parameter(ws.float64, default=0.85)
    tolerance: ws.parameter(ws.float64, default=1e-6)
    contributors = "active"

    def init(vertex, p):
        first = (1.0 - p.alpha) / p.number_of_vertices
        return first, first

    def starts(state, p):
        return state.pending > p.tolerance / p.number_of_vertices

    def compute(src, edge):
        return src.pending * edge.weight / src.out_weight if src.out_weight > 0.0 else 0.0

    combine = sum

    def apply(old, gathered, p):
        change = p.alpha * gathered
        untold = 0.0 if old.pending > p.tolerance / p.number_of_vertices else old.pending
        return old.pagerank + change, untold + change

    def active(old, new, p):
        return new.pending > p.tolerance / p.number_of_vertices

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_surfer(graph, values, "out_weight")
        check_number("tolerance", values["tolerance"], finite=True)
