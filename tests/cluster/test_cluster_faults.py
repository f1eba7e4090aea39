"""Workers that die, stop, lag or fail: an error that names them in time, or the right answer."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from clusters import WITHIN, Workers, assert_same, eventually, spread_edges, workers
from distributed import Worker
from programs import Endless
from shapes import edge_frame, rmat

import cugraph_ws as ws

pytestmark = pytest.mark.xdist_group("cluster")

EDGES = rmat(9, 8, seed=61)
SIZE = 4
ROUNDS = 12  # of one or two kills each, without a checkpoint and with one
LONG = {"alpha": 0.99, "tol": 0.0, "max_iter": 80}  # supersteps enough to die in


@pytest.fixture(scope="module")
def crowd() -> Iterator[Workers]:
    with workers(SIZE) as started:
        yield started


@pytest.fixture(scope="module")
def whole() -> Iterator[ws.Graph]:
    with ws.Graph(edge_frame(EDGES), weight="weight") as graph:
        yield graph


@pytest.fixture(scope="module")
def ranks(whole: ws.Graph) -> pd.DataFrame:
    return ws.run(ws.PageRank, whole, **LONG).frame


@pytest.fixture(scope="module")
def tree(whole: ws.Graph) -> pd.DataFrame:
    return ws.bfs(whole, 0)


@pytest.fixture(scope="module")
def graph(crowd: Workers, ranks: pd.DataFrame, tree: pd.DataFrame) -> Iterator[Any]:
    """A graph that is built anew after each loss; warm, so that moments fall into runs."""
    with ws.Graph(spread_edges(EDGES, 6), weight="weight") as built:
        assert_same(ws.run(ws.PageRank, built, **LONG).frame, ranks, rtol=1e-9)
        assert_same(ws.bfs(built, 0), tree)
        yield built


class Killer:
    """Kills workers a while after it is started, from a thread of its own."""

    def __init__(self, crowd: Workers, seed: int, seconds: float, number: int = 1) -> None:
        generator = random.Random(seed)
        self._choose = lambda there: generator.sample(there, min(number, len(there) - 1))
        self._crowd = crowd
        self.killed: list[str] = []
        self.delay = generator.uniform(0.0, seconds)
        self._timer = threading.Timer(self.delay, self._kill)

    def __enter__(self) -> Killer:
        self._timer.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._timer.join()
        eventually(lambda: not set(self.killed) & set(self._crowd.client.nthreads()))

    def _kill(self) -> None:
        for address in self._choose(sorted(self._crowd.pids())):
            self.killed.append(address)
            self._crowd.signal(address)


def leftovers(dask_worker: Worker) -> dict[str, list[str]]:
    """Return what a worker holds of graphs and runs."""
    plugin = dask_worker.plugins.get("cugraph_ws")
    held: dict[str, Any] = {}
    if plugin is not None:
        held = {
            "shares": plugin.shards,
            "mail": plugin._messages,
            "abandoned": plugin._abandoned,
            "requests": plugin._requests,
            "early": plugin.started._begun,
        }
    return {what: [str(one)[:200] for one in some] for what, some in held.items() if some}


def wait_until_clean(crowd: Workers) -> None:
    """Wait until workers hold nothing of runs, and one share of a graph at most."""
    found: dict[str, dict[str, list[str]]] = {}

    def clean() -> bool:
        found.clear()
        found.update(crowd.client.run(leftovers))
        return all(
            set(one) <= {"shares"} and len(one.get("shares", [])) < 2 for one in found.values()
        )

    try:
        eventually(clean)
    except AssertionError as error:
        raise AssertionError(f"left: {found}") from error


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `work` returns or the error that it raises, and how long it took."""
    begun = time.monotonic()
    try:
        return work(), time.monotonic() - begun
    except ws.WorkerLostError as error:
        return error, time.monotonic() - begun


@pytest.fixture(scope="module")
def seconds(crowd: Workers, graph: Any) -> float:
    """How long a build, a run and the reading of its result take here: moments are among them."""
    begun = time.monotonic()
    with ws.Graph(spread_edges(EDGES, 6), weight="weight") as built:
        ws.run(ws.PageRank, built, **LONG).frame.compute()
    return time.monotonic() - begun


def how_many(seed: int) -> int:
    """Return how many workers a round kills: 22 in any twelve rounds."""
    return 1 if seed % 6 == 0 else 2


def fresh() -> Any:
    """Build a graph on all the workers that there are."""
    return ws.Graph(spread_edges(EDGES, 6), weight="weight")


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_worker_killed_at_any_moment(crowd, ranks, tree, seconds, seed):
    """In build, compute, exchange or result; the same graph can be used afterwards."""
    crowd.wait_for(3)
    made: list[Any] = []

    def work() -> pd.DataFrame:
        made.append(fresh())
        return ws.run(ws.PageRank, made[0], **LONG).frame.compute().reset_index(drop=True)

    with Killer(crowd, seed, seconds, number=how_many(seed)) as killer:
        found, took = timed(work)
    assert killer.killed
    if isinstance(found, ws.WorkerLostError):
        assert took < killer.delay + WITHIN
        assert any(address in str(found) for address in killer.killed), f"{found}: {killer.killed}"
        assert "with it" in str(found), "what is lost"
    else:
        pd.testing.assert_frame_equal(found, ranks, rtol=1e-9)
    with made[0] if made else fresh() as graph:
        assert_same(ws.bfs(graph, 0), tree)


