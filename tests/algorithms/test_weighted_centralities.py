"""Closeness and betweenness by lengths of edges: NetworkX's, on every engine and on ranks."""

from __future__ import annotations

import itertools
import random
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from every_engine import answers, the_answer
from shapes import SHAPES, build, column, edge_frame, grid, random_edges, rmat, undirected
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms.closeness import WeightedDistanceSums
from cugraph_ws.backends.cpu.loops import distance_sums

NAMES = ["one vertex", "star", "cycle", "two components", "short path", "33 vertices"]
FUNCTIONS: dict[Any, Any] = {
    ws.closeness_centrality: lambda peer: nx.closeness_centrality(peer, distance="weight"),
    ws.harmonic_centrality: lambda peer: nx.harmonic_centrality(peer, distance="weight"),
    ws.betweenness_centrality: lambda peer: nx.betweenness_centrality(peer, weight="weight"),
}


def simple(edges: Edges) -> Edges:
    """Return one edge between two vertices, with a weight from 1/4 to 1 where it had none."""
    ends = np.stack((edges.source, edges.destination))
    if not edges.directed:
        ends = np.sort(ends, axis=0)
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    weight = np.random.default_rng(7).integers(1, 5, ends.shape[1]) / 4
    return Edges(ends[0], ends[1], edges.n, weight, edges.directed)


GRAPHS = {
    **{name: simple(SHAPES[name]) for name in NAMES},
    **{f"{name}, undirected": simple(undirected(SHAPES[name])) for name in NAMES},
    "random": simple(random_edges(40, 160, seed=2)),
    "rmat, undirected": simple(undirected(rmat(5, 4, seed=3))),
    "grid, undirected": simple(undirected(grid(5, 6, 0.0, seed=1))),
}


def peer_of(edges: Edges) -> Any:
    kind = nx.DiGraph if edges.directed else nx.Graph
    return kind(oracles.networkx_graph(edges))


def on_all(edges: Edges, ranks: int, function: Any, **given: Any) -> pd.DataFrame:
    """Call a function on ranks, and return the rows of all."""
    with build(edges) as graph:
        return pd.concat(
            on_ranks(ranks, lambda comm: function(share(graph, comm), weighted=True, **given))
        )


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("ranks", [1, 3])
def test_values_are_those_of_networkx(name: str, ranks: int) -> None:
    edges = GRAPHS[name]
    peer = peer_of(edges)
    for function, oracle in FUNCTIONS.items():
        expected = oracle(peer)
        for k in (None, edges.n):
            values = on_all(edges, ranks, function, k=k)[function.__name__]
            np.testing.assert_allclose(values, [expected[v] for v in range(edges.n)], atol=1e-12)
    expected = nx.edge_betweenness_centrality(peer, weight="weight")
    found = on_all(edges, ranks, ws.edge_betweenness_centrality)
    for row in found.itertuples():
        assert np.isclose(row.betweenness_centrality, expected[row.source, row.destination])


@pytest.mark.parametrize("name", ["two components", "star, undirected"])
@pytest.mark.parametrize(
    ("function", "given"),
    [
        (ws.closeness_centrality, {"vertices": [2, 0]}),
        (ws.harmonic_centrality, {"k": 2, "normalized": True}),
        (ws.betweenness_centrality, {"endpoints": True}),
        (ws.edge_betweenness_centrality, {"k": 2}),
    ],
    ids=["closeness", "harmonic", "betweenness", "of edges"],
)
def test_engines_and_ranks_agree(name: str, function: Any, given: dict[str, Any]) -> None:
    first, *others = answers(GRAPHS[name], function, weighted=True, **given)
    for other in others:
        pd.testing.assert_frame_equal(other, first, rtol=1e-12)


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_a_gpu_searches_from_more_sources_at_once_than_it_adds_up(directed: bool) -> None:
    n = 36
    chord = np.arange(0, n, 3)
    ends = np.arange(n), (np.arange(n) + 1) % n
    source, destination = np.append(ends[0], chord), np.append(ends[1], (chord + 7) % n)
    weight = np.random.default_rng(3).integers(1, 5, len(source)) / 4
    edges = Edges(source, destination, n, weight, directed)
    with emulated(), build(edges) as graph:
        found, expected = (
            ws.edge_betweenness_centrality(graph, weighted=True, engine=one)
            for one in ("cuda", "cpu")
        )
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12)


