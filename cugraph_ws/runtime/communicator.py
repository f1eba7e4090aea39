"""Communicators: the ranks of a partitioned graph, their collectives, and steps that fail on all of them alike.

All ranks run the same program and call the same collectives in the same order.  A rank that calls
one before the others waits until they call it or the run is abandoned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import CugraphWsError, FileError, GraphMemoryError, InputError

__all__ = [
    "plain", "total",
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
    window : object or None
        Memory of all ranks' GPUs, where each GPU addresses that of all others and an accelerator uses it.
    exchange_class : type or None
        The `RankExchange` of programs over these links; None for the core's.
    byte : float
        Seconds per byte, the same on all ranks; assumed, until `cluster_scan` has measured them.
    """

    window: Any
    exchange_class: Any
    byte: float

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

    def carriers(self) -> list[str]:
        """Return what carries arrays to each rank: "peer", "host memory", "NCCL" or "network"; "" for this one."""

    def swap(self, texts: Mapping[int, bytes]) -> dict[int, bytes]:
        """Send bytes to every other rank and return the bytes from each; the GPU is not used."""

    def mark(self) -> Any:
        """Return a mark of the work queued so far, for `wait`; valid until the next call."""

    def wait(self, mark: Any) -> None:
        """Wait until the work before a mark is complete; raise an error if a rank is lost."""


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


# ------------------------------------------------------------ one rank's error is every rank's

_ERRORS: dict[str, type[CugraphWsError]] = {
    "FileError": FileError,
    "InputError": InputError,
    "GraphMemoryError": GraphMemoryError,
}


def in_order(
    comm: Communicator, steps: Iterable[tuple[Sequence[int], Callable[[], Value]]]
) -> list[Value]:
    """Run this rank's steps; raise the first error of any rank on all ranks; collective.

    Parameters
    ----------
    comm : Communicator
    steps : iterable of (sequence of int, callable)
        For each step, its place in the order of all ranks' steps, and the step.  All places have the
        same length.  A step must not call a collective.

    Returns
    -------
    list
        What this rank's steps return, in the order of their places.

    Raises
    ------
    InputError, FileError, GraphMemoryError
        If a step failed on any rank.  All ranks raise the error of the first failed step, as if
        one rank ran all steps.
    """
    done: list[Value] = []
    trouble: Any = None
    for place, step in sorted(steps, key=lambda placed_step: list(placed_step[0])):
        try:
            done.append(step())
        except (InputError, FileError, GraphMemoryError) as error:
            trouble = [list(place), type(error).__name__, str(error)]
            break
    shown = [failure for failure in comm.allgather(trouble) if failure is not None]
    if shown:
        _, kind, text = min(shown, key=lambda failure: list(failure[0]))
        agreed = _ERRORS[kind](text)
        agreed.on_all_ranks = True
        raise agreed
    return done


def attempt(comm: Communicator, step: Callable[[], Value]) -> Value:
    """Run one step on every rank; see `in_order`.

    Parameters
    ----------
    comm : Communicator
    step : callable

    Returns
    -------
    object
        What this rank's step returns.
    """
    return in_order(comm, [([comm.rank], step)])[0]
