"""Minimum spanning forests by Borůvka's method: components merge along the lightest edge out of each.

Edges are ordered by weight, then by their place in the graph's edge frame, so the forest is unique.
An edge that is not in the forest of a subset of the edges is not in the forest of all edges.  So each
rank first finds the forest of its own edges, and then all ranks find the forest of these forests.
"""

from __future__ import annotations

from typing import Any, Unpack, cast

import numpy as np

from cugraph_ws.algorithms.blocks import Lower, spanning_forest
from cugraph_ws.algorithms.listed_edges import ListedEdges
from cugraph_ws.algorithms.neighbourhood import edge_frame
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_checkpoints
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.loop import Step
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.columns import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.ordered_words import GREATEST, ordered_words

__all__ = ["SpanningForest", "minimum_spanning_forest", "minimum_spanning_tree"]

Array = Any  # NumPy's or CuPy's
Ends = tuple[Array, Array]

LIGHT = 3  # light edges per vertex; their forest is found first
SAMPLED = 4096  # weights sampled to decide which edges are light


@accepts_dask_frames
def minimum_spanning_forest(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges of a minimum spanning forest: a tree of least total weight in every component.

    The direction of edges does not matter.  Of edges with equal weights the first in the graph's edge
    frame is taken, so the result is the same on any machine.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str or None
        Weight column of an edge frame; by default the column named `weight`, if there is one. None
        for no weights.  Weights may be negative.
    directed : bool
        Whether the edges of an edge frame are directed.
    **options
        engine, progress, timeout: see `run`; there are no checkpoints.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept, one fewer than vertices for each component.
        Sorted by destination, then source; an undirected edge from the vertex with the smaller id.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a checkpoint is requested.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] O. Borůvka, "O jistém problému minimálním", 1926.
    """
    frame, _ = _forest(
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        options,
    )
    return cast(FrameT, frame)


@accepts_dask_frames
def minimum_spanning_tree(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges of least total weight that connect all vertices.

    Like `minimum_spanning_forest`, for a connected graph.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame.
    source, destination : str or list of str
        Id columns of an edge frame.
    weight : str or None
        Weight column of an edge frame; by default the column named `weight`, if there is one. None
        for no weights.  Weights may be negative.
    directed : bool
        Whether the edges of an edge frame are directed.
    **options
        engine, progress, timeout: see `run`; there are no checkpoints.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept, one fewer than vertices.  Sorted by destination,
        then source; an undirected edge from the vertex with the smaller id.

    Raises
    ------
    InputError
        If the graph is not connected, the frame or an argument is invalid, or a checkpoint is
        requested.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] O. Borůvka, "O jistém problému minimálním", 1926.
    """
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    frame, edges = _forest(opened, options)
    trees = opened.number_of_vertices - edges
    if trees > 1:
        raise InputError(
            f"the graph has {trees:,} components and so no spanning tree; use minimum_spanning_forest"
        )
    return cast(FrameT, frame)


def _forest(graph: GraphView, options: RunOptions) -> tuple[Any, int]:
    """Return the frame of the forest, and its number of edges; collective."""
    refuse_checkpoints(options, "spanning trees have")
    graph.check_edge_names()
    part, chosen, edges = SpanningForest().found(graph, SpanningForest.name, options)
    return edge_frame(part, chosen, {}), edges


class SpanningForest(ListedEdges):
    """The algorithm as a loop for `run`, with a single step."""

    name = "minimum_spanning_forest"
    reads_weights = True

    def step(self) -> Step:
        """Find the forest."""
        part, xp = self.near.part, self.near.xp
        arcs, tail, head, one, other = self.edges_once()
        weight = self._weights()[arcs]
        mine = lightest_forest(xp, part.size, (tail, head), (one, other), weight, self.lower)
        if not part.halo.alone:
            mine = mine[self._together(one[mine], other[mine], weight[mine])]
        return self.end(arcs[mine], count=len(mine))

    def _weights(self) -> Array:
        """Return the weight of each arc, ones without weights."""
        part, name = self.near.part, self.near.part.graph.weight
        if name is None:
            return self.near.xp.zeros(len(part.csc.indices), np.int64)
        values = part.arc_values(name)
        return values if values.dtype.kind == "i" else values.astype(np.float64)

    def _together(self, one: Array, other: Array, weight: Array) -> Array:
        """Return which of this rank's edges are in the forest of all ranks' edges; collective."""
        xp, n = self.near.xp, self.near.part.graph.number_of_vertices
        (ones, others, weights), first = self.of_all_ranks(one, other, weight)
        ends = ones, others
        chosen = xp.zeros(len(ones), np.bool_)
        chosen[lightest_forest(xp, n, ends, ends, weights, self.lower)] = True
        return chosen[first : first + len(one)]


def lightest_forest(
    xp: Any, size: int, ends: Ends, numbers: Ends, weight: Array, lower: Lower
) -> Array:
    """Return the indices of the edges of the minimum spanning forest.

    If there are many edges, the forest of the lightest ones is found first.  Only edges between
    different trees of it are then sorted (Osipov, Sanders and Singler, "The filter-Kruskal minimum
    spanning tree algorithm", ALENEX 2009).

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    size : int
        Number of vertices.
    ends : two arrays of int64, shape (edges,)
        Positions of the ends, below `size`.
    numbers : two arrays of int64, shape (edges,)
        Vertex numbers of the ends, which order edges of the same weight.
    weight : array of int64 or float64, shape (edges,)
    lower : callable
        As for `spanning_forest`.
    """
    light = _lightest(xp, weight, LIGHT * size)
    places, rest = xp.flatnonzero(light), xp.flatnonzero(~light)
    near, far = (one[places] for one in ends)
    chosen = []
    while True:
        order = _order(xp, numbers[0][places], numbers[1][places], weight[places])
        found, label = spanning_forest(xp, size, near[order], far[order], lower)
        chosen.append(places[order[found]])
        if not len(rest):
            return xp.concatenate(chosen)
        near, far = (label[one[rest]] for one in ends)
        joins = near != far
        places, near, far = rest[joins], near[joins], far[joins]
        rest = rest[:0]


def _lightest(xp: Any, weight: Array, wanted: int) -> Array:
    """Return which edges are light: about `wanted`, or all edges if these are not many more."""
    count = len(weight)
    if count <= 2 * wanted:
        return xp.ones(count, np.bool_)
    sample = xp.sort(weight[:: max(1, count // SAMPLED)])
    light = weight <= sample[len(sample) * wanted // count]
    few = (
        2 * int(xp.count_nonzero(light)) <= count
    )  # not if many have the same weight, or it is NaN
    return light if few else xp.ones(count, np.bool_)


def _order(xp: Any, one: Array, other: Array, weight: Array) -> Array:
    """Return the order of edges by weight, then by `other`, `one` and index."""
    if not len(one):
        return xp.arange(0)
    order = xp.argsort(other * (int(one.max()) + 1) + one, kind="stable")
    return order[xp.argsort(_words(xp, weight)[order], kind="stable")]


def _words(xp: Any, weight: Array) -> Array:
    """Return an int64 for each weight that compares like it, NaN last, for radix sorts."""
    if weight.dtype.kind == "i":
        return weight
    return xp.where(xp.isnan(weight), GREATEST, ordered_words(weight + 0.0))  # no -0.0
