"""Warp segmentation against virtual warps of 2, 4, 8, 16 and 32 lanes: eight programs."""

from __future__ import annotations

import statistics
from functools import partial

from bench.gpu.cases import Case
from bench.gpu.efficiency import METHODS
from bench.gpu.programs import arguments_of, entrant
from bench.programs import PROGRAMS, Program
from bench.timing import OURS, Entrant, Section, Target, by_library, race

__all__ = ["schedules"]

SUPERSTEPS = 8  # of a dense program; all of them take the same time
SLOWER = 1.05  # bound of the time ÷ that of the case's best size of virtual warps


def schedules(case: Case, section: Section, repeats: int) -> None:
    """Time every schedule for every program.

    Only supersteps are timed.  Programs that stop by themselves run to their end.
    """
    for work in sorted(PROGRAMS.values(), key=lambda one: str(one.weights)):  # few graphs to build
        entrants = section.attempt(f"preparing {work.name}", partial(_entrants, case, work))
        found = by_library(race(section, work.name, entrants or [], repeats))
        if OURS not in found or len(found) == 1:
            continue
        mine = found.pop(OURS).best_known
        speedups = {library: one.best_known / mine for library, one in found.items()}
        best = min(speedups.values())
        mean = statistics.mean(speedups.values())
        name = f"{work.name}: warp segmentation, times the best virtual warps"
        section.targets.append(Target(name, case.name, 1 / best, SLOWER, mean=mean))


def _entrants(case: Case, work: Program) -> list[Entrant]:
    arguments = arguments_of(case, work)
    return [
        entrant(case, work, arguments, library, method, SUPERSTEPS, parts=False)
        for library, method in METHODS.items()
    ]
