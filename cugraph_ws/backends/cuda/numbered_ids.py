"""Vertex ids ↔ vertex numbers on the device: ids that have numbers, looked up and named.

Integers that are 0 … n-1 are their own numbers.  All others are looked up in a table over their range,
or by bisection in the sorted distinct ids.  `numbering` chooses; ids that only a dataframe library can
compare are in `cudf_frames`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.grouping import Ends, number_dtype, run
from cugraph_ws.graph.adjacency import index_dtype
from cugraph_ws.graph.numbering import Renumbered
from cugraph_ws.runtime.device import device

__all__ = [
    "CHUNK",
    "DeviceNumbered",
    "DeviceNumbering",
    "Integers",
    "Pairs",
    "look_up",
    "name_vertices",
    "ranks_of",
]

DeviceArray = Any  # of the device's array library
Column = Any  # a device array, or text as `cudf_frames` codes it

KEPT_IDS = 1 << 14  # most ids in the host's sample
READ_IDS = 2  # most ids that the host looks up itself, with a transfer for each
CHUNK = 1 << 26  # rows that are looked up at once, which bounds the memory for 64-bit places


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

    def in_each_head(self, tails: DeviceArray) -> DeviceArray:
        """Return the numbers of the pairs of every head with each of some last parts; -1 where unknown."""
        xp = device().xp
        heads = xp.arange(self.head.size)[:, None]
        numbers = self.keys.encode([(heads * self.last.size + tails).ravel()])
        return xp.where(xp.tile(tails, self.head.size) >= 0, numbers, -1)

    def firsts(self) -> DeviceArray:
        """Return the number of the first pair of every head, and the number of all pairs."""
        xp = device().xp
        bounds = xp.arange(self.head.size + 1) * self.last.size
        return bounds if self.keys.ids is None else xp.searchsorted(self.keys.ids, bounds)

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
    for first in range(0, len(column), CHUNK):  # the shifted ids take 64 bits each
        part = column[first : first + CHUNK].astype(np.int64) - low
        numbers[first : first + CHUNK] = part if table is None else table[part]


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
