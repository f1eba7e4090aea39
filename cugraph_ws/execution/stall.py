"""A watchdog for runs that make no progress: nothing is active, or the same states come again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

__all__ = ["FIRST_COMPARED", "IDLE_SUPERSTEPS", "Repetition"]

IDLE_SUPERSTEPS = 100  # in which no vertex was active and no edge read, before a run is given up
FIRST_COMPARED = 1024  # supersteps before which it is not worth while to compare states


class Repetition:
    """Notices states that come again, by Brent's algorithm (1980).

    A superstep that reads nothing but the states that the last one left leads from equal states to
    equal states: once they have come again, they will do so for ever.  The states of the last superstep
    whose number is a power of two are kept, and each later superstep's are compared with them.
    """

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._at = 0

    def period(self, number: int, columns: Sequence[npt.NDArray[Any]]) -> int | None:
        """Return after how many supersteps these states have come again; None if they have not.

        Parameters
        ----------
        number : int
            Supersteps so far.
        columns : sequence of ndarray
            The states.

        Returns
        -------
        int or None
        """
        if self._kept and all(
            column.tobytes() == kept for column, kept in zip(columns, self._kept, strict=True)
        ):
            return number - self._at
        if not self._kept or number >= 2 * self._at:
            self._kept = [column.tobytes() for column in columns]
            self._at = number
        return None
