"""What a level costs: functions that walk levels, and a program with phases, on a path, which has one vertex a level."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import cugraph_ws as ws
from bench.forms import CUGRAPH, IGRAPH, Case, library, of_cugraph
from bench.programs import STEPS_AND_BACK
from bench.timing import OURS, Entrant, Section, by_library, race

__all__ = ["levels"]

# Vertices of the path: on a CPU, on a GPU, where cuGraph takes 0.3 ms a level
LENGTHS = {False: 100_000, True: 10_000}
BOUNDS = {False: 2.0, True: 10.0}  # most microseconds of a level: on a CPU, on a GPU
Call = Callable[[Any], Any]


class Walk(NamedTuple):
    """A function that walks levels, or a program.

    Attributes
    ----------
    form : str
        Of the graph; see `bench.forms`.
    ours : callable
        This library's call.
    igraph, cugraph : callable or None
        Theirs, if they have it.
    times : int
        How often the path is walked.
    """

    form: str
    ours: Call
    igraph: Call | None = None
    cugraph: Call | None = None
    times: int = 1


def _walks(last: int) -> dict[str, Walk]:
    """Return by name what is timed on a path, whose last vertex is given."""
    return {
        "bfs": Walk(
            "directed", lambda g: ws.bfs(g, 0), lambda g: g.distances(0), of_cugraph("bfs", 0),
        ),
        "multi_source_bfs": Walk(
            "directed", lambda g: ws.multi_source_bfs(g, [0, 1, 2, 3]), lambda g: g.distances([0, 1, 2, 3]),
        ),
        "topological_levels": Walk("directed", ws.topological_levels, lambda g: g.topological_sorting()),
        "strongly_connected_components": Walk(
            "directed", ws.strongly_connected_components,
            lambda g: g.connected_components(mode="strong").membership,
        ),
        "betweenness_centrality": Walk(
            "directed", lambda g: ws.betweenness_centrality(g, k=[0]),
            lambda g: g.betweenness(sources=[0]), of_cugraph("betweenness_centrality", k=[0]),
        ),
        "edge_betweenness_centrality": Walk(
            "directed", lambda g: ws.edge_betweenness_centrality(g, k=[0]),
            lambda g: g.edge_betweenness(sources=[0]),
        ),
        "closeness_centrality": Walk(
            "directed", lambda g: ws.closeness_centrality(g, vertices=[last]),
            lambda g: g.closeness([last], mode="in"),
        ),
        "harmonic_centrality": Walk(
            "directed", lambda g: ws.harmonic_centrality(g, vertices=[last]),
            lambda g: g.harmonic_centrality([last], mode="in"),
        ),
        "coloring": Walk("simple", ws.coloring, lambda g: g.vertex_coloring_greedy()),
        "a program's two phases": Walk(
            "directed", lambda g: ws.run(STEPS_AND_BACK, g, end=0, other_end=last), times=2,
        ),
    }  # fmt: skip


def levels(name: str, section: Section, repeats: int, *, gpu: bool) -> None:
    """Time walks beside igraph's, on a GPU cuGraph's; compare a level's share with its bound."""
    length = LENGTHS[gpu]
    ends = importlib.import_module("cupy" if gpu else "numpy").arange(length - 1)
    case = Case(name, length, ends, ends + 1, gpu=gpu)
    peer = CUGRAPH if gpu else IGRAPH
    for job, walk in _walks(length - 1).items():
        theirs = walk.cugraph if gpu else walk.igraph
        entrants = [Entrant(OURS, lambda walk=walk: walk.ours(case.ours(walk.form)))]
        if theirs is not None and library(peer) is not None:
            graph = case.graph_of(peer, walk.form)
            entrants.append(Entrant(peer, lambda theirs=theirs, graph=graph: theirs(graph)))
        timings = by_library(race(section, job, entrants, repeats))
        if OURS in timings:
            microseconds = timings[OURS].median * 1e6 / (walk.times * length)
            section.target(f"{job}, µs a level", microseconds, BOUNDS[gpu])
    case.let_go()
