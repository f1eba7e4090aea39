"""Checks of a checkpoint's arrays.

Compiled code does not check its arrays and uses some as indices.  So a loop states the type, length
and range of each array that it resumes from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import InputError

__all__ = ["SavedState"]

Array = npt.NDArray[Any]


class SavedState:
    """The arrays of a checkpoint, each checked when it is read.

    Parameters
    ----------
    arrays : mapping of ndarray, each of shape (length,)
        By name.
    origin : str
        The argument and the file, for error messages.
    """

    def __init__(self, arrays: Mapping[str, Array], origin: str) -> None:
        self._arrays, self._origin = arrays, origin
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def integers(self, name: str, length: int, least: Any, most: Any) -> Array:
        """Return signed integers in a range.

        Parameters
        ----------
        name : str
        length : int
        least, most : int, or ndarray of shape (length,)
            The inclusive range, for all entries or for each.

        Returns
        -------
        ndarray of int, shape (length,)

        Raises
        ------
        InputError
            If the array is missing or does not match.
        """
        array = self._of_kind(name, length, "i", "integers")
        outside = (array < least) | (array > most)
        if outside.any():
            place = int(np.argmax(outside))
            low, high = (int(np.broadcast_to(end, array.shape)[place]) for end in (least, most))
            self.refuse(name, f"has {array[place]} at row {place}, outside {low} to {high}")
        return array

    def number(self, name: str, least: int, most: int) -> int:
        """Return the only integer of an array of length 1; see `integers`."""
        return int(self.integers(name, 1, least, most)[0])

    def floats(
        self, name: str, length: int, least: float = -math.inf, most: float = math.inf
    ) -> Array:
        """Return floats in a range; NaN is refused.

        Parameters
        ----------
        name : str
        length : int
        least, most : float
            The inclusive range.

        Returns
        -------
        ndarray of float64, shape (length,)

        Raises
        ------
        InputError
            If the array is missing or does not match.
        """
        array = self._of_kind(name, length, "f", "floats")
        outside = ~((array >= least) & (array <= most))
        if outside.any():
            place = int(np.argmax(outside))
            self.refuse(name, f"has {array[place]} at row {place}, outside {least} to {most}")
        return array

    def flags(self, name: str, length: int) -> Array:
        """Return booleans; see `integers`."""
        return self._of_kind(name, length, "b", "booleans")

    def like(self, name: str, length: int, dtype: Any) -> Array:
        """Return an array whose values fit a dtype.

        Parameters
        ----------
        name : str
        length : int
        dtype : dtype
            The dtype that the values are converted to later.

        Returns
        -------
        ndarray, shape (length,)

        Raises
        ------
        InputError
            If the array is missing or its values do not fit.
        """
        dtype = np.dtype(dtype)
        array = self._of_kind(name, length, dtype.kind, f"values for {dtype}")
        if dtype.kind == "i" and len(array):
            limits = np.iinfo(dtype)
            if not limits.min <= int(array.min()) <= int(array.max()) <= limits.max:
                self.refuse(name, f"has a number that {dtype} does not hold")
        return array

    def any(self, name: str, length: int) -> Array:
        """Return an array of a length and any type; see `integers`."""
        self._asked.add(name)
        if name not in self._arrays:
            self.refuse(name, "is missing")
        array = self._arrays[name]
        if array.ndim != 1 or len(array) != length:
            self.refuse(name, f"has {len(array)} rows, not {length}")
        return array

    def length(self, name: str) -> int:
        """Return the length of an array, 0 if it is missing; what it holds is still to be checked."""
        return len(self._arrays[name]) if name in self._arrays else 0

    def require(self, name: str, truth: Any, what: str) -> None:
        """Refuse an array unless a condition is true.

        Parameters
        ----------
        name : str
        truth : bool
        what : str
            Why it is refused: the end of the error message.

        Raises
        ------
        InputError
        """
        if not truth:
            self.refuse(name, what)

    def close(self) -> None:
        """Refuse arrays that have not been read.

        Raises
        ------
        InputError
        """
        unknown = sorted(self._arrays.keys() - self._asked)
        if unknown:
            self.refuse(unknown[0], "is not known here")

    def refuse(self, name: str, what: str) -> None:
        """Raise an error about an array.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(
            f"{self._origin}: the checkpoint's column {name!r} {what}; it was not written by such a run: "
            "resume from another checkpoint, or start again"
        )

    def _of_kind(self, name: str, length: int, kind: str, named: str) -> Array:
        array = self.any(name, length)
        if array.dtype.kind != kind:
            self.refuse(name, f"is of type {array.dtype}, not {named}")
        return array
