"""A user's programs on a GPU: their first results in a new process, and those after edits of a line, in seconds.

The process has code that ships, and an empty cache of this library's.  It declares the programs, makes graphs, and runs
the programs: these runs are the first results.  Then it declares and runs each one twice again, with another number in it.  Another
process, with the first one's cache, runs a third edit.  Run as a module with a folder and numbers, this file is such a process.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import programs
from bench.children import in_new_process
from bench.gpu.first_calls import random_edges
from bench.timing import Section

MOST = 2  # processes of a case: each takes up to half a minute
BOUNDS = {0: 1.0, 2: 2.5}  # seconds, by the cores that a process may use; 0 for all
LENGTH = 1000  # vertices of the path
# The classes of each program, what is edited, and its arguments
PROGRAMS: dict[str, tuple[tuple[str, ...], str, dict[str, int]]] = {
    "search": (("Distances",), "src.distance + ", {"source": 0}),
    "ranks": (("Ranks",), "0.15", {}),
    "two phases": (("Steps", "StepsBack"), "src.there + 1", {"end": 0, "other_end": LENGTH - 1}),
}


def source_of(program: str, edit: int) -> str:
    """Return the text of a module with a program, a line of which is edited: the answer stays the same."""
    names, line, _ = PROGRAMS[program]
    text = programs.source_of(*names).replace(line, f"0 * {edit} + {line}")
    if len(names) == 1:
        return f"{text}\n\nWhole = {names[0]}\n"
    first, second = names
    return f"{text}\n\nWhole = ws.phases({first}, ws.phase({second}, direction='out'), rounds=1)\n"


def results(edits: list[int], folder: Path) -> dict[str, list[float]]:
    """Run each program for each edit; return seconds, those of later edits with their declaration."""
    import cudf
    import numpy as np

    import cugraph_ws as ws

    declared = {program: _declared(program, edits[0], folder) for program in PROGRAMS}
    edges = random_edges()
    path = np.arange(LENGTH - 1)
    graphs = {
        "search": ws.Graph(edges, weight="weight"),
        "ranks": ws.Graph(edges),
        "two phases": ws.Graph(cudf.DataFrame({"source": path, "destination": path + 1})),
    }
    seconds: dict[str, list[float]] = {}
    for program, (_, _, arguments) in PROGRAMS.items():
        for edit in edits:
            begun = time.perf_counter()
            edited = declared[program] if edit == edits[0] else _declared(program, edit, folder)
            result = ws.run(edited, graphs[program], engine="cuda", **arguments)
            assert len(result.frame)
            seconds.setdefault(program, []).append(time.perf_counter() - begun)
    return seconds


def _declared(program: str, edit: int, folder: Path) -> Any:
    """Import a program, from a file of its own."""
    file = folder / f"{program.replace(' ', '_')}_{edit}.py"
    file.write_text(source_of(program, edit), "utf-8")
    space: dict[str, Any] = {"__name__": file.stem, "__file__": str(file)}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), space)
    return space["Whole"]


def user_programs(name: str, section: Section, repeats: int) -> None:
    """Measure on all cores and on two; the table and the targets have medians of seconds."""
    rows = []
    numbers = itertools.count(time.time_ns() % (1 << 40))  # that no process has compiled
    for cores, bound in BOUNDS.items():
        found: dict[str, list[list[float]]] = {program: [] for program in PROGRAMS}
        for _ in range(min(repeats, MOST)):
            with tempfile.TemporaryDirectory() as folder:
                first = _process(cores, Path(folder), [next(numbers) for _ in range(3)])
                again = _process(cores, Path(folder), [next(numbers)])
            for program in PROGRAMS:
                found[program].append(first[program] + again[program])
        for program, figures in found.items():
            columns = [statistics.median(column) for column in zip(*figures, strict=True)]
            where = f"{program}, {f'{cores} cores' if cores else 'all cores'}"
            rows.append([where, *(f"{figure:.2f}" for figure in columns)])
            section.target(f"{where}: first result, seconds", columns[0], bound)
            section.target(f"{where}: after an edit, seconds", columns[2], bound)
            section.figures[where] = columns
    columns_of_table = ["", "first", "an edit", "another edit", "edited, in a new process"]
    section.table("a user's program, seconds", columns_of_table, rows)


def _process(cores: int, folder: Path, edits: list[int]) -> dict[str, list[float]]:
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    lines = in_new_process(
        "bench.gpu.user_programs", str(folder), *map(str, edits), cores=allowed,
        CUGRAPH_WS_CACHE_DIR=str(folder / "cache"),
    )  # fmt: skip
    seconds: dict[str, list[float]] = json.loads(lines[-1])
    return seconds


if __name__ == "__main__":
    print(json.dumps(results([int(word) for word in sys.argv[2:]], Path(sys.argv[1]))))
