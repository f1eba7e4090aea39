"""Vertex ids ↔ vertex numbers 0 … n-1, in the ids' ascending order.

Integers that are 0 … n-1 already are their own numbers; integers in a range that is not much
larger than the edge list are compacted by a table over the range; anything else is numbered by
hashing it and sorting the distinct values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cugraph_ws.adjacency import index_dtype
from cugraph_ws.engines.threads import cut_evenly, number_of_threads, parallel
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cpu.build import mark_present

__all__ = [
    "DenseIntegers",
    "IdValues",
    "Numbered",
    "Numbering",
    "Renumbered",
    "SortedIntegers",
    "SortedText",
    "check_pairs",
    "number_integers",
    "number_rows",
    "number_values",
]

Array = npt.NDArray[Any]
IdValues: TypeAlias = Array | pa.ChunkedArray
Renumbered = Literal["no", "compacted", "sorted"]

_INT64_MAX = np.iinfo(np.int64).max
_NO_TABLE = np.empty(0, np.int32)


class Numbering(Protocol):
    """What knows the ids of all vertices."""

    renumbered: Renumbered

    @property
    def size(self) -> int:
        """Number of vertices."""

    @property
    def nbytes(self) -> int:
        """Bytes that the ids take."""

    def encode(self, columns: Sequence[IdValues]) -> npt.NDArray[np.int64]:
        """Return the numbers of ids given as one column for each part; -1 where unknown."""

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Return the ids of vertex numbers, one column for each part; null for -1."""


@dataclass
class Numbered:
    """Columns of ids as integers, and how an integer becomes a vertex number.

    Attributes
    ----------
    columns : list of ndarray
        One dtype, int32 or int64; may be the caller's own arrays.
    low : int
    table : ndarray
        The number of integer i is `table[i - low]`, or `i - low` itself where it is empty.
    numbering : Numbering
    """

    columns: list[Array]
    low: int
    table: Array
    numbering: Numbering

    def numbers(self, which: int) -> Array:
        """Return the vertex numbers of column `which`."""
        shifted = self.columns[which].astype(np.int64) - self.low
        return self.table[shifted] if len(self.table) else shifted


class DenseIntegers:
    """Ids that are 0 … size-1: every id is its own number."""

    renumbered: Renumbered = "no"
    nbytes = 0

    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, columns: Sequence[IdValues]) -> npt.NDArray[np.int64]:
        """Return the ids that are numbers, -1 for the others."""
        (ids,) = columns
        known = (ids >= 0) & (ids < self.size)
        numbers = np.full(len(ids), -1, np.int64)  # before -1 meets an unsigned type
        numbers[known] = ids[known]
        return numbers

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Return the numbers."""
        missing = numbers < 0
        return [pa.array(numbers, mask=missing) if missing.any() else pa.array(numbers)]


class SortedIntegers:
    """Distinct integers in ascending order; an id's number is its place."""

    def __init__(self, ids: Array, renumbered: Renumbered) -> None:
        self.ids = ids
        self.renumbered = renumbered

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the ids."""
        return self.ids.nbytes

    def encode(self, columns: Sequence[IdValues]) -> npt.NDArray[np.int64]:
        """Find the ids by bisection."""
        (ids,) = columns
        if not self.size:
            return np.full(len(ids), -1, np.int64)
        # Arrays of int64 and uint64 are compared as float64, which is not exact: leave out by
        # Python's integers what the dtype of these ids lacks, then compare in that dtype.
        fits = (ids >= int(self.ids[0])) & (ids <= int(self.ids[-1]))
        wanted = ids.astype(self.ids.dtype)
        wanted[~fits] = self.ids[0]
        places = np.searchsorted(self.ids, wanted)
        return np.where(fits & (self.ids[places] == wanted), places, -1).astype(np.int64)

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Look the ids up."""
        return [_take(pa.array(self.ids), numbers)]


class SortedText:
    """Distinct Arrow values, text or bytes, in ascending order."""

    renumbered: Renumbered = "sorted"

    def __init__(self, ids: pa.Array) -> None:
        self.ids = ids

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the ids."""
        return int(self.ids.nbytes)

    def encode(self, columns: Sequence[IdValues]) -> npt.NDArray[np.int64]:
        """Find the ids by hashing."""
        text: Any = columns[0]
        if not len(text) or not self.size:
            return np.full(len(text), -1, np.int64)
        places = pc.index_in(text.cast(self.ids.type), value_set=self.ids)
        return np.asarray(pc.fill_null(places, -1).to_numpy()).astype(np.int64)

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Look the ids up."""
        return [_take(self.ids, numbers)]


