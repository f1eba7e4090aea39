"""Weighted projections through NetworkX, beside NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from networkx.algorithms.bipartite import weighted_projected_graph

WOMEN = nx.davis_southern_women_graph()
SIDES = {
    "women": WOMEN.graph["top"],
    "events, a set": set(WOMEN.graph["bottom"]),
}
REFUSED = {
    "all": list(WOMEN),
    "none": [],
    "a node twice": WOMEN.graph["top"] * 2,
    "no node of the graph": ["nobody"],
    "some of a side": WOMEN.graph["top"][:1],
    "both sides": [*WOMEN.graph["top"], "E1"],
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("ratio", [False, True])
def test_weighted_projection(side: str, ratio: bool) -> None:
    expected = weighted_projected_graph(WOMEN, SIDES[side], ratio=ratio)
    with nx.config(warnings_to_ignore={"cache"}):
        actual = weighted_projected_graph(WOMEN, SIDES[side], ratio=ratio, backend="cugraph_ws")
    assert nx.utils.graphs_equal(actual, expected)
    assert list(actual) == list(expected)


@pytest.mark.parametrize("nodes", REFUSED)
def test_other_nodes_are_left_to_networkx(nodes: str) -> None:
    with nx.config(warnings_to_ignore={"cache"}), pytest.raises(NotImplementedError):
        weighted_projected_graph(WOMEN, REFUSED[nodes], backend="cugraph_ws")
