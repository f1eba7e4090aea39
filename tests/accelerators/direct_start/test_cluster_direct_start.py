"""Calls that workers begin before Dask's tasks for them come: the same answers, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import (
    WITHIN,
    Workers,
    assert_same,
    certificates,
    eventually,
    on_workers,
    spread_edges,
    workers,
)
from distributed import Client, Event, Worker, wait
from distributed.core import ConnectionPool
from programs import Endless
from shapes import build, rmat, vertex_frame

import cugraph_ws as ws
from cugraph_ws.accelerators.direct_start import client as direct_start
from cugraph_ws.accelerators.direct_start.client import DirectStart
from cugraph_ws.dask import client as driver
from cugraph_ws.dask import started_tasks
from cugraph_ws.dask import tasks as rank_tasks
from cugraph_ws.dask.heartbeat import Heartbeat
from cugraph_ws.dask.started_tasks import StartedTask, StartedTasks
from cugraph_ws.dask.tasks import call_rank, take_rank
from cugraph_ws.dask.worker import RankPlugin

pytestmark = pytest.mark.xdist_group("cluster")

SKEWED = rmat(8, 6, seed=61)


@pytest.fixture(scope="module")
def pair() -> Iterator[Workers]:
    with workers(2) as started:
        yield started


@pytest.fixture(scope="module")
def graph(pair: Workers) -> Iterator[Any]:
    with on_workers(SKEWED) as built:
        yield built


@pytest.fixture(scope="module")
def tree() -> Any:
    with build(SKEWED) as whole:
        return ws.bfs(whole, 0)


def counting(dask_worker: Worker) -> None:
    """Have a worker count how often it begins early, from now on."""
    if hasattr(dask_worker, "began_early"):
        return
    dask_worker.began_early = 0

    def count(usual: Any) -> Any:
        def counted(*given: Any) -> Any:
            dask_worker.began_early += 1
            return usual(*given)

        return counted

    rank_tasks.call_directly = count(rank_tasks.call_directly)
    rank_tasks._make_directly = count(rank_tasks._make_directly)


def counted(dask_worker: Worker) -> int:
    return dask_worker.began_early


def unclaimed(dask_worker: Worker) -> int:
    return len(dask_worker.plugins["cugraph_ws"].started._begun)


@pytest.fixture
def counts(pair: Workers, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What returns how often each worker has begun early since the test began.

    Tasks are submitted somewhat later than usual, so that they never overtake requests on a busy machine.
    """
    usual = driver.submit_tasks

    def submit_later(client: Any, pieces: Any) -> Any:
        time.sleep(0.1)  # requests take milliseconds
        return usual(client, pieces)

    monkeypatch.setattr(driver, "submit_tasks", submit_later)
    pair.client.run(counting)
    before = pair.client.run(counted)
    return lambda: {one: now - before[one] for one, now in pair.client.run(counted).items()}


def kept(dask_worker: Worker) -> list[str]:
    return [str(key) for key in dask_worker.plugins["cugraph_ws"].shards]


def added(pair: Workers, before: Any) -> set[str]:
    """Return the shards that workers keep now and did not keep then; graphs of other tests may go meanwhile."""
    now = pair.client.run(kept)
    return {key for one, keys in now.items() for key in keys} - {
        key for keys in before.values() for key in keys
    }


