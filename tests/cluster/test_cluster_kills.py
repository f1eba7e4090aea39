"""Workers killed while a graph is built or a result is fetched, and clients that close in mid-run.

Kills come at seeded places: a worker ends itself at one of the meetings of a build, or as its rows of a
result are asked for.  `CUGRAPH_WS_KILLS` sets how many builds lose a worker.
"""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from clusters import Workers, assert_same, eventually, spread_edges, workers
from distributed import Client, Status, Worker, get_worker
from programs import Endless
from shapes import edge_frame, rmat

import cugraph_ws as ws
from cugraph_ws.dask import client as driver
from cugraph_ws.dask import faults
from cugraph_ws.dask import graph as graphs
from cugraph_ws.dask.graph import RESTARTS, ClusterGraph

pytestmark = pytest.mark.xdist_group("cluster")

EDGES = rmat(8, 6, seed=61)
SIZE = 3
MEETINGS = 24  # of a build, at least
KILLS = int(os.environ.get("CUGRAPH_WS_KILLS", "20"))
BUILDS = KILLS * 3 // 5
TWICE = KILLS // 10  # builds that lose a worker, and another one as they are made again
RESULTS = KILLS // 5
PATIENT = {"distributed.scheduler.allowed-failures": 1000}  # the same tasks lose many workers


@pytest.fixture(scope="module")
def crowd() -> Iterator[Workers]:
    with dask.config.set(PATIENT), workers(SIZE) as started:
        yield started


@pytest.fixture(autouse=True)
def attentive(monkeypatch: Any) -> None:
    monkeypatch.setattr(driver, "LOOK", 0.1)


@pytest.fixture(scope="module")
def whole() -> Iterator[ws.Graph]:
    with ws.Graph(edge_frame(EDGES), weight="weight") as graph:
        yield graph


@pytest.fixture(scope="module")
def tree(whole: ws.Graph) -> pd.DataFrame:
    return ws.bfs(whole, 0)


@pytest.fixture(scope="module")
def paths(whole: ws.Graph) -> pd.DataFrame:
    return ws.run(ws.SSSP, whole, source=0).frame


@pytest.fixture(scope="module")
def ranks(whole: ws.Graph) -> pd.DataFrame:
    return ws.pagerank(whole)


def die_at(dask_worker: Worker, meeting: int) -> None:
    """Have this worker's process end in one of the collectives of its next build."""
    from cugraph_ws.dask.worker import DaskCommunicator

    usual = DaskCommunicator._exchange

    def meet(self: DaskCommunicator, mail: Any) -> Any:
        if "cugraph_ws-graph-" in self._run and self._step >= meeting:
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(self, mail)

    DaskCommunicator._exchange = meet  # type: ignore[method-assign]


