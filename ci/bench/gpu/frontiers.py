"""Time the frontier engine without each of its parts: filters, directions, fusion, priorities.

After Table 4 and Figures 11 and 12 of SIMD-X (Liu and Huang, USENIX ATC 2019): the same programs with
the controller, with one filter only, without fusion, and with one fixed direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cugraph_ws as ws
from bench.gpu import checks
from bench.gpu.cases import Case
from bench.graphs import HIGH_DIAMETER
from bench.programs import Core, Routes
from bench.timing import OURS, Entrant, Measured, Section, Target, by_library, race

__all__ = ["frontiers"]

JUST_IN_TIME = 1.02  # what the controller may cost where one filter would do
VARIANTS: dict[str, dict[str, Any]] = {
    OURS: {},
    "pushed": {"plan": ws.Plan(direction="push", priorities=False)},
    "pushed, online filter": {"plan": ws.Plan(direction="push", priorities=False, filter="online")},
    "pushed, ballot filter": {"plan": ws.Plan(direction="push", priorities=False, filter="ballot")},
    "pulled": {"plan": ws.Plan(direction="pull")},
    "not fused": {"plan": ws.Plan(fused=False)},
    "by priority": {"plan": ws.Plan(direction="push")},
}
SEARCHES: dict[str, tuple[Any, str]] = {
    "BFS": (ws.BFS, "distance"),
    "SSSP": (ws.SSSP, "distance"),
    "widest path": (ws.WidestPath, "width"),
}

# For programs that run by worklist pull: marked vertices gather
CALLED: dict[str, dict[str, Any]] = {
    OURS: {},
    "called": {"plan": ws.Plan(direction="push")},
    "called, online filter": {"plan": ws.Plan(direction="push", filter="online")},
    "called, ballot filter": {"plan": ws.Plan(direction="push", filter="ballot")},
    "not fused": {"plan": ws.Plan(fused=False)},
    "all gather from active ones": {"plan": ws.Plan(direction="pull")},
}


def frontiers(case: Case, section: Section, repeats: int) -> None:
    """Time every variant of each program, without predecessors and result frames."""
    graph = case.graph("lengths")

    def contest(
        job: str, program: Any, column: str, variants: dict[str, dict[str, Any]], **given: Any
    ) -> dict[str, Measured]:
        check = _alike(column)
        entrants = [
            Entrant(
                name,
                lambda options=options: ws.run(program, graph, **given, **options),
                check,
                edges=lambda result: sum(result.rows.edges),
            )
            for name, options in variants.items()
        ]
        return by_library(race(section, job, entrants, repeats))

    for job, (program, column) in SEARCHES.items():
        variants = dict(VARIANTS)
        if "priority" not in program.functions:
            del variants["by priority"]
        if case.name in HIGH_DIAMETER:
            del variants["pulled"]  # every superstep would read all vertices
        if "settled" not in program.functions:
            variants["gathered"] = {"plan": ws.Plan(direction="gather")}
        found = contest(job, program, column, variants, predecessors=False, start=case.start)
        if {"pushed", "pushed, online filter"} <= set(found):
            ratio = found["pushed"].median / found["pushed, online filter"].median
            name = f"{job}: the choice of a filter ÷ online alone"
            section.targets.append(Target(name, case.name, ratio, JUST_IN_TIME))
    contest("two fields", Routes, "distance", CALLED, source=case.start)
    contest("sums", Core, "alive", CALLED, k=3)
    alike = checks.ranks_alike()

    def check(result: Any) -> float:
        ranks = result.arrays["pagerank"]
        return alike(ranks / ranks.sum())

    entrants = [
        Entrant("PageRank", lambda: ws.run(ws.PageRank, graph, tol=1e-6), check),
        Entrant(
            "PageRank by changes",
            lambda: ws.run(ws.DeltaPageRank, graph, tolerance=1e-6),
            check,
        ),
    ]
    race(section, "PageRank to 1e-6", entrants, repeats)


def _alike(column: str) -> Callable[[Any], None]:
    """Return a check that compares all entrants' column with the first's."""
    reference: list[Any] = []

    def check(result: Any) -> None:
        found = result.arrays[column]
        found = getattr(found, "values", found)  # of a column that may be null
        assert bool((found == (reference or [found])[0]).all()), "others find other values"
        reference.append(found)

    return check
