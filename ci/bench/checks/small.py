"""Functions and schedules on small graphs, against the CPU engine; it runs under compute-sanitizer.

The graphs have a hub, vertices of middle degree and of low degree, so that every branch of a schedule
runs.  What differs or fails is printed, the rest runs; the exit status is the number of failures.

    python -m bench small            everything
    python -m bench small 2 8        the third of eight shares
"""

from __future__ import annotations

import argparse
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

from fuzz.functions import CALLS, PLACES, Call, Drawn, Picks, Place, differences, program_call

import cugraph_ws as ws
from cugraph_ws.backends.cuda import frontier

GRAPHS = {"skewed": 9, "path": 2, "hub": 7}  # numbers of random graphs with these shapes
LARGEST = {"skewed": 400, "path": 40, "hub": 3000}  # vertices, at most
FUNCTIONS = (
    "bfs", "sssp", "widest_path", "weakly_connected_components", "core_number", "heat", "circuit", "neural_network",
    "multi_source_bfs", "multi_source_sssp", "maximal_bipartite_matching", "belief_propagation", "delta_pagerank",
    "pagerank",
)  # fmt: skip
METHODS = ("auto", "ws", "vwc-2", "vwc-4", "vwc-8", "vwc-16", "vwc-32")
PUSH = {"direction": "push"}


def _large(call: Call) -> Call:
    """Return a call in which every frontier is pushed as a large one."""

    def run(graph: Any, **arguments: Any) -> Any:
        with patch.object(frontier, "LEAST_LARGE", 0):
            return call.function(graph, **arguments)

    run.__name__ = f"{call.name}, large pushes"
    return call._replace(function=run)


def _ranks(**on_gpu: Any) -> Call:
    name = f"pagerank, {on_gpu['method']}"
    return program_call(ws.PageRank, name, near=True, on_gpu=on_gpu, tol=0.0, max_iter=9)


def _from_first(picks: Picks) -> dict[str, Any]:
    return {"start": picks.drawn.ids[0]}


def _search(program: Any, name: str, **on_gpu: Any) -> Call:
    return program_call(program, name, _from_first, on_gpu=on_gpu, predecessors=False)


VARIANTS = (
    *(_ranks(method=method) for method in METHODS),
    *(_search(ws.SSSP, f"sssp, {method}", method=method) for method in METHODS),
    _search(ws.SSSP, "sssp, active vertices only", direction="pull"),
    _search(ws.SSSP, "sssp, pushed", **PUSH), _search(ws.SSSP, "sssp, synchronous", in_place=False),
    _search(ws.SSSP, "sssp, a superstep a launch", fused=False),
    _large(_search(ws.SSSP, "sssp", **PUSH, priorities=False)),
    _search(ws.BFS, "bfs, active vertices only", direction="pull"), _search(ws.BFS, "bfs, pushed", **PUSH),
    _search(ws.BFS, "bfs, ballot filter", **PUSH, filter="ballot"), _large(_search(ws.BFS, "bfs")),
)  # fmt: skip
SMALL = (*(call for call in CALLS if call.name in FUNCTIONS), *VARIANTS)


def failures(place: Place, jobs: Sequence[tuple[str, Callable[[], Drawn], Call]]) -> int:
    """Run calls on graphs; print those that failed or differ, and return their number."""
    count = 0
    for shape, draw, call in jobs:
        try:
            texts = (text for _, text in differences(draw(), place, [call]))
            wrong = next(filter(None, texts), None)
        except Exception:  # the next one still runs
            wrong = traceback.format_exc(limit=-4)
        count += wrong is not None
        job = f"{shape}: {call.name}"
        print(job if wrong is None else f"FAILED {job}\n{wrong}", flush=True)
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a share of everything on every graph; return the number of failures."""
    parser = argparse.ArgumentParser(
        prog="bench small", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("share", type=int, nargs="?", default=0)
    parser.add_argument("shares", type=int, nargs="?", default=1)
    asked = parser.parse_args(arguments)
    import cupy

    cupy.cuda.set_allocator(None)  # in a pool a read past the end of an array goes unnoticed
    draws = {shape: partial(Drawn, GRAPHS[shape], LARGEST[shape]) for shape in GRAPHS}
    jobs = [(shape, draw, call) for shape, draw in draws.items() for call in SMALL]
    with PLACES["gpu"]() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", ws.GraphWarning)
        return min(failures(place, jobs[asked.share :: asked.shares]), 100)
