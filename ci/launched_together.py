"""List the kernels that each call launches, `kernels/cuda/together.json`, so that they are compiled ahead.

    python ci/launched_together.py

The calls of `cugraph-ws warm-up` run on small graphs in the tests' emulator, and every launch is recorded.
Each call is made twice on a graph, since a second one may read what the first has made, and on graphs of every
kind in `GRAPHS`: among them such as large graphs are treated.  What programs of users launch is listed for the models of
`model_programs.py`.
"""

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pandas as pd
import stand_in_cudf
from emulator.device import EmulatedDevice, EmulatedKernels
from model_programs import MODELS

import cugraph_ws as ws
from cugraph_ws.algorithms import independent_set, louvain
from cugraph_ws.backends.cuda import (
    bucketing,
    frontier,
    planner,
    predecessors,
    rows,
)
from cugraph_ws.backends.cuda.listed_programs import listing_of, model_of
from cugraph_ws.backends.cuda.loops import betweenness, folds, layout, similarity, triangles
from cugraph_ws.cli import warm_up
from cugraph_ws.runtime.compile_ahead import LIST, MAKING
from cugraph_ws.runtime.device import installed
from cugraph_ws.runtime.signature import kind_of

__all__ = ["GRAPHS", "LARGE", "TYPES", "Group", "graphs", "groups", "large", "models", "text_of"]

# A call, its kernels (program or "", module or "", name, types), and texts of programs with theirs
Group = dict[str, Any]
VERTICES, EDGES = 24, 40
# Types of ids and of weights of the recorded calls: which kernels there are for weights does not depend on ids
TYPES = (("int64", "float64"), ("int32", "float32"), ("int64", "int64"))


# What makes the library treat small graphs as large ones
LARGE: dict[Any, dict[str, Any]] = {
    betweenness: {"LONG": 4, "MANY": 1},
    bucketing: {"LEAST_ARCS": 1, "SPAN": 16, "TILE": 128, "MOST_BINS": 4, "LENGTHS": (32, 40)},
    folds: {"SHORT": 2, "PIECE": 4},
    frontier: {"LEAST_LARGE": 0},
    independent_set: {"FEW_ARCS": 0},
    layout: {"FEW": 8},
    louvain: {"ON_HOST": 0, "ONE_BY_ONE": 0},
    planner: {"LEAST_HEAVY": 0},
    predecessors: {
        "MANY_ARCS": 0, "WORTH": 0, "TIGHT_FROM": 0, "TIGHT_PART": 1,
    },
    rows: {"LONG_ROW": 4},
    similarity: {"FEW": 0, "LEAST_MARKED": 1, "WORTH": 1 << 20},
    triangles: {"LEAST_HASHED": 0},
}  # fmt: skip
SHARED = 12 * (128 + 4) + 512  # bytes of a block's shared memory that buckets of such graphs take
# Kinds of graphs: whether they are treated as large ones, whether some ids are missing, and the distance of ids
GRAPHS = ((False, False, 1), (True, True, 1), (False, False, 1 << 20))
BEYOND = (
    2 * VERTICES + 1
)  # an id that makes others missing; odd, as those of a bipartite graph's right side
EVERY_VERTEX = ("belief_propagation", "conductance", "modularity")  # take a value for each vertex


@contextmanager
def large(device: EmulatedDevice) -> Iterator[None]:
    """Treat the graphs of the `with` block as large ones."""
    with ExitStack() as patches:
        for module, values in LARGE.items():
            patches.enter_context(patch.multiple(module, **values))
        patches.enter_context(patch.object(device, "shared_memory", SHARED))
        yield


class _Noted(EmulatedKernels):
    """Kernels whose launches are recorded, even launches of an empty grid."""

    def __init__(self, inner: EmulatedKernels, noted: dict[Any, None]) -> None:
        super().__init__(inner.device, inner.space)
        self._noted = noted

    def launch(self, name: str, grid: int, block: int, *arguments: Any, **options: Any) -> None:
        """Record a launch, and run it."""
        self._noted[name, tuple(kind_of(argument) for argument in arguments)] = None
        super().launch(name, grid, block, *arguments, **options)


class Recorder(EmulatedDevice):
    """An emulated device that records launches, by module or text."""

    def __init__(self) -> None:
        super().__init__(threads=32)
        self.plain: dict[Any, None] = {}
        self.programs: dict[Any, dict[Any, None]] = {}  # by the listing that writes their texts

    def module(self, name: str) -> EmulatedKernels:
        """Return the kernels of `kernels/cuda/<name>.py`."""
        inner, noted = super().module(name), self.plain

        class Named(_Noted):
            def launch(
                self, kernel: str, grid: int, block: int, *arguments: Any, **how: Any
            ) -> None:
                noted[name, kernel, tuple(kind_of(argument) for argument in arguments)] = None
                EmulatedKernels.launch(self, kernel, grid, block, *arguments, **how)

        return Named(inner, noted)

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...], write: Any
    ) -> EmulatedKernels:
        """Return a program's kernels."""
        noted = self.programs.setdefault(write, {})
        return _Noted(super().program_module(name, interface, loops, write), noted)


def recorded(task: warm_up.Task, ids: str) -> Recorder:
    """Make the calls of a task of warm-up on an emulated device, and return what they launched."""
    recorder = Recorder()
    for as_large, gaps, distance in GRAPHS:
        record(task, ids, recorder, as_large=as_large, gaps=gaps, distance=distance)
    return recorder


