"""Vertex ids ↔ vertex numbers 0 … n-1, in the ids' ascending order.

Integers 0 … n-1 are their own numbers.  Integers in a range that is not much larger than the edge
list are compacted by a table over the range.  All other ids are numbered by hashing them and
sorting the distinct values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cugraph_ws.errors import InputError
from cugraph_ws.graph.adjacency import index_dtype
from cugraph_ws.graph.interning import (
    BLOCK,
    Coder,
    IdKind,
    IdShape,
    IntegerCoder,
    TextCoder,
    Watch,
    apply_ranks,
    blocks,
)
from cugraph_ws.kernels.cpu.build import mark_present
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

__all__ = [
    "DenseIntegers",
    "IdValues",
    "NewArray",
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
NewArray: TypeAlias = Callable[[int, Any], Array]
Renumbered = Literal["no", "compacted", "sorted"]

_INT64_MAX = np.iinfo(np.int64).max
_FEW = 8  # texts that are looked up are few if there are so many times as many ids
_NO_TABLE = np.empty(0, np.int32)
_SEARCHED = 1 << 17  # ids that are searched for between two looks
_CODES = 1 << 32  # above any code: a pair (number, code) is number * _CODES + code


class Numbering(Protocol):
    """Stores the ids of all vertices."""

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
    """Columns of ids as integers, and the mapping from integers to vertex numbers.

    Attributes
    ----------
    columns : list of ndarray
        One dtype, int32 or int64; may be the caller's own arrays.
    low : int
    table : ndarray
        The number of integer i is `table[i - low]`, or `i - low` itself if the table is empty.
    numbering : Numbering
    own : bool
        Whether the columns are vertex numbers without other references, which may be overwritten.
    """

    columns: list[Array]
    low: int
    table: Array
    numbering: Numbering
    own: bool = False

    @property
    def shape(self) -> IdShape:
        """Description of the ids for memory estimates, exact after numbering."""
        size = self.numbering.size
        if self.own:
            return IdShape("integers", size, self.numbering.nbytes / max(1, size))
        kind: IdKind = "sparse" if self.numbering.nbytes else "dense"
        return IdShape(kind, size, self.numbering.nbytes / max(1, size), len(self.table))

    def numbers(self, which: int, first: int = 0, last: int | None = None, step: int = 1) -> Array:
        """Return the vertex numbers of every `step`-th row from `first` to `last` - 1 of column `which`."""
        shifted = self.columns[which][first:last:step].astype(np.int64)
        if self.low:
            shifted -= self.low
        return self.table[shifted] if len(self.table) else shifted


class DenseIntegers:
    """Ids 0 … size-1: every id is its own number."""

    renumbered: Renumbered = "no"
    nbytes = 0

    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, columns: Sequence[IdValues]) -> npt.NDArray[np.int64]:
        """Return each id, or -1 if it is not a vertex."""
        (ids,) = columns
        known = (ids >= 0) & (ids < self.size)
        numbers = np.full(len(ids), -1, np.int64)  # ids may be unsigned, which cannot hold -1
        numbers[known] = ids[known]
        return numbers

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Return the numbers."""
        missing = numbers < 0
        return [pa.array(numbers, mask=missing) if missing.any() else pa.array(numbers)]


