"""Which calls the backend takes, and which are faster in NetworkX."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from networkx_calls import GRAPHS

from cugraph_ws.networkx.backend import backend
from cugraph_ws.networkx.implemented import ALL_PAIRS, ITERATION

BIG = nx.barabasi_albert_graph(1_100, 4, seed=1)  # 8,768 arcs


@pytest.mark.parametrize(
    ("name", "graph", "arguments", "reason"),
    [
        ("pagerank", "directed", {"weight": lambda *_: 1}, "weight is a function"),
        ("closeness_centrality", "directed", {"distance": len}, "distance is a function"),
        ("hits", "directed", {"normalized": False}, "normalized is not True"),
        ("clustering", "directed", {}, "the graph is directed"),
        ("edge_betweenness_centrality", "multigraph", {}, "the graph is a multigraph"),
        ("pagerank", "directed", {"beta": 1}, "got an unexpected keyword argument 'beta'"),
    ],
)
def test_calls_that_are_refused(
    name: str, graph: str, arguments: dict[str, Any], reason: str
) -> None:
    assert backend.can_run(name, (GRAPHS[graph],), arguments) == reason


def test_calls_that_are_taken() -> None:
    assert backend.can_run("pagerank", (GRAPHS["directed multigraph"], 0.9), {}) is True
    assert backend.can_run("clustering", (), {"G": GRAPHS["undirected"]}) is True


def test_size() -> None:
    small = nx.path_graph(ALL_PAIRS.unconverted // 2)
    arcs = 2 * small.number_of_edges()
    reason = f"the graph has {arcs} arcs, fewer than {ALL_PAIRS.unconverted}"
    assert backend.should_run("closeness_centrality", (small,), {}) == reason
    assert ITERATION.unconverted < 2 * BIG.number_of_edges()
    assert backend.should_run("pagerank", (BIG,), {}) is True


def test_a_converted_graph() -> None:
    graph = nx.barabasi_albert_graph(1_000, 4, seed=1)
    assert ITERATION.converted < 2 * graph.number_of_edges() < ITERATION.unconverted
    assert isinstance(backend.should_run("pagerank", (graph,), {}), str)
    nx.core_number(graph, backend="cugraph_ws")  # NetworkX keeps the conversion
    assert backend.should_run("pagerank", (graph,), {}) is True
    graph.add_edge(0, 999)  # and drops it
    assert isinstance(backend.should_run("pagerank", (graph,), {}), str)
    assert backend.should_run("pagerank", (backend.convert_from_nx(graph),), {}) is True


@pytest.mark.parametrize(
    ("nodes", "some"), [(3, True), ([3, 4], True), (iter([1]), True), (range(500), False)]
)
def test_calls_for_some_nodes(nodes: Any, some: bool) -> None:
    answer = backend.should_run("triangles", (BIG,), {"nodes": nodes})
    assert answer == ("nodes asks for less than 10% of the results" if some else True)


def test_few_pairs() -> None:
    graph = nx.barabasi_albert_graph(30_000, 4, seed=1)
    answer = backend.should_run("jaccard_coefficient", (graph, [(1, 2)] * 9_000), {})
    assert answer == "ebunch asks for less than 10% of the results"
    assert backend.should_run("jaccard_coefficient", (graph, [(1, 2)] * 30_000), {}) is True
