"""Direct task start: calls begin before Dask's tasks for them reach the workers.

A task takes about ten milliseconds from the client through the scheduler to a worker, and the
message that it is done takes half as long; many searches take less time.  So when a client submits
tasks, it also sends each worker a request over Dask's own connections.  Whichever arrives first
begins the work (`cugraph_ws.dask.started_tasks`).  If a worker cannot be reached, or a request comes
late, the client waits for Dask.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from distributed import Client
from distributed.core import send_recv
from distributed.protocol.pickle import dumps

__all__ = ["DirectRequests", "DirectStart", "ask_directly"]

MOST = 1 << 16  # bytes of a call, above which only Dask's task is sent
REACH = 1.0  # seconds in which a worker must accept a connection
AGAIN = 60.0  # seconds after which a worker that could not be reached is tried again

# For each client, the workers that it could not reach, and when
_OUT_OF_REACH: weakref.WeakKeyDictionary[Client, dict[str, float]] = weakref.WeakKeyDictionary()


class DirectStart:
    """The requests that start one run's tasks directly, and the replies to them.

    Parameters
    ----------
    client : Client
    calls : sequence of (str, str, bytes)
        By rank: the worker's address, the key of its task, and the pickled work; see
        `RankPlugin.call`.
    owned : bool
        Whether workers reply only once their tasks have come too.

    Attributes
    ----------
    replies : list of (bytes or None)
        By rank; a reply may be None.
    done : bool
        Whether all ranks have replied that they are done.
    """

    def __init__(
        self, client: Client, calls: Sequence[tuple[str, str, bytes]], *, owned: bool = True
    ) -> None:
        self._client, self._left, self._owned = client, len(calls), owned
        self._over = threading.Event()
        self.replies: list[bytes | None] = [None] * len(calls)
        self.done = False
        loop: Any = client.loop
        loop.add_callback(partial(self._ask_all, calls))  # waking the loop is slow: once

    @classmethod
    def of(
        cls,
        client: Client,
        addresses: Sequence[str],
        keys: Sequence[str],
        work: Sequence[Any],
        *,
        owned: bool = True,
    ) -> DirectStart | None:
        """Send the requests; return None if one is too long, or a worker could not be reached lately.

        Parameters
        ----------
        client : Client
        addresses, keys : sequence of str
            The workers' addresses, and the keys of their tasks.
        work : sequence of callable
            The work, not yet pickled.
        owned : bool
            Whether workers reply only once their tasks have come too.
        """
        if not _are_in_reach(client, addresses):
            return None
        calls = [
            (address, key, dumps(function))
            for address, key, function in zip(addresses, keys, work, strict=True)
        ]
        if max(len(content) for _, _, content in calls) > MOST:
            return None
        return cls(client, calls, owned=owned)

    def wait(self, seconds: float) -> bool:
        """Wait until all ranks are done or one must be left to Dask; return False on a time-out."""
        return self._over.wait(seconds)

    async def _ask_all(self, calls: Sequence[tuple[str, str, bytes]]) -> None:
        await asyncio.gather(*(self._ask(rank, *call) for rank, call in enumerate(calls)))

    async def _ask(self, rank: int, address: str, key: str, work: bytes) -> None:
        try:
            reply = await self._reply(address, key, work)
        except Exception:  # the task reports the error
            reply = None
        if reply is None:
            self._over.set()
            return
        self.replies[rank] = reply[0]
        self._left -= 1
        if self._left == 0:
            self.done = True
            self._over.set()

    async def _reply(self, address: str, key: str, work: bytes) -> Sequence[Any] | None:
        """Return a worker's reply once it is done; None if the task came first or has failed."""
        reply: Sequence[Any] | None = await _answer(
            self._client, address, op="cugraph_ws_call", key=key, work=work, owned=self._owned
        )
        return reply


def ask_directly(
    client: Client, messages: Sequence[tuple[str, Mapping[str, Any]]], seconds: float
) -> list[Any] | None:
    """Send one message to each worker over Dask's own connections, and return the answers.

    Parameters
    ----------
    client : Client
    messages : sequence of (str, mapping)
        The worker's address, and the message.
    seconds : float
        How long to wait for the answers.

    Returns
    -------
    list or None
        The answers, None for one that did not come.  None instead of the list if a worker cannot be
        reached, or could not be reached lately; then messages may be sent through the scheduler.
    """
    if not _are_in_reach(client, [address for address, _ in messages]):
        return None

    async def ask() -> list[Any]:
        asking = [asyncio.ensure_future(_answer(client, to, **text)) for to, text in messages]
        _, late = await asyncio.wait(asking, timeout=seconds)
        for task in late:
            task.cancel()
        return await asyncio.gather(*asking, return_exceptions=True)

    replies = client.sync(ask)
    if not _are_in_reach(client, [address for address, _ in messages]):
        return None
    return [None if isinstance(reply, BaseException) else reply for reply in replies]


class DirectRequests:
    """Both kinds of requests; see `cugraph_ws.contract.WorkerRequests`."""

    def start(
        self,
        client: Client,
        addresses: Sequence[str],
        keys: Sequence[str],
        work: Sequence[Any],
        *,
        owned: bool,
    ) -> DirectStart | None:
        """Start the tasks of a run on their workers."""
        return DirectStart.of(client, addresses, keys, work, owned=owned)

    def ask(
        self, client: Client, messages: Sequence[tuple[str, Mapping[str, Any]]], seconds: float
    ) -> list[Any] | None:
        """Send one message to each worker, and return the answers."""
        return ask_directly(client, messages, seconds)


def _are_in_reach(client: Client, addresses: Sequence[str]) -> bool:
    """Return whether no worker was out of reach lately."""
    tried = _OUT_OF_REACH.get(client, {})
    return all(time.monotonic() - tried.get(address, -AGAIN) >= AGAIN for address in addresses)


async def _answer(client: Client, address: str, **message: Any) -> Any:
    """Send a worker a message; return its answer.  Record a worker that cannot be reached."""
    connections = client.rpc
    try:
        comm = await connections.connect(address, timeout=REACH)
    except OSError:
        _OUT_OF_REACH.setdefault(client, {})[address] = time.monotonic()
        raise
    try:
        return await send_recv(comm, **message)
    finally:
        connections.reuse(address, comm)
