"""Ways between GPUs against one GPU: the host hub, linked launches, NCCL; workers that take themselves for two hosts.

Where there is one GPU, workers share it, and only the hub serves them.  One cluster and one graph for each way serve
all cases; what takes least time comes first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from clusters import workers_in
from distributed import Client
from failing_ranks import fail_once
from programs import Endless
from test_dask_cuda import WAIT, assert_same, edges, kill_soon
from watching import kinds_of_links, watched

import cugraph_ws as ws
from cugraph_ws.accelerators.hub.segment import FOLDER, PREFIX
from cugraph_ws.runtime.driver import installed_gpus

dask_cudf = pytest.importorskip("dask_cudf")

# The first test of a function compiles; a hang ends one test, not all of them.
pytestmark = pytest.mark.timeout(90, method="signal")

ALONE = len(installed_gpus()) < 2
SHARING = 3  # workers of an only GPU: outboxes that peers hold in part
WORKERS = SHARING if ALONE else len(installed_gpus())
SUSPICIOUS = 60.0  # seconds of a test after which it is shown what workers are doing
METHODS = ("auto", "vr", "ms", "all")
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "bfs": (ws.bfs, {"start": [3, 99]}),
    "pagerank": (ws.pagerank, {}),
    "sssp": (ws.sssp, {"source": 3}),
    "widest path": (ws.widest_path, {"source": 3}),
    "components": (ws.weakly_connected_components, {}),
    "cores": (ws.core_number, {}),
}
WITHOUT = ("components", "cores")  # functions that take no plan


def started() -> AbstractContextManager[Client]:
    return workers_in([{"CUDA_VISIBLE_DEVICES": "0"}] * SHARING) if ALONE else ws.local_cluster()


@pytest.fixture(scope="module")
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Show a line at once, with the seconds since the module began."""
    capture, begun = request.config.pluginmanager.getplugin("capturemanager"), time.monotonic()

    def show(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n  {time.monotonic() - begun:6.1f} s: {text}", flush=True)

    return show


@pytest.fixture(scope="module")
def client(say: Any) -> Iterator[Any]:
    with started() as client:
        say(f"{len(client.nthreads())} workers")
        yield client


@pytest.fixture(autouse=True)
def watch(client: Any, say: Any) -> Iterator[None]:
    with watched(client, SUSPICIOUS, say):
        yield


@pytest.fixture(scope="module")
def graphs(client: Any, say: Any) -> Iterator[Callable[[str], Any]]:
    """Return a function that returns the graph with links of a kind."""
    made: dict[str, Any] = {}

    def graph(links: str) -> Any:
        client.wait_for_workers(WORKERS, timeout=WAIT)
        if links not in made:
            frame = dask_cudf.from_cudf(edges(), npartitions=5)
            made[links] = ws.Graph(frame, weight="weight", links=links)
            say(f"a graph with links={links!r}")
        return made[links]

    yield graph
    for one in made.values():
        one.close()


@pytest.fixture(scope="module")
def expected() -> Iterator[Callable[[str], Any]]:
    """Return a function that returns what one GPU computes."""
    known: dict[str, Any] = {}

    def result(name: str) -> Any:
        if name not in known:
            function, options = FUNCTIONS[name]
            known[name] = function(graph, **options)
        return known[name]

    with ws.Graph(edges(), weight="weight") as graph:
        yield result


def test_a_hub_is_made_and_leaves_no_names(client: Any, graphs: Any) -> None:
    graphs("hub")
    assert set(map(frozenset, client.run(kinds_of_links).values())) == {frozenset({"HubLinks"})}
    assert not list(FOLDER.glob(f"{PREFIX}*"))


@pytest.mark.parametrize(
    ("name", "exchange"),
    [
        (name, exchange)
        for name in FUNCTIONS
        for exchange in METHODS
        if name not in WITHOUT or exchange == "auto"
    ],
)
def test_answers(graphs: Any, expected: Any, say: Any, name: str, exchange: str) -> None:
    function, options = FUNCTIONS[name]
    given = {} if name in WITHOUT else {"plan": ws.Plan(exchange=exchange)}
    begun = time.monotonic()
    found = function(graphs("hub"), **options, **given)
    say(f"{name} after {time.monotonic() - begun:.2f} s")
    assert_same(found, expected(name))


def test_programs_say_what_left_gpus(graphs: Any) -> None:
    found = ws.run(ws.BFS, graphs("hub"), start=3)
    assert found.trace["bytes_sent"].sum() > 0
    assert not found.trace["fused"].any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_answers_by_the_way_that_is_chosen(graphs: Any, expected: Any, name: str) -> None:
    function, options = FUNCTIONS[name]
    assert_same(function(graphs("auto"), **options), expected(name))


def test_the_way_that_is_chosen(client: Any, graphs: Any, say: Any) -> None:
    """Linked launches where GPUs address each other's memory; the hub where workers share one."""
    rows = ws.run(ws.SSSP, graphs("auto"), start=3).trace
    kinds = client.run(kinds_of_links)
    say(f"links: {kinds}, {int(rows['fused'].sum())} of {len(rows)} supersteps in linked launches")
    assert len(set(map(frozenset, kinds.values()))) == 1, "ranks agree"
    if ALONE:
        assert all(one == {"HubLinks"} for one in kinds.values())
    else:
        linked = all("NcclLinks, linked" in one for one in kinds.values())
        assert bool(rows["fused"].any()) == linked


@pytest.mark.parametrize("links", ["hub", "auto"])
def test_an_error_of_one_rank_ends_a_run(
    client: Any, graphs: Any, expected: Any, links: str
) -> None:
    """While the others' GPUs wait; the next run's messages are not taken for this one's."""
    graph = graphs(links)
    ws.run(Endless, graph, max_iter=3)
    client.run(fail_once, 2, workers=[sorted(client.nthreads())[1]])
    with pytest.raises(ws.GraphMemoryError, match="has run out of memory"):
        ws.run(Endless, graph, max_iter=1_000)
    assert_same(ws.bfs(graph, [3, 99]), expected("bfs"))


def test_a_lost_worker_ends_a_run(client: Any, graphs: Any, expected: Any) -> None:
    """While the others' GPUs wait for what it has not sent."""
    graph = graphs("hub")
    ws.run(Endless, graph, max_iter=3)  # compiles
    timer = kill_soon(client, 1.0)
    begun = time.monotonic()
    with pytest.raises(ws.WorkerLostError):
        ws.run(Endless, graph, max_iter=1_000_000)
    assert time.monotonic() - begun < 30.0, "no rank waits for a lost worker"
    timer.join()
    client.wait_for_workers(WORKERS, timeout=WAIT)
    assert_same(ws.pagerank(graph), expected("pagerank"))
    assert not list(FOLDER.glob(f"{PREFIX}*"))


@pytest.mark.timeout(240, method="signal")  # four workers compile
@pytest.mark.parametrize("links", ["auto", "hub"])
def test_two_hosts_of_two_workers(expected: Any, say: Any, links: str) -> None:
    """Four workers that take themselves for two hosts: one GPU for all, or two, of which each host has both.

    On one GPU, workers of a host share it, so that the other host is reached over TCP; on two NCCL reaches it.
    """
    gpus = min(2, len(installed_gpus()))
    hosts = [
        {
            "CUDA_VISIBLE_DEVICES": str(name % gpus),
            "NCCL_HOSTID": f"host {name // 2}",
            "NCCL_SOCKET_IFNAME": "lo",
        }
        for name in range(4)
    ]
    by_pairs = {"PairedLinks", "HubLinks", "StagedLinks" if gpus == 1 else "NcclLinks"}
    with workers_in(hosts) as client:
        frame = dask_cudf.from_cudf(edges(), npartitions=5)
        with ws.Graph(frame, weight="weight", links=links) as graph:
            for name, (function, options) in FUNCTIONS.items():
                begun = time.monotonic()
                assert_same(function(graph, **options), expected(name))
                say(
                    f"two hosts of two, links={links!r}: {name} after {time.monotonic() - begun:.2f} s"
                )
            for exchange in METHODS:
                found = ws.pagerank(graph, plan=ws.Plan(exchange=exchange))
                assert_same(found, expected("pagerank"))
            wanted = {"NcclLinks"} if (gpus, links) == (2, "auto") else by_pairs
            assert all(one == wanted for one in client.run(kinds_of_links).values())
            ws.run(Endless, graph, max_iter=3)
            timer, begun = kill_soon(client, 1.0), time.monotonic()
            with pytest.raises(ws.WorkerLostError):
                ws.run(Endless, graph, max_iter=1_000_000)
            assert time.monotonic() - begun < 30.0, "no rank waits for a lost worker"
            timer.join()
            client.wait_for_workers(4, timeout=WAIT)
        if links == "auto":
            carriers = ws.cluster_scan(client, engine="cuda").links["carrier"]
            here, between = ("host memory", "network") if gpus == 1 else ("NCCL", "NCCL")
            say(f"carriers: {sorted(carriers)}")
            assert sorted(carriers) == sorted([here] * 2 + [between] * 4)


def test_two_hosts(expected: Any, say: Any) -> None:
    """A worker on each of two hosts, by what NCCL and the library are told: they exchange over TCP."""
    gpus = len(installed_gpus())
    hosts = [
        {"CUDA_VISIBLE_DEVICES": str(name % gpus), "NCCL_HOSTID": f"host {name}"}
        for name in range(2)
    ]
    with workers_in([{**one, "NCCL_SOCKET_IFNAME": "lo"} for one in hosts]) as client:
        for links in ("auto", "hub"):
            frame = dask_cudf.from_cudf(edges(), npartitions=5)
            with ws.Graph(frame, weight="weight", links=links) as graph:
                say(f"two hosts, links={links!r}")
                for name in ("bfs", "pagerank", "sssp", "components"):
                    function, options = FUNCTIONS[name]
                    assert_same(function(graph, **options), expected(name))
        assert all(one == {"NcclLinks"} for one in client.run(kinds_of_links).values())
