"""How long runs go on after `timeout=`, after a callback has returned False, and after Ctrl-C.

    python -m bench stops                                    all functions on three shapes of graphs
    python -m bench stops --shapes star --only jaccard louvain

Functions and shapes are those of `bench runs`.  Each function runs once on a small graph, which compiles it.  Then it
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
from bench import runs

AFTER = 0.2  # seconds until a run is asked to stop
# Functions that take no such options
CALLS = [
    name for name in runs.CASES if name.split()[0] not in ("conductance", "modularity", "subgraph")
]
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each function and graph; return 1 if a call went on for too long."""
    parser = argparse.ArgumentParser(
        prog="bench stops", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--shapes", nargs="+", choices=runs.SHAPES, default=["random", "star", "paths"]
    )
    parser.add_argument("--scale", type=float, default=4.0, help="factor of the edges and vertices")
    parser.add_argument("--only", nargs="+", metavar="FUNCTION", help="names that begin so")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--most", type=float, default=0.3, help="seconds that a call may go on")
    asked = parser.parse_args(arguments)
    late = 0
    for key in asked.shapes:
        shape = runs.SHAPES[key]
        large, small = (
            runs.edges(runs.scaled(shape, scale)) for scale in (asked.scale, asked.scale / 1000)
        )
        for name in CALLS:
            if asked.only and not name.startswith(tuple(asked.only)):
                continue
            calls = [
                partial(runs.CASES[name].call, ws, *runs.opened(name, shape, frame))
                for frame in (small, large)
            ]
            overrun(lambda call: call({}), calls[0])
            cells = []
            for way in asked.ways:
                seconds, end = overrun(WAYS[way], calls[1])
                late += seconds > asked.most
                cells.append(f"{way} {seconds:.2f} {end}")
            print(f"{key:8}{name:40}", *(f"{cell:36}" for cell in cells), flush=True)
    return int(late > 0)
