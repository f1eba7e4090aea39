"""Build, rank, search and close a hundred times: memory must not grow after the first few runs.

Prints one line of JSON; the exit status says whether anything grew.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Sequence

SETTLED = 10  # runs until pools, caches and modules have their final size
SLACK = {"allocated": 0, "taken": 32 << 20}  # bytes; a driver hands out pieces of 2 MiB and up


def growth(values: Sequence[int], settled: int = SETTLED) -> int:
    """Return by how many bytes the maximum of the last half exceeds that of the first half, after settled runs."""
    counted = values[settled:]
    half = len(counted) // 2
    return max(0, max(counted[half:]) - max(counted[:half]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print figures, return 1 if memory grew."""
    parser = argparse.ArgumentParser(prog="bench leaks", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--edges", type=int, default=2_000_000)
    asked = parser.parse_args(arguments)

    import cudf
    import cupy
    import rmm.statistics

    import cugraph_ws as ws

    random, pool = cupy.random.RandomState(1), cupy.get_default_memory_pool()
    ends = random.randint(0, asked.edges // 16, (2, asked.edges), dtype="int32")
    weight = random.randint(1, 64, asked.edges, dtype="int32").astype("float32")
    frame = cudf.DataFrame({"source": ends[0], "destination": ends[1], "weight": weight})
    del ends, weight
    rmm.statistics.enable_statistics()
    sizes: dict[str, list[int]] = {"allocated": [], "taken": []}
    for _ in range(asked.runs):
        graph = ws.Graph(frame, weight="weight")
        ranks = ws.pagerank(graph)
        hops = ws.bfs(graph, int(frame["source"].iloc[0]))
        assert len(ranks) == len(hops) == graph.number_of_vertices
        graph.close()
        del graph, ranks, hops
        gc.collect()
        cupy.cuda.Device().synchronize()
        allocated = int(rmm.statistics.get_statistics().current_bytes)
        sizes["allocated"].append(int(pool.used_bytes()) + allocated)
        free, total = cupy.cuda.runtime.memGetInfo()
        sizes["taken"].append(total - free)
    grown = {name: growth(values) for name, values in sizes.items()}
    summary = f"{asked.runs} runs: {grown['allocated']:,} bytes more allocated, {grown['taken']:,} more taken from the driver"
    print(json.dumps({"runs": asked.runs, "grown": grown, **sizes, "summary": summary}))
    return int(any(grown[name] > SLACK[name] for name in grown))
