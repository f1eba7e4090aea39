"""Programs with many small supersteps are coalesced to one rank: the same answers, one trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from plans import planned
from programs import Nearest, Paths, Peel, Widest
from thread_ranks import ThreadCommunicator, on_ranks, over_links

import cugraph_ws as ws
from cugraph_ws.accelerators.coalescing import loops
from cugraph_ws.execution import progress
from cugraph_ws.partition.build import build_shard


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs think of moving soon, and let it cost nothing."""
    monkeypatch.setattr(loops, "PATIENCE", 3)
    monkeypatch.setattr(loops, "QUIET", 2)
    monkeypatch.setattr(loops, "RATE", 1e18)


def road(length: int = 40, rungs: int = 3) -> pd.DataFrame:
    """Return a ladder, both ways, its ids odd, with an attribute that has a column's usual name."""
    places = np.arange(length * rungs).reshape(length, rungs)
    along = np.stack([places[:-1].ravel(), places[1:].ravel()])
    across = np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()])
    ends = np.concatenate([along, across], axis=1)
    ends = np.concatenate([ends, ends[::-1]], axis=1)
    random = np.random.default_rng(4)
    edges = pd.DataFrame(2 * ends.T + 1, columns=["from", "to"])
    weights = random.integers(1, 5, len(edges)) / 2
    return edges.assign(weight=weights, source=weights).sample(frac=1.0, random_state=1)


IDS: dict[str, Any] = {"source": "from", "destination": "to", "weight": "weight"}
PROGRAMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "bfs": (ws.BFS, {"start": 1}),
    "sssp": (ws.SSSP, {"source": [7, 11]}),
    "widest, with ties": (ws.WidestPath, {"source": 1}),
    "nearest": (Nearest, {"seeds": [1]}),
    "widest": (Widest, {"start": 1}),
    "peeled": (Peel, {"k": 3}),
}


def shard_of(frame: pd.DataFrame, comm: Any, **options: Any) -> Any:
    cuts = np.linspace(0, len(frame), comm.size + 1).astype(int)
    own = frame.iloc[cuts[comm.rank] : cuts[comm.rank + 1]].reset_index(drop=True)
    if options.pop("on_gpu", False):
        own = stand_in_cudf.DataFrame(own)
    return build_shard(comm, [(comm.rank, own)], **IDS, attributes=["source"], **options)


def whole(frame: pd.DataFrame, program: Any, **options: Any) -> Any:
    with ws.Graph(frame, **IDS, attributes=["source"]) as graph:
        return ws.run(program, graph, **planned(**options)).frame


def assert_same(parts: list[Any], expected: Any) -> None:
    found = pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)
    assert list(found) == list(expected)
    for name in expected:
        assert (found[name].isna() == expected[name].isna()).all()
        np.testing.assert_allclose(
            found[name].to_numpy(float, na_value=-1), expected[name].to_numpy(float, na_value=-1)
        )


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_answers(name: str, ranks: int) -> None:
    program, options = PROGRAMS[name]
    frame = road()

    def work(comm: ThreadCommunicator) -> Any:
        shard = shard_of(frame, comm)
        runs = [ws.run(program, shard, **planned(**options)) for _ in range(2)]
        return [(run.frame, run.trace, run.iterations, run.stopped) for run in runs]

    results = on_ranks(ranks, work)
    expected = whole(frame, program, direction="push", fused=False, priorities=False, **options)
    for turn in range(2):
        assert_same([one[turn][0] for one in results], expected)
        (first, *others) = [one[turn][1] for one in results]
        for other in others:
            columns = [column for column in first if column != "milliseconds"]
            pd.testing.assert_frame_equal(first[columns], other[columns])
        assert first["superstep"].tolist() == list(range(results[0][turn][2]))
        assert results[0][turn][3] == "converged"
    first, second = (results[0][turn][1]["partitions"].tolist() for turn in range(2))
    assert first == [ranks] * 3 + [1] * (len(first) - 3), "they move after three supersteps"
    assert set(second) == {1}, "the graph is there already"


@pytest.mark.parametrize("name", ["bfs", "sssp", "nearest"])
@pytest.mark.parametrize("on_gpu", [True, False], ids=["made on GPUs", "made on the host"])
def test_on_gpus(name: str, on_gpu: bool) -> None:
    program, options = PROGRAMS[name]
    frame = road(14, 2)

    def work(comm: Any) -> Any:
        shard = shard_of(frame, comm, on_gpu=on_gpu)
        run = ws.run(program, shard, **planned(engine="cuda", **options))
        return run.frame, run.trace

    expected = whole(frame, program, **options)
    with emulated(multiprocessors=2), stand_in_cudf.installed():
        results = over_links(2, work)
        assert_same([part for part, _ in results], expected)
        assert list(results[0][1]["partitions"])[2:5] == [2, 1, 1]


