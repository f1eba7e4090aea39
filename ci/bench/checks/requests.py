"""A service's requests: threads that search one graph, their latencies, and the memory that comes back.

    python -m bench requests                      RMAT of 65,536 vertices, 200 requests for each thread
    python -m bench requests --scale 12 --each 20

Each request is a search from a vertex of its own, or a PageRank.  A line for each function and number of threads has the
requests in a second, the median and the 99th percentile of a request in milliseconds.  The last line has the process' memory
with the graph, at the end of all requests, and after the graph is closed.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import psutil

import cugraph_ws as ws
from cugraph_ws.graph import generators

FUNCTIONS: dict[str, Callable[[Any, int], Any]] = {
    "bfs": ws.bfs,
    "sssp": ws.sssp,
    "pagerank": lambda graph, start: ws.pagerank(graph),
}
THREADS = (1, 8)


def megabytes() -> float:
    """Return the memory of this process."""
    return psutil.Process().memory_info().rss / 1e6


def latencies(
    function: Callable[[Any, int], Any], graph: Any, starts: Sequence[int], threads: int
) -> tuple[float, list[float]]:
    """Return the seconds of all requests together, and of each."""

    def request(start: int) -> float:
        begun = time.perf_counter()
        function(graph, start)
        return time.perf_counter() - begun

    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        seconds = list(pool.map(request, starts))
    return time.perf_counter() - begun, seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a line for each function and number of threads."""
    parser = argparse.ArgumentParser(
        prog="bench requests", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--scale", type=int, default=16, help="2**SCALE vertices")
    parser.add_argument("--each", type=int, default=200, help="requests of a thread")
    asked = parser.parse_args(arguments)
    before = megabytes()
    edges = generators.rmat(asked.scale, seed=1, weights=(0.0, 1.0), frame="pandas")
    graph = ws.Graph(edges, weight="weight")
    n, requests = graph.number_of_vertices, max(THREADS) * asked.each
    starts = np.random.default_rng(1).integers(0, n, requests)
    ids = graph.vertices["vertex"].to_numpy()[starts].tolist()
    print(f"{os.cpu_count()} cores, {n:,} vertices, {graph.number_of_edges:,} edges")
    for function in FUNCTIONS.values():  # compiles, and makes both orders of the edges
        function(graph, ids[0])
    built = megabytes()
    for (name, function), threads in product(FUNCTIONS.items(), THREADS):
        total, seconds = latencies(function, graph, ids[: threads * asked.each], threads)
        rate = f"{name:10}{threads} threads {len(seconds) / total:9.1f} /s"
        median, tail = np.percentile(seconds, [50, 99]) * 1e3
        print(f"{rate}  median {median:8.2f} ms  99 % {tail:8.2f} ms")
    after = megabytes()
    graph.close()
    gc.collect()
    memory = f"memory: {before:.0f} MB before, {built:.0f} with the graph, {after:.0f} after all requests"
    print(f"{memory}, {megabytes():.0f} closed")
    return 0
