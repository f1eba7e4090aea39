"""Looks: long work asks between its pieces whether its run is to end.

`run` sets a `Watch` for the time of a call.  Code that works for longer than about a tenth of a second
calls `look` between its pieces: `parallel` does so before each task.  A sort of NumPy's has no pieces, and
is `awaited`.  If the run is to end, a look raises `StepAbandoned`, and `run` returns the state before the
step; see `Loop.ends_within_steps`.  Steps of other loops are done `without_looks`.

Ranks of a cluster must end at the same place.  There `look` does nothing; code that all ranks run alike
calls `look_together`, a collective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

__all__ = [
    "StepAbandoned",
    "Watch",
    "awaited",
    "look",
    "look_together",
    "watched_by",
    "without_looks",
]

LEAST_AWAITED = 1 << 20  # entries, which are sorted in a tenth of a second
GLANCE = 0.05  # seconds between looks for what is awaited


class StepAbandoned(BaseException):
    """The step that is being done is not finished: its run is to end.

    No handler of errors may take it for one of theirs, so it is not an `Exception`.

    Parameters
    ----------
    reason : str
        Why the run ends, as `Result.stopped` has it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Watch(Protocol):
    """Knows whether a run is to end; both methods raise `StepAbandoned` if so."""

    def look(self) -> None:
        """Look in any thread of one process; show progress if that is due."""

    def look_together(self) -> None:
        """Look on all ranks; collective."""


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


def look() -> None:
    """Raise `StepAbandoned` if the run is to end; on a rank of a cluster do nothing."""
    watch = _watch.get()
    if watch is not None:
        watch.look()


def look_together() -> None:
    """Raise `StepAbandoned` on all ranks if the run is to end; collective."""
    watch = _watch.get()
    if watch is not None:
        watch.look_together()


def awaited(function: Callable[..., Any], array: Any, **named: Any) -> Any:
    """Return `function(array, **named)`; for a long array of NumPy's, look while another thread computes it.

    If the run is to end, the call goes on alone, and what it returns is dropped.

    Parameters
    ----------
    function : callable
        Of NumPy or CuPy; does not modify the array.
    array : ndarray or CuPy's
    **named
        Arguments.
    """
    if not isinstance(array, np.ndarray) or len(array) < LEAST_AWAITED or _watch.get() is None:
        return function(array, **named)
    thread = ThreadPoolExecutor(1)
    task = thread.submit(function, array, **named)
    thread.shutdown(wait=False)
    while not wait([task], GLANCE).done:
        look()
    return task.result()


@contextmanager
def watched_by(watch: Watch | None) -> Iterator[None]:
    """Let looks inside the `with` block ask `watch`; None: nobody."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def without_looks() -> AbstractContextManager[None]:
    """Return a context in which looks do nothing: for work whose middle no run may end in."""
    return watched_by(None)
