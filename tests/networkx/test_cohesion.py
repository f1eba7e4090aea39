"""Cores, trusses and triangles through NetworkX, beside NetworkX's own."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from networkx_calls import GRAPHS, outcome, same

UNDIRECTED = ["undirected", "loops", "connected", "no edges", "null"]
SOME = [None, "z", ["z", "y", "no node"]]


@pytest.mark.parametrize("name", [*UNDIRECTED, "directed", "cycle"])
def test_core_number(name: str) -> None:
    same("core_number", GRAPHS[name])


@pytest.mark.parametrize("name", UNDIRECTED)
@pytest.mark.parametrize("k", [0, 3, 4, 9])
def test_k_truss(name: str, k: int) -> None:
    expected = outcome("k_truss", GRAPHS[name], "networkx", {"k": k})
    actual = outcome("k_truss", GRAPHS[name], "cugraph_ws", {"k": k})
    assert (type(actual), actual is expected) == (type(expected), isinstance(expected, type))
    if isinstance(expected, nx.Graph):
        assert nx.utils.graphs_equal(actual, expected)
        assert list(actual) == list(expected)


@pytest.mark.parametrize("name", UNDIRECTED)
@pytest.mark.parametrize("nodes", SOME)
@pytest.mark.parametrize("function", ["triangles", "clustering"])
def test_by_node(name: str, nodes: Any, function: str) -> None:
    same(function, GRAPHS[name], nodes=nodes)


@pytest.mark.parametrize("name", ["undirected", "loops", "connected"])
@pytest.mark.parametrize("count_zeros", [True, False])
def test_average_clustering(name: str, count_zeros: bool) -> None:
    same("average_clustering", GRAPHS[name], count_zeros=count_zeros)


def test_average_clustering_of_nothing() -> None:
    assert same("average_clustering", GRAPHS["null"]) is ZeroDivisionError


@pytest.mark.parametrize("name", UNDIRECTED)
def test_transitivity(name: str) -> None:
    same("transitivity", GRAPHS[name])
