"""Compare two checkouts of this project, run in turns in new processes: time of each function, and memory.

A process builds a graph, calls each function once, and then several more times.  Shown are the medians over each
checkout's processes of the processes' medians, and the median of new ÷ old over pairs of consecutive processes.  Both
checkouts must give the same results.

With `--alternate` there is one process for each checkout and graph, and their calls take turns: many more calls in the
same time, but first calls and memory are not compared.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench.graphs import GENERATED
from bench.places import ROOT, python_path
from bench.tables import Table, milliseconds
from bench.timing import clocked

__all__ = ["main", "view"]

CALLS = 5  # that count, in each process
BUILD, MEMORY = "build from a frame", "peak memory, MB"
PYTHON = [sys.executable, "-P"]  # does not import modules from the current folder
NEAR = 1e-4  # relative difference of sums over a result
# Functions, and the names of the arguments that `measured` makes for each
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "bfs": ("bfs", "start"),
    "sssp": ("sssp", "start"),
    "widest path": ("widest_path", "start"),
    "pagerank": ("pagerank",),
    "components": ("weakly_connected_components",),
    "core numbers": ("core_number",),
    "many sources, bfs": ("multi_source_bfs", "starts"),
    "many sources, sssp": ("multi_source_sssp", "starts"),
    "beliefs": ("belief_propagation", "priors", "coupling"),
    "matching": ("maximal_bipartite_matching", "left"),
}
BIPARTITE = ("matching",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both checkouts in turns and print a table for each graph; return 1 if their results differ."""
    parser = argparse.ArgumentParser(prog="bench compare", description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout of this project")
    parser.add_argument("new", type=Path, nargs="?", default=ROOT, help="by default this one")
    parser.add_argument("--graphs", nargs="+", default=["RMAT14"], metavar="NAME",
                        help="RMAT and its scale, in a pandas frame; or one that is generated on the GPU")  # fmt: skip
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--pairs", type=int, default=9, help="of processes")
    parser.add_argument("--alternate", type=int, default=0, metavar="CALLS",
                        help="compare so many calls of each function in two processes that live on")  # fmt: skip
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve:
        return serve(given.graphs[0])
    if given.child:
        print(json.dumps(measured(given.graphs[0], given.functions)))
        return 0
    same = True
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: view(getattr(given, name), Path(folder, name)) for name in ("old", "new")}
        for graph in given.graphs if given.alternate else ():
            table, alike = alternated(paths, graph, given.functions, given.alternate)
            print(table.markdown(), flush=True)
            same = same and alike
        for graph in () if given.alternate else given.graphs:
            found: dict[str, list[dict[str, Any]]] = {"old": [], "new": []}
            for turn in range(given.pairs):
                for name in ("old", "new") if turn % 2 == 0 else ("new", "old"):
                    found[name].append(_child(paths[name], graph, given.functions))
            print(compared(graph, found["old"], found["new"]).markdown(), flush=True)
            same = same and _alike(found["old"][0], found["new"][0])
    return 0 if same else 1


def view(checkout: Path, folder: Path) -> Path:
    """Make a folder from which a checkout's library is imported instead of the installed one; return it."""
    package = folder / "cugraph_ws"
    package.mkdir(parents=True)
    for one in (checkout / "cugraph_ws").resolve().iterdir():
        if one.name not in ("kernels", "__pycache__"):
            (package / one.name).symlink_to(one)
    (package / "kernels").symlink_to((checkout / "kernels").resolve())
    return folder


