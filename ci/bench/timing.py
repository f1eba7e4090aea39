"""The timer: entrants take turns, answers are verified, first calls are recorded apart, medians compared."""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, NamedTuple

from bench.tables import FIGURES, OURS, Table

PATIENCE = 2.0  # seconds; an entrant that takes longer runs fewer times
FEW = 2
SHORT = 0.06  # seconds; calls of less vary most


class Entrant(NamedTuple):
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
    parts : callable, optional
        Returns the number of parts of an answer, such as supersteps, by which times are divided.
    edges, moved : callable, optional
        Return from an answer the edges that a part reads, and the bytes that it moves.
    """

    library: str
    run: Callable[[], Any]
    check: Callable[[Any], float | None] = lambda answer: None
    alone: Callable[[Any], float] | None = None
    release: Callable[[Any], None] = lambda answer: None
    parts: Callable[[Any], int] = lambda answer: 1
    edges: Callable[[Any], float] = lambda answer: 0
    moved: Callable[[Any], float] = lambda answer: 0


@dataclass
class Measured:
    """The timings of an entrant for a part of the work, whose answer has been verified.

    Attributes
    ----------
    job, graph, library : str
        The work, the graph, and the entrant.
    seconds, alone : list of float
        Seconds of the whole call in each run, and of the algorithm alone if they are known.
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
    def best_known(self) -> float:
        """Median of the algorithm alone, if known, else of the whole call."""
        return self.median if self.alone_median is None else self.alone_median

    @property
    def figures(self) -> list[float | None]:
        """The recorded figures, in the order of `bench.tables.FIGURES`."""
        seconds = {
            "median": self.median, "least": min(self.seconds), "most": max(self.seconds),
            "alone": self.alone_median, "first": self.first,
        }  # fmt: skip
        values = {name: None if time is None else time * 1e3 for name, time in seconds.items()}
        values |= {"runs": len(self.seconds), "bytes": self.bytes, "edges": self.edges}
        return [values[name] for name in FIGURES]


class Target(NamedTuple):
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
        return [
            self.name, self.measured, sign, self.bound, *([] if self.mean is None else [self.mean]),
        ]  # fmt: skip


@dataclass
class Section:
    """The results of one part of the benchmarks on one graph.

    `keep` is called after each addition, so that an interrupted run keeps its results.  `figures` are numbers by
    name, from which pictures and tables over several graphs are made.
    """

    part: str
    graph: str
    timings: list[Measured] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    keep: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Keep a table of texts for the report, and print it."""
        table = Table(title, list(columns), [*map(list, rows)])
        self.tables.append(asdict(table))
        print(table.plain(), flush=True)

    def target(
        self, name: str, measured: float, bound: float, *, at_least: bool = False, mean: float | None = None,
    ) -> None:  # fmt: skip
        """Add a target."""
        self.targets.append(Target(name, self.graph, measured, bound, at_least, mean))

    def ratio(
        self, name: str, timings: Mapping[str, Measured], over: str, bound: float | None, *,
        under: str = OURS, at_least: bool = True, alone: bool = False,
    ) -> None:  # fmt: skip
        """Add a target: an entrant's time ÷ another's, by default ours; none without a bound or without both timings.

        With `alone` the algorithms are compared; the call of an entrant whose algorithm's time is unknown.
        """
        if bound is not None and {over, under} <= set(timings):
            times = [
                timings[by].best_known if alone else timings[by].median for by in (over, under)
            ]
            self.target(name, times[0] / times[1], bound, at_least=at_least)

    def attempt(self, work: str, do: Callable[[], Any]) -> Any:
        """Call something; print and keep its error instead of raising it, and return None then."""
        try:
            return do()
        except Exception as error:  # a failure must not end the other cases
            print(f"  FAILED {work}\n{traceback.format_exc(limit=-4)}", flush=True)
            self.errors.append({"what": work, "error": f"{type(error).__name__}: {error}"[:500]})
            return None

    def facts(self) -> dict[str, Any]:
        """Return the section for JSON files and the record; see `bench.record`."""
        jobs: dict[str, dict[str, Any]] = {}
        for timing in self.timings:
            jobs.setdefault(timing.job, {})[timing.library] = timing.figures
        return {
            "part": self.part, "graph": self.graph, "timings": jobs,
            "targets": [target.row for target in self.targets], "errors": self.errors,
            "tables": self.tables, "figures": self.figures,
        }  # fmt: skip


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
    section: Section, job: str, entrants: Sequence[Entrant], repeats: int, *, few: int = FEW,
    patience: float = PATIENCE, many: int = 0,
) -> dict[str, Measured]:  # fmt: skip
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
        Runs that count for an entrant whose second call takes longer than `patience` seconds.
    patience : float
    many : int
        Runs that count at least for an entrant whose second call takes less than `SHORT` seconds.

    Returns
    -------
    dict of str to Measured
        By the entrants that succeeded, in order.
    """
    able: list[tuple[Entrant, Measured, int]] = []
    for entrant in entrants:
        timing = Measured(job, section.graph, entrant.library)
        second = section.attempt(f"{job}, {entrant.library}", partial(_warm_up, entrant, timing))
        if second is not None:
            turns = repeats if second <= patience else min(few, repeats)
            able.append((entrant, timing, max(many, turns) if second < SHORT else turns))
    for turn in range(max([turns for *_, turns in able], default=0)):
        for entrant, timing, turns in able:
            if turn < turns:
                section.attempt(f"{job}, {entrant.library}", partial(_turn, entrant, timing))
    measured = [timing for _, timing, _ in able if timing.seconds]
    section.timings += measured
    for timing in measured:
        alone = "" if timing.alone_median is None else f"alone {timing.alone_median * 1e3:.3f} ms, "
        off = "" if timing.off is None else f"off {timing.off:.2g}, "
        print(f"  {job}: {timing.library} {timing.median * 1e3:.3f} ms, {alone}{timing.parts} parts, {off}"
              f"first {timing.first * 1e3:.0f} ms", flush=True)  # fmt: skip
    section.keep()
    return {timing.library: timing for timing in measured}


def _warm_up(entrant: Entrant, timing: Measured) -> float:
    """Call twice, and verify the first answer; return the seconds of the second call."""
    timing.first, answer = clocked(entrant.run)
    timing.off = entrant.check(answer)
    entrant.release(answer)
    second, answer = clocked(entrant.run)
    entrant.release(answer)
    return second


def _turn(entrant: Entrant, timing: Measured) -> None:
    """Run once more, and add the seconds per part."""
    seconds, answer = clocked(entrant.run)
    timing.parts = parts = max(1, entrant.parts(answer))
    timing.edges, timing.bytes = entrant.edges(answer), entrant.moved(answer)
    alone = [] if entrant.alone is None else [entrant.alone(answer) / parts]
    timing.seconds.append(seconds / parts)
    timing.alone += alone
    entrant.release(answer)


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
    if (cupy := sys.modules.get("cupy")) is not None and cupy.is_available():
        cupy.cuda.Device().synchronize()
