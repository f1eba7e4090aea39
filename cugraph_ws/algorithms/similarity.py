"""Similarity of pairs of vertices by their common neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from operator import length_hint
from typing import Any, Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import RESULTS, ROWS
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    refuse_great,
    refuse_negative,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.similar_pairs import (
    ENTRIES,
    ENTRY,
    ROW,
    ROW_ON_GPU,
    SHARE,
    AllPairs,
    Kept,
)
from cugraph_ws.arguments import check_choice, check_count, check_flag, check_number, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.run_memory import sizes_of
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO, is_auto
from cugraph_ws.graph.footprints import Sizes
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
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.bins import bin_sums
from cugraph_ws.runtime.launch_times import OFFSET, is_profiled, note_bytes
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["Similarity", "adamic_adar", "cosine", "jaccard", "overlap", "sorensen"]

Array = Any  # NumPy's or CuPy's
Measure = Literal["jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "common"]

ARCS_A_STEP = 1 << 25  # most arcs in the rows of a batch of pairs; checkpoints count batches
BITMAPS = 40  # bytes by vertex of the long rows that a GPU marks
MOST_BITMAPS = 1 << 28  # bytes of them in all
VALUE = 8  # bytes of a neighbour's value, which most measures do without
TOGETHER = 256  # batches in a step on a single GPU: ten milliseconds

# Scores from the sum over common neighbours and the sums of both vertices: numerator and denominator.
# Without common neighbours a score is 0, whatever the sums are.
SCORES: dict[str, Callable[[Any, Array, Array, Array], tuple[Array, Array]]] = {
    "jaccard": lambda xp, common, of_first, of_second: (common, of_first + of_second - common),
    "overlap": lambda xp, common, of_first, of_second: (common, xp.minimum(of_first, of_second)),
    "sorensen": lambda xp, common, of_first, of_second: (2 * common, of_first + of_second),
    "cosine": lambda xp, common, of_first, of_second: (common, xp.sqrt(of_first * of_second)),
    "adamic_adar": lambda xp, common, of_first, of_second: (common, xp.ones(len(common))),
    "common": lambda xp, common, of_first, of_second: (common, xp.ones(len(common))),
}


def lists_all_pairs(arguments: Mapping[str, Any]) -> bool:
    """Return whether a call finds its pairs itself; given ones have an order of their own."""
    pairs = arguments.get("vertex_pair")
    return pairs is None or isinstance(pairs, str)


@algorithm(
    group="similarity",
    columns="first, second, jaccard_coeff",
    weights="use_weight",
    directions=False,
    checkpoints="on one machine",
    note='Given pairs, "edges", or all with a common neighbour, of which `top` and `at_least` choose.',
    by_group=lists_all_pairs,
)
@accepts_dask_frames
def jaccard(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    top: int | None = None,
    at_least: float | None = None,
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

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `jaccard_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.  With `top`, a pair is in the rows of each of its vertices
        whose `top` it is among: by `first`, then falling coefficient, then `second`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    GraphMemoryError
        If all pairs would not fit in memory; give `top` or `at_least`.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.jaccard(edges, directed=False).jaccard_coeff.round(3).tolist()
    [0.333, 0.25, 0.5, 0.25, 0.5]
    """
    loop = Similarity("jaccard", vertex_pair, use_weight, top=top, at_least=at_least)
    return _similarity(loop, graph, source, destination, weight, directed, options)


