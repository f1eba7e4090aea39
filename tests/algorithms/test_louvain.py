"""Louvain's method: its modularity by other means and against NetworkX, the same on every engine."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse
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
from cugraph_ws.backends import loops
from cugraph_ws.backends.cpu.loops import louvain as on_cpu
from cugraph_ws.backends.cpu.loops import small_communities

pytestmark = pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")
FEW = ("empty", "one vertex", "self-loops", "duplicates", "two components", "short path", "path")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let even small graphs be cut into several tasks, and be searched briefly."""
    monkeypatch.setattr(on_cpu, "ARCS_A_TASK", 16)
    monkeypatch.setattr(small_communities, "MOST_ROUNDS", 3)


def found(edges: Edges, **options: Any) -> tuple[Array, float]:
    with build(edges) as graph:
        table, quality = ws.louvain(graph, **options)
    return column(table, "partition"), quality


def check(edges: Edges, partition: Array, quality: float, resolution: float = 1.0) -> None:
    """Check the numbers of communities and the modularity, which isolation does not beat."""
    both_ways = undirected(edges)
    expected = oracles.modularity(both_ways, partition, resolution)
    assert quality == pytest.approx(expected, abs=1e-9, nan_ok=True)
    _, first = np.unique(partition, return_index=True)
    assert (np.diff(first) > 0).all()
    assert partition[first].tolist() == list(range(len(first)))
    alone = oracles.modularity(both_ways, np.arange(edges.n), resolution)
    assert math.isnan(quality) or quality >= alone - 1e-12


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name: str, directed: bool) -> None:
    """The direction of edges does not matter, if no edge is turned around."""
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    check(edges, *found(edges))


@pytest.mark.parametrize("resolution", [0.25, 2.0])
@pytest.mark.parametrize("name", ["grid", "self-loops", "uniform weights"])
def test_a_resolution(name: str, resolution: float) -> None:
    check(SHAPES[name], *found(SHAPES[name], resolution=resolution), resolution)


def graphs() -> dict[str, Edges]:
    known = {
        "karate": nx.karate_club_graph(),
        "planted": nx.planted_partition_graph(10, 30, 0.3, 0.01, seed=1),
        "small world": nx.watts_strogatz_graph(500, 6, 0.1, seed=2),
        "attachment": nx.barabasi_albert_graph(400, 3, seed=3),
    }
    made = {
        name: Edges(*np.array(list(one.edges), np.int64).T, len(one), None, False)
        for name, one in known.items()
    }
    return {
        **made,
        "rmat": undirected(rmat(9, 8, seed=5)),
        "grid": undirected(grid(24, 24, drop=0.2, seed=6)),
        "random": undirected(random_edges(60, 240, seed=3)),
        "uniform": undirected(random_edges(70, 300, seed=7, weights="uniform")),
    }


@pytest.mark.parametrize("name", graphs())
def test_modularity_is_that_of_networkx(name: str) -> None:
    edges = graphs()[name]
    ours = [found(edges, seed=seed)[1] for seed in range(3)]
    graph = oracles.networkx_graph(edges)
    theirs = [
        oracles.modularity(edges, labelled(nx.community.louvain_communities(graph, seed=seed)))
        for seed in range(3)
    ]
    assert max(ours) >= 0.97 * max(theirs)
    assert min(ours) >= 0.9 * max(theirs)


def labelled(communities: Any) -> Array:
    labels = np.zeros(sum(map(len, communities)), np.int64)
    for place, members in enumerate(communities):
        labels[list(members)] = place
    return labels


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
    for place, name in enumerate((*FEW, "random sparse", "uniform weights")):
        edges = SHAPES[name] if place & 1 else undirected(SHAPES[name])
        with build(edges) as graph, emulated():
            expected, quality = ws.louvain(graph, hierarchy=True)
            table, again = ws.louvain(graph, hierarchy=True, engine="cuda")
        pd.testing.assert_frame_equal(table, expected)
        assert again == quality or math.isnan(quality)