def supersteps_of(frame: pd.DataFrame, program: Any, **options: Any) -> list[int]:
    """Return in how many shards each superstep was computed, on two ranks."""

    def work(comm: ThreadCommunicator) -> Any:
        return (
            ws.run(program, shard_of(frame, comm), **planned(**options))
            .trace["partitions"]
            .tolist()
        )

    first, second = on_ranks(2, work)
    assert first == second
    return first


def test_graphs_with_hubs_stay() -> None:
    frame = road()
    hub = pd.DataFrame({"from": np.arange(61) * 2 + 1, "to": 3, "weight": 9.0, "source": 9.0})
    assert set(supersteps_of(pd.concat([frame, hub]), ws.SSSP, source=1)) == {2}


def test_busy_programs_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "QUIET", 1 << 30)
    assert set(supersteps_of(road(), ws.BFS, start=1)) == {2}


def test_dense_programs_stay() -> None:
    assert set(supersteps_of(road(), ws.PageRank, max_iter=12, tol=0.0)) == {2}


def test_graphs_that_do_not_fit_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "available_memory", lambda: 1000)
    assert set(supersteps_of(road(), ws.BFS, start=1)) == {2}


def test_graphs_that_do_not_fit_on_the_gpu_stay() -> None:
    frame = road(10, 2)

    def work(comm: Any) -> Any:
        shard = shard_of(frame, comm, on_gpu=True)
        comm.allgather(None)
        here.free_memory = lambda: 1 << 12  # once all shards are made
        return list(ws.run(ws.BFS, shard, start=1).trace["partitions"])

    with emulated() as here, stand_in_cudf.installed():
        assert {one for found in over_links(2, work) for one in found} == {2}


def test_short_runs_are_not_coalesced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "RATE", 1.0)
    assert set(supersteps_of(road(), ws.BFS, start=1)) == {2}


def test_a_limit_of_supersteps_is_kept() -> None:
    frame = road()
    expected = whole(frame, Paths, max_iter=2)
    found = on_ranks(2, lambda comm: ws.run(Paths, shard_of(frame, comm), max_iter=2).frame)
    assert_same(found, expected)
    assert len(supersteps_of(frame, ws.BFS, start=1, max_iter=9)) == 9


@pytest.mark.parametrize("ranks", [2, 3])
def test_checkpoints_of_a_coalesced_run_are_those_of_shards(ranks: int, tmp_path: Path) -> None:
    frame, path = road(), tmp_path / "state.parquet"
    expected = whole(frame, ws.SSSP, source=1)

    def begin(comm: ThreadCommunicator) -> Any:
        run = ws.run(ws.SSSP, shard_of(frame, comm), source=1, max_iter=11, checkpoint=path)
        assert run.trace["partitions"].tolist()[-1] == 1
        return run.iterations

    def finish(comm: ThreadCommunicator) -> Any:
        run = ws.run(ws.SSSP, shard_of(frame, comm), source=1, resume=path)
        return run.frame, run.trace["partitions"].tolist()

    assert on_ranks(2, begin) == [11, 11]
    results = on_ranks(ranks, finish)
    assert_same([part for part, _ in results], expected)
    assert set(results[0][1]) == {ranks, 1}, "it moves again"


def test_a_coalesced_run_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0, raising=False)
    frame = road(400, 2)

    def work(comm: ThreadCommunicator) -> Any:
        told: list[Any] = []

        def report(update: Any) -> bool:
            told.append(update.superstep)
            return len(told) < 6

        named = {"progress": report if comm.rank == 0 else False}
        run = ws.run(ws.BFS, shard_of(frame, comm), **planned(start=1, fused=False, **named))
        return run.stopped, run.trace["partitions"].tolist()[-1], run.iterations

    results = on_ranks(2, work)
    assert len(set(results)) == 1
    stopped, where, iterations = results[0]
    assert (stopped, where) == ("callback", 1)
    assert iterations < 400


def test_an_error_of_a_coalesced_run_reaches_all_ranks() -> None:
    frame = road()

    def work(comm: ThreadCommunicator) -> Any:
        shard = shard_of(frame, comm)
        ws.run(ws.BFS, shard, start=1)
        if comm.rank == 0:
            shard.kept["home"].close()
        return ws.run(ws.BFS, shard, start=1)

    with pytest.raises(ws.InputError, match="the graph is closed"):
        on_ranks(2, work)
