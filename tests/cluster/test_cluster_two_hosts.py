"""Worker processes that pretend to be two hosts, two on each, which share an emulated GPU by host."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import hub_workers
import pytest
from clusters import WITHIN, assert_same, spread_edges, workers_in
from distributed import Client
from failing_ranks import fail_once
from programs import Endless
from shapes import edge_frame, rmat
from watching import kinds_of_links
from zoo_vectors import MinHash

import cugraph_ws as ws
from cugraph_ws.accelerators.hub.segment import FOLDER, PREFIX

pytestmark = pytest.mark.xdist_group("cluster")

EDGES = rmat(6, 4, seed=61)
HOSTS = ("here", "here", "there", "there")
KINDS = frozenset({"PairedLinks", "HubLinks", "StagedLinks"})
GPU = {"engine": "cuda"}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with workers_in([{"NCCL_HOSTID": host} for host in HOSTS]) as started:
        started.run(hub_workers.equip, uuid="GPU-0")
        yield started


@pytest.fixture(scope="module")
def whole() -> Iterator[ws.Graph]:
    with ws.Graph(edge_frame(EDGES), weight="weight") as graph:
        yield graph


def graph_on() -> Any:
    return ws.Graph(spread_edges(EDGES, 5), weight="weight", links="hub")


def test_answers_are_those_of_one_machine(client: Client, whole: ws.Graph) -> None:
    with graph_on() as graph:
        for exchange in ("auto", "vr", "ms", "all"):
            plan = ws.Plan(exchange=exchange)
            found = ws.run(ws.PageRank, graph, max_iter=3, tol=0.0, plan=plan, **GPU)
            expected = ws.run(ws.PageRank, whole, max_iter=3, tol=0.0)
            assert_same(found.frame, expected.frame, rtol=1e-6)
        assert_same(ws.bfs(graph, 0, **GPU), ws.bfs(whole, 0))
        assert_same(ws.sssp(graph, 0, **GPU), ws.sssp(whole, 0))
        assert_same(ws.run(MinHash, graph, **GPU).frame, ws.run(MinHash, whole).frame)
        expected = ws.weakly_connected_components(whole)
        assert_same(ws.weakly_connected_components(graph, **GPU), expected)
    assert set(map(frozenset, client.run(kinds_of_links).values())) == {KINDS}, "kept"
    assert not set(FOLDER.glob(f"{PREFIX}*"))


def test_an_error_of_one_rank_is_every_ranks(client: Client, whole: ws.Graph) -> None:
    """Others wait in the GPU's queue, or for a message from the other host."""
    with graph_on() as graph:
        ws.run(Endless, graph, max_iter=3, **GPU)
        client.run(fail_once, 2, workers=[sorted(client.nthreads())[1]])
        begun = time.monotonic()
        with pytest.raises(ws.GraphMemoryError, match=r"has run out of memory \(no more\)"):
            ws.run(Endless, graph, max_iter=1_000, **GPU)
        assert time.monotonic() - begun < WITHIN
        assert_same(ws.bfs(graph, 0, **GPU), ws.bfs(whole, 0))


def test_a_lost_worker_ends_the_run_on_both_hosts(client: Client) -> None:
    with graph_on() as graph:
        ws.run(Endless, graph, max_iter=3, **GPU)
        processes = client.run(os.getpid)
        victim = processes[min(processes)]
        timer = threading.Timer(2.0, lambda: os.kill(victim, signal.SIGKILL))
        timer.start()
        begun = time.monotonic()
        with pytest.raises(ws.WorkerLostError):
            ws.run(Endless, graph, max_iter=1_000_000, **GPU)
        timer.join()
        assert time.monotonic() - begun < WITHIN
    assert not set(FOLDER.glob(f"{PREFIX}*"))
