"""Other well-known algorithms: communities, triangles, similarity, centralities, structure.

This library's functions against cuGraph's of the same name, on simple undirected graphs that are built
before; result frames are included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import cugraph_ws as ws
from bench.gpu.cases import Case, cugraph_graph, cugraph_here
from bench.programs import Likeness, Majority
from bench.timing import OURS, Entrant, Section, compare, race

__all__ = ["known"]

CUGRAPH = "cuGraph"
AS_ACCURATE = "cuGraph, as accurate"
DIGITS = range(6, 16)  # decimal digits of the tolerances that are tried for it
EXACT = 1e-13  # tolerance of the values from which errors are measured
MOST = 10_000  # supersteps that these may take
PAIRS = 1_000_000  # pairs of vertices for which similarity is computed
SOURCES = 64  # of a sampled betweenness
TRUSS = 5
ITERATIONS = 10  # of label propagation
NEAR = 1e-3  # allowed relative difference of centralities: cuGraph stops by another rule
OUR_NAMES = {"minimum_spanning_tree": "minimum_spanning_forest"}  # cuGraph's tree may be a forest
QUALITY = 0.99  # least modularity, relative to cuGraph's
USERS, AS_FAST = "a user's program", 0.83  # bound of our function's time ÷ its time
SAME = 1e-9  # allowed relative difference of their results


class Work(NamedTuple):
    """A function that this library and cuGraph have, and the number by which results are compared.

    Attributes
    ----------
    function : str
        cuGraph's name; `OUR_NAMES` has ours if it differs.
    given : tuple
        Arguments after the graph.
    options : dict
        Named arguments.
    fact : callable
        Computes a number from a result.
    off : float
        Allowed relative difference of the numbers; if negative, they are not compared.
    target : float
        Bound of cuGraph's time ÷ ours.
    kind : {"simple", "weighted", "directed"}
        The graph.
    iterated : str
        A column that is computed until it changes little, which libraries measure differently.
    """

    function: str
    given: tuple[Any, ...]
    options: dict[str, Any]
    fact: Callable[[Any], float]
    off: float
    target: float
    kind: str = "simple"
    iterated: str = ""

    def call(self, library: Any, graphs: Mapping[str, Any], **options: Any) -> Any:
        """Call the function of a library, with further options."""
        name = self.function
        if library is ws:
            name = OUR_NAMES.get(name, name)
        return getattr(library, name)(graphs[self.kind], *self.given, **self.options, **options)


def known(case: Case, section: Section, repeats: int) -> None:
    """Time each function, and cuGraph's."""
    import cudf
    import cupy

    frame = case.simple_frame()
    random = cupy.random.RandomState(5)
    frame["weight"] = random.random_sample(len(frame)).astype("float32")
    drawn = random.randint(0, len(frame), 2 * PAIRS)
    ends = [frame["source"].to_cupy()[drawn[:PAIRS]], frame["destination"].to_cupy()[drawn[PAIRS:]]]
    apart = ends[0] != ends[1]
    pairs = cudf.DataFrame({"first": ends[0][apart], "second": ends[1][apart]})
    present = cupy.unique(ends[0])
    sources = cudf.Series(present[:: max(1, len(present) // SOURCES)][:SOURCES])
    graphs = {
        "simple": ws.Graph(frame[["source", "destination"]], directed=False),
        "weighted": ws.Graph(frame, weight="weight", directed=False),
        "directed": case.graph(),
    }
    theirs = section.attempt("making cuGraph's graphs", lambda: _theirs(case, frame)) or {}

    def quality(found: Any) -> float:
        return float(ws.modularity(graphs["simple"], found[0][["vertex", "partition"]]))

    for name, work in _works(pairs, sources, quality).items():
        facts: list[float] = []

        def check(found: Any, facts: list[float] = facts, work: Work = work) -> float:
            facts.append(work.fact(found))
            if len(facts) == 1 or work.off < 0:
                return 0.0
            off = abs(facts[-1] - facts[0]) / max(abs(facts[0]), 1e-300)
            assert off <= work.off, f"{facts[-1]} is not {facts[0]}"
            return off

        entrants = [Entrant(OURS, lambda work=work: work.call(ws, graphs), check)]
        if work.kind in theirs:
            entrants.append(
                Entrant(CUGRAPH, lambda work=work: work.call(cugraph_here(), theirs), check)
            )
        rival = CUGRAPH
        if work.iterated and len(entrants) > 1:
            tol = section.attempt(
                f"{name}, as accurate",
                lambda name=name, work=work: _as_accurate(section, name, work, graphs, theirs),
            )
            if tol is not None:
                rival = AS_ACCURATE
                stop = {"tol": tol, "max_iter": 1000}
                entrants.append(
                    Entrant(
                        rival,
                        lambda work=work, stop=stop: work.call(cugraph_here(), theirs, **stop),
                        check,
                    )
                )
        measured = race(section, name, entrants, repeats)
        compare(section, f"{name}: {rival} ÷ ours", measured, rival, work.target, alone=False)
        if name in ("Louvain", "Leiden") and len(facts) == 2:
            rows = [[name, f"{facts[0]:.4f}", f"{facts[1]:.4f}"]]
            section.table(f"Modularity, {name}", ["by", "ours", "cuGraph's"], rows)
            if facts[0] < QUALITY * facts[1]:
                section.errors.append(
                    {"what": name, "error": f"modularity {facts[0]} of {facts[1]}"}
                )
    _users_programs(section, graphs["simple"], len(frame), repeats)
    for graph in ("simple", "weighted"):
        graphs[graph].close()


def _users_programs(section: Section, graph: Any, edges: int, repeats: int) -> None:
    """Time two functions, and the same algorithms as users write them."""
    rounds = f"label propagation, {ITERATIONS} iterations"
    works: dict[str, tuple[Callable[[], Any], Callable[[], Any], int]] = {
        rounds: (
            lambda: ws.label_propagation(graph, ITERATIONS),
            lambda: ws.run(Majority, graph, max_iter=ITERATIONS).frame,
            2 * edges * ITERATIONS,
        ),
        "Jaccard, all edges": (
            lambda: ws.jaccard(graph, "edges"),
            lambda: ws.run(Likeness, graph).frame,
            edges,
        ),
    }
    for name, (function, program, read) in works.items():
        expected: list[float] = []

        def check(found: Any, expected: list[float] = expected) -> float:
            column = found[found.columns[-1]].astype("float64")
            expected.append(float(column.sum()) + float((column * column).sum()))
            off = abs(expected[-1] - expected[0]) / max(abs(expected[0]), 1e-300)
            assert off <= SAME, f"{expected[-1]} is not {expected[0]}"
            return off

        entrants = [
            Entrant(by, call, check, edges=lambda found, read=read: read)
            for by, call in ((OURS, function), (USERS, program))
        ]
        measured = race(section, name, entrants, repeats)
        compare(section, f"{name}: the function ÷ a user's program", measured, OURS, AS_FAST,
                alone=False, ours=USERS)  # fmt: skip


def _as_accurate(
    section: Section, name: str, work: Work, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> float | None:
    """Return the greatest tolerance with which cuGraph's error is not above ours; None if there is none.

    Both have their own rules to stop: cuGraph's compares the sum of changes with the tolerance times
    the number of vertices.  Errors are the greatest, of values whose greatest is 1.
    """

    def scaled(found: Any) -> Any:
        values = found.sort_values("vertex")[work.iterated].astype("float64").to_cupy()
        return values / values.max()

    exact = scaled(work.call(ws, ours, tol=EXACT, max_iter=MOST))

    def error(found: Any) -> float:
        return float(abs(scaled(found) - exact).max())

    bound = error(work.call(ws, ours))
    rows = [[name, OURS, "by default", f"{bound:.2g}"]]
    rows.append([name, CUGRAPH, "by default", f"{error(work.call(cugraph_here(), theirs)):.2g}"])
    chosen = None
    for digits in DIGITS:
        tol = 10.0**-digits
        try:
            off = error(work.call(cugraph_here(), theirs, tol=tol, max_iter=1000))
        except RuntimeError:  # in float32 its changes do not get so small
            rows.append([name, CUGRAPH, f"{tol:g}", "does not converge"])
            break
        if off <= bound:
            chosen = tol
            rows.append([name, AS_ACCURATE, f"{tol:g}", f"{off:.2g}"])
            break
    section.table(f"Errors, {name}", ["work", "by", "tolerance", "greatest error"], rows)
    return chosen


def _theirs(case: Case, frame: Any) -> dict[str, Any]:
    """Return cuGraph's graphs; empty if cuGraph is not installed."""
    if cugraph_here() is None:
        return {}
    simple = {"parallel": False, "directed": False}
    return {
        "simple": cugraph_graph(frame[["source", "destination"]], **simple),
        "weighted": cugraph_graph(frame, weight="weight", **simple),
        "directed": cugraph_graph(case.frame(), parallel=False),
    }


def _works(pairs: Any, sources: Any, quality: Callable[[Any], float]) -> dict[str, Work]:
    """Return the functions by name."""

    def total(column: str) -> Callable[[Any], float]:
        return lambda found: float(found[column].astype("float64").sum())

    def shape(column: str) -> Callable[[Any], float]:
        """Return the greatest value ÷ the sum: norms differ."""
        return lambda found: float(found[column].max()) / total(column)(found)

    def distinct(found: Any) -> float:
        return float(found.iloc[:, 1 if found.columns[0] == "vertex" else 0].nunique())

    def truss_edges(found: Any) -> float:
        return float(found.number_of_edges() if hasattr(found, "number_of_edges") else len(found))

    def tree_weight(found: Any) -> float:
        frame = found.view_edge_list() if hasattr(found, "view_edge_list") else found
        return float(frame["weight" if "weight" in frame.columns else "weights"].sum())

    return {
        "Louvain": Work("louvain", (), {}, quality, -1.0, 3.0),
        "Leiden": Work("leiden", (), {}, quality, -1.0, 3.0),
        "triangles": Work("triangle_count", (), {}, total("counts"), 0.0, 3.0),
        "Jaccard": Work("jaccard", (pairs,), {}, total("jaccard_coeff"), 1e-4, 3.0),
        "k-truss": Work("k_truss", (TRUSS,), {}, truss_edges, 0.0, 10.0),
        "betweenness": Work(
            "betweenness_centrality", (), {"k": sources}, total("betweenness_centrality"), NEAR, 8.0
        ),
        "strong components": Work(
            "strongly_connected_components", (), {}, distinct, 0.0, 2.0, "directed"
        ),
        "spanning tree": Work("minimum_spanning_tree", (), {}, tree_weight, NEAR, 3.0, "weighted"),
        "HITS": Work("hits", (), {}, shape("hubs"), NEAR, 1.5, iterated="hubs"),
        "Katz": Work(
            "katz_centrality",
            (),
            {"alpha": 1e-5},
            shape("katz_centrality"),
            NEAR,
            1.5,
            iterated="katz_centrality",
        ),
        "eigenvector": Work(
            "eigenvector_centrality",
            (),
            {},
            shape("eigenvector_centrality"),
            0.02,
            1.5,
            iterated="eigenvector_centrality",
        ),
    }
