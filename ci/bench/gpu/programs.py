"""The paper's eight programs on one GPU: their arguments, the bytes that they move, and their verification."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench.gpu import checks
from bench.gpu.cases import Case
from bench.programs import PROGRAMS, SUPERSTEPS, Program
from bench.timing import Entrant
from cugraph_ws.program.declarations import Like, State

__all__ = ["DENSE", "arguments_of", "bytes_of", "check", "edges_of", "entrant", "run_program"]

INDEX_BYTES = 4  # of an in-neighbour's position
OFFSET_BYTES = 8  # of a row's offset
WEIGHT_BYTES = 4  # of an edge attribute; those measured here are float32
FEW = 64  # one in so many vertices has an initial value, where only a few have
DENSE = tuple(name for name, work in PROGRAMS.items() if work.dense)


def bytes_of(work: Program, result: ws.Result) -> float:
    """Return the bytes that a superstep has to move.

    For each edge it reads an index, a neighbour's value and, if the program has one, a weight.  For each
    vertex it reads the row's offset and the old state, and writes the new state.
    """
    sizes = [_size(one) for one in work.program.state.values()]
    edge = INDEX_BYTES + min(sizes) + (0 if work.weights is None else WEIGHT_BYTES)
    vertex = OFFSET_BYTES + 2 * sum(sizes)
    return edges_of(result) * edge + result.graph.number_of_vertices * vertex


def _size(field: State) -> int:
    """Return the bytes of a state field on the GPU."""
    kept = field.on_gpu or field.type
    if isinstance(kept, Like):
        return WEIGHT_BYTES
    return INDEX_BYTES if kept.holds_vertex else int(np.dtype(kept.name).itemsize)


def edges_of(result: ws.Result) -> float:
    """Return the mean number of arcs that a superstep has read."""
    return sum(result.rows.edges) / max(1, result.iterations)


def run_program(
    case: Case, work: Program, method: str, supersteps: int, arguments: dict[str, Any]
) -> ws.Result:
    """Run a program on a case's graph, which is built on first use.

    Parameters
    ----------
    case : Case
    work : Program
    method : str
        The schedule.
    supersteps : int
        Number of supersteps of a dense program; others run to their end.
    arguments : dict
        Returned by `arguments_of`.
    """
    return ws.run(
        work.program, case.graph(work.weights), plan=ws.Plan(method=method), predecessors=False,
        **arguments, **work.stop(supersteps),
    )  # fmt: skip


def arguments_of(case: Case, work: Program) -> dict[str, Any]:
    """Return a program's arguments on a case."""
    return work.arguments(case.start, partial(values, case))


def entrant(
    case: Case,
    work: Program,
    arguments: dict[str, Any],
    library: str,
    method: str = "auto",
    supersteps: int = SUPERSTEPS,
    *,
    parts: bool = True,
) -> Entrant:
    """Return a run of a program, result frame included, by one schedule; its graph is built before.

    Parameters
    ----------
    case, work, arguments
        See `run_program`.
    library, method : str
        Name of the entrant, and the schedule.
    supersteps : int
        See `run_program`.
    parts : bool
        Whether times, edges and bytes are those of a superstep, not of the run.
    """
    case.graph(work.weights)

    def run() -> tuple[ws.Result, Any]:
        result = run_program(case, work, method, supersteps, arguments)
        return result, result.frame if parts else None

    return Entrant(
        library,
        run,
        lambda answer: check(work, case, answer[0]),
        alone=lambda answer: sum(answer[0].rows.milliseconds) / 1e3,
        share=lambda answer: answer[0].iterations if parts else 1,
        edges=lambda answer: edges_of(answer[0]) * (1 if parts else answer[0].iterations),
        moved=lambda answer: bytes_of(work, answer[0]) * (1 if parts else answer[0].iterations),
    )


# ------------------------------------------------------------------------------- first states


def _temperatures(case: Case) -> Any:
    import cupy

    return (cupy.arange(case.n) % 97 + 1) / 97.0


def values(case: Case, few: bool) -> Any:
    """Return a frame of vertices, all or a few, and their initial values."""
    import cudf
    import cupy

    vertex = cupy.flatnonzero(case.present)[:: FEW if few else 1].astype(cupy.int32)
    return cudf.DataFrame({"vertex": vertex, "value": _temperatures(case)[vertex]})


def _sources(case: Case) -> Any:
    import cupy

    held = cupy.zeros(case.n, bool)
    held[cupy.flatnonzero(case.present)[::FEW]] = True
    return held


# -------------------------------------------------------------------------------- verification


def _dense_check(case: Case, result: ws.Result, program: str, column: str) -> float:
    import cupy

    held = _sources(case) if program == "circuit" else cupy.zeros(case.n, bool)
    first = _temperatures(case)
    if program == "circuit":
        first = cupy.where(held, first, 0.0)
    first = cupy.where(case.present, first, 0.0)
    expected = checks.steps(case, program, result.iterations, first, held)
    found = case.by_id(result.frame, column)
    # If edges read float32, a sum is off by a few units in the last place.
    return checks.close(found, cupy.where(case.present, expected, 0.0), 1e-5)


def _labels(case: Case, result: ws.Result) -> None:
    """Check that no edge lowers a label, no label exceeds its vertex, and no label's own label exceeds it."""
    import cupy

    label = case.by_id(result.frame, "label")
    assert not bool((label[case.source] < label[case.destination]).any()), "an edge lowers a label"
    ids = cupy.arange(case.n)
    assert bool((label <= ids)[case.present].all()), "a label is above its vertex"
    own = label[label[case.present]]
    assert bool((own <= label[case.present]).all()), "a label's own label is above it"


COLUMNS = {  # verified columns of dense programs
    "pagerank": "pagerank",
    "heat": "temperature",
    "circuit": "voltage",
    "neural network": "activation",
}


def check(work: Program, case: Case, result: ws.Result) -> float | None:
    """Verify a result; see `bench.gpu.checks`."""
    if work.dense:
        return _dense_check(case, result, work.name, COLUMNS[work.name])
    if work.name == "components":
        _labels(case, result)
    else:
        checks.search(case, work.name, result.frame)
    return None
