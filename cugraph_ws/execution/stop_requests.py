"""What may end a run early: its time-out, Ctrl-C and its callback, asked between steps and within them."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

from cugraph_ws.execution.progress import ProgressUpdate, Reporter
from cugraph_ws.execution.stop_vote import StopVote
from cugraph_ws.runtime.interrupts import HeldInterrupts
from cugraph_ws.runtime.looks import StepAbandoned

__all__ = ["StopRequests"]

EVERY = 0.1  # seconds between two reports within a step
LEAST_START = 0.1  # seconds after which the start of a run may be abandoned
NOTHING_DONE = ProgressUpdate(0, 0, 0, math.nan, None, None, 0.0)


class StopRequests:
    """Asks whether a run is to end; see `cugraph_ws.runtime.looks`.

    Parameters
    ----------
    timeout : float or None
        Seconds from now on.
    vote : StopVote or None
        Of the ranks of a cluster; None for a run of one process.
    report : Reporter
        Reports the run's progress; its callback may end the run.

    Attributes
    ----------
    begun : float
        When the run began, by `time.perf_counter`.
    """

    def __init__(self, timeout: float | None, vote: StopVote | None, report: Reporter) -> None:
        self.begun = time.perf_counter()
        self._timeout, self._vote, self._report = timeout, vote, report
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
        if not self._report.update(update):
            self._request = "callback"

    def between_steps(self) -> str | None:
        """Return why the run ends now, or None; collective."""
        self._note()
        return self._request if self._vote is None else self._vote.ask(self._request)

    def look(self, *, report: bool = True) -> None:
        """Raise `StepAbandoned` if the run is to end; on a rank of a cluster do nothing.

        Without `report`, the callback is not called now, nor in the next tenth of a second: the time
        that compilation takes is none of the step's.
        """
        if self._vote is None:
            self._note(within=report)
            if not report:
                self._due = time.perf_counter() + EVERY
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
        elif self._timeout is not None and now - self.begun > self._timeout:
            # What `timeout=1e-9` returns does not depend on how fast a small run starts.
            if self._interrupts is not None or now - self.begun > LEAST_START:
                self._request = "timeout"
        elif within and now >= self._due:
            self._report_within(now)

    def _report_within(self, now: float) -> None:
        """Report the last complete step again, on the thread that drives the run."""
        if threading.get_ident() != self._thread:
            return
        self._due = now + EVERY
        if not self._report.update(replace(self._last, seconds=now - self.begun)):
            self._request = "callback"
