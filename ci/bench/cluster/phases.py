"""Where the time of a call on a cluster goes: on the client, and on one of its ranks.

    python -m bench phases bfs --scale 12 --workers 2       # R-MAT of 2^12 vertices on CPU workers
    python -m bench phases bfs --graph RM27                 # a graph of the benchmarks on all GPUs
    python -m bench phases bfs --graph RM22 --share 2       # two workers on the first GPU

The last is for a machine with one GPU, and shows the time of hosts and of NCCL.  It needs NCCL 2.30 and MPS
(`nvidia-cuda-mps-control -d` starts it); without MPS workers wait for each other's time slices.

`WATCHED` lists the phases.  On a GPU each phase ends by waiting for the queued work, so that the work counts in
the phase that queued it; a watched call therefore takes longer than a plain one.  Shown is the fastest of several
calls, after one that does not count: for each phase the milliseconds since the call began and its duration,
indented below the phase that contains it.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from distributed import Client, Worker

import cugraph_ws as ws
from bench.cluster.partitions import PartitionedGraph
from bench.places import python_path
from cugraph_ws.graph.generators import rmat

__all__ = ["CLIENT", "WATCHED", "call_phases", "install", "main", "rows", "sharing"]

Phase = tuple[
    str, float, float, int
]  # a name, when it began and when it ended, and in which thread

# Modules of the library, and their functions that are phases
WATCHED = {
    "dask.tasks": ("call_rank", "take_rank", "call_directly", "_share", "_returned"),
    "dask.worker": ("DaskCommunicator._exchange",),
    "dask.nccl": ("NcclCommunicator._exchange",),
    "dask.heartbeat": ("Heartbeat.are_free",),
    "partition.shard": ("ShardGraph.vertex_frame",),
    "algorithms.components": tuple(f"WeaklyConnectedComponents.{one}" for one in ("start", "step")),
    "partition.exchange": ("Exchange.grow_trees",),
    "backends.cuda.exchange": ("DeviceRankExchange.grow_trees",),
    "execution.vertex_loop": ("bind", *(f"VertexLoop.{one}" for one in ("start", "_begin", "step", "arrays"))),
}  # fmt: skip
CLIENT = {
    "dask.client": ("submit_tasks", "RankTasks.join"),
    "dask.graph": ("ClusterGraph._assembled",),
}
SHARED = 0.9  # part of the multiprocessors for cooperative launches; NCCL uses the others
FUNCTIONS = ("bfs", "sssp", "widest_path", "weakly_connected_components", "pagerank")
FROM_A_VERTEX = FUNCTIONS[:3]
CALLS = 5


def install(
    into: list[Phase], watched: dict[str, tuple[str, ...]] = WATCHED, *, gpu: bool
) -> ExitStack:
    """Record the time and duration of functions' calls until the returned stack is closed.

    Parameters
    ----------
    into : list
        Gets a phase for each call that has ended.
    watched : dict
        Names of functions by module, as in `WATCHED`.
    gpu : bool
        Whether each call waits for the GPU at its end.
    """
    installed = ExitStack()
    for module, names in watched.items():
        for name in names:
            owner: Any = importlib.import_module(f"cugraph_ws.{module}")
            *path, last = name.split(".")
            for part in path:
                owner = getattr(owner, part)
            noted = _noting(getattr(owner, last), name, into, gpu)
            installed.enter_context(patch.object(owner, last, noted))
    return installed


def _noting(usual: Any, name: str, into: list[Phase], gpu: bool) -> Any:
    @functools.wraps(usual)
    def noted(*given: Any, **options: Any) -> Any:
        begun = time.time()
        try:
            return usual(*given, **options)
        finally:
            if gpu:
                import cupy

                cupy.cuda.Device().synchronize()
            into.append((name, begun, time.time(), threading.get_ident()))

    return noted


def rows(phases: Sequence[Phase], since: float) -> list[str]:
    """Write phases as lines, in the order in which they began.

    Parameters
    ----------
    phases : sequence of (str, float, float, int)
    since : float
        When the call began.
    """
    lines: list[str] = []
    within: dict[int, list[float]] = defaultdict(list)  # by thread: ends of the enclosing phases
    for name, begun, ended, thread in sorted(phases, key=lambda one: (one[1], -one[2])):
        within[thread] = [end for end in within[thread] if end >= ended]
        indent = "  " * len(within[thread])
        lines.append(f"{(begun - since) * 1e3:8.2f} {(ended - begun) * 1e3:8.2f}  {indent}{name}")
        within[thread].append(ended)
    return lines


# ----------------------------------------------------------------------------------- on workers


def _begin(gpu: bool, dask_worker: Worker) -> None:
    dask_worker.phases = found = []
    dask_worker.installed = install(found, gpu=gpu)


def _end(dask_worker: Worker) -> None:
    dask_worker.installed.close()


def _taken(dask_worker: Worker) -> list[Phase]:
    taken = list(dask_worker.phases)
    dask_worker.phases.clear()
    return taken


@contextmanager
def _watched(client: Any, own: list[Phase], *, gpu: bool) -> Iterator[None]:
    client.run(functools.partial(_begin, gpu))
    try:
        with install(own, CLIENT, gpu=False):
            yield
    finally:
        client.run(_end)


def call_phases(client: Any, call: Any, *, gpu: bool) -> tuple[float, list[str], list[str]]:
    """Call a function several times; return the fastest call's seconds, and the client's and a rank's phases.

    Parameters
    ----------
    client : Client
    call : callable
        Calls a function of a graph that the client's workers hold, all of them.
    gpu : bool
        Whether they have GPUs.
    """
    best: tuple[float, list[str], list[str]] | None = None
    own: list[Phase] = []
    with _watched(client, own, gpu=gpu):
        for turn in range(CALLS + 1):
            client.run(_taken)
            own.clear()
            begun = time.time()
            call()
            seconds = time.time() - begun
            time.sleep(0.1)  # tasks of ranks that have answered may still be running
            first_rank = client.run(_taken)[min(client.nthreads())]
            if turn and (best is None or seconds < best[0]):
                best = seconds, rows(own, begun), rows(first_rank, begun)
    assert best is not None
    return best


@contextmanager
def sharing(workers: int) -> Iterator[Client]:
    """Start workers on the first GPU that use NCCL as if on several GPUs; yield their client."""
    from clusters import workers_in

    environment = {"CUDA_VISIBLE_DEVICES": "0", "NCCL_MULTI_RANK_GPU_ENABLE": "1"}
    with workers_in([environment] * workers) as client:
        client.run(_share_gpu, workers)
        yield client


def _share_gpu(workers: int) -> None:
    """Set up memory as `ws.local_cluster` does, and leave multiprocessors to the other workers."""
    import rmm

    from cugraph_ws.runtime.device import device

    rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())
    here: Any = device()
    here.multiprocessors = int(SHARED * here.multiprocessors) // workers


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, and print the phases of a function's calls."""
    parser = argparse.ArgumentParser(
        prog="bench phases", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("function", choices=FUNCTIONS)
    parser.add_argument("--graph", help="one of the GPU benchmarks' graphs; needs GPUs")
    parser.add_argument(
        "--scale", type=int, default=12, help="without --graph: log2 of the vertices"
    )
    parser.add_argument(
        "--workers", type=int, help="number of workers; by default one for each GPU or core"
    )
    parser.add_argument("--share", type=int, help="number of workers that share the first GPU")
    given = parser.parse_args(arguments)
    function = getattr(ws, given.function)
    started = sharing(given.share) if given.share else ws.local_cluster(given.workers)
    with patch.dict(os.environ, PYTHONPATH=python_path()), started as client:
        if given.graph:
            edges = PartitionedGraph(given.graph, client).edges()
        else:
            import dask.dataframe as dd

            edges = dd.from_pandas(rmat(given.scale, frame="pandas"), npartitions=4)
        start = int(edges["source"].partitions[0].head(1).iloc[0])
        options = {"start": start} if given.function in FROM_A_VERTEX else {}
        with ws.Graph(edges) as graph:
            seconds, own, first_rank = call_phases(
                client, lambda: function(graph, **options), gpu=bool(given.graph)
            )
    print(f"{given.function}: {seconds * 1e3:.1f} ms\n\n      at     took  on the client")
    print("\n".join([*own, "\n      at     took  on the first rank", *first_rank]))
    return 0
