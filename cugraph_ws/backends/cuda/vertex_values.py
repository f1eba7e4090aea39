"""Numbers that are given for vertices in a frame on the device, put in the places of their vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.columns import DeviceColumn, widened
from cugraph_ws.backends.cuda.grouping import run
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column
from cugraph_ws.frames.values import cast_numbers
from cugraph_ws.runtime.device import device

__all__ = ["Places", "integers_of", "numbers_of"]

DeviceArray = Any  # CuPy's or NumPy's

_INT64_MAX = np.iinfo(np.int64).max
_ALL_BITS = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Places:
    """Where the vertices of integer ids are.

    Attributes
    ----------
    ids : device array of integers, shape (size,), or None
        The ids by place, ascending; None if place i has the id `least` + i.
    size : int
    least, most : int
        The least and the greatest id; of no vertices, `most` is less.
    """

    ids: DeviceArray | None
    size: int
    least: int
    most: int

    def takes(self, wanted: DeviceArray) -> bool:
        """Return whether `write` can compare ids with these: both as int64."""
        return self.most <= _INT64_MAX and (self.least >= 0 or wanted.dtype != np.uint64)

    def write(
        self,
        wanted: DeviceArray,
        numbers: DeviceArray,
        values: DeviceArray,
        given: DeviceArray,
        *,
        low: int = 0,
    ) -> tuple[int, int, int] | None:
        """Write each row's number to the place of the vertex whose id it has; see `kernels/cuda/vertex_values.py`.

        Parameters
        ----------
        wanted : device array of integers, shape (rows,)
            The ids, less `low`.
        numbers : device array, shape (rows,)
        values : device array of the same dtype, shape (≥ size,)
            Written.
        given : device array of bool, shape (≥ size,)
            Set where a number is written.
        low : int

        Returns
        -------
        outside, unknown, nans : int
            Rows whose id is not between the least and the greatest, rows with other ids that no vertex has,
            and rows whose number is NaN.  None instead, and nothing is written, if the ids cannot be
            compared with the vertices' as int64.
        """
        here = device()
        if not self.takes(wanted):
            return None
        if not len(wanted):
            return 0, 0, 0
        wanted = _signed(here.xp.ascontiguousarray(widened(wanted)))
        ids = here.xp.empty(1, np.int32) if self.ids is None else _signed(self.ids)
        numbers, kind = here.xp.ascontiguousarray(numbers), numbers.dtype
        bits = np.dtype(f"u{kind.itemsize}")
        sign, infinity = np.uint64(0), _ALL_BITS
        if kind.kind == "f":
            sign = np.uint64(1 << (8 * kind.itemsize - 1))
            infinity = np.uint64(np.array(np.inf, kind).view(bits))
        counts = here.xp.zeros(3, np.int64)
        run(
            here, "place_values", len(wanted), wanted, len(wanted), low, self.least, self.most, ids,
            self.size, numbers.view(bits), sign, infinity, values.view(bits), given.view(np.uint8),
            counts, module="vertex_values",
        )  # fmt: skip
        outside, unknown, nans = here.to_host(counts).tolist()
        return outside, unknown, nans


def _signed(ids: DeviceArray) -> DeviceArray:
    """Return integers in a dtype that int64 holds; those from 2⁶³ on become negative."""
    return ids.view(np.int64) if ids.dtype == np.uint64 else ids


def integers_of(column: Column) -> DeviceArray | None:
    """Return a column of integers without nulls, or None."""
    assert isinstance(column, DeviceColumn)
    return column.values if column.is_array and column.values.dtype.kind in "iu" else None


def numbers_of(column: Column, dtype: np.dtype[Any]) -> DeviceArray | None:
    """Return a column as `dtype`, without a copy if it has that dtype; None if impossible.

    NaN in a column of that dtype is left for `Places.write` to find.
    """
    assert isinstance(column, DeviceColumn)
    if column.is_array and column.values.dtype == dtype:
        return column.values
    try:
        return cast_numbers(column, dtype)
    except InputError:
        return None
