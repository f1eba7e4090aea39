"""The task of `cluster_scan` on each worker: describe the worker, measure its speed and its links.

Speed is that of the engine's own supersteps.  All workers measure it at the same time, since
workers of one host share its cores and its memory in a run too.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import psutil
from distributed import Worker, get_worker

from cugraph_ws.algorithms.pagerank import PageRank
from cugraph_ws.contract import choose_engine
from cugraph_ws.dask.gpu_topology import gpu_links
from cugraph_ws.dask.nccl import NcclCommunicator
from cugraph_ws.dask.tasks import RankContext, at_work
from cugraph_ws.dask.worker import DaskCommunicator, rank_plugin
from cugraph_ws.execution.options import Engine
from cugraph_ws.execution.run import run
from cugraph_ws.graph.generators import rmat
from cugraph_ws.graph.graph import Graph
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.driver import installed_gpus
from cugraph_ws.runtime.host import host
from cugraph_ws.runtime.memory import available_memory

__all__ = ["engine_of", "pairs", "probe_rank"]

SCALE = {"cpu": 16, "cuda": 20}  # scale of the R-MAT graph: it has 16 << scale arcs
SECONDS = 0.5  # for which a worker's speed is measured
SUPERSTEPS = 100  # supersteps of one run; runs are repeated for `SECONDS`
PATIENCE = 600.0  # seconds for a single superstep
SIZE = 1 << 23  # bytes of a message, to measure the bytes per second of a link
GPU_SIZE = 1 << 25  # the same between GPUs
FULL, EMPTY = 4, 16  # full and empty exchanges per link; the fastest counts


def probe_rank(context: RankContext, wanted: Engine = "auto") -> dict[str, Any]:
    """Describe this worker, and measure its links and its speed; collective.

    Parameters
    ----------
    context : RankContext
    wanted : {"auto", "cpu", "cuda"}
        The engine to measure; see `cluster_scan`.

    Returns
    -------
    dict
        `facts` (see `_describe`); `engine`; `arcs_per_second`; `links`, by rank the bytes per
        second (each way) and the seconds of an empty exchange; `carriers`, by rank what carries arrays;
        `gpu_links`, by UUID of another GPU.
    """
    with at_work(context) as comm:
        facts = _describe(get_worker())
        everyone = comm.allgather(facts)
        engine = engine_of(everyone, context.rank) if wanted == "auto" else choose_engine(wanted)
        measure = _supersteps(engine)
        comm.allgather(None)  # wait, so that no rank measures while others compile
        links = _links(comm)
        comm.allgather(None)
        carriers: list[str] = []
        if set(comm.allgather(engine)) == {"cuda"} and comm.size > 1:
            with rank_plugin().links.lend(comm, context.addresses, context.run) as linked:
                links = between_gpus(linked)
                carriers = linked.links.carriers()
        comm.allgather(None)
        speed = measure()
    gpu_to_gpu = gpu_links(facts["gpu"]["uuid"]) if engine == "cuda" else {}
    return {
        "facts": facts,
        "engine": engine,
        "arcs_per_second": speed,
        "links": links,
        "carriers": carriers,
        "gpu_links": gpu_to_gpu,
    }


def engine_of(everyone: Sequence[Mapping[str, Any]], rank: int) -> Engine:
    """Return the engine of a worker: "cuda" if it has a GPU that no other worker uses.

    Parameters
    ----------
    everyone : sequence of mapping
        All workers' facts, by rank.
    rank : int
        The worker's rank.

    Returns
    -------
    {"cpu", "cuda"}
    """
    gpus = [
        None if facts["gpu"] is None else (facts["node"], facts["gpu"]["uuid"])
        for facts in everyone
    ]
    return "cuda" if gpus[rank] is not None and gpus.count(gpus[rank]) == 1 else "cpu"


def _describe(worker: Worker) -> dict[str, Any]:
    """Return node, process, threads, memory in bytes, and this process's first GPU."""
    limit = int(worker.memory_manager.memory_limit or psutil.virtual_memory().total)
    used = psutil.Process().memory_info().rss
    return {
        "node": host(),
        "process": os.getpid(),
        "threads": worker.state.nthreads,
        "memory_limit": limit,
        "memory_free": max(0, min(limit - used, available_memory())),
        "gpu": _own_gpu(),
    }