def die_with_rows(dask_worker: Worker) -> None:
    """Have this worker's process end when its rows of a result are asked for."""
    from cugraph_ws.dask import tasks as rank_tasks

    def part_of(*given: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    rank_tasks.part_of = part_of


def frame(partitions: int = 4) -> Any:
    return spread_edges(EDGES, partitions)


def doom(crowd: Workers, seed: int, number: int = 1) -> list[str]:
    """Have workers die in their next build, one after the other; return which."""
    generator = random.Random(seed)
    chosen = generator.sample(crowd.wait_for(SIZE), number)
    # A second one takes part in the first attempt, and must outlive the first one.
    meetings = sorted(generator.sample(range(1, MEETINGS), number))
    for worker, meeting in zip(chosen, meetings, strict=True):
        crowd.client.run(die_at, meeting=meeting, workers=[worker])
    return chosen


def are_gone(crowd: Workers, chosen: list[str]) -> bool:
    return not set(chosen) & set(crowd.client.nthreads())


def rows_or_error(found: Any) -> Any:
    try:
        return found.compute()
    except ws.WorkerLostError as error:
        return error


class TestBuilds:
    @pytest.mark.parametrize("seed", range(BUILDS))
    def test_a_build_goes_on_without_a_worker(self, crowd, tree, ranks, tmp_path, seed):
        """Of a frame that is passed directly, with a checkpoint and without, and of a graph."""
        killed = doom(crowd, seed)
        if seed % 3 == 0:
            assert_same(ws.bfs(frame(), 0), tree)
        elif seed % 3 == 1:
            found = ws.pagerank(frame(), weight="weight", checkpoint=tmp_path / "state", every=2)
            assert_same(found, ranks, rtol=1e-9)
        else:
            with ws.Graph(frame(), weight="weight") as graph:
                assert_same(ws.bfs(graph, 0), tree)
        assert are_gone(crowd, killed), "it was killed in the build"

    @pytest.mark.parametrize("seed", range(100, 100 + TWICE))
    def test_a_build_goes_on_without_two_that_die_in_turn(self, crowd, tree, seed):
        killed = doom(crowd, seed, 2)
        assert_same(ws.bfs(frame(), 0), tree)
        assert are_gone(crowd, killed)

    def test_a_graph_that_is_built_again_loses_another_one(self, crowd, tree):
        crowd.wait_for(SIZE)
        with ws.Graph(frame(), weight="weight") as graph:
            killed = doom(crowd, 7, 2)
            crowd.signal(killed[0])
            eventually(lambda: are_gone(crowd, killed[:1]))
            assert_same(ws.bfs(graph, 0), tree)
            assert are_gone(crowd, killed)

    def test_repeated_losses_are_reported(self, crowd, monkeypatch):
        lost: list[int] = []

        def build(self: Any) -> None:
            lost.append(len(lost))
            raise ws.WorkerLostError(f"worker {len(lost)} was lost")

        monkeypatch.setattr(ClusterGraph, "_build_once", build)
        with pytest.raises(ws.WorkerLostError, match=f"worker {RESTARTS + 1} was lost"):
            ws.Graph(frame())

    def test_a_connection_that_breaks_is_no_raw_error(self, crowd, tree, monkeypatch):
        """Dask's own error, as the plugin is given to a worker that is dying."""
        from distributed.comm.core import CommClosedError

        usual, broke = driver._equip, []

        def equip(client: Client) -> None:
            if not broke:
                broke.append(client)
                raise CommClosedError("in <TCP>: Stream is closed")
            usual(client)

        with Client(crowd.cluster.scheduler_address) as client:
            monkeypatch.setattr(driver, "_equip", equip)
            assert_same(ws.bfs(frame(), 0), tree)
            assert broke == [client]


class TestResults:
    @pytest.mark.parametrize("seed", range(200, 200 + RESULTS))
    def test_rows_are_there_or_said_to_be_lost(self, crowd, paths, tree, tmp_path, seed):
        """Then the same graph serves again, and a run goes on from its checkpoint."""
        there = crowd.wait_for(SIZE)
        killed = random.Random(seed).choice(there)
        with ws.Graph(frame(), weight="weight") as graph:
            options: dict[str, Any] = {"source": 0, "checkpoint": tmp_path / "state", "every": 1}
            crowd.client.run(die_with_rows, workers=[killed])
            found = ws.run(ws.SSSP, graph, **options).frame
            rows = rows_or_error(found)
            if isinstance(rows, ws.WorkerLostError):
                assert re.search(rf"{killed} was lost.*resume=", str(rows))
                again = ws.run(ws.SSSP, graph, source=0, resume=tmp_path / "state")
                assert len(again.trace) == 0
                rows = again.frame.compute()
            assert are_gone(crowd, [killed])
            distance = rows["distance"].reset_index(drop=True)
            pd.testing.assert_series_equal(distance, paths["distance"])
            assert_same(ws.bfs(graph, 0), tree)

    def test_results_lost_before_they_are_reported_are_computed_again(
        self, crowd, ranks, tmp_path, monkeypatch
    ):
        """The worker that has the summary dies before the client has asked for it."""
        usual, killed = driver.RankTasks.summary, []

        def summary(self: Any) -> Any:
            if not killed:
                killed.append(self._addresses[0])
                crowd.signal(killed[0])
                eventually(lambda: are_gone(crowd, killed))
                driver._EQUIPPED[self._client][self.run].clear()
                self._direct = None
            return usual(self)

        crowd.wait_for(SIZE)
        monkeypatch.setattr(driver.RankTasks, "summary", summary)
        found = ws.pagerank(frame(), weight="weight", checkpoint=tmp_path / "state")
        assert_same(found, ranks, rtol=1e-9)
        assert killed


class TestFrames:
    def test_partitions_that_only_a_lost_worker_had(self, crowd):
        """They were placed by hand: Dask cannot compute them again."""
        crowd.wait_for(SIZE)
        rows = edge_frame(EDGES)
        parts = crowd.client.scatter([rows.iloc[:100], rows.iloc[100:]], broadcast=False)
        held = dd.from_delayed(parts, meta=rows.iloc[:0])
        killed = [next(iter(crowd.client.who_has(parts[:1]).values()))[0]]
        crowd.signal(killed[0])
        eventually(lambda: are_gone(crowd, killed))
        with pytest.raises(ws.WorkerLostError, match=r"partition . of 2 of a frame is|cannot|gone"):
            ws.bfs(held, 0)

    def test_partitions_that_kill_every_worker(self, crowd, monkeypatch):
        from distributed.scheduler import KilledWorker

        def build(self: Any) -> None:
            raise KilledWorker("part-1", None, 3)  # type: ignore[arg-type]

        monkeypatch.setattr(ClusterGraph, "_build_once", build)
        with pytest.raises(
            ws.WorkerLostError, match=r"4 workers, one after another, died.*'part-1'.*memory"
        ):
            ws.Graph(frame())


class TestClosing:
    @pytest.fixture
    def other(self, crowd: Workers) -> Iterator[Client]:
        crowd.wait_for(SIZE)
        with Client(crowd.cluster.scheduler_address, set_as_default=False) as client:
            yield client

    def test_a_client_that_closes_in_mid_run(self, crowd, other):
        graph = ws.Graph(frame(), client=other)
        running = threading.Event()
        errors: list[BaseException] = []

        def note(update: Any) -> None:
            running.set()

        def work() -> None:
            try:
                ws.run(Endless, graph, progress=note)
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        assert running.wait(60)
        other.close()
        thread.join(60)
        (error,) = errors
        assert isinstance(error, ws.EngineError)
        assert "the Dask client was closed" in str(error)
        eventually(lambda: not any(crowd.client.run(threads_at_work).values()), 30)
        with pytest.raises(ws.EngineError, match="the Dask client was closed"):
            ws.bfs(graph, 0)

    def test_a_client_that_closes_in_a_build(self, crowd, other, monkeypatch):
        usual = driver.RankTasks.join

        def join(self: Any) -> Any:
            other.close()
            return usual(self)

        monkeypatch.setattr(driver.RankTasks, "join", join)
        with pytest.raises(ws.EngineError, match="graph: the Dask client was closed"):
            ws.Graph(frame(), client=other)
        eventually(lambda: not any(crowd.client.run(threads_at_work).values()), 30)


def threads_at_work(dask_worker: Worker) -> int:
    """Count what goes on of runs on a worker."""
    import sys

    names = {"_called", "build_shard", "build_rank"}
    count = 0
    for stack in sys._current_frames().values():
        one: Any = stack
        while one is not None:
            count += one.f_code.co_name in names
            one = one.f_back
    return count


# -------------------------------------------------------------------------------------- memory


def set_paused(dask_worker: Worker, paused: bool) -> None:
    """Have a worker begin nothing any more, as Dask does when its memory is nearly full."""
    manager = dask_worker.memory_manager
    if paused:
        dask_worker.usual_fraction = manager.memory_pause_fraction  # type: ignore[attr-defined]
        manager.memory_pause_fraction = False  # or it notices that there is room
        dask_worker.status = Status.paused
    else:
        manager.memory_pause_fraction = dask_worker.usual_fraction  # type: ignore[attr-defined]
        dask_worker.status = Status.running


def read_while_paused(part: pd.DataFrame) -> pd.DataFrame:
    """Have a worker be paused for the greatest part of a task."""
    set_paused(get_worker(), paused=True)
    time.sleep(8)
    set_paused(get_worker(), paused=False)
    return part


class TestMemory:
    def test_a_worker_that_was_ended_for_its_memory_is_not_tried_again(self, crowd):
        """Another worker would be killed too, and so on."""
        (killed,) = doom(crowd, 3)
        event = {"worker": killed, "pid": 1, "rss": 400 << 20}
        crowd.client.log_event("worker-restart-memory", event)
        with pytest.raises(ws.GraphMemoryError, match=rf"{killed} was killed.*400\.0 MiB.*_limit"):
            ws.bfs(frame(), 0)
        assert are_gone(crowd, [killed])

    def test_other_workers_memory_is_no_matter(self, crowd):
        crowd.wait_for(SIZE)
        error = ws.WorkerLostError("a worker was lost")
        faults.refuse_killed_for_memory(crowd.client, "graph", ["tcp://127.0.0.1:1"], error)

    @pytest.mark.parametrize("number", [1, SIZE], ids=["one", "all"])
    def test_a_paused_worker_is_not_waited_for_without_end(self, crowd, tree, monkeypatch, number):
        """One never begins its part of the graph; where all are, no partition is ever computed."""
        paused = crowd.wait_for(SIZE)[:number]
        monkeypatch.setattr(faults, "LOOK", 0.05)
        monkeypatch.setattr(faults, "PAUSED", 0.2)
        crowd.client.run(set_paused, paused=True, workers=paused)
        try:
            with pytest.raises(
                ws.GraphMemoryError, match=r"has paused worker .* of .*memory_limit"
            ):
                ws.bfs(frame(), 0)
        finally:
            crowd.client.run(set_paused, paused=False, workers=paused)
        assert_same(ws.bfs(frame(), 0), tree)

    def test_a_paused_worker_that_has_tasks_already_is_not_waited_for(self, crowd, monkeypatch):
        """Others are not paused, but Dask does not give them these tasks."""
        (paused, *_) = crowd.wait_for(SIZE)
        monkeypatch.setattr(faults, "LOOK", 0.05)
        monkeypatch.setattr(faults, "PAUSED", 0.2)
        monkeypatch.setattr(graphs, "LOOK", 0.05)
        crowd.client.run(set_paused, paused=True, workers=[paused])
        try:
            there = crowd.client.persist(frame(), workers=[paused], allow_other_workers=False)
            with pytest.raises(ws.GraphMemoryError, match=rf"has paused worker {paused}"):
                ws.bfs(there, 0)
        finally:
            crowd.client.run(set_paused, paused=False, workers=[paused])

    def test_a_worker_that_is_paused_while_it_reads_the_frame_is_waited_for(
        self, crowd, tree, monkeypatch
    ):
        monkeypatch.setattr(faults, "LOOK", 0.05)
        monkeypatch.setattr(faults, "PAUSED", 5.0)  # longer than heartbeats take to say so
        monkeypatch.setattr(graphs, "LOOK", 0.05)
        crowd.wait_for(SIZE)
        read = frame(1).map_partitions(read_while_paused, meta=frame(1)._meta)
        assert_same(ws.bfs(read, 0), tree)

    def test_a_worker_that_is_paused_while_it_works_is_waited_for(self, crowd, tree, monkeypatch):
        monkeypatch.setattr(faults, "PAUSED", 0.0)
        monkeypatch.setattr(faults, "LOOK", 0.0)
        (paused, *_) = crowd.wait_for(SIZE)
        with ws.Graph(frame(), weight="weight") as graph:
            running, is_paused = threading.Event(), threading.Event()

            def pause() -> None:
                running.wait(60)
                crowd.client.run(set_paused, paused=True, workers=[paused])
                is_paused.set()

            left = iter(range(3))  # supersteps until it ends, once the worker is paused

            def note(update: Any) -> bool:
                running.set()
                return not is_paused.is_set() or next(left, None) is not None

            thread = threading.Thread(target=pause)
            thread.start()
            try:
                assert ws.run(Endless, graph, progress=note).stopped == "callback"
            finally:
                thread.join()
                crowd.client.run(set_paused, paused=False, workers=[paused])
            assert_same(ws.bfs(graph, 0), tree)
