"""Short calls in a row on a graph that is built: each has another start or parameter, and a frame as its answer.

On two cores the karate club, on a GPU a graph of 100,000 edges.  No answer is kept.  igraph and cuGraph take turns with
this library; igraph returns lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import cugraph_ws as ws
from bench.forms import CUGRAPH, IGRAPH, Case, library, of_cugraph
from bench.timing import OURS, Entrant, Section, by_library, race

__all__ = ["in_a_row", "karate_in_a_row"]

CALLS, PAIRS = 20, 1000
Call = Callable[[Any, Any, float], Any]  # of a graph, a vertex, and a number between 0.8 and 0.9


class Short(NamedTuple):
    """A function, and the most milliseconds of a call on two cores and on a GPU.

    Attributes
    ----------
    form : str
        Of the graph; see `bench.forms`.
    ours, igraph, cugraph : callable or None
        Call it.
    bounds : tuple of float or None
    """

    form: str
    ours: Call
    igraph: Call | None
    cugraph: Call | None
    bounds: tuple[float | None, float | None]


def _twenty(graph: Any, start: Any, alpha: float) -> Any:
    return ws.pagerank(graph, alpha=alpha, tol=0.0, max_iter=20, fail_on_nonconvergence=False)


def _theirs(graph: Any, start: Any, alpha: float) -> Any:
    options = {"tol": 1e-30, "max_iter": 20, "fail_on_nonconvergence": False}
    return of_cugraph("pagerank", alpha, **options)(graph)


def _cugraph(name: str, *, starts: bool = False) -> Call:
    """Return a call of a function of cuGraph's."""
    return lambda graph, start, alpha: of_cugraph(name, *[start] * starts)(graph)


SHORT = {
    "bfs": Short(
        "directed", lambda g, start, _: ws.bfs(g, start), lambda g, start, _: g.bfs(start),
        _cugraph("bfs", starts=True), (0.3, 0.8),
    ),
    "sssp": Short(
        "weighted", lambda g, start, _: ws.sssp(g, start),
        lambda g, start, _: g.distances(start, weights="weight", mode="out"),
        _cugraph("sssp", starts=True), (0.3, 0.8),
    ),
    "pagerank, 20 supersteps": Short(
        "directed", _twenty, lambda g, _, alpha: g.pagerank(damping=alpha), _theirs, (0.3, 0.8)
    ),
    "components": Short(
        "simple", lambda g, *_: ws.weakly_connected_components(g),
        lambda g, *_: g.connected_components().membership,
        _cugraph("weakly_connected_components"), (0.3, 0.8),
    ),
    "core numbers": Short(
        "simple", lambda g, *_: ws.core_number(g), lambda g, *_: g.coreness(),
        _cugraph("core_number"), (0.3, 0.8),
    ),
    "degrees": Short(
        "directed", lambda g, *_: ws.degrees(g), lambda g, *_: (g.indegree(), g.outdegree()),
        lambda g, *_: g.degrees(), (None, 0.3),
    ),
    "louvain": Short(
        "simple", lambda g, *_: ws.louvain(g), lambda g, *_: g.community_multilevel(),
        _cugraph("louvain"), (None, 10.0),
    ),
}  # fmt: skip


def in_a_row(case: Case, section: Section, repeats: int) -> None:
    """Time calls in a row; compare a call's time with its bound."""
    random = np.random.default_rng(0)
    present = np.flatnonzero(case.out_degree.get() if case.gpu else case.out_degree)
    starts = random.choice(present, CALLS).tolist()
    numbers = np.linspace(0.8, 0.9, CALLS).tolist()
    peer = CUGRAPH if case.gpu else IGRAPH

    def entrant(name: str, call: Call, graph: Any) -> Entrant:
        def calls() -> list[Any]:
            return [call(graph, *each) for each in zip(starts, numbers, strict=True)]

        return Entrant(name, calls, parts=len)

    for name, short in SHORT.items():
        theirs = short.cugraph if case.gpu else short.igraph
        entrants = [entrant(OURS, short.ours, case.ours(short.form))]
        if theirs is not None and library(peer) is not None:
            entrants.append(entrant(peer, theirs, case.graph_of(peer, short.form)))
        job = f"{name}, {CALLS} calls in a row: a call"
        timings, bound = by_library(race(section, job, entrants, repeats)), short.bounds[case.gpu]
        if OURS in timings and bound is not None:
            section.target(f"{job}, ms", 1e3 * timings[OURS].median, bound)


def karate_in_a_row(name: str, section: Section, repeats: int) -> None:
    """Time calls on Zachary's karate club, on two cores."""
    edges = ws.datasets.karate_club()
    case = Case(
        name, 34, edges["source"].to_numpy(), edges["destination"].to_numpy(), gpu=False,
        lengths=edges["weight"].to_numpy(),
    )  # fmt: skip
    in_a_row(case, section, repeats)
