"""PageRank on unlike workers of one cluster: supersteps with equal shares of the graph, and with shares by measured speed.

Of two workers on a CPU, a core each, one is stopped half of the time, as by `cpulimit`.  Of three workers on two GPUs, two
share one.  Runs take turns, in one cluster; results must be equal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
from clusters import workers_in

import cugraph_ws as ws
from bench.timing import Entrant, Section, race
from cugraph_ws.graph.generators import rmat

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
            _compare(name, section, client, frame, "cpu", repeats)
        finally:
            halving.kill()
            halving.wait()
            os.kill(process, signal.SIGCONT)


def unlike_gpus(name: str, section: Section, repeats: int) -> None:
    """Compare shares on three workers on two GPUs, two of which share one."""
    from bench.cluster.partitions import PartitionedGraph

    with workers_in([{"CUDA_VISIBLE_DEVICES": gpu} for gpu in SHARED]) as client:
        frame = PartitionedGraph(name, client).edges()
        _compare(name, section, client, frame, "cuda", repeats)


def _hold_to(core: int) -> None:
    """Pin this process and its threads to a core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def _compare(
    name: str, section: Section, client: Any, frame: Any, engine: Any, repeats: int
) -> None:
    """Time supersteps with both kinds of shares in turn; add a table and a target."""
    scan = ws.cluster_scan(client, engine=engine)
    print(scan, flush=True)
    workers = scan.proposal["workers"]
    shares = {"equal": [1.0] * len(workers), "measured": scan.proposal["balance"]}
    graphs = {
        kind: ws.Graph(frame, workers=workers, balance=share) for kind, share in shares.items()
    }
    expected: list[Any] = []  # ranks

    def run(graph: ws.Graph) -> Any:
        return ws.run(ws.PageRank, graph, engine=engine, max_iter=SUPERSTEPS, tol=0.0)

    def check(result: Any) -> None:
        expected.append(np.sort(_column(result.frame)))
        np.testing.assert_allclose(expected[0], expected[-1], rtol=1e-6)

    job = f"PageRank superstep, {len(workers)} workers"
    entrants = [
        Entrant(
            kind, partial(run, graph), check, alone=lambda result: sum(result.rows.milliseconds) / 1e3,
            parts=lambda result: len(result.rows.milliseconds),
        )
        for kind, graph in graphs.items()
    ]  # fmt: skip
    timings = race(section, job, entrants, repeats, few=repeats)
    rows = [
        [
            kind,
            ", ".join(f"{share:.2f}" for share in shares[kind]),
            f"{timing.best_known * 1e3:.2f}",
        ]
        for kind, timing in timings.items()
    ]
    title = f"{name}: PageRank, {SUPERSTEPS} supersteps, median of {repeats} runs"
    section.table(title, ["shares", f"of {len(workers)} workers", "ms a superstep"], rows)
    section.figures["speeds"] = scan.speeds
    target = "a superstep, measured shares ÷ equal"
    section.ratio(target, timings, "measured", BOUND, under="equal", at_least=False, alone=True)
    for graph in graphs.values():
        graph.close()


def _column(frame: Any) -> Any:
    """Return the ranks of a Dask frame of results, on the host."""
    column = frame.compute()["pagerank"]
    return (column.to_pandas() if hasattr(column, "to_pandas") else column).to_numpy()