def _command(path: Path, graph: str, *options: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line of a checkout's process, and its environment."""
    command = [*PYTHON, "-m", "bench", "compare", str(path), "--graphs", graph, *options]
    return command, {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{python_path()}"}


def _child(path: Path, graph: str, functions: Sequence[str]) -> dict[str, Any]:
    command, surroundings = _command(path, graph, "--child", "--functions", *functions)
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=surroundings)
    if done.returncode:
        raise RuntimeError(f"{path.name}, {graph}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


class Calls:
    """The functions, ready to be called on a graph.

    Parameters
    ----------
    name : str
        The graph.

    Attributes
    ----------
    build : callable
        Builds the graph of its frame.
    gpu : bool
    """

    def __init__(self, name: str) -> None:
        import cugraph_ws as ws

        self._library, self.gpu = ws, name in GENERATED
        if self.gpu:
            import cudf as frames
            import rmm.statistics

            rmm.statistics.enable_statistics()
            source, destination = GENERATED[name][1]()
        else:
            import pandas as frames

            try:
                from cugraph_ws.graph.generators import rmat
            except ImportError:  # a checkout of before generators were there
                from cugraph_ws.generators import rmat

            made = rmat(int(name.removeprefix("RMAT")), seed=1)
            source, destination = made["source"], made["destination"]
        n = int(max(source.max(), destination.max())) + 1
        weight = 1.0 + (source + destination) % 63
        edges = frames.DataFrame({"source": source, "destination": destination, "weight": weight})
        self._across = frames.DataFrame({"source": source, "destination": n + destination})
        ids = edges["source"].drop_duplicates()
        starts = [int(one) for one in ids[:8].to_numpy()]
        ranks = ws.pagerank(edges, max_iter=1, tol=1.0, fail_on_nonconvergence=False)
        every = ranks[["vertex"]]
        self._given = {
            "start": starts[0], "starts": starts, "left": ids, "priors": every.assign(a=0.6, b=0.4),
            "coupling": [[0.501, 0.499], [0.499, 0.501]],
        }  # fmt: skip
        self.build = lambda: ws.Graph(edges, weight="weight")
        self._graphs: dict[bool, Any] = {}

    def call(self, function: str) -> Callable[[], Any]:
        """Return one of `FUNCTIONS`, with its arguments; its graph is made here."""
        name, *keys = FUNCTIONS[function]
        across = function in BIPARTITE
        if across not in self._graphs:
            self._graphs[across] = self._library.Graph(self._across) if across else self.build()
        given = (self._given[key] for key in keys)
        return partial(getattr(self._library, name), self._graphs[across], *given)

    def memory(self) -> float:
        """Return the peak of the memory so far, in bytes."""
        if self.gpu:
            import rmm.statistics

            return float(rmm.statistics.get_statistics().peak_bytes)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0  # kilobytes, on Linux


def measured(name: str, functions: Sequence[str]) -> dict[str, Any]:
    """Return by function the first call's seconds, the median of the others, and sums over its result."""
    calls = Calls(name)
    found: dict[str, Any] = {}
    _timed(found, BUILD, calls.build)
    for function in functions:
        _timed(found, function, calls.call(function))
    found[MEMORY] = calls.memory() / 1e6
    return found


def serve(name: str) -> int:
    """Call the functions named on the standard input; print the seconds of each call, and sums over its result."""
    calls = Calls(name)
    ready: dict[str, Callable[[], Any]] = {BUILD: calls.build}
    print("ready", flush=True)
    for line in sys.stdin:
        function = line.rstrip("\n")
        if function not in ready:
            ready[function] = calls.call(function)
        seconds, answer = clocked(ready[function])
        print(json.dumps([seconds, _sums(answer)]), flush=True)
    return 0


def alternated(
    paths: Mapping[str, Path], graph: str, functions: Sequence[str], calls: int
) -> tuple[Table, bool]:
    """Call functions in turns in a process for each checkout; return a table, and whether the results are alike."""
    with ExitStack() as open_processes:
        processes = {}
        for name, path in paths.items():
            command, surroundings = _command(path, graph, "--serve")
            processes[name] = open_processes.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=surroundings,
                )
            )  # fmt: skip

        def ask(name: str, function: str) -> list[Any]:
            process = processes[name]
            assert process.stdin is not None
            process.stdin.write(f"{function}\n")
            process.stdin.flush()
            return list(json.loads(_line(process)))

        for process in processes.values():
            _line(process)
        rows, same = [], True
        for function in (BUILD, *functions):
            (_, old), (_, new) = (ask(name, function) for name in ("old", "new"))
            same = same and _near(function, old, new)
            seconds: dict[str, list[float]] = {"old": [], "new": []}
            for turn in range(calls):
                for name in ("old", "new") if turn % 2 == 0 else ("new", "old"):
                    seconds[name].append(ask(name, function)[0])
            ratios = [b / a for a, b in zip(seconds["old"], seconds["new"], strict=True)]
            medians = [milliseconds(statistics.median(one) * 1e3) for one in seconds.values()]
            rows.append([function, *medians, f"{statistics.median(ratios):.3f}"])
    columns = ["", "old, ms", "new, ms", "new ÷ old"]
    return Table(f"{graph}, {calls} calls in turns", columns, rows), same


def _line(process: subprocess.Popen[str]) -> str:
    """Read a line that a process answers."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"a process of bench compare ended with {process.wait()}")
    return line


def _timed(found: dict[str, Any], name: str, call: Callable[[], Any]) -> Any:
    first, answer = clocked(call)
    seconds = [clocked(call)[0] for _ in range(CALLS)]
    found[name] = first, statistics.median(seconds), _sums(answer)
    return answer


def _sums(answer: Any) -> list[float]:
    """Return sums over all columns, without infinite values; equal for equal results."""
    if not hasattr(answer, "columns"):
        return [float(answer.number_of_vertices), float(answer.number_of_edges)]
    columns = [answer[name].fillna(-1).astype("float64") for name in answer.columns]
    return [float(one[one < math.inf].sum()) for one in columns]


def _alike(old: dict[str, Any], new: dict[str, Any]) -> bool:
    near = [_near(name, old[name][2], new[name][2]) for name in old.keys() - {MEMORY}]
    return all(near)


def _near(name: str, old: Sequence[float], new: Sequence[float]) -> bool:
    """Compare the sums over two results."""
    if all(abs(a - b) <= NEAR * max(abs(a), 1.0) for a, b in zip(old, new, strict=True)):
        return True
    print(f"{name}: results differ: {old}, {new}", file=sys.stderr)
    return False


def compared(graph: str, old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> Table:
    """Return the table of one graph."""
    rows = []
    for name in old[0]:
        row = [name]
        for place in (None,) if name == MEMORY else (1, 0):
            pairs = [(a[name], b[name]) if place is None else (a[name][place] * 1e3, b[name][place] * 1e3)
                     for a, b in zip(old, new, strict=True)]  # fmt: skip
            row += [milliseconds(statistics.median(one)) for one in zip(*pairs, strict=True)]
            row.append(f"{statistics.median(b / a for a, b in pairs):.3f}")
        rows.append([*row, *[""] * (7 - len(row))])
    columns = ["", "old, ms", "new, ms", "new ÷ old", "first call, old", "new", "new ÷ old"]
    return Table(f"{graph}, {len(old)} pairs of processes", columns, rows)