def with_edges(tree: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of vertices with edges."""
    ends = np.union1d(SKEWED.source, SKEWED.destination)
    return tree[tree["vertex"].isin(ends)].reset_index(drop=True)


class TestBuilds:
    @pytest.mark.parametrize("vertices", [None, "partitioned", "whole"])
    def test_every_worker_begins_before_its_task_comes(self, pair, graph, tree, counts, vertices):
        """Unless a whole vertex frame would have to be sent twice."""
        before = pair.client.run(kept)
        frame = None if vertices is None else vertex_frame(SKEWED)
        if vertices == "partitioned":
            frame = dd.from_pandas(frame, npartitions=3)
        with ws.Graph(spread_edges(SKEWED), vertices=frame) as built:
            assert set(counts().values()) == {int(vertices != "whole")}
            assert len(added(pair, before)) == 2
            assert_same(ws.bfs(built, 0), with_edges(tree) if vertices is None else tree)
            assert built.number_of_edges == graph.number_of_edges
            assert sum(one["owned"] for one in built.partitions) == built.number_of_vertices
            eventually(lambda: set(pair.client.run(unclaimed).values()) == {0})
        eventually(lambda: not added(pair, before))

    @pytest.mark.parametrize("given", ["list", "partitioned", "frame"])
    def test_graphs_are_derived_before_tasks_come(self, pair, graph, counts, given):
        """Unless a frame would have to be sent twice."""
        before = pair.client.run(kept)
        with build(SKEWED) as whole:
            if given == "list":
                few = list(range(0, 256, 3))
                derived, expected = graph.subgraph(few), whole.subgraph(few)
            else:
                labels = pd.DataFrame({"vertex": np.arange(256), "label": np.arange(256) // 9})
                told = dd.from_pandas(labels, npartitions=3) if given == "partitioned" else labels
                derived, expected = graph.contract(told), whole.contract(labels)
            assert set(counts().values()) == {int(given != "frame")}
            with derived, expected:
                assert derived.number_of_edges == expected.number_of_edges
                assert_same(
                    ws.weakly_connected_components(derived),
                    ws.weakly_connected_components(expected),
                )
        eventually(lambda: not added(pair, before))

    def test_a_graph_is_there_at_once(self, pair, tree):
        """Dask reports later than the workers that the build is done."""
        for _ in range(3):
            with ws.Graph(spread_edges(SKEWED)) as graph:
                shares = [share.key for share in graph._shares]
                assert_same(ws.bfs(graph, 0), with_edges(tree))
                assert [share.key for share in graph._shares] == shares, "built once"

    def test_an_error_is_raised_and_nothing_is_kept(self, pair, graph, counts):
        before = pair.client.run(kept)
        edges = spread_edges(SKEWED)
        wrong = edges.assign(source=edges["source"].where(edges["source"] != 3))
        with pytest.raises(ws.InputError, match="source"):
            ws.Graph(wrong)
        assert set(counts().values()) == {1}
        assert not added(pair, before)
        eventually(lambda: set(pair.client.run(unclaimed).values()) == {0})

    def test_a_worker_without_partitions_begins_too(self, pair, tree, counts):
        edges = spread_edges(SKEWED, 1).persist()
        wait(edges)
        with ws.Graph(edges) as graph:
            assert set(counts().values()) == {1}
            assert_same(ws.bfs(graph, 0), with_edges(tree))


def failing(worker: Any) -> Any:
    """Return work that fails."""

    def work() -> None:
        raise ws.InputError("wrong")

    return work


class TestCalls:
    def test_every_worker_begins_before_its_task_comes(self, pair, graph, tree, counts):
        for _ in range(3):
            assert_same(ws.bfs(graph, 0), tree)
        assert set(counts().values()) == {3}

    def test_a_client_that_cannot_ask_waits_for_dask(self, pair, graph, tree, counts, monkeypatch):
        monkeypatch.setattr(DirectStart, "of", classmethod(lambda *_, **named: None))
        assert_same(ws.bfs(graph, 0), tree)
        assert set(counts().values()) == {0}

    def test_a_worker_that_is_out_of_reach_is_not_tried_at_once_again(
        self, pair, graph, tree, counts, monkeypatch
    ):
        usual, tried = ConnectionPool.connect, []
        far = graph.partitions[1]["worker"]

        async def connect(self: ConnectionPool, address: str, timeout: Any = None) -> Any:
            if self is pair.client.rpc and address == far:
                tried.append(address)
                raise OSError("no way there")
            return await usual(self, address, timeout)

        monkeypatch.setattr(ConnectionPool, "connect", connect)
        try:
            for _ in range(3):
                assert_same(ws.bfs(graph, 0), tree)
            assert tried == [far]
            assert counts()[far] == 0
            monkeypatch.setattr(direct_start, "AGAIN", 0.0)
            assert_same(ws.bfs(graph, 0), tree)
            assert tried == [far, far]
        finally:
            direct_start._OUT_OF_REACH.clear()

    def test_long_arguments_go_with_the_task_alone(self, pair, graph, counts, monkeypatch):
        monkeypatch.setattr(direct_start, "MOST", 10)
        with build(SKEWED) as whole:
            expected = ws.sssp(whole, 0)
        assert_same(ws.sssp(graph, 0), expected)
        assert set(counts().values()) == {0}

    def test_partitions_of_arguments_that_workers_hold_need_not_come(self, pair, graph, counts):
        shares = ws.bfs(graph, 0)[["vertex"]].assign(value=1.0)
        before = counts()
        found = ws.pagerank(graph, personalization=shares)
        assert {one: now - before[one] for one, now in counts().items()} == dict.fromkeys(before, 1)
        with build(SKEWED) as whole:
            expected = ws.pagerank(whole)
        assert_same(found, expected, rtol=1e-5)

    def test_partitions_that_are_elsewhere_come_with_the_task(self, pair, graph, counts):
        """One worker has all of them; the other begins when its task comes."""
        with build(SKEWED) as whole:
            vertices = pd.DataFrame({"vertex": np.arange(whole.number_of_vertices), "value": 1.0})
            expected = ws.pagerank(whole)
        shares = dd.from_pandas(vertices, npartitions=1).persist()
        wait(shares)
        (holders,) = pair.client.who_has(shares).values()
        assert_same(ws.pagerank(graph, personalization=shares), expected, rtol=1e-5)
        assert counts() == {one: int(one in holders) for one in pair.client.nthreads()}

    def test_frames_that_are_there_are_not_computed_again(self, pair, graph, monkeypatch):
        with build(SKEWED) as whole:
            vertices = pd.DataFrame({"vertex": np.arange(whole.number_of_vertices), "value": 1.0})
            expected = ws.pagerank(whole)
        lazy = dd.from_pandas(vertices, npartitions=3)
        kept, computed = lazy.persist(), []
        usual = type(pair.client).compute

        def compute(self: Any, collections: Any, **options: Any) -> Any:
            computed.append(len(collections))
            return usual(self, collections, **options)

        monkeypatch.setattr(type(pair.client), "compute", compute)
        shares = ws.bfs(graph, 0)[["vertex"]].assign(value=1.0)
        futures = pair.client.compute(lazy.to_delayed())
        unchecked, checked = (
            dd.from_delayed(futures, meta=vertices[:0], verify_meta=checks)
            for checks in (False, True)
        )
        cases = [(kept, []), (unchecked, []), (checked, [3]), (shares, [2]), (lazy, [3])]
        for frame, tasks in cases:
            computed.clear()
            found = ws.pagerank(graph, personalization=frame)
            assert computed == tasks
            assert_same(found, expected, rtol=1e-5)

    def test_a_task_that_comes_first_does_it_itself(self, pair, graph, tree, counts, monkeypatch):
        """Every call is late: its task has reached the worker, and Dask reports its end."""
        usual = DirectStart._ask

        async def late(self: DirectStart, *call: Any) -> None:
            await asyncio.sleep(1.0)
            await usual(self, *call)

        monkeypatch.setattr(DirectStart, "_ask", late)
        monkeypatch.setattr(driver, "FIRST_LOOK", 60.0)
        assert_same(ws.bfs(graph, 0), tree)
        assert set(counts().values()) == {0}

    def test_an_error_is_the_ranks_own(self, pair, graph, counts):
        for _ in range(2):
            with pytest.raises(ws.InputError, match="has no value, nor have"):
                ws.heat(graph, {0: 1.0})
        assert set(counts().values()) == {2}
        eventually(lambda: set(pair.client.run(unclaimed).values()) == {0})

    def test_nothing_is_left_of_results_without_references(self, pair, graph):
        for _ in range(20):
            ws.bfs(graph, 0)
        gc.collect()
        eventually(lambda: set(pair.client.run(unclaimed).values()) == {0})

    def test_tasks_of_a_call_that_takes_long_are_submitted_later(
        self, pair, graph, tree, counts, monkeypatch
    ):
        noted: list[float] = []

        def noting(function: Any) -> Any:
            def noted_first(*given: Any, **named: Any) -> Any:
                noted.append(time.monotonic())
                return function(*given, **named)

            return noted_first

        monkeypatch.setattr(driver, "LONG", -1.0)
        graph._took.clear()
        monkeypatch.setattr(driver, "LATER", 0.4)
        monkeypatch.setattr(DirectStart, "of", noting(DirectStart.of))
        monkeypatch.setattr(driver, "submit_tasks", noting(driver.submit_tasks))
        assert_same(ws.bfs(graph, 0), tree)
        summoned, submitted = noted
        assert submitted - summoned >= 0.4
        assert set(counts().values()) == {1}

    def test_short_calls_do_not_wait_for_their_tasks(self, pair, graph, tree, counts, monkeypatch):
        made, usual = [], driver.submit_tasks

        def noted(client: Any, pieces: Any) -> Any:
            made.append(pieces[0])
            return usual(client, pieces)

        monkeypatch.setattr(driver, "PATIENCE", 30.0)
        monkeypatch.setattr(driver, "submit_tasks", noted)
        graph._took["bfs"] = 1e-3
        assert_same(ws.bfs(graph, 0), tree)
        assert [one.function for one in made] == [take_rank]
        assert set(counts().values()) == {1}
        eventually(lambda: set(pair.client.run(unclaimed).values()) == {0})

    def test_a_short_call_that_reports_progress_has_its_tasks_at_once(
        self, pair, graph, monkeypatch
    ):
        """Before that nobody hears its reports."""
        made, usual = [], driver.submit_tasks
        monkeypatch.setattr(
            driver,
            "submit_tasks",
            lambda client, pieces: made.extend(pieces) or usual(client, pieces),
        )
        monkeypatch.setattr(driver, "PATIENCE", 30.0)
        graph._took["run"] = 1e-3
        ws.run(Endless, graph, max_iter=2, progress=lambda update: True)
        assert made[0].function is call_rank

    def test_a_short_call_that_takes_long_waits_for_its_tasks(
        self, pair, graph, tree, counts, monkeypatch
    ):
        monkeypatch.setattr(driver, "PATIENCE", 0.0)
        graph._took["bfs"] = 1e-3
        assert_same(ws.bfs(graph, 0), tree)
        assert set(counts().values()) == {1}

    def test_a_result_may_be_taken_over_by_another_worker(self, pair, graph, tree, monkeypatch):
        """As if its worker were paused."""
        addresses, usual = [one["worker"] for one in graph.partitions], driver.submit_tasks

        def elsewhere(client: Any, pieces: Any) -> Any:
            other = dict(zip(addresses, reversed(addresses), strict=True))
            return usual(client, [replace(one, worker=other.get(one.worker)) for one in pieces])

        monkeypatch.setattr(driver, "PATIENCE", 30.0)
        monkeypatch.setattr(driver, "submit_tasks", elsewhere)
        graph._took["bfs"] = 1e-3
        assert_same(ws.bfs(graph, 0), tree)

    @pytest.mark.usefixtures("usual_handler")
    def test_ctrl_c_in_a_short_call_is_not_lost(self, pair, graph, monkeypatch):
        usual = DirectStart.wait

        def pressed(self: DirectStart, seconds: float) -> bool:
            over = usual(self, seconds)
            signal.raise_signal(signal.SIGINT)
            return over

        monkeypatch.setattr(driver, "PATIENCE", 30.0)
        monkeypatch.setattr(DirectStart, "wait", pressed)
        graph._took["bfs"] = 1e-3
        with pytest.raises(KeyboardInterrupt):
            ws.bfs(graph, 0)
        assert set(pair.client.run(unclaimed).values()) == {0}, "its results are freed"

    @pytest.mark.usefixtures("usual_handler")
    def test_ctrl_c_before_tasks_are_submitted_ends_the_run(self, pair, graph, monkeypatch):
        ws.run(Endless, graph, max_iter=1)
        monkeypatch.setattr(driver, "LONG", -1.0)
        graph._took.clear()
        monkeypatch.setattr(driver, "LATER", 1.0)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(ws.Interrupted) as caught:
            ws.run(Endless, graph)
        assert caught.value.result.stopped == "interrupt"

    @pytest.mark.parametrize("took", [0.0, 1e-3])
    def test_a_worker_that_dies_with_its_result_is_an_error_and_no_hang(self, pair, took):
        pair.wait_for(2)
        with on_workers(SKEWED) as lost:
            ws.run(Endless, lost, max_iter=1)
            lost._took["run"] = took
            frame = ws.run(Endless, lost, max_iter=2).frame
            begun = time.monotonic()
            pair.signal(lost.partitions[1]["worker"], signal.SIGKILL)
            with pytest.raises(ws.WorkerLostError, match="was lost, with its partitions"):
                frame.compute()
            assert time.monotonic() - begun < WITHIN
        pair.wait_for(2)


class TestStartedTasks:
    def test_work_is_taken_over_by_its_task(self):
        starts, going = StartedTasks(), threading.Event()
        begun = starts.begin("key", lambda: going.wait(30) and threading.current_thread().name)
        assert isinstance(begun, StartedTask)
        assert starts.take("key") is begun
        assert not begun.outcome.done()
        going.set()
        assert begun.outcome.result(30) == "key"
        assert starts.take("key") is None

    def test_errors_are_kept(self):
        begun = StartedTasks().begin("key", lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            begun.outcome.result(30)

    @pytest.mark.parametrize("how", ["take", "drop"])
    def test_no_direct_start_for_tasks_that_have_come_or_never_will(self, how):
        starts = StartedTasks()
        getattr(starts, how)("key")
        assert starts.begin("key", lambda: pytest.fail("it must not begin")) is None

    @pytest.mark.parametrize("owned", [True, False])
    def test_an_error_that_its_task_raises_is_not_logged_as_never_retrieved(self, owned):
        plugin, logged = RankPlugin(), []
        plugin.started, plugin._waiting = StartedTasks(), set()
        plugin.worker = SimpleNamespace(state=SimpleNamespace(tasks={"key": None}))

        async def both():
            asyncio.get_running_loop().set_exception_handler(lambda _, one: logged.append(one))
            asked = asyncio.create_task(plugin.call("key", pickle.dumps(failing), owned))
            await asyncio.sleep(0)  # it begins the work
            started = plugin.started.take("key")
            started.owned.set_result(None)
            assert await asked is None
            await asyncio.gather(*plugin._waiting)
            del asked, started
            gc.collect()

        asyncio.run(both())
        assert logged == []

    def test_remembered_tasks_are_bounded(self, monkeypatch):
        monkeypatch.setattr(started_tasks, "REMEMBERED", 3)
        starts = StartedTasks()
        for number in range(5):
            starts.take(number)
        assert list(starts._past) == [2, 3, 4]


def test_two_clients_on_one_cluster(pair, graph, tree, counts):
    """Each has calls of its own begin, at the same time, on graphs of its own and of the other's workers."""
    with Client(pair.cluster.scheduler_address, set_as_default=False) as other:
        theirs = ws.Graph(
            spread_edges(SKEWED), weight="weight", directed=SKEWED.directed,
            vertices=vertex_frame(SKEWED), client=other,
        )  # fmt: skip
        before = counts()

        def three(which: Any) -> list[Any]:
            return [ws.bfs(which, 0) for _ in range(3)]

        with ThreadPoolExecutor(2) as executor:
            own, others = executor.map(three, (graph, theirs))
            for one in own:
                assert_same(one, tree)
            for one in others:
                parts = other.gather(other.compute(one.to_delayed()))
                found = pd.concat(parts, ignore_index=True)
                pd.testing.assert_frame_equal(found, tree)
        assert {one: now - before[one] for one, now in counts().items()} == dict.fromkeys(before, 6)
        theirs.close()
    assert_same(ws.bfs(graph, 0), tree)
    eventually(lambda: set(pair.client.run(unclaimed).values()) == {0})


def test_workers_that_are_started_again(pair, tree):
    """The graph is built again, and calls begin early as before."""
    with on_workers(SKEWED) as graph:
        frame = ws.bfs(graph, 0)
        assert_same(frame, tree)
        pair.client.restart()
        pair.wait_for(2)
        assert_same(ws.bfs(graph, 0), tree)
        pair.client.run(counting)
        assert_same(ws.bfs(graph, 0), tree)
        assert set(pair.client.run(counted).values()) == {1}


def linked(context: Any) -> tuple[bool, int, bytes]:
    """Open the control channel between ranks, and exchange a word."""
    with rank_tasks.at_work(context) as comm:
        lines = Heartbeat(comm, context.addresses)
        encrypted = all(
            isinstance(one._line, ssl.SSLSocket) for one in lines._message_lines.values()
        )
        lines.begin(context.run)
        other = 1 - comm.rank
        came = lines.swap({other: b"from %d" % comm.rank}, comm.check)[other]
        comm.allgather(None)
        lines.close()
        return encrypted, comm.room, came


def told_of_channels(crowd: Workers) -> list[tuple[bool, int, bytes]]:
    addresses = crowd.wait_for(2)
    told = driver.run_on_ranks(crowd.client, addresses, linked, [(), ()], "linked", ["", ""])
    return crowd.client.gather(told)


def test_the_control_channel_of_a_cluster_without_certificates(pair):
    (first, room, one), (second, other_room, other) = told_of_channels(pair)
    assert (first, second) == (False, False)
    assert min(room, other_room) > 0
    assert (one, other) == (b"from 1", b"from 0")


def test_a_cluster_with_certificates(tmp_path, tree):
    """Calls begin early there too, and the control channel is encrypted."""
    with (
        workers(2, protocol="tls://", security=certificates(tmp_path)) as crowd,
        on_workers(SKEWED) as graph,
        build(SKEWED) as whole,
    ):
        assert all(one["worker"].startswith("tls://") for one in graph.partitions)
        crowd.client.run(counting)
        assert_same(ws.bfs(graph, 0), tree)
        assert_same(ws.pagerank(graph), ws.pagerank(whole), rtol=1e-5)
        # A task that comes first does the work itself, as on a busy machine whose workers still connect.
        for _ in range(10):
            if min(crowd.client.run(counted).values()) >= 2:
                break
            assert_same(ws.bfs(graph, 0), tree)
        assert min(crowd.client.run(counted).values()) >= 2
        assert [(one, came) for one, _, came in told_of_channels(crowd)] == [
            (True, b"from 1"),
            (True, b"from 0"),
        ]


async def asked_for_nobody(dask_worker: Worker) -> Any:
    """Have a worker begin what no task will come for; return what it says, and what is left of it."""
    from distributed.protocol.pickle import dumps

    from cugraph_ws.dask import worker

    plugin = dask_worker.plugins["cugraph_ws"]
    worker.OWNED, usual = 0.2, worker.OWNED
    try:
        told = await plugin.call("never", dumps(lambda worker: lambda: (worker.address, "told")))
    finally:
        worker.OWNED = usual
    return told, len(plugin.started._begun)


def test_work_without_a_task_is_dropped_after_a_while(pair, graph, tree):
    assert_same(ws.bfs(graph, 0), tree)  # the workers can still run calls
    assert set(pair.client.run(asked_for_nobody).values()) == {(None, 0)}


def impatient(seconds: float) -> float:
    """Let this worker wait so long for tasks; return how long it would."""
    from cugraph_ws.dask import worker

    worker.OWNED, usual = seconds, worker.OWNED
    return usual


def held_up(name: str) -> None:
    Event(name).wait(30)


def test_a_task_that_waits_for_a_thread_is_waited_for(pair, graph, tree):
    """The worker knows of it, though its only thread has other work."""
    ws.bfs(graph, 0)
    (usual,) = set(pair.client.run(impatient, 0.5).values())
    try:
        busy = [
            pair.client.submit(held_up, "over", workers=[one["worker"]], pure=False)
            for one in graph.partitions
        ]
        threading.Timer(1.5, Event("over", client=pair.client).set).start()
        assert_same(ws.bfs(graph, 0), tree)
        wait(busy)
    finally:
        pair.client.run(impatient, usual)
        Event("over", client=pair.client).clear()
    assert set(pair.client.run(unclaimed).values()) == {0}


def test_a_direct_start_ends_when_a_worker_cannot_reply(pair):
    calls = [
        (address, f"nobody-{place}", b"no pickle") for place, address in enumerate(pair.pids())
    ]
    started = DirectStart(pair.client, calls)
    assert started.wait(30.0)
    assert not started.done
    assert started.replies == [None, None]
