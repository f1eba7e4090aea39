"""A superstep of PageRank against cuGraph and cuSPARSE, and of heat, circuit and neural network against PageRank.

cuSPARSE's product reads what a superstep reads, and the values; it takes the arcs by id, or in the order of our graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench import proofs
from bench.answers import RANK
from bench.calls import check_steps, steps
from bench.forms import CUGRAPH, Case, csr, library
from bench.programs import PROGRAMS, SUPERSTEPS, Program
from bench.timing import OURS, Entrant, Measured, Section, race
from cugraph_ws.program.declarations import Like, State

AGAINST_CUGRAPH, AGAINST_CUSPARSE, AGAINST_PAGERANK = 1.7, 1.0, 1.3
INDEX_BYTES = 4  # of an in-neighbour's position
OFFSET_BYTES = 8  # of a row's offset
WEIGHT_BYTES = 4  # of an edge attribute; those measured here are float32
FEW = 64  # one in so many vertices has an initial value, where only a few have
DENSE = tuple(name for name, work in PROGRAMS.items() if work.dense)
# Columns of dense programs
COLUMNS = {
    "pagerank": "pagerank", "heat": "temperature", "circuit": "voltage", "neural network": "activation",
}  # fmt: skip
# The papers' CUDA code, seconds per PageRank superstep on an H200, compiled and measured separately:
# Warp Segmentation, and the fastest of Warp Segmentation, CuSha, virtual warps and SIMD-X; and the bounds
PAPERS = {
    "RM20": {"Warp Segmentation's own code": (0.60e-3, 3.0), "fastest of the papers' codes": (0.30e-3, 1.7)},
}  # fmt: skip


def supersteps(case: Case, section: Section, repeats: int) -> None:
    """Time supersteps of the four programs that read every edge."""
    ours: dict[str, Measured] = {}
    for name in DENSE:
        job, entrants = f"{name} superstep", []
        makers = {"ours": lambda name=name: [entrant(case, PROGRAMS[name])]}
        if name == "pagerank":
            makers |= {
                "cuGraph": lambda: list(_cugraph(case)),
                "cuSPARSE": lambda: list(_cusparse(case)),
            }
        for owner, make in makers.items():
            entrants += section.attempt(f"preparing {job}, {owner}", make) or []
        timings = race(section, job, entrants, repeats)
        case.let_go()
        if OURS in timings:
            ours[name] = timings[OURS]
        if name == "pagerank":
            _targets(section, timings)
    for name in DENSE[1:]:
        section.ratio(
            f"{name} superstep, times PageRank's", ours, name, AGAINST_PAGERANK, under="pagerank",
            at_least=False, alone=True,
        )  # fmt: skip


def _cugraph(case: Case) -> Any:
    """Yield cuGraph's PageRank, and pylibcugraph's, which takes no frames."""
    if (cugraph := library(CUGRAPH)) is None:
        return
    import pylibcugraph

    graph, handle = (
        case.graph_of(CUGRAPH, "directed", transposed=True),
        pylibcugraph.ResourceHandle(),
    )
    figures = {
        "parts": lambda answer: SUPERSTEPS,
        "edges": lambda answer: len(case.source),
        # An index and a float32 share for each edge; offset, ranks and out-weight for each vertex.
        "moved": lambda answer: 8 * len(case.source) + 32 * case.vertices,
    }
    unused = dict.fromkeys(
        ("precomputed_vertex_out_weight_vertices", "precomputed_vertex_out_weight_sums",
         "initial_guess_vertices", "initial_guess_values")
    )  # fmt: skip

    def lower() -> Any:
        return pylibcugraph.pagerank(
            resource_handle=handle, graph=graph._plc_graph, **unused, alpha=0.85, epsilon=1e-30,
            max_iterations=SUPERSTEPS, do_expensive_check=False, fail_on_nonconvergence=False,
        )  # fmt: skip

    def check_lower(answer: Any) -> None:
        total = float(answer[1].sum())
        assert abs(total - 1) < 1e-3, f"the ranks sum to {total}"

    def check(frame: Any) -> float:
        return check_steps(case, RANK(case, frame))

    yield Entrant(CUGRAPH, lambda: cugraph.pagerank(graph, **steps())[0], check, **figures)
    yield Entrant("pylibcugraph", lower, check_lower, **figures)


def _cusparse(case: Case) -> Any:
    """Yield cuSPARSE's product in float32: vertices by id, and in the order of our graph."""
    import cupy
    from cupyx import cusparse

    def product(name: str, matrix: Any, vector: Any) -> Entrant:
        out = cupy.empty_like(vector)

        def run() -> Any:
            for _ in range(SUPERSTEPS):
                cusparse.spmv(matrix, vector, out)
            return out

        def check(answer: Any) -> float:
            """Compare the sum over all rows with the sum over all edges, in float64."""
            expected = float(vector[matrix.indices].sum(dtype=cupy.float64))
            off = abs(float(answer.sum(dtype=cupy.float64)) - expected) / abs(expected)
            assert off <= 1e-4, f"the sum over the product is off by {off}"
            return off

        return Entrant(
            name, run, check, parts=lambda answer: SUPERSTEPS, edges=lambda answer: len(case.source),
            # Index, value and gathered element; offsets and result.
            moved=lambda answer: 12 * len(case.source) + 8 * matrix.shape[0],
        )  # fmt: skip

    vector = cupy.random.RandomState(3).random_sample(case.n, dtype=cupy.float32)
    keys = case.destination.astype(cupy.int64) * case.n + case.source
    keys.sort()
    indices = (keys % case.n).astype(cupy.int32)
    del keys
    ones = cupy.ones(len(indices), cupy.float32)
    yield product("cuSPARSE", csr(case.n, case.in_degree, indices, ones), vector)
    graph = case.ours().on_device()
    ordered = csr(graph.size, graph.in_degrees, graph.csc.indices.astype(cupy.int32), ones)
    yield product("cuSPARSE, our order", ordered, vector[: graph.size].copy())


