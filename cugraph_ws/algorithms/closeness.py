"""Closeness and harmonic centrality, by searches in batches."""

from __future__ import annotations

from dataclasses import replace
from operator import length_hint
from typing import Any, ClassVar, Unpack

import numpy as np

from cugraph_ws.algorithms.batched_searches import WIDTH, searches, searches_at_once, searching
from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import MOST, ArrayLoop, Direction, Neighbourhood
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    open_graph,
    refuse_great,
    refuse_negative,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.weighted_paths import distances_from, refuse_inexact
from cugraph_ws.arguments import check_count, check_flag, shown
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.batch_width import width_of_batch
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Result, Step
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.footprints import Row, Sizes
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import parallel

__all__ = ["DistanceSums", "closeness_centrality", "harmonic_centrality"]

Array = Any  # NumPy's or CuPy's

WEIGHTED_WIDTH = 32  # most searches in a batch with lengths
CELLS = 1 << 27  # most entries of such a batch's matrix by vertex and search
BATCH = 45  # bytes of it by vertex and search
LENGTH_SEARCH = 21  # bytes of a single CPU's search with lengths by vertex
SUMS, BEFORE = 36, 24  # bytes by vertex of sums over a sample, and of those before a further batch
GREATEST_SEED = 2**128 - 1


