"""From a cuDF frame: the build of a graph, and PageRank from frame to frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cugraph_ws as ws
from bench.gpu import checks
from bench.gpu.cases import Case, cugraph_graph, cugraph_here
from bench.programs import SUPERSTEPS
from bench.timing import OURS, Entrant, Section, compare, race

__all__ = ["build", "build_figures", "check_build", "check_ranks", "frames"]

KEPT = "cuGraph"  # parallel edges kept, as in ours
DROPPED = "cuGraph as it comes"  # it drops parallel edges: more work, other ranks
BUILD_TARGET = 3.0
RANKS_TARGET = 2.5
TEXT_TARGET = 2.0
MOST_TEXT = 32 << 20  # edges whose ids are written as text, some 40 bytes each


def frames(case: Case, section: Section, repeats: int) -> None:
    """Time builds, and PageRank from edge frame to result frame."""
    frame = case.frame()
    entrants = [
        Entrant(
            OURS, lambda: build(frame), lambda graph: check_build(case, graph),
            release=ws.Graph.close, **build_figures(case),
        ),
        *(section.attempt("preparing cuGraph", lambda: cugraph_builds(case, frame)) or ()),
    ]  # fmt: skip
    measured = race(section, "build from a frame", entrants, repeats)
    for other in (KEPT, DROPPED):
        compare(section, f"build from a frame: {other} ÷ ours", measured, other, BUILD_TARGET,
                alone=False)  # fmt: skip
    entrants = [
        Entrant(OURS, lambda: ranks(frame), lambda found: check_ranks(case, found)),
        *(section.attempt("preparing cuGraph", lambda: cugraph_ranks(case, frame)) or ()),
    ]
    measured = race(section, "PageRank, frame to frame", entrants, repeats)
    for other in (KEPT, DROPPED):
        compare(section, f"PageRank, frame to frame: {other} ÷ ours", measured, other, RANKS_TARGET,
                alone=False)  # fmt: skip
    if len(case.source) <= MOST_TEXT:
        text = as_text(frame)
        entrants = [
            Entrant(OURS, lambda: ranks(text), lambda found: check_rows(case, found)),
            *(
                section.attempt("preparing cuGraph", lambda: cugraph_ranks(case, text, check_rows))
                or ()
            )[:1],
        ]
        measured = race(section, "PageRank, frame to frame, text ids", entrants, repeats)
        name = f"PageRank, frame to frame, text ids: {KEPT} ÷ ours"
        compare(section, name, measured, KEPT, TEXT_TARGET, alone=False)


def as_text(frame: Any) -> Any:
    """Return edges with ids such as "customer-12" for 12."""
    columns = {name: "customer-" + frame[name].astype("str") for name in ("source", "destination")}
    return frame.assign(**columns)


def build_figures(case: Case) -> dict[str, Any]:
    """Return the edges of a build, and the bytes that it moves: ends read, indices and offsets written."""
    moved = 12 * len(case.source) + 8 * case.vertices
    return {"edges": lambda graph: len(case.source), "moved": lambda graph: moved}


def build(frame: Any) -> ws.Graph:
    """Build this library's graph, with its in-neighbours grouped."""
    graph = ws.Graph(frame)
    assert len(graph.on_device().csc.indices) == len(frame)
    return graph


def check_build(case: Case, graph: ws.Graph) -> None:
    """Check each vertex's in-degree, and its in-neighbours by a sum over the row."""
    import cupy

    made = graph.on_device()
    ids = cupy.flatnonzero(case.present)
    assert made.size == len(ids) == case.vertices, f"{made.size} vertices, not {case.vertices}"
    degrees = made.by_number(made.in_degrees)
    assert bool((degrees == case.in_degree[ids]).all()), "an in-degree is wrong"
    ends = cupy.zeros(made.size + 1, cupy.int64)
    neighbours = ids[made.numbers[made.csc.indices]]
    sums = cupy.concatenate([ends[:1], cupy.cumsum(neighbours)])
    found = made.by_number(sums[made.csc.offsets[1:]] - sums[made.csc.offsets[:-1]])
    expected = cupy.zeros(case.n, cupy.uint64)
    cupy.add.at(expected, case.destination, case.source.astype(cupy.uint64))
    assert bool((found == expected[ids].astype(cupy.int64)).all()), "a row has other neighbours"


def ranks(frame: Any) -> Any:
    """Return this library's ranks of an edge frame, as a frame."""
    return ws.pagerank(frame, max_iter=SUPERSTEPS, tol=0.0, fail_on_nonconvergence=False)


def check_ranks(case: Case, found: Any) -> float:
    """Compare ranks with those computed by cuSPARSE in float64."""
    nothing = case.out_degree * 0.0
    expected = checks.steps(case, "pagerank", SUPERSTEPS, nothing, nothing > 0)
    return checks.close(case.by_id(found, "pagerank"), expected, 1e-4)


def check_rows(case: Case, found: Any) -> None:
    """Check the number of rows: ranks by text are those by number, which are compared."""
    assert len(found) == case.vertices, "vertices are missing"


def cugraph_builds(case: Case, frame: Any) -> list[Entrant]:
    """Return cuGraph's build, and pylibcugraph's, which checks nothing."""
    if cugraph_here() is None:
        return []
    import pylibcugraph

    handle = pylibcugraph.ResourceHandle()
    properties = pylibcugraph.GraphProperties(is_symmetric=False, is_multigraph=True)

    def lower() -> Any:
        return pylibcugraph.SGGraph(
            handle, properties, frame["source"], frame["destination"], store_transposed=True,
            renumber=True, do_expensive_check=False,
        )  # fmt: skip

    def check(graph: Any) -> None:
        """Check the number of vertices; PageRank, whose values are compared, verifies the edges."""
        assert graph.number_of_vertices() == case.vertices, "vertices are missing"

    return [
        *(
            Entrant(
                name,
                lambda parallel=parallel: cugraph_graph(frame, transposed=True, parallel=parallel),
                check,
                **build_figures(case),
            )
            for name, parallel in ((KEPT, True), (DROPPED, False))
        ),
        Entrant("pylibcugraph", lower, lambda graph: None, **build_figures(case)),
    ]


def cugraph_ranks(
    case: Case, frame: Any, check: Callable[[Case, Any], float | None] = check_ranks
) -> list[Entrant]:
    """Return cuGraph's PageRank, from an edge frame to ranks."""
    if (cugraph := cugraph_here()) is None:
        return []

    def run(parallel: bool) -> Any:
        graph = cugraph_graph(frame, transposed=True, parallel=parallel)
        options = {"max_iter": SUPERSTEPS, "tol": 1e-30, "fail_on_nonconvergence": False}
        return cugraph.pagerank(graph, **options)[0]

    return [
        Entrant(KEPT, lambda: run(parallel=True), lambda found: check(case, found)),
        # Without parallel edges ranks differ
        Entrant(DROPPED, lambda: run(parallel=False), lambda found: check_rows(case, found)),
    ]
