"""Leiden's method: connected communities, modularity by other means, the same on every engine."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from hypothesis import given
from hypothesis import strategies as st
from label_tables import every_kind_of_row
from shapes import (
    FRAME_KINDS,
    SHAPES,
    build,
    column,
    edge_frame,
    frame,
    grid,
    random_edges,
    rmat,
    undirected,
)
from verify import Array, Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import louvain as algorithm
from cugraph_ws.backends.cpu.loops import louvain as on_cpu
from cugraph_ws.backends.cpu.loops import small_communities
from cugraph_ws.backends.cuda.loops import louvain as on_gpu

pytestmark = pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")
FEW = ("empty", "one vertex", "self-loops", "duplicates", "two components", "short path")


@pytest.fixture(autouse=True)
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_communities, "MOST_ROUNDS", 3)


def found(edges: Edges, **options: Any) -> tuple[Array, float]:
    with build(edges) as graph:
        table, quality = ws.leiden(graph, **options)
    return column(table, "partition"), quality


def check(edges: Edges, partition: Array, quality: float) -> None:
    both_ways = undirected(edges)
    expected = oracles.modularity(both_ways, partition)
    assert quality == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert (
        math.isnan(quality) or quality >= oracles.modularity(both_ways, np.arange(edges.n)) - 1e-9
    )
    check_connected(edges, partition)


def check_connected(edges: Edges, partition: Array) -> None:
    graph = nx.Graph(oracles.networkx_graph(undirected(edges)))
    for community in np.unique(partition):
        members = np.flatnonzero(partition == community).tolist()
        assert nx.is_connected(graph.subgraph(members))


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name: str, directed: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    check(edges, *found(edges))


@pytest.mark.parametrize(
    "edges",
    [
        undirected(rmat(9, 8, seed=5)),
        undirected(grid(24, 24, drop=0.2, seed=6)),
        undirected(random_edges(70, 300, seed=7, weights="uniform")),
    ],
    ids=["rmat", "grid", "uniform"],
)
def test_modularity_is_that_of_networkx(edges: Edges) -> None:
    """Against Louvain's, which is the only one of the two that NetworkX has."""
    ours = []
    for seed in range(3):
        partition, quality = found(edges, seed=seed)
        check(edges, partition, quality)
        ours.append(quality)
    theirs = nx.community.louvain_communities(oracles.networkx_graph(edges), seed=1)
    labels = np.zeros(edges.n, np.int64)
    for place, members in enumerate(theirs):
        labels[list(members)] = place
    expected = oracles.modularity(edges, labels)
    assert max(ours) >= 0.97 * expected
    assert min(ours) >= 0.92 * expected


@pytest.mark.parametrize("on_host", [0, 50], ids=["on the device", "small levels on the host"])
def test_a_gpu_gives_the_same(monkeypatch: pytest.MonkeyPatch, on_host: int) -> None:
    monkeypatch.setattr(algorithm, "ON_HOST", on_host)
    monkeypatch.setattr(algorithm, "ONE_BY_ONE", 8)
    monkeypatch.setattr(algorithm, "CLASSES", 4)
    monkeypatch.setattr(algorithm, "FIRST_CLASSES", 6)
    if on_host:
        monkeypatch.setattr(on_cpu, "ARCS_A_TASK", 1)
        monkeypatch.setenv("CUGRAPH_WS_THREADS", "2")
    else:
        every_kind_of_row(monkeypatch)
        monkeypatch.setattr(on_gpu, "MOST_NARROW", 10)  # some levels have more communities
    for place, name in enumerate((*FEW, "random sparse", "uniform weights")):
        edges = SHAPES[name] if place & 1 else undirected(SHAPES[name])
        with build(edges) as graph, emulated():
            expected, quality = ws.leiden(graph, hierarchy=True)
            table, again = ws.leiden(graph, hierarchy=True, engine="cuda")
        pd.testing.assert_frame_equal(table, expected)
        assert again == quality or math.isnan(quality)
        check(edges, column(table, "partition"), again)


def test_many_vertices_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Communities are connected also if all vertices move at the same time."""
    monkeypatch.setattr(algorithm, "ONE_BY_ONE", 0)
    for classes in (1, 2, 3):
        monkeypatch.setattr(algorithm, "CLASSES", classes)
        for name in ("grid", "random", "31 vertices"):
            check(SHAPES[name], *found(SHAPES[name]))


def test_a_community_that_falls_apart_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any refinement, the end alone must separate what is not connected."""
    monkeypatch.setattr(ws.Leiden, "_refined", lambda loop: np.arange(len(loop._label)))
    monkeypatch.setattr(algorithm, "ONE_BY_ONE", 0)
    monkeypatch.setattr(algorithm, "CLASSES", 1)
    for name in ("grid", "random", "31 vertices", "random sparse"):
        check(SHAPES[name], *found(SHAPES[name]))


def test_the_hierarchy_is_nested() -> None:
    edges = undirected(grid(12, 12, drop=0.1, seed=1))
    with build(edges) as graph:
        table, quality = ws.leiden(graph, hierarchy=True)
        assert ws.modularity(graph, table[["vertex", "partition"]]) == pytest.approx(quality)
        one, lower = ws.leiden(graph, 1)
        assert ws.modularity(graph, one) == pytest.approx(lower)
    levels = [name for name in table.columns if name.startswith("level_")]
    assert len(levels) > 1
    assert table[levels[-1]].tolist() == table.partition.tolist()
    for fine, coarse in pairwise(levels):
        assert (table.groupby(fine)[coarse].nunique() == 1).all()
        check_connected(edges, column(table, fine))


@given(
    st.integers(1, 10).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(*[st.integers(0, n - 1)] * 2, st.integers(0, 8)), max_size=30),
        )
    ),
    st.integers(0, 3),
)
def test_random_graphs(drawn: Any, seed: int) -> None:
    n, rows = drawn
    source, destination, weight = np.array(rows, np.int64).reshape(-1, 3).T
    edges = Edges(source, destination, n, weight / 8)
    check(edges, *found(edges, seed=seed))


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_text_ids(kind: str) -> None:
    edges = frame({"source": ["a", "d", "b"], "destination": ["b", "c", "a"]}, kind)
    table, quality = ws.leiden(edges)
    assert type(table) is type(edges)
    assert column(table, "partition").tolist() == [0, 0, 1, 1]
    assert quality == pytest.approx(4 / 9)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_a_stopped_run_resumes(tmp_path: Any, engine: Any) -> None:
    edges = edge_frame(grid(6, 5, drop=0.1, seed=4))
    path = tmp_path / "state.parquet"
    with emulated():
        whole = ws.run(ws.Leiden(), edges, engine=engine)
        for stop in range(1, whole.iterations):
            ws.run(
                ws.Leiden(),
                edges,
                engine=engine,
                progress=lambda update, last=stop: update.superstep < last,
                checkpoint=path,
            )
            resumed = ws.run(ws.Leiden(), edges, engine=engine, resume=path)
            assert resumed.frame.equals(whole.frame)
            assert resumed.residual == whole.residual
