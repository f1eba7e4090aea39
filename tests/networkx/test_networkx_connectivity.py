"""Components through NetworkX, beside NetworkX's own."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from networkx_calls import GRAPHS, outcome, same

UNDIRECTED = [name for name, graph in GRAPHS.items() if not graph.is_directed()]
DIRECTED = [name for name, graph in GRAPHS.items() if graph.is_directed()]
TREE = nx.Graph([(1, 2), (2, 3), (3, 1), (3, "a"), ("a", "b"), (8, 9)])
ACYCLIC = nx.DiGraph([(1, 2), (2, 3), (1, 3)])


@pytest.mark.parametrize("name", UNDIRECTED)
@pytest.mark.parametrize(
    "function", ["connected_components", "number_connected_components", "is_connected"]
)
def test_components(name: str, function: str) -> None:
    same(function, GRAPHS[name])


@pytest.mark.parametrize("name", DIRECTED)
@pytest.mark.parametrize(
    "function",
    [
        "weakly_connected_components",
        "number_weakly_connected_components",
        "is_weakly_connected",
        "number_strongly_connected_components",
        "is_strongly_connected",
        "is_directed_acyclic_graph",
    ],
)
def test_directed_components(name: str, function: str) -> None:
    same(function, GRAPHS[name])


@pytest.mark.parametrize("name", DIRECTED)
def test_strongly_connected_components(name: str) -> None:
    function, graph = "strongly_connected_components", GRAPHS[name]
    expected = outcome(function, graph, "networkx", {})
    actual = outcome(function, graph, "cugraph_ws", {})
    assert set(map(frozenset, actual)) == set(map(frozenset, expected))
    firsts = [next(node for node in graph if node in component) for component in actual]
    assert firsts == [node for node in graph if node in firsts]


@pytest.mark.parametrize("node", ["z", "no node"])
def test_component_of_a_node(node: str) -> None:
    same("node_connected_component", GRAPHS["undirected"], n=node)


@pytest.mark.parametrize("graph", [ACYCLIC, nx.DiGraph([(1, 1)]), nx.Graph([(1, 2)])])
def test_cycles(graph: nx.Graph) -> None:
    same("is_directed_acyclic_graph", graph)


@pytest.mark.parametrize("graph", [*(GRAPHS[name] for name in UNDIRECTED), TREE])
@pytest.mark.parametrize("root", [None, "a", "no node"])
def test_bridges(graph: nx.Graph, root: Any) -> None:
    same("bridges", graph, root=root)
    same("has_bridges", graph, root=root)


@pytest.mark.parametrize("graph", [*(GRAPHS[name] for name in UNDIRECTED), TREE])
def test_articulation_points(graph: nx.Graph) -> None:
    expected = outcome("articulation_points", graph, "networkx", {})
    actual = outcome("articulation_points", graph, "cugraph_ws", {})
    assert actual == [node for node in graph if node in set(expected)]


def test_parallel_edges_are_no_bridges() -> None:
    graph = nx.MultiGraph([(1, 2), (1, 2), (2, 3)])
    assert same("bridges", graph) == [(2, 3)]
