"""Searches, components and core numbers: this library against cuGraph, result frames included."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import verify
from verify import Edges

import cugraph_ws as ws
from bench.gpu import checks
from bench.gpu.cases import Case, cugraph_here
from bench.graphs import HIGH_DIAMETER, Weights
from bench.timing import OURS, Entrant, Section, Target, by_library, compare, race

__all__ = ["searches"]

MOST_FOR_HOST = 8_000_000  # edges
ALONE = f"{OURS}, distances alone"
CUGRAPH, BOTH_WAYS = "cuGraph", "pylibcugraph, direction-optimised"
# Targets of the other's time ÷ ours: on most graphs, and on those of high diameter
TARGETS: dict[str, tuple[str, float, float]] = {
    "bfs": (CUGRAPH, 3.0, 30.0),
    "sssp": (CUGRAPH, 5.0, 30.0),
    "bfs, undirected": (BOTH_WAYS, 1.5, 30.0),
    "components": (CUGRAPH, 6.0, 5.0),
    "core numbers": (CUGRAPH, 6.0, 5.0),
    "PageRank to 1e-6": (CUGRAPH, 2.5, 3.0),
}
WIDEST = 1.3  # times our shortest paths


def searches(case: Case, section: Section, repeats: int) -> None:
    """Time each library on graphs that it has already built."""
    jobs = {
        "bfs": bfs,
        "sssp": sssp,
        "widest path": widest_path,
        "PageRank to 1e-6": pagerank,
        "bfs, undirected": bfs_undirected,
        "components": components,
        "core numbers": core_numbers,
    }
    taken: dict[str, float] = {}
    for job, entrants in jobs.items():
        found = section.attempt(f"preparing {job}", lambda entrants=entrants: entrants(case))
        measured = race(section, job, found or [], repeats)
        if (ours := by_library(measured).get(OURS)) is not None:
            taken[job] = ours.median
        if job in TARGETS:
            other, usual, high = TARGETS[job]
            bound = high if case.name in HIGH_DIAMETER else usual
            compare(section, f"{job}: {other} ÷ ours", measured, other, bound, alone=False)
    if {"sssp", "widest path"} <= set(taken):
        ratio = taken["widest path"] / taken["sssp"]
        section.targets.append(Target("widest path ÷ sssp", case.name, ratio, WIDEST))


def bfs(case: Case) -> list[Entrant]:
    """Hops from the vertex of the greatest out-degree."""
    return _search(case, ws.bfs, "bfs", None)


def sssp(case: Case) -> list[Entrant]:
    """Shortest paths by float32 weights that are integers from 1 to 63."""
    return _search(case, ws.sssp, "sssp", "lengths")


def _search(case: Case, ours: Any, name: str, kind: Weights | None) -> list[Entrant]:
    """Return our search with predecessors and without, and cuGraph's."""
    check = partial(checks.search, case, name)
    graph, edges = case.graph(kind), lambda answer: len(case.source)
    plain = partial(ours, graph, case.start, unreachable="max")
    entrants = [
        Entrant(OURS, plain, check, edges=edges),
        Entrant(ALONE, partial(plain, return_predecessors=False), check, edges=edges),
    ]
    if (cugraph := cugraph_here()) is not None:
        search = partial(getattr(cugraph, name), case.cugraph(kind), case.start)
        entrants.append(Entrant(CUGRAPH, search, check, edges=edges))
    return entrants


def widest_path(case: Case) -> list[Entrant]:
    """Widest paths by the same weights; cuGraph has none."""
    call = partial(ws.widest_path, case.graph("lengths"), case.start)
    return [Entrant(OURS, call, partial(checks.search, case, "widest path"))]


def pagerank(case: Case) -> list[Entrant]:
    """PageRank until the L1 norm of a superstep's change is 1e-6, parallel edges kept."""
    graph, alike = case.graph(), checks.ranks_alike()

    def check(frame: Any) -> float:
        return alike(case.by_id(frame, "pagerank"))

    entrants = [Entrant(OURS, lambda: ws.pagerank(graph, tol=1e-6), check)]
    if (cugraph := cugraph_here()) is not None:
        theirs = case.cugraph(transposed=True)
        options = {"tol": 1e-6, "fail_on_nonconvergence": False}
        entrants.append(Entrant(CUGRAPH, lambda: cugraph.pagerank(theirs, **options)[0], check))
    return entrants


