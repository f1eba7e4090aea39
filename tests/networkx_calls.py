"""Calls of NetworkX through the backend and without it, on small graphs of every kind."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import pytest

__all__ = ["GRAPHS", "outcome", "same"]


def _graph(kind: type[nx.Graph], *, loops: bool = False) -> nx.Graph:
    """Return a graph with text, tuples and numbers as nodes, some of them without edges."""
    draw = random.Random(5)
    nodes = [*"zyxwvutsrq", *range(20, 10, -1), *((i, i) for i in range(5))]
    graph = kind()
    graph.add_nodes_from(nodes)
    for _ in range(70):
        first, second = draw.choice(nodes[:-2]), draw.choice(nodes[:-2])
        if loops or first != second:
            graph.add_edge(first, second, weight=draw.randrange(1, 9))
    return graph


GRAPHS = {
    "undirected": _graph(nx.Graph),
    "directed": _graph(nx.DiGraph),
    "multigraph": _graph(nx.MultiGraph),
    "directed multigraph": _graph(nx.MultiDiGraph),
    "loops": _graph(nx.Graph, loops=True),
    "connected": nx.karate_club_graph(),
    "cycle": nx.DiGraph(nx.cycle_graph(range(7, 0, -1), nx.DiGraph)),
    "no edges": nx.empty_graph("abc"),
    "null": nx.Graph(),
}


def outcome(name: str, graph: nx.Graph, backend: str, arguments: Mapping[str, Any]) -> Any:
    """Return what a function returns, or the class of its error; of a generator what it yields."""
    function = getattr(nx, name, None) or getattr(nx.community, name)
    with nx.config(warnings_to_ignore={"cache"}):
        try:
            result = function(graph, **arguments, backend=backend)
            return list(result) if isinstance(result, Iterator) else result
        except Exception as error:
            return type(error)


def same(name: str, graph: nx.Graph, *, tolerance: float = 1e-12, **arguments: Any) -> Any:
    """Check that a function has NetworkX's result, or error, in the order of NetworkX; return it."""
    expected = outcome(name, graph, "networkx", arguments)
    actual = outcome(name, graph, "cugraph_ws", arguments)
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        assert actual == pytest.approx(expected, rel=tolerance, abs=tolerance)
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=tolerance)
    else:
        assert actual == expected
    assert isinstance(actual, (int, float)) or type(actual) is type(expected)
    return actual
