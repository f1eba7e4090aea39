"""Timing: entrants take turns, results are verified, first calls are recorded separately, medians compared."""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
SHORT = 0.06  # seconds; calls of less vary most


@dataclass(frozen=True)
class Entrant:
    """A library, or a variant of this one, that can do the work.

    Attributes
    ----------
    library : str
        Its name; `OURS` for this project's usual way.
    run : callable
        The timed part, without arguments.
    check : callable
        Takes the answer of `run`; raises if it is wrong, else returns its error, or None.
    alone : callable, optional
        Returns the seconds of the algorithm alone, from the answer.
    release : callable, optional
        Frees the answer, if dropping the reference is not enough.
    share : callable, optional
        Returns the number of parts of an answer, such as supersteps, by which times are divided.
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
    """The timings of an entrant for a part of the work, whose answer has been verified.

    Attributes
    ----------
    job, graph, library : str
        The work, the graph, and the entrant.
    seconds : list of float
        Seconds of the whole call in each run.
    alone : list of float
        Seconds of the algorithm alone in each run; empty if unknown.
    first : float
        Seconds of the whole first call, with compilation, loading and first allocations.
    edges, bytes : float
        Edges read and bytes moved in a part, as the method needs them (not as counted by hardware).
    off : float or None
        Difference of the verified result from the reference.
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
        """The recorded figures, in the order of `bench.tables.FIGURES`."""
        one = {
            "median": self.median, "least": min(self.seconds), "most": max(self.seconds),
            "alone": self.alone_median, "first": self.first,
        }  # fmt: skip
        found = {name: None if time is None else time * 1e3 for name, time in one.items()}
        found |= {"runs": len(self.seconds), "bytes": self.bytes, "edges": self.edges}
        return [found[name] for name in FIGURES]

    @property
    def best_known(self) -> float:
        """Median of the algorithm alone, if known, else of the whole call."""
        return self.median if self.alone_median is None else self.alone_median


@dataclass(frozen=True)
class Share:
    """A measured share, from 0 to 1, in place of a time."""

    job: str
    library: str
    figures: float


@dataclass(frozen=True)
class Target:
    """A figure with a bound: `measured` should be at most, or at least, `bound`.

    If `measured` is the worst of several figures, `mean` is their mean.
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
        """The recorded row."""
        sign = "≥" if self.at_least else "≤"
        mean = [] if self.mean is None else [self.mean]
        return [self.name, self.measured, sign, self.bound, *mean]


@dataclass
class Section:
    """The results of one part of the benchmarks on one graph.

    `keep` is called after each addition, so that an interrupted run keeps its results.  `figures` are numbers by
    name, from which pictures and tables over several graphs are made.
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
        except Exception as error:  # a failure must not end the other cases
            print(f"  FAILED {what}\n{traceback.format_exc(limit=-4)}", flush=True)
            self.errors.append({"what": what, "error": f"{type(error).__name__}: {error}"[:500]})
            return None

    def pairs(self, one: str, other: str) -> dict[str, tuple[Measured, Measured]]:
        """Return the timings of two entrants by job, for jobs that both did."""
        jobs: dict[str, dict[str, Measured]] = {}
        for found in self.timings:
            jobs.setdefault(found.job, {})[found.library] = found
        return {
            job: (found[one], found[other])
            for job, found in jobs.items()
            if {one, other} <= set(found)
        }

    def facts(self) -> dict[str, Any]:
        """Return the section for JSON files and the record; see `bench.record`."""
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


@contextmanager
def _old_heap_left_out() -> Iterator[None]:
    """Have collections look only at what is made from here on: there is one before every call."""
    thaw = not gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if thaw:
            gc.unfreeze()


@_old_heap_left_out()
def race(
    section: Section,
    job: str,
    entrants: Sequence[Entrant],
    repeats: int,
    few: int = FEW,
    patience: float | None = None,
    many: int = 0,
) -> list[Measured]:
    """Time entrants in turn, `repeats` times; add the timings to the section.

    The first call of each is verified and recorded separately; the second warms up caches that depend on
    the data.  An entrant that fails leaves an error in the section.  Turns spread the effect of other work
    on the machine over all entrants.

    Parameters
    ----------
    section : Section
        Gets timings and errors.
    job : str
        Name of the work.
    entrants : sequence of Entrant
    repeats : int
        Runs that count.
    few : int
        Runs that count for an entrant whose second call takes longer than `patience`.
    patience : float, optional
        In seconds; `PATIENCE` by default.
    many : int
        Runs that count at least for an entrant whose second call takes less than `SHORT` seconds.

    Returns
    -------
    list of Measured
        One for each entrant that succeeded, in order.
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
            turns = repeats if again <= patience else min(few, repeats)
            able.append((entrant, found, max(many, turns) if again < SHORT else turns))
    for turn in range(max([turns for *_, turns in able], default=0)):
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
    """Run once more, and add the seconds per part."""
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
    """Collect garbage, call and wait for the GPU; return the seconds of call and wait, and the answer."""
    gc.collect()
    _wait()
    begun = time.perf_counter()
    answer = run()
    _wait()
    return time.perf_counter() - begun, answer


def _wait() -> None:
    """Wait for the work queued on the GPU, if one is in use."""
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
    """Add a target to the section: another entrant's time ÷ ours, at least `bound`.

    Parameters
    ----------
    section : Section
    name : str
        Name of the target.
    measured : sequence of Measured
        Timings of one job.
    other : str
        The library to compare with; without its timing no target is added.
    bound : float
    alone : bool
        Whether to compare the algorithms alone; the other's call if its algorithm's time is unknown.
    ours : str
        Name of our entrant.
    """
    found = by_library(measured)
    if other not in found or ours not in found:
        return
    mine, theirs = found[ours], found[other]
    measured_ratio = theirs.best_known / mine.best_known if alone else theirs.median / mine.median
    section.targets.append(Target(name, section.graph, measured_ratio, bound, at_least=True))
