"""Assign vertex numbers to ids on the device: the same numbers as on the host.

Integers that are 0 … n-1 are their own numbers and are not changed.  Integers in a range that is
not much larger than the edge list are compacted by a table over the range.  All other integers are
found by bisection in the sorted distinct ids.  What ids with numbers can do is in `numbered_ids`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.grouping import run
from cugraph_ws.backends.cuda.numbered_ids import CHUNK, DeviceNumbered, Integers, Pairs
from cugraph_ws.backends.cuda.rows import count_degrees
from cugraph_ws.errors import InputError
from cugraph_ws.graph.adjacency import index_dtype
from cugraph_ws.runtime.arrays import count_on_device, read_scalars
from cugraph_ws.runtime.device import device

__all__ = ["mark_present", "number_device_integers", "number_device_rows", "signed"]

DeviceArray = Any  # of the device's array library
Column = Any  # a device array, or text as `cudf_frames` codes it

_INT64_MAX = np.iinfo(np.int64).max
_BLOCK = 256


def number_device_rows(
    columns: Sequence[Sequence[Column]],
    *,
    dense_up_to: int,
    number_others: Callable[[Sequence[Column]], DeviceNumbered],
    both: bool,
) -> DeviceNumbered:
    """Assign numbers to ids of one or several parts.

    Parameters
    ----------
    columns : sequence of sequences of columns
        For every part of an id, its columns: sources, destinations and, if given, a vertex frame's.
        All columns of a part have one type.
    dense_up_to : int
        Largest range of integers to number by a table over the range.
    number_others : callable
        Numbers columns that are not arrays of integers.
    both : bool
        Whether edges go both ways; affects the degrees, if they are counted.

    Returns
    -------
    DeviceNumbered
        With one column of integers for the sources, the destinations and, if given, the vertex
        frame.

    Raises
    ------
    InputError
        If the ids' parts have more combinations than int64 counts.
    """

    def number(part: Sequence[Column]) -> DeviceNumbered:
        if all(isinstance(column, device().xp.ndarray) for column in part):
            return number_device_integers(part, dense_up_to=dense_up_to, both=both)
        return number_others(part)

    head = number(columns[0])
    for part in columns[1:]:
        last = number(part)
        width = last.numbering.size
        if head.numbering.size * width > _INT64_MAX:
            raise InputError(
                f"ids of several columns: {head.numbering.size:,} times {width:,} combinations are "
                f"more than int64 counts; combine the columns into one of strings"
            )
        keys = [
            head.numbers(which).astype(np.int64) * width + last.numbers(which)
            for which in range(len(part))
        ]
        pairs = number_device_integers(keys, dense_up_to=dense_up_to, both=both)
        assert isinstance(pairs.numbering, Integers)
        pairs.numbering = Pairs(head.numbering, last.numbering, pairs.numbering)
        head = pairs
    return head


def number_device_integers(
    columns: Sequence[DeviceArray], *, dense_up_to: int, both: bool
) -> DeviceNumbered:
    """Assign numbers to integers of one dtype; see `number_device_rows`.

    If the range is not larger than the edge list, degrees are counted too.  Then ids with a
    positive degree need not be marked.
    """
    xp = device().xp
    filled = [column for column in columns if len(column)]
    if not filled:
        return DeviceNumbered(
            [xp.empty(0, np.int32) for _ in columns], 0, None, Integers(None, 0, "no")
        )
    dtype = filled[0].dtype
    low, high = _range_of(filled)
    span = high - low + 1
    if high > _INT64_MAX or span > max(dense_up_to, 1):
        return _number_by_sorting(columns)
    wide = dtype.itemsize == 8 or dtype == np.uint32
    columns = [signed(column, np.dtype(np.int64 if wide else np.int32)) for column in columns]
    counts, unseen = None, columns
    if span <= len(columns[0]):
        sources, destinations, *more = columns
        counts = count_degrees(device(), destinations, sources, both=both, low=low, span=span)
        unseen = more if both else [sources, *more]
    present = xp.zeros(span, np.bool_) if counts is None else counts > 0
    for column in unseen:
        mark_present(present, column, low)
    size = int(device().to_host(count_on_device(present)))
    if size == span:
        ids = None if low == 0 else xp.arange(low, high + 1, dtype=dtype)
        numbering = Integers(ids, size, "no" if low == 0 else "compacted")
        return DeviceNumbered(columns, low, None, numbering, counts)
    table = xp.cumsum(present, dtype=index_dtype(size))
    table -= 1
    ids = (xp.flatnonzero(present) + low).astype(dtype)
    return DeviceNumbered(columns, low, table, Integers(ids, size, "compacted"), counts)


def _range_of(columns: Sequence[DeviceArray]) -> tuple[int, int]:
    """Return the least and the greatest integer of columns of one dtype, none of them empty."""
    gpu = device()
    if columns[0].dtype not in (np.int32, np.uint32, np.int64):  # the kernel compares as int64
        ends = read_scalars(
            *[column.min() for column in columns], *[column.max() for column in columns]
        )
        return min(ends), max(ends)
    limits = np.iinfo(np.int64)
    replies = gpu.xp.asarray(np.array([limits.max, limits.min], np.int64))
    for column in columns:
        rows = gpu.xp.ascontiguousarray(column)
        run(gpu, "find_range", len(rows), rows, len(rows), replies, module="split")
    low, high = gpu.to_host(replies).tolist()
    return low, high


def signed(column: DeviceArray, dtype: np.dtype[Any]) -> DeviceArray:
    """Return integers that fit `dtype` in that dtype; without a copy if the width is the same.

    Parameters
    ----------
    column : device array of integers
    dtype : dtype
        int32 or int64.

    Returns
    -------
    device array of `dtype`
    """
    if column.dtype.itemsize == dtype.itemsize and column.flags.c_contiguous:
        return column.view(dtype)
    return device().xp.ascontiguousarray(column, dtype=dtype)


def mark_present(present: DeviceArray, column: DeviceArray, low: int) -> None:
    """Mark which of the integers `low`, low + 1, … occur.

    Parameters
    ----------
    present : device array of bool
        Written.
    column : device array of int32 or int64
        Integers from `low` on, within `present`.
    low : int
    """
    gpu, rows = device(), len(column)
    if rows:
        gpu.module("numbering").launch(
            "mark_present",
            gpu.blocks_for(rows, _BLOCK),
            _BLOCK,
            column,
            np.int64(low),
            np.int64(rows),
            present,
        )


def _number_by_sorting(columns: Sequence[DeviceArray]) -> DeviceNumbered:
    """Assign numbers to integers by bisection in the sorted distinct ones."""
    xp = device().xp
    ids = xp.unique(xp.concatenate([xp.unique(column) for column in columns]))
    dtype = index_dtype(len(ids))
    numbered = []
    for column in columns:
        numbers = xp.empty(len(column), dtype)
        for first in range(0, len(column), CHUNK):
            part = column[first : first + CHUNK]
            numbers[first : first + CHUNK] = xp.searchsorted(ids, part)
        numbered.append(numbers)
    return DeviceNumbered(numbered, 0, None, Integers(ids, len(ids), "sorted"))
