"""Searches from many sources: each as a search of its own, whatever the number of cores."""

from __future__ import annotations

import numpy as np
import oracles
import pandas as pd
import pytest
from conftest import COMPILED
from shapes import FRAME_KINDS, SHAPES, build, column, edge_frame, random_edges, undirected
from verify import Edges, check_shortest_paths

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import multi_source as searches

EDGES = random_edges(60, 150, seed=71)
SOURCES = [5, 0, 59, 5, 17]


def blocks(result, count: int) -> list[pd.DataFrame]:
    """Cut a result into one frame for each source."""
    assert list(result.columns) == ["source", "vertex", "distance", "predecessor"]
    size = len(result) // count
    return [result.iloc[place * size : (place + 1) * size] for place in range(count)]


@pytest.mark.parametrize("directed", [True, False])
def test_bfs(directed, engine):
    edges = EDGES if directed else undirected(EDGES)
    with build(edges, weighted=False) as graph:
        result = ws.multi_source_bfs(graph, SOURCES, engine=engine)
    hops = Edges(edges.source, edges.destination, edges.n, directed=directed)
    for start, block in zip(SOURCES, blocks(result, len(SOURCES)), strict=True):
        assert block["source"].tolist() == [start] * edges.n
        assert block["vertex"].tolist() == list(range(edges.n))
        distance = column(block.reset_index(drop=True), "distance", -1)
        predecessor = column(block.reset_index(drop=True), "predecessor", -1)
        expected = oracles.bfs_levels(hops, start)
        assert np.array_equal(np.where(distance < 0, np.inf, distance), expected)
        check_shortest_paths(hops, start, distance, predecessor)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("limit", [None, 0, 2])
def test_searches_with_a_bit_each_are_those_alone(directed, limit, monkeypatch):
    """Of a core's word all bits, the sign too; twice the same start; levels of few vertices and of many."""
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "1")
    edges = EDGES if directed else undirected(SHAPES["short path"])
    starts = [*(place % edges.n for place in range(70)), 0, 0]
    with build(edges, weighted=False) as graph:
        result = ws.multi_source_bfs(graph, starts, depth_limit=limit)
        for start, block in zip(starts, blocks(result, len(starts)), strict=True):
            alone = ws.bfs(graph, start, depth_limit=limit)
            found = block.drop(columns="source").reset_index(drop=True)
            pd.testing.assert_frame_equal(found, alone)


def test_searches_with_a_bit_each_end_between_calls(monkeypatch):
    """Every call reads some arcs only, so that a run can end soon."""
    monkeypatch.setattr(searches, "ARCS_A_CALL", 1)
    looks = []
    monkeypatch.setattr(searches, "look", lambda: looks.append(1))
    with build(SHAPES["short path"], weighted=False) as graph:
        expected = graph.bfs(0)
        result = ws.multi_source_bfs(graph, [0] * 30)
    pd.testing.assert_frame_equal(blocks(result, 30)[0].drop(columns="source"), expected)
    assert len(looks) >= expected["distance"].max()


@pytest.mark.parametrize("cutoff", [None, 4.0])
def test_sssp(cutoff, engine):
    with build(EDGES) as graph:
        result = ws.multi_source_sssp(graph, SOURCES, cutoff, engine=engine)
        for start, block in zip(SOURCES, blocks(result, len(SOURCES)), strict=True):
            alone = ws.sssp(graph, start, cutoff=cutoff)
            found = block.drop(columns="source").reset_index(drop=True)
            pd.testing.assert_frame_equal(found, alone)


@pytest.mark.skipif(not COMPILED, reason="plain Python searches in one thread")
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_any_number_of_threads(threads, monkeypatch):
    sources = list(range(0, 60, 2))
    for function in (ws.multi_source_bfs, ws.multi_source_sssp):
        with build(EDGES) as graph:
            monkeypatch.setenv("CUGRAPH_WS_THREADS", "1")
            expected = function(graph, sources)
            monkeypatch.setenv("CUGRAPH_WS_THREADS", threads)
            pd.testing.assert_frame_equal(function(graph, sources), expected)


@pytest.mark.parametrize("name", ["multi_source_bfs", "multi_source_sssp"])
def test_every_vertex_is_a_start_by_default(name):
    function = getattr(ws, name)
    with build(SHAPES["two components"]) as graph:
        everyone = graph.vertices["vertex"].tolist()
        pd.testing.assert_frame_equal(function(graph), function(graph, everyone))
        assert len(function(graph)) == len(everyone) ** 2


