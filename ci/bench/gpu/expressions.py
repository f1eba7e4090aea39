"""What programs can say, beside the same computation by a kernel, a library, or a program that does not say it.

Folds by part are beside a kernel with a warp for each row; vectors beside cuSPARSE's product with as many columns;
a table beside a vertex value that holds what the table would give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench import proofs
from bench.forms import Case, csr
from bench.programs import (
    RATES,
    SUPERSTEPS,
    WIDTH,
    ByTable,
    ByValue,
    SumAndGreatest,
    Vectors,
)
from bench.timing import OURS, Entrant, Section, by_library, race

BOUND = 1.2
BLOCK = 256
STOP = {"max_iter": 1, "predecessors": False}


def expressions(case: Case, section: Section, repeats: int) -> None:
    """Time a superstep of each program, and what it is compared with."""
    graph = case.ours()
    for job, make in {
        "folds by part": _folds,
        "vectors of 64": _vectors,
        "a table": _table,
    }.items():
        entrants = section.attempt(f"preparing {job}", lambda make=make: make(case, graph))
        if entrants is None:
            continue
        timings = by_library(race(section, job, entrants, repeats))
        (peer,) = {entrant.library for entrant in entrants} - {OURS}
        if {OURS, peer} <= set(timings):
            ratio = timings[OURS].best_known / timings[peer].best_known
            section.target(f"{job}: ours ÷ {peer}", ratio, BOUND)


def _entrant(
    library: str,
    run: Callable[[], ws.Result],
    check: Callable[[Any], float | None] = lambda answer: None,
) -> Entrant:
    """Return a run of one of our programs; the first superstep is timed alone."""
    return Entrant(library, run, check, alone=lambda result: sum(result.rows.milliseconds) / 1e3)


def _kernel(name: str, run: Callable[[], Any]) -> Entrant:
    """Return `SUPERSTEPS` queued launches, or products."""

    def several() -> None:
        for _ in range(SUPERSTEPS):
            run()

    return Entrant(name, several, parts=lambda answer: SUPERSTEPS)


def _folds(case: Case, graph: ws.Graph) -> list[Entrant]:
    import cupy as cp
    from numba import cuda

    x = cp.random.RandomState(5).random_sample(graph.number_of_vertices, dtype=cp.float32)
    values = graph.vertices.assign(value=x)
    laid = graph.on_device()

    @cuda.jit  # type: ignore[misc]
    def sum_and_greatest(offsets, indices, x, sums, greatest):  # type: ignore[no-untyped-def]
        lane, row = (
            cuda.threadIdx.x % 32,
            (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // 32,
        )
        if row >= len(sums):
            return
        total, most = np.float32(0), np.float32(-np.inf)
        for arc in range(offsets[row] + lane, offsets[row + 1], 32):
            value = x[indices[arc]]
            total += value
            most = max(most, value)
        step = 16
        while step:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
            most = max(most, cuda.shfl_down_sync(0xFFFFFFFF, most, step))
            step >>= 1
        if lane == 0:
            sums[row] = total
            greatest[row] = most

    placed = laid.by_position(x)
    sums, greatest = cp.empty_like(placed), cp.empty_like(placed)
    arguments = (*map(cuda.as_cuda_array, (*laid.csc, placed, sums, greatest)),)
    blocks = -(-32 * laid.size // BLOCK)

    def launch() -> None:
        sum_and_greatest[blocks, BLOCK](*arguments)

    def check(result: ws.Result) -> float:
        launch()
        frame = result.frame
        proofs.exactly(cp.asarray(frame["greatest"].values), laid.by_number(greatest))
        return proofs.close(cp.asarray(frame["total"].values), laid.by_number(sums), 1e-3)

    return [
        _entrant(OURS, lambda: ws.run(SumAndGreatest, graph, x=values, **STOP), check),
        _kernel("a kernel, a warp for each row", launch),
    ]


def _vectors(case: Case, graph: ws.Graph) -> list[Entrant]:
    import cupy as cp

    laid = graph.on_device()
    matrix = csr(
        laid.size,
        laid.in_degrees,
        laid.csc.indices.astype(cp.int32),
        cp.ones(laid.arcs, cp.float32),
    )
    given = cp.random.RandomState(6).random_sample((laid.size, WIDTH), dtype=cp.float32)
    placed = given[laid.numbers]

    def check(result: ws.Result) -> float:
        sums = (matrix @ placed)[laid.positions, 0]
        return proofs.close(cp.asarray(result.frame["x_0"].values), sums, 1e-3)

    return [
        _entrant(OURS, lambda: ws.run(Vectors, graph, given=given.get(), **STOP), check),
        _kernel("cuSPARSE's product with 64 columns", lambda: matrix @ placed),
    ]


def _table(case: Case, graph: ws.Graph) -> list[Entrant]:
    import cupy as cp

    kinds = cp.arange(graph.number_of_vertices, dtype=cp.int32) % len(RATES)
    rates = cp.asarray(RATES, cp.float32)[kinds]
    by_kind, by_value = (graph.vertices.assign(value=values) for values in (kinds, rates))
    plain = ws.run(ByValue, graph, rate=by_value, **STOP).frame["total"]

    def check(result: ws.Result) -> float:
        return proofs.close(
            cp.asarray(result.frame["total"].values), cp.asarray(plain.values), 1e-4
        )

    return [
        _entrant(OURS, lambda: ws.run(ByTable, graph, kind=by_kind, **STOP), check),
        _entrant("a value of each vertex", lambda: ws.run(ByValue, graph, rate=by_value, **STOP)),
    ]
