"""A superstep of PageRank against cuGraph and cuSPARSE, and of heat, circuit and neural network against PageRank.

cuSPARSE's product reads what a superstep reads, and the values; it takes the arcs by id, or in the order of our graph.
"""

from __future__ import annotations

from typing import Any

from bench.forms import CUGRAPH, Case, csr, library
from bench.gpu.programs import DENSE, entrant
from bench.peers import RANK, check_steps, steps
from bench.programs import PROGRAMS, SUPERSTEPS
from bench.timing import OURS, Entrant, Measured, Section, by_library, compare, race

AGAINST_CUGRAPH, AGAINST_CUSPARSE, AGAINST_PAGERANK = 1.7, 1.0, 1.3
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
        makers = {"ours": lambda name=name: [entrant(case, PROGRAMS[name], OURS)]}
        if name == "pagerank":
            makers |= {
                "cuGraph": lambda: list(_cugraph(case)),
                "cuSPARSE": lambda: list(_cusparse(case)),
            }
        for owner, make in makers.items():
            entrants += section.attempt(f"preparing {job}, {owner}", make) or []
        measured = race(section, job, entrants, repeats)
        case.let_go()
        if OURS in by_library(measured):
            ours[name] = by_library(measured)[OURS]
        if name == "pagerank":
            _targets(section, measured)
    for name in [name for name in DENSE[1:] if {name, "pagerank"} <= set(ours)]:
        ratio = ours[name].best_known / ours["pagerank"].best_known
        section.target(f"{name} superstep, times PageRank's", ratio, AGAINST_PAGERANK)


def _cugraph(case: Case) -> Any:
    """Yield cuGraph's PageRank, and pylibcugraph's, which takes no frames."""
    if (cugraph := library(CUGRAPH)) is None:
        return
    import pylibcugraph

    graph, handle = case.cugraph("directed", transposed=True), pylibcugraph.ResourceHandle()
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


def _targets(section: Section, measured: list[Measured]) -> None:
    """Add the targets of a PageRank superstep."""
    job = "PageRank superstep"
    compare(section, f"{job}: cuGraph's ÷ ours, calls", measured, CUGRAPH, AGAINST_CUGRAPH)
    compare(
        section, f"{job}: pylibcugraph's ÷ ours alone", measured, "pylibcugraph", AGAINST_CUGRAPH, alone=True,
    )  # fmt: skip
    for peer in ("cuSPARSE", "cuSPARSE, our order"):
        compare(
            section, f"{job}: {peer} ÷ ours alone", measured, peer, AGAINST_CUSPARSE, alone=True
        )
    ours = by_library(measured).get(OURS)
    for name, (seconds, bound) in PAPERS.get(section.graph, {}).items() if ours is not None else ():
        ratio = seconds / ours.best_known
        section.target(
            f"{job}: {name} (an earlier run, H200) ÷ ours alone", ratio, bound, at_least=True
        )
