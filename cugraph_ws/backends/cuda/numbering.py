"""Vertex ids ↔ vertex numbers on the device: the same numbers as on the host.

Integers that are 0 … n-1 are their own numbers and are not changed.  Integers in a range that is
not much larger than the edge list are compacted by a table over the range.  All other integers are
found by bisection in the sorted distinct ids.  Ids that only a dataframe library can compare are in
`cudf_frames`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.grouping import Ends, number_dtype, run
from cugraph_ws.backends.cuda.rows import count_degrees
from cugraph_ws.errors import InputError
from cugraph_ws.graph.adjacency import index_dtype
from cugraph_ws.graph.numbering import Renumbered
from cugraph_ws.runtime.arrays import count_on_device
from cugraph_ws.runtime.device import device

__all__ = [
    "DeviceNumbered",
    "DeviceNumbering",
    "Integers",
    "look_up",
    "mark_present",
    "name_vertices",
    "number_device_integers",
    "number_device_rows",
    "ranks_of",
    "read_scalars",
    "signed",
]

DeviceArray = Any  # of the device's array library
Column = Any  # a device array, or text as `cudf_frames` codes it

KEPT_IDS = 1 << 14  # most ids in the host's sample
READ_IDS = 2  # most ids that the host looks up itself, with a transfer for each

_INT64_MAX = np.iinfo(np.int64).max
_BLOCK = 256
_CHUNK = 1 << 26  # rows that are looked up at once, which bounds the memory for 64-bit places


class DeviceNumbering(Protocol):
    """Maps vertex ids to vertex numbers and back."""

    renumbered: Renumbered

    @property
    def size(self) -> int:
        """Number of vertices."""

    @property
    def nbytes(self) -> int:
        """Bytes of the ids."""

    def encode(self, columns: Sequence[Column]) -> DeviceArray:
        """Return the numbers, int64, of ids given by a column for each part; -1 if unknown."""

    def decode(self, numbers: DeviceArray) -> list[Column]:
        """Return the ids of vertex numbers, one column for each part; arbitrary ids for -1."""


@dataclass
class DeviceNumbered:
    """Columns of ids as integers on the device, and how an integer becomes a vertex number.

    Attributes
    ----------
    columns : list of device arrays
        int32 or int64; the caller's memory if no conversion is needed.
    low : int
        Least id.
    table : device array or None
        The number of integer i is `table[i - low]`; without a table, `i - low`.
    numbering : DeviceNumbering
    counts : device array or None
        How many arcs lead to each integer from `low` on, if counted.
    """

    columns: list[DeviceArray]
    low: int
    table: DeviceArray | None
    numbering: DeviceNumbering
    counts: DeviceArray | None = None

    def ends(self) -> Ends:
        """Return columns 0 and 1 as sources and destinations of edges, and drop them here.

        If there are few distinct integers per edge, the columns are not translated, and the table is
        returned with them.
        """
        sources, destinations = self.columns[:2]
        if self.table is None or len(self.table) <= len(sources):
            self.columns[:2] = [None, None]
            numbering = self.numbering.keys if isinstance(self.numbering, Pairs) else self.numbering
            ids = numbering.ids if isinstance(numbering, Integers) else None
            return Ends(destinations, sources, self.low, self.table, ids, self.counts)
        del sources, destinations
        pair = self.take_numbers()
        return Ends(pair.pop(), pair.pop())

    def take_numbers(self) -> list[DeviceArray]:
        """Return the vertex numbers of columns 0 and 1; drop each column as soon as it is read."""
        pair = []
        for which in range(2):
            pair.append(self.numbers(which))
            self.columns[which] = None
        return pair

    def numbers(self, which: int) -> DeviceArray:
        """Return the vertex numbers of column `which`, int32 or int64."""
        column = self.columns[which]
        if self.table is None and self.low == 0:
            return column
        dtype = index_dtype(self.numbering.size)
        numbers = device().xp.empty(len(column), dtype)
        look_up(column, self.low, self.table, numbers)
        return numbers


@dataclass
class Integers:
    """Ids that are integers: 0 … size-1, or `ids`, distinct and ascending.

    Attributes
    ----------
    ids : device array or None
        None if every id is its own number.
    size : int
        Number of vertices.
    renumbered : {"no", "compacted", "sorted"}
        See `GraphReport`.
    """

    ids: DeviceArray | None
    size: int
    renumbered: Renumbered

    @property
    def nbytes(self) -> int:
        """Bytes of the ids."""
        return 0 if self.ids is None else int(self.ids.nbytes)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """Least and greatest id; 0 and -1 if there are none."""
        if self.ids is None or not self.size:
            return 0, self.size - 1
        ends = device().to_host(self.ids[:: max(1, self.size - 1)])
        return int(ends[0]), int(ends[-1])

    @property
    def _stride(self) -> int:
        """Number of ids per id in the host's sample."""
        return max(1, -(-self.size // KEPT_IDS))

    @cached_property
    def _sample(self) -> npt.NDArray[Any]:
        """Every `_stride`-th id, on the host."""
        assert self.ids is not None
        return device().to_host(self.ids[:: self._stride])

    def find(self, wanted: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the numbers of a few ids on the host; -1 if unknown.

        The GPU looks up only ids between the least and the greatest; of a few ids that is often none.
        """
        numbers = np.full(len(wanted), -1, np.int64)
        lowest, highest = self.ends
        near = np.flatnonzero((wanted >= lowest) & (wanted <= highest))
        if self.ids is None:
            numbers[near] = wanted[near]
        elif 0 < len(near) <= READ_IDS:
            numbers[near] = [self._look(number, self.ids) for number in wanted[near]]
        elif len(near):
            gpu = device()
            places = gpu.xp.empty(len(near), np.int64)
            asked = gpu.xp.asarray(wanted[near].astype(self.ids.dtype))
            run(
                gpu, "find_ids", len(near), asked, len(near), self.ids, self.size, places,
                module="ranks",
            )  # fmt: skip
            numbers[near] = gpu.to_host(places)
        return numbers

    def _look(self, wanted: Any, ids: DeviceArray) -> int:
        """Return the number of an id that is between the least and the greatest, -1 if unknown.

        It reads the ids between two ids of the sample: one transfer, where a kernel would take two
        and a launch.
        """
        same = wanted.astype(ids.dtype)
        first = self._stride * (int(self._sample.searchsorted(same, "right")) - 1)
        near = device().to_host(ids[first : first + self._stride])
        place = int(near.searchsorted(same))
        return first + place if place < len(near) and near[place] == same else -1

    def encode(self, columns: Sequence[Column]) -> DeviceArray:
        """Return the numbers of ids of any integer dtype; -1 if unknown."""
        xp, (wanted,) = device().xp, columns
        if not self.size:
            return xp.full(len(wanted), -1, np.int64)
        lowest, highest = self.ends
        # Compared in the given dtype: a mix of int64 and uint64 would become float64.
        limits = np.iinfo(wanted.dtype)
        if lowest > limits.max or highest < limits.min:
            return xp.full(len(wanted), -1, np.int64)
        least = wanted.dtype.type(max(lowest, int(limits.min)))
        most = wanted.dtype.type(min(highest, int(limits.max)))
        fits = (wanted >= least) & (wanted <= most)
        if self.ids is None:
            return xp.where(fits, wanted.astype(np.int64), -1)
        same = wanted.astype(self.ids.dtype)
        places = xp.minimum(xp.searchsorted(self.ids, same), self.size - 1)
        return xp.where(fits & (self.ids[places] == same), places, -1).astype(np.int64)

    def decode(self, numbers: DeviceArray) -> list[Column]:
        """Look the ids up."""
        if self.ids is None:
            return [numbers]
        return [self.ids[numbers]]  # -1 gives the last id


@dataclass
class Pairs:
    """Ids of several columns, in lexicographic order: pairs of all columns but the last, and the last.

    Attributes
    ----------
    head, last : DeviceNumbering
        Numberings of the two parts.
    keys : Integers
        The pairs that occur as ids, as head × (size of last) + last.
    """

    head: DeviceNumbering
    last: DeviceNumbering
    keys: Integers
    renumbered: Renumbered = "sorted"

    @property
    def size(self) -> int:
        """Number of ids."""
        return self.keys.size

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        return self.head.nbytes + self.last.nbytes + self.keys.nbytes

    def encode(self, columns: Sequence[Column]) -> DeviceArray:
        """Find the parts, then the pairs."""
        head, last = self.head.encode(columns[:-1]), self.last.encode(columns[-1:])
        numbers = self.keys.encode([head * self.last.size + last])
        return device().xp.where((head >= 0) & (last >= 0), numbers, -1)

    def decode(self, numbers: DeviceArray) -> list[Column]:
        """Look the pairs up, then their parts."""
        (keys,) = self.keys.decode(device().xp.maximum(numbers, 0))
        width = max(1, self.last.size)
        return [*self.head.decode(keys // width), *self.last.decode(keys % width)]


def look_up(column: DeviceArray, low: int, table: DeviceArray | None, numbers: DeviceArray) -> None:
    """Write the vertex numbers of integers.

    Parameters
    ----------
    column : device array of integers, shape (rows,)
    low : int
        The least integer.
    table : device array of int32 or int64, optional
        The number of integer i is `table[i - low]`; without a table, `i - low`.
    numbers : device array of int32 or int64, shape (rows,)
        Written.
    """
    for first in range(0, len(column), _CHUNK):  # the shifted ids take 64 bits each
        part = column[first : first + _CHUNK].astype(np.int64) - low
        numbers[first : first + _CHUNK] = part if table is None else table[part]


def name_vertices(
    numbers: DeviceArray,
    ids: DeviceArray,
    mask: DeviceArray,
    *,
    low: int = 0,
    owned: int | None = None,
    ranks: tuple[DeviceArray, DeviceArray] | None = None,
) -> tuple[DeviceArray, int, int]:
    """Return the ids of vertex numbers, in one pass over them.

    Parameters
    ----------
    numbers : device array of int32 or int64, shape (rows,)
        A negative number means no vertex.
    ids : device array, shape (places,)
    mask : device array of uint32, at least a word for 32 rows
        Written: a bit for each row with a vertex.
    low, owned : int
        The first `owned` ids have the numbers from `low` on; by default all ids have, from 0.
    ranks : pair of device arrays, optional
        A bitmap of the numbers of the other ids, and how many bits are set up to the end of each
        word; without it there are no other ids.

    Returns
    -------
    named : device array, shape (rows,)
        Any id for a row without a vertex, or with a vertex that is not in `ids`.
    missing, strange : int
        Numbers of rows without a vertex, and of rows with a vertex that is not in `ids`.
    """
    gpu, rows = device(), len(numbers)
    xp = gpu.xp
    named, counts = xp.empty(rows, ids.dtype), xp.zeros(2, np.int64)
    owned = len(ids) if owned is None else owned
    words, ends = (xp.empty(0, np.uint32), xp.empty(0, np.int32)) if ranks is None else ranks
    if not len(ids):
        ids = xp.zeros(1, ids.dtype)
    run(
        gpu, "name_vertices", rows, numbers, rows, low, owned, words, ends, ids, named, mask, counts,
        module="ranks",
    )  # fmt: skip
    missing, strange = gpu.to_host(counts).tolist()
    return named, missing, strange


def ranks_of(bits: DeviceArray, most: int) -> DeviceArray:
    """Return how many bits are set up to the end of each word; see `kernels/cuda/ranks.py`.

    Parameters
    ----------
    bits : device array of uint32, shape (words,)
    most : int
        An upper bound of the number of bits that are set.

    Returns
    -------
    device array of int32 or int64, shape (words,)
    """
    gpu = device()
    counts = gpu.xp.empty(len(bits), np.int32)
    run(gpu, "count_bits", len(bits), bits, len(bits), counts, module="ranks")
    return gpu.xp.cumsum(counts, dtype=number_dtype(most))


def read_scalars(*scalars: DeviceArray) -> list[Any]:
    """Copy zero-dimensional arrays of one dtype to the host in a single transfer.

    Parameters
    ----------
    *scalars : device arrays of shape ()

    Returns
    -------
    list of int, float or bool
    """
    gpu = device()
    return list(gpu.to_host(gpu.xp.stack(scalars)).tolist())


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
        for first in range(0, len(column), _CHUNK):
            part = column[first : first + _CHUNK]
            numbers[first : first + _CHUNK] = xp.searchsorted(ids, part)
        numbered.append(numbers)
    return DeviceNumbered(numbered, 0, None, Integers(ids, len(ids), "sorted"))