def _own_gpu() -> dict[str, Any] | None:
    """Return the driver's facts about this process's first GPU; None if it cannot be used."""
    gpus = installed_gpus()
    if not gpus or importlib.util.find_spec("cupy") is None:
        return None
    first = gpus[0]
    return {
        "name": first.name,
        "memory": first.memory,
        "capability": first.capability,
        "multiprocessors": first.multiprocessors,
        "uuid": first.uuid,
    }


def _supersteps(engine: Engine) -> Callable[[], float]:
    """Build a graph, compile a program, and return a function that measures arcs per second."""
    graph = Graph(rmat(SCALE[engine], seed=0, frame="pyarrow"))
    program = cast(VertexProgram, PageRank)

    def supersteps(seconds: float, most: int) -> tuple[int, float]:
        result = run(program, graph, engine=engine, tol=0.0, max_iter=most, timeout=seconds)
        return sum(result.rows.edges), sum(result.rows.milliseconds) / 1000

    def measure() -> float:
        end = time.monotonic() + SECONDS
        arcs, spent = 0, 0.0
        while (remaining := end - time.monotonic()) > 0:
            more, took = supersteps(remaining, SUPERSTEPS)
            arcs, spent = arcs + more, spent + took
        if not arcs:  # not even one superstep was done in time
            arcs, spent = supersteps(PATIENCE, 1)
        return arcs / spent

    supersteps(PATIENCE, 1)  # compiles
    return measure


def _links(comm: DaskCommunicator) -> dict[int, tuple[float, float]]:
    """Measure the link to every other rank; disjoint pairs measure at the same time."""
    nothing: list[Any] = []
    # Random, so that Dask cannot compress it
    message = [np.random.default_rng(comm.rank).integers(0, 256, SIZE, np.uint8)]
    measured = {}
    for partners in pairs(comm.size):
        partner = partners[comm.rank]
        empty = _fastest(partial(comm.swap, partner, nothing), EMPTY)
        full = _fastest(partial(comm.swap, partner, message), FULL)
        if partner != comm.rank:
            measured[partner] = SIZE / max(full, 1e-9), empty
        comm.allgather(None)  # wait, so that no rank sends while another pair measures
    return measured


def between_gpus(comm: NcclCommunicator) -> dict[int, tuple[float, float]]:
    """Measure the links between GPUs as `_links` does, for runs that use them too; collective.

    Parameters
    ----------
    comm : NcclCommunicator
        Its links keep the rate of the slowest pair, so that all ranks have the same.

    Returns
    -------
    dict
        By rank: bytes per second each way, and seconds of a message of a byte.
    """
    xp = device().xp
    message, room = (xp.zeros(GPU_SIZE, np.uint8) for _ in range(2))
    measured = {}
    for partners in pairs(comm.size):
        partner = partners[comm.rank]
        took = []
        for size in (1, GPU_SIZE):
            going, coming = (
                [
                    [array[:size]] if peer == partner != comm.rank else []
                    for peer in range(comm.size)
                ]
                for array in (message, room)
            )
            took.append(_fastest(partial(comm.links.exchange, going, coming), FULL))
        if partner != comm.rank:
            measured[partner] = GPU_SIZE / max(took[1], 1e-9), took[0]
        comm.allgather(None)  # wait, so that no rank sends while another pair measures
    comm.links.byte = max(comm.allgather(max(1 / rate for rate, _ in measured.values())))
    return measured


def _fastest(act: Callable[[], Any], times: int) -> float:
    """Return the least time of several calls, in seconds."""
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def pairs(size: int) -> list[list[int]]:
    """Pair each rank with every other once, in the fewest rounds.

    Parameters
    ----------
    size : int
        The number of ranks.

    Returns
    -------
    list of list of int
        For each round the partner of each rank; a rank without a partner has itself.

    References
    ----------
    The circle method, known from chess tournaments: one player stays, the others rotate.
    """
    seats = size + size % 2
    rounds = []
    for turn in range(seats - 1 if size > 1 else 0):
        circle = [0, *((place + turn) % (seats - 1) + 1 for place in range(seats - 1))]
        partners = list(range(size))
        for seat, opposite in zip(
            circle[: seats // 2], reversed(circle[seats // 2 :]), strict=True
        ):
            if max(seat, opposite) < size:
                partners[seat], partners[opposite] = opposite, seat
        rounds.append(partners)
    return rounds
