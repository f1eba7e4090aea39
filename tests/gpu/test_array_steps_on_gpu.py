"""Algorithms in whole-array steps on a GPU, by CuPy's functions, against the CPU's, by NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shapes import SHAPES, build, random_edges, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.runtime.device import has_device

if not has_device():
    pytest.skip("there is no GPU", allow_module_level=True)
pytest.importorskip("cupy")

GRAPHS = {
    "all isolated": SHAPES["all isolated"],
    "one edge": Edges(np.array([0]), np.array([1]), 3, np.array([2.0])),
    "self-loops": SHAPES["self-loops"],
    "rmat": rmat(10, 6, seed=3),
    "sparse": random_edges(3_000, 3_300, seed=5),
}
EXACT: dict[str, dict[str, Any]] = {
    "articulation_points": {},
    "bridges": {},
    "coloring": {"seed": 2},
    "label_propagation": {"seed": 2},
    "maximal_independent_set": {},
    "minimum_spanning_forest": {},
    "strongly_connected_components": {},
}
LENGTHS = {"weighted": True, "k": 70}  # sources, or as many as there are vertices
CLOSE: dict[str, dict[str, Any]] = {
    "betweenness_centrality": LENGTHS,
    "closeness_centrality": LENGTHS,
    "edge_betweenness_centrality": LENGTHS,
    "harmonic_centrality": {"weighted": True, "vertices": [1, 0]},
    "personalized_pagerank": {"seeds": [1, 0, 2], "tol": 1e-12, "max_iter": 500},
}


def weighted(name: str, directed: bool) -> Edges:
    """Return a graph whose weights are 1 to 8."""
    edges = GRAPHS[name] if directed else undirected(GRAPHS[name])
    weight = np.random.default_rng(1).integers(1, 9, len(edges.source)).astype(np.float64)
    return Edges(edges.source, edges.destination, edges.n, weight, directed)


@pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_functions(name: str, graph: str, directed: bool) -> None:
    function, edges = getattr(ws, name), weighted(graph, directed)
    given = {**EXACT, **CLOSE}[name]
    if "k" in given:
        given = {**given, "k": min(given["k"], edges.n)}
    with build(edges) as built:
        found, expected = (function(built, **given, engine=one) for one in ("cuda", "cpu"))
    if name in EXACT:
        pd.testing.assert_frame_equal(found, expected)
    else:
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("top", [1, 5])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_highest_ranks(graph: str, top: int) -> None:
    with build(weighted(graph, True), weighted=False) as built:
        given = {"seeds": [2, 0, 1], "tol": 1e-12, "max_iter": 500, "top": top}
        found, expected = (
            ws.personalized_pagerank(built, **given, engine=engine) for engine in ("cuda", "cpu")
        )
    assert found.seed.tolist() == expected.seed.tolist()
    np.testing.assert_allclose(found.pagerank, expected.pagerank, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, None])
@pytest.mark.parametrize("name", ["many edges", "equal weights", "chain"])
def test_spanning_forests(name: str, dtype: Any) -> None:
    """Light edges first; many ties; a chain of 100,000 vertices that all join in one round."""
    n = 100_000
    edges = (
        Edges(np.arange(n - 1), np.arange(1, n), n, None) if name == "chain" else rmat(13, 40, 3)
    )
    count = len(edges.source)
    drawn = {"many edges": np.random.default_rng(2).random(count), "chain": np.arange(count)}
    weight = drawn.get(name, np.ones(count))
    if dtype is np.int64 and name == "many edges":
        weight = weight * 1e6
    given = None if dtype is None else weight.astype(dtype)
    with build(Edges(edges.source, edges.destination, edges.n, given)) as graph:
        found, expected = (
            ws.minimum_spanning_forest(graph, engine=engine) for engine in ("cuda", "cpu")
        )
    pd.testing.assert_frame_equal(found, expected)
