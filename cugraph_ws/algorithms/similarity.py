"""Similarity of pairs of vertices by their common neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    refuse_great,
    refuse_negative,
)
from cugraph_ws.arguments import check_choice, check_flag, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.loop import BaseLoop, Column, Step
from cugraph_ws.execution.run import run
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.columns import AUTO, is_auto
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.vertices import PAIR
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.neighbourhoods import (
    Neighbourhoods,
    NeighbourRows,
    batches,
    neighbourhoods,
    row_numbers,
)
from cugraph_ws.partition.oriented import Oriented, oriented
from cugraph_ws.runtime.bins import bin_sums
from cugraph_ws.runtime.device import as_host
from cugraph_ws.runtime.saved_state import SavedState

__all__ = [
    "Measure",
    "Similarity",
    "adamic_adar",
    "cosine",
    "jaccard",
    "overlap",
    "sorensen",
]

Array = Any  # NumPy's or CuPy's
Measure = Literal["jaccard", "overlap", "sorensen", "cosine", "adamic_adar"]

ARCS_A_STEP = 1 << 25  # most arcs in the rows of a batch of pairs; checkpoints count batches
TOGETHER = 256  # batches in a step on a single GPU: ten milliseconds

# Scores from the sum over common neighbours and the sums of both vertices: numerator and denominator.
# Without common neighbours a score is 0, whatever the sums are.
SCORES: dict[str, Callable[[Any, Array, Array, Array], tuple[Array, Array]]] = {
    "jaccard": lambda xp, common, one, other: (common, one + other - common),
    "overlap": lambda xp, common, one, other: (common, xp.minimum(one, other)),
    "sorensen": lambda xp, common, one, other: (2 * common, one + other),
    "cosine": lambda xp, common, one, other: (common, xp.sqrt(one * other)),
    "adamic_adar": lambda xp, common, one, other: (common, xp.ones(len(common))),
}


@accepts_dask_frames
def jaccard(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute Jaccard's coefficient of pairs of vertices.

    It is the number of common neighbours, divided by the number of neighbours of either vertex.  With
    weights, the two edges to each neighbour of either vertex are compared: it is the sum of the
    smaller weights, divided by the sum of the greater ones; a missing edge has weight 0.

    The direction of edges does not matter.  Parallel edges, and edges in both directions between
    two vertices, count once, with the sum of their weights; self-loops do not count.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    vertex_pair : DataFrame or "edges", optional
        The pairs, with ids in columns `first` and `second` (`first_a`, `first_b` and so on for ids
        of several columns); or "edges" for all pairs of neighbours.  By default all pairs of
        vertices with a common neighbour.
    use_weight : bool
        Whether to use the weights of edges, which must not be negative.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; by default the column named `weight`, if there is one;
        ignored unless `use_weight`.
    directed : bool
        How an edge frame is read; it does not change the result.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.  On a cluster, a run has no
        checkpoints.

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `jaccard_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.
    """
    return _similarity(
        "jaccard", graph, vertex_pair, use_weight, source, destination, weight, directed, options
    )


