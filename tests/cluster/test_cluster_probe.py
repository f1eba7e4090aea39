"""Measurements of a cluster, and the proposal; facts of GPUs are made up."""

from __future__ import annotations

import importlib.util
import itertools
import threading

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from hypothesis import given
from hypothesis import strategies as st
from thread_ranks import over_links

import cugraph_ws as ws
from cugraph_ws.backends.cuda import schedule
from cugraph_ws.dask import probe as scan
from cugraph_ws.dask import rank_probe
from cugraph_ws.runtime import driver

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.xdist_group("scan")


@pytest.fixture(scope="module")
def client():
    """Two processes."""
    with ws.local_cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def threads():
    """Three workers in this process: an odd number of partners."""
    with (
        distributed.LocalCluster(
            n_workers=3, processes=False, threads_per_worker=2, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_two_processes(client):
    found = ws.cluster_scan()
    addresses = sorted(client.nthreads())
    assert list(found.workers["worker"]) == addresses
    assert (found.workers["threads"] == 1).all()
    assert (found.workers["memory_free"] > 0).all()
    assert (found.workers["memory_free"] < found.workers["memory_limit"]).all()
    assert found.workers["node"].nunique() == 1
    assert (found.workers["arcs_per_second"] > 1e5).all()
    np.testing.assert_allclose(found.workers["speed"], found.speeds)
    assert sum(found.speeds) == pytest.approx(2)
    (link,) = found.links.to_dict("records")
    assert (link["first"], link["second"]) == tuple(addresses)
    assert link["between"] == "same host"
    assert link["carrier"] == "Dask"
    assert link["bytes_per_second"] > 1e6
    assert 0 < link["latency"] < 10
    text = str(found)
    assert text.startswith("2 workers on 1 node\n")
    assert all(address in text for address in addresses)
    assert "1 link, same host" in text
    assert "over Dask: " in text


def test_the_proposal_is_what_graph_takes(client):
    found = ws.cluster_scan(client)
    assert set(found.proposal) == {"workers", "balance"}
    edges = pd.DataFrame({"source": range(60), "destination": [*range(1, 60), 0]})
    spread = dd.from_pandas(edges, npartitions=3)
    with ws.Graph(spread, **found.proposal) as graph:
        assert [one["worker"] for one in graph.partitions] == found.proposal["workers"]
        assert ws.pagerank(graph).compute()["pagerank"].sum() == pytest.approx(1)
    with ws.Graph(spread, balance="auto") as graph:
        assert graph.number_of_edges == 60


def test_only_the_workers_asked_for(client):
    last = max(client.nthreads())
    found = ws.cluster_scan(workers=[last])
    assert found.speeds == [1.0]
    assert found.proposal == {"workers": [last], "balance": [1.0]}
    assert len(found.links) == 0
    assert "1 worker on 1 node" in str(found)
    with pytest.raises(ws.EngineError, match="worker tcp://nowhere:1 is not in the cluster"):
        ws.cluster_scan(workers=["tcp://nowhere:1"])


def test_workers_of_one_process(threads):
    found = ws.cluster_scan(threads)
    assert list(found.workers["threads"]) == [2, 2, 2]
    assert set(found.links["between"]) == {"same process"}
    pairs = zip(found.links["first"], found.links["second"], strict=True)
    assert set(pairs) == set(itertools.combinations(sorted(threads.nthreads()), 2))


def test_nothing_is_left_with_the_workers(client):
    ws.cluster_scan()
    mail = client.run(lambda dask_worker: len(dask_worker.plugins["cugraph_ws"]._messages))
    assert set(mail.values()) == {0}


def test_without_a_client(monkeypatch):
    def none():
        raise ValueError("no client")

    monkeypatch.setattr("cugraph_ws.dask.client.get_client", none)
    with pytest.raises(ws.EngineError, match=r"client = Client\(\).*local_cluster"):
        ws.cluster_scan()


def test_without_dask(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "distributed" else real(name)
    )
    with pytest.raises(ws.EngineError, match=r'pip install "pandas.*" "dask\[dataframe\]'):
        ws.cluster_scan()


# --- rounds of pairs -------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(10))
def test_every_pair_of_workers_is_measured_once(size):
    rounds = rank_probe.pairs(size)
    assert len(rounds) <= size
    met = []
    for partners in rounds:
        assert [partners[other] for other in partners] == list(range(size))
        met += [(one, other) for one, other in enumerate(partners) if one < other]
    assert sorted(met) == list(itertools.combinations(range(size), 2))


# --- weights --------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(0.01, 100), st.integers(1, 10**12)), min_size=1, max_size=9),
)
def test_weights_are_bounded_by_memory(given_):
    speeds, memory = zip(*given_, strict=True)
    weights = scan.bounded(speeds, memory)
    assert sum(weights) == pytest.approx(len(weights), rel=0.01)
    most = [scan.ROOM * len(memory) * own / sum(memory) for own in memory]
    assert all(
        0 < one <= max(bound, 1e-3) * (1 + 1e-9) for one, bound in zip(weights, most, strict=True)
    )
    free = [
        one / speed
        for one, speed, bound in zip(weights, speeds, most, strict=True)
        if one < max(bound, 1e-3) * (1 - 1e-9)
    ]
    assert free == pytest.approx([free[0]] * len(free)) if free else True


def test_weights_by_hand():
    assert scan.bounded([3.0, 1.0], [8, 8]) == [1.5, 0.5]
    assert scan.bounded([3.0, 1.0], [1, 3]) == [1.0, 1.0]  # a quarter of the memory, twice that
    assert scan.bounded([1.0, 1.0, 2.0], [10, 10, 2]) == pytest.approx([27 / 22, 27 / 22, 6 / 11])
    assert scan.bounded([1.0, 3.0], [0, 0]) == [0.5, 1.5]


# --- clusters made up -----------------------------------------------------------------------


def worker(rank, size, *, node="a", process=None, gpu=None, rate=1e9, memory=10**9, others=None):
    """What a worker would return."""
    card = {
        "name": "GPU of a test",
        "memory": 8 << 30,
        "capability": (9, 0),
        "multiprocessors": 132,
    }
    return {
        "facts": {
            "node": (node, others),
            "process": rank if process is None else process,
            "threads": 1,
            "memory_limit": 2 * memory,
            "memory_free": memory,
            "gpu": None if gpu is None else {**card, "uuid": gpu},
        },
        "engine": "cpu" if gpu is None else "cuda",
        "arcs_per_second": rate,
        "links": {
            other: (1e9 * (rank + 1), 1e-5 * (rank + 1)) for other in range(size) if other != rank
        },
        "carriers": [] if gpu is None else ["host memory", "host memory", "network"],
        "gpu_links": {"GPU-0": "NVLink, 18 lanes", "GPU-1": "NVLink, 18 lanes"},
    }


def test_links_and_speeds_of_gpus():
    made = [worker(0, 3, gpu="GPU-0"), worker(1, 3, gpu="GPU-1", rate=3e9),
            worker(2, 3, node="b", gpu="GPU-2", rate=2e9)]  # fmt: skip
    found = scan.assess(["u", "v", "w"], made)
    assert found.speeds == [0.5, 1.5, 1.0]
    assert found.proposal == {"workers": ["u", "v", "w"], "balance": [0.5, 1.5, 1.0]}
    links = found.links.set_index(["first", "second"])
    assert list(links["between"]) == ["same host", "network", "network"]
    assert list(links["gpu_link"]) == ["NVLink, 18 lanes", "", ""]
    assert list(links["carrier"]) == ["host memory", "network", "network"]
    assert links.loc[("u", "v"), "bytes_per_second"] == 1e9
    assert links.loc[("v", "w"), "latency"] == pytest.approx(3e-5)
    assert list(found.workers["capability"]) == ["9.0"] * 3
    assert "GPU of a test (cuda)" in str(found)
    assert "1 link, same host, NVLink, 18 lanes, over host memory: " in str(found)
    assert "2 links, network, over network: " in str(found)


def test_workers_without_a_gpu_and_slow_ones_are_left_out():
    made = [worker(0, 2), worker(1, 2, gpu="GPU-0", rate=1e10)]
    found = scan.assess(["u", "v"], made)
    assert found.proposal == {"workers": ["v"], "balance": [1.0]}
    assert list(found.workers["weight"]) == [0.0, 1.0]
    made = [worker(0, 3), worker(1, 3, rate=1e7), worker(2, 3)]
    found = scan.assess(["u", "v", "w"], made)
    assert found.proposal["workers"] == ["u", "w"]
    assert len(found.speeds) == 3


def test_processes_and_hosts_of_one_name():
    made = [worker(0, 3, process=7, others="x"), worker(1, 3, process=7, others="x"),
            worker(2, 3, process=7, others="y")]  # fmt: skip
    found = scan.assess(["u", "v", "w"], made)
    assert list(found.links["between"]) == ["same process", "network", "network"]
    assert list(found.workers["node"]) == ["a (1)", "a (1)", "a (2)"]


def test_records_where_pandas_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = scan.assess(["u", "v"], [worker(0, 2), worker(1, 2)])
    assert [row["worker"] for row in found.workers] == ["u", "v"]
    assert found.links[0]["between"] == "same host"
    assert "2 workers on 1 node" in str(found)


def test_a_shared_gpu_is_nobodys():
    def facts(node, uuid):
        return {"node": node, "gpu": None if uuid is None else {"uuid": uuid}}

    everyone = [facts("a", "GPU-0"), facts("a", "GPU-0"), facts("a", "GPU-1"), facts("a", None)]
    assert [rank_probe.engine_of(everyone, rank) for rank in range(4)] == [
        "cpu",
        "cpu",
        "cuda",
        "cpu",
    ]
    apart = [facts("a", "GPU-0"), facts("b", "GPU-0")]
    assert [rank_probe.engine_of(apart, rank) for rank in range(2)] == ["cuda", "cuda"]


# --- GPUs -----------------------------------------------------------------------------------


def test_the_gpu_that_comes_first(monkeypatch):
    gpus = [driver.Gpu("First", 8 << 30, (9, 0), 132, 60 << 20, "GPU-1"),
            driver.Gpu("Second", 4 << 30, (8, 0), 108, 40 << 20, "GPU-2")]  # fmt: skip
    monkeypatch.setattr(rank_probe, "installed_gpus", lambda: gpus)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert rank_probe._own_gpu() == {
        "name": "First", "memory": 8 << 30, "capability": (9, 0), "multiprocessors": 132,
        "uuid": "GPU-1",
    }  # fmt: skip
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert rank_probe._own_gpu() is None
    monkeypatch.setattr(rank_probe, "installed_gpus", list)
    assert rank_probe._own_gpu() is None


def test_the_speed_of_a_gpu(monkeypatch):
    monkeypatch.setattr(schedule, "BLOCK", 32)
    monkeypatch.setitem(rank_probe.SCALE, "cuda", 3)
    monkeypatch.setattr(rank_probe, "SECONDS", 0.0)
    monkeypatch.setattr(rank_probe, "SUPERSTEPS", 2)
    with emulated():
        assert rank_probe._supersteps("cuda")() > 0


def test_links_between_gpus_are_kept_by_what_all_ranks_found(monkeypatch):
    """Runs that use the links know the slowest pair's rate."""
    monkeypatch.setattr(rank_probe, "GPU_SIZE", 1 << 12)
    seconds = iter(range(1, 99))
    lock = threading.Lock()

    def fastest(act, times):
        act()
        with lock:
            return float(next(seconds))

    monkeypatch.setattr(rank_probe, "_fastest", fastest)

    def work(comm):
        return rank_probe.between_gpus(comm), comm.links.byte

    with emulated():
        ranks = over_links(3, work)
    assert [sorted(found) for found, _ in ranks] == [[1, 2], [0, 2], [0, 1]]
    rates = [rate for found, _ in ranks for rate, _ in found.values()]
    assert [byte for _, byte in ranks] == [1 / min(rates)] * 3