def test_all_pairs_that_would_not_fit_are_refused(monkeypatch):
    path = pd.DataFrame({"source": range(3000), "destination": range(1, 3001)})
    with ws.Graph(path) as graph:
        monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", str(1 << 24))
        with pytest.raises(ws.GraphMemoryError, match="search from fewer starts at a time"):
            ws.multi_source_bfs(graph)


def test_the_frames_kind_and_ids_come_back():
    for kind in FRAME_KINDS:
        frame = edge_frame(SHAPES["two components"], kind)
        result = ws.multi_source_bfs(frame, [3, 0], engine="python")
        assert type(result) is type(frame)
        assert column(result, "source").tolist() == [3] * 6 + [0] * 6
        distance = [None, None, None, 0, 1, 2, 0, 1, 2, None, None, None]
        before = [None, None, None, None, 3, 4, None, 0, 1, None, None, None]
        for name, expected in (("distance", distance), ("predecessor", before)):
            found = column(result, name, -1).tolist()
            assert found == [-1 if value is None else value for value in expected]


def test_depth_limit():
    with build(SHAPES["path"], weighted=False) as graph:
        for limit in (0, 2):
            result = ws.multi_source_bfs(graph, [10, 20], depth_limit=limit, engine="python")
            reached = result[result["distance"].notna()]
            expected = [10 + step for step in range(limit + 1)] + [20 + s for s in range(limit + 1)]
            assert reached["vertex"].tolist() == expected


def test_unreachable_as_the_greatest_number():
    with build(SHAPES["two components"], weighted=False) as graph:
        hops = ws.multi_source_bfs(graph, [0], unreachable="max", engine="python")
        lengths = ws.multi_source_sssp(graph, [0], unreachable="max", engine="python")
    assert hops["distance"].tolist()[3:] == [np.iinfo(np.int32).max] * 4
    assert lengths["distance"].tolist()[3:] == [np.iinfo(np.int64).max] * 4


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_without_starts_the_types_are_those_of_any(kind):
    edges = type(EDGES)(
        EDGES.source, EDGES.destination, EDGES.n, np.ceil(EDGES.weight).astype(kind)
    )
    with build(edges) as graph:
        for search in (ws.multi_source_bfs, ws.multi_source_sssp):
            none, one = (search(graph, starts, engine="python") for starts in ([], [0]))
            assert len(none) == 0
            assert none.dtypes.equals(one.dtypes)


@pytest.mark.parametrize("sources", [3, "3", (3,)])
def test_sources_that_are_no_list(sources):
    with build(EDGES) as graph, pytest.raises(ws.InputError, match="starts="):
        ws.multi_source_bfs(graph, sources)


@pytest.mark.parametrize("search", [ws.multi_source_bfs, ws.multi_source_sssp])
def test_invalid_arguments_are_refused(search):
    limit = "depth_limit" if search is ws.multi_source_bfs else "cutoff"
    with build(EDGES) as graph:
        with pytest.raises(ws.InputError, match="starts"):
            search(graph, [0, 99])
        with pytest.raises(ws.InputError, match=limit):
            search(graph, [0], **{limit: -1})
        with pytest.raises(ws.InputError, match="unreachable='zero'"):
            search(graph, [0], unreachable="zero")
        with pytest.raises(ws.InputError, match="engine='gpu'"):
            search(graph, [0], engine="gpu")


def test_a_program_that_measures_something_else():
    with build(EDGES) as graph, pytest.raises(ws.InputError, match="program=WidestPath has no"):
        ws.run(ws.MultiSource(ws.WidestPath, "start", [0]), graph, engine="python")


def test_a_callback_stops_between_batches():
    loop = ws.MultiSource(ws.BFS, "start", list(range(30)), engine="python")
    with build(EDGES) as graph:
        result = ws.run(loop, graph, progress=lambda update: update.superstep < 2)
        frame = result.frame
    assert result.stopped == "callback"
    assert 0 < frame["source"].nunique() < 30
    assert len(frame) == frame["source"].nunique() * EDGES.n


def test_a_timeout_gives_the_searches_so_far():
    with build(EDGES) as graph, pytest.raises(ws.ConvergenceError, match="timeout") as caught:
        ws.multi_source_bfs(graph, list(range(30)), timeout=1e-12, engine="python")
    assert caught.value.result.iterations == 0
