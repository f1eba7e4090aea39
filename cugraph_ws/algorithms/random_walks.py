"""Random walks: each step takes a random out-edge, or one that the vertex before makes likely (node2vec)."""

from __future__ import annotations

from typing import Any, Unpack

from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_checkpoints
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.arguments import check_number
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.program.walk_program import walk

__all__ = ["node2vec_walks", "random_walks"]


@walk
def uniform(walker, edges):  # type: ignore[no-untyped-def]
    """Take any edge."""
    return walker.random_integer(len(edges))


@walk
def weighted(walker, edges):  # type: ignore[no-untyped-def]
    """Take an edge in proportion to its weight."""
    return walker.random_edge(edges.weight)


def _bias(step: int, returns: bool, closes: bool, p: float, q: float) -> float:
    """Return how likely an edge is: back, to a neighbour of the vertex before, or away from it."""
    bias = 1.0 / q
    if step == 0:
        bias = max(1.0, 1.0 / p, 1.0 / q)
    elif returns:
        bias = 1.0 / p
    elif closes:
        bias = 1.0
    return bias


@walk
def node2vec(walker, edges, p=1.0, q=1.0):  # type: ignore[no-untyped-def]
    """Draw edges until one is accepted, with a probability in proportion to its bias."""
    while True:
        place = walker.random_integer(len(edges))
        vertex = edges[place].dst
        closes = walker.has_edge(walker.previous, vertex)
        bias = _bias(walker.step, vertex == walker.previous, closes, p, q)
        if walker.random() * max(1.0, 1.0 / p, 1.0 / q) < bias:
            return place


@walk
def weighted_node2vec(walker, edges, p=1.0, q=1.0):  # type: ignore[no-untyped-def]
    """Do the same, drawing edges in proportion to their weights."""
    while True:
        place = walker.random_edge(edges.weight)
        if place < 0:
            return -1
        vertex = edges[place].dst
        closes = walker.has_edge(walker.previous, vertex)
        bias = _bias(walker.step, vertex == walker.previous, closes, p, q)
        if walker.random() * max(1.0, 1.0 / p, 1.0 / q) < bias:
            return place


@algorithm(
    group="paths",
    columns="walk, step, vertex",
    weights="read",
    checkpoints="nowhere",
    example=lambda ids: {"starts": [*ids[:4], *ids[:4]], "length": 4},
    note="Uniform, or in proportion to weights.",
)
@accepts_dask_frames
def random_walks(
    graph: Graph[FrameT] | FrameT,
    starts: Any,
    length: int,
    *,
    seed: int = 0,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Walk from vertices at random: each step takes an out-edge, in proportion to its weight.

    Without weights, all out-edges of a vertex are equally likely.  A walk ends after `length` steps, or at a
    vertex without out-edges of a weight above 0.

    Parameters
    ----------
    starts : list, array or frame of ids, or None
        Where walks begin, one for each; an id that is repeated begins several.  None for one walk from
        each vertex.
    length : int
        Most steps of a walk, which then has `length + 1` vertices.
    seed : int
        The same seed gives the same walks on any machine.

    Returns
    -------
    DataFrame
        Columns `walk` (the place of its start in `starts`), `step` (from 0) and `vertex`, sorted by walk and
        step.  If no walk ends early, ``frame["vertex"].to_numpy().reshape(-1, length + 1)`` is the matrix of
        walks; otherwise `frame.pivot(index="walk", columns="step", values="vertex")` has nulls.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a start is no vertex, a weight is negative or not finite, or
        the graph is spread over several workers.
    ConvergenceError
        If the run is stopped early; `.result` has the walks so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> ring = pd.DataFrame({"source": list("abc"), "destination": list("bca")})
    >>> ws.random_walks(ring, ["a", "c"], 2).to_dict("list")
    {'walk': [0, 0, 0, 1, 1, 1], 'step': [0, 1, 2, 0, 1, 2], 'vertex': ['a', 'b', 'c', 'c', 'a', 'b']}
    """
    refuse_checkpoints(options, "random_walks has")
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed, weighted=True
    )  # fmt: skip
    chosen = uniform if opened.weight is None else weighted
    result = run_on(chosen, opened, starts=starts, length=length, seed=seed, **options)
    return result.require_convergence("random_walks").frame


@algorithm(
    group="paths",
    columns="walk, step, vertex",
    weights="read",
    checkpoints="nowhere",
    example=lambda ids: {"starts": [*ids[:4], *ids[:4]], "length": 4, "p": 0.5, "q": 2.0},
    note="Of second order, for embeddings.",
)
@accepts_dask_frames
def node2vec_walks(
    graph: Graph[FrameT] | FrameT,
    starts: Any,
    length: int,
    p: float = 1.0,
    q: float = 1.0,
    *,
    seed: int = 0,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Walk at random, with a bias that depends on the vertex before, as node2vec does.

    An edge from v is taken in proportion to its weight (1 without weights) times its bias: 1/p if it leads
    back to the vertex before v, 1 if it leads to an out-neighbour of that vertex, and 1/q otherwise.  The
    first step has no bias.

    Parameters
    ----------
    starts : list, array or frame of ids, or None
        Where walks begin, one for each; None for one walk from each vertex.
    length : int
        Most steps of a walk.
    p, q : float
        Above 0.  A small p keeps walks near their starts, a small q drives them away.
    seed : int
        The same seed gives the same walks on any machine.

    Returns
    -------
    DataFrame
        As from `random_walks`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a start is no vertex, a weight is negative or not finite, or
        the graph is spread over several workers.
    ConvergenceError
        If the run is stopped early; `.result` has the walks so far.

    Notes
    -----
    Edges are drawn without the bias until one is accepted, so a step takes about
    max(1, 1/p, 1/q) / min(1, 1/p, 1/q) draws at worst, each with a binary search, and no tables by edge.

    References
    ----------
    .. [1] A. Grover and J. Leskovec, "node2vec: scalable feature learning for networks", KDD 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> path = pd.DataFrame({"source": list("abc"), "destination": list("bcd")})
    >>> ws.node2vec_walks(path, ["a"], 5, p=0.25, q=4.0).vertex.tolist()
    ['a', 'b', 'c', 'd']
    """
    refuse_checkpoints(options, "node2vec_walks has")
    for name, value in (("p", p), ("q", q)):
        check_number(name, value, positive=True, finite=True)
    opened = as_graph(
        graph, source=source, destination=destination, weight=weight, directed=directed, weighted=True
    )  # fmt: skip
    chosen = node2vec if opened.weight is None else weighted_node2vec
    result = run_on(
        chosen, opened, starts=starts, length=length, seed=seed, p=float(p), q=float(q), **options
    )
    return result.require_convergence("node2vec_walks").frame
