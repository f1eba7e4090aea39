"""Positions of vertices beside cuGraph's ForceAtlas2: the time, and the stress of the picture."""

from __future__ import annotations

from typing import Any

import cugraph_ws as ws
from bench.forms import CUGRAPH, Case, library
from bench.timing import OURS, Entrant, Section, race

TIMES, SOURCES = 5.0, 40


def layouts(case: Case, section: Section, repeats: int) -> None:
    """Time both with their defaults; stress is that of pairs of a few vertices and all that they reach."""
    graph = case.ours("simple")
    stresses: dict[str, float] = {}
    starts = graph.vertices.sample(SOURCES, random_state=1)["vertex"].to_numpy().tolist()
    distances = ws.multi_source_bfs(graph, starts)

    def entrant(name: str, run: Any) -> Entrant:
        def check(answer: Any) -> float:
            stresses[name] = stress(case, distances, answer.sort_values("vertex"))
            return stresses[name]

        return Entrant(name, run, check)

    entrants = [entrant(OURS, lambda: ws.layout(graph))]
    peer = library(CUGRAPH)
    if peer is not None:
        theirs = case.graph_of(CUGRAPH, "simple")
        entrants.append(entrant(CUGRAPH, lambda: peer.force_atlas2(theirs)))
    timings = race(section, "layout", entrants, repeats)
    section.ratio(f"layout: {CUGRAPH}'s ForceAtlas2 ÷ ours", timings, CUGRAPH, TIMES)
    if {OURS, CUGRAPH} <= set(timings):
        section.target(f"stress: ours ÷ {CUGRAPH}'s", stresses[OURS] / stresses[CUGRAPH], 1.0)


def stress(case: Case, distances: Any, places: Any) -> float:
    """Return the mean of ((s |p - q| - d) / d)² over pairs of distance d, at the best scale s.

    Parameters
    ----------
    case : Case
    distances : frame
        Columns `source`, `vertex` and `distance`.
    places : frame
        Columns `vertex`, `x` and `y`, by vertex.
    """
    xp = case.xp
    vertices, x, y = (xp.asarray(places[name].values) for name in ("vertex", "x", "y"))
    hops = xp.asarray(distances["distance"].fillna(0).values).astype(xp.float64)
    ends = [
        xp.searchsorted(vertices, xp.asarray(distances[end].values)) for end in ("source", "vertex")
    ]
    between = (hops > 0) & xp.isfinite(hops)
    (p, q), d = (end[between] for end in ends), hops[between]
    ratio = xp.hypot(x[p] - x[q], y[p] - y[q]) / d
    scale = ratio.sum() / (ratio * ratio).sum()
    return float(xp.mean((scale * ratio - 1) ** 2))
