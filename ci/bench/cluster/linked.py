"""Time searches whose launches exchange updates themselves, searches whose hosts do, and searches on one GPU.

All supersteps of a search count, by its trace.  In `figures["linked"]` of a section: supersteps, and those that
ran in such launches, by program.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cugraph_ws as ws
from bench.cluster.jobs import EXCHANGED, MANY, ONE, Answer, Job, superstep_seconds, taken
from bench.cluster.partitions import Setup, off_by
from bench.graphs import Weights
from bench.timing import OURS, Entrant, Section, by_library, race

__all__ = ["linked", "linked_table"]

BETWEEN = "hosts between"


def linked(setup: Setup, section: Section, repeats: int, kind: Weights | None) -> None:
    """Time the searches that take this kind of weights."""
    found = section.figures.setdefault("linked", {})
    for job in EXCHANGED:
        if job.weights != kind or job.dense:
            continue
        numbers: dict[str, Any] = {}
        entrants = section.attempt(f"preparing {job.name}", partial(_entrants, setup, job, numbers))
        name = f"linked, {job.name}"
        times = by_library(race(section, name, entrants or [], repeats, few=repeats, many=MANY))
        numbers |= {library: one.best_known for library, one in times.items()}
        if OURS in numbers:
            found[job.name] = numbers


def _entrants(setup: Setup, job: Job, numbers: dict[str, Any]) -> list[Entrant]:
    """Return an entrant for each variant; one GPU's result is the others' reference."""
    several, case = setup.several, setup.case
    single, graph, reference = case.graph(job.weights), several.graph(job.weights), []

    def check(library: str, answer: Answer) -> float | None:
        result, frame = answer
        if library == ONE:
            reference.append(frame)
            return None
        if library == OURS:
            numbers["supersteps"] = int(result.iterations)
            numbers["in linked launches"] = int(result.trace["fused"].sum())
        return off_by(frame.compute().reset_index(drop=True), reference[0])

    def entrant(library: str, on: Any, values: Any, **options: Any) -> Entrant:
        return Entrant(
            library, lambda: taken(job.call(on, case.start, values, **options)),
            partial(check, library), alone=superstep_seconds,
        )  # fmt: skip

    return [
        entrant(ONE, single, case.values),
        entrant(OURS, graph, several.values),
        entrant(BETWEEN, graph, several.values, plan=ws.Plan(fused=False)),
    ]


def linked_table(section: Section, workers: int) -> None:
    """Add the table of all supersteps, program by program."""
    rows = []
    for program, numbers in section.figures["linked"].items():
        times = [numbers.get(one) for one in (ONE, BETWEEN, OURS)]
        row = [program, str(numbers["supersteps"]), str(numbers["in linked launches"])]
        row += ["" if one is None else f"{one * 1e3:.3g}" for one in times]
        row += ["" if one is None else f"{one / times[2]:.2f}" for one in times[:2]]
        rows.append(row)
    columns = ["program", "supersteps", "in linked launches", "one GPU, ms", f"{workers}, hosts between, ms",
               f"{workers}, ms", f"one GPU ÷ {workers}", "hosts between ÷ linked"]  # fmt: skip
    section.table(f"supersteps of searches, {workers} GPUs", columns, rows)
