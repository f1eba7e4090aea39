"""What a short call and what a level cost, beside igraph on two cores and cuGraph on a GPU.

Part `in-a-row` has short calls on a graph that is built, each with another start or parameter, and a frame as its answer:
on two cores on the karate club, on a GPU on a graph of 100,000 edges.  No answer is kept.  Part `levels` has functions
that walk levels, and a program with phases, on a path, which has one vertex a level.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench.calls import once
from bench.forms import CUGRAPH, IGRAPH, Case, on_host
from bench.programs import STEPS_AND_BACK
from bench.timing import OURS, Section
from bench.work import Work, race_work

CALLS = 20  # in a row
# Vertices of the path: on a CPU, on a GPU, where cuGraph takes 0.3 ms a level
LENGTHS = {False: 100_000, True: 10_000}
LEVEL = (2.0, 10.0)  # most microseconds of a level: on a CPU, on a GPU
CALL = (0.3, 0.8)  # most milliseconds of a call: on a CPU, on a GPU
BOTH_WAYS = "a program's two phases"
TWENTY: dict[str, Any] = {"max_iter": 20, "fail_on_nonconvergence": False}


# ------------------------------------------------------------------------------- calls in a row


@once
def parameters(case: Case) -> list[tuple[int, float]]:
    """Return for each call a vertex, and a number between 0.8 and 0.9."""
    present = np.flatnonzero(on_host(case.out_degree))
    starts = np.random.default_rng(0).choice(present, CALLS).tolist()
    return list(zip(starts, np.linspace(0.8, 0.9, CALLS).tolist(), strict=True))


def short(
    form: str, ours: Callable[[Any, int, float], Any], igraph: Callable[..., Any],
    cugraph: Callable[..., Any], bounds: tuple[float | None, float | None] = CALL,
) -> Work:  # fmt: skip
    """Return calls in a row; each takes a graph, cuGraph's also its module, a vertex and a number."""

    def answers(call: Callable[..., Any], *given: Any) -> list[Any]:
        *graph, case = given
        return [call(*graph, start, number) for start, number in parameters(case)]

    peers = {
        IGRAPH: (lambda _, graph, case: answers(igraph, graph, case), ""),
        CUGRAPH: (lambda module, graph, case: answers(cugraph, module, graph, case), ""),
    }
    return Work(
        ("in-a-row", "in-a-row"), form, lambda graph, case: answers(ours, graph, case), peers=peers,
        bounds=bounds, calls=len,
    )  # fmt: skip


SHORT = {
    "bfs": short(
        "directed", lambda g, start, _: ws.bfs(g, start), lambda g, start, _: g.bfs(start),
        lambda cg, g, start, _: cg.bfs(g, start),
    ),
    "sssp": short(
        "weighted", lambda g, start, _: ws.sssp(g, start),
        lambda g, start, _: g.distances(start, weights="weight", mode="out"),
        lambda cg, g, start, _: cg.sssp(g, start),
    ),
    "pagerank, 20 supersteps": short(
        "directed", lambda g, _, alpha: ws.pagerank(g, alpha=alpha, tol=0.0, **TWENTY),
        lambda g, _, alpha: g.pagerank(damping=alpha),
        lambda cg, g, _, alpha: cg.pagerank(g, alpha, tol=1e-30, **TWENTY),
    ),
    "components": short(
        "simple", lambda g, *_: ws.weakly_connected_components(g),
        lambda g, *_: g.connected_components().membership,
        lambda cg, g, *_: cg.weakly_connected_components(g),
    ),
    "core numbers": short(
        "simple", lambda g, *_: ws.core_number(g), lambda g, *_: g.coreness(),
        lambda cg, g, *_: cg.core_number(g),
    ),
    "degrees": short(
        "directed", lambda g, *_: ws.degrees(g), lambda g, *_: (g.indegree(), g.outdegree()),
        lambda cg, g, *_: g.degrees(), (None, 0.3),
    ),
    "louvain": short(
        "simple", lambda g, *_: ws.louvain(g), lambda g, *_: g.community_multilevel(),
        lambda cg, g, *_: cg.louvain(g), (None, 10.0),
    ),
}  # fmt: skip


