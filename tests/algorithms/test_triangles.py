"""Triangles and clustering coefficients, on all backends, against NetworkX, igraph and pairs tried one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import (
    FRAME_KINDS,
    SHAPES,
    build,
    column,
    edge_frame,
    hub,
    random_edges,
    rmat,
    undirected,
)
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import triangles
from cugraph_ws.backends.cpu.loops import triangles as on_cpu
from cugraph_ws.backends.cuda.loops import triangles as on_gpu
from cugraph_ws.execution import stop_requests
from cugraph_ws.partition import neighbourhoods, oriented

BATTERY = {**SHAPES, "dense": random_edges(30, 220, seed=9), "hub": hub(300)}
del BATTERY["rows of 0 to 1023"]
SOME = ("empty", "all isolated", "clique", "self-loops", "duplicates", "rmat", "dense")


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with emulated(seed=1):
        yield


def counted(graph: Any, **options: Any) -> tuple[Any, Any]:
    counts = ws.run(ws.TriangleCount(), graph, **options)
    shares = ws.run(ws.ClusteringCoefficient(), graph, **options)
    return counts.arrays["counts"], shares.arrays["clustering_coefficient"]


def check(edges: Edges, found: tuple[Any, Any]) -> None:
    counts, shares = found
    assert counts.dtype == np.int64
    assert shares.dtype == np.float64
    assert counts.tolist() == oracles.triangles(edges).tolist()
    np.testing.assert_allclose(shares, oracles.clustering(edges), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:directed=False")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name: str, directed: bool) -> None:
    edges = BATTERY[name] if directed else undirected(BATTERY[name])
    with build(edges) as graph:
        check(edges, counted(graph))


@pytest.mark.filterwarnings("ignore:directed=False")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", SOME)
def test_some_shapes_on_a_gpu(name: str, directed: bool) -> None:
    edges = BATTERY[name] if directed else undirected(BATTERY[name])
    with build(edges) as graph:
        check(edges, counted(graph, engine="cuda"))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("bytes_shared", [48 << 10, 12 * 32])
def test_hashed_rows_on_a_gpu(
    directed: bool, bytes_shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of any length are hashed, but those that do not fit shared memory."""
    monkeypatch.setattr(on_gpu, "LEAST_HASHED", 1)
    edges = replace(random_edges(24, 600, seed=9), directed=directed)
    with emulated(seed=2) as gpu, build(edges) as graph:
        monkeypatch.setattr(gpu, "shared_memory", bytes_shared)
        check(edges, counted(graph, engine="cuda"))
        expected = ws.run(ws.TrussNumber(), graph, engine="cpu").frame
        found = ws.run(ws.TrussNumber(), graph, engine="cuda").frame
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.filterwarnings("ignore:directed=False")
@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", ["empty", "duplicates", "dense"])
def test_ranks(name: str, directed: bool, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of other ranks are fetched a few at a time, and in several steps."""
    monkeypatch.setattr(neighbourhoods, "ARCS_A_BATCH", 20)
    monkeypatch.setattr(triangles, "WORK_A_STEP", 400)
    edges = BATTERY[name] if directed else undirected(BATTERY[name])
    with build(edges) as graph:
        for ranks in (2, 3):
            parts = on_ranks(ranks, lambda comm: counted(share(graph, comm), engine=engine))
            counts, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
            check(edges, (counts, shares))


def test_wide_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (neighbourhoods, oriented):
        monkeypatch.setattr(module, "NARROW", 0)
    edges = BATTERY["duplicates"]
    with build(edges) as graph:
        check(edges, counted(graph, engine="cuda"))
        parts = on_ranks(2, lambda comm: counted(share(graph, comm)))
    counts, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
    check(edges, (counts, shares))


def test_igraph_agrees_on_a_skewed_graph() -> None:
    skewed = rmat(9, 8, seed=3)
    graph = oracles.igraph_graph(undirected(skewed)).simplify()
    edges = Edges(*np.array(graph.get_edgelist()).T, skewed.n, None, directed=False)
    with build(edges) as built:
        _, shares = counted(built)
    np.testing.assert_allclose(shares, graph.transitivity_local_undirected(mode="zero"))


def test_networkx_agrees_on_an_undirected_graph() -> None:
    edges = undirected(random_edges(25, 90, seed=2))
    simple = oracles.simple_graph(edges)
    frame = pd.DataFrame(simple.edges, columns=["source", "destination"])
    found = ws.clustering_coefficient(frame, directed=False).set_index("vertex")
    expected = oracles.nx.clustering(simple)
    for vertex, share_ in found["clustering_coefficient"].items():
        assert share_ == pytest.approx(expected[vertex])


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_frames_of_every_kind(kind: str) -> None:
    edges = SHAPES["two components"]
    frame = ws.triangle_count(edge_frame(edges, kind))
    assert column(frame, "vertex").tolist() == list(range(6))
    assert column(frame, "counts").tolist() == [1] * 6


def test_text_ids_and_a_choice_of_vertices() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "z", "z"], "b": ["y", "z", "x", "w"]})
    options: dict[str, Any] = {"source": "a", "destination": "b"}
    chosen = ws.triangle_count(frame, ["z", "w"], **options)
    assert chosen.to_dict("list") == {"vertex": ["w", "z"], "counts": [0, 1]}
    assert frame.ws.triangle_count(["z"], **options)["counts"].tolist() == [1]
    with pytest.raises(ws.InputError, match="'v' is not a vertex"):
        ws.triangle_count(frame, ["v"], **options)
    with ws.Graph(frame, **options) as graph:
        parts = on_ranks(2, lambda comm: ws.triangle_count(share(graph, comm), ["z", "w"]))
    assert pd.concat(parts, ignore_index=True).equals(chosen)


def test_ids_of_several_columns() -> None:
    ends = [("a", 1), ("a", 2), ("b", 1)]
    frame = pd.DataFrame(
        [(*ends[i], *ends[(i + 1) % 3]) for i in range(3)], columns=["n", "i", "m", "j"]
    )
    found = ws.triangle_count(frame, [("b", 1)], source=["n", "i"], destination=["m", "j"])
    assert found.to_dict("list") == {"n": ["b"], "i": [1], "counts": [1]}


def test_threads_share_the_vertices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cpu, "PIVOTS_A_TASK", 4)
    edges = BATTERY["rmat"]
    with build(edges) as graph:
        check(edges, counted(graph))


@pytest.mark.parametrize("loop", [ws.TriangleCount, ws.ClusteringCoefficient])
@pytest.mark.parametrize("engines", [("cpu", "cuda"), ("cuda", "cpu")], ids="to".join)
def test_checkpoints_go_from_engine_to_engine(
    loop: Any, engines: tuple[str, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triangles, "WORK_A_STEP", 120)
    monkeypatch.setattr(triangles, "TOGETHER", 1)
    path = tmp_path / "state.parquet"
    with build(BATTERY["dense"]) as graph:
        whole = ws.run(loop(), graph)
        first = ws.run(
            loop(), graph, engine=engines[0], checkpoint=path, progress=lambda p: p.superstep < 2
        )
        assert first.iterations == 2
        second = ws.run(loop(), graph, engine=engines[1], resume=path)
        assert second.iterations == whole.iterations > 3
        assert second.frame.equals(whole.frame)
        assert whole.trace["direction"].tolist() == ["intersect"] * whole.iterations


def test_checkpoints_go_from_ranks_to_ranks(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangles, "WORK_A_STEP", 120)
    monkeypatch.setattr(triangles, "TOGETHER", 1)
    monkeypatch.setattr(stop_requests, "VOTE_EVERY", 0.0)
    path = tmp_path / "state.parquet"

    def begin(comm: Any) -> int:
        stopped = ws.run(
            ws.TriangleCount(),
            share(graph, comm),
            checkpoint=path,
            progress=lambda made: made.superstep < 2,
        )
        return stopped.iterations

    def resume(comm: Any) -> Any:
        return ws.run(ws.TriangleCount(), share(graph, comm), resume=path).arrays["counts"]

    edges = BATTERY["dense"]
    with build(edges) as graph:
        assert on_ranks(2, begin) == [2, 2]
        parts = on_ranks(3, resume)
    assert np.concatenate(parts).tolist() == oracles.triangles(edges).tolist()


def test_a_graph_keeps_its_rows() -> None:
    """They are made once for all functions, counted as its memory, and freed with it."""
    with build(BATTERY["dense"]) as graph:
        _ = graph.csr
        before = graph.report.bytes
        check(BATTERY["dense"], counted(graph))
        kept = dict(graph.derived)
        assert graph.report.bytes - before == sum(one.nbytes for one in kept.values()) > 0
        ws.run(ws.TrussNumber(), graph)
        for key, one in kept.items():
            assert graph.derived[key] is one
        assert not graph.mask(lambda frame: frame["source"] > 3).derived
    assert not graph.derived
