"""Where the time of a call on a cluster goes: on the client, and on one of its ranks.

    python -m bench phases bfs --scale 12 --workers 2       # R-MAT of 2^12 vertices on CPU workers
    python -m bench phases bfs --graph RM27                 # a graph of the benchmarks on all GPUs
    python -m bench phases bfs --graph RM22 --share 2       # two workers on the first GPU

The last is for a machine with one GPU, and shows what is not its work: hosts, and NCCL.  It needs NCCL 2.30,
and MPS, or workers wait for one another's slices of time (`nvidia-cuda-mps-control -d` starts it).

What the phases are is in `WATCHED`.  On a GPU the end of each waits for what has been queued, so that it
counts where it was asked for; such a call takes longer than one that is not watched.  Shown is the fastest
of some calls, after one that does not count: milliseconds since the call, and how long each phase took,
indented below what it is a part of.
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

# Modules of the library, and what of them is a phase
WATCHED = {
    "dask.tasks": ("call_rank", "call_directly", "_share", "_returned"),
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
SHARED = 0.9  # of a GPU's multiprocessors, for launches that need all their blocks at once; NCCL has others
FUNCTIONS = ("bfs", "sssp", "widest_path", "weakly_connected_components", "pagerank")
FROM_A_VERTEX = FUNCTIONS[:3]
CALLS = 5


def install(
    into: list[Phase], watched: dict[str, tuple[str, ...]] = WATCHED, *, gpu: bool
) -> ExitStack:
    """Have functions note when they are called, and for how long, until what is returned is closed.

    Parameters
    ----------
    into : list
        Gets a phase for each call that has ended.
    watched : dict
        As `WATCHED` is.
    gpu : bool
        Whether each waits for the GPU at its end.
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
    within: dict[int, list[float]] = defaultdict(list)  # by thread, when what goes on will end
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
    """Call something several times; return the fastest call's seconds, and phases of client and rank.

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
            time.sleep(0.1)  # tasks of ranks that have answered may still be under way
            first_rank = client.run(_taken)[min(client.nthreads())]
            if turn and (best is None or seconds < best[0]):
                best = seconds, rows(own, begun), rows(first_rank, begun)
    assert best is not None
    return best


@contextmanager
def sharing(workers: int) -> Iterator[Client]:
    """Start workers on the first GPU, between which NCCL goes as between several; give their client."""
    from clusters import workers_in

    environment = {"CUDA_VISIBLE_DEVICES": "0", "NCCL_MULTI_RANK_GPU_ENABLE": "1"}
    with workers_in([environment] * workers) as client:
        client.run(_share_gpu, workers)
        yield client


def _share_gpu(workers: int) -> None:
    """Take memory as `ws.local_cluster` has workers do, and leave the others their multiprocessors."""
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
        "--workers", type=int, help="how many; one for each GPU or core if not given"
    )
    parser.add_argument("--share", type=int, help="how many workers on the first GPU")
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
