"""What each part of the frontier engine is worth: filters, directions, fusion, order of priority.

After Table 4 and Figures 11 and 12 of SIMD-X (Liu and Huang, USENIX ATC 2019): the same programs with
the controller, with one filter only, without fusion, and held to one direction.
"""

from __future__ import annotations

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
    "SSSP": (ws.SSSP, "source", "distance"),
    "widest path": (ws.WidestPath, "source", "width"),
}


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