def _targets(section: Section, timings: Mapping[str, Measured]) -> None:
    """Add the targets of a PageRank superstep."""
    job = "PageRank superstep"
    section.ratio(f"{job}: cuGraph's ÷ ours, calls", timings, CUGRAPH, AGAINST_CUGRAPH)
    for by, name, bound in (
        ("pylibcugraph", "pylibcugraph's", AGAINST_CUGRAPH),
        ("cuSPARSE", "cuSPARSE", AGAINST_CUSPARSE),
        ("cuSPARSE, our order", "cuSPARSE, our order", AGAINST_CUSPARSE),
    ):
        section.ratio(f"{job}: {name} ÷ ours alone", timings, by, bound, alone=True)
    papers = PAPERS.get(section.graph, {}) if OURS in timings else {}
    for name, (seconds, bound) in papers.items():
        ratio = seconds / timings[OURS].best_known
        section.target(
            f"{job}: {name} (an earlier run, H200) ÷ ours alone", ratio, bound, at_least=True
        )


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


def _temperatures(case: Case) -> Any:
    return (case.xp.arange(case.n) % 97 + 1) / 97.0


def _values(case: Case, few: bool) -> Any:
    """Return a frame of vertices, all or a few, and their initial values."""
    vertex = case.xp.flatnonzero(case.present)[:: FEW if few else 1].astype("int32")
    return case.frames.DataFrame({"vertex": vertex, "value": _temperatures(case)[vertex]})


def entrant(
    case: Case, work: Program, graph: ws.Graph | None = None, engine: str = "auto"
) -> Entrant:
    """Return our run of a dense program; its graph is built, and its arguments made, before."""
    graph = case.ours(work.weights) if graph is None else graph
    arguments = work.arguments(case.start, partial(_values, case))

    def run() -> tuple[ws.Result, Any]:
        result = ws.run(
            work.program, graph, predecessors=False, engine=engine, **arguments, **work.stop(SUPERSTEPS),
        )  # fmt: skip
        return result, result.frame

    return Entrant(
        OURS, run, lambda answer: verified(case, answer[0], work.name),
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
