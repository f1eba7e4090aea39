"""Link prediction through NetworkX, beside NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from networkx_calls import GRAPHS, outcome

FUNCTIONS = ["jaccard_coefficient", "adamic_adar_index"]


@pytest.mark.parametrize("name", ["undirected", "connected", "no edges"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_pairs(name: str, function: str) -> None:
    nodes = list(GRAPHS[name])
    pairs = list(zip(nodes, reversed(nodes), strict=True))
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    expected = outcome(function, GRAPHS[name], "networkx", {"ebunch": pairs})
    actual = outcome(function, GRAPHS[name], "cugraph_ws", {"ebunch": iter(pairs)})
    assert [row[:2] for row in actual] == pairs
    assert [row[2] for row in actual] == pytest.approx([row[2] for row in expected])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_pairs_that_are_not_taken(function: str) -> None:
    graph = GRAPHS["undirected"]
    assert outcome(function, graph, "cugraph_ws", {"ebunch": []}) == []
    assert outcome(function, graph, "cugraph_ws", {"ebunch": [("z", "?")]}) is nx.NodeNotFound
    assert outcome(function, graph, "cugraph_ws", {"ebunch": [("z", "z")]}) is NotImplementedError
    assert outcome(function, graph, "cugraph_ws", {}) is NotImplementedError
    looped = GRAPHS["loops"]
    assert outcome(function, looped, "cugraph_ws", {"ebunch": [("z", "y")]}) is NotImplementedError