@algorithm(
    group="similarity",
    columns="first, second, overlap_coeff",
    weights="use_weight",
    directions=False,
    checkpoints="on one machine",
    by_group=lists_all_pairs,
)
@accepts_dask_frames
def overlap(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    top: int | None = None,
    at_least: float | None = None,
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

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `overlap_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.  With `top`, a pair is in the rows of each of its vertices
        whose `top` it is among: by `first`, then falling coefficient, then `second`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    GraphMemoryError
        If all pairs would not fit in memory; give `top` or `at_least`.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.overlap(edges, directed=False).round(3).iloc[:, 2].tolist()
    [0.5, 0.5, 1.0, 0.5, 1.0]
    """
    loop = Similarity("overlap", vertex_pair, use_weight, top=top, at_least=at_least)
    return _similarity(loop, graph, source, destination, weight, directed, options)


@algorithm(
    group="similarity",
    columns="first, second, sorensen_coeff",
    weights="use_weight",
    directions=False,
    checkpoints="on one machine",
    by_group=lists_all_pairs,
)
@accepts_dask_frames
def sorensen(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    top: int | None = None,
    at_least: float | None = None,
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

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `sorensen_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.  With `top`, a pair is in the rows of each of its vertices
        whose `top` it is among: by `first`, then falling coefficient, then `second`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    GraphMemoryError
        If all pairs would not fit in memory; give `top` or `at_least`.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.sorensen(edges, directed=False).round(3).iloc[:, 2].tolist()
    [0.5, 0.4, 0.667, 0.4, 0.667]
    """
    loop = Similarity("sorensen", vertex_pair, use_weight, top=top, at_least=at_least)
    return _similarity(loop, graph, source, destination, weight, directed, options)


@algorithm(
    group="similarity",
    columns="first, second, cosine_coeff",
    weights="use_weight",
    directions=False,
    checkpoints="on one machine",
    by_group=lists_all_pairs,
)
@accepts_dask_frames
def cosine(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    use_weight: bool = False,
    *,
    top: int | None = None,
    at_least: float | None = None,
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

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `cosine_coeff`, float64, from 0 to 1.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.  With `top`, a pair is in the rows of each of its vertices
        whose `top` it is among: by `first`, then falling coefficient, then `second`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown, or a weight is negative.
    GraphMemoryError
        If all pairs would not fit in memory; give `top` or `at_least`.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.cosine(edges, directed=False).round(3).iloc[:, 2].tolist()
    [0.5, 0.408, 0.707, 0.408, 0.707]
    """
    loop = Similarity("cosine", vertex_pair, use_weight, top=top, at_least=at_least)
    return _similarity(loop, graph, source, destination, weight, directed, options)


@algorithm(
    group="similarity",
    columns="first, second, adamic_adar_coeff",
    directions=False,
    checkpoints="on one machine",
    by_group=lists_all_pairs,
)
@accepts_dask_frames
def adamic_adar(
    graph: Graph[FrameT] | FrameT,
    vertex_pair: Any = None,
    *,
    top: int | None = None,
    at_least: float | None = None,
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

    Returns
    -------
    DataFrame
        Columns `first`, `second` and `adamic_adar_coeff`, float64.  The given pairs in
        their order (of a Dask frame, within each of its partitions); otherwise with the smaller
        vertex first, in ascending order.  With `top`, a pair is in the rows of each of its vertices
        whose `top` it is among: by `first`, then falling coefficient, then `second`.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, a vertex is unknown.
    GraphMemoryError
        If all pairs would not fit in memory; give `top` or `at_least`.
    ConvergenceError
        If the run is stopped early; `.result` has the pairs so far.

    References
    ----------
    .. [1] L. A. Adamic and E. Adar, "Friends and neighbors on the Web", Social Networks, 2003.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.adamic_adar(edges, directed=False).round(3).iloc[:, 2].tolist()
    [0.91, 1.443, 0.91, 1.443, 0.91]
    """
    loop = Similarity("adamic_adar", vertex_pair, False, top=top, at_least=at_least)
    return _similarity(loop, graph, source, destination, weight, directed, options)


def _similarity(
    loop: Similarity,
    graph: Graph[FrameT] | FrameT,
    source: Columns,
    destination: Columns,
    weight: Weight,
    directed: bool,
    options: RunOptions,
) -> FrameT:
    """Run a measure, with the arguments of its function."""
    if is_auto(weight) and not loop.use_weight:
        weight = None
    opened = as_graph(
        graph,
        source=source,
        destination=destination,
        weight=weight,
        directed=directed,
        weighted=loop.use_weight,
    )
    return run_on(loop, opened, **options).require_convergence(loop.name).frame


class Similarity(Loop):
    """The measures as a loop for `run`: each step computes coefficients of pairs.

    Given pairs are one piece; all pairs with a common neighbour come in pieces, see `similar_pairs`.
    A piece is computed in batches: ranks fetch the rows of the vertices of a batch's pairs, and the number
    of fetched arcs is bounded.

    Parameters
    ----------
    measure : {"jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "common"}
        "common" is the number of common neighbours.
    vertex_pair : DataFrame or "edges", optional
        See `jaccard`.
    use_weight : bool
    top, at_least : int, float, optional
        See `jaccard`.

    Examples
    --------
    The only pair with eight or more friends in common, and how many they are:

    >>> import cugraph_ws as ws
    >>> result = ws.run(ws.Similarity("common", at_least=8), ws.datasets.karate_club())
    >>> result.frame.values.tolist()
    [[32.0, 33.0, 10.0]]
    """

    checkpoints = "on one machine"
    ends_within_steps = True
    by_vertex = False
    _scale = 1.0  # of weights
    _oriented: Oriented | None = None  # if the pairs are all edges, and neighbours are counted
    _all: AllPairs | None = None  # if the pairs are all that have a common neighbour
    _begun = 0  # the first owned vertex of the piece

    def __init__(
        self,
        measure: Measure,
        vertex_pair: Any = None,
        use_weight: bool = False,
        *,
        top: int | None = None,
        at_least: float | None = None,
    ) -> None:
        check_choice("measure", measure, get_args(Measure))
        check_flag("use_weight", use_weight)
        if use_weight and measure in ("adamic_adar", "common"):
            raise InputError(f"use_weight=True: {measure} does not use weights; leave it out")
        if isinstance(vertex_pair, str) and vertex_pair != "edges":
            raise InputError(
                f"vertex_pair={shown(vertex_pair)}: give a frame with columns `first` and `second`, "
                "'edges', or None for all pairs with a common neighbour"
            )
        if top is not None:
            check_count("top", top, 1)
        if at_least is not None:
            check_number("at_least", at_least, finite=True)
        for name, limit in (("top", top), ("at_least", at_least)):
            if limit is not None and vertex_pair is not None:
                raise InputError(
                    f"{name}={limit} chooses among all pairs with a common neighbour; leave out {name}= or "
                    "vertex_pair="
                )
        self.name, self._measure = f"{measure}", measure
        self._given, self.use_weight = vertex_pair, bool(use_weight)
        self._top, self._at_least = top, at_least

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes of the rows of neighbours, and of pairs that are known before.

        How many pairs have a common neighbour is known once there are rows: see `AllPairs`.
        """
        if isinstance(self._given, str):
            return ROWS["similarity of edges"].of(sizes)
        building, resident = ROWS["neighbours"].of(sizes), ROWS["neighbours kept"].of(sizes)
        each = RESULTS["similarity"] + 2 * sizes.wide_ids
        bitmaps = 0
        if sizes.on_device:
            each = max(RESULTS["similarity on a GPU"], each * sizes.framed)
            if self._measure != "adamic_adar" and not self.use_weight:
                bitmaps = min(BITMAPS * sizes.vertices, MOST_BITMAPS)
                resident -= VALUE * sizes.arcs * (1 + sizes.directed)
        if self._given is not None:
            return max(building, resident + bitmaps + each * length_hint(self._given))
        if sizes.least:  # pieces are cut to fit, and `AllPairs` refuses rows that cannot
            return building
        rows = self._firsts(sizes) * (self._top or 0)
        if sizes.on_device:  # a piece takes its share of what is free, and is compared once listed
            kept = self._row(sizes) * rows
            return max(building, resident + kept + max(kept / (SHARE - 1), bitmaps))
        return max(building, resident + ENTRY * ENTRIES + each * rows)

    def _firsts(self, sizes: Sizes) -> int:
        """Return how many vertices may be the first of a pair."""
        return sizes.vertices

    def _row(self, sizes: Sizes) -> float:
        """Return the bytes of each row of a result whose pairs are not given."""
        return (ROW if sizes.framed else ROW_ON_GPU) + 2 * sizes.wide_ids * (
            sizes.whole and sizes.framed
        )

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Find the neighbours, and number the pairs."""
        if self.use_weight:
            self._scale = _check_weights(graph)
        weight = graph.weight if self.use_weight else None
        self._fold = loops("similarity", on_device=on_device).fold
        unweighted = neighbourhoods(graph, on_device=on_device, weight=weight)
        xp = unweighted.xp
        values, self._sums, self._kind = self._prepare(unweighted)
        rows = NeighbourRows(unweighted.rows.offsets, unweighted.rows.indices, values)
        self._near = near = replace(unweighted, rows=rows)
        # A GPU that has all rows fetches none, and finishes one batch before the next could be launched.
        self._together = TOGETHER if on_device and near.halo.alone else 1
        self._kept = [Kept(*(xp.zeros(0, kind) for kind in (np.int64, np.int64, np.float64)))]
        if self._given is None:
            sizes, rows = sizes_of(graph, on_device=on_device), self._first_rows(near)
            self._all = AllPairs(self.name, near, rows, self._top, self._at_least, self._row(sizes))
            self._begin((self._kept[0].firsts, self._kept[0].seconds))
            return
        if isinstance(self._given, str):
            pairs = near.edges()
            if self._kind == "count":  # every triangle counts for three pairs
                self._oriented = oriented(graph, on_device=on_device)
                self._lister = loops("triangles", on_device=on_device).Lister(self._oriented)
        else:
            named = graph.vertex_pairs(self._given, "vertex_pair")
            pairs = tuple(xp.asarray(end if on_device else as_host(end)) for end in named)
        self._begin(pairs)

    def _first_rows(self, near: Neighbourhoods) -> NeighbourRows:
        """Return the rows of the vertices that are the first of a pair, those of others emptied; collective."""
        return near.rows

    def _begin(self, pairs: Sequence[Array]) -> None:
        """Begin a piece: cut its pairs into batches; collective."""
        near, last = self._near, len(pairs[0])
        self._pairs = tuple(end.astype(np.int64, copy=False) for end in pairs)
        self._bounds = [(0, last)]  # all edges are done at once
        if self._oriented is None:
            lengths = sum(self._read(near.rows.degrees, end) for end in self._pairs)
            if not len(lengths) or int(lengths.sum()) > ARCS_A_STEP:
                self._bounds = batches(lengths, ARCS_A_STEP)
        steps = max(near.halo.comm.allgather(len(self._bounds)))
        self._bounds += [(last, last)] * (steps - len(self._bounds))
        self._scores = near.xp.zeros(last, np.float64)
        self._done = 0

    @property
    def converged(self) -> bool:
        """Whether all pairs are computed."""
        done = self._done >= len(self._bounds)
        return done and (self._all is None or not self._all.remaining)

    def step(self) -> Step:
        """Count the pairs of a piece, or compute the next pairs."""
        near = self._near
        if self._all is not None:
            self._all = copy(self._all)  # a step that is abandoned leaves the former one as it was
            if self._all.counts:
                read = self._all.count()
                return Step(self._all.remaining + 1, read, direction="count", filter="list")
            if self._done >= len(self._bounds):
                self._begun = self._all.vertex
                self._begin(self._all.next())
        some, arcs = self._compute()
        if self._all is not None and self._done >= len(self._bounds):
            self._kept.append(self._all.keep(Kept(self._pairs[0], self._pairs[1], self._scores)))
        pairs_left, read, bytes_sent = near.halo.totals(len(self._scores) - some.stop, arcs)
        pairs_left += 0 if self._all is None else self._all.remaining
        return Step(pairs_left, read, direction="intersect", filter="list", bytes_sent=bytes_sent)

    def _compute(self) -> tuple[slice, int]:
        """Compute the next pairs of the piece; return which, and the number of arcs read."""
        near, xp = self._near, self._near.xp
        end = min(self._done + self._together, len(self._bounds))
        first = self._bounds[self._done][0] if self._bounds else 0
        some = slice(first, self._bounds[end - 1][1] if self._bounds else 0)
        ends = [end[some] for end in self._pairs]
        if self._oriented is not None:
            counts, arcs = self._oriented.common_neighbours(self._lister)
            common = counts.astype(np.float64)
        else:
            rows, which = near.of_distinct(xp.concatenate(ends))
            count = len(ends[0])
            common = self._fold(rows, which[:count], which[count:], self._kind)
            arcs = int((rows.offsets[which + 1] - rows.offsets[which]).sum())
            if is_profiled():  # the elements of the shorter row are looked up in the other
                lengths = rows.offsets[which + 1] - rows.offsets[which]
                looked_up = int(xp.minimum(lengths[:count], lengths[count:]).sum())
                pair = 2 * which.itemsize + 2 * OFFSET
                read = looked_up * rows.indices.itemsize + count * pair
                note_bytes(read, count * common.itemsize)  # values are read of common ones alone
        over, under = SCORES[self._measure](xp, common, *(self._read(self._sums, e) for e in ends))
        self._scores[some] = xp.where(over > 0, over / xp.where(under > 0, under, 1), 0)
        self._done = end
        return some, arcs

    def _prepare(self, near: Neighbourhoods) -> tuple[Array, Array, str]:
        """Return the values of the rows, each vertex's sum, and how neighbours are summed; collective."""
        self._near = near
        xp, rows = near.xp, near.rows
        degrees = rows.degrees.astype(np.float64)
        if self._measure == "adamic_adar":
            degrees_of_heads = self._read(rows.degrees, rows.indices.astype(np.int64))
            look()
            shares = xp.maximum(degrees_of_heads, 2).astype(np.float64)
            look()
            shares = 1 / xp.log(shares)
            look()
            shares = xp.where(
                degrees_of_heads > 1, shares, 0
            )  # with one neighbour it is common to no pair
            return shares, degrees, "least"
        if not self.use_weight:
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
        """Return the measure, the pairs or how they are chosen, and the weights that are read."""
        weights = {} if not self.use_weight else {"weight": as_host(self._sums)}
        if self._all is not None:
            chosen = {"top": self._top, "at_least": self._at_least}
            return {"measure": self._measure, "pairs": "all", **chosen, **weights}
        pairs = {name: as_host(end) for name, end in zip(PAIR, self._pairs, strict=True)}
        return {"measure": self._measure, **pairs, **weights}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the scores so far, and the number of steps done; of all pairs also the pairs so far."""
        if self._all is None:
            return {"scores": as_host(self._scores), "done": np.array([self._done])}
        joined = self._joined()
        self._kept = [joined]
        done = self._all.vertex if self._done >= len(self._bounds) else self._begun
        pairs = {name: as_host(end) for name, end in zip(PAIR, joined[:2], strict=True)}
        return {**pairs, "scores": as_host(joined.scores), "done": np.array([done])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        if self._all is None:
            state.floats("scores", len(self._scores), 0)
            state.number("done", 0, len(self._bounds))
            return
        state.number("done", 0, graph.number_of_vertices)
        count = state.length("scores")
        state.floats("scores", count, 0)
        for name in PAIR:
            state.integers(name, count, 0, graph.number_of_vertices - 1)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume after some pairs."""
        xp = self._near.xp
        scores = xp.asarray(state["scores"].astype(np.float64))
        if self._all is None:
            self._done, self._scores = int(state["done"][0]), scores
            return
        self._all.counts = False
        self._all.rewind(int(state["done"][0]))
        first, second = (xp.asarray(state[name].astype(np.int64)) for name in PAIR)
        self._kept = [Kept(first, second, scores)]

    def _joined(self) -> Kept:
        """Return the pairs that are kept so far, of all pieces."""
        return Kept(
            *(self._near.xp.concatenate(column) for column in zip(*self._kept, strict=True))
        )

    @property
    def rows_by(self) -> tuple[str, bool] | None:
        """The first vertices, unless pairs are given, which have an order of their own."""
        return (PAIR[0], False) if self._given is None or isinstance(self._given, str) else None

    def columns(self) -> dict[str, Column]:
        """Return one row for each pair that is computed; of all pairs those of whole pieces."""
        if self._all is None:
            done = self._bounds[self._done - 1][1] if self._done else 0
            pairs = Kept(
                *(column[:done] for column in (self._pairs[0], self._pairs[1], self._scores))
            )
        else:
            pairs = self._joined()
        ends = {name: VertexNumbers(end) for name, end in zip(PAIR, pairs[:2], strict=True)}
        return {**ends, f"{self._measure}_coeff": pairs.scores}


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
