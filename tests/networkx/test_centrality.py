"""Centralities through NetworkX, beside NetworkX's own."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from networkx_calls import GRAPHS, outcome, same

SIMPLE = [name for name, graph in GRAPHS.items() if not graph.is_multigraph()]
SUMS = ("betweenness_centrality", "closeness_centrality")


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_pagerank(name: str, weight: str | None) -> None:
    same("pagerank", GRAPHS[name], tolerance=1e-8, tol=1e-12, weight=weight, max_iter=500)


@pytest.mark.parametrize("name", ["undirected", "directed"])
@pytest.mark.parametrize("argument", ["personalization", "dangling", "nstart"])
def test_pagerank_from_some_nodes(name: str, argument: str) -> None:
    values = {"z": 1.0, 12: 3.0, "no node": 5.0}
    same("pagerank", GRAPHS[name], tolerance=1e-8, tol=1e-12, max_iter=500, **{argument: values})


def test_pagerank_without_any_personalization() -> None:
    values = {"z": 0.0, "no node": 1.0}
    assert same("pagerank", GRAPHS["directed"], personalization=values) is ZeroDivisionError


def test_pagerank_that_does_not_converge() -> None:
    result = same("pagerank", GRAPHS["directed"], max_iter=3, tol=1e-15)
    assert result is nx.PowerIterationFailedConvergence


@pytest.mark.parametrize("name", ["connected", "directed", "multigraph", "null"])
def test_hits(name: str) -> None:
    arguments: dict[str, Any] = {"max_iter": 1000, "tol": 1e-12}
    expected = outcome("hits", GRAPHS[name], "networkx", arguments)
    actual = outcome("hits", GRAPHS[name], "cugraph_ws", arguments)
    for scores, reference in zip(actual, expected, strict=True):
        assert list(scores) == list(reference)
        assert scores == pytest.approx(reference, abs=1e-9)


@pytest.mark.parametrize("name", ["connected", "undirected", "cycle", "null"])
def test_eigenvector_centrality(name: str) -> None:
    same("eigenvector_centrality", GRAPHS[name], tolerance=1e-6, tol=1e-12, max_iter=5000)


def test_eigenvector_centrality_from_zero() -> None:
    graph = GRAPHS["connected"]
    assert same("eigenvector_centrality", graph, nstart=dict.fromkeys(graph, 0)) is nx.NetworkXError


@pytest.mark.parametrize("name", SIMPLE)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_katz_centrality(name: str, weight: str | None) -> None:
    same("katz_centrality", GRAPHS[name], tolerance=1e-8, alpha=0.01, tol=1e-12, weight=weight)


def test_katz_centrality_by_node() -> None:
    graph = GRAPHS["directed"]
    beta: dict[Any, float] = {node: 1.0 + place for place, node in enumerate(graph)}
    same("katz_centrality", graph, tolerance=1e-8, alpha=0.01, tol=1e-12, beta=beta)
    del beta["z"]
    assert same("katz_centrality", graph, beta=beta) is nx.NetworkXError


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("function", SUMS)
def test_sums_over_paths(name: str, function: str) -> None:
    same(function, GRAPHS[name])


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("distance", [None, "weight"])
@pytest.mark.parametrize("nbunch", [None, ["z", 12, "no node"]])
def test_harmonic_centrality(name: str, distance: str | None, nbunch: Any) -> None:
    function, arguments = "harmonic_centrality", {"distance": distance, "nbunch": nbunch}
    expected = outcome(function, GRAPHS[name], "networkx", arguments)
    actual = outcome(function, GRAPHS[name], "cugraph_ws", arguments)
    assert actual == pytest.approx(expected)
    assert list(actual) == [node for node in GRAPHS[name] if node in expected]


@pytest.mark.parametrize("name", ["directed", "multigraph", "connected"])
@pytest.mark.parametrize("function", SUMS)
def test_sums_over_weighted_paths(name: str, function: str) -> None:
    weight = "weight" if function == "betweenness_centrality" else "distance"
    same(function, GRAPHS[name], **{weight: "weight"})


@pytest.mark.parametrize("name", SIMPLE)
@pytest.mark.parametrize("k", [None, 3, 0])
def test_edge_betweenness_centrality(name: str, k: int | None) -> None:
    same("edge_betweenness_centrality", GRAPHS[name], k=k, seed=4)


@pytest.mark.parametrize("name", ["undirected", "directed"])
@pytest.mark.parametrize("k", [3, 0])
def test_betweenness_centrality_of_samples(name: str, k: int) -> None:
    same("betweenness_centrality", GRAPHS[name], k=k, seed=4, endpoints=True, normalized=False)


@pytest.mark.parametrize("u", ["z", "no node"])
def test_closeness_centrality_of_a_node(u: str) -> None:
    same("closeness_centrality", GRAPHS["directed"], u=u, wf_improved=False)


@pytest.mark.parametrize("name", ["undirected", "connected", "no edges", "null"])
def test_global_efficiency(name: str) -> None:
    same("global_efficiency", GRAPHS[name])
