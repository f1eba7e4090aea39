"""Conversion of NetworkX graphs, and back."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx_calls import GRAPHS

from cugraph_ws.networkx.convert import convert_from_nx, convert_to_nx


def edges(graph: nx.Graph) -> list[Any]:
    """Return the ends of edges, in the order of the graph."""
    return [tuple(edge[:2]) for edge in graph.edges]


@pytest.mark.parametrize("name", GRAPHS)
def test_nodes_and_edges(name: str) -> None:
    graph = GRAPHS[name]
    converted = convert_from_nx(graph)
    assert list(converted) == list(graph)
    assert (converted.is_directed(), converted.is_multigraph()) == (
        graph.is_directed(),
        graph.is_multigraph(),
    )
    ends = zip(converted.at(converted.sources), converted.at(converted.targets), strict=True)
    assert list(ends) == edges(graph)
    assert converted.number_of_edges() == graph.number_of_edges()


@pytest.mark.parametrize("name", GRAPHS)
def test_there_and_back(name: str) -> None:
    graph = GRAPHS[name].copy()
    graph.graph["title"] = "roads"
    nx.set_node_attributes(graph, {"z": 1, "a": 2}, "colour")
    converted = convert_from_nx(
        graph, preserve_edge_attrs=True, preserve_node_attrs=True, preserve_graph_attrs=True
    )
    returned = convert_to_nx(converted)
    assert type(returned) is type(graph)
    assert nx.utils.graphs_equal(returned, graph)
    for first, second, data in returned.edges(data=True):
        data["weight"] = -1
        assert graph.get_edge_data(first, second) != {**data, "weight": -1}
        break


def test_some_attributes() -> None:
    graph = nx.Graph([("a", "b", {"weight": 2, "name": "x"}), ("b", "c", {})])
    graph.add_node("a", colour=3)
    converted = convert_from_nx(graph, edge_attrs={"weight": 1}, node_attrs={"colour": 0})
    np.testing.assert_array_equal(converted.weight("weight"), [2, 1])
    returned = convert_to_nx(converted)
    assert dict(returned.edges) == {("a", "b"): {"weight": 2}, ("b", "c"): {"weight": 1}}
    assert returned.nodes(data="colour") == {"a": 3, "b": 0, "c": 0}.items()


@pytest.mark.parametrize("name", ["directed", "multigraph"])
def test_views(name: str) -> None:
    graph = GRAPHS[name]
    for view in (graph.subgraph(list(graph)[:12]), graph.edge_subgraph(list(graph.edges)[:9])):
        converted = convert_from_nx(view, edge_attrs={"weight": 1})
        assert convert_to_nx(converted).edges == view.edges


@pytest.mark.parametrize("nodes", [[2, 0, 1], [0, 1, 2], [0.0, 1.0, 2.0], [False, True, 2]])
def test_nodes_that_look_like_positions(nodes: list[Any]) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from([(nodes[0], nodes[2]), (nodes[2], nodes[1])])
    converted = convert_from_nx(graph)
    assert (converted.sources.tolist(), converted.targets.tolist()) == ([0, 2], [2, 1])


def test_a_graph_that_computes_its_neighbours() -> None:
    class Complete(nx.Graph):
        def __getitem__(self, node: Any) -> Any:
            return {neighbour: {} for neighbour in self._adj if neighbour != node}

    with pytest.raises(NotImplementedError, match="a Complete computes its neighbours"):
        convert_from_nx(Complete())


def test_what_is_no_graph() -> None:
    with pytest.raises(TypeError, match="G of pagerank is a dict; give a NetworkX graph"):
        convert_from_nx({}, name="pagerank", graph_name="G")
    assert convert_to_nx("text") == "text"


@pytest.mark.parametrize("value", ["5", None, float("nan"), float("inf"), 2**70, [1, 2], 1j])
def test_weights_that_are_no_finite_numbers(value: Any) -> None:
    graph = nx.Graph([(1, 2, {"weight": value}), (2, 3)])
    with pytest.raises(NotImplementedError, match="weight"):
        convert_from_nx(graph, edge_attrs={"weight": 1})
