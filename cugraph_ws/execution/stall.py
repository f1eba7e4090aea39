"""A watchdog for runs that make no progress: nothing is active, or states repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

__all__ = ["FIRST_COMPARED", "IDLE_SUPERSTEPS", "Repetition"]

IDLE_SUPERSTEPS = 100  # supersteps without activity after which a run is given up
FIRST_COMPARED = 1024  # superstep from which states are compared


class Repetition:
    """Detects repeated states, by Brent's algorithm (1980).

    If a superstep depends only on the states after the previous one, equal states are followed by
    equal states, so states that repeat once repeat forever.  The states of the last superstep whose
    number is a power of two are kept, and compared with those of each later superstep.
    """

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._at = 0

    def period(self, number: int, columns: Sequence[npt.NDArray[Any]]) -> int | None:
        """Return the number of supersteps after which these states repeat; None if they do not.

        Parameters
        ----------
        number : int
            Number of supersteps so far.
        columns : sequence of ndarray
            The states.

        Returns
        -------
        int or None
        """
        if self._kept and all(
            column.tobytes() == bytes_before
            for column, bytes_before in zip(columns, self._kept, strict=True)
        ):
            return number - self._at
        if not self._kept or number >= 2 * self._at:
            self._kept = [column.tobytes() for column in columns]
            self._at = number
        return None
