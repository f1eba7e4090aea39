"""A superstep of PageRank against cuGraph and cuSPARSE, and of heat, circuit and neural network against PageRank."""

from __future__ import annotations

from typing import Any

from bench.gpu.cases import Case, csr, cugraph_here
from bench.gpu.frames import check_ranks
from bench.gpu.programs import DENSE, arguments_of, entrant
from bench.programs import PROGRAMS, SUPERSTEPS
from bench.timing import OURS, Entrant, Measured, Section, Target, by_library, compare, race

__all__ = ["supersteps"]

AGAINST_CUGRAPH = {"RM33V335E": 1.7, "KR24": 1.7}
AGAINST_CUSPARSE = 1.0
AGAINST_PAGERANK = 1.3
# The papers' CUDA code, seconds per PageRank superstep on an H200, compiled and measured separately:
# Warp Segmentation, and the fastest of Warp Segmentation, CuSha, virtual warps and SIMD-X
PAPERS = {"RM20": (0.60e-3, 0.30e-3)}
AGAINST_PAPER, AGAINST_FASTEST = 3.0, 1.7


def supersteps(case: Case, section: Section, repeats: int) -> None:
    """Time supersteps of the four programs that read every edge."""
    own = {}
    for name in DENSE:
        others = pagerank_others(case, section) if name == "pagerank" else []
        job = f"{name} superstep"
        work = PROGRAMS[name]
        mine = section.attempt(
            f"preparing {job}",
            lambda work=work: entrant(case, work, arguments_of(case, work), OURS),
        )
        measured = race(section, job, [*([] if mine is None else [mine]), *others], repeats)
        case.let_go()
        if OURS in by_library(measured):
            own[name] = by_library(measured)[OURS]
        if name == "pagerank":
            pagerank_targets(section, measured)
    for name in DENSE[1:]:
        if name in own and "pagerank" in own:
            ratio = own[name].best_known / own["pagerank"].best_known
            target = f"{name} superstep, times PageRank's"
            section.targets.append(Target(target, case.name, ratio, AGAINST_PAGERANK))


def pagerank_others(case: Case, section: Section) -> list[Entrant]:
    """Return the other libraries' PageRank supersteps, as far as they are installed."""
    made = [
        section.attempt("making cuGraph's graph", lambda: list(cugraph_pagerank(case))),
        section.attempt("making cuSPARSE's matrices", lambda: list(spmv(case))),
    ]
    return [entrant for entrants in made for entrant in entrants or ()]


def cugraph_pagerank(case: Case) -> Any:
    """Yield cuGraph's PageRank, and pylibcugraph's, which takes no frames."""
    if (cugraph := cugraph_here()) is None:
        return
    import pylibcugraph

    graph = case.cugraph(transposed=True)
    # An index and a float32 share for each edge; offset, ranks and out-weight for each vertex.
    moved = 8 * len(case.source) + 32 * case.vertices
    handle = pylibcugraph.ResourceHandle()

    def lower() -> Any:
        return pylibcugraph.pagerank(
            resource_handle=handle, graph=graph._plc_graph,
            precomputed_vertex_out_weight_vertices=None, precomputed_vertex_out_weight_sums=None,
            initial_guess_vertices=None, initial_guess_values=None,
            alpha=0.85, epsilon=1e-30, max_iterations=SUPERSTEPS, do_expensive_check=False,
            fail_on_nonconvergence=False,
        )  # fmt: skip

    def check_lower(answer: Any) -> None:
        total = float(answer[1].sum())
        assert abs(total - 1) < 1e-3, f"the ranks sum to {total}"

    yield Entrant(
        "cuGraph",
        lambda: cugraph.pagerank(
            graph, max_iter=SUPERSTEPS, tol=1e-30, fail_on_nonconvergence=False
        )[0],
        lambda frame: check_ranks(case, frame),
        share=lambda frame: SUPERSTEPS,
        edges=lambda frame: len(case.source),
        moved=lambda frame: moved,
    )
    yield Entrant(
        "pylibcugraph",
        lower,
        check_lower,
        share=lambda answer: SUPERSTEPS,
        edges=lambda answer: len(case.source),
        moved=lambda answer: moved,
    )


def spmv(case: Case) -> Any:
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
            found = float(answer.sum(dtype=cupy.float64))
            assert abs(found - expected) <= 1e-4 * abs(expected), f"{found}, not {expected}"
            return abs(found - expected) / abs(expected)

        return Entrant(
            name, run, check,
            share=lambda answer: SUPERSTEPS,
            edges=lambda answer: len(case.source),
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
    graph = case.graph().on_device()
    ordered = csr(graph.size, graph.in_degrees, graph.csc.indices.astype(cupy.int32), ones)
    yield product("cuSPARSE, our order", ordered, vector[: graph.size].copy())


def pagerank_targets(section: Section, measured: list[Measured]) -> None:
    """Add the targets of a PageRank superstep."""
    graph = section.graph
    bound = AGAINST_CUGRAPH.get(graph)
    if bound is not None:
        compare(section, "PageRank superstep: cuGraph's ÷ ours, calls", measured, "cuGraph", bound,
                alone=False)  # fmt: skip
        compare(section, "PageRank superstep: pylibcugraph's ÷ ours alone", measured,
                "pylibcugraph", bound, alone=True)  # fmt: skip
    for other in ("cuSPARSE", "cuSPARSE, our order"):
        compare(section, f"PageRank superstep: {other} ÷ ours alone", measured, other,
                AGAINST_CUSPARSE, alone=True)  # fmt: skip
    mine = by_library(measured).get(OURS)
    if graph in PAPERS and mine is not None:
        own, fastest = PAPERS[graph]
        for name, seconds, least in (
            ("Warp Segmentation's own code", own, AGAINST_PAPER),
            ("fastest of the papers' codes", fastest, AGAINST_FASTEST),
        ):
            ratio = seconds / mine.best_known
            target = f"PageRank superstep: {name} (an earlier run, H200) ÷ ours alone"
            section.targets.append(Target(target, graph, ratio, least, at_least=True))
