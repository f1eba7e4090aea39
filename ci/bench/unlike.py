"""PageRank on unlike workers of one cluster: supersteps with equal shares of the graph, and with shares by measured speed.

Of two workers on a CPU, a core each, one is stopped half of the time, as by `cpulimit`.  Of three workers on two GPUs, two
share one.  Runs take turns, in one cluster; results must be equal.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
from clusters import workers_in

import cugraph_ws as ws
from bench.timing import Section
from cugraph_ws.graph.generators import rmat

__all__ = ["unlike_cores", "unlike_gpus"]

SCALE = 17  # of the graph on CPUs
SUPERSTEPS = 20
PARTITIONS = 4
BOUND = 0.9  # measured shares ÷ equal ones
SHARED = ("0", "0", "1")  # the GPU of each worker
HALF = """
import os, signal, sys, time
while True:
    for what in (signal.SIGSTOP, signal.SIGCONT):
        os.kill(int(sys.argv[1]), what)
        time.sleep(0.004)
"""  # stops a process half of the time, and ends with it


def unlike_cores(name: str, section: Section, repeats: int) -> None:
    """Compare shares on two workers, one of which has half of its core."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise RuntimeError("this part needs two cores")
    edges = rmat(SCALE, seed=0, frame="pandas")
    cuts = [len(edges) * place // PARTITIONS for place in range(PARTITIONS + 1)]
    parts = [edges.iloc[first:last] for first, last in pairwise(cuts)]
    frame = dd.from_delayed([dask.delayed(part) for part in parts], meta=edges.iloc[:0])
    with workers_in([{}, {}]) as client:
        for worker, core in zip(sorted(client.nthreads()), cores, strict=False):
            client.run(_hold_to, core, workers=[worker])
        process = client.run(os.getpid)[max(client.nthreads())]
        halving = subprocess.Popen([sys.executable, "-c", HALF, str(process)])
        try:
            _compare(name, section, client, lambda: frame, "cpu", repeats)
        finally:
            halving.kill()
            halving.wait()
            os.kill(process, signal.SIGCONT)


def unlike_gpus(case: Any, section: Section, repeats: int) -> None:
    """Compare shares on three workers on two GPUs, two of which share one."""
    from bench.cluster.partitions import PartitionedGraph

    name = getattr(case, "name", case)
    with workers_in([{"CUDA_VISIBLE_DEVICES": gpu} for gpu in SHARED]) as client:
        _compare(name, section, client, PartitionedGraph(name, client).edges, "cuda", repeats)


def _hold_to(core: int) -> None:
    """Pin this process and its threads to a core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def _compare(
    name: str,
    section: Section,
    client: Any,
    edges: Callable[[], Any],
    engine: Any,
    repeats: int,
) -> None:
    """Time supersteps with both kinds of shares in turn; add a table and a target."""
    scan = ws.cluster_scan(client, engine=engine)
    print(scan, flush=True)
    workers, measured = scan.proposal["workers"], scan.proposal["balance"]
    shares: dict[str, Any] = {"equal": [1.0] * len(workers), "measured": measured}
    frame = edges()
    graphs = {
        kind: ws.Graph(frame, workers=workers, balance=balance) for kind, balance in shares.items()
    }
    times: dict[str, list[float]] = {kind: [] for kind in shares}
    for turn in range(1 + repeats):
        ranks = {}
        for kind, graph in graphs.items():
            result = ws.run(ws.PageRank, graph, engine=engine, max_iter=SUPERSTEPS, tol=0.0)
            ranks[kind] = result.frame
            if turn:  # the first compiles
                times[kind].append(sum(result.rows.milliseconds) / len(result.rows.milliseconds))
        if not turn:
            values = [np.sort(_column(found)) for found in ranks.values()]
            np.testing.assert_allclose(*values, rtol=1e-6)
    medians = {kind: statistics.median(series) for kind, series in times.items()}
    rows = [
        [kind, ", ".join(f"{share:.2f}" for share in shares[kind]), f"{medians[kind]:.2f}"]
        for kind in shares
    ]
    columns = ["shares", f"of {len(workers)} workers", "ms a superstep"]
    section.table(
        f"{name}: PageRank, {SUPERSTEPS} supersteps, median of {repeats} runs", columns, rows
    )
    section.figures["speeds"] = scan.speeds
    section.figures["milliseconds"] = times
    section.target(
        "a superstep, measured shares ÷ equal", medians["measured"] / medians["equal"], BOUND
    )
    for graph in graphs.values():
        graph.close()


def _column(frame: Any) -> Any:
    """Return the ranks of a Dask frame of results, on the host."""
    column = frame.compute()["pagerank"]
    return (column.to_pandas() if hasattr(column, "to_pandas") else column).to_numpy()
