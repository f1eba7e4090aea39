"""A crew: the processes that hold a graph together, and what they say to each other.

Every member runs the same program; what is here are meetings.  All members come to each meeting, in
the same order; one that comes alone waits, until the others come or the run is given up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Communicator", "Links", "RunAbandonedError", "SingleRank", "plain", "total"]

Array = npt.NDArray[Any]
Value = TypeVar("Value")


class RunAbandonedError(Exception):
    """The run has been given up elsewhere; the reason is told there."""


class Communicator(Protocol):
    """What one member knows of its crew.

    Attributes
    ----------
    rank : int
        Its own place, from 0.
    size : int
        Number of members.
    """

    rank: int
    size: int

    @property
    def on_device(self) -> bool:
        """Whether arrays on the GPU arrive on the GPU."""

    @property
    def wish(self) -> str | None:
        """Why somebody outside wants the run to end: "interrupt" or "callback"."""

    def alltoall(self, boxes: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Give every member arrays of its own.

        Parameters
        ----------
        boxes : sequence of sequence of ndarray
            What goes to each member, by rank; the own box comes back as it is.

        Returns
        -------
        list of list of ndarray
            What has come from each member, by rank; not to be written to.
        """

    def allgather(self, value: Value) -> list[Value]:
        """Show every member a small value.

        Parameters
        ----------
        value : numbers, text, bytes, None, NumPy scalars, and lists, tuples and dicts of them
            What the others are to see.

        Returns
        -------
        list
            What each member shows, by rank.
        """


class Links(Protocol):
    """Sends arrays between members; all of them call it, in the same order."""

    def exchange(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        """Send arrays and receive into others; done, for the host too, when it returns.

        Parameters
        ----------
        sent : sequence of sequence of device array
            What goes to each member, by rank; none to oneself.
        taken : sequence of sequence of device array
            What comes from each, of the lengths in which it is sent.
        """

    def post(self, sent: Sequence[Sequence[Any]], taken: Sequence[Sequence[Any]]) -> None:
        """Queue what `exchange` does, behind all that is queued already; nobody waits.

        Arrays are neither changed nor given back before it is done.
        """

    def gather(self, own: Any, everyone: Any) -> None:
        """Queue showing all members an array; nobody waits.

        Parameters
        ----------
        own : device array
            Of the same length for all.
        everyone : device array, as long as those of all members together
            Where they come, by rank.
        """

    def swap(self, texts: Mapping[int, bytes]) -> dict[int, bytes]:
        """Give every other member a text, and return what each has given; no GPU takes part."""

    def mark(self) -> Any:
        """Return what stands for all that is queued so far; good until the next one is asked for."""

    def wait(self, mark: Any) -> None:
        """Wait until that is done; raises if it never will be, since a member is gone."""


class SingleRank:
    """A crew of one."""

    rank = 0
    size = 1
    on_device = True
    wish: str | None = None

    def alltoall(self, boxes: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Return the own box."""
        return [list(boxes[0])]

    def allgather(self, value: Value) -> list[Value]:
        """Return the own value."""
        return [value]


def total(comm: Communicator, number: int | np.integer[Any]) -> int:
    """Return the sum of one number of each member.

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
    """Return a value as it looks after a journey: plain Python, sequences as tuples.

    Parameters
    ----------
    value : object
        What `Communicator.allgather` takes.

    Returns
    -------
    object
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value
