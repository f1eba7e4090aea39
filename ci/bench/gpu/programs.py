"""The paper's dense programs on one GPU: their arguments, the bytes that they move, and their verification."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench import proofs
from bench.forms import Case
from bench.programs import PROGRAMS, SUPERSTEPS, Program
from bench.timing import Entrant
from cugraph_ws.program.declarations import Like, State

INDEX_BYTES = 4  # of an in-neighbour's position
OFFSET_BYTES = 8  # of a row's offset
WEIGHT_BYTES = 4  # of an edge attribute; those measured here are float32
FEW = 64  # one in so many vertices has an initial value, where only a few have
DENSE = tuple(name for name, work in PROGRAMS.items() if work.dense)
# Columns of dense programs
COLUMNS = {
    "pagerank": "pagerank", "heat": "temperature", "circuit": "voltage", "neural network": "activation",
}  # fmt: skip


def bytes_of(work: Program, result: ws.Result) -> float:
    """Return the bytes that a superstep has to move.

    For each edge it reads an index, a neighbour's value and, if the program has one, a weight.  For each
    vertex it reads the row's offset and the old state, and writes the new state.
    """
    sizes = [_size(field) for field in work.program.state.values()]
    edge = INDEX_BYTES + min(sizes) + (0 if work.weights is None else WEIGHT_BYTES)
    vertex = OFFSET_BYTES + 2 * sum(sizes)
    return edges_of(result) * edge + result.graph.number_of_vertices * vertex


def _size(field: State) -> int:
    """Return the bytes of a state field on the GPU."""
    kind = field.on_gpu or field.type
    if isinstance(kind, Like):
        return WEIGHT_BYTES
    return INDEX_BYTES if kind.holds_vertex else int(np.dtype(kind.name).itemsize)


def edges_of(result: ws.Result) -> float:
    """Return the mean number of arcs that a superstep has read."""
    return sum(result.rows.edges) / max(1, result.iterations)


def arguments_of(case: Case, work: Program) -> dict[str, Any]:
    """Return a program's arguments on a graph."""
    return work.arguments(case.start, partial(_values, case))


def _temperatures(case: Case) -> Any:
    return (case.xp.arange(case.n) % 97 + 1) / 97.0


def _values(case: Case, few: bool) -> Any:
    """Return a frame of vertices, all or a few, and their initial values."""
    vertex = case.xp.flatnonzero(case.present)[:: FEW if few else 1].astype("int32")
    return case.frames.DataFrame({"vertex": vertex, "value": _temperatures(case)[vertex]})


def entrant(
    case: Case, work: Program, library: str, *, supersteps: int = SUPERSTEPS, **options: Any
) -> Entrant:  # fmt: skip
    """Return a run of a dense program with fields of `ws.Plan`; its graph is built, and its arguments made, before.

    Parameters
    ----------
    case : Case
    work : Program
    library : str
        Name of the entrant.
    supersteps : int
        Times, edges and bytes are those of one of them.
    **options : Any
    """
    graph, arguments = case.ours(work.weights), arguments_of(case, work)

    def run() -> tuple[ws.Result, Any]:
        result = ws.run(
            work.program, graph, predecessors=False, **arguments, **work.stop(supersteps),
            plan=ws.Plan(**options),
        )  # fmt: skip
        return result, result.frame

    return Entrant(
        library, run, lambda answer: verified(case, answer[0], work.name),
        alone=lambda answer: sum(answer[0].rows.milliseconds) / 1e3,
        parts=lambda answer: answer[0].iterations,
        edges=lambda answer: edges_of(answer[0]), moved=lambda answer: bytes_of(work, answer[0]),
    )  # fmt: skip


def verified(case: Case, result: ws.Result, program: str) -> float:
    """Verify a result by supersteps in float64; raise if it is wrong."""
    xp = case.xp
    fixed = xp.zeros(case.n, bool)
    if program == "circuit":
        fixed[xp.flatnonzero(case.present)[::FEW]] = True
    first = xp.where(fixed if program == "circuit" else case.present, _temperatures(case), 0.0)
    expected = proofs.steps(case, program, result.iterations, first, fixed)
    values = case.by_id(result.frame, COLUMNS[program], 0.0)
    # If edges read float32, a sum is off by a few units in the last place.
    return proofs.close(values, xp.where(case.present, expected, 0.0), 1e-5)
