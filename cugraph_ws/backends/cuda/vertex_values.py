"""Numbers that are given for vertices in a frame on the device, put in the places of their vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cugraph_ws.backends.cuda.columns import DeviceColumn, widened
from cugraph_ws.backends.cuda.grouping import run
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column
from cugraph_ws.frames.values import cast_numbers
from cugraph_ws.runtime.device import device

__all__ = ["Places", "plain_rows"]

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
        has_value: DeviceArray,
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
        has_value : device array of bool, shape (≥ size,)
            Set where a number is written.
        low : int

        Returns
        -------
        outside, unknown, nans : int
            Rows whose id is not between the least and the greatest, rows with other ids that no vertex has,
            and rows whose number is NaN.  None instead, and nothing is written, if the ids cannot be
            compared with the vertices' as int64.
        """
        gpu = device()
        if not self.takes(wanted):
            return None
        if not len(wanted):
            return 0, 0, 0
        wanted = _signed(gpu.xp.ascontiguousarray(widened(wanted)))
        ids = gpu.xp.empty(1, np.int32) if self.ids is None else _signed(self.ids)
        numbers, kind = gpu.xp.ascontiguousarray(numbers), numbers.dtype
        bits = np.dtype(f"u{kind.itemsize}")
        sign, infinity = np.uint64(0), _ALL_BITS
        if kind.kind == "f":
            sign = np.uint64(1 << (8 * kind.itemsize - 1))
            infinity = np.uint64(np.array(np.inf, kind).view(bits))
        counts = gpu.xp.zeros(3, np.int64)
        run(
            gpu, "place_values", len(wanted), wanted, len(wanted), low, self.least, self.most, ids,
            self.size, numbers.view(bits), sign, infinity, values.view(bits), has_value.view(np.uint8),
            counts, module="vertex_values",
        )  # fmt: skip
        outside, unknown, nans = gpu.to_host(counts).tolist()
        return outside, unknown, nans


def _signed(ids: DeviceArray) -> DeviceArray:
    """Return integers in a dtype that int64 holds; those from 2⁶³ on become negative."""
    return ids.view(np.int64) if ids.dtype == np.uint64 else ids


class Columns(Protocol):
    """A frame, or a partition of one."""

    def column(self, name: str, argument: str) -> Column:
        """Read a column; see `Frame.column`."""


def plain_rows(
    frame: Columns, names: tuple[str, str], argument: str, dtype: np.dtype[Any]
) -> tuple[DeviceArray, DeviceArray] | None:
    """Return the ids and the numbers of a frame on the device, for `Places.write`.

    Parameters
    ----------
    frame : frame or partition
    names : pair of str
        The columns of ids and of numbers.
    argument : str
        The caller's name for the frame.
    dtype : dtype
        Of the numbers; they are not copied if they have it, and then NaN is left for `Places.write` to find.

    Returns
    -------
    ids : device array of integers
    numbers : device array of `dtype`
        None instead of both if the ids are no integers without nulls, or numbers do not fit the dtype.
    """
    try:
        ids, numbers = (frame.column(name, argument) for name in names)
        assert isinstance(ids, DeviceColumn)
        assert isinstance(numbers, DeviceColumn)
        if not ids.is_array or ids.values.dtype.kind not in "iu":
            return None
        same = numbers.is_array and numbers.values.dtype == dtype
        return ids.values, numbers.values if same else cast_numbers(numbers, dtype)
    except InputError:
        return None
