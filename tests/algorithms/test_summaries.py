"""Numbers that summarise a graph, on every engine and on ranks, against NetworkX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NetworkX divides by zero

WAYS = [("cpu", 1), ("cuda", 1), ("cpu", 3), ("cuda", 2)]
GRAPHS = {
    **{name: edges for name, edges in SHAPES.items() if edges.n < 200},
    **{f"{name}, undirected": undirected(edges) for name, edges in SHAPES.items() if edges.n < 200},
}
SOME = [
    "empty",
    "all isolated",
    "star, undirected",
    "self-loops",
    "self-loops, undirected",
    "duplicates",
    "random",
]


def numbers(edges: Edges, way: tuple[str, int], function: Callable[..., Any], **given: Any) -> Any:
    """Call a function on an engine, on so many ranks, each of which must return the same number."""
    engine, ranks = way
    with emulated(), build(edges) as graph:
        if ranks == 1:
            return function(graph, engine=engine, **given)
        found = on_ranks(ranks, lambda comm: function(share(graph, comm), engine=engine, **given))
    assert all(value == found[0] or math.isnan(value) for value in found)
    return found[0]


def simple(edges: Edges) -> nx.Graph:
    """Return the graph without parallel edges."""
    return (nx.DiGraph if edges.directed else nx.Graph)(oracles.networkx_graph(edges))


def check(edges: Edges, way: tuple[str, int]) -> None:
    graph = oracles.networkx_graph(edges)
    assert numbers(edges, way, ws.density) == pytest.approx(nx.density(graph))
    triangles = nx.transitivity(nx.Graph(graph))
    assert numbers(edges, way, ws.transitivity) == pytest.approx(triangles)
    if edges.n:
        coefficients = oracles.clustering(edges)
        mean = numbers(edges, way, ws.average_clustering)
        assert mean == pytest.approx(coefficients.mean())
        if coefficients.any():
            mean = numbers(edges, way, ws.average_clustering, count_zeros=False)
            assert mean == pytest.approx(coefficients[coefficients > 0].mean())
    expected = nx.degree_assortativity_coefficient(graph)
    found = numbers(edges, way, ws.assortativity)
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)
    if edges.directed and len(edges.source):
        both = nx.overall_reciprocity(simple(edges))
        assert numbers(edges, way, ws.reciprocity) == pytest.approx(both)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_shape(name: str) -> None:
    check(GRAPHS[name], ("cpu", 1))


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("way", WAYS[1:], ids=lambda way: f"{way[0]} {way[1]}")
def test_engines_and_ranks(name: str, way: tuple[str, int]) -> None:
    check(GRAPHS[name], way)


def test_an_undirected_mean_is_networkxs() -> None:
    edges = undirected(SHAPES["random"])
    mean = numbers(edges, ("cpu", 1), ws.average_clustering)
    assert mean == pytest.approx(nx.average_clustering(simple(edges)))


def test_degrees_that_do_not_vary_are_not_correlated() -> None:
    ring = pd.DataFrame({"source": np.arange(9), "destination": (np.arange(9) + 1) % 9})
    for directed in (True, False):
        assert math.isnan(ws.assortativity(ring, directed=directed))


def test_what_is_refused() -> None:
    edges = pd.DataFrame({"source": ["a"], "destination": ["b"]})
    alone = pd.DataFrame({"vertex": ["a", "b"]})
    with ws.Graph(edges[:0], vertices=alone) as graph:
        with pytest.raises(
            ws.InputError, match="2 vertices and no edges is undefined; give a graph"
        ):
            ws.reciprocity(graph)
        assert ws.density(graph) == ws.transitivity(graph) == ws.average_clustering(graph) == 0.0
        with pytest.raises(ws.InputError, match="count_zeros=False: no vertex counts among the 2"):
            ws.average_clustering(graph, count_zeros=False)
    with pytest.raises(ws.InputError, match=r"directed=False: every edge .* give directed=True"):
        ws.reciprocity(edges, directed=False)
    for function in (ws.density, ws.reciprocity, ws.assortativity):
        with pytest.raises(ws.InputError, match="checkpoint=: this number has no checkpoints"):
            function(edges, checkpoint="x.npz")
