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

from bench import runs
from bench.checkout import ROOT, python_path
from bench.graphs import GENERATED
from bench.tables import Table, milliseconds
from bench.timing import clocked

CALLS = 5  # that count, in each process
BUILD, MEMORY = "build from a frame", "peak memory, MB"
PYTHON = [sys.executable, "-P"]  # does not import modules from the current folder
NEAR = 1e-4  # relative difference of sums over a result
TURNS = ("old", "new")
FUNCTIONS = (  # of `bench.runs.CASES`
    "bfs", "sssp", "widest_path", "pagerank", "weakly_connected_components", "core_number", "multi_source_bfs",
    "multi_source_sssp", "belief_propagation", "maximal_bipartite_matching",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both checkouts in turns and print a table for each graph; return 1 if their results differ."""
    parser = argparse.ArgumentParser(prog="bench compare", description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout of this project")
    parser.add_argument("new", type=Path, nargs="?", default=ROOT, help="by default this one")
    parser.add_argument("--graphs", nargs="+", default=["RMAT14"], metavar="NAME", type=_graph,
                        help="RMAT and its scale, in a pandas frame; or one that is generated on the GPU")  # fmt: skip
    parser.add_argument("--functions", nargs="+", choices=runs.CASES, default=list(FUNCTIONS), metavar="FUNCTION",
                        help=f"of {', '.join(runs.CASES)}; by default {', '.join(FUNCTIONS)}")  # fmt: skip
    parser.add_argument("--pairs", type=int, default=9, help="of processes")
    parser.add_argument("--alternate", type=int, default=0, metavar="CALLS",
                        help="compare so many calls of each function in two processes that live on")  # fmt: skip
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.serve:
        return serve(asked.graphs[0])
    if asked.child:
        print(json.dumps(measured(asked.graphs[0], asked.functions)))
        return 0
    equal = True
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: view(getattr(asked, name), Path(folder, name)) for name in TURNS}
        for graph in asked.graphs:
            if asked.alternate:
                table, alike = alternated(paths, graph, asked.functions, asked.alternate)
            else:
                facts: dict[str, list[dict[str, Any]]] = {name: [] for name in TURNS}
                for turn in range(asked.pairs):
                    for name in TURNS[:: 1 - 2 * (turn % 2)]:
                        facts[name].append(_child(paths[name], graph, asked.functions))
                table = compared(graph, facts["old"], facts["new"])
                old, new = facts["old"][0], facts["new"][0]
                alike = all(
                    _near(name, old[name][2], new[name][2]) for name in old if name != MEMORY
                )
            print(table.markdown(), flush=True)
            equal = equal and alike
    return 0 if equal else 1


def _graph(name: str) -> str:
    if name not in GENERATED and not name.removeprefix("RMAT").isdigit():
        raise argparse.ArgumentTypeError(
            f"{name!r} is no graph; give RMAT and a scale, or of {', '.join(GENERATED)}"
        )
    return name


def view(checkout: Path, folder: Path) -> Path:
    """Make a folder from which a checkout's library is imported instead of the installed one; return it."""
    package = folder / "cugraph_ws"
    package.mkdir(parents=True)
    for path in (checkout / "cugraph_ws").resolve().iterdir():
        if path.name not in ("kernels", "__pycache__"):
            (package / path.name).symlink_to(path)
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
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


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
    """

    def __init__(self, name: str) -> None:
        import cugraph_ws as ws

        self._library, self._gpu = ws, name in GENERATED
        if self._gpu:
            import cudf as frames
            import cupy as xp
            import rmm.statistics

            rmm.statistics.enable_statistics()
            ends = xp.stack(GENERATED[name][1]())
        else:
            import numpy as xp
            import pandas as frames

            from cugraph_ws.graph.generators import rmat

            edges = rmat(int(name.removeprefix("RMAT")), seed=1, frame=None)
            ends = xp.stack([edges["source"], edges["destination"]])
        ids = xp.unique(ends, return_inverse=True)[1].reshape(ends.shape)  # 0 … n-1
        weight = 1.0 + ends.sum(axis=0) % 63
        frame = frames.DataFrame({"source": ids[0], "destination": ids[1], "weight": weight})
        self._frames, self._frame = frames, frame
        self._shape = runs.Shape("", 0, 0, directed=True, weighted=True)
        self._graphs: dict[Any, tuple[Any, Any]] = {}
        self.build = lambda: ws.Graph(frame, weight="weight")

    def call(self, function: str) -> Callable[[], Any]:
        """Return a function of `bench.runs.CASES`, with its arguments; its graph is made here."""
        case = runs.CASES[function]
        key = case.edges, case.input
        if key not in self._graphs:
            graph, argument = runs.opened(function, self._shape, self._frame)
            if self._gpu and hasattr(argument, "columns"):
                argument = self._frames.DataFrame(argument)
            self._graphs[key] = graph, argument
        return partial(case.call, self._library, *self._graphs[key], {})

    def memory(self) -> float:
        """Return the peak of the memory so far, in bytes."""
        if self._gpu:
            import rmm.statistics

            return float(rmm.statistics.get_statistics().peak_bytes)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0  # kilobytes, on Linux


def measured(name: str, functions: Sequence[str]) -> dict[str, Any]:
    """Return by function the first call's seconds, the median of the others, and sums over its result."""
    calls, facts = Calls(name), {}
    for function in (BUILD, *functions):
        call = calls.build if function == BUILD else calls.call(function)
        first, answer = clocked(call)
        facts[function] = (
            first, statistics.median(clocked(call)[0] for _ in range(CALLS)), _sums(answer),
        )  # fmt: skip
    facts[MEMORY] = calls.memory() / 1e6
    return facts


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
        rows, equal = [], True
        for function in (BUILD, *functions):
            sums = [ask(name, function)[1] for name in TURNS]
            equal = _near(function, *sums) and equal
            seconds: dict[str, list[float]] = {name: [] for name in TURNS}
            for turn in range(calls):
                for name in TURNS[:: 1 - 2 * (turn % 2)]:
                    seconds[name].append(ask(name, function)[0])
            rows.append([function, *_medians(seconds["old"], seconds["new"], 1e3)])
    columns = ["", "old, ms", "new, ms", "new ÷ old"]
    return Table(f"{graph}, {calls} calls in turns", columns, rows), equal


def _line(process: subprocess.Popen[str]) -> str:
    """Read a line that a process answers."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"a process of bench compare ended with {process.wait()}")
    return line


def _sums(answer: Any) -> list[float]:
    """Return sums over all columns, without infinite values; equal for equal results."""
    if isinstance(answer, tuple | list):
        return [total for part in answer for total in _sums(part)]
    if isinstance(answer, int | float):
        return [float(answer)]
    if not hasattr(answer, "columns"):
        return [float(answer.number_of_vertices), float(answer.number_of_edges)]
    columns = [answer[name].fillna(-1).astype("float64") for name in answer.columns]
    return [float(column[column < math.inf].sum()) for column in columns]


def _near(name: str, old: Sequence[float], new: Sequence[float]) -> bool:
    """Compare the sums over two results."""
    pairs = zip(old, new, strict=True)
    if all(abs(before - after) <= NEAR * max(abs(before), 1.0) for before, after in pairs):
        return True
    print(f"{name}: results differ: {old}, {new}", file=sys.stderr)
    return False


def _medians(old: Sequence[float], new: Sequence[float], factor: float = 1.0) -> list[str]:
    """Return the medians of both, and of new ÷ old over pairs."""
    ratio = statistics.median(after / before for before, after in zip(old, new, strict=True))
    return [
        *(milliseconds(statistics.median(times) * factor) for times in (old, new)),
        f"{ratio:.3f}",
    ]


def compared(graph: str, old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> Table:
    """Return the table of a graph."""
    rows = []
    for name in old[0]:
        sides = [[facts[name] for facts in side] for side in (old, new)]
        if name == MEMORY:
            rows.append([name, *_medians(*sides), "", "", ""])
        else:
            times = ([[values[place] for values in side] for side in sides] for place in (1, 0))
            rows.append([name, *(cell for pair in times for cell in _medians(*pair, 1e3))])
    columns = ["", "old, ms", "new, ms", "new ÷ old", "first call, old", "new", "new ÷ old"]
    return Table(f"{graph}, {len(old)} pairs of processes", columns, rows)
