"""Greedy colours and spanning trees through NetworkX, beside NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from networkx_calls import GRAPHS, same

NAMES = ["undirected", "loops", "connected", "no edges", "null"]


@pytest.mark.parametrize("name", ["undirected", "connected", "no edges", "null"])
def test_greedy_color(name: str) -> None:
    same("greedy_color", GRAPHS[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("extreme", ["minimum", "maximum"])
@pytest.mark.parametrize("weight", ["weight", "no attribute"])
@pytest.mark.parametrize("data", [True, False])
def test_spanning_edges(name: str, extreme: str, weight: str, data: bool) -> None:
    same(f"{extreme}_spanning_edges", GRAPHS[name], weight=weight, data=data)


def test_attributes_of_spanning_edges_are_the_graphs() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=2.5, name="road")
    ((_, _, attributes),) = nx.minimum_spanning_edges(graph, backend="cugraph_ws")
    assert attributes is graph["a"]["b"]
