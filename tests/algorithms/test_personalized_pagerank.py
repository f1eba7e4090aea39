"""PageRank of many seeds in a batch: every seed's ranks are those of a run of its own."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from every_engine import answers
from shapes import SHAPES, build, edge_frame, random_edges, undirected
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.algorithms import personalized_pagerank as module

NAMES = [
    "one vertex",
    "star",
    "two components",
    "self-loops",
    "duplicates",
    "random sparse",
    "ties and zeros",
]


@pytest.fixture(autouse=True)
def _blocks_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WIDTH", 3)


def exact(edges: Any, seed: int) -> Any:
    """Return the ranks by solving the equations."""
    matrix = edges.matrix().toarray()
    out = matrix.sum(axis=1)
    walk = np.divide(matrix, out[:, None], out=np.zeros(matrix.shape), where=out[:, None] > 0)
    walk[out == 0, seed] = 1.0
    restart = np.zeros(edges.n)
    restart[seed] = 0.15
    return np.linalg.solve(np.eye(edges.n) - 0.85 * walk.T, restart)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_of_each_seed_are_exact(name: str, directed: bool, ranks: int) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    seeds = [edges.n - 1, *range(min(edges.n, 4))]
    expected = np.array([exact(edges, seed) for seed in seeds])

    def frame(**given: Any) -> pd.DataFrame:
        with build(edges) as graph:
            parts = on_ranks(
                ranks,
                lambda comm: ws.personalized_pagerank(
                    share(graph, comm), seeds, max_iter=300, tol=1e-10, **given
                ),
            )
        return pd.concat(parts, ignore_index=True)

    long = frame()  # the rows of a rank's vertices, one seed after the other
    long = long.assign(place=range(len(long))).sort_values(["vertex", "place"])
    assert long.seed.tolist() == seeds * edges.n
    assert np.allclose(long.pagerank.to_numpy().reshape(edges.n, -1).T, expected, atol=1e-8)
    columns = frame(format="columns")
    names = [f"pagerank_{place}" for place in range(len(seeds))]
    assert columns.columns.tolist() == ["vertex", *names]
    assert np.allclose(columns[names].to_numpy().T, expected, atol=1e-8)
    top = frame(top=3)
    rows = [
        (seed, rank)
        for seed, every in zip(seeds, expected.round(9), strict=True)
        for rank in np.sort(every)[::-1][:3]
        if rank > 0
    ]
    assert top.seed.tolist() == [seed for seed, _ in rows]
    assert np.allclose(top.pagerank, [rank for _, rank in rows], atol=1e-8)


@pytest.mark.parametrize("name", ["star", "two components", "self-loops"])
@pytest.mark.parametrize("top", [None, 2])
def test_engines_and_ranks_agree(name: str, top: int | None) -> None:
    given = {"top": top, "max_iter": 3, "fail_on_nonconvergence": False}
    edges = undirected(SHAPES[name]) if name == "star" else SHAPES[name]
    first, *others = answers(edges, ws.personalized_pagerank, [1, 0, 2, 3], **given)
    for other in others:
        # A rank's rows are those of its vertices, but with `top` of its seeds.
        other = (
            other
            if top
            else other.sort_values(
                "seed", key=lambda one: one.map([1, 0, 2, 3].index), kind="stable"
            )
        )
        assert other.seed.tolist() == first.seed.tolist()
        assert other.vertex.tolist() == first.vertex.tolist()
        assert np.allclose(other.pagerank, first.pagerank, atol=1e-14)


def test_a_batch_is_as_many_runs_of_pagerank() -> None:
    edges = undirected(random_edges(80, 300, seed=4))
    peer = oracles.networkx_graph(edges)
    seeds = list(range(7))
    with build(edges) as graph:
        frame = ws.personalized_pagerank(graph, seeds, 0.7, tol=1e-9)
        for seed in seeds:
            found = frame[frame.seed == seed].pagerank.to_numpy()
            at_seed = {seed: 1.0}
            alone = ws.pagerank(
                graph, 0.7, at_seed, nstart=at_seed, tol=1e-9, plan=ws.Plan(extrapolate="never")
            ).pagerank.to_numpy()
            assert np.abs(found - alone).max() < 1e-12
        expected = nx.pagerank(peer, 0.7, {3: 1.0}, tol=1e-12, max_iter=500)
        found = frame[frame.seed == 3].pagerank
    assert np.allclose(found, [expected[vertex] for vertex in range(edges.n)], atol=1e-8)


def test_ties_zeros_and_text() -> None:
    edges = pd.DataFrame({"source": ["m", "m", "m", "x"], "destination": ["c", "b", "a", "y"]})
    found = ws.personalized_pagerank(edges, ["m", "y"], top=5)
    assert found.seed.tolist() == ["m"] * 4 + ["y"]
    assert found.vertex.tolist() == ["m", "a", "b", "c", "y"]  # not those that get nothing
    assert ws.personalized_pagerank(edges, []).empty
    assert ws.personalized_pagerank(edges, [], top=2).empty


def test_runs_that_end_early() -> None:
    edges = edge_frame(random_edges(8, 60, seed=1))
    with pytest.raises(ws.ConvergenceError, match="4 seeds within max_iter=2") as caught:
        ws.personalized_pagerank(edges, [0, 1, 2, 3], max_iter=2)
    so_far = ws.personalized_pagerank(edges, [0, 1, 2, 3], max_iter=2, fail_on_nonconvergence=False)
    assert caught.value.result.frame.equals(so_far)
    assert np.allclose(so_far.groupby("seed").pagerank.sum(), 1.0)
    start = ws.personalized_pagerank(edges, [3], max_iter=0, fail_on_nonconvergence=False)
    assert start.pagerank.tolist() == [float(vertex == 3) for vertex in start.vertex]
    for given in ({"format": "columns"}, {"top": 1}, {}):
        calls: list[int] = []

        def go_on(update: Any, calls: list[int] = calls) -> bool:
            calls.append(0)
            return len(calls) < 70

        with pytest.raises(ws.ConvergenceError, match="callback") as caught:
            ws.personalized_pagerank(
                edges, [0, 1, 2, 3], max_iter=50, tol=0.0, progress=go_on, **given
            )
        frame = caught.value.result.frame
        if "format" in given:
            assert frame.pagerank_3.isna().all()
            assert not frame.pagerank_0.isna().any()
        else:
            assert set(frame.seed) == {0, 1, 2}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"seeds": 0}, "seeds"),
        ({"seeds": [99_999]}, "seeds"),
        ({"alpha": 1.5}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"top": 0}, "top"),
        ({"top": 2, "format": "columns"}, "top"),
        ({"format": "wide"}, "format"),
        ({"checkpoint": "a.parquet"}, "checkpoint"),
        ({"fail_on_nonconvergence": 1}, "fail_on"),
    ],
)
def test_refusals(given: dict[str, Any], text: str) -> None:
    edges = edge_frame(SHAPES["star"])
    with pytest.raises(ws.InputError, match=text):
        ws.personalized_pagerank(edges, **{"seeds": [0], **given})
    for weight in (-1.0, 1e-310):
        with pytest.raises(ws.InputError, match="weight"):
            ws.personalized_pagerank(edges.assign(weight=weight), [0])
