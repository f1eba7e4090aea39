"""Calls that begin before Dask's tasks for them have come to the workers.

A task takes some ten milliseconds from a client over the scheduler to a worker, and the word that it is
done half as long: more than many a search.  So a client also asks the workers themselves, over Dask's own
connections, at the same time as it submits the tasks.  Whoever comes to a worker first begins; a task
that comes to find its work begun takes it over, and what it returns is Dask's as ever.  A client that
does not reach the workers, or comes late, waits for Dask.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from distributed import Client
from distributed.core import send_recv
from distributed.protocol.pickle import dumps

__all__ = ["Early", "EarlyStarts", "Summons"]

MOST = 1 << 16  # bytes of a call that goes both ways
REACH = 1.0  # seconds in which a worker must take a connection
AGAIN = 60.0  # seconds after which one that has not is tried again
REMEMBERED = 4096  # tasks that have come, for whom a call that is late begins nothing

# Of clients, when they could not reach which workers
_OUT_OF_REACH: weakref.WeakKeyDictionary[Client, dict[str, float]] = weakref.WeakKeyDictionary()


# ---------------------------------------------------------------------------------- on a worker


class Early:
    """Work that has begun without its task.

    Attributes
    ----------
    outcome : Future
        What it returns or raises.
    owned : Future
        Done once the task is here: should the worker be lost from then on, Dask says so.
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


class EarlyStarts:
    """What has begun early on one worker, by the key of its task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[Any, Early] = {}
        self._past: OrderedDict[Any, None] = OrderedDict()  # tasks that have come, or never will

    def begin(self, key: Any, do: Callable[[], Any]) -> Early | None:
        """Begin work in a thread of its own; return None if its task has come before.

        Parameters
        ----------
        key : str
            Of the task.
        do : callable
            The work.
        """
        with self._lock:
            if key in self._past:
                return None
            early = self._begun[key] = Early()
        threading.Thread(target=early.work, args=(do,), name=key, daemon=True).start()
        return early

    def claim(self, key: Any) -> Early | None:
        """Return the work of a task that has come, if it has begun; it cannot begin early any more."""
        with self._lock:
            self._past[key] = None
            while len(self._past) > REMEMBERED:
                self._past.popitem(last=False)
            return self._begun.pop(key, None)

    def drop(self, key: Any) -> None:
        """Forget the work of a task that will not come; what it returns goes."""
        self.claim(key)


# --------------------------------------------------------------------------------- on the client


class Summons:
    """Asks workers to begin, and hears from them when they are done.

    Parameters
    ----------
    client : Client
    calls : sequence of (str, str, bytes)
        For each worker its address, the key of its task, and the work, pickled: see
        `RankPlugin.call`.

    Attributes
    ----------
    summary : bytes or None
        What the first worker has told.
    done : bool
        Whether all are.
    """

    def __init__(self, client: Client, calls: Sequence[tuple[str, str, bytes]]) -> None:
        self._client, self._left = client, len(calls)
        self._over = threading.Event()
        self.summary: bytes | None = None
        self.done = False
        loop: Any = client.loop
        for rank, call in enumerate(calls):
            loop.add_callback(partial(self._ask, rank, *call))

    @classmethod
    def of(
        cls, client: Client, addresses: Sequence[str], keys: Sequence[str], work: Sequence[Any]
    ) -> Summons | None:
        """Return a summons, or None where it would be too long, or a worker is known not to be reached.

        Parameters
        ----------
        client : Client
        addresses, keys : sequence of str
            Of the workers, and of their tasks.
        work : sequence of callable
            Not yet pickled.
        """
        tried = _OUT_OF_REACH.get(client, {})
        if any(time.monotonic() - tried.get(one, -AGAIN) < AGAIN for one in addresses):
            return None
        calls = [
            (address, key, dumps(one))
            for address, key, one in zip(addresses, keys, work, strict=True)
        ]
        if max(len(content) for _, _, content in calls) > MOST:
            return None
        return cls(client, calls)

    def wait(self, seconds: float) -> bool:
        """Wait until all are done, or it is known that Dask must be asked; tell whether that is so."""
        return self._over.wait(seconds)

    async def _ask(self, rank: int, address: str, key: str, work: bytes) -> None:
        try:
            reply = await self._reply(address, key, work)
        except Exception:  # whatever it is, Dask tells it better
            reply = None
        if reply is None:
            self._over.set()
            return
        if rank == 0:
            self.summary = reply[0]
        self._left -= 1
        if self._left == 0:
            self.done = True
            self._over.set()

    async def _reply(self, address: str, key: str, work: bytes) -> Sequence[Any] | None:
        """Return what a worker says at its end, None if the task had come before or has failed."""
        connections = self._client.rpc
        try:
            comm = await connections.connect(address, timeout=REACH)
        except OSError:
            _OUT_OF_REACH.setdefault(self._client, {})[address] = time.monotonic()
            raise
        try:
            reply: Sequence[Any] | None = await send_recv(
                comm, op="cugraph_ws_call", key=key, work=work
            )
        finally:
            connections.reuse(address, comm)
        return reply
