"""Lengths of shortest paths, by NetworkX's names and signatures; their meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import (
    ALL_PAIRS,
    LINEAR,
    SEARCHES,
    TRAVERSAL,
    engine,
    implements,
)

__all__ = [
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path_length",
    "ancestors",
    "average_shortest_path_length",
    "descendants",
    "descendants_at_distance",
    "eccentricity",
    "multi_source_dijkstra_path_length",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path_length",
    "single_target_shortest_path_length",
]

ROWS = 4_000_000  # of distances that a batch of searches returns at most

Lengths = dict[Hashable, float]
AllLengths = Iterator[tuple[Hashable, Lengths]]


@implements(TRAVERSAL)
def single_source_shortest_path_length(
    G: ConvertedGraph, source: Hashable, cutoff: float | None = None
) -> Lengths:
    """Compute the number of edges of a shortest path from a node to each that it reaches."""
    start = G.position(source, f"Source {source} is not in G")
    return _ordered(G, *_hops(G, start, cutoff))


@implements(TRAVERSAL)
def single_target_shortest_path_length(
    G: ConvertedGraph, target: Hashable, cutoff: float | None = None
) -> Lengths:
    """Compute the number of edges of a shortest path to a node from each that reaches it."""
    start = G.position(target, f"Target {target} is not in G")
    return _ordered(G, *_hops(G, start, cutoff, backward=True))


@implements(SEARCHES)
def all_pairs_shortest_path_length(G: ConvertedGraph, cutoff: float | None = None) -> AllLengths:
    """Compute the number of edges of a shortest path between every two nodes."""
    return _all_pairs(G, None, cutoff)


@implements(LINEAR)
def single_source_dijkstra_path_length(
    G: ConvertedGraph,
    source: Hashable,
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> Lengths:
    """Compute the length of the shortest path from a node to each that it reaches."""
    return _lengths(G, [source], cutoff, weight)


@implements(LINEAR)
def multi_source_dijkstra_path_length(
    G: ConvertedGraph,
    sources: Collection[Hashable],
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> Lengths:
    """Compute the length of the shortest path from the nearest source to each node that one reaches."""
    if not sources:
        raise ValueError("sources must not be empty")
    return _lengths(G, sources, cutoff, weight)


@implements(LINEAR)
def single_source_bellman_ford_path_length(
    G: ConvertedGraph, source: Hashable, weight: str | None = "weight"
) -> Lengths:
    """Compute the length of the shortest path from a node to each that it reaches."""
    return _lengths(G, [source], None, weight)


@implements(SEARCHES)
def all_pairs_dijkstra_path_length(
    G: ConvertedGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> AllLengths:
    """Compute the length of the shortest path between every two nodes."""
    return _all_pairs(G, weight, cutoff)


@implements(SEARCHES)
def all_pairs_bellman_ford_path_length(
    G: ConvertedGraph, weight: str | None = "weight"
) -> AllLengths:
    """Compute the length of the shortest path between every two nodes."""
    return _all_pairs(G, weight, None)


@implements(TRAVERSAL)
def descendants(G: ConvertedGraph, source: Hashable) -> set[Hashable]:
    """Return the nodes that a node reaches, without itself."""
    return _reached(G, source, backward=False)


@implements(TRAVERSAL)
def ancestors(G: ConvertedGraph, source: Hashable) -> set[Hashable]:
    """Return the nodes that reach a node, without itself."""
    return _reached(G, source, backward=True)


@implements(TRAVERSAL)
def descendants_at_distance(G: ConvertedGraph, source: Hashable, distance: int) -> set[Hashable]:
    """Return the nodes at a number of edges from a node."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    vertices, distances = _hops(G, G.positions[source], distance)
    return set(G.at(vertices[distances == distance]))


@implements(SEARCHES, only={"sp": None})
def eccentricity(
    G: ConvertedGraph, v: Any = None, sp: Any = None, weight: str | None = None
) -> Any:
    """Compute the length of the longest of the shortest paths from each node, or from those in `v`."""
    values: dict[Hashable, float] = {}
    starts = G.chosen(v)
    for batch, places, distances in _batches(G, starts, weight, None):
        if len(places) < len(batch) * len(G):
            raise nx.NetworkXError(
                "Found infinite path length because the digraph is not strongly connected"
                if G.is_directed()
                else "Found infinite path length because the graph is not connected"
            )
        longest = distances.reshape(len(batch), len(G)).max(axis=1)
        values.update(zip(G.at(batch), longest.tolist(), strict=True))
    return values[v] if v in G else values


