"""Eigenvector and Katz centrality: power iteration, as vertex programs; on undirected graphs Krylov spaces."""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.krylov import PrincipalVector
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    check_finite,
    check_not_negative,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_flag, check_number
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Result
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.decorator import aggregate, max_norm, vertex_program
from cugraph_ws.runtime.arrays import any_true

__all__ = [
    "EigenvectorCentrality",
    "KatzCentrality",
    "eigenvector_centrality",
    "katz_centrality",
]

GROWING = 16  # supersteps over which the growth of changes is measured


@vertex_program
class EigenvectorCentrality:
    """Principal eigenvector of the adjacency matrix A, by power iteration on A + I.

    A + I has the eigenvectors of A, and no other eigenvalue of the greatest absolute value: on a
    bipartite graph A alone would swing between two vectors.

    Examples
    --------
    A run of three supersteps writes a checkpoint, from which another goes on:

    >>> import tempfile
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> graph = ws.Graph(edges, directed=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/state.parquet"
    ...     first = ws.run(ws.EigenvectorCentrality, graph, max_iter=3, checkpoint=path)
    ...     result = ws.run(ws.EigenvectorCentrality, graph, resume=path)
    >>> first.converged, result.converged, result.iterations - len(result.trace)
    (False, True, 3)
    """

    eigenvector_centrality: ws.float64
    raw: ws.hidden(ws.float64)  # the next iterate, before it is scaled to length 1
    weight: ws.edge(ws.float64, default=1.0, least=0.0)
    nstart: ws.vertex_value(ws.float64, default=1.0)
    residual = max_norm("eigenvector_centrality")
    tol = 1e-6
    max_iter = 1000

    @aggregate
    def square(state):
        return state.raw * state.raw

    def init(vertex, p, own):
        return own.nstart, own.nstart

    def compute(src, edge):
        return src.raw * edge.weight

    combine = sum

    def apply(old, gathered, p):
        length = math.sqrt(p.square)
        return old.raw / length, (old.raw + gathered) / length

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_start(graph, values["nstart"])


@vertex_program
class KatzCentrality:
    """Weighted number of walks that end at every vertex: x = alpha A x + beta.

    Examples
    --------
    With `alpha=1`, in a graph without cycles, the number of walks that end at each vertex:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": list("aabc"), "destination": list("bcdd")})
    >>> result = ws.run(ws.KatzCentrality, edges, alpha=1.0)
    >>> result.frame.katz_centrality.tolist(), result.iterations
    ([1.0, 2.0, 2.0, 5.0], 4)
    """

    katz_centrality: ws.float64
    # What out-neighbours read.  On a GPU it is rounded as PageRank's messages are.
    sent: ws.hidden(ws.float64, on_gpu=ws.float32)
    weight: ws.edge(ws.float64, default=1.0, least=0.0)
    nstart: ws.vertex_value(ws.float64, default=0.0)
    alpha: ws.parameter(ws.float64)
    beta: ws.vertex_value(ws.float64, default=1.0)
    residual = max_norm("katz_centrality")
    tol = 1e-6
    max_iter = 1000

    def init(vertex, p, own):
        return own.nstart, own.nstart

    def compute(src, edge):
        return src.sent * edge.weight

    combine = sum

    def apply(old, gathered, p):
        value = p.alpha * gathered + old.beta
        return value, value

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_finite("nstart", graph, values["nstart"])
        check_finite("beta", graph, values["beta"])


def check_start(graph: GraphView, values: Any) -> None:
    """Refuse first values that are negative, not finite, or 0 for every vertex; collective.

    Parameters
    ----------
    graph : Graph
    values : ndarray of float64, shape (vertices,)
        Values by vertex; shorter if one entry holds for all.

    Raises
    ------
    InputError
    """
    check_finite("nstart", graph, values)
    check_not_negative("nstart", graph, values)
    if graph.number_of_vertices and not graph.any_rank(any_true(values > 0.0)):
        raise InputError("nstart is 0 for every vertex; give one of them more than 0")


