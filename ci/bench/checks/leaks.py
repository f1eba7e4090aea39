"""Build, rank, search and close a hundred times: memory must not grow after the first few runs.

Prints one line of JSON; the exit status says whether anything grew.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Sequence

__all__ = ["growth", "main"]

SETTLED = 10  # runs until pools, caches and modules have their final size
SLACK = {
    "allocated": 0,
    "taken": 32 << 20,
}  # bytes; a driver hands out memory in pieces of 2 MiB and up


def growth(values: list[int], settled: int = SETTLED) -> int:
    """Return by how much the maximum of the last half exceeds that of the first settled runs.

    Parameters
    ----------
    values : list of int
        Bytes after each run.
    settled : int
        Number of first runs that do not count.

    Returns
    -------
    int
        Bytes, 0 or more.
    """
    counted = values[settled:]
    half = len(counted) // 2
    return max(0, max(counted[half:]) - max(counted[:half]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print figures, return 1 if memory grew."""
    parser = argparse.ArgumentParser(prog="bench leaks", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--edges", type=int, default=2_000_000)
    given = parser.parse_args(arguments)

    import cudf
    import cupy

    import cugraph_ws as ws

    random = cupy.random.RandomState(1)
    ends = random.randint(0, given.edges // 16, (2, given.edges), dtype="int32")
    frame = cudf.DataFrame({"source": ends[0], "destination": ends[1]})
    frame["weight"] = random.randint(1, 64, given.edges, dtype="int32").astype("float32")
    del ends
    used = _counter()
    allocated, taken = [], []
    for _ in range(given.runs):
        graph = ws.Graph(frame, weight="weight")
        ranks = ws.pagerank(graph)
        hops = ws.bfs(graph, int(frame["source"].iloc[0]))
        assert len(ranks) == len(hops) == graph.number_of_vertices
        graph.close()
        del graph, ranks, hops
        gc.collect()
        cupy.cuda.Device().synchronize()
        allocated.append(used())
        free, total = cupy.cuda.runtime.memGetInfo()
        taken.append(total - free)
    grown = {"allocated": growth(allocated), "taken": growth(taken)}
    flat = all(grown[name] <= SLACK[name] for name in grown)
    facts = {
        "runs": given.runs,
        "grown": grown,
        "allocated": allocated,
        "taken": taken,
        "summary": (
            f"{given.runs} runs: {grown['allocated']:,} bytes more allocated, "
            f"{grown['taken']:,} more taken from the driver"
        ),
    }
    print(json.dumps(facts))
    return 0 if flat else 1


def _counter() -> Callable[[], int]:
    """Return a function that counts the bytes allocated now, by any of the allocators."""
    import cupy

    pool = cupy.get_default_memory_pool()
    try:
        import rmm.statistics
    except ImportError:
        return lambda: int(pool.used_bytes())
    rmm.statistics.enable_statistics()

    def both() -> int:
        held = rmm.statistics.get_statistics()
        return int(pool.used_bytes()) + (0 if held is None else int(held.current_bytes))

    return both