@implements(ALL_PAIRS, only={"weight": None, "method": None})
def average_shortest_path_length(
    G: ConvertedGraph, weight: str | None = None, method: str | None = None
) -> float:
    """Compute the mean number of edges of the shortest paths between all pairs of nodes."""
    if not len(G):
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if len(G) == 1:
        return 0
    parts = ws.strongly_connected_components if G.is_directed() else ws.weakly_connected_components
    if column_of(parts(G.built(), engine=engine()), "labels").any():
        raise nx.NetworkXError(
            "Graph is not strongly connected." if G.is_directed() else "Graph is not connected."
        )
    return ws.average_shortest_path_length(G.built(), engine=engine())


def _depth(cutoff: float | None) -> int | None:
    """Return the greatest number of edges that a cutoff allows."""
    if cutoff is None or cutoff == math.inf:
        return None
    if cutoff != int(cutoff):
        raise NotImplementedError(f"cutoff={cutoff} is no number of edges")
    return int(cutoff)


def _reached_rows(G: ConvertedGraph, rows: Any, weight: str | None) -> tuple[Any, Any]:
    """Return the places of the rows that a search reached, and their distances; integers of edges."""
    distances = rows["distance"].combine_chunks()
    reached = distances.is_valid().to_numpy(zero_copy_only=False)
    lengths = distances.drop_null().to_numpy()
    if G.weight(weight) is None:
        lengths = lengths.astype(np.int64)
    return np.flatnonzero(reached), lengths


def _hops(
    G: ConvertedGraph, start: int, cutoff: float | None, *, backward: bool = False
) -> tuple[Any, Any]:
    """Return the vertices that a search by edges reaches, and their distances."""
    graph = G.built(backward=backward)
    rows = ws.bfs(graph, start, _depth(cutoff), return_predecessors=False, engine=engine())
    return _reached_rows(G, rows, None)


def _reached(G: ConvertedGraph, source: Hashable, *, backward: bool) -> set[Hashable]:
    """Return the nodes that a search reaches, without its start."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    vertices, _ = _hops(G, G.positions[source], None, backward=backward)
    return set(G.at(vertices)) - {source}


def _lengths(
    G: ConvertedGraph, sources: Collection[Hashable], cutoff: float | None, weight: str | None
) -> Lengths:
    """Return the lengths of the shortest paths from the nearest of some nodes."""
    starts = [G.position(node, f"Node {node} not found in graph") for node in sources]
    rows = ws.sssp(
        G.built(weight), starts, cutoff=cutoff, return_predecessors=False, engine=engine()
    )
    return _ordered(G, *_reached_rows(G, rows, weight))


def _ordered(G: ConvertedGraph, vertices: Any, distances: Any) -> Lengths:
    """Return distances by node, in the order of the distances."""
    order = np.argsort(distances, kind="stable")
    return dict(zip(G.at(vertices[order]), distances[order].tolist(), strict=True))


def _batches(
    G: ConvertedGraph,
    starts: list[int],
    weight: str | None,
    cutoff: float | None,
) -> Iterator[tuple[list[int], Any, Any]]:
    """Search from many vertices, some at a time.

    Yields
    ------
    batch : list of int
        The starts.
    places : ndarray of int64
        Which (start, vertex) pairs were reached: i·n + v for vertex v and the i-th start.
    distances : ndarray
        Their distances.
    """
    graph, size = G.built(weight), len(G)
    step = max(1, ROWS // max(size, 1))
    for first in range(0, len(starts), step):
        batch = starts[first : first + step]
        rows = (
            ws.multi_source_sssp(graph, batch, cutoff, engine=engine())
            if G.weight(weight) is not None
            else ws.multi_source_bfs(graph, batch, depth_limit=_depth(cutoff), engine=engine())
        )
        yield batch, *_reached_rows(G, rows, weight)


def _all_pairs(G: ConvertedGraph, weight: str | None, cutoff: float | None) -> AllLengths:
    """Return an iterator over the lengths of the shortest paths from each node."""
    weights = G.weight(weight)
    if weights is not None and (weights < 0).any():
        raise NotImplementedError("weights are negative")
    return _of_each(G, _batches(G, list(range(len(G))), weight, cutoff))


def _of_each(G: ConvertedGraph, batches: Iterator[tuple[list[int], Any, Any]]) -> AllLengths:
    """Yield each node, and the lengths of the shortest paths from it."""
    size = len(G)
    for batch, places, distances in batches:
        bounds = np.searchsorted(places, np.arange(len(batch) + 1) * size)
        for start, (first, last) in zip(batch, pairwise(bounds), strict=True):
            vertices = places[first:last] % size
            yield G.nodes[start], _ordered(G, vertices, distances[first:last])