def test_the_hierarchy_is_nested() -> None:
    with build(undirected(grid(12, 12, drop=0.1, seed=1))) as graph:
        table, quality = ws.louvain(graph, hierarchy=True)
        first, _ = ws.louvain(graph, 1)
        assert ws.modularity(graph, table[["vertex", "partition"]]) == pytest.approx(quality)
    levels = [name for name in table.columns if name.startswith("level_")]
    assert len(levels) > 1
    pairs = pd.MultiIndex.from_arrays([first.partition, table.partition])
    assert table[levels[0]].tolist() == pd.factorize(pairs)[0].tolist()
    assert table[levels[-1]].tolist() == table.partition.tolist()
    for fine, coarse in pairwise(levels):
        assert (table.groupby(fine)[coarse].nunique() == 1).all()


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
    table, quality = ws.louvain(edges)
    assert type(table) is type(edges)
    assert column(table, "vertex").tolist() == list("abcd")
    assert column(table, "partition").tolist() == [0, 0, 1, 1]
    assert quality == pytest.approx(4 / 9)


def test_a_stopped_run_resumes(tmp_path: Any) -> None:
    edges = edge_frame(grid(9, 9, drop=0.1, seed=4))
    path = tmp_path / "state.parquet"
    whole = ws.run(ws.Louvain(), edges)
    for stop in (1, whole.iterations - 1):
        ws.run(
            ws.Louvain(),
            edges,
            progress=lambda update, last=stop: update.superstep < last,
            checkpoint=path,
        )
        resumed = ws.run(ws.Louvain(), edges, resume=path)
        assert resumed.frame.equals(whole.frame)
        assert resumed.residual == whole.residual


@given(st.lists(st.integers(0, 9), max_size=10))
def test_labels_without_gaps(drawn: list[int]) -> None:
    labels = np.array([label % len(drawn) for label in drawn], np.int64)
    expected, inverse = np.unique(labels, return_inverse=True)
    got, count = algorithm.without_gaps(np, labels)
    assert got.dtype == np.int64
    assert (got.tolist(), count) == (inverse.tolist(), len(expected))