class Pairs:
    """Ids of several columns, in lexicographic order: the columns but the last, and the last."""

    renumbered: Renumbered = "sorted"

    def __init__(self, head: Numbering, last: Numbering, keys: npt.NDArray[np.int64]) -> None:
        self.head = head
        self.last = last
        self.keys = keys

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        return self.head.nbytes + self.last.nbytes + self.keys.nbytes

    def encode(self, columns: Sequence[IdValues]) -> npt.NDArray[np.int64]:
        """Find the parts, then the pairs."""
        head, last = self.head.encode(columns[:-1]), self.last.encode(columns[-1:])
        found = SortedIntegers(self.keys, "sorted").encode([head * self.last.size + last])
        return np.where((head >= 0) & (last >= 0), found, -1)

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Look the pairs up, then their parts."""
        missing = numbers < 0
        keys = self.keys[numbers] if len(self.keys) else np.zeros(len(numbers), np.int64)
        head, last = np.divmod(keys, max(1, self.last.size))
        head[missing] = last[missing] = -1
        return [*self.head.decode(head), *self.last.decode(last)]


def number_rows(columns: Sequence[Sequence[IdValues]], *, dense_up_to: int) -> Numbered:
    """Give numbers to ids of one or several parts.

    Parameters
    ----------
    columns : sequence of sequences of ndarray or pyarrow.ChunkedArray
        For every part of an id, the columns that hold it, each part of one type: sources,
        destinations, and perhaps a vertex frame's.
    dense_up_to : int
        Largest range of integers to number by a table over the range.

    Returns
    -------
    Numbered
        With a column for each that every part has.

    Raises
    ------
    InputError
        If pairs of ids' parts are too many to count.
    """
    head = number_values(columns[0], dense_up_to=dense_up_to)
    for part in columns[1:]:
        last = number_values(part, dense_up_to=dense_up_to)
        width = last.numbering.size
        check_pairs(head.numbering.size, width)
        keys = [
            head.numbers(which).astype(np.int64) * width + last.numbers(which)
            for which in range(len(part))
        ]
        pairs = number_integers(keys, dense_up_to=dense_up_to)
        (distinct,) = pairs.numbering.decode(np.arange(pairs.numbering.size))
        pairs.numbering = Pairs(head.numbering, last.numbering, distinct.to_numpy())
        head = pairs
    return head


def check_pairs(heads: int, width: int) -> None:
    """Raise InputError if pairs of two parts of ids are too many to count.

    Parameters
    ----------
    heads, width : int
        How many values either part has.

    Raises
    ------
    InputError
        With the remedy.
    """
    if heads * width > _INT64_MAX:
        raise InputError(
            f"ids of several columns: {heads:,} times {width:,} combinations are "
            f"more than int64 counts; make one column of strings of them"
        )


def number_values(columns: Sequence[IdValues], *, dense_up_to: int) -> Numbered:
    """Give numbers to ids that are single values; see `number_rows`."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return number_integers(list(columns), dense_up_to=dense_up_to)
    return _number_by_hash([column for column in columns if isinstance(column, pa.ChunkedArray)])


def number_integers(columns: Sequence[Array], *, dense_up_to: int) -> Numbered:
    """Give numbers to integers of one dtype; see `number_rows`."""
    filled = [column for column in columns if len(column)]
    if not filled:
        return Numbered([np.empty(0, np.int32) for _ in columns], 0, _NO_TABLE, DenseIntegers(0))
    low = min(int(column.min()) for column in filled)
    high = max(int(column.max()) for column in filled)
    span = high - low + 1
    if high > _INT64_MAX or span > max(dense_up_to, 1):
        return _number_by_hash([pa.chunked_array([pa.array(column)]) for column in columns])
    wide = filled[0].dtype.itemsize == 8 or filled[0].dtype == np.uint32
    columns = [_signed(column, np.dtype(np.int64 if wide else np.int32)) for column in columns]
    present = _presence(columns, low, span)
    size = int(np.count_nonzero(present))
    if size == span:
        numbering: Numbering = (
            DenseIntegers(size)
            if low == 0
            else SortedIntegers((np.arange(span) + low).astype(filled[0].dtype), "compacted")
        )
        return Numbered(columns, low, _NO_TABLE, numbering)
    table = np.cumsum(present, dtype=index_dtype(size))
    table -= 1
    ids = (np.flatnonzero(present) + low).astype(filled[0].dtype)
    return Numbered(columns, low, table, SortedIntegers(ids, "compacted"))


