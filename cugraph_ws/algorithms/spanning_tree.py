"""Minimum and maximum spanning forests by Borůvka's method: components merge along the lightest edge out of each.

Edges are ordered by weight, then by their place in the graph's edge frame, so the forest is unique.
On the CPU each step is over whole arrays, on a GPU all rounds are one launch.
An edge that is not in the forest of a subset of the edges is not in the forest of all edges.  So each
rank first finds the forest of its own edges, and then all ranks find the forest of these forests.
"""

from __future__ import annotations

from typing import Any, Unpack, cast

import numpy as np

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.listed_edges import ListedEdges
from cugraph_ws.algorithms.neighbourhood import frame_of_arcs
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, refuse_checkpoints
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.backends import loops
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.looks import awaited, look
from cugraph_ws.runtime.ordered_words import weight_words

__all__ = [
    "SpanningForest",
    "maximum_spanning_forest",
    "minimum_spanning_forest",
    "minimum_spanning_tree",
]

Array = Any  # NumPy's or CuPy's
Ends = tuple[Array, Array]

LIGHT = 3  # light edges per vertex; their forest is found first
SAMPLED = 4096  # weights sampled to decide which edges are light


@algorithm(
    group="structure",
    columns="edges",
    weights="read",
    checkpoints="nowhere",
    note="Of equal weights, the first edge is taken.",
    by_group=True,
)
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
    weight : str or None
        Weight column of an edge frame; by default the column named `weight`, if there is one. None
        for no weights.  Weights may be negative.

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

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame(
    ...     {"source": ["a", "b", "a"], "destination": ["b", "c", "c"], "weight": [1.0, 2.0, 5.0]}
    ... )
    >>> ws.minimum_spanning_forest(edges, directed=False).weight.tolist()
    [1.0, 2.0]
    """
    return _forest(SpanningForest(), graph, source, destination, weight, directed, options)


@algorithm(
    group="structure",
    columns="edges",
    weights="read",
    checkpoints="nowhere",
    note="Of equal weights, the first edge is taken.",
    by_group=True,
)
@accepts_dask_frames
def maximum_spanning_forest(
    graph: Graph[FrameT] | FrameT,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Return the edges of a maximum spanning forest: a tree of greatest total weight in every component.

    The direction of edges does not matter.  Of edges with equal weights the first in the graph's edge
    frame is taken, so the result is the same on any machine.

    Parameters
    ----------
    weight : str or None
        Weight column of an edge frame; by default the column named `weight`, if there is one. None
        for no weights.  Weights may be negative, and integers are compared exactly.

    Returns
    -------
    DataFrame
        As returned by `minimum_spanning_forest`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a checkpoint is requested.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] O. Borůvka, "O jistém problému minimálním", 1926.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = {"source": [0, 0, 1], "destination": [1, 2, 2], "weight": [3, 1, 2]}
    >>> ws.maximum_spanning_forest(pd.DataFrame(edges)).weight.tolist()
    [3, 2]
    """
    loop = SpanningForest(greatest=True)
    return _forest(loop, graph, source, destination, weight, directed, options)


