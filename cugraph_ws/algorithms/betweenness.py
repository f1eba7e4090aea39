"""Betweenness centrality of vertices and edges: Brandes' algorithm on batches of sources.

A search counts shortest paths level by level; then dependencies are added up from the last level
back to the first.  A vertex has a row with a column for each source of the batch.  On a single CPU
each thread searches from a source of its own with a queue (or a heap), so that levels cost nothing.
"""

from __future__ import annotations

from operator import length_hint
from typing import Any, ClassVar, Unpack, cast

import numpy as np

from cugraph_ws.algorithms.batched_searches import searches_at_once
from cugraph_ws.algorithms.closeness import GREATEST_SEED, sampled
from cugraph_ws.algorithms.footprints import EDGES_ON_GPU, RESULTS, ROWS
from cugraph_ws.algorithms.neighbourhood import (
    ArrayLoop,
    Neighbourhood,
    edge_frame,
    pieces,
    row_of_arcs,
)
from cugraph_ws.algorithms.options import (
    Columns,
    RunOptions,
    Weight,
    open_graph,
    refuse_checkpoints,
    refuse_great,
)
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.algorithms.weighted_paths import (
    distances_from,
    levels_of,
    refuse_inexact,
    too_many_paths,
)
from cugraph_ws.arguments import check_count, check_flag
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError
from cugraph_ws.execution.batch_width import width_of_batch
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.execution.loop import Checkpointed, Column, Step
from cugraph_ws.frames.base import Masked
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import parallel

__all__ = ["Betweenness", "betweenness_centrality", "edge_betweenness_centrality"]

Array = Any  # NumPy's or CuPy's

WIDTH = 32  # most sources of a batch
CELLS = 1 << 27  # most entries of a matrix by vertex and source
BATCH = 77  # bytes of a batch by vertex and source
BATCH_OF_ROWS = 48  # of a single GPU, by kernels for whole levels
ARCS = 1 << 16  # arcs that are scored at a time
SCORED, KEPT = 24, 16  # bytes of an arc while a GPU scores some of them, and before
SCORING = 33  # bytes of each of them by source
SUMMING = 8  # bytes by vertex and source that sums by vertex take before
HIGH = 1e150  # numbers of paths above this are scaled down
LOW = 1e-305  # and not below this: a vertex that is reached has more than 0 paths
AT_ONCE = 8  # most batches that a single GPU searches in one
SCORES = 15  # bytes by vertex of a step on a single CPU, besides its searches
SEARCH = 33  # bytes of such a search by vertex
WEIGHTED_SEARCH = 45


