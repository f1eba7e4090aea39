"""Communities through NetworkX, beside NetworkX's own."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from networkx_calls import GRAPHS, outcome, same

CLUB = GRAPHS["connected"]


@pytest.mark.parametrize("function", ["louvain_communities", "leiden_communities"])
@pytest.mark.parametrize("name", ["connected", "multigraph", "no edges"])
def test_communities_are_a_good_partition(function: str, name: str) -> None:
    graph = GRAPHS[name]
    sets = outcome(function, graph, "cugraph_ws", {})
    assert nx.community.is_partition(graph, sets)
    assert sets == outcome(function, graph, "cugraph_ws", {"seed": 3})
    if graph.number_of_edges():
        reference = nx.community.louvain_communities(graph, seed=1)
        quality = nx.community.modularity
        assert quality(graph, sets) >= quality(graph, reference) - 0.01


@pytest.mark.parametrize("function", ["louvain_communities", "leiden_communities"])
def test_levels_must_be_positive(function: str) -> None:
    assert outcome(function, CLUB, "cugraph_ws", {"max_level": 0}) is ValueError


@pytest.mark.parametrize("name", [name for name, graph in GRAPHS.items() if graph.size()])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_modularity(name: str, weight: str | None) -> None:
    nodes = list(GRAPHS[name])
    parts = [set(nodes[::2]), set(nodes[1::2])]
    same("modularity", GRAPHS[name], communities=parts, weight=weight, resolution=0.7)


@pytest.mark.parametrize("parts", [[[1, 2]], [set(CLUB), {1}], [set(CLUB) - {3}, {"no node"}]])
def test_modularity_of_no_partition(parts: Any) -> None:
    error = same("modularity", CLUB, communities=parts)
    assert error is nx.community.quality.NotAPartition


def test_modularity_without_edges() -> None:
    assert same("modularity", GRAPHS["no edges"], communities=[set("abc")]) is ZeroDivisionError
