"""Lengths of shortest paths through NetworkX, beside NetworkX's own."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import pytest
from networkx_calls import GRAPHS, outcome, same

import cugraph_ws.networkx.distances

NAMES = ["undirected", "directed", "multigraph", "loops"]
SEARCHES = {
    "single_source_shortest_path_length": {"source": "z"},
    "single_target_shortest_path_length": {"target": "z"},
    "single_source_dijkstra_path_length": {"source": "z"},
    "multi_source_dijkstra_path_length": {"sources": ["z", 12]},
    "single_source_bellman_ford_path_length": {"source": "z"},
}
ALL_PAIRS = ("all_pairs_shortest_path_length", "all_pairs_dijkstra_path_length")


def equal(name: str, graph: nx.Graph, **arguments: Any) -> None:
    """Check that distances are NetworkX's, and in their order."""
    expected = outcome(name, graph, "networkx", arguments)
    actual = outcome(name, graph, "cugraph_ws", arguments)
    assert actual == expected
    assert list(actual.values()) == sorted(expected.values())
    assert {type(value) for value in actual.values()} == {int}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", SEARCHES)
def test_searches(name: str, function: str) -> None:
    equal(function, GRAPHS[name], **SEARCHES[function])


@pytest.mark.parametrize("cutoff", [0, 2, 2.0, math.inf])
@pytest.mark.parametrize("function", list(SEARCHES)[:4])
def test_searches_up_to_a_cutoff(function: str, cutoff: float) -> None:
    equal(function, GRAPHS["directed"], cutoff=cutoff, **SEARCHES[function])


def test_cutoffs_between_numbers_of_edges() -> None:
    graph, start = GRAPHS["directed"], {"source": "z", "cutoff": 4.5}
    equal("single_source_dijkstra_path_length", graph, **start)
    function = "single_source_shortest_path_length"
    assert outcome(function, graph, "cugraph_ws", start) is NotImplementedError


@pytest.mark.parametrize("function", SEARCHES)
def test_searches_from_nowhere(function: str) -> None:
    argument, start = next(iter(SEARCHES[function].items()))
    missing = ["no node"] if isinstance(start, list) else "no node"
    assert same(function, GRAPHS["directed"], **{argument: missing}) is nx.NodeNotFound


def test_no_sources() -> None:
    assert same("multi_source_dijkstra_path_length", GRAPHS["directed"], sources=[]) is ValueError


@pytest.mark.parametrize("name", [*NAMES, "null"])
@pytest.mark.parametrize("function", [*ALL_PAIRS, "all_pairs_bellman_ford_path_length"])
def test_all_pairs(name: str, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cugraph_ws.networkx.distances, "ROWS", 60)  # two starts at a time
    same(function, GRAPHS[name])


@pytest.mark.parametrize("function", ALL_PAIRS)
def test_all_pairs_up_to_a_cutoff(function: str) -> None:
    same(function, GRAPHS["directed"], cutoff=2)


def test_negative_weights_are_left_to_networkx() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=-1)
    for function in (
        "all_pairs_bellman_ford_path_length",
        "single_source_bellman_ford_path_length",
    ):
        arguments = {"source": "a"} if function.startswith("single") else {}
        assert outcome(function, graph, "cugraph_ws", arguments) is NotImplementedError


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", ["descendants", "ancestors"])
@pytest.mark.parametrize("source", ["z", (4, 4), "no node"])
def test_reached_nodes(name: str, function: str, source: Any) -> None:
    same(function, GRAPHS[name], source=source)


@pytest.mark.parametrize("distance", [0, 2, 30])
@pytest.mark.parametrize("source", ["z", "no node"])
def test_nodes_at_a_distance(distance: int, source: str) -> None:
    same("descendants_at_distance", GRAPHS["directed"], source=source, distance=distance)


@pytest.mark.parametrize("name", ["connected", "cycle", "directed", "undirected"])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("v", [None, 3, [1, 2]])
def test_eccentricity(name: str, weight: str | None, v: Any) -> None:
    same("eccentricity", GRAPHS[name], v=v, weight=weight)


@pytest.mark.parametrize("name", ["connected", "cycle", "directed", "undirected", "null"])
def test_average_shortest_path_length(name: str) -> None:
    same("average_shortest_path_length", GRAPHS[name])


def test_average_shortest_path_length_of_one_node() -> None:
    assert same("average_shortest_path_length", nx.empty_graph(1)) == 0
