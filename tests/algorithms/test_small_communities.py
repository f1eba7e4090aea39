"""Communities of small graphs: never below the best of ten runs of NetworkX's Louvain method."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np
import pytest
from every_engine import the_answer
from oracles import modularity
from shapes import build
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import small_communities

# The dolphins of Doubtful Sound (Lusseau et al., 2003): each row has a vertex and its neighbours.
DOLPHINS = """
0 10 14 15 40 42 47; 1 17 19 26 27 28 36 41 54; 2 10 42 44 61; 3 8 14 59; 4 51; 5 9 13 56 57; 6
9 13 17 54 56 57; 7 19 27 30 40 54; 8 20 28 37 45 59; 9 13 17 32 41 57; 10 29 42 47; 11 51; 12
33; 13 17 32 41 54 57; 14 16 24 33 34 37 38 40 43 50 52; 15 18 24 40 45 55 59; 16 20 33 37 38
50; 17 22 25 27 31 57; 18 20 21 24 29 45 51; 19 30 54; 20 28 36 38 44 47 50; 21 29 33 37 45 51;
23 36 45 51; 24 29 45 51; 25 26 27; 26 27; 28 30 47; 29 35 43 45 51 52; 30 42 47; 32 60; 33 34
37 38 40 43 50; 34 37 44 49; 36 37 39 40 59; 37 40 43 45 61; 38 43 44 52 58; 39 57; 40 52; 41 54
57; 42 47 50; 43 46 53; 45 50 51 59; 46 49; 48 57; 50 51; 51 55; 53 61; 54 57
"""


def dolphins() -> nx.Graph:
    rows = [[int(word) for word in row.split()] for row in DOLPHINS.split(";")]
    return nx.Graph([(first, other) for first, *others in rows for other in others])


def random_graphs() -> Iterator[nx.Graph]:
    """Yield 200 graphs of 10 to 100 vertices: random, grown, of small worlds, planted, weighted."""
    drawn = np.random.default_rng(5)
    for seed in range(200):
        n = int(drawn.integers(10, 101))
        kind = seed % 5
        if kind == 0:
            yield nx.gnp_random_graph(n, float(drawn.uniform(1.5, 8.0)) / n, seed=seed)
        elif kind == 1:
            yield nx.barabasi_albert_graph(n, int(drawn.integers(1, 5)), seed=seed)
        elif kind == 2:
            yield nx.connected_watts_strogatz_graph(n, 4, 0.2, seed=seed)
        elif kind == 3:
            yield nx.gaussian_random_partition_graph(n, 10, 3, 0.5, 0.05, seed=seed)
        else:
            graph = nx.gnp_random_graph(n, 6.0 / n, seed=seed)
            for _, _, values in graph.edges(data=True):
                values["weight"] = int(drawn.integers(1, 10))
            yield graph


def known_graphs() -> Iterator[nx.Graph]:
    yield nx.karate_club_graph()
    yield dolphins()
    yield nx.les_miserables_graph()
    yield nx.florentine_families_graph()
    yield nx.davis_southern_women_graph()


def edges_of(graph: nx.Graph) -> Edges:
    numbered = nx.convert_node_labels_to_integers(graph)
    source, destination, weight = np.array([*numbered.edges(data="weight", default=1)]).T
    return Edges(source, destination, len(graph), weight, directed=False)


@pytest.mark.product
def test_modularity_is_not_below_the_best_of_networkx() -> None:
    for graph in chain(known_graphs(), random_graphs()):
        best = max(
            nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=seed))
            for seed in range(10)
        )
        edges = edges_of(graph)
        for function in (ws.louvain, ws.leiden):
            with build(edges) as built:
                frame, quality = function(built)
            assert quality >= best - 1e-12, (function, graph)
            expected = modularity(edges, frame.partition.to_numpy())
            assert quality == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("function", [ws.louvain, ws.leiden])
def test_a_search_gives_the_same_everywhere(function: Any) -> None:
    edges = Edges(
        np.array([0, 0, 1, 2, 3, 3, 4, 2]), np.array([1, 2, 2, 3, 4, 5, 5, 6]), 7, None, False
    )
    the_answer(edges, lambda graph, **options: function(graph, **options)[0])


def test_levels_that_a_user_limits_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    with build(edges_of(nx.karate_club_graph())) as graph:
        limited = ws.louvain(graph, 1)[0]
        monkeypatch.setattr(small_communities, "MOST_ARCS", 0)
        assert limited.equals(ws.louvain(graph, 1)[0])
