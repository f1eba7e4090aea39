"""How long runs go on after `timeout=`, after a callback has returned False, and after Ctrl-C.

    python -m bench stops                                    all functions on three graphs
    python -m bench stops --graphs star --only jaccard louvain

Functions and graphs are those of `bench runs`, and some more.  Each function runs once on a small graph, which compiles it.  Then it
runs on a large one, stopped after 0.2 s in each of the three ways.  A line shows the seconds from the request to the
end of the call: the lesser of the wall clock's and of the processor time of all threads, since other work on the
machine delays the one, and several threads count in the other.  A call that ends before the request shows that.
The exit status says whether a call went on for more than `--most` seconds.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import cugraph_ws as ws
from bench import run_calls, runs

AFTER = 0.2  # seconds until a run is asked to stop
GRAPHS = {
    "random": 5.0,
    "star": 0.05,
    "paths": 0.5,
}  # of `bench.runs.SHAPES`: factors of their sizes
PARTITIONED = {"partitions": 3}


def _program(program: Any, **arguments: Any) -> run_calls.Case:
    return run_calls.Case(lambda ws, g, _, o: ws.run(program, g, **arguments, **o))


CASES = {  # without functions that take no such options; and further functions, and programs
    **{name: case for name, case in run_calls.CASES.items()
       if name.split()[0] not in ("assortativity", "conductance", "modularity", "subgraph")},
    **run_calls.by_name("average_clustering", "k_core", "minimum_spanning_tree", "transitivity"),
    **run_calls.by_name("ancestors", "descendants", started=True),
    "average_shortest_path_length": run_calls.Case(lambda ws, g, _, o: ws.average_shortest_path_length(g, False, **o)),
    "bipartite_projection of all pairs": run_calls.Case(
        lambda ws, g, given, o: ws.bipartite_projection(g, given, **o),
        input=run_calls.every_other, edges="sides",
    ),
    "edge_betweenness_centrality weighted": run_calls.Case(
        lambda ws, g, _, o: ws.edge_betweenness_centrality(g, 8, weighted=True, **o)
    ),
    "harmonic_centrality weighted": run_calls.Case(lambda ws, g, _, o: ws.harmonic_centrality(g, k=64, weighted=True, **o)),
    "is_connected": run_calls.Case(lambda ws, g, _, o: ws.is_connected(g, strong=True, **o)),
    "k_truss": run_calls.Case(lambda ws, g, _, o: ws.k_truss(g, 4, **o)),
    **{f"{name} of all pairs": run_calls.Case(lambda ws, g, _, o, name=name: getattr(ws, name)(g, **o))
       for name in ("adamic_adar", "cosine", "jaccard", "overlap", "sorensen")},
    "run DeltaPageRank": _program(ws.DeltaPageRank),
    "run PageRank, 3 partitions": _program(ws.PageRank, tol=1e-12, plan=ws.Plan(**PARTITIONED)),
    "run SSSP, 3 partitions": _program(ws.SSSP, start=0, plan=ws.Plan(**PARTITIONED)),
}  # fmt: skip
Call = Callable[[dict[str, Any]], Any]  # takes options


def _refused(update: Any) -> bool:
    """Ask a run to stop from `AFTER` seconds on, as a callback."""
    return bool(update.seconds < AFTER)


def _interrupted(call: Call) -> Any:
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    timer = threading.Timer(AFTER, signal.pthread_kill, (main_thread, signal.SIGINT))
    timer.start()
    try:
        return call({})
    finally:
        timer.cancel()


WAYS: dict[str, Callable[[Call], Any]] = {
    "timeout": lambda call: call({"timeout": AFTER}),
    "callback": lambda call: call({"progress": _refused}),
    "Ctrl-C": _interrupted,
}


def overrun(way: Callable[[Call], Any], call: Call) -> tuple[float, str]:
    """Return the seconds that a call went on after the request, and how it ended."""
    work_before: list[
        float
    ] = []  # processor time at the request, which comes late on a busy machine
    timer = threading.Timer(AFTER, lambda: work_before.append(time.process_time()))
    asked = time.perf_counter() + AFTER
    timer.start()
    try:
        way(call)
        end = "returned"
    except (Exception, KeyboardInterrupt) as error:
        end = type(error).__name__
    finally:
        timer.cancel()
    wall, work = time.perf_counter() - asked, time.process_time()
    if wall < 0 or not work_before:
        return 0.0, "ended before"
    return min(wall, work - work_before[0]), end


def opened(name: str, shape: runs.Shape, frame: Any) -> tuple[Any, Any]:
    """Return the graph that a function takes, and its other argument."""
    return runs.opened(name if name in run_calls.CASES else "pagerank", shape, frame)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each function and graph; return 1 if a call went on for too long."""
    parser = argparse.ArgumentParser(
        prog="bench stops", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the edges and vertices")
    parser.add_argument("--only", nargs="+", metavar="FUNCTION", help="names that begin so")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--most", type=float, default=0.3, help="seconds that a call may go on")
    asked = parser.parse_args(arguments)
    late = 0
    for key in asked.graphs:
        shape, scale = runs.SHAPES[key], GRAPHS[key] * asked.scale
        large, small = (
            runs.edges(runs.scaled(shape, factor)) for factor in (scale, min(scale, 0.005))
        )
        for name, case in CASES.items():
            if asked.only and not name.startswith(tuple(asked.only)):
                continue
            first, call = (
                partial(case.call, ws, *opened(name, shape, frame)) for frame in (small, large)
            )
            overrun(lambda compiled: compiled({}), first)
            cells = []
            for way in asked.ways:
                seconds, end = overrun(WAYS[way], call)
                late += seconds > asked.most
                cells.append(f"{way} {seconds:.2f} {end}")
            print(f"{key:8}{name:40}", *(f"{cell:36}" for cell in cells), flush=True)
    return int(late > 0)