@pytest.mark.parametrize("seed", range(100, 100 + ROUNDS))
def test_a_run_with_a_checkpoint_goes_on_by_itself(crowd, ranks, tmp_path, seconds, seed):
    crowd.wait_for(3)
    path = tmp_path / "state.parquet"
    with fresh() as graph:
        with Killer(crowd, seed, seconds, number=how_many(seed)) as killer:
            result = ws.run(ws.PageRank, graph, **LONG, checkpoint=path, every=4)
        assert killer.killed
        assert result.converged or result.iterations == LONG["max_iter"]
        # Rows of a worker that died after the run are gone; the checkpoint has them still.
        found, _ = timed(lambda: result.frame.compute())
        if isinstance(found, ws.WorkerLostError):
            result = ws.run(ws.PageRank, graph, **LONG, resume=path)
            assert len(result.trace) == 0
            found = result.frame.compute()
    pd.testing.assert_frame_equal(found.reset_index(drop=True), ranks, rtol=1e-9)


@pytest.mark.parametrize("seed", range(200, 204))
def test_minima_of_a_resumed_search_are_equal_bit_by_bit(
    crowd, graph, whole, tmp_path, seconds, seed
):
    crowd.wait_for(SIZE)
    options = {"source": 0, "plan": ws.Plan(fused=False, direction="push")}
    expected = ws.run(ws.SSSP, whole, **options).frame
    with Killer(crowd, seed, seconds / 3, number=2):
        result = ws.run(ws.SSSP, graph, **options, checkpoint=tmp_path / "state", every=1)
    found, _ = timed(lambda: result.frame.compute())
    if not isinstance(found, ws.WorkerLostError):
        found = found.reset_index(drop=True)
        pd.testing.assert_series_equal(found["distance"], expected["distance"])


def test_nothing_is_left_with_the_survivors(crowd, graph, tree):
    crowd.wait_for(SIZE)
    assert_same(ws.bfs(graph, 0), tree)
    wait_until_clean(crowd)


def worker_of(crowd: Workers, graph: Any, rank: int) -> str:
    """Return the address of a worker that has a shard of the graph, while no worker is lost."""
    crowd.wait_for(SIZE)
    ws.run(Endless, graph, max_iter=1)
    return graph.partitions[rank]["worker"]


def superstep_of(dask_worker: Worker, seconds: float = 0.0, fails: bool = False) -> None:
    """Make the next superstep of this worker late, or fail."""
    from cugraph_ws.backends.cpu.executor import CpuExecutor

    usual = CpuExecutor.superstep

    def unusual(*arguments: Any, **options: Any) -> Any:
        CpuExecutor.superstep = usual
        if fails:
            raise MemoryError("no room for messages")
        time.sleep(seconds)
        return usual(*arguments, **options)

    CpuExecutor.superstep = unusual


@pytest.mark.parametrize("rank", [0, 2])
def test_a_slow_worker_only_slows(crowd, graph, ranks, rank):
    slow = worker_of(crowd, graph, rank)
    crowd.client.run(superstep_of, seconds=3.0, workers=[slow])
    assert_same(ws.run(ws.PageRank, graph, **LONG).frame, ranks, rtol=1e-9)


def test_a_worker_that_stops_for_a_while_only_slows(crowd, graph, ranks):
    paused = worker_of(crowd, graph, 1)
    crowd.signal(paused, signal.SIGSTOP)
    timer = threading.Timer(3.0, crowd.signal, (paused, signal.SIGCONT))
    timer.start()
    try:
        assert_same(ws.run(ws.PageRank, graph, **LONG).frame, ranks, rtol=1e-9)
    finally:
        timer.join()


@pytest.mark.parametrize(
    ("rank", "delay"), [(0, 0.5), (1, 0.5), (-1, 0.0)], ids=["the first", "another", "before a run"]
)
def test_a_worker_that_stays_stopped_is_lost(crowd, graph, ranks, rank, delay):
    stopped = worker_of(crowd, graph, rank)
    process = crowd.pids()[stopped]
    timer = threading.Timer(delay, os.kill, (process, signal.SIGSTOP))
    timer.start()
    if not delay:
        timer.join()
    try:
        found, took = timed(lambda: ws.run(Endless, graph))
        assert isinstance(found, ws.WorkerLostError)
        assert stopped in str(found)
        assert took < WITHIN
        # It is still stopped, and no rank waits for it.
        assert_same(ws.run(ws.PageRank, graph, **LONG).frame, ranks, rtol=1e-9)
        assert stopped not in [one["worker"] for one in graph.partitions]
    finally:
        timer.join()
        os.kill(process, signal.SIGKILL)
    crowd.wait_for(SIZE)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_without_memory_is_named(crowd, graph, tree, rank):
    full = worker_of(crowd, graph, rank)
    assert_same(ws.bfs(graph, 0), tree)
    crowd.client.run(superstep_of, fails=True, workers=[full])
    begun = time.monotonic()
    with pytest.raises(ws.GraphMemoryError, match=f"{full}.*no room for messages"):
        ws.bfs(graph, 0)
    assert time.monotonic() - begun < WITHIN
    assert_same(ws.bfs(graph, 0), tree)
    wait_until_clean(crowd)