@algorithm(
    group="centrality",
    columns="vertex, eigenvector_centrality",
    example={"tol": 0.1},
    weights="read",
    note="Power iteration, and Krylov spaces on undirected graphs; bipartite graphs too.",
)
@accepts_dask_frames
def eigenvector_centrality(
    graph: Graph[FrameT] | FrameT,
    max_iter: int = 1000,
    tol: float = 1e-6,
    *,
    nstart: Any = None,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute eigenvector centrality: a vertex's value is the scaled sum of its in-neighbours' values.

    On a directed graph this is power iteration, as in NetworkX on A + I, so it converges on bipartite
    graphs too; without cycles the only eigenvalue is 0, and it converges slowly.  On an undirected graph
    each superstep adds a vector to those whose best combination is the result: fewer supersteps for a
    smaller error.

    Parameters
    ----------
    tol : float
        The run ends when no value changes by more than this; on an undirected graph, when the square root
        of the sum of all squared changes is at most this.  Where that takes more than 64 supersteps, as on
        a large grid, it is enough that no value changes by more.
    nstart : frame, mapping, number or column name, optional
        First values, 0 or more; by default all equal.

    Returns
    -------
    DataFrame
        Columns `vertex` and `eigenvector_centrality` (float64, Euclidean norm 1).

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the values so far.

    References
    ----------
    .. [1] P. Bonacich, "Power and centrality: a family of measures", American Journal of Sociology
       92, 1987.
    .. [2] Y. Saad, "Numerical methods for large eigenvalue problems", 2011.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.eigenvector_centrality(edges, directed=False).eigenvector_centrality.round(3).tolist()
    [0.523, 0.523, 0.612, 0.282]
    """
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    first = 1.0 if nstart is None else nstart
    if opened.directed:
        result = run_on(
            EigenvectorCentrality, opened, nstart=first, max_iter=max_iter, tol=tol, **options
        )
    else:
        loop = PrincipalVector(EigenvectorCentrality, max_iter, tol, first)
        result = run_on(loop, opened, **options)
    return result.require_convergence("eigenvector_centrality").frame


@algorithm(
    group="centrality",
    columns="vertex, katz_centrality",
    weights="read",
    program=KatzCentrality,
)
@accepts_dask_frames
def katz_centrality(
    graph: Graph[FrameT] | FrameT,
    alpha: float | None = None,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Any = None,
    normalized: bool = True,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute Katz centrality: the solution of x(v) = alpha · Σ w(u,v)·x(u) + beta over in-edges (u,v).

    Parameters
    ----------
    alpha : float, optional
        Attenuation factor of each further edge of a walk.  The iteration converges if it is below
        the reciprocal of the greatest eigenvalue.  By default 1 / (1 + d), where d is the greatest
        in-degree or, with weights, the greatest sum of weights into a vertex.  cuGraph's 1 / d does
        not converge on regular graphs.
    beta : float, frame, mapping or column name
        The constant term of each vertex.
    tol : float
        The run ends when no value, before normalization, changes by more than this.
    nstart : frame, mapping, number or column name, optional
        First values; 0 if not given.
    normalized : bool
        Whether to scale the result to the Euclidean norm 1.

    Returns
    -------
    DataFrame
        Columns `vertex` and `katz_centrality` (float64).  On a GPU values are rounded to 24 bits
        (relative error 6e-8) before they are summed in float64, unless `tol` is below 1e-7.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the values so far, not
        normalized.

    References
    ----------
    .. [1] L. Katz, "A new status index derived from sociometric analysis", Psychometrika 18, 1953.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "b", "c"], "destination": ["b", "c", "d", "a"]})
    >>> ws.katz_centrality(edges, alpha=0.1).katz_centrality.round(3).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    check_flag("normalized", normalized)
    if alpha is not None:
        check_number("alpha", alpha, finite=True)
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    result = run_on(
        KatzCentrality,
        opened,
        alpha=default_alpha(opened) if alpha is None else alpha,
        beta=beta,
        nstart=0.0 if nstart is None else nstart,
        max_iter=max_iter,
        tol=tol,
        **options,
    )
    remedy = f"give an alpha below 1 / the greatest eigenvalue instead of {alpha}, or leave it out"
    growth = _growth(result.rows.residual)
    if alpha is not None and growth > 1.0 and result.stopped in ("max_iter", "timeout", "diverged"):
        remedy = (
            f"alpha={alpha!r} is above 1/λ: changes grow by a factor of {growth:.3g} in each superstep, "
            f"so the greatest eigenvalue λ is about {growth / alpha:.3g}; give an alpha below "
            f"{0.99 * alpha / growth:.3g}, or leave it out"
        )
        result = replace(result, stopped="diverged")
    result.require_convergence("katz_centrality", diverged=remedy)
    return (_scaled(result) if normalized else result).frame


def _growth(residuals: list[float]) -> float:
    """Return the factor by which residuals grew in each of the last supersteps; 1 if that is unknown.

    A change is alpha A times the one before, so the factor tends to alpha λ.  On a bipartite graph
    changes alternate, so an even number of supersteps is compared.
    """
    finite = [residual for residual in residuals if 0.0 < residual < math.inf]
    steps = min(GROWING, len(finite) - 1) // 2 * 2
    if steps < 4:
        return 1.0
    return math.exp((math.log(finite[-1]) - math.log(finite[-1 - steps])) / steps)


def default_alpha(graph: GraphView) -> float:
    """Return an `alpha` for which the iteration converges, whatever the eigenvalues; collective.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    float
        1 / (1 + d), where d is the greatest sum of weights into a vertex, an upper bound of all
        eigenvalues.
    """
    sums = graph.weight_sums(graph.weight, incoming=True)
    return 1.0 / (1.0 + float(graph.vertex_max(sums)))


def _scaled(result: Result[FrameT]) -> Result[FrameT]:
    """Return a result with its column scaled to length 1; collective."""
    values: Any = result.arrays["katz_centrality"]
    squares = result.graph.comm.allgather(float((values * values).sum()))
    length = math.sqrt(np.sum(squares))
    arrays = {**result.arrays, "katz_centrality": values / (length or 1.0)}
    return replace(result, arrays=arrays)
