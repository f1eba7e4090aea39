"""Sums of whole arrays over tiles: the bits of the rows."""

from __future__ import annotations

import pytest
from shapes import build, column, random_edges, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.accelerators.tiles import gathers, tiling


@pytest.mark.parametrize("weighted", [False, True])
def test_large_graphs_go_over_tiles_with_the_same_bits(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = undirected(random_edges(60, 400, 8))
    weight = edges.weight if weighted else None
    edges = Edges(edges.source, edges.destination, edges.n, weight, directed=False)
    with build(edges) as graph:
        expected = column(ws.eigenvector_centrality(graph, tol=1e-9), "eigenvector_centrality")
    for name, value in (("ROWS", 16), ("RANGES", 3), ("BLOCK_BITS", 3), ("MOST_BITS", 4)):
        monkeypatch.setattr(tiling, name, value)
    for name in ("LEAST_ARCS", "NEAR", "THIN", "NEW_LINES"):
        monkeypatch.setattr(gathers, name, 0)
    with build(edges) as graph:
        for _ in range(2):
            found = column(ws.eigenvector_centrality(graph, tol=1e-9), "eigenvector_centrality")
            assert graph.report.layouts["tiles"] > 0
            assert found.tobytes() == expected.tobytes()
