"""Graphs on the GPUs of a Dask-CUDA cluster, against one GPU; where there is one, four workers share it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from clusters import workers_in
from distributed import Client, futures_of, wait
from programs import Endless, Nearest, Peel, Rank

import cugraph_ws as ws
from cugraph_ws.partition.range_offsets import VERTEX_WORK
from cugraph_ws.runtime.driver import installed_gpus

if not installed_gpus():
    pytest.skip("needs a GPU", allow_module_level=True)
cp = pytest.importorskip("cupy")
cudf = pytest.importorskip("cudf")
dask_cudf = pytest.importorskip("dask_cudf")
pytest.importorskip("dask_cuda")

VERTICES, EDGES = 20_000, 150_000
WAIT = 60.0  # seconds for workers to come back
SHARING = 4  # workers of an only GPU
WORKERS = len(installed_gpus()) if len(installed_gpus()) > 1 else SHARING
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "pagerank": (ws.pagerank, {}),
    "pagerank of shares": (ws.pagerank, {"personalization": {3: 1.0, 21: 2.0}}),
    "bfs": (ws.bfs, {"start": [3, 99]}),
    "sssp": (ws.sssp, {"source": 3}),
    "widest path": (ws.widest_path, {"source": 3}),
    "components": (ws.weakly_connected_components, {}),
    "cores": (ws.core_number, {}),
    "cores by arcs out": (ws.core_number, {"degree_type": "out"}),
    "core": (ws.k_core, {"k": 5}),
    "searches from many": (ws.multi_source_bfs, {"starts": [3, 21, 99]}),
    "paths from many": (ws.multi_source_sssp, {"starts": [21, 3]}),
}


def edges() -> Any:
    """Return a skewed graph, with ids that have gaps."""
    random = np.random.default_rng(5)
    ends = (random.random((2, EDGES)) ** 2 * VERTICES).astype(np.int64) * 3
    weights = random.integers(1, 100, EDGES) / 8
    return cudf.DataFrame({"source": ends[0], "destination": ends[1], "weight": weights})


def sharing_one_gpu() -> AbstractContextManager[Client]:
    """Start workers on the only GPU: as if each on a machine of its own, or NCCL would refuse."""
    shared = {"CUDA_VISIBLE_DEVICES": "0", "NCCL_SOCKET_IFNAME": "lo"}
    return workers_in([{**shared, "NCCL_HOSTID": f"machine {name}"} for name in range(SHARING)])


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with sharing_one_gpu() if len(installed_gpus()) < 2 else ws.local_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def frame() -> Any:
    return edges()


@pytest.fixture
def spread(client: Any, frame: Any) -> Iterator[Any]:
    client.wait_for_workers(WORKERS, timeout=WAIT)
    with ws.Graph(dask_cudf.from_cudf(frame, npartitions=5), weight="weight") as graph:
        yield graph


def test_a_small_graph_is_on_one_worker(client: Any, frame: Any, whole: Any) -> None:
    divided = dask_cudf.from_cudf(frame, npartitions=5)
    with ws.Graph(divided, weight="weight", spread="one") as graph:
        assert len(graph.partitions) == 1
        for function, options in (*FUNCTIONS.values(), (ws.triangle_count, {})):
            assert_same(function(graph, **options), function(whole, **options))


@pytest.fixture(scope="module")
def whole(frame: Any) -> Iterator[Any]:
    with ws.Graph(frame, weight="weight") as graph:
        yield graph


def test_memory_kept_by_a_workers_pool_counts_as_free() -> None:
    """Else what follows a graph would be refused for the memory that its build took."""
    size = 1 << 30

    def told() -> tuple[int, int, int]:
        """Return what of the GPU is free before an array, beside it, and after it."""
        from cugraph_ws.runtime.device import device
        from cugraph_ws.runtime.pools import driver_pool

        assert driver_pool() != 0
        before = device().free_memory()
        array = cp.empty(size, np.uint8)
        beside = device().free_memory()
        del array
        return before, beside, device().free_memory()

    with ws.local_cluster(1) as client:
        ((before, beside, after),) = client.run(told).values()
    assert beside <= before - size // 2
    assert after >= before - size // 2


def assert_same(found: Any, expected: Any) -> None:
    """Compare a Dask frame with a cuDF frame, by rows: integers exactly, others to 1e-6."""
    found = found.compute()
    assert isinstance(found, cudf.DataFrame)
    assert list(found.columns) == list(expected.columns)
    found, expected = (
        one.sort_values(list(one.columns), ignore_index=True) for one in (found, expected)
    )
    for name in expected.columns:
        one, other = found[name].to_pandas(), expected[name].to_pandas()
        assert (one.isna() == other.isna()).all(), name
        known = ~other.isna()
        np.testing.assert_allclose(one[known], other[known], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, spread: Any, whole: Any) -> None:
    function, options = FUNCTIONS[name]
    assert_same(function(spread, **options), function(whole, **options))


def test_an_unknown_vertex_is_refused_and_links_stay(client: Any, spread: Any, whole: Any) -> None:
    """Ranks look ids up themselves, and all of them refuse the same one."""

    def links(dask_worker: Any) -> list[str]:
        from cugraph_ws.dask.worker import rank_plugin

        return sorted(name for name, _ in rank_plugin(dask_worker).links._held.values())

    ws.bfs(spread, 3)
    made, told = client.run(links), []
    assert all(made.values())
    for graph in (spread, whole):
        with pytest.raises(ws.InputError, match="start: 7 is not a vertex") as refused:
            ws.bfs(graph, [3, 7])
        told.append(str(refused.value))
    assert told[0] == told[1]
    assert_same(ws.bfs(spread, [99, 3]), ws.bfs(whole, [99, 3]))
    assert client.run(links) == made


def test_beliefs(spread: Any, whole: Any, frame: Any) -> None:
    ids = cudf.concat([frame["source"], frame["destination"]]).unique().reset_index(drop=True)
    priors = cudf.DataFrame({"vertex": ids, "p0": 0.2 + (ids % 7) / 10.0, "p1": 0.5})
    options = {"priors": priors, "coupling": [[0.505, 0.495], [0.495, 0.505]]}
    assert_same(ws.belief_propagation(spread, **options), ws.belief_propagation(whole, **options))


def test_matching(client: Any, frame: Any) -> None:
    """Between sources and as many others: no vertex is on both sides."""
    client.wait_for_workers(WORKERS, timeout=WAIT)
    sides = cudf.DataFrame(
        {"source": 2 * frame["source"], "destination": 2 * frame["destination"] + 1}
    )
    left = sides["source"].unique().to_pandas().tolist()
    options = {"left": left, "seed": 4}
    with (
        ws.Graph(dask_cudf.from_cudf(sides, npartitions=5)) as spread,
        ws.Graph(sides) as whole,
    ):
        assert_same(
            ws.maximal_bipartite_matching(spread, **options),
            ws.maximal_bipartite_matching(whole, **options),
        )


@pytest.mark.parametrize("exchange", ["auto", "vr", "ms", "all"])
@pytest.mark.parametrize(
    ("program", "options"),
    [(Nearest, {"seeds": [0, 21]}), (Peel, {"k": 4}), (Rank, {"max_iter": 20, "tol": 0.0})],
)
def test_programs(
    program: Any, options: dict[str, Any], exchange: str, spread: Any, whole: Any
) -> None:
    found = ws.run(program, spread, plan=ws.Plan(exchange=exchange), **options)
    expected = ws.run(program, whole, **options)
    assert_same(found.frame, expected.frame)
    assert found.trace["bytes_sent"].sum() > 0


@pytest.mark.parametrize("gaps", [True, False])
def test_values_come_in_partitions(gaps: bool, client: Any, frame: Any) -> None:
    client.wait_for_workers(WORKERS, timeout=WAIT)
    numbers = {name: cp.asnumpy(frame[name].values) for name in ("source", "destination")}
    if not gaps:
        _, places = np.unique(np.stack(list(numbers.values())), return_inverse=True)
        numbers = dict(zip(numbers, places.reshape(2, -1), strict=True))
    ends = cudf.DataFrame(numbers)
    ids = np.unique(np.stack(list(numbers.values())))
    random = np.random.default_rng(7)
    values = cudf.DataFrame({"vertex": random.permutation(ids), "v": random.random(len(ids))})
    with ws.Graph(dask_cudf.from_cudf(ends, npartitions=5)) as spread, ws.Graph(ends) as whole:
        told = dask_cudf.from_cudf(values, npartitions=3)
        assert_same(
            ws.pagerank(spread, personalization=told), ws.pagerank(whole, personalization=values)
        )
        values["vertex"] += 1
        told = dask_cudf.from_cudf(values, npartitions=3)
        with pytest.raises(
            ws.InputError, match=r"personalization: .* is not a vertex of the graph"
        ):
            ws.pagerank(spread, personalization=told)


def test_sums_of_weights_and_values_in_partitions(client: Any, frame: Any) -> None:
    """What a rank does first is a launch on a thread of which the GPU has not heard."""
    ids = cudf.concat([frame["source"], frame["destination"]]).unique().reset_index(drop=True)
    held = ids[ids % 2 == 0].reset_index(drop=True)
    sources = cudf.DataFrame({"vertex": held, "v": (held % 7) / 7.0})
    options = {"max_iter": 3, "tol": 0.0}
    with (
        ws.Graph(dask_cudf.from_cudf(frame, npartitions=5), weight="weight") as spread,
        ws.Graph(frame, weight="weight") as whole,
    ):
        expected = ws.run(ws.Circuit, whole, sources=sources, **options)
        for _ in range(2):
            told = dask_cudf.from_cudf(sources, npartitions=3)
            found = ws.run(ws.Circuit, spread, sources=told, **options)
            assert_same(found.frame, expected.frame)


def test_results_are_where_they_were_computed(client: Any, spread: Any) -> None:
    ranks = ws.pagerank(spread).persist()
    wait(ranks)
    held = client.who_has(futures_of(ranks))
    assert {worker for workers in held.values() for worker in workers} == {
        one["worker"] for one in spread.partitions
    }


def test_runs_at_once_take_turns(client: Any, frame: Any, spread: Any, whole: Any) -> None:
    """Of two graphs, from several threads: no GPU waits for another one for ever."""
    other = ws.Graph(dask_cudf.from_cudf(frame, npartitions=3), weight="weight")
    with other, ThreadPoolExecutor(4) as executor:
        found = list(executor.map(lambda graph: ws.pagerank(graph), [spread, other] * 4))
    expected = ws.pagerank(whole)
    for one in found:
        assert_same(one, expected)


def test_work_is_divided(spread: Any) -> None:
    assert sum(one["arcs"] for one in spread.partitions) == EDGES
    work = [one["arcs"] + VERTEX_WORK * one["owned"] for one in spread.partitions]
    assert max(work) < 1.2 * sum(work) / len(work)


def kill_soon(client: Any, seconds: float) -> threading.Timer:
    victim = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(seconds, lambda: os.kill(victim, signal.SIGKILL))
    timer.start()
    return timer


def test_a_lost_worker_is_named_and_the_graph_built_again(
    client: Any, spread: Any, whole: Any
) -> None:
    ws.run(Endless, spread, max_iter=3)  # compiles
    timer = kill_soon(client, 1.0)
    begun = time.monotonic()
    with pytest.raises(ws.WorkerLostError, match=r"tcp://.* was lost, and with it .* vertices"):
        ws.run(Endless, spread, max_iter=1_000_000)
    assert time.monotonic() - begun < 30.0, "no rank waits for a lost worker"
    timer.join()
    client.wait_for_workers(WORKERS, timeout=WAIT)
    assert_same(ws.pagerank(spread), ws.pagerank(whole))


def test_a_run_with_a_checkpoint_goes_on(
    client: Any, spread: Any, whole: Any, tmp_path: Any
) -> None:
    supersteps = 20_001 if len(installed_gpus()) > 1 else 1_001  # workers of one GPU take turns
    options = {"max_iter": supersteps}
    expected = ws.run(Endless, whole, **options)
    ws.run(Endless, spread, max_iter=3)  # compiles
    timer = kill_soon(client, 1.0)
    found = ws.run(
        Endless,
        spread,
        checkpoint=str(tmp_path / "state.parquet"),
        every=supersteps // 20,
        **options,
    )
    timer.join()
    assert found.iterations == expected.iterations
    assert_same(found.frame, expected.frame)
