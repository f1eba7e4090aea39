"""What accelerators bring to a user's call on two cores: with all of them, and with one left out.

An accelerator stays if a call without it takes 1.3 times as long on two public graphs, or if it is a machine of one of the five
papers.  The environment is read once, so each turn is a process of its own: it calls once, and then several times.  Run as a
module with a file of edges and the name of an accelerator, this file is that process.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

import cugraph_ws as ws
from bench.children import in_new_process
from bench.timing import Section, clocked
from cugraph_ws.accelerators import ACCELERATORS, VARIABLE

BOUND = 1.3  # without ÷ with
CALLS = 5
TWENTY = {"tol": 0.0, "max_iter": 20, "fail_on_nonconvergence": False}
ALONE = ("tiles", "extrapolation")  # those of one process; the others are of clusters

Calls = dict[str, Callable[[], Any]]


def law(case: Any, section: Section, repeats: int) -> None:
    """Compare calls with all accelerators and without one, in turns."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder, "edges.parquet")
        case.table.to_parquet(edges)
        for name in (*ALONE, "coalescing", "direct_start"):
            others = ",".join(other for other in ACCELERATORS if other != name)
            turns = []
            for number in range(repeats):
                order = ("", others) if number % 2 else (others, "")
                seconds = {wanted: _turn(edges, name, wanted) for wanted in order}
                turns.append((seconds[""], seconds[others]))
            for job in turns[0][0]:
                ratio = statistics.median(without[job] / with_it[job] for with_it, without in turns)
                times = [statistics.median(turn[side][job] for turn in turns) for side in (0, 1)]
                rows.append(
                    [name, job, *(f"{1e3 * seconds:.3g}" for seconds in times), f"{ratio:.2f}"]
                )
    columns = ["accelerator", "call", "with it, ms", "without, ms", "without ÷ with"]
    section.table(
        f"calls without an accelerator; it stays from {BOUND} on two graphs", columns, rows
    )


def _turn(edges: Path, name: str, wanted: str) -> dict[str, float]:
    """Return the seconds of each call that an accelerator is for, in a new process."""
    variables: dict[str, Any] = {VARIABLE: wanted}
    lines = in_new_process("bench.cpu.accelerators", str(edges), name, **variables)
    seconds: dict[str, float] = json.loads(lines[-1])
    return seconds


@contextmanager
def _calls(frame: pd.DataFrame, name: str) -> Iterator[Calls]:
    """Yield the calls that an accelerator is for."""
    start = int(frame["source"].mode()[0])
    if name in ALONE:
        graph = ws.Graph(frame, directed=name != "tiles")  # twice the arcs: tiles are for many
        yield {
            "tiles": {
                "pagerank, 20 supersteps": lambda: ws.pagerank(graph, **TWENTY),
                "hits": lambda: ws.hits(graph),
            },
            "extrapolation": {
                "pagerank": lambda: ws.pagerank(graph),
                "pagerank, tol=1e-9": lambda: ws.pagerank(graph, tol=1e-9, max_iter=1000),
            },
        }[name]
        return
    import dask.dataframe as dd
    from clusters import workers_in

    with workers_in([{VARIABLE: os.environ[VARIABLE]}] * 2):
        spread = "parts" if name == "coalescing" else "auto"
        graph = ws.Graph(dd.from_pandas(frame, npartitions=4), spread=spread)
        kept_calls = {
            "bfs": lambda: ws.bfs(graph, start),
            "weakly_connected_components": lambda: ws.weakly_connected_components(graph),
            "pagerank, 20 supersteps": lambda: ws.pagerank(graph, **TWENTY),
        }
        fetched = {job: lambda call=call: call().compute() for job, call in kept_calls.items()}
        yield {f"{job}; its frame stays": call for job, call in kept_calls.items()} | fetched


def child(edges: Path, name: str) -> None:
    """Print the median seconds of each call."""
    with _calls(pd.read_parquet(edges), name) as calls:
        seconds = {}
        for job, call in calls.items():
            call()
            seconds[job] = statistics.median(clocked(call)[0] for _ in range(CALLS))
    print(json.dumps(seconds))


if __name__ == "__main__":
    child(Path(sys.argv[1]), sys.argv[2])