@algorithm(
    group="centrality",
    columns="vertex, closeness_centrality",
    weights="weighted",
    note="Exact, or estimated from `k` vertices; in hops, or in weights with `weighted=True`.",
    divides="vertices",
)
@accepts_dask_frames
def closeness_centrality(
    graph: Graph[FrameT] | FrameT,
    vertices: Any = None,
    k: int | None = None,
    *,
    seed: int = 0,
    wf_improved: bool = True,
    weighted: bool = False,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute closeness centrality: the reciprocal of the mean distance to a vertex.

    As in NetworkX, distances are those along edges into the vertex; edges have length 1 unless
    `weighted` says otherwise.

    Parameters
    ----------
    vertices : sequence, array, Series or frame, optional
        The vertices to compute it for, a search from each; by default all.
    k : int, optional
        Estimate it for all vertices from the distances of `k` random vertices; exact if it is the
        number of vertices.
    wf_improved : bool
        Whether to multiply by the fraction of vertices that reach the vertex (Wasserman and Faust).
    weighted : bool
        Whether the length of an edge is its weight, which must be 0 or more.

    Returns
    -------
    DataFrame
        Columns `vertex` and `closeness_centrality` (float64; 0 for a vertex that no other reaches).
        Sorted by vertex.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the sums so far.

    References
    ----------
    .. [1] L. C. Freeman, "Centrality in social networks: conceptual clarification", Social Networks
       1, 1979.
    .. [2] D. Eppstein and J. Wang, "Fast approximation of centrality", Journal of Graph Algorithms
       and Applications 8, 2004 (for `k`).

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.closeness_centrality(edges, directed=False).closeness_centrality.round(3).tolist()
    [0.75, 0.75, 1.0, 0.6]
    """
    check_flag("wf_improved", wf_improved)
    opened = open_graph(
        graph, weighted, source=source, destination=destination, weight=weight, directed=directed
    )
    loop = (WeightedDistanceSums if weighted else DistanceSums)(vertices, k, seed)
    result = run_on(loop, opened, **options).require_convergence("closeness_centrality")
    counts, totals, _ = _sums(result)
    reachable = counts * _scale(opened, k)
    values = counts * (totals > 0) / (totals + (totals == 0))
    if wf_improved:
        values = values * (reachable / max(opened.number_of_vertices - 1, 1))
    return vertex_frame(result, "closeness_centrality", values, vertices)


@algorithm(
    group="centrality",
    columns="vertex, harmonic_centrality",
    weights="weighted",
    note="Exact, or estimated from `k` vertices; in hops, or in weights with `weighted=True`.",
    divides="vertices",
)
@accepts_dask_frames
def harmonic_centrality(
    graph: Graph[FrameT] | FrameT,
    vertices: Any = None,
    k: int | None = None,
    *,
    seed: int = 0,
    normalized: bool = False,
    weighted: bool = False,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute harmonic centrality: the sum of the reciprocals of the distances to a vertex.

    As in NetworkX, distances are those along edges into the vertex; edges have length 1 unless
    `weighted` says otherwise.

    Parameters
    ----------
    vertices : sequence, array, Series or frame, optional
        The vertices to compute it for, a search from each; by default all.
    k : int, optional
        Estimate it for all vertices from the distances of `k` random vertices; exact if it is the
        number of vertices.
    normalized : bool
        Whether to divide by the number of other vertices.
    weighted : bool
        Whether the length of an edge is its weight, which must be 0 or more.

    Returns
    -------
    DataFrame
        Columns `vertex` and `harmonic_centrality` (float64).  Sorted by vertex.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the sums so far.

    References
    ----------
    .. [1] P. Boldi and S. Vigna, "Axioms for centrality", Internet Mathematics 10, 2014.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.harmonic_centrality(edges, directed=False).harmonic_centrality.tolist()
    [2.5, 2.5, 3.0, 2.0]
    """
    check_flag("normalized", normalized)
    opened = open_graph(
        graph, weighted, source=source, destination=destination, weight=weight, directed=directed
    )
    loop = (WeightedDistanceSums if weighted else DistanceSums)(vertices, k, seed)
    result = run_on(loop, opened, **options).require_convergence("harmonic_centrality")
    _, _, values = _sums(result)
    values = values * _scale(opened, k)
    if normalized:
        values = values / max(opened.number_of_vertices - 1, 1)
    return vertex_frame(result, "harmonic_centrality", values, vertices)


def sampled(graph: GraphView, k: int, seed: int) -> Any:
    """Return the numbers of `k` random vertices, ascending, the same on all ranks.

    Parameters
    ----------
    graph : Graph
    k : int
    seed : int

    Returns
    -------
    ndarray of int64, shape (k,)

    Raises
    ------
    InputError
        If the graph has fewer vertices.
    """
    n = graph.number_of_vertices
    if k > n:
        raise InputError(f"k={shown(k)}: the graph has {n:,} vertices; give at most that many")
    return np.sort(np.random.default_rng(int(seed)).choice(n, k, replace=False))


def _scale(graph: GraphView, k: int | None) -> float:
    """Return the factor by which sums over a sample are multiplied."""
    return 1.0 if not k else graph.number_of_vertices / k


def _sums(result: Result) -> tuple[Array, Array, Array]:
    """Return the columns of a run, by owned vertex."""
    arrays: Any = result.arrays
    return arrays["reached"], arrays["distances"], arrays["reciprocals"]


def vertex_frame(result: Result[FrameT], name: str, values: Array, vertices: Any) -> FrameT:
    """Return a frame of all vertices, or of given ones; collective.

    Parameters
    ----------
    result : Result
        A run, which gives the graph.
    name : str
        The column.
    values : array, shape (owned,)
    vertices : sequence, array, Series or frame, optional

    Returns
    -------
    DataFrame
    """
    graph = result.graph
    if vertices is None:
        return replace(result, arrays={name: values}).frame
    return graph.frame_of_own(graph.own_numbers(vertices, "vertices"), {name: values})


class DistanceSums(ArrayLoop):
    """Sums over distances as a loop for `run`: each step is a batch of searches.

    With a sample, searches go from the sampled vertices along the edges, and every vertex sums the
    distances of the searches that reach it.  Otherwise they go from the requested vertices against
    the edges, and each search sums its distances for its start.

    Parameters
    ----------
    vertices : sequence, array, Series or frame, optional
        The vertices to compute sums for; by default all.
    k : int, optional
        Number of vertices to sample, for sums of all vertices.
    seed : int
        Seed of the sample.

    Examples
    --------
    How many vertices reach "c", and the sum of their distances to it; nothing is computed for others:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "d"], "destination": ["b", "c", "b"]})
    >>> frame = ws.run(ws.DistanceSums(["c"]), edges).frame
    >>> frame.reached.tolist(), frame.distances.tolist()
    ([0, 0, 3, 0], [0, 0, 5, 0])
    """

    name = "distance_sums"
    ends_within_steps = True
    outputs: ClassVar = {"reached": False, "distances": False, "reciprocals": False}
    saved: ClassVar = {"reached": (0, MOST), "distances": (0, MOST), "reciprocals": None}
    _reached: Array
    _distances: Array
    _reciprocals: Array

    def __init__(self, vertices: Any = None, k: int | None = None, seed: int = 0) -> None:
        if k is not None:
            check_count("k", k, 1)
        check_count("seed", seed, most=GREATEST_SEED)
        if k is not None and vertices is not None:
            raise InputError(
                "vertices= and k= exclude each other: k estimates all vertices; give one"
            )
        self._vertices, self._k, self._seed = vertices, k, seed

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {} if self._vertices is None else {"vertices": self._vertices}

    def _number_of_starts(self, sizes: Sizes) -> int:
        """Return from how many vertices searches start, at most."""
        if self._k is not None:
            return self._k
        return length_hint(self._vertices, sizes.vertices)

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes, with sums of all vertices, and those before a further batch."""
        sums = 0 if self._k is None else SUMS + BEFORE * (self._k > WIDTH)
        return ROWS[self.name].of(sizes, searching(sizes)) + sums * sizes.vertices

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Choose where searches start."""
        if self._k is not None:
            self._starts = sampled(graph, self._k, self._seed)
        elif self._vertices is not None:
            self._starts = np.unique(as_host(graph.numbers(self._vertices, "vertices")))
        else:
            self._starts = np.arange(graph.number_of_vertices)
        self.near = near = Neighbourhood(graph, on_device=on_device)
        for name, bounds in self.saved.items():
            kind = np.float64 if bounds is None else np.int64
            setattr(self, f"_{name}", near.xp.zeros(near.part.size, kind))

    @property
    def converged(self) -> bool:
        """Whether all searches are done."""
        return self.done >= len(self._starts)

    def inputs(self) -> dict[str, Any]:
        """Return where searches start."""
        return {"starts": self._starts.tolist(), "sampled": self._k is not None}

    def step(self) -> Step:
        """Search from the next vertices, and sum the distances."""
        starts = self._starts[self.done : self.done + WIDTH]
        direction: Direction = "out" if self._k is None else "in"
        own_sums = np.zeros((1, 3, len(starts)))
        # A run may end in the middle of the searches, so copies are added to.
        names = ("_reached", "_distances", "_reciprocals") if self._k is not None else ()
        sums = {name: getattr(self, name).copy() for name in names}
        read = 0
        for levels in searches(self.near, starts, direction):
            if self._k is None:
                numbers = levels.numbers.astype(np.float64)
                factors = np.stack((np.ones(len(numbers)), numbers, 1.0 / numbers), axis=1)
                terms = factors[:, :, None] * levels.counts(self.near.part, len(starts))[:, None]
                own_sums = np.add.reduce(np.concatenate((own_sums, terms)), axis=0, keepdims=True)
            else:
                levels.add_to_vertices(self.near.part, *sums.values())
            read += len(levels.rows)
            del levels  # before the arrays of the next ones
        if self._k is None:
            self._add(starts, own_sums[0])
        for name, total in sums.items():
            setattr(self, name, total)
        self.done += len(starts)
        read, bytes_sent = self.near.part.halo.totals(read)
        starts_left = len(self._starts) - self.done
        return Step(starts_left, read, direction="push", filter="list", bytes_sent=bytes_sent)

    def _add(self, starts: Array, own: Array) -> None:
        """Write the sums of searches, over all ranks, to the vertices where they start."""
        comm, xp = self.near.part.graph.comm, self.near.xp
        sums = np.sum(comm.allgather(own.tolist()), axis=0).reshape(own.shape)
        owned_starts, places = self.near.owned_among(starts)
        self._reached[places] = xp.asarray(sums[0, owned_starts].astype(np.int64))
        self._distances[places] = xp.asarray(sums[1, owned_starts].astype(self._distances.dtype))
        self._reciprocals[places] = xp.asarray(sums[2, owned_starts])


class WeightedDistanceSums(DistanceSums):
    """Sums over distances along edges with given lengths, as a loop for `run`.

    On a single CPU each thread searches from a start of its own with a heap (Dijkstra).

    Parameters
    ----------
    vertices, k, seed
        See `DistanceSums`.
    """

    name = "weighted_distance_sums"
    reads_weights = True
    saved: ClassVar = {"reached": (0, MOST), "distances": None, "reciprocals": None}

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes of a batch of searches, and of the arcs that they read."""
        starts = self._number_of_starts(sizes)
        alone = sizes.whole and not sizes.on_device
        row, kept = self._row(alone=alone), alone * sizes.cast_weights
        each, most = self._batch(starts, alone=alone)
        width = sizes.columns(most, each, rest=row.of(sizes) + kept)
        return row.of(sizes, kept + each * width * sizes.vertices)

    def _row(self, *, alone: bool) -> Row:
        """Return what a run takes besides a batch of searches."""
        return ROWS["distance_sums by heaps" if alone else self.name]

    def _batch(self, starts: int, *, alone: bool) -> tuple[int, int]:
        """Return the bytes of a batch by vertex and search, and most searches of a batch."""
        if not alone:
            return BATCH, max(1, min(WEIGHTED_WIDTH, starts))
        return LENGTH_SEARCH, max(1, min(searches_at_once(WEIGHTED_WIDTH), starts))

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Choose where searches start."""
        refuse_negative(graph, "lengths must be 0 or more")
        refuse_great(graph, float(graph.number_of_vertices) ** 2)
        super().start(graph, on_device=on_device)
        part = self.near.part
        alone = part.halo.alone and not on_device
        each, most = self._batch(len(self._starts), alone=alone)
        self._width = width_of_batch(part, most, each, CELLS, self._row(alone=alone))
        self._searches: list[Any] = []
        if alone and not self.converged:
            against = self._k is None and part.directed
            rows, _, lengths = self.near.folded("in" if against else "out", str(graph.weight))
            search = loops("distance_sums", on_device=False).LengthSearch
            self._searches = [search(rows, lengths) for _ in range(self._width)]

    def _step_on_one_cpu(self, starts: Array) -> int:
        """Search from vertices, each in a thread; sum the distances, and return how many rows are read."""
        searches = self._searches[: len(starts)]
        tasks = zip(searches, starts.tolist(), strict=True)
        parallel(lambda search, start: search.run(start), tasks)
        refuse_inexact(self.near, max(search.greatest for search in searches))
        if self._k is None:
            self._add(starts, np.stack([search.sums() for search in searches], axis=1))
        else:
            for search in searches:
                search.add(self._reached, self._distances, self._reciprocals)
        return sum(search.reached for search in searches)

    def step(self) -> Step:
        """Search from the next vertices, and sum the distances."""
        starts = self._starts[self.done : self.done + self._width]
        read = self._step_on_one_cpu(starts) if self._searches else self._step_in_arrays(starts)
        self.done += len(starts)
        read, bytes_sent = self.near.part.halo.totals(read)
        starts_left = len(self._starts) - self.done
        return Step(starts_left, read, direction="push", filter="list", bytes_sent=bytes_sent)

    def _step_in_arrays(self, starts: Array) -> int:
        """Search from a batch of vertices; sum the distances, and return how many rows are read."""
        near, part, xp = self.near, self.near.part, self.near.xp
        direction: Direction = "out" if self._k is None else "in"
        length, read = distances_from(near, starts, direction, str(part.graph.weight))
        length = length[: part.owned]
        owned_starts, rows = near.owned_among(starts)
        is_reached = xp.isfinite(length)
        is_reached[rows, xp.asarray(owned_starts)] = False  # a start does not count as reached
        look()
        near_by = is_reached & (length > 0.0)
        look()
        length = xp.where(is_reached, length, 0.0)
        look()
        reciprocal = 1.0 / xp.where(near_by, length, 1.0)
        look()
        reciprocal = xp.where(near_by, reciprocal, 0.0)
        look()
        if self._k is None:
            sums = [is_reached.sum(axis=0), length.sum(axis=0), reciprocal.sum(axis=0)]
            self._add(starts, np.array([as_host(column) for column in sums], np.float64))
        else:
            reached, total = is_reached.sum(axis=1), length.sum(axis=1)
            look()
            reciprocals = reciprocal.sum(axis=1)
            look()
            self._reached[: part.owned] += reached
            self._distances[: part.owned] += total
            self._reciprocals[: part.owned] += reciprocals
        return read