def bfs_undirected(case: Case) -> list[Entrant]:
    """Hops in the simple undirected graph, where cuGraph may change direction too."""
    graph = case.graph(simple=True)
    check = partial(checks.search, case, "bfs", both=True)

    def edges(frame: Any) -> int:
        return graph.number_of_edges

    entrants = [
        Entrant(OURS, lambda: ws.bfs(graph, case.start, unreachable="max"), check, edges=edges)
    ]
    if (cugraph := cugraph_here()) is not None:
        theirs = case.cugraph(simple=True)
        entrants += [
            Entrant(CUGRAPH, lambda: cugraph.bfs(theirs, case.start), check, edges=edges),
            Entrant(BOTH_WAYS, _both_directions(case, theirs), _some, edges=edges),
        ]
    return entrants


def components(case: Case) -> list[Entrant]:
    """Components of the simple undirected graph."""
    reference: list[Any] = []

    def check(frame: Any) -> None:
        label = checks.by_id(case, frame, "labels")
        if not reference:
            _verify(case, verify.check_components, frame, "labels")
        checks.components(case, label, reference[0] if reference else label)
        reference.append(label)

    return _simple(case, ws.weakly_connected_components, "weakly_connected_components", check)


def core_numbers(case: Case) -> list[Entrant]:
    """Core numbers of the simple undirected graph."""
    import cupy

    reference: list[Any] = []

    def check(frame: Any) -> None:
        core = case.by_id(frame, "core_number").astype(cupy.int64)
        if reference:
            assert bool((core == reference[0]).all()), "core numbers differ"
        else:
            _verify(case, verify.check_core_numbers, frame, "core_number")
        reference.append(core)

    return _simple(case, ws.core_number, "core_number", check, degree_type="incoming")


def _simple(
    case: Case, ours: Any, theirs: str, check: Callable[[Any], None], **options: Any
) -> list[Entrant]:
    """Return our function of the simple graph, and cuGraph's; a check compares each with the first.

    The first is verified on the host, if the graph is small.
    """
    entrants = [Entrant(OURS, partial(ours, case.graph(simple=True)), check)]
    if (cugraph := cugraph_here()) is not None:
        function = partial(getattr(cugraph, theirs), case.cugraph(simple=True), **options)
        entrants.append(Entrant(CUGRAPH, function, check))
    return entrants


def _both_directions(case: Case, graph: Any) -> Callable[[], Any]:
    """Return cuGraph's search, which may pull as well as push."""
    import cudf
    import pylibcugraph

    start = cudf.Series([case.start], dtype="int32")
    if graph.renumbered:
        start = graph.lookup_internal_vertex_id(start).astype("int32")
    handle, far = pylibcugraph.ResourceHandle(), np.iinfo(np.int32).max
    return lambda: pylibcugraph.bfs(handle, graph._plc_graph, start, True, far, True, False)


def _some(answer: Any) -> None:
    distances = answer[0]
    assert int((distances == 0).sum()) == 1, "there is not one start"


def _verify(case: Case, check: Callable[[Edges, Any], None], frame: Any, column: str) -> None:
    """Verify a result on the host, unless the graph is so large that it would take minutes."""
    if len(case.source) > MOST_FOR_HOST:
        return
    edges = case.simple_frame()
    ids, ends = np.unique(
        np.stack([edges[name].to_numpy() for name in ("source", "destination")]),
        return_inverse=True,
    )
    source, destination = ends.reshape(2, -1)
    values = checks.by_id(case, frame, column)
    held = values.get() if hasattr(values, "get") else values
    found = held[ids].astype(np.int64)
    if column == "labels":
        found = np.searchsorted(ids, found)
    check(Edges(source, destination, len(ids), directed=False), found)
