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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench import runs
from bench.checkout import ROOT, python_path
from bench.graphs import GENERATED
from bench.run_calls import CASES
from bench.tables import Table, milliseconds
from bench.timing import clocked

CALLS = 5  # that count, in each process
BUILD, MEMORY = "build from a frame", "peak memory, MB"
PYTHON = [sys.executable, "-P"]  # does not import modules from the current folder
NEAR = 1e-4  # relative difference of sums over a result
TURNS = ("old", "new")
COLUMNS = ["", "old, ms", "new, ms", "new ÷ old"]
FUNCTIONS = (  # of `bench.run_calls.CASES`
    "bfs", "sssp", "widest_path", "pagerank", "weakly_connected_components", "core_number", "multi_source_bfs",
    "multi_source_sssp", "belief_propagation", "maximal_bipartite_matching",
)  # fmt: skip
Ask = Callable[[str], tuple[float, list[float]]]  # takes a function's name, or that of a figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both checkouts in turns and print a table for each graph; return 1 if their results differ."""
    parser = argparse.ArgumentParser(prog="bench compare", description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout of this project")
    parser.add_argument("new", type=Path, nargs="?", default=ROOT, help="by default this one")
    parser.add_argument("--graphs", nargs="+", default=["RMAT14"], metavar="NAME", type=_graph,
                        help="RMAT and its scale, in a pandas frame; or one that is generated on the GPU")  # fmt: skip
    parser.add_argument("--functions", nargs="+", choices=CASES, default=list(FUNCTIONS), metavar="FUNCTION",
                        help=f"of {', '.join(CASES)}; by default {', '.join(FUNCTIONS)}")  # fmt: skip
    parser.add_argument("--pairs", type=int, default=9, help="of processes")
    parser.add_argument("--alternate", type=int, default=0, metavar="CALLS",
                        help="compare so many calls of each function in two processes that live on")  # fmt: skip
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.serve:
        return serve(asked.graphs[0])
    equal = True
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: view(getattr(asked, name), Path(folder, name)) for name in TURNS}
        for graph in asked.graphs:
            if asked.alternate:
                table, alike = alternated(paths, graph, asked.functions, asked.alternate)
            else:
                table, alike = paired(paths, graph, asked.functions, asked.pairs)
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


@contextmanager
def served(path: Path, graph: str) -> Iterator[Ask]:
    """Start a process of a checkout; yield what asks it for a call, or for its memory."""
    command = [*PYTHON, "-m", "bench", "compare", str(path), "--graphs", graph, "--serve"]
    variables = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{python_path()}"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
    ) as process:
        questions, answers = process.stdin, process.stdout
        assert questions is not None
        assert answers is not None

        def ask(name: str) -> tuple[float, list[float]]:
            print(name, file=questions, flush=True)
            if not (line := answers.readline()):
                raise RuntimeError(f"{path.name}, {graph}: its process ended with {process.wait()}")
            figure, sums = json.loads(line)
            return figure, sums

        yield ask


def turns(count: int) -> Iterator[str]:
    """Yield the checkouts' names, each so many times: old, new, new, old, and so on."""
    for turn in range(count):
        yield from TURNS[:: 1 - 2 * (turn % 2)]


class Calls:
    """The functions, ready to be called on a graph, whose name is given."""

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
        self._ready: dict[str, Callable[[], Any]] = {
            BUILD: lambda: ws.Graph(frame, weight="weight")
        }

    def _call(self, function: str) -> Callable[[], Any]:
        """Return a function of `bench.run_calls.CASES`, with its arguments; its graph is made here."""
        case = CASES[function]
        key = case.edges, case.input
        if key not in self._graphs:
            graph, argument = runs.opened(function, self._shape, self._frame)
            if self._gpu and hasattr(argument, "columns"):
                argument = self._frames.DataFrame(argument)
            self._graphs[key] = graph, argument
        return partial(case.call, self._library, *self._graphs[key], {})

    def answer(self, name: str) -> tuple[float, list[float]]:
        """Build or call a function: return the seconds, and sums over the result; or the most MB taken so far, and none."""
        if name == MEMORY:
            return self._memory() / 1e6, []
        if name not in self._ready:
            self._ready[name] = self._call(name)
        seconds, answer = clocked(self._ready[name])
        return seconds, _sums(answer)

    def _memory(self) -> float:
        if self._gpu:
            import rmm.statistics

            return float(rmm.statistics.get_statistics().peak_bytes)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0  # kilobytes, on Linux


def measured(ask: Ask, functions: Sequence[str]) -> dict[str, Any]:
    """Return by function the first call's seconds, the median of the others, and sums over its result; and memory."""
    facts: dict[str, Any] = {}
    for function in (BUILD, *functions):
        first, sums = ask(function)
        facts[function] = first, statistics.median(ask(function)[0] for _ in range(CALLS)), sums
    facts[MEMORY], _ = ask(MEMORY)
    return facts


def serve(graph: str) -> int:
    """Answer the names on the standard input."""
    calls = Calls(graph)
    for line in sys.stdin:
        print(json.dumps(calls.answer(line.rstrip("\n"))), flush=True)
    return 0


def _child(path: Path, graph: str, functions: Sequence[str]) -> dict[str, Any]:
    with served(path, graph) as ask:
        return measured(ask, functions)


def paired(
    paths: Mapping[str, Path], graph: str, functions: Sequence[str], pairs: int
) -> tuple[Table, bool]:
    """Measure functions in pairs of new processes; return a table, and whether the results are alike."""
    facts: dict[str, list[dict[str, Any]]] = {name: [] for name in TURNS}
    for name in turns(pairs):
        facts[name].append(_child(paths[name], graph, functions))
    rows, equal = [], True
    for function in facts["old"][0]:
        old, new = ([measures[function] for measures in facts[name]] for name in TURNS)
        if function == MEMORY:
            rows.append([function, *_medians(old, new), "", "", ""])
            continue
        equal = _near(function, old[0][2], new[0][2]) and equal
        times = ([[values[place] for values in side] for side in (old, new)] for place in (1, 0))
        rows.append([function, *(cell for sides in times for cell in _medians(*sides, 1e3))])
    columns = [*COLUMNS, "first call, old", "new", "new ÷ old"]
    return Table(f"{graph}, {pairs} pairs of processes", columns, rows), equal


def alternated(
    paths: Mapping[str, Path], graph: str, functions: Sequence[str], calls: int
) -> tuple[Table, bool]:
    """Call functions in turns in a process for each checkout; return a table, and whether the results are alike."""
    rows, equal = [], True
    with ExitStack() as processes:
        ask = {name: processes.enter_context(served(paths[name], graph)) for name in TURNS}
        for function in (BUILD, *functions):
            sums = [ask[name](function)[1] for name in TURNS]
            equal = _near(function, *sums) and equal
            seconds: dict[str, list[float]] = {name: [] for name in TURNS}
            for name in turns(calls):
                seconds[name].append(ask[name](function)[0])
            rows.append([function, *_medians(seconds["old"], seconds["new"], 1e3)])
    return Table(f"{graph}, {calls} calls in turns", COLUMNS, rows), equal


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