def test_parallel_edges_and_lengths_of_one_are_as_without_lengths() -> None:
    edges = SHAPES["duplicates"]
    plain = Edges(edges.source, edges.destination, edges.n, np.ones(len(edges.source)))
    with build(plain) as graph:
        for function in FUNCTIONS:
            pd.testing.assert_frame_equal(function(graph, weighted=True), function(graph))


@pytest.mark.parametrize("function", [ws.betweenness_centrality, ws.edge_betweenness_centrality])
def test_lengths_that_are_lost_beside_distances_are_left_to_array_operations(function: Any) -> None:
    """1e16 + 1 is 1e16, so that 3 is as far as 2, and both before and after it in an order by distance."""
    source, destination = np.array([[0, 1], [1, 3], [1, 2], [3, 2], [2, 4]]).T
    weight = np.array([1e16, 1.0, 1.0, 1.0, 4e16])
    with build(Edges(source, destination, 5, weight, True)) as graph:
        found = column(function(graph, normalized=False, weighted=True), "betweenness_centrality")
    if function is ws.betweenness_centrality:
        assert found.tolist() == [0.0, 3.0, 3.0, 1.0, 0.0]
    else:
        assert found.tolist() == [4.0, 3.0, 3.0, 3.0, 4.0]


@pytest.mark.parametrize("given", [{}, {"k": 30}], ids=["of all", "from a sample"])
@pytest.mark.parametrize("function", [ws.closeness_centrality, ws.harmonic_centrality])
@pytest.mark.parametrize("name", ["33 vertices", "grid, undirected", "random"])
def test_searches_with_a_heap_find_what_array_operations_find(
    name: str, function: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are interrupted after each vertex, and sums are the same bits for any number of threads."""
    found = {}
    with build(GRAPHS[name]) as graph:
        for threads in ("1", "3"):
            with monkeypatch.context() as patched:
                patched.setenv("CUGRAPH_WS_THREADS", threads)
                patched.setattr(distance_sums, "ARCS_AT_ONCE", 1)
                found[threads] = function(graph, weighted=True, **given)
        step = WeightedDistanceSums._step_in_arrays
        monkeypatch.setattr(WeightedDistanceSums, "_step_on_one_cpu", step)
        expected = function(graph, weighted=True, **given)
    pd.testing.assert_frame_equal(found["1"], expected, rtol=1e-12)
    assert found["3"].equals(found["1"])


def test_lengths_of_zero_reach_but_do_not_count_in_harmonic_sums() -> None:
    edges = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"], "km": [0, 2]})
    given = {"weight": "km", "weighted": True}
    assert ws.harmonic_centrality(edges, **given).harmonic_centrality.tolist() == [0, 0, 1.0]
    assert ws.closeness_centrality(edges, **given).closeness_centrality.tolist() == [0, 0, 0.5]
    with pytest.raises(ws.InputError, match="above 0"):
        ws.betweenness_centrality(edges, **given)
    with pytest.raises(ws.InputError, match="0 or more"):
        ws.closeness_centrality(edges.assign(km=-1.0), **given)


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_greatest_harmonic_centrality_is_one(size: int, weighted: bool) -> None:
    """All others are one edge away, if there are others."""
    pairs = [*itertools.permutations(range(size), 2)]
    edges = pd.DataFrame(pairs, columns=["source", "destination"]).assign(weight=1.0)
    vertices = pd.DataFrame({"vertex": range(size)})
    with ws.Graph(edges.astype({"source": int, "destination": int}), vertices=vertices) as graph:
        centralities = ws.harmonic_centrality(graph, normalized=True, weighted=weighted)
    assert centralities["harmonic_centrality"].tolist() == [float(size > 1)] * size


def test_refusals_and_checkpoints(tmp_path: Any) -> None:
    edges = edge_frame(GRAPHS["short path"])
    for function in (*FUNCTIONS, ws.edge_betweenness_centrality):
        with pytest.raises(ws.InputError, match="no weights"):
            function(edges[["source", "destination"]], weighted=True)
        with pytest.raises(ws.InputError, match="weighted"):
            function(edges, weighted=1)
        with pytest.raises(ws.InputError, match="sums of such weights"):
            function(edges.assign(weight=1e308), weighted=True)
    absorbed = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 1], "weight": 1e-9})
    absorbed.loc[0, "weight"] = 1e9
    with pytest.raises(ws.InputError, match="too small to change a distance"):
        ws.betweenness_centrality(absorbed, weighted=True)
    doubled = pd.DataFrame({"source": np.repeat(range(1100), 2), "weight": 1.0})
    doubled["destination"] = doubled.source + 1
    with pytest.raises(ws.InputError, match="float64 can count"):
        ws.betweenness_centrality(doubled, [0], weighted=True)
    path = tmp_path / "state.parquet"
    with build(GRAPHS["random"]) as graph:
        for function in (ws.betweenness_centrality, ws.harmonic_centrality):
            with pytest.raises(ws.ConvergenceError):
                function(
                    graph,
                    weighted=True,
                    checkpoint=path,
                    progress=lambda update: update.superstep < 1,
                )
            resumed = function(graph, weighted=True, resume=path)
            assert resumed.equals(function(graph, weighted=True))


class Given(random.Random):
    """NetworkX's source of random samples, which gives the wanted vertices."""

    def __init__(self, vertices: list[int]) -> None:
        super().__init__(0)
        self.vertices = vertices

    def sample(self, population: Any, k: int, **options: Any) -> list[int]:
        assert k == len(self.vertices)
        return self.vertices


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_sampled_betweenness_is_scaled_as_networkx_does(
    directed: bool, weighted: bool, k: int
) -> None:
    edges = random_edges(20, 60, seed=k)
    edges = simple(edges if directed else undirected(edges))
    peer, length = peer_of(edges), "weight" if weighted else None
    sources = np.random.default_rng(k).permutation(20)[:k].tolist()
    for normalized, endpoints in itertools.product([True, False], repeat=2):
        expected = nx.betweenness_centrality(
            peer, k, normalized, length, endpoints=endpoints, seed=Given(sources)
        )
        given = {"k": sources, "normalized": normalized, "weighted": weighted}
        through_edges = nx.edge_betweenness_centrality(
            peer, k, normalized, length, seed=Given(sources)
        )
        frames = answers(edges, ws.betweenness_centrality, endpoints=endpoints, **given)
        with build(edges) as graph:
            found = ws.edge_betweenness_centrality(graph, **given)
        for frame in frames:
            values = frame.betweenness_centrality.astype("float64").to_numpy()
            np.testing.assert_allclose(values, [expected[v] for v in range(20)], atol=1e-12)
            if k == 1 and not endpoints:
                assert frame.betweenness_centrality.isna().tolist() == [
                    v in sources for v in range(20)
                ]
        for row in found.itertuples():
            assert np.isclose(
                row.betweenness_centrality, through_edges[row.source, row.destination]
            )


def test_the_centre_of_a_star_from_one_leaf() -> None:
    star = Edges(np.zeros(4, np.int64), np.arange(1, 5), 5, None, False)
    found = the_answer(star, ws.betweenness_centrality, [1])
    assert found.betweenness_centrality.fillna(-1.0).tolist() == [1.0, -1.0, 0.0, 0.0, 0.0]
