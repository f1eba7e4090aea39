"""From one GPU to several: SSSP on graphs of several sizes and densities, eight programs on two of them.

As in Figure 10 and Table IX of the paper.  The same workers serve all graphs; where there are more than two,
two of them run too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench.cluster.jobs import EXCHANGED, KINDS, MANY, ONE, REPEATS, Job, superstep_seconds, taken
from bench.cluster.partitions import GatheredCase, PartitionedGraph, digest
from bench.cluster.workers import workers
from bench.graphs import GENERATED
from bench.timing import OURS, Entrant, Measured, Section, race

__all__ = ["PROGRAMS_ON", "ROUNDING", "Scaling", "far", "scaling_figures", "scaling_table", "sizes"]

EVERYWHERE = "SSSP"
PROGRAMS_ON = ("RM16V134E", "RM44V704E")  # where all eight programs run: small and large
ROUNDING = 1e-5  # allowed relative difference of sums of magnitudes


def sizes(gpus: int) -> list[int]:
    """Return the numbers of GPUs to measure on: 2, and all."""
    return sorted({2, gpus})


class Scaling:
    """Runs the piece graph by graph, on workers that are started for the first and end in `__exit__`."""

    def __init__(self) -> None:
        self._kept = ExitStack()
        self._client: Any = None

    def __enter__(self) -> Scaling:
        return self

    def __exit__(self, *error: object) -> None:
        self._client = None
        self._kept.close()

    def __call__(self, name: str, section: Section, repeats: int) -> None:
        """Time one graph's programs on one GPU and on several."""
        if self._client is None:
            self._client = self._kept.enter_context(workers())
        everyone = len(self._client.nthreads())
        partitioned = {
            count: PartitionedGraph(name, self._client, count) for count in sizes(everyone)
        }
        case = GatheredCase(name, partitioned[everyone].places)
        print(f"  {case}, {everyone} GPUs", flush=True)
        section.figures |= {
            "gpus": everyone,
            "edges": len(case.source),
            "vertices": GENERATED[name][0],
        }
        chosen = [job for job in EXCHANGED if name in PROGRAMS_ON or job.name == EVERYWHERE]
        for kind in KINDS:  # so that each graph is built once
            for job in chosen:
                if job.weights == kind:
                    work = partial(_job, job, case, partitioned, section, repeats)
                    section.attempt(job.name, work)
        for several in partitioned.values():
            several.let_go()
        case.let_go()
        scaling_table(section)


def _job(
    job: Job,
    case: GatheredCase,
    partitioned: dict[int, PartitionedGraph],
    section: Section,
    repeats: int,
) -> None:
    """Time one program; check that all results have the digest of one GPU's."""
    expected: list[list[float]] = []

    def check(digest_of: Callable[[Any], list[float]], answer: Any) -> float:
        found = digest_of(answer[1])
        expected.append(found)
        off = far(found, expected[0])
        assert off <= ROUNDING, f"sums over the result are off by {off:.3g}"
        return off

    single = case.graph(job.weights)
    if job.dense:  # make the initial values before the clock starts
        case.values(), case.values(1000)
    entrants = [_entrant(ONE, job, single, case, case.values, partial(check, digest))]
    for count, several in partitioned.items():
        library = OURS if count == max(partitioned) else f"{count} GPUs"
        graph = several.graph(job.weights)
        if job.dense:
            several.values(), several.values(1000)
        judge = partial(check, several.digest)
        entrants.append(_entrant(library, job, graph, case, several.values, judge))
    race(section, job.name, entrants, min(repeats, REPEATS), few=REPEATS, many=MANY)
    section.figures["scaling"] = scaling_figures(section.timings, max(partitioned))


def _entrant(
    library: str,
    job: Job,
    graph: Any,
    case: GatheredCase,
    values: Callable[[int], Any],
    check: Callable[[Any], float],
) -> Entrant:
    """Return an entrant that runs a program."""

    def run() -> Any:
        return taken(job.call(graph, case.start, values))

    return Entrant(library, run, check, alone=superstep_seconds)


def far(found: Sequence[float], expected: Sequence[float]) -> float:
    """Return the largest relative difference of digests.

    Parameters
    ----------
    found, expected : sequence of float
        Neither is below 0.
    """
    pairs = zip(found, expected, strict=True)
    return max(abs(one - other) / max(other, 1e-30) for one, other in pairs)


def scaling_figures(
    timings: Sequence[Any], everyone: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Return medians in seconds, by program and number of GPUs: of all supersteps, and of the call.

    Parameters
    ----------
    timings : sequence of Measured
    everyone : int
        Number of all GPUs.
    """
    count = {ONE: "1", OURS: str(everyone)}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in timings:
        if isinstance(one, Measured):
            gpus = count.get(one.library, one.library.partition(" ")[0])
            seconds = {"supersteps": one.best_known, "call": one.median}
            found.setdefault(one.job, {})[gpus] = seconds
    return found


def scaling_table(section: Section) -> None:
    """Add the table of every program's times on one GPU and on several, and the speed-ups."""
    figures = section.figures.get("scaling")
    if not figures:
        return
    gpus = sorted({one for found in figures.values() for one in found}, key=int)
    rows = []
    for program, found in figures.items():
        row = [program]
        for what in ("supersteps", "call"):
            seconds = [found[one][what] if one in found else None for one in gpus]
            row += ["" if one is None else f"{one * 1e3:.3g}" for one in seconds]
            row += [
                "" if one is None or seconds[0] is None else f"{seconds[0] / one:.2f}"
                for one in seconds[1:]
            ]
        rows.append(row)
    columns = ["program"]
    for what in ("supersteps", "call"):
        columns += [f"{what}, ms, {one} GPU{'s' * (one != '1')}" for one in gpus]
        columns += [f"{one} against 1" for one in gpus[1:]]
    section.table("from one GPU to several", columns, rows)