def _signed(column: Array, dtype: np.dtype[Any]) -> Array:
    """Return integers that fit `dtype` as such; the same memory where the width is the same."""
    if column.dtype.itemsize == dtype.itemsize and column.flags.c_contiguous:
        return _writable_alias(column.view(dtype))
    return np.ascontiguousarray(column, dtype=dtype)


class _Alias:
    """The same memory as `array`, said to be writable."""

    def __init__(self, array: Array) -> None:
        self.owner = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _writable_alias(array: Array) -> Array:
    """Return an alias that is typed as writable, for kernels that only read it.

    Numba would compile every kernel a second time for read-only columns, which pandas and Arrow
    both give out.
    """
    return array if array.flags.writeable else np.asarray(_Alias(array))


def _presence(columns: Sequence[Array], low: int, span: int) -> npt.NDArray[np.uint8]:
    """Mark which of the integers `low`, low + 1, … occur; each thread marks an array of its own."""
    most = max(len(column) for column in columns)
    threads = max(1, min(number_of_threads(), most // max(span, 1 << 16)))
    present = np.zeros((threads, span), np.uint8)
    for column in columns:
        ranges = cut_evenly(len(column), threads)
        parallel(
            mark_present,
            [(column, low, mine, *part) for mine, part in zip(present, ranges, strict=False)],
        )
    for other in present[1:]:
        present[0] |= other
    return np.asarray(present[0])


def _number_by_hash(columns: Sequence[pa.ChunkedArray]) -> Numbered:
    """Give numbers to values by their distinct ones, sorted: only those are ever compared."""
    encoded = parallel(_dictionary, [(column,) for column in columns])
    distinct = pc.unique(pa.chunked_array([_used(part) for part in encoded]))
    if pa.types.is_integer(distinct.type):
        ids = np.sort(distinct.to_numpy())
        numbering: Numbering = SortedIntegers(ids, "sorted")
        distinct = pa.array(ids)
    else:
        distinct = distinct.take(pc.sort_indices(distinct))
        numbering = SortedText(distinct)
    numbers = parallel(_ranks, [(part, distinct) for part in encoded])
    del encoded
    pa.default_memory_pool().release_unused()  # the adjacency is about to need it
    return Numbered(numbers, 0, _NO_TABLE, numbering)


def _ranks(part: pa.DictionaryArray, distinct: pa.Array) -> Array:
    """Return the place of each row's value among all distinct ones."""
    # values of a dictionary that no row has are found nowhere, and looked up by no row
    rank = pc.fill_null(pc.index_in(part.dictionary, value_set=distinct), -1).to_numpy()
    return np.asarray(rank.astype(index_dtype(len(distinct)))[part.indices.to_numpy()])


def _dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column as codes into a dictionary, text with 64-bit offsets."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    wide = pa.large_binary() if _is_bytes(kind) else pa.large_string()
    if pa.types.is_dictionary(column.type):
        part = column.unify_dictionaries().combine_chunks()
    elif pa.types.is_integer(kind):
        part = pc.dictionary_encode(column).combine_chunks()
    else:
        part = pc.dictionary_encode(column.cast(wide)).combine_chunks()
    if pa.types.is_integer(kind):
        return part
    return pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(wide))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _used(part: pa.DictionaryArray) -> pa.Array:
    """Return the values of a dictionary that some row has."""
    used = np.zeros(len(part.dictionary), bool)
    used[part.indices.to_numpy()] = True
    return part.dictionary if used.all() else part.dictionary.filter(pa.array(used))


def _take(ids: pa.Array, numbers: Array) -> pa.Array:
    missing = numbers < 0
    return ids.take(pa.array(numbers, mask=missing) if missing.any() else pa.array(numbers))