@algorithm(
    group="centrality",
    columns="vertex, betweenness_centrality",
    weights="weighted",
    note="Paths by hops, or by weights with `weighted=True`; exact, or from `k` sources, scaled as in NetworkX 3.6.",
    divides="sources",
)
@accepts_dask_frames
def betweenness_centrality(
    graph: Graph[FrameT] | FrameT,
    k: Any = None,
    normalized: bool = True,
    *,
    endpoints: bool = False,
    seed: int = 0,
    weighted: bool = False,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = None,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute betweenness centrality: the fraction of shortest paths that pass through a vertex.

    Edges have length 1 unless `weighted` is True; parallel edges form separate paths.

    Parameters
    ----------
    k : int or list of ids, optional
        Estimate it from the paths out of `k` random vertices, or out of the given vertices; by
        default it is exact.  As in NetworkX 3.6, sums over k of n vertices are multiplied by
        (n − 1) / k, those of the k vertices themselves by (n − 1) / (k − 1); with `endpoints`, all
        by n / k.
    normalized : bool
        Whether to divide by the number of pairs of other vertices.  Otherwise each pair counts
        once, in an undirected graph too.
    endpoints : bool
        Whether a path also counts for its two ends.
    weighted : bool
        Whether the length of an edge is its weight, above 0.  Paths are equally long if their
        float64 sums are equal.

    Returns
    -------
    DataFrame
        Columns `vertex` and `betweenness_centrality` (float64; null for the only source if there is
        one, since no path from another vertex is known).  Sorted by vertex.

    Raises
    ------
    InputError
        If the frame or an argument is invalid.
    ConvergenceError
        If the run is stopped early; `.result` has the values so far.

    References
    ----------
    .. [1] U. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical
       Sociology 25, 2001.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.betweenness_centrality(edges, directed=False).betweenness_centrality.round(3).tolist()
    [0.0, 0.0, 0.667, 0.0]
    """
    check_flag("weighted", weighted)
    loop = (WeightedBetweenness if weighted else Betweenness)(k, normalized, endpoints, seed)
    opened = open_graph(
        graph, weighted, source=source, destination=destination, weight=weight, directed=directed
    )
    return run_on(loop, opened, **options).require_convergence("betweenness_centrality").frame


@algorithm(
    group="centrality",
    columns="edges, betweenness_centrality",
    weights="kept",
    checkpoints="nowhere",
    note="Paths by hops, or by weights with `weighted=True`; exact, or from `k` sources.",
    divides="sources",
)
@accepts_dask_frames
def edge_betweenness_centrality(
    graph: Graph[FrameT] | FrameT,
    k: Any = None,
    normalized: bool = True,
    *,
    seed: int = 0,
    weighted: bool = False,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute edge betweenness centrality: the fraction of shortest paths that use an edge.

    Edges have length 1 unless `weighted` is True; parallel edges form separate paths.

    Parameters
    ----------
    k : int or list of ids, optional
        Estimate it from the paths out of `k` random vertices, or out of the given vertices; by
        default it is exact.  Sums over k of n vertices are multiplied by n / k.
    normalized : bool
        Whether to divide by the number of pairs of vertices.  Otherwise each pair counts once, in
        an undirected graph too.
    weighted : bool
        Whether the length of an edge is its weight, above 0.  Paths are equally long if their
        float64 sums are equal.

    Returns
    -------
    DataFrame
        Edges with the columns that the graph kept, and `betweenness_centrality` (float64).  Sorted
        by destination, then source; an undirected edge once, from the vertex with the smaller id.

    Raises
    ------
    InputError
        If the frame or an argument is invalid, or a checkpoint is requested.
    ConvergenceError
        If the run is stopped early.

    References
    ----------
    .. [1] U. Brandes, "On variants of shortest-path betweenness centrality and their generic
       computation", Social Networks 30, 2008.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["a", "b", "c", "c"], "destination": ["b", "c", "a", "d"]})
    >>> ws.edge_betweenness_centrality(edges, directed=False).betweenness_centrality.round(3).tolist()
    [0.167, 0.333, 0.333, 0.5]
    """
    check_flag("weighted", weighted)
    loop_class = WeightedBetweenness if weighted else Betweenness
    loop = loop_class(k, normalized, False, seed, edges=True)
    refuse_checkpoints(options, "edge_betweenness_centrality has")
    opened = open_graph(
        graph, weighted, source=source, destination=destination, weight=weight, directed=directed
    )
    opened.check_edge_outputs(["betweenness_centrality"])
    if "betweenness_centrality" in opened.edge_attributes:
        raise InputError("column 'betweenness_centrality' would be overwritten; rename it")
    holder: list[Any] = []
    loop.finish = lambda part, scores: holder.append((part, scores))
    run_on(loop, opened, **options).require_convergence("edge_betweenness_centrality")
    part, scores = holder[0]
    return cast(FrameT, edge_frame(part, None, {"betweenness_centrality": scores}))


class Betweenness(ArrayLoop):
    """The algorithm as a loop for `run`: each step is a batch of sources.

    Parameters
    ----------
    k : int or list of ids, optional
        Number of sources to sample, or the sources; by default all vertices.
    normalized : bool
        Whether to divide by the number of pairs.
    endpoints : bool
        Whether a path counts for its ends.
    seed : int
        Seed of the sample.
    edges : bool
        Whether edges are scored as well, which `edge_betweenness_centrality` returns.

    Examples
    --------
    How many pairs of stops on a line have a way through a stop, or to it:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> line = pd.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "c", "d"]})
    >>> loop = ws.Betweenness(normalized=False, endpoints=True)
    >>> ws.run(loop, line, directed=False).frame.betweenness_centrality.tolist()
    [3.0, 5.0, 5.0, 3.0]
    """

    name = "betweenness_centrality"
    ends_within_steps = True
    outputs: ClassVar = {"betweenness_centrality": False}
    saved: ClassVar = {"score": None}
    finish: Any = None  # called with the part and the edges' values
    _search_bytes, _batch_bytes = SEARCH, BATCH_OF_ROWS

    def __init__(
        self,
        k: Any = None,
        normalized: bool = True,
        endpoints: bool = False,
        seed: int = 0,
        *,
        edges: bool = False,
    ) -> None:
        check_flag("normalized", normalized)
        check_flag("endpoints", endpoints)
        check_count("seed", seed, most=GREATEST_SEED)
        self._counted = isinstance(k, (int, np.integer)) or not hasattr(k, "__len__")
        if k is not None and self._counted:
            check_count("k", k, 1)
        self._k, self._normalized, self._endpoints = k, normalized, endpoints
        self._seed, self._edges = seed, edges

    def _edge_bytes(self, sizes: Sizes) -> float:
        """Return the bytes of the edges in the result."""
        edges = sizes.arcs if sizes.directed else sizes.arcs / 2
        if sizes.on_device and not sizes.framed:
            return self._edges * EDGES_ON_GPU.of(sizes)
        return self._edges * (RESULTS["edge_betweenness"] + 2 * sizes.wide_ids) * edges

    def _number_of_sources(self, sizes: Sizes) -> int:
        """Return the number of sources, at most."""
        if self._k is None:
            return sizes.vertices
        return int(self._k) if self._counted else length_hint(self._k, sizes.vertices)

    @property
    def checkpoints(self) -> Checkpointed:
        """Where a run has checkpoints: nowhere if edges are scored."""
        return "none" if self._edges else "everywhere"

    @property
    def vertices_given(self) -> dict[str, Any]:
        """Arguments that contain vertices, by name; they are looked up before the run."""
        return {} if self._k is None or self._counted else {"k": self._k}

    @property
    def converged(self) -> bool:
        """Whether all sources are done."""
        return self.done >= len(self._sources)

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes of a batch of sources, or of the edges in the result, whichever are more."""
        row, kept = ROWS[self.name], 0.0
        if sizes.whole and not sizes.on_device:
            kept = SCORES * sizes.vertices
        each, width = self._batch(
            self._number_of_sources(sizes), on_device=sizes.on_device, alone=sizes.whole
        )
        batch = each * sizes.columns(width, each, rest=row.of(sizes) + kept) * sizes.vertices
        if self._edges and sizes.on_device:
            scored = min(sizes.arcs, ARCS) * SCORING - sizes.vertices * SUMMING
            batch += max(KEPT * sizes.arcs, SCORED * sizes.arcs + scored * width)
        most = max(batch, self._edge_bytes(sizes))
        return max(row.of(sizes, kept + most), ROWS["scores"].of(sizes))

    def _batch(self, sources: int, *, on_device: bool, alone: bool) -> tuple[int, int]:
        """Return the bytes of a batch by vertex and source, and most sources of a batch."""
        if on_device or not alone:
            return self._batch_bytes if alone else BATCH, max(1, min(WIDTH, sources))
        return self._search_bytes, max(1, min(searches_at_once(WIDTH), sources))

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Choose the sources."""
        if self._k is None:
            self._sources = np.arange(graph.number_of_vertices)
        elif self._counted:
            self._sources = sampled(graph, self._k, self._seed)
        else:
            self._sources = np.unique(as_host(graph.numbers(self._k, "k")))
        self._all_sources = self._sources
        place, copies = graph.share
        self._sources = self._all_sources[place::copies]
        self._vertices = graph.number_of_vertices
        self.near = near = Neighbourhood(graph, on_device=on_device)
        self._score = near.xp.zeros(near.part.size)
        alone = near.part.halo.alone
        each, most = self._batch(len(self._sources), on_device=on_device, alone=alone)
        kept = SCORES * near.part.size if alone and not on_device else 0
        self._group = self._width = width_of_batch(
            near.part, most, each, CELLS, ROWS[self.name], kept=kept
        )
        self._arcs = near.xp.zeros(len(near.part.csc.indices) if self._edges else 0)
        self._searches: list[Any] = []
        if alone and not on_device and not self.converged:
            self._searches = self._searches_of_one_cpu()
        # A single GPU has kernels for whole levels; on ranks they are array operations.
        self._alone = on_device and near.part.halo.alone
        self._by_entries = False
        if self._alone:
            device_loops = loops("betweenness", on_device=True)
            self._by_entries = device_loops.has_short_rows(near.part)
        if self._by_entries:
            at_once = min(AT_ONCE, CELLS // (self._width * near.part.size))
            self._width *= device_loops.batches_at_once(near.part, self._width, at_once)
        if self.converged:
            self._end()

    def inputs(self) -> dict[str, Any]:
        """Return the sources and the options."""
        return {"sources": self._sources.tolist(), "endpoints": self._endpoints}

    def _searches_of_one_cpu(self) -> list[Any]:
        """Return what holds the searches of a step."""
        search, part = loops("betweenness", on_device=False).Search, self.near.part
        return [search(part, HIGH, LOW) for _ in range(self._width)]

    def _refuse(self, search: Any) -> None:
        """Raise an error if a search is not exact."""

    def _step_on_one_cpu(self) -> Step | None:
        """Search from the next sources, each in a thread; return None if array operations are to go on."""
        numbers = self._sources[self.done : self.done + self._width].tolist()
        searches = self._searches[: len(numbers)]
        if not all(
            parallel(lambda search, number: search.run(number), zip(searches, numbers, strict=True))
        ):
            self._arcs, self._searches = self._arcs_by_csc(), []
            return None
        score, read = self._score.copy(), 0
        for search in searches:
            self._refuse(search)
            search.add(score, self._endpoints)
            read += search.reached
            if self._edges:  # an edge's value is read after the last step alone
                search.add_to_arcs(self._arcs)
        self._score = score
        return self._stepped(len(numbers), read, 0)

    def _stepped(self, sources: int, read: int, bytes_sent: int) -> Step:
        """Return the step that some sources have taken."""
        self.done += sources
        if self.converged:
            self._end()
        sources_left = len(self._sources) - self.done
        return Step(sources_left, read, direction="push", filter="list", bytes_sent=bytes_sent)

    def step(self) -> Step:
        """Count the paths from the next sources, and add up the dependencies."""
        if self._searches:
            step = self._step_on_one_cpu()
            if step is not None:
                return step
        near, part = self.near, self.near.part
        sources = self._sources[self.done : self.done + self._width]
        levels, paths, dependency, shares, read = self._search(sources)
        sources = sources[: levels.shape[1]]
        # A run may end in the middle of a step, so copies are added to.
        score, arcs = self._score.copy(), self._arcs.copy()
        for first in range(0, len(sources), self._group):  # sums do not depend on the width
            columns = slice(first, first + self._group)
            reached = levels[: part.owned, columns] > 0
            dependencies = near.xp.where(
                reached, dependency[: part.owned, columns] + self._endpoints, 0.0
            )
            look()
            score[: part.owned] += dependencies.sum(axis=1)
            if self._endpoints:
                self._add_sources(score, sources[columns], reached)
            if self._edges:
                self._score_edges(arcs, levels, paths, shares, columns)
        self._score, self._arcs = score, arcs
        return self._stepped(len(sources), *part.halo.totals(read))

    def _search(self, sources: Array) -> tuple[Array, Array, Array, Array, int]:
        """Return levels, numbers of paths, dependencies, dependencies per path, and rows read.

        They may be those of the first sources alone.
        """
        near = self.near
        if self._alone:
            return self._search_alone(near.owned_among(sources)[1])
        levels, paths, stack, scales = self._count(sources)
        shares = near.xp.zeros(paths.shape)
        dependency = self._depend(levels, paths, stack, scales, shares)
        return levels, paths, dependency, shares, sum(map(len, stack))

    def _search_alone(self, rows: Array) -> tuple[Array, Array, Array, Array, int]:
        """Do as `_search` on a single GPU, by the sources' positions."""
        device_loops = loops("betweenness", on_device=True)
        if self._by_entries:
            searches = device_loops.ByEntries(self.near.part, rows, HIGH, LOW)
            if searches.crowded:  # so it will be from other sources
                self._by_entries, self._width, searches = False, self._group, None
        if not self._by_entries:
            searches = device_loops.ByRows(self.near.part, rows[: self._group], HIGH, LOW)
        return searches.levels, searches.paths, *searches.depend(), searches.rows(self._group)

    def columns(self) -> dict[str, Column]:
        """Return the scaled scores of owned vertices; null for the source if there is only one."""
        graph, n, k = self.near.part.graph, self._vertices, len(self._all_sources)
        xp = self.near.xp
        scores = self.near.part.by_number(self._score) * self._factor(self._endpoints)
        if self._endpoints or k == n or n <= 2:
            return {"betweenness_centrality": scores * (n / max(k, 1))}
        sources = self._all_sources
        owned = graph.owners.holds(sources)
        is_source = xp.zeros(graph.owned, np.bool_)
        is_source[xp.asarray(graph.owners.places(sources[owned]))] = True
        # Of the n - 1 vertices where other paths through a vertex begin, k are sources; or k - 1, if
        # the vertex is a source itself.
        scores = scores * xp.where(is_source, (n - 1) / max(k - 1, 1), (n - 1) / max(k, 1))
        return {"betweenness_centrality": Masked(scores, ~is_source) if k == 1 else scores}

    def _factor(self, endpoints: bool) -> float:
        """Return the factor by which the sums over all sources are multiplied, as in NetworkX."""
        n = self._vertices
        pairs = n * (n - 1) if endpoints else (n - 1) * (n - 2)
        if self._normalized and pairs > 0:
            return 1.0 / pairs
        return 1.0 if self.near.part.graph.directed else 0.5

    def _arcs_by_csc(self) -> Array:
        """Return the values of arcs in the order of the CSC; those of a single CPU are in the CSR's."""
        if not (self._searches and self._edges):
            return self._arcs
        return loops("betweenness", on_device=False).by_csc(self.near.part, self._arcs)

    def _end(self) -> None:
        """Pass the edges' values to `finish`."""
        if self.finish is not None:
            factor = self._factor(True) * self._vertices / max(len(self._all_sources), 1)
            self.finish(self.near.part, self._arcs_by_csc() * factor)

    def _count(self, sources: Array) -> tuple[Array, Array, list[Array], list[Array]]:
        """Return levels and numbers of paths by position and source; and the rows of each level.

        The numbers of paths of a level are divided by the products of `scales` up to it, so that
        they fit in a float64.
        """
        near, part, xp = self.near, self.near.part, self.near.xp
        shape = part.size, len(sources)
        owned_sources, rows = near.owned_among(sources)
        levels = near.filled(shape, -1, np.int32)
        paths, front = xp.zeros(shape), xp.zeros(shape)
        at = rows, xp.asarray(owned_sources)
        levels[at], paths[at], front[at] = 0, 1.0, 1.0
        rows = xp.unique(rows)
        stack, scales = [], []
        marks = xp.zeros(part.size, np.uint8)
        while near.total(len(rows)):
            stack.append(rows)
            changed = near.update(front, rows)
            look()
            readers = near.followers(changed, "in")
            marks[changed] = 1
            counts = near.sums(front, "in", readers, marks=marks)
            look()
            front[changed], marks[changed] = 0.0, 0
            for some in pieces(*counts.shape):
                counts[some] = xp.where(levels[readers[some]] < 0, counts[some], 0.0)
            look()
            hit = xp.flatnonzero(counts.any(axis=1))
            look()
            rows, counts = readers[hit], counts[hit]
            look()
            counts, scale = self._scaled(counts)
            scales.append(scale)
            look()
            for some in pieces(*counts.shape):
                at, new = rows[some], counts[some]
                front[at] = new
                paths[at] += new
                levels[at] = xp.where(new > 0, len(stack), levels[at])
        return levels, paths, stack, scales

    def _scaled(self, counts: Array) -> tuple[Array, Array]:
        """Divide columns with counts above `HIGH` by their greatest count; collective."""
        xp, comm = self.near.xp, self.near.part.graph.comm
        greatest = float(counts.max()) if counts.size else 0.0
        if max(comm.allgather(greatest)) < HIGH:
            return counts, 1.0
        largest = as_host(counts.max(axis=0)) if len(counts) else np.zeros(counts.shape[1])
        top = np.max(comm.allgather(largest.tolist()), axis=0)
        scale = xp.asarray(np.where(top < HIGH, 1.0, top))
        return xp.where(counts > 0, xp.maximum(counts / scale, LOW), 0.0), scale

    def _depend(
        self, levels: Array, paths: Array, stack: list[Array], scales: list[Array], shares: Array
    ) -> Array:
        """Return the dependencies of the sources on each vertex, and write the shares."""
        near, xp = self.near, self.near.xp
        dependency = xp.zeros(paths.shape)
        front = xp.zeros(paths.shape)
        marks = xp.zeros(len(paths), np.uint8)
        for level in range(len(stack) - 1, 0, -1):
            rows, before = stack[level], stack[level - 1]
            for some in pieces(len(rows), paths.shape[1]):
                at = rows[some]
                is_here = levels[at] == level
                share = (1.0 + dependency[at]) / xp.where(is_here, paths[at], 1.0)
                front[at] = xp.where(is_here, share / scales[level - 1], 0.0)
                shares[at] += front[at]
            look()
            changed = near.update(front, rows)
            marks[changed] = 1
            gathered = near.sums(front, "out", before, marks=marks)
            look()
            front[changed], marks[changed] = 0.0, 0
            for some in pieces(*gathered.shape):
                at = before[some]
                share = paths[at] * gathered[some]
                dependency[at] += xp.where(levels[at] == level - 1, share, 0.0)
        return dependency

    def _add_sources(self, score: Array, sources: Array, reached: Array) -> None:
        """Add to the score of each source the paths that begin at it; collective."""
        totals = as_host(reached.sum(axis=0, dtype=np.int64))
        ends = np.sum(self.near.part.graph.comm.allgather(totals.tolist()), axis=0)
        owned_sources, places = self.near.owned_among(sources)
        score[places] += self.near.xp.asarray(ends[owned_sources].astype(np.float64))

    def _tight(
        self, levels: Array, tails: Array, heads: Array, first: int, columns: slice
    ) -> Array:
        """Return which of the arcs from place `first` on are on shortest paths, by source in `columns`."""
        return (levels[tails] >= 0) & (levels[heads] == levels[tails] + 1)

    def _score_edges(
        self, arcs: Array, levels: Array, paths: Array, shares: Array, columns: slice
    ) -> None:
        """Add to every arc the paths through it from some sources, both ways of an undirected edge."""
        near, part, xp = self.near, self.near.part, self.near.xp
        levels, paths, shares = (tails[:, columns] for tails in (levels, paths, shares))
        for column in (levels, paths, shares):
            near.update(column)
        rows = part.csc
        heads = row_of_arcs(part)
        for first in range(0, len(heads), ARCS):
            look()
            head, tail = heads[first : first + ARCS], rows.indices[first : first + ARCS]
            ways = [(tail, head)] if part.graph.directed else [(tail, head), (head, tail)]
            for tails, ends in ways:
                tight = self._tight(levels, tails, ends, first, columns)
                through = xp.where(tight, paths[tails] * shares[ends], 0.0)
                arcs[first : first + ARCS] += through.sum(axis=1)


class WeightedBetweenness(Betweenness):
    """The algorithm for edges of given lengths as a loop for `run`.

    Parameters
    ----------
    k, normalized, endpoints, seed, edges
        See `Betweenness`.
    """

    name = "weighted_betweenness_centrality"
    reads_weights = True
    _search_bytes, _batch_bytes = WEIGHTED_SEARCH, BATCH

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Choose the sources."""
        least = graph.least_edge_value(str(graph.weight))
        if least is not None and not least[0] > 0:
            raise InputError(
                f"column {graph.weight!r}: the edge from {graph.describe_edge(least[1])} has the "
                f"weight {least[0]}; lengths must be above 0"
            )
        refuse_great(graph, float(graph.number_of_vertices))
        super().start(graph, on_device=on_device)
        self._alone = False

    def _searches_of_one_cpu(self) -> list[Any]:
        """Return what holds the searches of a step."""
        search, part = loops("betweenness", on_device=False).WeightedSearch, self.near.part
        _, _, lengths = self.near.folded("out", str(part.graph.weight))
        return [search(part, lengths) for _ in range(self._width)]

    def _refuse(self, search: Any) -> None:
        """Raise an error if a search is not exact."""
        refuse_inexact(self.near, search.greatest)
        if search.most_paths == np.inf:
            raise too_many_paths()

    def _count(self, sources: Array) -> tuple[Array, Array, list[Array], list[Array]]:
        """Return levels and numbers of paths by position and source; and the rows of each level."""
        weight = str(self.near.part.graph.weight)
        self._lengths, _ = distances_from(self.near, sources, "in", weight)
        levels, paths, stack = levels_of(self.near, sources, self._lengths, weight)
        return levels, paths, stack, []

    def _depend(
        self, levels: Array, paths: Array, stack: list[Array], scales: list[Array], shares: Array
    ) -> Array:
        """Return the dependencies of the sources on each vertex, and write the shares."""
        near, xp = self.near, self.near.xp
        weight = str(near.part.graph.weight)
        dependency = xp.zeros(paths.shape)
        for level in range(len(stack) - 1, -1, -1):
            rows = stack[level]
            gathered = near.tight(shares, self._lengths, "out", rows, weight)
            for some in pieces(*gathered.shape):
                at = rows[some]
                is_here, count = levels[at] == level, paths[at]
                dependency[at] = xp.where(is_here, count * gathered[some], dependency[at])
                share = (1.0 + dependency[at]) / xp.where(is_here, count, 1.0)
                shares[at] = xp.where(is_here, share, shares[at])
            look()
            near.update(shares, rows)
        return dependency

    def _tight(
        self, levels: Array, tails: Array, heads: Array, first: int, columns: slice
    ) -> Array:
        """Return which of the arcs from place `first` on are on shortest paths, by source in `columns`."""
        part, lengths = self.near.part, self._lengths[:, columns]
        weight = part.arc_values(str(part.graph.weight))[first : first + len(tails)]
        end = lengths[heads]
        return (lengths[tails] + weight.astype(np.float64)[:, None] == end) & (end < np.inf)