def in_a_row(case: Case, section: Section, repeats: int) -> None:
    """Time calls in a row; compare a call's time with its bound."""
    parameters(case)  # which are made before the clock starts
    for name, work in SHORT.items():
        job = f"{name}, {CALLS} calls in a row: a call"
        timings, _ = race_work(case, job, work, section, repeats)
        if OURS in timings and (bound := work.bounds[case.gpu]) is not None:
            section.target(f"{job}, ms", 1e3 * timings[OURS].median, bound)


def karate_in_a_row(name: str, section: Section, repeats: int) -> None:
    """Time calls on Zachary's karate club, on two cores."""
    edges = ws.datasets.karate_club()
    columns = (edges[key].to_numpy() for key in ("source", "destination", "weight"))
    source, destination, lengths = columns
    in_a_row(Case(name, 34, source, destination, gpu=False, lengths=lengths), section, repeats)


# -------------------------------------------------------------------------------------- levels


def walk(
    ours: Callable[[Any], Any], igraph: Callable[[Any], Any] | None = None,
    cugraph: Callable[[Any, Any], Any] | None = None, form: str = "directed",
) -> Work:  # fmt: skip
    """Return a walk along the path; a call takes a graph, cuGraph's also its module."""
    peers: dict[str, Any] = {}
    if igraph is not None:
        peers[IGRAPH] = (lambda _, graph, case: igraph(graph), "")
    if cugraph is not None:
        peers[CUGRAPH] = (lambda module, graph, case: cugraph(module, graph), "")
    return Work(
        ("levels", "levels"), form, lambda graph, case: ours(graph), peers=peers, bounds=LEVEL
    )


def walks(last: int) -> dict[str, Work]:
    """Return what is timed on a path, whose last vertex is given."""
    return {
        "bfs": walk(lambda g: ws.bfs(g, 0), lambda g: g.distances(0), lambda cg, g: cg.bfs(g, 0)),
        "multi_source_bfs": walk(
            lambda g: ws.multi_source_bfs(g, [0, 1, 2, 3]), lambda g: g.distances([0, 1, 2, 3])
        ),
        "topological_levels": walk(ws.topological_levels, lambda g: g.topological_sorting()),
        "strongly_connected_components": walk(
            ws.strongly_connected_components, lambda g: g.connected_components(mode="strong").membership,
        ),
        "betweenness_centrality": walk(
            lambda g: ws.betweenness_centrality(g, k=[0]), lambda g: g.betweenness(sources=[0]),
            lambda cg, g: cg.betweenness_centrality(g, k=[0]),
        ),
        "edge_betweenness_centrality": walk(
            lambda g: ws.edge_betweenness_centrality(g, k=[0]), lambda g: g.edge_betweenness(sources=[0]),
        ),
        "closeness_centrality": walk(
            lambda g: ws.closeness_centrality(g, vertices=[last]), lambda g: g.closeness([last], mode="in"),
        ),
        "harmonic_centrality": walk(
            lambda g: ws.harmonic_centrality(g, vertices=[last]),
            lambda g: g.harmonic_centrality([last], mode="in"),
        ),
        "coloring": walk(ws.coloring, lambda g: g.vertex_coloring_greedy(), form="simple"),
        BOTH_WAYS: walk(lambda g: ws.run(STEPS_AND_BACK, g, end=0, other_end=last)),
    }  # fmt: skip


def levels(name: str, section: Section, repeats: int, *, gpu: bool) -> None:
    """Time walks; compare a level's share with its bound."""
    length = LENGTHS[gpu]
    ends = importlib.import_module("cupy" if gpu else "numpy").arange(length - 1)
    case = Case(name, length, ends, ends + 1, gpu=gpu)
    for job, work in walks(length - 1).items():
        timings, _ = race_work(case, job, work, section, repeats)
        if OURS in timings:
            walked = length * (2 if job == BOTH_WAYS else 1)
            microseconds = timings[OURS].median * 1e6 / walked
            section.target(f"{job}, µs a level", microseconds, LEVEL[gpu])
    case.let_go()
