"""The clock: entrants take turns, answers are verified, the first call stands apart, medians are compared."""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from bench.tables import FIGURES, Table

__all__ = [
    "OURS",
    "Entrant",
    "Measured",
    "Section",
    "Share",
    "Target",
    "by_library",
    "clocked",
    "compare",
    "race",
]

OURS = "cugraph_ws"
PATIENCE = 2.0  # seconds; an entrant that takes longer runs fewer times
FEW = 2


@dataclass(frozen=True)
class Entrant:
    """A library, or a variant of ours, that can do the work.

    Attributes
    ----------
    library : str
        Its name; `OURS` for this project's usual way.
    run : callable
        The timed part, without arguments.
    check : callable
        Takes what `run` returned; raises if it is wrong, returns by how much it is off, or None.
    alone : callable, optional
        Returns the seconds of the algorithm alone, from what `run` returned.
    release : callable, optional
        Gives back what `run` returned, if letting it go is not enough.
    share : callable, optional
        Returns into how many parts, supersteps for instance, the time of an answer is divided.
    edges, moved : callable, optional
        Return from an answer the edges that a part reads, and the bytes that it moves.
    """

    library: str
    run: Callable[[], Any]
    check: Callable[[Any], float | None]
    alone: Callable[[Any], float] | None = None
    release: Callable[[Any], None] = lambda answer: None
    share: Callable[[Any], int] = lambda answer: 1
    edges: Callable[[Any], float] = lambda answer: 0
    moved: Callable[[Any], float] = lambda answer: 0


@dataclass
class Measured:
    """What an entrant took for a part of the work; verified, or it would not exist.

    Attributes
    ----------
    job, graph, library : str
        What is done, on what, by which entrant.
    seconds : list of float
        Of the whole call, run by run.
    alone : list of float
        Seconds of the algorithm alone, run by run; empty where they are not known.
    first : float
        Seconds of the whole first call: compilation, loading and first allocations are in it.
    edges, bytes : float
        Edges read and bytes moved in a part, as the method needs them (not as counted by hardware).
    off : float or None
        By how much the verified result differs from the reference.
    parts : int
        Supersteps in a run.
    """

    job: str
    graph: str
    library: str
    seconds: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    first: float = math.nan
    edges: float = 0
    bytes: float = 0
    off: float | None = None
    parts: int = 1

    @property
    def median(self) -> float:
        """Median of the whole call."""
        return statistics.median(self.seconds)

    @property
    def alone_median(self) -> float | None:
        """Median of the algorithm alone."""
        return statistics.median(self.alone) if self.alone else None

    @property
    def figures(self) -> list[float | None]:
        """What is on record of it, in the order of `bench.tables.FIGURES`."""
        one = {
            "median": self.median, "least": min(self.seconds), "most": max(self.seconds),
            "alone": self.alone_median, "first": self.first,
        }  # fmt: skip
        found = {name: None if time is None else time * 1e3 for name, time in one.items()}
        found |= {"runs": len(self.seconds), "bytes": self.bytes, "edges": self.edges}
        return [found[name] for name in FIGURES]

    @property
    def best_known(self) -> float:
        """Median of the algorithm alone, where known, else of the whole call."""
        return self.median if self.alone_median is None else self.alone_median


@dataclass(frozen=True)
class Share:
    """A share that was found, from 0 to 1, instead of a time."""

    job: str
    library: str
    figures: float


@dataclass(frozen=True)
class Target:
    """A figure with a bound: `measured` should be at most, or at least, `bound`.

    `mean` is that of several figures, of which `measured` is the worst.
    """

    name: str
    graph: str
    measured: float
    bound: float
    at_least: bool = False
    mean: float | None = None

    @property
    def met(self) -> bool:
        """Whether the bound holds."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    @property
    def row(self) -> list[Any]:
        """What is on record of it."""
        sign = "≥" if self.at_least else "≤"
        mean = [] if self.mean is None else [self.mean]
        return [self.name, self.measured, sign, self.bound, *mean]


@dataclass
class Section:
    """What one part of the benchmarks found on one graph.

    `keep` is called whenever there is more of it, so that a run that is cut short has that much.  `figures`
    are numbers, by name, that tables over several graphs and pictures are made of.
    """

    part: str
    graph: str
    timings: list[Any] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    keep: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Keep a table of texts for the report, and print it."""
        made = Table(title, list(columns), [*map(list, rows)])
        self.tables.append(asdict(made))
        print(made.plain(), flush=True)

    def attempt(self, what: str, do: Callable[[], Any]) -> Any:
        """Call something; print and keep its error instead of raising it, and return None then."""
        try:
            return do()
        except Exception as error:  # one case that fails must not take the others along
            print(f"  FAILED {what}\n{traceback.format_exc(limit=-4)}", flush=True)
            self.errors.append({"what": what, "error": f"{type(error).__name__}: {error}"[:500]})
            return None

    def pairs(self, one: str, other: str) -> dict[str, tuple[Measured, Measured]]:
        """Return by job what two entrants took, of jobs that both did."""
        jobs: dict[str, dict[str, Measured]] = {}
        for found in self.timings:
            jobs.setdefault(found.job, {})[found.library] = found
        return {
            job: (found[one], found[other])
            for job, found in jobs.items()
            if {one, other} <= set(found)
        }

    def facts(self) -> dict[str, Any]:
        """Return what goes into JSON files and the record; see `bench.record`."""
        jobs: dict[str, dict[str, Any]] = {}
        for one in self.timings:
            jobs.setdefault(one.job, {})[one.library] = one.figures
        return {
            "part": self.part,
            "graph": self.graph,
            "timings": jobs,
            "targets": [one.row for one in self.targets],
            "errors": self.errors,
            "tables": self.tables,
            "figures": self.figures,
        }


