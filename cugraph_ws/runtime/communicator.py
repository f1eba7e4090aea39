"""Communicators: the ranks of a partitioned graph, and their collectives.

All ranks run the same program and call the same collectives in the same order.  A rank that calls
one before the others waits until they call it or the run is abandoned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "Communicator", "Hub", "Links", "RunAbandonedError", "SingleRank", "WantedLinks", "Window", "plain", "total",
]  # fmt: skip

Array = npt.NDArray[Any]
Value = TypeVar("Value")

WantedLinks = Literal["auto", "nccl", "hub"]  # how ranks with GPUs exchange; see `dask/links.py`


class RunAbandonedError(Exception):
    """The run was abandoned elsewhere; the reason is raised there."""


class Communicator(Protocol):
    """The collectives of a group of ranks, as one rank calls them.

    Attributes
    ----------
    rank : int
        Index of this rank, from 0.
    size : int
        Number of ranks.
    """

    rank: int
    size: int

    @property
    def on_device(self) -> bool:
        """Whether arrays sent from the GPU are received on the GPU."""

    @property
    def request(self) -> str | None:
        """A request from outside to end the run: "interrupt" or "callback"; else None."""

    @property
    def room(self) -> int | None:
        """Bytes that this rank may still allocate; None if only the machine's memory limits it."""

    def alltoall(self, buffers: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Send arrays to every rank, and return the arrays received.

        Parameters
        ----------
        buffers : sequence of sequence of ndarray
            The arrays for each rank.  This rank's entry is returned as it is.

        Returns
        -------
        list of list of ndarray
            The arrays from each rank; read-only.
        """

    def allgather(self, value: Value) -> list[Value]:
        """Send a small value to every rank.

        Parameters
        ----------
        value : numbers, text, bytes, None, NumPy scalars, and lists, tuples and dicts of them
            This rank's value.

        Returns
        -------
        list
            The value of each rank.
        """


class Links(Protocol):
    """Sends device arrays between ranks; all methods but `mark` and `wait` are collective.

    Attributes
    ----------
    window : Window or None
        Memory of all ranks' GPUs; None unless each GPU can address that of all others.
    hub : Hub or None
        Host memory that all messages pass through; None if they go from GPU to GPU.
    measured : (float, float) or None
        Seconds per byte and per message, the same on all ranks; None if not measured.
    """

    window: Window | None
    hub: Hub | None
    measured: tuple[float, float] | None

    def exchange(
        self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]
    ) -> None:
        """Send arrays and receive into others; returns when both are complete.

        Parameters
        ----------
        outgoing : sequence of sequence of device array
            The arrays for each rank; none for this rank.
        incoming : sequence of sequence of device array
            The receive buffers for each rank, of the lengths sent.
        """

    def post(self, outgoing: Sequence[Sequence[Any]], incoming: Sequence[Sequence[Any]]) -> None:
        """Queue an `exchange` behind all work queued so far; the host does not wait.

        Until it is complete, the arrays must be neither modified nor freed.
        """

    def gather(self, own: Any, everyone: Any) -> None:
        """Queue an allgather of an array; the host does not wait.

        Parameters
        ----------
        own : device array
            Of the same length on all ranks.
        everyone : device array, as long as the arrays of all ranks
            Receives the arrays of all ranks, in the order of the ranks.
        """

    def swap(self, texts: Mapping[int, bytes]) -> dict[int, bytes]:
        """Send bytes to every other rank and return the bytes from each; the GPU is not used."""

    def mark(self) -> Any:
        """Return a mark of the work queued so far, for `wait`; valid until the next call."""

    def wait(self, mark: Any) -> None:
        """Wait until the work before a mark is complete; raise an error if a rank is lost."""


class Window(Protocol):
    """Memory of all ranks' GPUs that a kernel of each can address; see `kernels/cuda/linked_frontier.py`.

    Attributes
    ----------
    capacity : int
        Most vertices in a list.
    marks : int
        Most words of a message in bits.
    serial : int
        Serial number of the next exchange; the same on all ranks.
    alarm : device array of int64, shape (1,)
        Not 0 once a rank is lost.
    """

    capacity: int
    marks: int
    serial: int
    alarm: Any

    def arrays(self, kind: Any) -> tuple[Any, ...]:
        """Return headers (int64), positions (int32), values of a dtype, and bits (uint32), as kernel arguments."""

    def starts(self, kind: Any) -> Any:
        """Return where each rank's headers, positions, values, and bits begin: int64, shape (4 * ranks,)."""


class Hub(Protocol):
    """Outboxes of all ranks in host memory that all of their GPUs can address.

    Messages are queued on the GPU like those of `Links.post`; the host does not wait.  A message fits in one
    buffer.  Every rank receives or skips each message of every other rank, in the order in which they were sent.
    If ranks send several, each publishes its next message before it receives the others'.

    Attributes
    ----------
    room : int
        Size of a buffer in bytes.
    """

    room: int

    def publish(self, arrays: Sequence[Any], readers: Sequence[int]) -> None:
        """Queue a copy of device arrays to this rank's outbox, once for all readers.

        The arrays must be neither modified nor freed before `join`.

        Parameters
        ----------
        arrays : sequence of device array
        readers : sequence of int
            The ranks that receive the message; all others skip it.
        """

    def receive(self, owner: int, kinds: Sequence[tuple[Any, int]]) -> list[Any]:
        """Wait, on the GPU, for a rank's next message, and return its arrays.

        Parameters
        ----------
        owner : int
            The rank.
        kinds : sequence of (dtype, int)
            Dtype and length of each array.

        Returns
        -------
        list of device array
            In host memory; valid until `release`.
        """

    def copy(self, received: Any, target: Any) -> None:
        """Queue a copy of a received array to a device array."""

    def release(self, owner: int) -> None:
        """Let a rank reuse the buffer of the last message received from it."""

    def skip(self, owner: int) -> None:
        """Skip a rank's next message."""

    def join(self) -> None:
        """Make later work on the GPU wait until all published arrays have been copied."""


class SingleRank:
    """The communicator of a single rank."""

    rank = 0
    size = 1
    on_device = True
    request: str | None = None
    room: int | None = None

    def alltoall(self, buffers: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Return this rank's arrays."""
        return [list(buffers[0])]

    def allgather(self, value: Value) -> list[Value]:
        """Return this rank's value."""
        return [value]


def total(comm: Communicator, number: int | np.integer[Any]) -> int:
    """Return the sum of one number from each rank; collective.

    Parameters
    ----------
    comm : Communicator
    number : int

    Returns
    -------
    int
    """
    return int(np.sum(comm.allgather(int(number))))


def plain(value: Any) -> Any:
    """Return a value in the form in which `allgather` delivers it: plain Python, sequences as tuples.

    Parameters
    ----------
    value : object
        A value that `Communicator.allgather` takes.

    Returns
    -------
    object
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return value
