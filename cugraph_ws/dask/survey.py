"""What a worker finds out about itself and its links, for `cluster_scan`: a task for each.

Speed is that of the engine's own supersteps, measured on all workers at the same time: those of a
host share its cores and its memory as they do in a run.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import psutil
from distributed import Worker, get_worker

from cugraph_ws.algorithms.pagerank import PageRank
from cugraph_ws.dask.gpu_topology import gpu_wires
from cugraph_ws.dask.tasks import Duty, at_work
from cugraph_ws.dask.worker import DaskCommunicator
from cugraph_ws.execution.options import Engine
from cugraph_ws.execution.run import run
from cugraph_ws.graph.generators import rmat
from cugraph_ws.graph.graph import Graph
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.runtime.driver import installed_gpus
from cugraph_ws.runtime.memory import available_memory

__all__ = ["engine_of", "pairs", "survey_member"]

SCALE = {"cpu": 16, "cuda": 20}  # of the R-MAT graph: 16 << scale arcs
SECONDS = 0.5  # for which a worker's speed is measured
SUPERSTEPS = 100  # of one run, of which as many are made as fit in that time
PATIENCE = 600.0  # with a single superstep
BOX = 1 << 23  # bytes of a parcel, to measure how many go through a link in a second
PARCELS, GREETINGS = 4, 16  # of which the fastest counts
BOOT = Path("/proc/sys/kernel/random/boot_id")


def survey_member(duty: Duty) -> dict[str, Any]:
    """Describe this worker, and measure its links and its speed together with the others.

    Parameters
    ----------
    duty : Duty

    Returns
    -------
    dict
        `facts` (see `_describe`); `engine`; `arcs_per_second`; `links`, for each other rank
        bytes per second (each way) and seconds of an empty exchange; `wires`, for UUIDs of GPUs.
    """
    with at_work(duty) as comm:
        facts = _describe(get_worker())
        everyone = comm.allgather(facts)
        engine = engine_of(everyone, duty.rank)
        measure = _supersteps(engine)
        comm.allgather(None)  # compilers would be measured otherwise
        links = _links(comm)
        comm.allgather(None)
        speed = measure()
    wires = gpu_wires(facts["gpu"]["uuid"]) if engine == "cuda" else {}
    return {
        "facts": facts,
        "engine": engine,
        "arcs_per_second": speed,
        "links": links,
        "wires": wires,
    }


def engine_of(everyone: Sequence[Mapping[str, Any]], rank: int) -> Engine:
    """Tell where a worker computes: on its GPU, if it has one that is its own.

    Parameters
    ----------
    everyone : sequence of mapping
        All workers' facts.
    rank : int
        The worker.

    Returns
    -------
    {"cpu", "cuda"}
    """
    gpus = [None if one["gpu"] is None else (one["node"], one["gpu"]["uuid"]) for one in everyone]
    return "cuda" if gpus[rank] is not None and gpus.count(gpus[rank]) == 1 else "cpu"


def _describe(worker: Worker) -> dict[str, Any]:
    """Return node, process, threads, memory in bytes, and the GPU that comes first here."""
    boot = BOOT.read_text("utf-8").strip() if BOOT.exists() else ""
    limit = int(worker.memory_manager.memory_limit or psutil.virtual_memory().total)
    used = psutil.Process().memory_info().rss
    return {
        "node": (platform.node(), boot),  # machines of one name are told apart
        "process": os.getpid(),
        "threads": worker.state.nthreads,
        "memory_limit": limit,
        "memory_free": max(0, min(limit - used, available_memory())),
        "gpu": _own_gpu(),
    }


def _own_gpu() -> dict[str, Any] | None:
    """Return what the driver says of this process's first GPU; None if it cannot be used."""
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
    """Build a graph, compile a program, and return what measures arcs per second."""
    graph = Graph(rmat(SCALE[engine], seed=0, frame="pyarrow"))
    program = cast(VertexProgram, PageRank)

    def supersteps(seconds: float, most: int) -> tuple[int, float]:
        result = run(program, graph, engine=engine, tol=0.0, max_iter=most, timeout=seconds)
        return sum(result.rows.edges), sum(result.rows.milliseconds) / 1000

    def measure() -> float:
        end = time.monotonic() + SECONDS
        arcs, spent = 0, 0.0
        while (left := end - time.monotonic()) > 0:
            more, took = supersteps(left, SUPERSTEPS)
            arcs, spent = arcs + more, spent + took
        if not arcs:  # too slow for a single one
            arcs, spent = supersteps(PATIENCE, 1)
        return arcs / spent

    supersteps(PATIENCE, 1)  # compiles
    return measure


def _links(comm: DaskCommunicator) -> dict[int, tuple[float, float]]:
    """Measure the link to every other member; pairs that have nobody in common at once."""
    nothing: list[Any] = []
    parcel = [np.random.default_rng(comm.rank).integers(0, 256, BOX, np.uint8)]  # not to be packed
    found = {}
    for partners in pairs(comm.size):
        other = partners[comm.rank]
        greeting = _fastest(partial(comm.swap, other, nothing), GREETINGS)
        carrying = _fastest(partial(comm.swap, other, parcel), PARCELS)
        if other != comm.rank:
            found[other] = BOX / max(carrying, 1e-9), greeting
        comm.allgather(None)  # nobody sends while another pair is not through
    return found


def _fastest(act: Callable[[], Any], times: int) -> float:
    """Return the least time, in seconds, that something takes."""
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def pairs(size: int) -> list[list[int]]:
    """Pair everybody with everybody once, in as few rounds as can be.

    Parameters
    ----------
    size : int
        How many there are.

    Returns
    -------
    list of list of int
        For each round the partner of each; who sits out is his own.

    References
    ----------
    The circle method, known from chess tournaments: one stays, the others go round.
    """
    seats = size + size % 2
    rounds = []
    for turn in range(seats - 1 if size > 1 else 0):
        circle = [0, *((place + turn) % (seats - 1) + 1 for place in range(seats - 1))]
        partners = list(range(size))
        for one, other in zip(circle[: seats // 2], reversed(circle[seats // 2 :]), strict=True):
            if max(one, other) < size:
                partners[one], partners[other] = other, one
        rounds.append(partners)
    return rounds
