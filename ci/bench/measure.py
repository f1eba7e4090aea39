"""The clock: contenders take turns, each answer is verified, medians are compared."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["OURS", "Contender", "Target", "Timing", "race", "ratio"]

OURS = "cugraph_ws"


@dataclass(frozen=True)
class Contender:
    """Somebody who can do the job.

    Attributes
    ----------
    library : str
        Who; `OURS` for this project's.
    run : callable
        The timed part, without arguments.
    check : callable
        Takes what `run` returned and raises if it is wrong; not timed.
    """

    library: str
    run: Callable[[], Any]
    check: Callable[[Any], None]


@dataclass(frozen=True)
class Timing:
    """What a contender took, in seconds, run by run; verified, or it would not exist."""

    job: str
    graph: str
    library: str
    seconds: list[float]

    @property
    def median(self) -> float:
        """Median over the runs."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Target:
    """A figure with a bound: `measured` should be at most, or at least, `bound`."""

    name: str
    graph: str
    measured: float
    bound: float
    at_least: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Whether the bound holds."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


def race(
    job: str, graph: str, contenders: Sequence[Contender], repeats: int, patience: float = 60.0
) -> list[Timing]:
    """Time all contenders in turn, `repeats` times over.

    The first round of each, which may compile or fill caches, is verified and not counted.  Taking
    turns spreads whatever else the machine does over all of them.

    Parameters
    ----------
    job, graph : str
        What is done, on what.
    contenders : sequence of Contender
        Who does it.
    repeats : int
        Runs that count.
    patience : float
        A contender whose first run takes more seconds than this runs once more only.

    Returns
    -------
    list of Timing
        One for each contender.
    """
    turns: dict[str, int] = {}
    for contender in contenders:
        seconds, answer = _clocked(contender)
        contender.check(answer)
        turns[contender.library] = repeats if seconds <= patience else 1
    seconds_of: dict[str, list[float]] = {contender.library: [] for contender in contenders}
    for turn in range(repeats):
        for contender in contenders:
            if turn < turns[contender.library]:
                seconds, answer = _clocked(contender)
                seconds_of[contender.library].append(seconds)
                del answer
    return [Timing(job, graph, library, seconds) for library, seconds in seconds_of.items()]


def _clocked(contender: Contender) -> tuple[float, Any]:
    gc.collect()
    begun = time.perf_counter()
    answer = contender.run()
    return time.perf_counter() - begun, answer


def ratio(timings: Sequence[Timing], library: str = OURS) -> dict[str, float]:
    """Return how many times longer each of the others took than `library`."""
    (ours,) = (timing.median for timing in timings if timing.library == library)
    return {timing.library: timing.median / ours for timing in timings if timing.library != library}
