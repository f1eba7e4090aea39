"""What ranks send each other after a superstep: the states of vertices that others hold as ghosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["BoundaryUpdate", "ChooseWay", "Entry", "Way"]

# What a message consists of: vertices that have changed, all of a boundary, a bit for each, all owned ones
Way = Literal["vr", "ms", "bits", "all"]


@dataclass(frozen=True)
class BoundaryUpdate:
    """A message from one partition to another.

    Attributes
    ----------
    places : ndarray or None
        Indices of the vertices in the message, among those that the receiver holds as ghosts; None
        for all of them.
    fields : tuple of ndarray
        The values of each field.
    active : ndarray of bool or None
        Which of the vertices are active; None if all are.
    useful : int
        Number of vertices that changed, or became active, in the last superstep.
    bits : ndarray of uint8 or None
        Replaces `places`: a bit for each vertex that the receiver holds.  Then each array of `fields`
        has one entry, the value of all vertices whose bit is set.
    of_all : bool
        Whether the message has all vertices that the sender owns, in its order, and not only those
        that the receiver holds.
    """

    places: npt.NDArray[Any] | None
    fields: tuple[npt.NDArray[Any], ...]
    active: npt.NDArray[np.bool_] | None = None
    useful: int = 0
    bits: npt.NDArray[np.uint8] | None = None
    of_all: bool = False

    @property
    def way(self) -> Way:
        """What the message consists of."""
        if self.of_all:
            return "all"
        if self.bits is not None:
            return "bits"
        return "ms" if self.places is None else "vr"

    @property
    def arrays(self) -> list[npt.NDArray[Any]]:
        """The arrays that are sent: fields, then places and activity if present."""
        optional = (self.places, self.active, self.bits)
        return [*self.fields, *(array for array in optional if array is not None)]

    def unfolded(self) -> BoundaryUpdate:
        """Return a message with `bits` as one with `places`; any other is returned unchanged."""
        if self.bits is None:
            return self
        places = np.flatnonzero(np.unpackbits(self.bits))
        fields = tuple(np.repeat(column, len(places)) for column in self.fields)
        return BoundaryUpdate(places, fields, None, self.useful)

    @property
    def nbytes(self) -> int:
        """Bytes sent."""
        return sum(int(array.nbytes) for array in self.arrays)

    @property
    def width(self) -> int:
        """Bytes of the values of one vertex."""
        return sum(array.dtype.itemsize for array in self.fields)

    def only(self, places: npt.NDArray[Any]) -> BoundaryUpdate:
        """Return the part of a message with all vertices that concerns some of them.

        Parameters
        ----------
        places : array of int
            Indices of the vertices, in the requested order.
        """
        active = None if self.active is None else self.active[places]
        fields = tuple(column[places] for column in self.fields)
        return BoundaryUpdate(None, fields, active, self.useful)


class Entry(NamedTuple):
    """Bytes of one vertex in a message.

    Attributes
    ----------
    width : int
        Bytes of its values.
    place : int
        Bytes of its index, if the message lists vertices.
    flag : int
        Bytes of its active flag, if the message does not list vertices.
    """

    width: int
    place: int = 4
    flag: int = 0


class ChooseWay(Protocol):
    """Chooses what a message consists of."""

    def __call__(self, useful: int, count: int, entry: Entry, alike: Callable[[], bool]) -> Way:
        """Return "vr", "ms" or "bits".

        Parameters
        ----------
        useful, count : int
            Number of changed vertices of the boundary, and of all its vertices.
        entry : Entry
        alike : callable
            Returns whether all changed vertices have the same values.
        """
