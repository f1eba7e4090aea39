"""Ranks that are threads of this process and take turns.

A rank runs until it calls a collective that others have not called yet; then the next rank runs.
So one rank computes at a time, with all cores, work is done in the same order in every run, and a
debugger sees one rank at a time.  An error of one rank ends all of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, TypeVar

from cugraph_ws.runtime.communicator import RunAbandonedError
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.looks import look

__all__ = ["ThreadCommunicator", "ThreadRanks"]

Value = TypeVar("Value")

# Seconds after which a waiting caller looks whether its run is to end, and checks for signals
GLANCE = 0.1

_idle: dict[int, list[_Worker]] = {}  # by process, since threads do not survive a fork


class _Worker:
    """A thread that does the work assigned to it when `wake` is released; the work may wait for `wake` again."""

    def __init__(self) -> None:
        self.wake = _closed()
        self.work: Callable[[], None] | None = None
        threading.Thread(target=self._serve, name="cugraph_ws rank", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.wake.acquire()
            work, self.work = self.work, None
            assert work is not None
            work()
            del work  # and the arrays that it refers to


def _closed() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class _Turns:
    """One call of a function on all ranks, one rank at a time.

    Parameters
    ----------
    workers : sequence of _Worker
        One for each rank.
    """

    def __init__(self, workers: Sequence[_Worker]) -> None:
        size = len(workers)
        self.found: list[Any] = [None] * size
        self.error: BaseException | None = None
        self._workers = workers
        self._running = [True] * size
        self._left = size
        self._ended = _closed()
        # Values of two collectives: a rank may be one collective ahead of the others.
        self._boards: tuple[list[Any], list[Any]] = ([None] * size, [None] * size)
        self._calls = [0] * size

    def run(self, rank: int, work: Callable[[], Any]) -> None:
        """Do a rank's work from its first turn on, then let the next rank run."""
        try:
            if self.error is None:
                self.found[rank] = work()
        except BaseException as error:
            self.error = self.error or error
        self._running[rank] = False
        self._left -= 1
        if self._left:
            self._workers[self._next(rank)].wake.release()
        else:
            self._ended.release()

    def wait(self) -> None:
        """Let rank 0 begin; return when all ranks have ended."""
        try:
            self._workers[0].wake.release()  # all ranks may have ended before the next statement
            while not self._ended.acquire(timeout=GLANCE):
                look()  # only the caller's thread asks the callback of its run
        except BaseException as error:  # also Ctrl-C; each rank ends at its next collective or look
            self.error = error
            while self._left and not self._ended.acquire(timeout=GLANCE):
                pass

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """Send a value to all ranks, and return the value of each; collective."""
        board = self._boards[self._calls[rank] % 2]
        board[rank] = value
        self._calls[rank] += 1
        if min(self._calls) < self._calls[rank]:  # the last rank that calls it continues
            self._let_others_run(rank)
        if self.error is not None:
            raise RunAbandonedError("another rank has failed, or the run was interrupted")
        if min(self._calls) < self._calls[rank]:
            raise RuntimeError(
                f"rank {rank} called a collective that another rank ended without calling"
            )
        return list(board)

    def _let_others_run(self, rank: int) -> None:
        """Let every other rank take a turn, then return."""
        following = self._next(rank)
        if following != rank:
            self._workers[following].wake.release()
            self._workers[rank].wake.acquire()

    def _next(self, rank: int) -> int:
        """Return the rank whose turn is next: the same one if all others have ended."""
        size = len(self._running)
        places = ((rank + step) % size for step in range(1, size + 1))
        return next(place for place in places if self._running[place])


class ThreadCommunicator:
    """The communicator of a rank that is a thread; see `Communicator`.

    Parameters
    ----------
    rank : int
    ranks : ThreadRanks
    """

    on_device = True
    request: str | None = None
    room: int | None = None

    def __init__(self, rank: int, ranks: ThreadRanks) -> None:
        self.rank, self.size, self._ranks = rank, ranks.size, ranks

    def alltoall(self, buffers: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Send copies of arrays to every rank, and return the arrays received."""
        copies = [
            list(buffer) if peer == self.rank else [array.copy() for array in buffer]
            for peer, buffer in enumerate(buffers)
        ]
        return [buffer[self.rank] for buffer in self._ranks.turns.exchange(self.rank, copies)]

    def allgather(self, value: Value) -> list[Value]:
        """Send a small value to every rank."""
        return self._ranks.turns.exchange(self.rank, value)


class ThreadRanks:
    """A group of ranks that are threads.

    Parameters
    ----------
    size : int
        Number of ranks.

    Attributes
    ----------
    communicators : list of ThreadCommunicator
        One for each rank.  Collectives are called inside `call`.
    """

    turns: _Turns

    def __init__(self, size: int) -> None:
        self.size = size
        self.communicators = [ThreadCommunicator(rank, self) for rank in range(size)]

    def call_each(self, work: Callable[[int], Value], *, on_device: bool) -> list[Value]:
        """Run a function of the rank's index on every rank; see `call`.

        With `on_device`, every rank uses the caller's current device.
        """
        if not on_device:
            return self.call(lambda comm: work(comm.rank))
        use_device = device().here()

        def there(comm: ThreadCommunicator) -> Value:
            with use_device():
                return work(comm.rank)

        return self.call(there)

    def call(self, work: Callable[[ThreadCommunicator], Value]) -> list[Value]:
        """Run a function on every rank, with the caller's context variables.

        Parameters
        ----------
        work : callable
            Takes the rank's communicator.

        Returns
        -------
        list
            Its result on each rank.

        Raises
        ------
        BaseException
            The error of the rank that failed first.  Collectives of the other ranks raise
            `RunAbandonedError`.
        """
        idle = _idle.setdefault(os.getpid(), [])
        workers = [_taken(idle) for _ in range(self.size)]
        turns = self.turns = _Turns(workers)
        for comm, worker in zip(self.communicators, workers, strict=True):
            worker.work = _job(turns, comm, work)
        turns.wait()
        idle.extend(workers)
        results, error = turns.found, turns.error
        del turns, self.turns  # an error refers to this frame
        if error is not None:
            try:
                raise error
            finally:
                del error
        return results


def _taken(idle: list[_Worker]) -> _Worker:
    """Return an idle worker, or a new one."""
    try:
        return idle.pop()  # atomic: other threads take workers too
    except IndexError:
        return _Worker()


def _job(
    turns: _Turns, comm: ThreadCommunicator, work: Callable[[ThreadCommunicator], Any]
) -> Callable[[], None]:
    context = copy_context()
    return lambda: turns.run(comm.rank, lambda: context.run(work, comm))
