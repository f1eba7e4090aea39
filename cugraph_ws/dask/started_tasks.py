"""Work on a worker that began before its Dask task came; the task takes it over.

Whichever arrives first begins the work: the task, or a request to start it (`RankPlugin.call`).  A task
whose work has already begun returns its result, like any task.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["StartedTask", "StartedTasks", "run_of"]

REMEMBERED = 4096  # tasks that have come and are remembered; a late request for one begins nothing


def run_of(key: Any) -> str:
    """Return the run that a task belongs to."""
    return str(key).rpartition("-")[0]


class StartedTask:
    """Work that began before its task came.

    Attributes
    ----------
    outcome : Future
        Its result or error.
    owned : Future
        Done once the task has come; from then on Dask reports the loss of the worker.
    """

    def __init__(self) -> None:
        self.outcome: Future[Any] = Future()
        self.owned: Future[None] = Future()

    def work(self, do: Callable[[], Any]) -> None:
        """Do the work."""
        try:
            self.outcome.set_result(do())
        except BaseException as error:
            self.outcome.set_exception(error)


class StartedTasks:
    """The direct starts of one worker, by the key of their task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[Any, StartedTask] = {}
        self._past: OrderedDict[Any, None] = OrderedDict()  # tasks that have come, or never will

    def begin(self, key: Any, do: Callable[[], Any]) -> StartedTask | None:
        """Begin work in a new thread; return None if its task has already come.

        Parameters
        ----------
        key : str
            The task's key.
        do : callable
            The work.
        """
        with self._lock:
            if key in self._past:
                return None
            started = self._begun[key] = StartedTask()
        threading.Thread(target=started.work, args=(do,), name=key, daemon=True).start()
        return started

    def take(self, key: Any) -> StartedTask | None:
        """Return the work of a task that has come, if it has begun; prevent a later direct start."""
        with self._lock:
            self._past[key] = None
            while len(self._past) > REMEMBERED:
                self._past.popitem(last=False)
            return self._begun.pop(key, None)

    def drop(self, key: Any) -> None:
        """Forget the work of a task that will not come, with its result."""
        self.take(key)

    def drop_run(self, run: str) -> None:
        """Forget what a run has begun and no task has taken over."""
        with self._lock:
            keys = [key for key in self._begun if run_of(key) == run]
        for key in keys:
            self.drop(key)

    def drop_begun(self, key: Any) -> None:
        """Forget work that has begun and that no task has taken over."""
        with self._lock:
            begun = key in self._begun
        if begun:
            self.drop(key)
