"""Searches from many sources on ranks' GPUs, emulated: the answers of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from shapes import SHAPES, build, grid, random_edges, rmat, undirected
from test_cluster_device_loops import Slower, built, frame_of
from thread_ranks import on_ranks, over_links, share, with_ordered_ghosts
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.loops import multi_source as on_device
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(on_device, "BLOCK", 32)
    with emulated(), stand_in_cudf.installed():
        yield


def loop_of(program: Any, sources: Any, **options: Any) -> Any:
    name = "start" if program is ws.BFS else "source"
    return ws.MultiSource(program, name, sources, **options)


def columns_of(result: Any, searches: int) -> dict[str, Any]:
    """Return the columns of a result, a row for each search, with −1 for nulls."""
    found = {}
    for name, column in result.arrays.items():
        values = column.numbers if hasattr(column, "numbers") else column.values
        if hasattr(column, "valid"):
            values = np.where(column.valid, values, -1)
        found[name] = values.reshape(searches, -1)
    return found


def check(edges: Edges, program: Any, sources: list[int], size: int, **options: Any) -> list[Any]:
    cuts = np.linspace(0, edges.n, size + 1).astype(np.int64)
    cuts[1:-1] = np.sort(np.random.default_rng(size).integers(0, edges.n + 1, size - 1))

    def work(comm: Any) -> Any:
        shard = share(graph, comm, cuts)
        shard = with_ordered_ghosts(shard) if size == 2 else shard
        return ws.run(loop_of(program, sources, **options), shard, engine="cuda")

    with build(edges) as graph:
        whole = ws.run(loop_of(program, sources, **options), graph, engine="cuda")
        results = on_ranks(size, work)
    expected = columns_of(whole, len(sources))
    found = [columns_of(one, len(sources)) for one in results]
    for name, column in expected.items():
        joined = np.concatenate([one[name] for one in found], axis=1)
        assert np.array_equal(joined, column), name
    return results


NAMES = (
    "one vertex", "all isolated", "star", "two components", "self-loops", "duplicates", "33 vertices",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_shape(name: str) -> None:
    """For lengths and for hops in turn; directed and undirected."""
    place = NAMES.index(name)
    program = (ws.SSSP, ws.BFS)[place // 2 % 2]
    edges = undirected(SHAPES[name]) if place % 2 else SHAPES[name]
    check(edges, program, list(range(0, edges.n, 1 + edges.n // 3)), 2 + place % 2)


def test_ties_across_ranks() -> None:
    """Some are decided in one search when those before them are decided in another."""
    check(undirected(random_edges(13, 61, seed=9, weights="ties")), ws.SSSP, [8, 10, 8, 9], 2)


def test_limits_and_sources_without_end() -> None:
    """Depths and lengths; a source twice; more sources than a word has bits, and ranks than vertices."""
    check(grid(3, 4, drop=0.1, seed=9), ws.BFS, [0, 7, 7], 2, max_iter=2)
    check(grid(3, 4, drop=0.1, seed=9), ws.SSSP, [3, 0], 3, cutoff=1.5)
    check(random_edges(5, 12, seed=3), ws.BFS, [0, 1], 7, max_iter=0)
    results = check(random_edges(5, 9, seed=4), ws.BFS, [place % 5 for place in range(35)], 2)
    assert {one.iterations for one in results} == {2}
    assert results[0].trace["active"].tolist() == [3, 0]


def test_ranks_report_the_same_supersteps_as_one_gpu() -> None:
    edges = rmat(4, 3, seed=7)
    with build(edges) as graph:
        loop = loop_of(ws.BFS, [0, 3])
        whole = ws.run(loop, graph, engine="cuda").trace
    for one in check(edges, ws.BFS, [0, 3], 3):
        assert one.trace["edges"].tolist() == whole["edges"].tolist()
        assert one.trace["bytes_sent"].sum() > 0


@pytest.mark.parametrize(("weight", "wide"), [("w", True), (None, False)])
def test_frames_on_gpus(weight: str | None, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ids with gaps, over links and by the host; weights with ties across ranks."""
    if wide:
        monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    edges = random_edges(16, 40, seed=31, weights="ties")
    frame = frame_of(edges, 3, 7).assign(w=edges.weight)
    sources = frame["source"].iloc[[0, 9, 4]].tolist()
    options: dict[str, Any] = {"directed": not wide, "weight": weight}

    def work(comm: Any) -> Any:
        return ws.multi_source_sssp(built(frame, comm, **options), sources, 9.0)

    def by_host(comm: Any) -> Any:
        return work(Slower(comm.rank, comm.size, comm._board, comm._barrier))

    with ws.Graph(frame, **options) as graph:
        whole = ws.multi_source_sssp(graph, sources, 9.0, engine="cuda")
    for parts in (over_links(2, work),) if wide else (on_ranks(2, by_host),):
        rows = [len(one) // 3 for one in parts]
        blocks = [
            one.iloc[place * count : (place + 1) * count]
            for place in range(3)
            for one, count in zip(parts, rows, strict=True)
        ]
        assert all(type(one) is stand_in_cudf.DataFrame for one in blocks)
        joined = pd.concat(blocks, ignore_index=True)
        for name in whole:
            pd.testing.assert_series_equal(pd.Series(joined[name]), whole[name])


def test_no_sources_and_unknown_ones() -> None:
    frame = frame_of(random_edges(9, 20, seed=4))

    def work(comm: Any) -> Any:
        shard = built(frame, comm)
        with pytest.raises(ws.InputError, match="starts"):
            ws.multi_source_bfs(shard, [99])
        return len(ws.multi_source_bfs(shard, []))

    assert on_ranks(2, work) == [0, 0]


@pytest.mark.parametrize("engines", [("cuda", "cpu"), ("cpu", "cuda")])
def test_checkpoints_go_from_engine_to_engine(
    engines: tuple[str, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three ranks after a step, for two ranks."""
    monkeypatch.setattr(on_device, "MOST_WIDTH", 2)
    edges, path, sources = random_edges(12, 26, seed=5), tmp_path / "state.parquet", [5, 0, 9]

    def begin(comm: Any) -> None:
        loop, shard = loop_of(ws.SSSP, sources, engine="python"), share(graph, comm)
        loop.start(shard, on_device=engines[0] == "cuda")
        assert isinstance(loop._searches, on_device.Searches) == (engines[0] == "cuda")
        loop.step()
        assert not loop.converged
        RankCheckpoints(loop, shard, path, None).save({"iterations": 1, "residual": None})

    def resume(comm: Any) -> Any:
        loop = loop_of(ws.SSSP, sources, engine="python")
        return ws.run(loop, share(graph, comm), engine=engines[1], resume=path)

    with build(edges) as graph:
        whole = ws.run(loop_of(ws.SSSP, sources, engine="python"), graph, engine="cuda")
        on_ranks(3, begin)
        results = on_ranks(2, resume)
    found = [columns_of(one, 3) for one in results]
    for name, column in columns_of(whole, 3).items():
        assert np.array_equal(np.concatenate([one[name] for one in found], axis=1), column), name
