"""PageRank by power iteration with pull: no atomics, one pass over the edges per superstep."""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_negative
from cugraph_ws.algorithms.pagerank_of_groups import PageRankOfGroups
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_flag, check_number
from cugraph_ws.errors import ConvergenceError, InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.decorator import aggregate, l1_norm, vertex_program
from cugraph_ws.program.linear import linear
from cugraph_ws.runtime.arrays import any_true

__all__ = ["PageRank", "pagerank"]

# Arguments with values of the graph's vertices, or about its supersteps; without them groups are computed together
OF_THE_GRAPH = ("personalization", "precomputed_vertex_out_weight", "nstart", "dangling", "plan")


def _shares(xp: Any, ranks: Any, constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of each vertex along an out-edge of weight 1, given its rank."""
    weights = constants["out_weight"]
    sends = weights > 0.0
    return {"share": xp.where(sends, ranks / xp.where(sends, weights, 1.0), 0.0)}


@vertex_program
class PageRank:
    """Fraction of the time that a random surfer spends at every vertex.

    Examples
    --------
    A run of two supersteps, and how much the second changed:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> result = ws.run(ws.PageRank, edges, alpha=0.5, max_iter=2)
    >>> result.frame.pagerank.round(3).tolist(), round(result.residual, 3), result.stopped
    ([0.262, 0.293, 0.223, 0.223], 0.039, 'max_iter')
    """

    pagerank: ws.float64
    # The message along an out-edge of weight 1.  On a GPU it is rounded to 24 bits (relative error
    # 6e-8) before it is summed in float64, which halves the bytes read per edge; not if `tol` is
    # below 1e-7.
    share: ws.hidden(ws.float64, on_gpu=ws.float32)
    weight: ws.edge(ws.float64, default=1.0, least=0.0)
    out_weight: ws.Constant("out_weight", argument="precomputed_vertex_out_weight")
    personalization: ws.distribution
    dangling: ws.Distribution(default="personalization")
    nstart: ws.distribution
    alpha: ws.parameter(ws.float64, default=0.85)
    residual = l1_norm("pagerank")
    extrapolation = linear("pagerank", _shares)
    tol = 1e-6
    max_iter = 100

    @aggregate
    def dangling_mass(state):
        return state.pagerank if state.out_weight == 0.0 else 0.0

    def init(vertex, p, own):
        return own.nstart, own.nstart / own.out_weight if own.out_weight > 0.0 else 0.0

    def compute(src, edge):
        return src.share * edge.weight

    combine = sum

    def apply(old, gathered, p):
        followed = gathered + p.dangling_mass * old.dangling
        rank = p.alpha * followed + (1.0 - p.alpha) * old.personalization
        return rank, rank / old.out_weight if old.out_weight > 0.0 else 0.0

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_surfer(graph, values, "precomputed_vertex_out_weight")


def check_surfer(graph: GraphView, values: Mapping[str, Any], argument: str) -> None:
    """Refuse an `alpha` that is no probability, and out-weights that ranks cannot be divided by.

    Parameters
    ----------
    graph : GraphView
    values : mapping of str to Any
        The bound `alpha`, and the `out_weight` of every vertex.
    argument : str
        The caller's name for out-weights, for errors.

    Raises
    ------
    InputError
    """
    if not 0.0 <= values["alpha"] <= 1.0:
        raise InputError(f"alpha={float(values['alpha'])!r} must be between 0 and 1")
    weights = values["out_weight"]
    low = weights < np.finfo(np.float64).tiny
    if not any_true(low & (weights != 0.0)):
        return
    tiny = low & (weights > 0.0)
    if any_true(tiny):
        raise InputError(
            f"the weights out of vertex {graph.describe(int(tiny.argmax()))} add up to "
            f"{float(weights[tiny.argmax()]):g}, too little to divide by; scale the weights up"
        )
    vertex = int(weights.argmin())
    raise InputError(
        f"{argument} has {float(weights[vertex]):g} for vertex {graph.describe(vertex)}; out-weights must be 0 or more"
    )


@algorithm(
    group="centrality",
    columns="vertex, pagerank",
    weights="read",
    program=PageRank,
    by_group=lambda arguments: all(arguments.get(name) is None for name in OF_THE_GRAPH),
)
@accepts_dask_frames
def pagerank(
    graph: Graph[FrameT] | FrameT,
    alpha: float = 0.85,
    personalization: Any = None,
    precomputed_vertex_out_weight: Any = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Any = None,
    dangling: Any = None,
    fail_on_nonconvergence: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the PageRank of every vertex.

    The run ends when the changes of all ranks in one superstep sum to `tol` or less (L1 norm).
    NetworkX ends at `n * tol`, so its 1e-6 is n times coarser.  The result differs from the exact
    ranks by at most `tol * alpha / (1 - alpha)` in L1 norm.

    Ranks may be extrapolated after every eighth superstep [1]_, which halves the supersteps on many
    social and road networks; `plan=ws.Plan(extrapolate="never")` forbids it.  By default this is done
    only if `tol` is above 0 and it is expected to save time; on a GPU not for small graphs.  The error
    bound holds in any case.

    Parameters
    ----------
    alpha : float
        Probability of following an edge, 0 to 1.
    personalization : frame, mapping or column name, optional
        Restart distribution: values by vertex, scaled to sum 1; uniform if not given.
    precomputed_vertex_out_weight : frame or mapping, optional
        Sum of each vertex's out-weights, instead of the graph's.  For vertices that are left out
        it is computed from the graph.
    tol : float
        Bound on the L1 norm of the change.
    nstart : frame, mapping or column name, optional
        Initial ranks, scaled to sum 1; uniform if not given.  The result for an earlier version of the
        graph saves supersteps.  Drop vertices from it that the graph no longer has; vertices that it
        lacks begin with 0.
    dangling : frame, mapping or column name, optional
        Distribution of the rank of vertices without out-edges; `personalization` if not given.
    fail_on_nonconvergence : bool
        Whether to raise if `max_iter` is reached first; otherwise the ranks so far are returned.

    Returns
    -------
    DataFrame
        vertex; pagerank (float64, sum 1). Sorted by vertex.

    Raises
    ------
    InputError
        If an argument is invalid.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the ranks so far.

    References
    ----------
    .. [1] S. D. Kamvar, T. H. Haveliwala, C. D. Manning and G. H. Golub, "Extrapolation methods for
       accelerating PageRank computations", WWW 2003.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> ws.pagerank(edges).pagerank.round(3).tolist()
    [0.265, 0.308, 0.214, 0.214]
    """
    check_flag("fail_on_nonconvergence", fail_on_nonconvergence)
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    if opened.groups:
        return _of_groups(opened, alpha, tol, max_iter, fail_on_nonconvergence, options)
    result = run_on(
        PageRank,
        opened,
        alpha=alpha,
        personalization=personalization,
        dangling=dangling,
        nstart=nstart,
        precomputed_vertex_out_weight=precomputed_vertex_out_weight,
        max_iter=max_iter,
        tol=tol,
        **options,
    )
    if fail_on_nonconvergence:
        result.require_convergence("pagerank")
    return result.frame


def _of_groups(
    graph: GraphView[FrameT],
    alpha: float,
    tol: float,
    max_iter: int,
    fail: bool,
    options: RunOptions,
) -> FrameT:
    """Return the ranks of every group, which sum to 1 in each."""
    check_number("alpha", alpha)
    loop = PageRankOfGroups(alpha, tol, max_iter)
    refuse_negative(graph)
    out_weight = graph.weight_sums(graph.weight, incoming=False)
    check_surfer(graph, {"alpha": alpha, "out_weight": out_weight}, "weight")
    result = run_on(loop, graph, **options)
    if not fail:
        return result.frame
    result.require_convergence("pagerank")
    if result.residual > tol:
        raise ConvergenceError(
            f"pagerank did not converge in all groups: stopped after max_iter={max_iter} supersteps, residual "
            f"{result.residual:.3g}; raise max_iter or tol, or take the error's .result",
            result,
        )
    return result.frame
