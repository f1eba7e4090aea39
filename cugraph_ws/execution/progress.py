"""Progress of a run: a line on the terminal, or a call of the user's function.

`run` opens `reporter(progress, name)` as a context manager and calls its `update` after every
superstep.  If that returns False, the run stops.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Progress", "ProgressUpdate", "Reporter", "reporter"]


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """State of a run at the end of a superstep; in a long one, at the end of the superstep before.

    Attributes
    ----------
    superstep : int
        Number of supersteps done.
    active : int
        Vertices that are active in the next superstep.
    edges : int
        Edges read in this superstep.
    residual : float
        The run ends when this is at most `tol`; NaN for a program without a residual.
    tol : float or None
        Tolerance, if the program has one.
    max_iter : int or None
        Maximum number of supersteps, if there is a limit.
    seconds : float
        Time since the start of the run.
    """

    superstep: int
    active: int
    edges: int
    residual: float
    tol: float | None
    max_iter: int | None
    seconds: float


STARTING = "starting; a program's first run compiles it"

Progress = bool | Literal["always"] | Callable[[ProgressUpdate], Any]
"""False: show nothing; True: a line on a terminal; "always": also lines into a pipe; or a callback."""


class Reporter:
    """Reports nothing; the base class of the other reporters."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def update(self, update: ProgressUpdate) -> bool:
        """Report that a superstep is done; False asks the run to stop."""
        del update
        return True

    def close(self) -> None:
        """End the report."""


class CallbackReporter(Reporter):
    """Calls the user's function; only the return value False stops the run."""

    def __init__(self, callback: Callable[[ProgressUpdate], Any]) -> None:
        self.callback = callback

    def update(self, update: ProgressUpdate) -> bool:
        """Call the function."""
        return self.callback(update) is not False


class ThrottledReporter(Reporter, ABC):
    """Shows updates at intervals, since writing one may take longer than a superstep."""

    interval = 0.0  # minimum number of seconds between two updates

    def __init__(self) -> None:
        self.last: ProgressUpdate | None = None
        self.due = 0.0

    def update(self, update: ProgressUpdate) -> bool:
        """Show the update if the last one was shown at least `interval` seconds ago."""
        self.last = update
        if update.seconds >= self.due:
            self.due = update.seconds + self.interval
            self.show(update)
        return True

    @abstractmethod
    def show(self, update: ProgressUpdate) -> None:
        """Write the update."""


class BarReporter(ThrottledReporter):
    """A progress bar on the terminal, removed when the run ends."""

    interval = 0.1

    def __init__(self, name: str) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self.bar: Bar = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task(name, total=None, facts=STARTING)
        self.share = Share()

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def show(self, update: ProgressUpdate) -> None:
        """Move the bar; it only swings if the end is unknown."""
        share = self.share.of(update)
        total = None if share is None else 1.0
        self.bar.update(self.task, total=total, completed=share or 0.0, facts=facts(update))

    def close(self) -> None:
        """Remove the bar."""
        self.bar.stop()


class LineReporter(ThrottledReporter):
    """Plain lines for a log file: at most one a second, and one for the last superstep."""

    interval = 1.0

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.shown: ProgressUpdate | None = None

    def show(self, update: ProgressUpdate) -> None:
        """Write a line to stderr."""
        self.shown = update
        print(f"{self.name}: {facts(update)} · {update.seconds:.1f} s", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Write the last superstep, unless it has been written."""
        if self.last is not None and self.last is not self.shown:
            self.show(self.last)


class Share:
    """Estimates the fraction of the run that is done; this needs a residual or a limit."""

    def __init__(self) -> None:
        self.first = math.nan
        self.best = 0.0

    def of(self, update: ProgressUpdate) -> float | None:
        """Return the fraction in [0, 1], never decreasing; None if it is unknown.

        The estimate uses the residual's logarithm, since residuals fall by about the same factor in
        each superstep.
        """
        shares = []
        residual, tol = update.residual, update.tol
        if tol is not None and tol > 0 and 0 < residual < math.inf:
            if math.isnan(self.first):
                self.first = max(residual, tol)
            if self.first > tol:
                shares.append(math.log(self.first / residual) / math.log(self.first / tol))
        if update.max_iter and tol is not None:
            shares.append(update.superstep / update.max_iter)
        if not shares:
            return None
        self.best = min(max(self.best, *shares), 1.0)
        return self.best


def facts(update: ProgressUpdate) -> str:
    """Return one line about a superstep."""
    parts = [f"superstep {update.superstep:,}", f"{_short(update.active)} active"]
    parts.append(f"{_short(update.edges)} edges")
    if not math.isnan(update.residual):
        goal = "" if update.tol is None else f" → {update.tol:g}"
        parts.append(f"residual {update.residual:.2g}{goal}")
    return " · ".join(parts)


def _short(count: int) -> str:
    """Format a count in a few characters, to fit on a line."""
    if count < 10_000:
        return f"{count:,}"
    if count < 10**6:
        return f"{count / 10**3:.0f} k"
    return f"{count / 10**6:.1f} M" if count < 10**9 else f"{count / 10**9:.1f} G"


def reporter(progress: Progress, name: str) -> Reporter:
    """Return the reporter for a `progress` option.

    Parameters
    ----------
    progress : bool, "always" or callable
        False reports nothing.  True shows a bar on stderr if that is a terminal; "always" writes
        plain lines to stderr if it is not a terminal.  A callable receives a `ProgressUpdate`
        after every superstep, and about ten times a second in long ones, and may return False to
        stop the run.
    name : str
        Name of the algorithm, for the bar.

    Returns
    -------
    Reporter
        A context manager with `update(ProgressUpdate) -> bool`.

    Raises
    ------
    InputError
        If `progress` is none of these.
    """
    if callable(progress):
        return CallbackReporter(progress)
    if progress is not True and progress is not False and progress != "always":
        raise InputError(
            f'progress is {shown(progress)}: give True, False, "always", or a function that takes '
            "a ProgressUpdate"
        )
    if progress is False:
        return Reporter()
    if sys.stderr is not None and sys.stderr.isatty():
        return BarReporter(name)
    return LineReporter(name) if progress == "always" else Reporter()
