"""Calls of libraries of more than a line, their arguments, and checks of their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench import proofs
from bench.forms import Case
from bench.programs import PAGERANK_TOL, SUPERSTEPS
from bench.timing import OURS

PAIRS = {False: 100_000, True: 1_000_000}  # for whose ends similarity is computed, on a GPU or not
SOURCES, TRUSS = 64, 5


def once(make: Callable[[Case], Any]) -> Callable[[Case], Any]:
    """Have arguments made before the clock starts: by the first call, for each graph."""

    def argument(case: Case) -> Any:
        if make not in case.arguments:
            case.arguments[make] = make(case)
        return case.arguments[make]

    return argument


def networkit_pagerank(nk: Any, graph: Any, case: Case) -> Any:
    """Rank by NetworKit."""
    spread = nk.centrality.SinkHandling.DistributeSinks
    ranking = nk.centrality.PageRank(graph, 0.85, PAGERANK_TOL, True, spread)
    ranking.norm = nk.centrality.Norm.l1norm
    return ranking.run()


def scipy_triangles(sparse: Any, graph: Any, case: Case) -> Any:
    """Count triangles by a product of matrices."""
    lower = sparse.tril(graph, format="csr")
    return (lower @ lower).multiply(lower).sum()


def scipy_truss(sparse: Any, graph: Any, case: Case) -> Any:
    """Drop edges in too few triangles until none is left."""
    matrix = graph
    while True:
        support = (matrix @ matrix).multiply(matrix).tocsr()
        support.data[support.data < TRUSS - 2] = 0
        support.eliminate_zeros()
        support.data[:] = 1
        if support.nnz == matrix.nnz:
            return matrix.nnz // 2
        matrix = support


def scipy_katz(sparse: Any, graph: Any, case: Case) -> Any:
    """Iterate to our tolerance; NetworKit stops before its values are near ours."""
    values = np.zeros(case.n)
    while True:
        fresh = 1.0 + alpha(case) * (graph @ values)
        if np.abs(fresh - values).sum() < 1e-6 * case.n:
            return fresh
        values = fresh


@once
def alpha(case: Case) -> float:
    """Return Katz' attenuation, small enough for the greatest degree."""
    degree = case.xp.bincount(case.xp.concatenate(case.ends("simple")))
    return 1e-5 if case.gpu else min(1e-4, 0.5 / max(1, int(degree.max())))


@once
def pairs(case: Case) -> Any:
    """Return a frame of pairs: ends of edges of the simple graph."""
    source, destination = case.ends("simple")
    drawn = case.xp.random.RandomState(6).permutation(len(source))[: PAIRS[case.gpu]]
    return case.frames.DataFrame({"first": source[drawn], "second": destination[drawn]})


@once
def pairs_listed(case: Case) -> list[tuple[int, int]]:
    """Return the pairs as a list, for igraph and NetworKit."""
    return list(map(tuple, pairs(case).to_numpy().tolist()))


@once
def sources(case: Case) -> Any:
    """Return vertices from which betweenness is sampled."""
    busy = case.xp.flatnonzero(case.xp.bincount(case.ends("simple")[0], minlength=case.n))
    return case.frames.Series(busy[:: max(1, len(busy) // SOURCES)][:SOURCES])


def pulling_bfs(cugraph: Any, graph: Any, case: Case) -> Any:
    """Search by pylibcugraph, which may pull as well as push."""
    import cudf
    import pylibcugraph

    start = cudf.Series([case.start], dtype="int32")
    if graph.renumbered:
        start = graph.lookup_internal_vertex_id(start).astype("int32")
    handle, most = pylibcugraph.ResourceHandle(), np.iinfo(np.int32).max
    return pylibcugraph.bfs(handle, graph._plc_graph, start, True, most, True, False)


def build(frame: Any) -> ws.Graph:
    """Build this library's graph, with its in-neighbours grouped."""
    graph = ws.Graph(frame)
    arcs = graph.on_device().csc.indices if "cudf" in type(frame).__module__ else graph.csc.indices
    assert len(arcs) == len(frame)
    return graph


def check_csc(case: Case, values: Any) -> float:
    """Compare with in-degrees and sums of neighbours that are counted."""
    counted = [case.in_degree, case.xp.bincount(case.destination, case.source, case.n)]
    return proofs.exactly(values, case.xp.stack(counted))


def steps(name: str = "") -> dict[str, Any]:
    """Return the options of a PageRank of so many supersteps, of ours or cuGraph's."""
    return {
        "max_iter": SUPERSTEPS, "tol": 0.0 if name == OURS else 1e-30, "fail_on_nonconvergence": False,
    }  # fmt: skip


def check_steps(case: Case, rank: Any) -> float:
    """Compare ranks with those after as many supersteps in float64."""
    return proofs.close(rank, proofs.steps(case, "pagerank", SUPERSTEPS, rank, rank < 0), 1e-4)
