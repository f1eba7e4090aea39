"""Translates Dask's errors about lost workers or a closed client into errors of the library."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from distributed import Client
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from cugraph_ws.errors import CugraphWsError, EngineError, GraphMemoryError, WorkerLostError
from cugraph_ws.runtime.memory import format_bytes

__all__ = [
    "BROKEN",
    "FrameLostError",
    "OfTheFrameError",
    "PausedWorkers",
    "is_closed",
    "refuse_killed_for_memory",
    "translated",
]

LOOK = 2.0  # seconds between two checks for paused workers
PAUSED = 20.0  # seconds to wait for a paused worker
MEMORY = "worker-restart-memory"  # topic of the nannies' events about workers that they have killed
BROKEN = (CommClosedError, CancelledError, TimeoutError)  # raised when a connection breaks


class FrameLostError(WorkerLostError):
    """Partitions of the user's frame are lost; another attempt cannot restore them."""


class OfTheFrameError(Exception):
    """Wraps an error of the user's own tasks, so that it passes through `translated` unchanged.

    Parameters
    ----------
    error : Exception
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def is_closed(client: Client) -> bool:
    """Return whether a client has been closed, or is being closed."""
    return client.status in ("closing", "closed")


@contextmanager
def translated(client: Client, name: str) -> Iterator[None]:
    """Translate errors that Dask raises in the block when the client or workers are lost.

    Parameters
    ----------
    client : Client
    name : str
        The name of the operation, for messages.

    Raises
    ------
    EngineError
        If the client has been closed.
    WorkerLostError
        If a connection broke, or tasks were cancelled; FrameLostError if workers died while running
        the user's own tasks.
    Exception
        An error of the user's own tasks, unchanged.
    """
    try:
        yield
    except OfTheFrameError as carrier:
        raise carrier.error from None
    except Exception as error:
        if is_closed(client):
            raise EngineError(
                f"{name}: the Dask client was closed before the workers had finished; keep it open until the "
                "result has been computed, and build the graph again with a new client"
            ) from error
        if isinstance(error, CugraphWsError):
            raise
        if isinstance(error, KilledWorker):
            raise FrameLostError(
                f"{name}: {error.allowed_failures + 1} workers, one after another, died while they computed "
                f"partition {error.task!r} of the frame; give workers more memory, or the frame more partitions"
            ) from error
        if isinstance(error, BROKEN):
            raise WorkerLostError(
                f"{name}: a connection to the cluster broke ({type(error).__name__}: {error}); "
                "check that the scheduler and the workers are running, and run it again"
            ) from error
        raise


class PausedWorkers:
    """Detects workers on which Dask starts no tasks because their memory is nearly full.

    Parameters
    ----------
    client : Client
    name : str
        The name of the operation, for messages.

    Attributes
    ----------
    stuck : list of str
        Paused workers that work was waiting for at the last check.
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._since: dict[str, float] = {}
        self.stuck: list[str] = []
        self._next = time.monotonic() + LOOK

    def refuse(self, are_stuck: Callable[[list[str]], list[str]]) -> None:
        """Raise GraphMemoryError if work has waited for a paused worker too long.

        Parameters
        ----------
        are_stuck : callable
            Takes the addresses of paused workers, and returns those that work is waiting for.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + LOOK
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        stuck = are_stuck(
            [address for address, facts in workers.items() if facts["status"] == "paused"]
        )
        self._since = {address: self._since.get(address, now) for address in stuck}
        self.stuck = stuck
        for address, since in self._since.items():
            if now - since >= PAUSED:
                raise GraphMemoryError(
                    f"{self._name}: Dask has paused worker {address}: its memory is nearly full "
                    f"({format_bytes(workers[address]['metrics']['memory'])} of "
                    f"{format_bytes(workers[address]['memory_limit'])}), so it starts no task; give workers "
                    "more memory (memory_limit=), use more of them, or free what they hold"
                )


def refuse_killed_for_memory(
    client: Client, name: str, addresses: Sequence[str], error: WorkerLostError
) -> None:
    """Raise GraphMemoryError if a nanny has killed one of these workers because of its memory.

    A restarted worker would be killed again.

    Parameters
    ----------
    client : Client
    name : str
        The name of the operation, for messages.
    addresses : sequence of str
        The addresses of the workers, some of which are lost.
    error : WorkerLostError
        The error that reported the loss.
    """
    events: Any = ()
    with suppress(*BROKEN):
        events = client.get_events(MEMORY)
    for _, event in events:
        if event.get("worker") in addresses:
            _refuse(name, event, error)


def _refuse(name: str, event: dict[str, Any], error: WorkerLostError) -> NoReturn:
    """Raise GraphMemoryError for an event of a nanny."""
    raise GraphMemoryError(
        f"{name}: worker {event['worker']} was killed because its memory was full: it held "
        f"{format_bytes(event['rss'])}; give workers more memory (memory_limit=), use more of them, or leave "
        "out weight= and attributes="
    ) from error
