"""What may end a run early: its time-out, Ctrl-C and its callback, asked between steps and within them.

Of several ranks, rank 0 decides when and why they end; they vote at intervals.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Self

from cugraph_ws.execution.progress import ProgressUpdate, Reporter
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.looks import StepAbandoned

__all__ = ["HeldInterrupts", "StopRequests", "StopVote", "ended_by"]

EVERY = 0.1  # seconds between two reports within a step
LEAST_START = 0.1  # seconds after which the start of a run may be abandoned
VOTE_EVERY = 0.1  # approximate seconds between votes
FIRST_VOTE = 2  # ranks vote first at this call, when one superstep has been timed
SHORT_STEPS = 8  # the interval between votes may grow by this factor while it is below VOTE_EVERY / SHORT_STEPS
NOTHING_DONE = ProgressUpdate(0, 0, 0, math.nan, None, None, 0.0)


_ended: ContextVar[threading.Event | None] = ContextVar("ended", default=None)


@contextmanager
def ended_by(event: threading.Event) -> Iterator[None]:
    """Let runs that begin in the `with` block end, as by a callback, once another thread sets an event."""
    token = _ended.set(event)
    try:
        yield
    finally:
        _ended.reset(token)


class HeldInterrupts:
    """In its `with` block the first Ctrl-C only sets `pressed`; a second one interrupts at once.

    Compiled loops cannot be interrupted.  A KeyboardInterrupt right after one would leave a new
    state with an old frontier.  Only the main thread receives signals.  On another thread, or if
    the caller has set a handler of SIGINT, nothing is changed.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._holds = False

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._holds = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._holds:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            signal.default_int_handler(number, frame)
        self.pressed = True


class StopVote:
    """Votes at intervals on whether the run should end.

    Parameters
    ----------
    comm : Communicator
        All of its ranks must call `ask` equally often.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._left = FIRST_VOTE  # calls until the next vote
        self._asked = 0  # calls since the last vote
        self._met = time.perf_counter()
        self._request: str | None = None

    def ask(self, request: str | None) -> str | None:
        """Return why the run ends now, or None; collective.

        Parameters
        ----------
        request : str or None
            This rank's request to end the run.  Only requests of rank 0 count; they are kept until
            the next vote.

        Returns
        -------
        str or None
            The same on all ranks.
        """
        self._request = self._request or request
        self._asked += 1
        self._left -= 1
        if self._left:
            return None
        now = time.perf_counter()
        share = VOTE_EVERY / max(now - self._met, 1e-6)
        # The next interval is not much longer than the last one, since supersteps may become slow.
        most = max(
            2 * self._asked, min(SHORT_STEPS * self._asked, int(self._asked * share / SHORT_STEPS))
        )
        pause = max(1, min(most, int(self._asked * share)))
        requested, self._left = self._comm.allgather((self._request or self._comm.request, pause))[
            0
        ]
        self._asked, self._met = 0, now
        return requested


class StopRequests:
    """Asks whether a run is to end; see `cugraph_ws.runtime.looks`.

    Parameters
    ----------
    timeout : float or None
        Seconds from now on.
    vote : StopVote or None
        Of the ranks of a cluster; None for a run of one process.
    report : Reporter or None
        Reports the run's progress, if anyone follows it; its callback may end the run.

    Attributes
    ----------
    begun : float
        When the run began, by `time.perf_counter`.
    """

    def __init__(
        self, timeout: float | None, vote: StopVote | None, report: Reporter | None
    ) -> None:
        self.begun = time.perf_counter()
        self._timeout, self._vote, self._report = timeout, vote, report
        self._ended = _ended.get()
        self._thread = threading.get_ident()
        self._request: str | None = None
        self._interrupts: HeldInterrupts | None = None
        self._last = NOTHING_DONE
        self._due = (
            self.begun + EVERY
        )  # when the callback is next called within the start or a step

    def begin_steps(self, interrupts: HeldInterrupts, first: ProgressUpdate) -> None:
        """Ask `interrupts` as well from now on; `first` is what to report in the first step."""
        self._interrupts, self._last = interrupts, first

    def report(self, update: ProgressUpdate) -> None:
        """Report that a step is done."""
        self._last, self._due = update, time.perf_counter() + EVERY
        if self._report is not None and not self._report.update(update):
            self._request = "callback"

    def between_steps(self) -> str | None:
        """Return why the run ends now, or None; collective."""
        self._note()
        return self._request if self._vote is None else self._vote.ask(self._request)

    def look(self) -> None:
        """Raise `StepAbandoned` if the run is to end; on a rank of a cluster do nothing."""
        if self._vote is None:
            self._note(within=True)
            if self._request is not None:
                raise StepAbandoned(self._request)

    def look_together(self) -> None:
        """Raise `StepAbandoned` on all ranks if the run is to end; collective."""
        if self._vote is None:
            self.look()
            return
        self._note(within=True)
        request = self._vote.ask(self._request)
        if request is not None:
            raise StepAbandoned(request)

    def _note(self, *, within: bool = False) -> None:
        """Note a request to end the run, if there is one."""
        if self._request is not None:
            return
        now = time.perf_counter()
        if self._interrupts is not None and self._interrupts.pressed:
            self._request = "interrupt"
        elif self._ended is not None and self._ended.is_set():
            self._request = "callback"
        elif self._timeout is not None and now - self.begun > self._timeout:
            # What `timeout=1e-9` returns does not depend on how fast a small run starts.
            if self._interrupts is not None or now - self.begun > LEAST_START:
                self._request = "timeout"
        elif within and self._report is not None and now >= self._due:
            self._report_within(self._report, now)

    def _report_within(self, report: Reporter, now: float) -> None:
        """Report the last complete step again, on the thread that drives the run."""
        if threading.get_ident() != self._thread:
            return
        self._due = now + EVERY
        if not report.update(replace(self._last, seconds=now - self.begun)):
            self._request = "callback"