class SortedIntegers:
    """Distinct integers in ascending order; an id's number is its index."""

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
        """Find the ids by binary search."""
        (ids,) = columns
        if not self.size:
            return np.full(len(ids), -1, np.int64)
        # NumPy compares int64 and uint64 arrays as float64, which is not exact.  So exclude ids out
        # of range by comparisons with Python integers first, then compare in the dtype of these ids.
        fits = (ids >= int(self.ids[0])) & (ids <= int(self.ids[-1]))
        wanted = ids.astype(self.ids.dtype)
        wanted[~fits] = self.ids[0]
        if len(wanted) < _SEARCHED:  # most calls name a few
            places = np.searchsorted(self.ids, wanted)
        else:
            pieces = np.array_split(wanted, 1 + len(wanted) // _SEARCHED)
            calls = [(self.ids, piece) for piece in pieces]
            places = np.concatenate(parallel(np.searchsorted, calls))
        return np.where(fits & (self.ids[places] == wanted), places, -1).astype(np.int64)

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Look up the ids."""
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
        """Find the ids by a table of those that are wanted if they are few: one of all takes 100 bytes an id."""
        text: Any = columns[0]
        if not len(text) or not self.size:
            return np.full(len(text), -1, np.int64)
        text = text.cast(self.ids.type)
        if len(text) * _FEW > self.size:
            places = pc.index_in(text, value_set=self.ids)
            return np.asarray(pc.fill_null(places, -1).to_numpy()).astype(np.int64)
        wanted = pc.unique(text)
        places = pc.index_in(self.ids, value_set=wanted)
        numbers = np.full(len(wanted), -1, np.int64)
        known = np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False))
        numbers[places.drop_null().to_numpy()] = known
        rows: npt.NDArray[np.int32] = pc.index_in(text, value_set=wanted).to_numpy()
        return numbers[rows]

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Look up the ids."""
        return [_take(self.ids, numbers)]


class Pairs:
    """Ids of several columns, in lexicographic order: all columns but the last, and the last."""

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
        numbers = SortedIntegers(self.keys, "sorted").encode([head * self.last.size + last])
        return np.where((head >= 0) & (last >= 0), numbers, -1)

    def in_each_head(self, tails: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of the pairs of every head with each of some last parts, by number; -1 where unknown."""
        heads = np.arange(self.head.size)[:, None]
        numbers = SortedIntegers(self.keys, "sorted").encode(
            [(heads * self.last.size + tails).ravel()]
        )
        return np.where(np.tile(tails, self.head.size) >= 0, numbers, -1)

    def firsts(self) -> npt.NDArray[np.int64]:
        """Return the number of the first pair of every head, and the number of all pairs."""
        return np.searchsorted(self.keys, np.arange(self.head.size + 1) * self.last.size)

    def decode(self, numbers: Array) -> list[pa.Array]:
        """Look up the pairs, then their parts."""
        missing = numbers < 0
        keys = self.keys[numbers] if len(self.keys) else np.zeros(len(numbers), np.int64)
        head, last = np.divmod(keys, max(1, self.last.size))
        head[missing] = last[missing] = -1
        return [*self.head.decode(head), *self.last.decode(last)]


def number_rows(
    columns: Sequence[Sequence[IdValues]],
    *,
    dense_up_to: int,
    watch: Watch | None = None,
    new: NewArray = np.empty,
) -> Numbered:
    """Assign numbers to ids of one or several parts.

    Parameters
    ----------
    columns : sequence of sequences of ndarray or pyarrow.ChunkedArray
        For every part of an id, the columns that hold it, all of one type: those of sources,
        destinations, and optionally of a vertex frame.
    dense_up_to : int
        Largest range of integers to number by a table over the range.
    watch : callable, optional
        Called with the description of hashed ids whenever their number grows; it may raise.
    new : callable
        Makes the columns of numbers that replace those of ids, given a length and a dtype.

    Returns
    -------
    Numbered
        With one column for each column of a part.

    Raises
    ------
    InputError
        If there are too many possible pairs of ids' parts.
    """
    head = number_values(columns[0], dense_up_to=dense_up_to, watch=watch, new=new)
    for part in columns[1:]:
        head = _number_pairs(head, part, dense_up_to, watch, new)
    return head


def _number_pairs(
    head: Numbered,
    part: Sequence[IdValues],
    dense_up_to: int,
    watch: Watch | None,
    new: NewArray,
) -> Numbered:
    """Assign numbers to pairs of numbers and values of one more part.

    If there may be more pairs than fit in a table, the part's values are converted to codes, and then
    each pair (number, code) to a code of its own, a block of rows at a time.  The codes of pairs
    replace the numbers, so that there is never more than one array per column.
    """
    dense = None
    if all(isinstance(column, np.ndarray) for column in part):
        dense = _number_by_table(list(part), dense_up_to)
    if dense is not None and dense.numbering.size >= _CODES:
        dense = None
    if dense is not None:
        width = dense.numbering.size
        check_pairs(head.numbering.size, width)
        if head.numbering.size * width <= dense_up_to:
            return _number_few_pairs(head, dense, dense_up_to, new)
    last = _coder(part, watch) if dense is None else None
    check_pairs(head.numbering.size, _CODES)
    samples = [
        head.numbers(which, step=len(column) // 256 + 1).astype(np.int64) * _CODES
        for which, column in enumerate(part)
    ]
    pairs = IntegerCoder(samples, watch)
    columns = []
    for which, column in enumerate(part):
        codes = head.columns[which] if head.own else new(len(column), np.int32)
        for first, end in blocks(len(column)):
            keys = head.numbers(which, first, end).astype(np.int64, copy=False) * _CODES
            if last is not None:
                tail = np.empty(end - first, np.int32)
                last.write(which, first, tail)
                keys |= tail
            elif dense is not None:
                keys |= dense.numbers(which, first, end)
            pairs.write_keys(keys, codes[first:end])
        columns.append(codes)
        head.columns[which] = np.empty(0, np.int32)
    if last is not None:
        numbering, ranks = _finished(last)
    else:
        assert dense is not None
        numbering, ranks = dense.numbering, None
    width = max(1, numbering.size)
    check_pairs(head.numbering.size, width)
    keys, places = pairs.finish(_renumbering(width, ranks))
    for codes in columns:
        apply_ranks(codes, places)
    return Numbered(columns, 0, _NO_TABLE, Pairs(head.numbering, numbering, keys), own=True)


def _renumbering(width: int, ranks: Array | None) -> Callable[[Array], None]:
    """Return a function that converts pairs (number, code) in place to number × width + rank."""

    def change(keys: Array) -> None:
        for low, high in blocks(len(keys)):
            some = keys[low:high]
            tails = some % _CODES
            some //= _CODES
            some *= width
            some += tails if ranks is None else ranks[tails]

    return change


def _number_few_pairs(head: Numbered, last: Numbered, dense_up_to: int, new: NewArray) -> Numbered:
    """Assign numbers to pairs of numbers that fit in a table."""
    width = last.numbering.size
    dtype = index_dtype(head.numbering.size * width)
    columns = []
    for which, column in enumerate(last.columns):
        reuse = head.own and head.columns[which].dtype == dtype
        keys = head.columns[which] if reuse else new(len(column), dtype)
        pieces = cut_evenly(len(column), number_of_threads())
        parallel(_write_pairs, [(head, last, which, width, keys, *piece) for piece in pieces])
        columns.append(keys)
        head.columns[which] = np.empty(0, np.int32)
    pairs = number_integers(columns, dense_up_to=dense_up_to)
    distinct = pairs.numbering
    keys = distinct.ids if isinstance(distinct, SortedIntegers) else np.arange(distinct.size)
    numbering = Pairs(head.numbering, last.numbering, keys.astype(np.int64, copy=False))
    if len(pairs.table) and pairs.table.dtype == dtype:
        for column in columns:
            apply_ranks(column, pairs.table, pairs.low)
        return Numbered(columns, 0, _NO_TABLE, numbering, own=True)
    pairs.numbering = numbering
    return pairs


def _write_pairs(
    head: Numbered, last: Numbered, which: int, width: int, keys: Array, first: int, end: int
) -> None:
    """Write number × width + number for the rows `first` to `end` - 1 of a column."""
    for low in range(first, end, BLOCK):
        high = min(low + BLOCK, end)
        some = head.numbers(which, low, high)
        some = some * width
        some += last.numbers(which, low, high)
        keys[low:high] = some


def check_pairs(heads: int, width: int) -> None:
    """Raise InputError if there are too many pairs of two parts of ids.

    Parameters
    ----------
    heads, width : int
        Number of values of each part.

    Raises
    ------
    InputError
        Names the remedy.
    """
    if heads * width > _INT64_MAX:
        raise InputError(
            f"ids of several columns: {heads:,} times {width:,} combinations are "
            f"more than an int64 can number; combine the columns into one of strings"
        )


def number_values(
    columns: Sequence[IdValues],
    *,
    dense_up_to: int,
    watch: Watch | None = None,
    new: NewArray = np.empty,
) -> Numbered:
    """Assign numbers to ids that are single values; see `number_rows`."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return number_integers(list(columns), dense_up_to=dense_up_to, watch=watch, new=new)
    return _number_by_hash(columns, watch, new)


def number_integers(
    columns: Sequence[Array],
    *,
    dense_up_to: int,
    watch: Watch | None = None,
    new: NewArray = np.empty,
) -> Numbered:
    """Assign numbers to integers of one dtype; see `number_rows`."""
    numbered = _number_by_table(columns, dense_up_to)
    return _number_by_hash(columns, watch, new) if numbered is None else numbered


def _number_by_table(columns: Sequence[Array], dense_up_to: int) -> Numbered | None:
    """Assign numbers to integers by a table over their range; None if that is too large."""
    filled = [column for column in columns if len(column)]
    if not filled:
        return Numbered([np.empty(0, np.int32) for _ in columns], 0, _NO_TABLE, DenseIntegers(0))
    low = min(int(column.min()) for column in filled)
    high = max(int(column.max()) for column in filled)
    span = high - low + 1
    if high > _INT64_MAX or span > max(dense_up_to, 1):
        return None
    columns = _as_read(columns)
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
    ids = np.flatnonzero(present)
    ids += low
    ids = ids.astype(filled[0].dtype, copy=False)
    return Numbered(columns, low, table, SortedIntegers(ids, "compacted"))


def _signed(column: Array, dtype: np.dtype[Any]) -> Array:
    """Return integers as `dtype`, in which they fit; the same memory if the width is the same."""
    if column.dtype.itemsize == dtype.itemsize and column.flags.c_contiguous:
        return _writable_alias(column.view(dtype))
    return np.ascontiguousarray(column, dtype=dtype)


class _Alias:
    """The same memory as `array`, declared writable."""

    def __init__(self, array: Array) -> None:
        self.owner = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _writable_alias(array: Array) -> Array:
    """Return an alias that is typed as writable, for kernels that only read it.

    Otherwise Numba would compile every kernel again for read-only columns, which pandas and Arrow
    return.
    """
    return array if array.flags.writeable else np.asarray(_Alias(array))


def count_in_range(columns: Sequence[Array], low: int, span: int) -> int:
    """Return how many of the integers `low`, low + 1, … below `low + span` occur.

    Parameters
    ----------
    columns : sequence of ndarray
        Integers of one dtype, all of them in the range and in that of int64.
    low, span : int

    Returns
    -------
    int
    """
    filled = [column for column in columns if len(column)]
    return int(np.count_nonzero(_presence(_as_read(filled), low, span))) if filled else 0


def _as_read(columns: Sequence[Array]) -> list[Array]:
    """Return integers of one dtype as the kernels of tables read them."""
    kind = next((column.dtype for column in columns if len(column)), np.dtype(np.int64))
    wide = kind.itemsize == 8 or kind == np.uint32
    return [_signed(column, np.dtype(np.int64 if wide else np.int32)) for column in columns]


def _presence(columns: Sequence[Array], low: int, span: int) -> npt.NDArray[np.uint8]:
    """Mark which of the integers `low`, low + 1, … occur; each thread marks its own array."""
    most = max(len(column) for column in columns)
    threads = max(1, min(number_of_threads(), most // max(span, 1 << 16)))
    present = np.zeros((threads, span), np.uint8)
    for column in columns:
        ranges = cut_evenly(len(column), threads)
        parallel(
            mark_present,
            [(column, low, mine, *part) for mine, part in zip(present, ranges, strict=False)],
        )
    for marks in present[1:]:
        present[0] |= marks
    return np.asarray(present[0])


def _number_by_hash(columns: Sequence[IdValues], watch: Watch | None, new: NewArray) -> Numbered:
    """Assign numbers to values by sorting the distinct ones; only those are compared."""
    coder = _coder(columns, watch)
    numbers = []
    for which, column in enumerate(columns):
        codes = new(len(column), np.int32)
        for low, high in _at_once(column):
            coder.write(which, low, codes[low:high])
        numbers.append(codes)
    numbering, ranks = _finished(coder)
    for codes in numbers:
        apply_ranks(codes, ranks)
    return Numbered(numbers, 0, _NO_TABLE, numbering, own=True)


def _at_once(column: IdValues) -> Iterable[tuple[int, int]]:
    """Return ranges of rows to write at a time; all rows of a dictionary, which is not copied."""
    if isinstance(column, pa.ChunkedArray) and pa.types.is_dictionary(column.type):
        return [(0, len(column))]
    return blocks(len(column))


def _coder(columns: Sequence[IdValues], watch: Watch | None) -> Coder:
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) == len(columns):
        return IntegerCoder(arrays, watch)
    return TextCoder([column for column in columns if isinstance(column, pa.ChunkedArray)], watch)


def _finished(coder: Coder) -> tuple[Numbering, Array]:
    """Return the numbering of a coder's values, and the rank of each code."""
    values, ranks = coder.finish()
    if isinstance(values, np.ndarray):
        return SortedIntegers(values, "sorted"), ranks
    pa.default_memory_pool().release_unused()  # the adjacency needs the memory next
    return SortedText(values), ranks


def _take(ids: pa.Array, numbers: Array) -> pa.Array:
    missing = numbers < 0
    return ids.take(pa.array(numbers, mask=missing) if missing.any() else pa.array(numbers))
