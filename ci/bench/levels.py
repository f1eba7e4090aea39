"""What a level costs: functions that walk levels, and a program with phases, on a path, which has one vertex a level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench.forms import CUGRAPH, IGRAPH, Case, library
from bench.timing import OURS, Entrant, Section, race

__all__ = ["levels_on_cores", "levels_on_gpu"]

LENGTH = 100_000  # vertices of the path
BOUNDS = {False: 2.0, True: 10.0}  # most microseconds of a level: on a CPU, on a GPU
Call = Callable[[Any], Any]


@ws.vertex_program
class Steps:
    """Steps from one end of the path; those from the other end are kept."""

    there: ws.int64
    back: ws.int64
    end: ws.vertex_parameter
    other_end: ws.vertex_parameter

    def init(vertex, p):  # type: ignore[no-untyped-def]  # noqa: N805
        return 0 if vertex == p.end else -1, 0 if vertex == p.other_end else -1

    def starts(state):  # type: ignore[no-untyped-def]  # noqa: N805
        return state.there == 0

    def compute(src):  # type: ignore[no-untyped-def]  # noqa: N805
        return src.there + 1

    combine = max

    def apply(old, gathered):  # type: ignore[no-untyped-def]  # noqa: N805
        return max(old.there, gathered), old.back


@ws.vertex_program
class StepsBack:
    """Steps from the other end, against the edges."""

    there: ws.int64
    back: ws.int64

    def init(vertex):  # type: ignore[no-untyped-def]  # noqa: N805
        return -1, -1

    def starts(state):  # type: ignore[no-untyped-def]  # noqa: N805
        return state.back == 0

    def compute(src):  # type: ignore[no-untyped-def]  # noqa: N805
        return src.back + 1

    combine = max

    def apply(old, gathered):  # type: ignore[no-untyped-def]  # noqa: N805
        return old.there, max(old.back, gathered)


PHASES = ws.phases(Steps, ws.phase(StepsBack, direction="out"), rounds=1)
# By name: the graph's form, this library's call, and that of igraph and of cuGraph, if they have it
WALKS: dict[str, tuple[str, Call, Call | None, Call | None]] = {
    "bfs": (
        "directed", lambda g: ws.bfs(g, 0), lambda g: g.distances(0), lambda g: _cugraph().bfs(g, 0),
    ),
    "multi_source_bfs": (
        "directed", lambda g: ws.multi_source_bfs(g, [0, 1, 2, 3]), lambda g: g.distances([0, 1, 2, 3]), None,
    ),
    "topological_levels": ("directed", ws.topological_levels, lambda g: g.topological_sorting(), None),
    "strongly_connected_components": (
        "directed", ws.strongly_connected_components,
        lambda g: g.connected_components(mode="strong").membership, None,
    ),
    "betweenness_centrality": (
        "directed", lambda g: ws.betweenness_centrality(g, k=[0]),
        lambda g: g.betweenness(sources=[0]), lambda g: _cugraph().betweenness_centrality(g, k=[0]),
    ),
    "edge_betweenness_centrality": (
        "directed", lambda g: ws.edge_betweenness_centrality(g, k=[0]),
        lambda g: g.edge_betweenness(sources=[0]), None,
    ),
    "closeness_centrality": (
        "directed", lambda g: ws.closeness_centrality(g, vertices=[LENGTH - 1]),
        lambda g: g.closeness([LENGTH - 1], mode="in"), None,
    ),
    "harmonic_centrality": (
        "directed", lambda g: ws.harmonic_centrality(g, vertices=[LENGTH - 1]),
        lambda g: g.harmonic_centrality([LENGTH - 1], mode="in"), None,
    ),
    "coloring": (
        "simple", ws.coloring, lambda g: g.vertex_coloring_greedy(), lambda g: _cugraph().vertex_coloring(g),
    ),
    "a program's phases": ("directed", lambda g: ws.run(PHASES, g, end=0, other_end=LENGTH - 1), None, None),
}  # fmt: skip


def _cugraph() -> Any:
    import cugraph

    return cugraph


def levels_on_cores(name: str, section: Section, repeats: int) -> None:
    """Time walks on two cores, beside igraph."""
    ends = np.arange(LENGTH - 1)
    _walks(Case(name, LENGTH, ends, ends + 1, gpu=False), section, repeats)


def levels_on_gpu(name: str, section: Section, repeats: int) -> None:
    """Time walks on a GPU, beside cuGraph."""
    import cupy as cp

    ends = cp.arange(LENGTH - 1)
    _walks(Case(name, LENGTH, ends, ends + 1), section, repeats)


def _walks(case: Case, section: Section, repeats: int) -> None:
    """Time the walks; compare a level's share with its bound."""
    peer = CUGRAPH if case.gpu else IGRAPH
    for name, (form, ours, igraph, cugraph) in WALKS.items():
        theirs = cugraph if case.gpu else igraph
        entrants = [Entrant(OURS, lambda ours=ours, form=form: ours(case.ours(form)))]
        if theirs is not None and library(peer) is not None:
            graph = case.graph_of(peer, form)
            entrants.append(Entrant(peer, lambda theirs=theirs, graph=graph: theirs(graph)))
        timings = race(section, name, entrants, repeats)
        for timing in timings:
            if timing.library == OURS:
                section.target(
                    f"{name}, µs a level", timing.median * 1e6 / LENGTH, BOUNDS[case.gpu]
                )
    case.let_go()