def record(
    task: warm_up.Task, ids: str, recorder: Recorder, *, as_large: bool, gaps: bool, distance: int
) -> None:
    """Make the calls of a task on one kind of graph."""

    def frame(_: warm_up.Task, columns: dict[str, Any]) -> Any:
        if gaps and "source" in columns and task.name not in EVERY_VERTEX:
            more = {"source": [warm_up.HUB], "destination": [BEYOND]}
            columns = {
                name: np.append(column, more.get(name, column[-1:])).astype(column.dtype)
                for name, column in columns.items()
            }
        typed = {
            name: column.astype(ids) * distance
            if name in ("source", "destination", "vertex")
            else column
            for name, column in columns.items()
        }
        return stand_in_cudf.DataFrame(pd.DataFrame(typed))

    with (
        installed(recorder),
        patch.multiple(warm_up, VERTICES=VERTICES, EDGES=EDGES, _frame=frame),
        stand_in_cudf.installed(),
        large(recorder) if as_large else nullcontext(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # edges listed in both directions
        if task.name == warm_up.GRAPH:
            with warm_up.graph_of(task) as graph:
                ws.weakly_connected_components(graph)  # its labels are int32
                ws.bfs(graph, warm_up.HUB)  # its predecessors are int64
        elif distance > 1:  # only the making of a graph depends on it
            warm_up.graph_of(task).close()
        else:
            warm_up.compile_task(ws, task)


def groups(
    names: Sequence[str] = tuple(sorted(warm_up.CALLS)), types: Sequence[tuple[str, str]] = TYPES
) -> list[Group]:
    """Return for each call of functions the kernels that it launches."""
    calls = dict.fromkeys(
        (task, ids)
        for ids, weights in types
        for task in sorted(warm_up.tasks(names, ["cuda"], [weights]))
    )
    return [_group(*call) for call in calls]


def graphs() -> list[Group]:
    """Return for graphs of all types the kernels that make them, and those that write ids into results."""
    tasks = warm_up.graphs(warm_up.WEIGHTS)
    groups = [_group(task, ids) for ids in dict.fromkeys(ids for ids, _ in TYPES) for task in tasks]
    for group in groups:
        making = [kernel for kernel in group["kernels"] if kernel[1] in (*MAKING, "ranks")]
        group.update(kernels=making, programs=[])
    return groups


def _group(task: warm_up.Task, ids: str) -> Group:
    recorded_task = recorded(task, ids)
    plain = [["", *launch] for launch in recorded_task.plain]
    of_programs, programs = [], []
    for text, noted in recorded_task.programs.items():
        kernels = [[text.program.name, "", *launch] for launch in noted]
        of_programs += kernels
        listed = listing_of(text.program, text.interface, text.loops)
        if listed is not None:
            programs.append([listed, sorted(kernels, key=repr)])
    call = str(task) if ids == TYPES[0][0] else f"{task}, {ids} ids"
    return {"call": call, "kernels": sorted(plain + of_programs, key=repr), "programs": programs}


def models() -> list[Any]:
    """Return what each of the model programs launches on a small graph, and on one that is treated as large.

    Those that say where they start are run as phases too.
    """
    edges = np.random.default_rng(1).integers(0, VERTICES, (EDGES, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    start = int(edges[0, 0])
    listed = []
    for program in MODELS:
        recorder = Recorder()
        declared = program.edges["weight"].type.name if program.edges else "float64"
        weights = (np.arange(len(edges)) % 3).astype(declared)
        frame = pd.DataFrame({"source": edges[:, 0], "destination": edges[:, 1], "weight": weights})
        named = {"weight": "weight"} if program.edges else {}
        given = {"start": start} if "start" in program.parameters else {}
        for as_large in (False, True):
            with (
                installed(recorder),
                stand_in_cudf.installed(),
                large(recorder) if as_large else nullcontext(),
            ):
                graph = ws.Graph(stand_in_cudf.DataFrame(frame), **named)
                ws.run(program, graph, **given)
                if "starts" in program.functions:  # as a phase that others come before
                    ws.run(ws.phases(program, program, rounds=1), graph, **given)
        noted = recorder.programs
        listed.append(
            model_of(noted, lambda text, noted=noted: sorted(map(list, noted[text]), key=repr))
        )
    return listed


def text_of(groups: list[Group], models: list[Any]) -> str:
    """Write groups, each distinct launch once, and models."""
    launches = sorted({json.dumps(entry) for group in groups for entry in group["kernels"]})
    place = {entry: number for number, entry in enumerate(launches)}
    programs = sorted({json.dumps(entry) for group in groups for entry, _ in group["programs"]})
    number_of = {entry: number for number, entry in enumerate(programs)}

    def places(kernels: list[Any]) -> list[int]:
        return sorted({place[json.dumps(entry)] for entry in kernels})

    calls = [
        json.dumps(
            [
                group["call"], places(group["kernels"]),
                sorted([number_of[json.dumps(entry)], places(launches_of)] for entry, launches_of in group["programs"]),
            ]
        )
        for group in groups
    ]  # fmt: skip
    lists = {
        "launches": launches, "programs": programs, "calls": calls, "models": list(map(json.dumps, models)),
    }  # fmt: skip
    return (
        "{"
        + ",\n".join(f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in lists.items())
        + "}\n"
    )


def main() -> None:
    """Write the list."""
    LIST.write_text(text_of(groups() + graphs(), models()), "utf-8")


if __name__ == "__main__":
    main()