@accepts_dask_frames
def overlap(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the overlap coefficient of pairs of vertices.

    It is the number of common neighbours, divided by the smaller number of neighbours.  With weights it
    is the sum of the smaller weights of the edges to each common neighbour, divided by the
    smaller sum of weights.

    The direction of edges does not matter.  Parallel edges, and edges in both directions between
    two vertices, count once, with the sum of their weights; self-loops do not count.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    vertex_pair : DataFrame or "edges", optional
        The pairs, with ids in columns `first` and `second` (`first_a`, `first_b` and so on for ids
        of several columns); or "edges" for all pairs of neighbours.  By default all pairs of
        vertices with a common neighbour.
    use_weight : bool
        Whether to use the weights of edges, which must not be negative.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; by default the column named `weight`, if there is one;
        ignored unless `use_weight`.
    directed : bool
        How an edge frame is read; it does not change the result.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.  On a cluster, a run has no
        checkpoints.

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `overlap_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.
    """
    return _similarity(
        "overlap", graph, vertex_pair, use_weight, source, destination, weight, directed, options
    )


@accepts_dask_frames
def sorensen(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute Sørensen's coefficient of pairs of vertices.

    It is twice the number of common neighbours, divided by the sum of the numbers of neighbours.  With
    weights it is twice the sum of the smaller weights of the edges to each common neighbour,
    divided by the sum of all weights of both.

    The direction of edges does not matter.  Parallel edges, and edges in both directions between
    two vertices, count once, with the sum of their weights; self-loops do not count.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    vertex_pair : DataFrame or "edges", optional
        The pairs, with ids in columns `first` and `second` (`first_a`, `first_b` and so on for ids
        of several columns); or "edges" for all pairs of neighbours.  By default all pairs of
        vertices with a common neighbour.
    use_weight : bool
        Whether to use the weights of edges, which must not be negative.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; by default the column named `weight`, if there is one;
        ignored unless `use_weight`.
    directed : bool
        How an edge frame is read; it does not change the result.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.  On a cluster, a run has no
        checkpoints.

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `sorensen_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.
    """
    return _similarity(
        "sorensen", graph, vertex_pair, use_weight, source, destination, weight, directed, options
    )


@accepts_dask_frames
def cosine(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the cosine similarity of pairs of vertices.

    It is the cosine between the rows of the adjacency matrix: the number of common neighbours, divided
    by the square root of the product of the numbers of neighbours.  With weights, the rows are
    those of the weights.

    The direction of edges does not matter.  Parallel edges, and edges in both directions between
    two vertices, count once, with the sum of their weights; self-loops do not count.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    vertex_pair : DataFrame or "edges", optional
        The pairs, with ids in columns `first` and `second` (`first_a`, `first_b` and so on for ids
        of several columns); or "edges" for all pairs of neighbours.  By default all pairs of
        vertices with a common neighbour.
    use_weight : bool
        Whether to use the weights of edges, which must not be negative.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; by default the column named `weight`, if there is one;
        ignored unless `use_weight`.
    directed : bool
        How an edge frame is read; it does not change the result.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.  On a cluster, a run has no
        checkpoints.

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `cosine_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.
    """
    return _similarity(
        "cosine", graph, vertex_pair, use_weight, source, destination, weight, directed, options
    )


@accepts_dask_frames
def adamic_adar(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute the Adamic-Adar index of pairs of vertices.

    It is the sum of 1 / log(degree) over the common neighbours, where the degree is the number of
    distinct neighbours.  A neighbour of degree 1, common only to a vertex and itself, counts 0.

    The direction of edges does not matter.  Parallel edges, and edges in both directions between
    two vertices, count once; self-loops do not count.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    vertex_pair : DataFrame or "edges", optional
        The pairs, with ids in columns `first` and `second` (`first_a`, `first_b` and so on for ids
        of several columns); or "edges" for all pairs of neighbours.  By default all pairs of
        vertices with a common neighbour.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str, optional
        Weight column of an edge frame; by default the column named `weight`, if there is one; ignored.
    directed : bool
        How an edge frame is read; it does not change the result.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.  On a cluster, a run has no
        checkpoints.

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `adamic_adar_coeff`, float64.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.

    References
    ----------
    .. [1] L. A. Adamic and E. Adar, "Friends and neighbors on the Web", Social Networks, 2003.
    """
    return _similarity(
        "adamic_adar", graph, vertex_pair, False, source, destination, weight, directed, options
    )


def _similarity(
    measure: Measure,
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any,
    use_weight: bool,
    source: Columns,
    destination: Columns,
    weight: Weight,
    directed: bool,
    options: RunOptions,
) -> FrameT:
    """Run a measure, with the arguments of its function."""
    loop = Similarity(measure, vertex_pair, use_weight)
    if is_auto(weight) and not use_weight:
        weight = None
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=use_weight,
    )
    return run(loop, opened, **options).require_convergence(measure).frame


class Similarity(BaseLoop):
    """The measures as a loop for `run`: each step computes the next pairs.

    Ranks fetch the rows of the vertices of a step's pairs; the number of fetched arcs is bounded.

    Parameters
    ----------
    measure : {"jaccard", "overlap", "sorensen", "cosine", "adamic_adar"}
    vertex_pair : DataFrame or "edges", optional
        See `jaccard`.
    use_weight : bool
    """

    checkpoints = "on one machine"
    ends_within_steps = True
    by_vertex = False
    _scale = 1.0  # of weights
    _oriented: Oriented | None = None  # if the pairs are all edges, and neighbours are counted

    def __init__(self, measure: Measure, vertex_pair: Any = None, use_weight: bool = False) -> None:
        check_choice("measure", measure, get_args(Measure))
        check_flag("use_weight", use_weight)
        if use_weight and measure == "adamic_adar":
            raise InputError("use_weight=True: adamic_adar does not use weights; leave it out")
        if isinstance(vertex_pair, str) and vertex_pair != "edges":
            raise InputError(
                f"vertex_pair={shown(vertex_pair)}: give a frame with columns `first` and `second`, "
                "'edges', or None for all pairs with a common neighbour"
            )
        self.name, self._measure = f"{measure}", measure
        self._given, self._use_weight = vertex_pair, use_weight

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Find the neighbours, and number the pairs."""
        if self._use_weight:
            self._scale = _check_weights(graph)
        weight = graph.weight if self._use_weight else None
        self._fold = loops("similarity", on_device=on_device).fold
        given = neighbourhoods(graph, on_device=on_device, weight=weight)
        xp = given.xp
        values, self._sums, self._kind = self._prepare(given)
        rows = NeighbourRows(given.rows.offsets, given.rows.indices, values)
        self._near = near = replace(given, rows=rows)
        if self._given is None:
            pairs = near.two_hop_pairs()
        elif isinstance(self._given, str):
            pairs = near.edges()
            if self._kind == "count":  # every triangle counts for three pairs
                self._oriented = oriented(graph, on_device=on_device)
                self._lister = loops("triangles", on_device=on_device).Lister(self._oriented)
        else:
            named = graph.vertex_pairs(self._given, "vertex_pair")
            pairs = tuple(xp.asarray(end if on_device else as_host(end)) for end in named)
        self._pairs = tuple(end.astype(np.int64) for end in pairs)
        degrees = near.rows.degrees
        self._bounds = [(0, len(self._pairs[0]))]  # all edges are done at once
        if self._oriented is None:
            lengths = sum(self._read(degrees, end) for end in self._pairs)
            if not len(lengths) or int(lengths.sum()) > ARCS_A_STEP:
                self._bounds = batches(lengths, ARCS_A_STEP)
        # A GPU that has all rows fetches none, and finishes one batch before the next could be launched.
        self._together = TOGETHER if on_device and near.halo.alone else 1
        steps = max(near.halo.comm.allgather(len(self._bounds)))
        last = len(self._pairs[0])
        self._bounds += [(last, last)] * (steps - len(self._bounds))
        self._scores = xp.zeros(last, np.float64)
        self._done = 0

    @property
    def converged(self) -> bool:
        """Whether all pairs are computed."""
        return self._done >= len(self._bounds)

    def step(self) -> Step:
        """Compute the next pairs."""
        near, xp = self._near, self._near.xp
        end = min(self._done + self._together, len(self._bounds))
        some = slice(self._bounds[self._done][0], self._bounds[end - 1][1])
        ends = [end[some] for end in self._pairs]
        if self._oriented is not None:
            counts, arcs = self._oriented.common_neighbours(self._lister)
            common = counts.astype(np.float64)
        else:
            rows, which = near.of_distinct(xp.concatenate(ends))
            count = len(ends[0])
            common = self._fold(rows, which[:count], which[count:], self._kind)
            arcs = int((rows.offsets[which + 1] - rows.offsets[which]).sum())
        over, under = SCORES[self._measure](xp, common, *(self._read(self._sums, e) for e in ends))
        self._scores[some] = xp.where(over > 0, over / xp.where(under > 0, under, 1), 0)
        self._done = end
        left, read, sent = near.halo.totals(len(self._scores) - some.stop, arcs)
        return Step(left, read, direction="intersect", filter="list", bytes_sent=sent)

    def _prepare(self, near: Neighbourhoods) -> tuple[Array, Array, str]:
        """Return the values of the rows, each vertex's sum, and how neighbours are summed; collective."""
        self._near = near
        xp, rows = near.xp, near.rows
        degrees = rows.degrees.astype(np.float64)
        if self._measure == "adamic_adar":
            others = self._read(rows.degrees, rows.indices.astype(np.int64))
            shares = 1 / xp.log(xp.maximum(others, 2).astype(np.float64))
            shares = xp.where(others > 1, shares, 0)  # with one neighbour it is common to no pair
            return shares, degrees, "least"
        if not self._use_weight:
            return None, degrees, "count"
        squared, weights = self._measure == "cosine", rows.values
        if squared:  # scaled by a power of two, which changes no bit, so that no product overflows
            weights = weights * self._scale
        values = weights * weights if squared else weights
        owners = row_numbers(xp, rows.offsets, len(rows.indices))
        sums = bin_sums(owners, values, near.owned)
        return weights, sums, "product" if squared else "least"

    def _read(self, column: Array, numbers: Array) -> Array:
        """Return entries of a column by owned vertex at any vertices; collective."""
        return self._near.halo.fetch(column, numbers)

    def inputs(self) -> dict[str, Any]:
        """Return the pairs, the measure, and the weights that are read."""
        pairs = {name: as_host(end) for name, end in zip(PAIR, self._pairs, strict=True)}
        weights = {} if not self._use_weight else {"weight": as_host(self._sums)}
        return {"measure": self._measure, **pairs, **weights}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the scores so far, and the number of steps done."""
        return {"scores": as_host(self._scores), "done": np.array([self._done])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        state.floats("scores", len(self._scores), 0)
        state.number("done", 0, len(self._bounds))

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume after some pairs."""
        self._done = int(state["done"][0])
        self._scores = self._near.xp.asarray(state["scores"].astype(np.float64))

    def columns(self) -> dict[str, Column]:
        """Return one row for each pair that is computed."""
        done = self._bounds[self._done - 1][1] if self._done else 0
        ends = {
            name: VertexNumbers(end[:done]) for name, end in zip(PAIR, self._pairs, strict=True)
        }
        return {**ends, f"{self._measure}_coeff": self._scores[:done]}


def _check_weights(graph: GraphView) -> float:
    """Refuse a graph without weights, or with a negative one; collective.

    Returns
    -------
    float
        A power of two by which the greatest weight is about 1.
    """
    if graph.weight is None:
        raise InputError(
            "use_weight=True: the graph has no weights; give the column in weight=, or to Graph(...)"
        )
    refuse_negative(graph, "similarity needs weights of 0 or more")
    greatest = refuse_great(graph, 4.0 * graph.number_of_arcs)
    exponent = 0 if greatest is None else math.frexp(greatest)[1]
    return math.ldexp(1.0, min(-exponent, 1023))
