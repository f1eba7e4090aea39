"""Components and what connects them, by NetworkX's names and signatures; their meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import ITERATION, LINEAR, TRAVERSAL, engine, implements

__all__ = [
    "articulation_points",
    "bridges",
    "connected_components",
    "has_bridges",
    "is_connected",
    "is_directed_acyclic_graph",
    "is_strongly_connected",
    "is_weakly_connected",
    "node_connected_component",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "strongly_connected_components",
    "weakly_connected_components",
]

Nodes = set[Hashable]
NULL_GRAPH = "Connectivity is undefined for the null graph."


@implements(TRAVERSAL, directed=False)
def connected_components(G: ConvertedGraph) -> Iterator[Nodes]:
    """Return the components, each as a set of nodes."""
    return G.sets(_weak(G))


@implements(TRAVERSAL, directed=False)
def number_connected_components(G: ConvertedGraph) -> int:
    """Count the components."""
    return _count(_weak(G))


@implements(TRAVERSAL, directed=False)
def is_connected(G: ConvertedGraph) -> bool:
    """Return whether there is a path between every two nodes."""
    return _is_one(G, _weak)


@implements(TRAVERSAL, directed=False)
def node_connected_component(G: ConvertedGraph, n: Hashable) -> Nodes:
    """Return the nodes of the component of a node."""
    position, labels = G.positions[n], _weak(G)
    return set(G.at(np.flatnonzero(labels == labels[position])))


@implements(TRAVERSAL)
def weakly_connected_components(G: ConvertedGraph) -> Iterator[Nodes]:
    """Return the components of the graph without directions, each as a set of nodes."""
    return G.sets(_weak(G))


@implements(TRAVERSAL)
def number_weakly_connected_components(G: ConvertedGraph) -> int:
    """Count the components of the graph without directions."""
    return _count(_weak(G))


@implements(TRAVERSAL)
def is_weakly_connected(G: ConvertedGraph) -> bool:
    """Return whether the graph without directions is connected."""
    return _is_one(G, _weak)


@implements(LINEAR)
def strongly_connected_components(G: ConvertedGraph) -> Iterator[Nodes]:
    """Return the strongly connected components, each as a set of nodes."""
    return G.sets(_strong(G))


@implements(LINEAR)
def number_strongly_connected_components(G: ConvertedGraph) -> int:
    """Count the strongly connected components."""
    return _count(_strong(G))


@implements(LINEAR)
def is_strongly_connected(G: ConvertedGraph) -> bool:
    """Return whether there is a path from every node to every other."""
    return _is_one(G, _strong)


@implements(LINEAR)
def is_directed_acyclic_graph(G: ConvertedGraph) -> bool:
    """Return whether the graph is directed and has no cycle."""
    return G.is_directed() and not G.has_self_loops and _count(_strong(G)) == len(G)


@implements(LINEAR, directed=False)
def articulation_points(G: ConvertedGraph) -> Iterator[Hashable]:
    """Return the nodes whose removal disconnects a component."""
    if not len(G):
        return iter(())
    rows = ws.articulation_points(G.built(), engine=engine())
    return iter(G.at(column_of(rows, "vertex")))


@implements(ITERATION, directed=False)
def bridges(G: ConvertedGraph, root: Hashable = None) -> Iterator[tuple[Hashable, Hashable]]:
    """Return the edges whose removal disconnects a component, of all or of that of `root`."""
    places = _bridges(G, root)
    return iter(list(zip(G.at(G.sources[places]), G.at(G.targets[places]), strict=True)))


@implements(ITERATION, directed=False)
def has_bridges(G: ConvertedGraph, root: Hashable = None) -> bool:
    """Return whether an edge is a bridge."""
    return len(_bridges(G, root)) > 0


def _bridges(G: ConvertedGraph, root: Hashable) -> Any:
    """Return the positions, among the edges, of the bridges."""
    if root is not None and root not in G:
        raise nx.NodeNotFound(f"Root node {root} is not in graph")
    if not G.number_of_edges():
        return np.empty(0, np.int64)
    places = np.sort(G.edge_positions(ws.bridges(G.built(), engine=engine())))
    if root is None:
        return places
    labels = _weak(G)
    return places[labels[G.sources[places]] == labels[G.positions[root]]]


def _weak(G: ConvertedGraph) -> Any:
    """Return the first node of each node's component, without directions."""
    return _labels(G, ws.weakly_connected_components)


def _strong(G: ConvertedGraph) -> Any:
    """Return the first node of each node's strongly connected component."""
    return _labels(G, ws.strongly_connected_components)


def _labels(G: ConvertedGraph, function: Callable[..., Any]) -> Any:
    if not len(G):
        return np.empty(0, np.int64)
    return column_of(function(G.built(), engine=engine()), "labels")


def _count(labels: Any) -> int:
    """Return the number of components: their first nodes are labelled by themselves."""
    return int(np.count_nonzero(labels == np.arange(len(labels))))


def _is_one(G: ConvertedGraph, labels: Callable[[ConvertedGraph], Any]) -> bool:
    """Return whether all nodes are in one component; NetworkX's error if there is no node."""
    if not len(G):
        raise nx.NetworkXPointlessConcept(NULL_GRAPH)
    return not labels(G).any()