def race(
    section: Section,
    job: str,
    entrants: Sequence[Entrant],
    repeats: int,
    few: int = FEW,
    patience: float | None = None,
) -> list[Measured]:
    """Time entrants in turn, `repeats` times over; add what they took to the section.

    The first call of each is verified and stands apart; the second warms up what depends on the data.
    An entrant that fails leaves an error in the section.  Taking turns spreads whatever else the machine
    does over all of them.

    Parameters
    ----------
    section : Section
        Where results and errors go.
    job : str
        What is done.
    entrants : sequence of Entrant
    repeats : int
        Runs that count.
    few : int
        Runs that count of an entrant whose second call takes long.
    patience : float, optional
        How many seconds are long: `PATIENCE`, if not given.

    Returns
    -------
    list of Measured
        One for each entrant that did it, in order.
    """
    patience = PATIENCE if patience is None else patience
    able: list[tuple[Entrant, Measured, int]] = []
    for entrant in entrants:

        def start(entrant: Entrant = entrant) -> tuple[float, float | None, float]:
            first, answer = _clocked(entrant)
            off = entrant.check(answer)
            entrant.release(answer)
            again, answer = _clocked(entrant)
            entrant.release(answer)
            return first, off, again

        begun = section.attempt(f"{job}, {entrant.library}", start)
        if begun is not None:
            first, off, again = begun
            found = Measured(job, section.graph, entrant.library, first=first, off=off)
            able.append((entrant, found, repeats if again <= patience else min(few, repeats)))
    for turn in range(repeats):
        for entrant, found, turns in able:
            if turn < turns:
                section.attempt(f"{job}, {entrant.library}", partial(_turn, entrant, found))
    measured = [found for _, found, _ in able if found.seconds]
    section.timings += measured
    for one in measured:
        alone = "" if one.alone_median is None else f"alone {one.alone_median * 1e3:.3f} ms, "
        off = "" if one.off is None else f"off {one.off:.2g}, "
        print(f"  {job}: {one.library} {one.median * 1e3:.3f} ms, {alone}{one.parts} parts, {off}"
              f"first {one.first * 1e3:.0f} ms", flush=True)  # fmt: skip
    section.keep()
    return measured


def _turn(entrant: Entrant, found: Measured) -> None:
    """Run once more, and add what it took for a part."""
    seconds, answer = _clocked(entrant)
    found.parts = parts = max(1, entrant.share(answer))
    alone = [] if entrant.alone is None else [entrant.alone(answer) / parts]
    found.edges, found.bytes = entrant.edges(answer), entrant.moved(answer)
    found.seconds.append(seconds / parts)
    found.alone += alone
    entrant.release(answer)


def _clocked(entrant: Entrant) -> tuple[float, Any]:
    return clocked(entrant.run)


def clocked(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many seconds a call takes, after a garbage collection and up to the GPU's end; and its answer."""
    gc.collect()
    _wait()
    begun = time.perf_counter()
    answer = run()
    _wait()
    return time.perf_counter() - begun, answer


def _wait() -> None:
    """Wait for what is queued on the GPU, where one is in use."""
    if (cupy := sys.modules.get("cupy")) is not None:
        cupy.cuda.Device().synchronize()


def by_library(measured: Sequence[Measured]) -> dict[str, Measured]:
    """Return timings by library."""
    return {one.library: one for one in measured}


def compare(
    section: Section,
    name: str,
    measured: Sequence[Measured],
    other: str,
    bound: float,
    *,
    alone: bool,
    ours: str = OURS,
) -> None:
    """Add a target to the section: another's time ÷ ours, at least `bound`.

    Parameters
    ----------
    section : Section
    name : str
        Of the target.
    measured : sequence of Measured
        Timings of one job.
    other : str
        The library to compare with; without its timing there is no target.
    bound : float
    alone : bool
        Whether of ours, and of the other where it tells, the algorithm alone counts.
    ours : str
        Which of the timings is ours.
    """
    found = by_library(measured)
    if other not in found or ours not in found:
        return
    mine, theirs = found[ours], found[other]
    measured_ratio = theirs.best_known / mine.best_known if alone else theirs.median / mine.median
    section.targets.append(Target(name, section.graph, measured_ratio, bound, at_least=True))
