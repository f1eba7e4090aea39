"""The host hub between worker processes: answers, memory that is given back, lost workers, several hosts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hub_workers
import pytest
from clusters import WITHIN, Workers, assert_same, eventually, spread_edges, workers, workers_in
from failing_ranks import fail_once
from programs import Endless
from shapes import edge_frame, rmat
from test_cluster_faults import timed
from watching import kinds_of_links, watched

import cugraph_ws as ws
from cugraph_ws.accelerators.hub.segment import FOLDER, PREFIX

pytestmark = pytest.mark.xdist_group("cluster")

EDGES = rmat(6, 4, seed=61)
SIZE = 3
GPU = {"engine": "cuda"}


@pytest.fixture(scope="module")
def crowd() -> Iterator[Workers]:
    with workers(SIZE) as started:
        started.client.run(hub_workers.equip)
        yield started


@pytest.fixture(scope="module")
def whole() -> Iterator[ws.Graph]:
    with ws.Graph(edge_frame(EDGES), weight="weight") as graph:
        yield graph


def names() -> set[Path]:
    return set(FOLDER.glob(f"{PREFIX}*"))


def graph_on(links: str = "hub") -> Any:
    return ws.Graph(spread_edges(EDGES), weight="weight", links=links)


def test_the_same_answers_and_no_names_left(crowd: Workers, whole: ws.Graph) -> None:
    with graph_on() as graph:
        found = ws.run(ws.PageRank, graph, max_iter=3, tol=0.0, **GPU)
        expected = ws.run(ws.PageRank, whole, max_iter=3, tol=0.0)
        assert_same(found.frame, expected.frame, rtol=1e-6)
        assert found.rows.bytes_sent[0] > 0
        assert_same(ws.bfs(graph, 0, **GPU), ws.bfs(whole, 0))
    assert set(crowd.client.run(hub_workers.count_links).values()) == {1}, "kept for the next run"
    assert not names()


def test_what_takes_too_long_is_shown(crowd: Workers) -> None:
    """Where threads are, and which messages each rank has sent and read."""
    shown: list[str] = []
    with graph_on() as graph, watched(crowd.client, 0.1, shown.append):
        ws.run(Endless, graph, max_iter=30, **GPU)
        eventually(lambda: len(shown) == SIZE)
    assert set(map(frozenset, crowd.client.run(kinds_of_links).values())) == {
        frozenset({"HubLinks"})
    }
    for text in shown:
        assert "rank " in text
        assert "words by rank" in text


def test_a_lost_worker_ends_the_run_and_the_next_one_has_new_links(
    crowd: Workers, whole: ws.Graph
) -> None:
    """The others wait in the GPU's queue for what it has not sent."""
    with graph_on() as graph:
        ws.run(Endless, graph, max_iter=3, **GPU)
        victim = crowd.wait_for(SIZE)[1]
        timer = threading.Timer(2.0, lambda: crowd.signal(victim))  # when the run has begun
        timer.start()
        found, seconds = timed(lambda: ws.run(Endless, graph, max_iter=1_000_000, **GPU))
        timer.join()
        assert isinstance(found, ws.WorkerLostError)
        assert seconds < WITHIN
    assert not names()
    eventually(lambda: len(crowd.wait_for(SIZE)) == SIZE)
    crowd.client.run(hub_workers.equip)
    with graph_on() as graph:
        assert_same(ws.bfs(graph, 0, **GPU), ws.bfs(whole, 0))


def test_an_error_of_one_rank_is_every_ranks_and_the_next_run_has_new_links(
    crowd: Workers, whole: ws.Graph
) -> None:
    """The others wait in the GPU's queue for what it will not send."""
    victim = crowd.wait_for(SIZE)[1]
    with graph_on() as graph:
        ws.run(Endless, graph, max_iter=3, **GPU)
        crowd.client.run(fail_once, 2, workers=[victim])
        begun = time.monotonic()
        with pytest.raises(ws.GraphMemoryError, match=r"has run out of memory \(no more\)"):
            ws.run(Endless, graph, max_iter=1_000, **GPU)
        assert time.monotonic() - begun < WITHIN
        assert_same(ws.bfs(graph, 0, **GPU), ws.bfs(whole, 0))
    assert set(crowd.client.run(hub_workers.count_links).values()) == {1}
    assert not names()


def test_a_gpu_that_cannot_address_the_hosts_memory_is_an_error_on_all_ranks(
    crowd: Workers,
) -> None:
    crowd.client.restart()  # links are kept
    crowd.client.run(hub_workers.equip)
    crowd.client.run(hub_workers.equip, refuses=True, workers=[crowd.wait_for(SIZE)[0]])
    with pytest.raises(ws.EngineError, match="through the host's memory: locking host memory"):
        graph_on()
    assert not names()
    crowd.client.run(hub_workers.equip)


def test_a_worker_without_a_gpu_is_told_of_the_option() -> None:
    with (
        workers(2),
        pytest.raises(ws.EngineError, match=r"links='hub' needs a GPU on each worker.*leave it"),
    ):
        graph_on()


def test_options(crowd: Workers) -> None:
    with pytest.raises(ws.InputError, match="links='pcie'"):
        graph_on("pcie")
    with pytest.raises(ws.InputError, match="links= is for Dask frames"):
        ws.Graph(edge_frame(EDGES), links="hub")


def test_two_hosts_give_one_machines_answers(whole: ws.Graph) -> None:
    """Workers that take themselves for two machines: two on one, and one on another."""
    hosts = [{"NCCL_HOSTID": name} for name in ("here", "here", "there")]
    with workers_in(hosts) as client:
        scan = ws.cluster_scan(client)
        assert sorted(scan.links["between"]) == ["network", "network", "same host"]
        with graph_on("auto") as graph:
            assert_same(ws.pagerank(graph), ws.pagerank(whole), rtol=1e-6)
            assert_same(ws.bfs(graph, 0), ws.bfs(whole, 0))
            expected = ws.weakly_connected_components(whole)
            assert_same(ws.weakly_connected_components(graph), expected)