def test_what_is_refused() -> None:
    edges = edge_frame(random_edges(9, 20, seed=3))
    for options in ({"max_level": 0}, {"threshold": -1}, {"resolution": 0}, {"seed": -1}):
        with pytest.raises(ws.InputError, match=next(iter(options))):
            ws.louvain(edges, **options)
    with pytest.raises(ws.InputError, match="weights must be 0 or more"):
        ws.louvain(edges.assign(weight=-1.0))


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("name", ["random", "rmat", "all isolated", "two components", "clique"])
def test_levels_are_those_of_sorted_arcs(name: str, on_device: bool) -> None:
    """The first level of a simple graph is read from its rows; merged ones sort each edge once."""
    simple = oracles.igraph_graph(undirected(SHAPES[name])).simplify()
    ends = np.array(simple.get_edgelist(), np.int64).reshape(-1, 2).T
    rng = np.random.default_rng(7)
    with build(Edges(*ends, SHAPES[name].n, None, directed=False)) as graph:
        loop = ws.Louvain()
        loop.start(graph)
        level, count = loop._level, graph.number_of_vertices
        sorted_arcs = algorithm.contract(np, *algorithm.both_ways(loop._part), count)
        assert not level.weighted
        for one, other in zip(level._replace(weighted=True), sorted_arcs, strict=True):
            np.testing.assert_array_equal(one, other)
        dense, most = algorithm.without_gaps(np, rng.integers(0, count, count) // 3)
        loops_of = level.degrees - algorithm.row_sums(np, level.weights, level.offsets)
        weighs = (level.sources + level.indices) % 3 > 0  # some weigh nothing
        weights = np.where(weighs, 2 * level.weights, 0)
        totals = algorithm.row_sums(np, weights, level.offsets)
        level = level._replace(weights=weights, degrees=totals + loops_of, weighted=True)
        with emulated():
            backend = loops("louvain", on_device=on_device)
            merged = algorithm.merge(np, backend, level, dense, most, int(level.degrees.sum()))
            again = algorithm.merge(
                np, backend, merged, np.zeros(most, np.int64), 1, int(level.degrees.sum())
            )
        expected = algorithm.contract(
            np,
            np.concatenate([dense[level.sources], dense]),
            np.concatenate([dense[level.indices], dense]),
            np.concatenate([level.weights, loops_of]),
            most,
        )
        for one, other in zip(merged, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert again.inside == level.degrees.sum() == again.degrees.sum()


def test_later_sweeps_look_near_moves() -> None:
    with build(grid(30, 30, 0.05, seed=2)) as graph:
        active = ws.run(ws.Louvain(), graph).trace["active"].to_numpy()
    assert active[0] == 900
    assert (active[1:4] < 900).all()


def test_arcs_without_weight_are_merged_too() -> None:
    """They leave a sum at 0, so a community is listed anew for each, and the list is cut meanwhile."""
    count = 12
    source, target = (one.ravel() for one in np.indices((count, count)))
    apart = source != target
    source, target = source[apart], target[apart]
    weights = np.where((source + target) % 5 == 0, 3, 0)
    rows = np.arange(0, count * count, count - 1), target, weights
    labels = np.arange(count) // 6
    found = on_cpu.merged(rows, source, labels, 2, weighted=True)
    sums = weights[labels[source] < labels[target]].sum()
    assert [one.tolist() for one in found] == [[0, 1, 2], [1, 0], [sums, sums]]
    with emulated():
        expected = loops("louvain", on_device=True).merged(rows, source, labels, 2, weighted=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_vertices_move_once_more_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the levels find is worse, and no better than with one level less than they need."""
    planted = nx.planted_partition_graph(30, 40, 0.1, 0.002, seed=4)
    ends = np.array(list(planted.edges), np.int64).T
    edges = Edges(*ends, len(planted), None, directed=False)
    with build(edges) as graph:
        _, quality = ws.louvain(graph)
        table, cut = ws.louvain(graph, 2, hierarchy=True)
        monkeypatch.setattr(ws.Louvain, "_begin_final_moves", lambda loop: loop._end(loop._member))
        _, before = ws.louvain(graph)
        plain, less = ws.louvain(graph, 2, hierarchy=True)
    assert quality > 1.02 * before
    assert cut > less
    assert table.level_0.nunique() >= plain.level_0.nunique()


def test_a_large_level_ends_with_a_sweep_that_gains_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer sweeps look at fewer vertices, and find communities of about the same modularity."""
    looked, quality = [], []
    with build(undirected(rmat(9, 8, seed=2)), duplicates="first") as graph:
        for stirred, tail in ((1 << 60, 0.0), (algorithm.STIRRED, 0.1)):
            monkeypatch.setattr(algorithm, "STIRRED", stirred)
            monkeypatch.setattr(algorithm, "TAIL", tail)
            steps: list[int] = []
            result = ws.run(
                ws.Louvain(), graph, progress=lambda update, to=steps: to.append(update.active)
            )
            looked.append((len(steps), sum(steps)))
            quality.append(-result.residual)
    (sweeps, vertices), (fewer, less) = looked
    assert fewer < sweeps
    assert less < vertices
    assert quality[1] > 0.95 * quality[0]


def test_parts_of_communities_are_those_of_scipy() -> None:
    """Arcs of weight 0 join nothing, nor do those between communities; rounding is NumPy's."""
    random = np.random.default_rng(3)
    ends = np.unique(np.sort(random.integers(0, 60, (2, 90)), axis=0), axis=1)
    ends = ends[:, ends[0] != ends[1]]
    weights = random.integers(0, 3, ends.shape[1])
    labels = random.integers(0, 3, 60)
    kept = (weights > 0) & (labels[ends[0]] == labels[ends[1]])
    matrix = scipy.sparse.coo_array((kept[kept], ends[:, kept]), (60, 60))
    count, expected = scipy.sparse.csgraph.connected_components(matrix, directed=False)
    both = np.hstack([ends, ends[::-1]])
    order = np.lexsort(both[::-1])
    sources, indices = (np.ascontiguousarray(one[order]) for one in both)
    rows = np.searchsorted(sources, np.arange(61)), indices, np.hstack([weights, weights])[order]
    totals = np.array([0, 1, 3, 2**50 - 1, 2**52, 2**52 + 1, 2**60])
    with emulated():
        for backend in (loops("louvain", on_device=False), loops("louvain", on_device=True)):
            least = backend.components_within(rows, sources, labels)
            assert len(np.unique(least)) == count
            assert (least == [np.flatnonzero(expected == one)[0] for one in expected]).all()
            for twice in (2**61, 3**38, 2**62 - 7):
                squares = np.rint(np.square(totals / float(twice)) * 2.0**61).astype(np.int64)
                assert backend.sum_squares(totals, twice) == squares.sum()
