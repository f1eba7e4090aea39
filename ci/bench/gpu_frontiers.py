"""What each part of the frontier engine is worth: filters, directions, fusion, order of priority.

After Table 4 and Figures 11 and 12 of SIMD-X (Liu and Huang, USENIX ATC 2019): the same programs with
the controller, with one filter only, without fusion, and held to one direction.
"""

# The functions of a vertex program take vertices and edges, and no self.
# ruff: noqa: N805

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpu_graphs import HIGH_DIAMETER, Case
from gpu_measure import Entrant, Section, by_library, race
from measure import OURS, Target

import cugraph_ws as ws

__all__ = ["frontiers"]

JUST_IN_TIME = 1.02  # what the controller may cost where one filter would do
VARIANTS: dict[str, dict[str, Any]] = {
    OURS: {},
    "pushed": {"direction": "push", "priorities": False},
    "pushed, online filter": {"direction": "push", "priorities": False, "filter": "online"},
    "pushed, ballot filter": {"direction": "push", "priorities": False, "filter": "ballot"},
    "pulled": {"direction": "pull"},
    "not fused": {"fused": False},
    "by priority": {"direction": "push"},
}
SEARCHES: dict[str, tuple[Any, str, str]] = {
    "BFS": (ws.BFS, "start", "distance"),
    "SSSP": (ws.SSSP, "start", "distance"),
    "widest path": (ws.WidestPath, "start", "width"),
}

# Of programs whose states are not swapped: those called gather.
CALLED: dict[str, dict[str, Any]] = {
    OURS: {},
    "called": {"direction": "push"},
    "called, online filter": {"direction": "push", "filter": "online"},
    "called, ballot filter": {"direction": "push", "filter": "ballot"},
    "not fused": {"fused": False},
    "all gather from active ones": {"direction": "pull"},
}


@ws.vertex_program
class Routes:
    """Shortest paths of the fewest edges: a state and a message of two fields."""

    distance: ws.float32
    hops: ws.int32
    weight: ws.edge(ws.float32, default=1.0)
    source: ws.vertex_parameter

    def init(vertex, p):
        return (0.0, 0) if vertex == p.source else (math.inf, 1 << 30)

    def compute(src, edge):
        return src.distance + edge.weight, src.hops + 1

    combine = min

    def apply(old, gathered):
        return gathered if gathered < (old.distance, old.hops) else (old.distance, old.hops)


@ws.vertex_program
class Core:
    """Which vertices are in the k-core, by their in-edges: sums that count once."""

    left: ws.int32
    alive: ws.boolean
    degree: ws.in_degree
    k: ws.parameter(ws.int64)
    contributors = "active"

    def init(vertex, p, own):
        return own.degree, own.degree >= p.k

    def starts(state):
        return not state.alive

    def compute(src):
        return 1

    combine = sum

    def apply(old, gathered, p):
        left = old.left - gathered
        return left, left >= p.k

    def active(old, new):
        return old.alive and not new.alive


def frontiers(case: Case, section: Section, repeats: int) -> None:
    """Time programs in every variant that they have, without predecessors and frames.

    Parameters
    ----------
    case : Case
    section : Section
        Gets timings, targets and errors.
    repeats : int
    """
    graph = case.graph("lengths")
    for job, (program, given, column) in SEARCHES.items():
        reference: list[Any] = []

        def check(result: Any, column: str = column, reference: list[Any] = reference) -> None:
            found = result.arrays[column].values
            assert bool((found == (reference or [found])[0]).all()), "others find other values"
            reference.append(found)

        variants = dict(VARIANTS)
        if "priority" not in program.functions:
            del variants["by priority"]
        if "settled" not in program.functions:
            variants["gathered"] = {"direction": "gather"}
        entrants = [
            Entrant(
                name,
                lambda options=options, program=program, given=given: ws.run(
                    program, graph, predecessors=False, **{given: case.start}, **options
                ),
                check,
                edges=lambda result: sum(result.rows.edges),
            )
            for name, options in variants.items()
            if name != "pulled"
            or case.name not in HIGH_DIAMETER  # it goes through all vertices each time
        ]
        measured = by_library(race(section, job, entrants, repeats))
        if {"pushed", "pushed, online filter"} <= set(measured):
            ratio = measured["pushed"].median / measured["pushed, online filter"].median
            name = f"{job}: the choice of a filter ÷ online alone"
            section.targets.append(Target(name, case.name, ratio, JUST_IN_TIME))
    for job, program, arguments, column in (
        ("two fields", Routes, {"source": case.start}, "distance"),
        ("sums", Core, {"k": 3}, "alive"),
    ):
        same = _alike(column)
        entrants = [
            Entrant(
                name,
                lambda program=program, arguments=arguments, options=options: ws.run(
                    program, graph, **arguments, **options
                ),
                same,
                edges=lambda result: sum(result.rows.edges),
            )
            for name, options in CALLED.items()
        ]
        race(section, job, entrants, repeats)
    alike = _ranks_alike()
    entrants = [
        Entrant("PageRank", lambda: ws.run(ws.PageRank, graph, tol=1e-6), alike),
        Entrant(
            "PageRank by changes",
            lambda: ws.run(ws.DeltaPageRank, graph, tolerance=1e-6),
            alike,
        ),
    ]
    race(section, "PageRank to 1e-6", entrants, repeats)


def _alike(column: str) -> Callable[[Any], None]:
    """Return a check that compares everybody's column with the first's."""
    reference: list[Any] = []

    def check(result: Any) -> None:
        found = result.arrays[column]
        assert bool((found == (reference or [found])[0]).all()), "others find other values"
        reference.append(found)

    return check


def _ranks_alike() -> Callable[[Any], float]:
    """Return a check that compares everybody's ranks with the first's, scaled to sum 1."""
    reference: list[Any] = []

    def check(result: Any) -> float:
        ranks = result.arrays["pagerank"]
        ranks = ranks / ranks.sum()
        expected = (reference or [ranks])[0]
        reference.append(ranks)
        error = float(abs(ranks - expected).sum())
        assert error < 1e-4, f"ranks are off by {error}"
        return error

    return check