@algorithm(
    group="structure",
    columns="edges",
    weights="read",
    checkpoints="nowhere",
    note="A forest if the graph is not connected.",
)
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

    If the graph is not connected, they are those of `minimum_spanning_forest`, as in cuGraph and NetworkX.

    Parameters
    ----------
    weight : str or None
        Weight column of an edge frame; by default the column named `weight`, if there is one. None
        for no weights.  Weights may be negative.

    Returns
    -------
    DataFrame
        As returned by `minimum_spanning_forest`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a checkpoint is requested.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] O. Borůvka, "O jistém problému minimálním", 1926.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame(
    ...     {"source": ["a", "b", "a"], "destination": ["b", "c", "c"], "weight": [1.0, 2.0, 5.0]}
    ... )
    >>> ws.minimum_spanning_tree(edges, directed=False).weight.tolist()
    [1.0, 2.0]
    """
    return minimum_spanning_forest(
        graph, source=source, destination=destination, weight=weight, directed=directed, **options
    )


def _forest(
    loop: SpanningForest,
    graph: Graph[FrameT] | FrameT,
    source: Columns,
    destination: Columns,
    weight: Weight,
    directed: bool,
    options: RunOptions,
) -> FrameT:
    """Run the loop, and return its edges."""
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=True,
    )
    refuse_checkpoints(options, "spanning trees have")
    opened.check_edge_names()
    part, arcs, tails, heads, _ = loop.found(opened, loop.name, options)
    return cast(FrameT, frame_of_arcs(part, arcs, tails, heads, {}))


class SpanningForest(ListedEdges):
    """The algorithm as a loop for `run`, with a single step.

    The result has the ends of the forest's edges, sorted by destination, then source.

    Parameters
    ----------
    greatest : bool
        Whether edges are ordered by falling weight.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> roads = {"source": ["a", "a", "b"], "destination": ["b", "c", "c"], "weight": [3, 1, 2]}
    >>> result = ws.run(ws.SpanningForest(), pd.DataFrame(roads), directed=False)
    >>> result.frame.values.tolist(), result.iterations
    ([['a', 'c'], ['b', 'c']], 1)
    """

    by_vertex = False
    reads_weights = True

    def __init__(self, *, greatest: bool = False) -> None:
        self.name = "maximum_spanning_forest" if greatest else "minimum_spanning_forest"
        self._greatest = greatest

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        alone = sizes.whole and not sizes.on_device
        return ROWS["forest on one CPU" if alone else self.name].of(sizes)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read the edges; on a GPU they are listed by the kernels."""
        super().start(graph, on_device=on_device)
        self._loops: Any = loops("spanning_tree", on_device=True) if on_device else None
        nothing = self.near.xp.empty(0, np.int64)
        self._ends = nothing, nothing  # vertex numbers of the forest's edges on this rank

    @property
    def rows_by(self) -> tuple[str, bool]:
        """The destinations, whose owners have the edges."""
        return self.near.part.graph.end_names[1], False

    def columns(self) -> dict[str, Column]:
        """Return the ends of the edges; nothing if a function lists them, in the order of the graph's arcs."""
        if self._finish is not None:
            return {}
        graph, (tails, heads) = self.near.part.graph, self._ends
        order = self.near.xp.argsort(heads * graph.number_of_vertices + tails)
        ends = zip(graph.end_names, (tails, heads), strict=True)
        return {name: VertexNumbers(end[order]) for name, end in ends}

    def step(self) -> Step:
        """Find the forest."""
        part = self.near.part
        arcs, tails, heads, words = self._own_forest()
        if not part.halo.alone:
            mine = self._together(tails, heads, words)
            arcs, tails, heads = arcs[mine], tails[mine], heads[mine]
        self._ends = tails, heads
        return self.end(arcs, tails, heads, count=len(arcs))

    def _own_forest(self) -> tuple[Array, Array, Array, Array]:
        """Return the forest of this rank's edges: arcs, numbers of both ends, and weights as words."""
        part, xp = self.near.part, self.near.xp
        name = part.graph.weight
        if part.on_device and not self._greatest:
            return cast("tuple[Array, Array, Array, Array]", self._loops.forest_of_part(part, name))
        arcs, tail, head, tails, heads = self.edges_once()
        if name is None:
            weight = xp.zeros(len(arcs), np.int64)
        else:
            weight = part.arc_values(name)[arcs]
        if self._greatest and name is not None:
            weight = ~weight_words(weight)  # falling, and exact: -w would overflow
        if part.on_device:
            vertices = part.graph.number_of_vertices
            mine = xp.sort(self._loops.forest_of_edges(vertices, tails, heads, weight))
        else:
            # On a whole graph edges are in the order of their keys.
            numbers = None if part.numbers_are_positions else (tails, heads)
            mine = xp.sort(lightest_forest(part.size, (tail, head), numbers, weight))
        return arcs[mine], tails[mine], heads[mine], weight_words(weight[mine])

    def _together(self, tails: Array, heads: Array, words: Array) -> Array:
        """Return which of this rank's edges are in the forest of all ranks' edges; collective."""
        part, xp, n = self.near.part, self.near.xp, self.near.part.graph.number_of_vertices
        (all_tails, all_heads, all_words), first = self.of_all_ranks(tails, heads, words)
        chosen = xp.zeros(len(all_tails), np.bool_)
        if part.on_device:
            chosen[self._loops.forest_of_edges(n, all_tails, all_heads, all_words)] = True
        else:
            ends = all_tails, all_heads
            chosen[lightest_forest(n, ends, ends, all_words)] = True
        return chosen[first : first + len(tails)]


def lightest_forest(size: int, ends: Ends, numbers: Ends | None, weight: Array) -> Array:
    """Return the indices of the edges of the minimum spanning forest, on a CPU.

    If there are many edges, the forest of the lightest ones is found first.  Only edges between
    different trees of it are then sorted (Osipov, Sanders and Singler, "The filter-Kruskal minimum
    spanning tree algorithm", ALENEX 2009).

    Parameters
    ----------
    size : int
        Number of vertices.
    ends : two arrays of int64, shape (edges,)
        Positions of the ends, below `size`.
    numbers : two arrays of int64, shape (edges,), or None
        Vertex numbers of the ends, which order edges of the same weight; None if edges are in that order.
    weight : array of int64 or float64, shape (edges,)
    """
    forest = loops("spanning_tree", on_device=False).forest_of_sorted
    if numbers is None and weight.dtype.kind == "i" and not weight.any():  # unweighted
        chosen_alone: Array = forest(size, *ends)[0]
        return chosen_alone
    xp = np
    light = _lightest(xp, weight, LIGHT * size)
    look()
    places, rest = xp.flatnonzero(light), xp.flatnonzero(~light)
    look()
    near, far = (end[places] for end in ends)
    chosen = []
    while True:
        look()
        keys = None if numbers is None else _keys(numbers[0][places], numbers[1][places])
        look()
        order = _order(xp, keys, weight[places])
        look()
        near, far = near[order], far[order]
        look()
        in_forest, label = forest(size, near, far)
        chosen.append(places[order[in_forest]])
        if not len(rest):
            return xp.concatenate(chosen)
        near = label[ends[0][rest]]
        look()
        far = label[ends[1][rest]]
        look()
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
    few = 2 * count_true(light) <= count  # not if many have the same weight, or it is NaN
    return light if few else xp.ones(count, np.bool_)


def _keys(tails: Array, heads: Array) -> Array:
    """Return a number for each edge that orders edges by `heads`, then by `tails`."""
    return heads * (int(tails.max()) + 1) + tails if len(tails) else tails


def _order(xp: Any, keys: Array | None, weight: Array) -> Array:
    """Return the order of edges by weight, then by key, if there are any, and index."""
    if keys is None:
        return awaited(xp.argsort, weight_words(weight), kind="stable")
    order = awaited(xp.argsort, keys, kind="stable")
    look()
    words = weight_words(weight)[order]
    return order[awaited(xp.argsort, words, kind="stable")]
