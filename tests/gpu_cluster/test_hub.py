"""The host hub on GPUs, and on a GPU that workers share; workers that take themselves for two hosts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from clusters import workers_in
from distributed import Client
from programs import Endless
from test_dask_cuda import WAIT, assert_same, edges, kill_soon

import cugraph_ws as ws
from cugraph_ws.runtime.driver import installed_gpus
from cugraph_ws.runtime.host_segment import FOLDER, PREFIX

dask_cudf = pytest.importorskip("dask_cudf")

SHARING = 3  # workers of an only GPU: outboxes that peers hold in part
WORKERS = len(installed_gpus()) if len(installed_gpus()) > 1 else SHARING


def started() -> AbstractContextManager[Client]:
    if len(installed_gpus()) > 1:
        return ws.local_cluster()
    return workers_in([{"CUDA_VISIBLE_DEVICES": "0"}] * SHARING)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with started() as client:
        yield client


@pytest.fixture(scope="module")
def whole() -> Iterator[ws.Graph]:
    with ws.Graph(edges(), weight="weight") as graph:
        yield graph


def graph_on(client: Any, **options: Any) -> Any:
    client.wait_for_workers(WORKERS, timeout=WAIT)
    return ws.Graph(dask_cudf.from_cudf(edges(), npartitions=5), weight="weight", **options)


def kinds() -> set[str]:
    """Return the kinds of links that a worker has."""
    import gc

    from cugraph_ws.dask.gpu_links import GpuLinks

    return {type(one).__name__ for one in gc.get_objects() if isinstance(one, GpuLinks)}


@pytest.mark.parametrize("exchange", ["auto", "vr", "ms", "all"])
def test_answers(client: Any, whole: Any, exchange: str) -> None:
    with graph_on(client, links="hub") as graph:
        options = {"exchange": exchange}
        assert_same(ws.pagerank(graph, **options), ws.pagerank(whole))
        assert_same(ws.bfs(graph, [3, 99], **options), ws.bfs(whole, [3, 99]))
        assert_same(ws.sssp(graph, 3, **options), ws.sssp(whole, 3))
        assert_same(ws.widest_path(graph, 3, **options), ws.widest_path(whole, 3))
        assert_same(ws.weakly_connected_components(graph), ws.weakly_connected_components(whole))
        assert_same(ws.core_number(graph), ws.core_number(whole))
    assert all("HubLinks" in one for one in client.run(kinds).values())
    assert not list(FOLDER.glob(f"{PREFIX}*"))


def test_a_hub_serves_workers_that_share_a_gpu(client: Any, whole: Any) -> None:
    if len(installed_gpus()) > 1:
        pytest.skip("each worker has a GPU of its own")
    with graph_on(client) as graph:
        assert_same(ws.bfs(graph, 3), ws.bfs(whole, 3))
    assert all(one == {"HubLinks"} for one in client.run(kinds).values())


def test_a_lost_worker_ends_a_run(client: Any, whole: Any) -> None:
    """While the others' GPUs wait for what it has not sent."""
    with graph_on(client, links="hub") as graph:
        ws.run(Endless, graph, max_iter=3)  # compiles
        timer = kill_soon(client, 1.0)
        begun = time.monotonic()
        with pytest.raises(ws.WorkerLostError):
            ws.run(Endless, graph, max_iter=1_000_000)
        assert time.monotonic() - begun < 30.0, "no rank waits for a lost worker"
        timer.join()
        client.wait_for_workers(WORKERS, timeout=WAIT)
        assert_same(ws.pagerank(graph), ws.pagerank(whole))
    assert not list(FOLDER.glob(f"{PREFIX}*"))


@pytest.mark.parametrize("links", ["auto", "hub"])
def test_two_hosts(whole: Any, links: str) -> None:
    """A worker on each of two hosts, by what NCCL and the library are told: they exchange over TCP."""
    gpus = len(installed_gpus())
    hosts = [
        {"CUDA_VISIBLE_DEVICES": str(name % gpus), "NCCL_HOSTID": f"host {name}"}
        for name in range(2)
    ]
    with workers_in([{**one, "NCCL_SOCKET_IFNAME": "lo"} for one in hosts]) as client:
        client.wait_for_workers(2, timeout=WAIT)
        frame = dask_cudf.from_cudf(edges(), npartitions=5)
        with ws.Graph(frame, weight="weight", links=links) as graph:
            assert_same(ws.pagerank(graph), ws.pagerank(whole))
            assert_same(ws.bfs(graph, 3), ws.bfs(whole, 3))
            assert_same(ws.sssp(graph, 3), ws.sssp(whole, 3))
            assert_same(
                ws.weakly_connected_components(graph), ws.weakly_connected_components(whole)
            )
        assert all(one == {"NcclLinks"} for one in client.run(kinds).values())
