"""Warp segmentation against virtual warps of 2, 4, 8, 16 and 32 lanes: eight programs."""

from __future__ import annotations

import statistics
from typing import Any

from gpu_graphs import Case
from gpu_measure import Entrant, Section, by_library, race
from gpu_programs import PROGRAMS, Program, run_program
from measure import OURS, Target

__all__ = ["schedules"]

LANES = (2, 4, 8, 16, 32)
SUPERSTEPS = 8  # of a dense program; all of them take the same time
SLOWER = 1.05  # than the best size of virtual warps of the case, at most


def schedules(case: Case, section: Section, repeats: int) -> None:
    """Time every schedule, untuned, for every program.

    Time is that of the algorithm alone; programs that stop by themselves run to their end.

    Parameters
    ----------
    case : Case
    section : Section
        Gets timings, targets and errors.
    repeats : int
    """
    for work in sorted(PROGRAMS.values(), key=lambda one: str(one.weights)):  # few graphs to build
        entrants = section.attempt(f"preparing {work.name}", lambda work=work: prepared(case, work))
        found = by_library(race(section, work.name, entrants or [], repeats))
        if OURS not in found or len(found) == 1:
            continue
        mine = found.pop(OURS).best_known
        speedups = {library: one.best_known / mine for library, one in found.items()}
        best = min(speedups.values())
        facts = {"speedups": speedups, "mean": statistics.mean(speedups.values())}
        name = f"{work.name}: warp segmentation, times the best virtual warps"
        section.targets.append(Target(name, case.name, 1 / best, SLOWER, facts=facts))


def prepared(case: Case, work: Program) -> list[Entrant]:
    """Build the graph, and return a run of a program by every schedule."""
    arguments = work.arguments(case)
    case.graph(work.weights)
    methods = {OURS: "ws", **{f"virtual warps of {lanes}": f"vwc-{lanes}" for lanes in LANES}}
    return [entrant(case, work, library, method, arguments) for library, method in methods.items()]


def entrant(
    case: Case, work: Program, library: str, method: str, arguments: dict[str, Any]
) -> Entrant:
    """Return a run of a program by one schedule."""

    def run() -> Any:
        return run_program(case, work, method, SUPERSTEPS, arguments)

    return Entrant(
        library,
        run,
        lambda result: work.check(case, result),
        alone=lambda result: sum(result.rows.milliseconds) / 1e3,
        edges=lambda result: sum(result.rows.edges),
        moved=lambda result: work.bytes_of(result) * result.iterations,
        share=lambda result: 1,
    )
