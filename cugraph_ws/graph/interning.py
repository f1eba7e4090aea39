"""Converts columns of values to codes, block by block, in little extra memory.

An interner gives equal values equal codes.  At the end it returns the rank of each code in the
ascending order of the values.  Every table has at most one entry for each distinct value, and no
column is copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.errors import InputError
from cugraph_ws.graph.adjacency import widened
from cugraph_ws.kernels.cpu.intern import (
    divide_pairs,
    intern_integers,
    mark_used,
    place_codes,
    rank_codes,
    translate,
)
from cugraph_ws.kernels.cpu.text import (
    drop_texts,
    end_texts,
    gather_texts,
    hash_text,
    intern_text,
    order_words,
    place_texts,
    sort_ties,
)
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

__all__ = [
    "BLOCK",
    "Coder",
    "IdKind",
    "IdShape",
    "IntegerCoder",
    "TextCoder",
    "Watch",
    "apply_ranks",
    "blocks",
    "count_distinct",
    "sort_pairs",
    "sort_texts",
    "table_slots",
]

Array = npt.NDArray[Any]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

BLOCK = 1 << 16  # rows at a time: their hashes and copies stay in the cache
_PARTS = 8  # most parts of the hashes: the thread of each part reads all rows
_LEAST = 1 << 12  # minimum slots of a table, and minimum growth
_SLACK = 16  # arrays grow in place, by at least 1/16: large ones are not copied
_SORTED = 1 << 14  # pairs that are sorted at a time, with temporary copies
_DIGITS = 8  # most bits by which pairs are divided at a time, if there are more than `_SORTED`
_FEW = 8  # growth factor of a table of minimum size
_TIED = 1 << 9  # most texts with an equal word that are sorted by comparison
_TURNS = 4  # turns in which texts are put in order; each frees the memory of its texts
_WORD = 8  # padding bytes after texts, so that all can be read by words
_MOST_NARROW = np.iinfo(np.int32).max  # bytes of texts that int32 offsets can address
_SAMPLE = 1 << 10  # rows sampled to find ranges with equal numbers of integers
IdKind = Literal["dense", "sparse", "integers", "text"]
_MOST_PLACES = 24  # bits of the index into a bitmap: 16 MiB
_MOST_CODES = np.iinfo(np.int32).max
_SIGN = np.int64(np.iinfo(np.int64).min)


@dataclass(frozen=True)
class IdShape:
    """Properties of one column of ids, for sources and destinations combined.

    Attributes
    ----------
    kind : {"dense", "sparse", "integers", "text"}
        Integers 0 … n-1 or another range without gaps; a range with gaps that is not much larger
        than the edge list; other integers; text or bytes.
    distinct : int
        Number of distinct ids.
    each : float
        Bytes that are kept per id.
    span : int
        Size of the range, if it has a table.
    copied : int
        Bytes of the columns that are copied before they are numbered.
    """

    kind: IdKind
    distinct: int
    each: float = 8
    span: int = 0
    copied: int = 0


Watch: TypeAlias = Callable[[IdShape], None]


class Coder(Protocol):
    """Assigns codes to the values of several columns of one type.

    Attributes
    ----------
    watch : callable or None
        Called with the number of distinct values whenever it grows; it may raise.
    """

    watch: Watch | None

    @property
    def bound(self) -> int:
        """An upper bound of all codes so far, exclusive."""

    def write(self, which: int, low: int, codes: Array) -> None:
        """Write the codes of the rows of column `which`, starting at row `low`."""

    def finish(self) -> tuple[Any, Array]:
        """Return the distinct values, ascending, and the rank of each code among them."""


class _Tables:
    """Hash tables of distinct values, one for each thread: what both kinds of coders share.

    Parameters
    ----------
    parts : int
        Number of tables; each has the values of one part of the hashes.
    watch : callable or None
        See `Coder`.
    """

    def __init__(self, parts: int, watch: Watch | None) -> None:
        self.watch = watch
        self._tables: list[Int32] = [np.full(_LEAST, -1, np.int32) for _ in range(parts)]
        self._states = np.zeros((parts, 2), np.int64)  # number of distinct values; of rows done

    @property
    def _counts(self) -> Int64:
        """Number of distinct values in each part."""
        return self._states[:, 0]

    def _intern(
        self,
        rows: int,
        go_on: Callable[[int, Int64, Int32], None],
        grow: Callable[[int, int], None],
    ) -> None:
        """Write the codes of at most one block of rows.

        `go_on(part, state, scratch)` continues until all rows are done or its space is full; then
        `grow(part, row)` allocates more.
        """

        def work(part: int) -> None:
            scratch, state = np.empty(rows + 1, np.int32), self._states[part]
            state[1] = 0
            while state[1] < rows:
                go_on(part, state, scratch)
                if state[1] < rows:
                    grow(part, int(state[1]))

        parallel(work, [(part,) for part in range(len(self._tables))])


class IntegerCoder(_Tables):
    """Codes of integers, in tables of four bytes per slot.

    Parameters
    ----------
    columns : list of ndarray
        Integers of one dtype; only read.
    """

    def __init__(self, columns: list[Array], watch: Watch | None = None) -> None:
        self._columns = columns
        self._dtype = columns[0].dtype
        self._ranges = _ranges([_as_keys(column[:: _stride(column)]) for column in columns])
        super().__init__(len(self._ranges), watch)
        self._distinct: list[Int64] = [np.empty(0, np.int64) for _ in self._ranges]

    @property
    def bound(self) -> int:
        """An upper bound of all codes so far, exclusive."""
        return int(self._counts.max()) * len(self._counts)

    def write(self, which: int, low: int, codes: Array) -> None:
        """Write the codes of the rows of column `which`, starting at row `low`."""
        self.write_keys(_as_keys(self._columns[which][low : low + len(codes)]), codes)

    def write_keys(self, keys: Int64, codes: Array) -> None:
        """Write the codes of at most one block of int64 integers."""
        hashes = _hash(keys)

        def go_on(part: int, state: Int64, own: Int32) -> None:
            intern_integers(
                keys, hashes, *self._ranges[part], part, len(self._ranges), self._tables[part],
                self._distinct[part], state, codes, own,
            )  # fmt: skip

        self._intern(len(keys), go_on, lambda part, _: self._grow(part))
        _check_codes(self.bound)

    def _grow(self, part: int) -> None:
        """Allocate space for more distinct integers."""
        count, slots = int(self._counts[part]), len(self._tables[part])
        if count >= 2 * slots // 3:
            self._tables[part] = np.empty(0, np.int32)  # free it before the next one is allocated
            self._tables[part] = table = np.full(2 * slots, -1, np.int32)
            for low in range(0, count, BLOCK):
                high = min(low + BLOCK, count)
                place_codes(_hash(self._distinct[part][low:high]), low, table)
        if count == len(self._distinct[part]):
            if self.watch is not None:
                size = int(self._counts.sum())
                self.watch(IdShape("integers", size, self._dtype.itemsize))
            _extend(self._distinct[part], count // _SLACK)

    def finish(self, change: Callable[[Int64], None] | None = None) -> tuple[Array, Int32]:
        """Return the distinct integers, ascending, and the rank of each code among them.

        `change` first replaces the integers in place; those of a later part must stay greater than
        those of an earlier one.
        """
        self._tables.clear()
        parts, size = len(self._counts), int(self._counts.sum())
        ranks = np.empty(self.bound, np.int32)
        starts = np.cumsum([0, *self._counts]).tolist()

        def place(part: int) -> None:
            count, own_ranks = int(self._counts[part]), ranks[part::parts]
            distinct = self._distinct[part][:count]
            if change is not None:
                change(distinct)
            codes = np.arange(count, dtype=np.int32)
            sort_pairs(distinct, codes)
            for low, high in blocks(count):
                own_ranks[codes[low:high]] = np.arange(low, high) + starts[part]

        parallel(place, [(part,) for part in range(parts)])
        ids, *later_parts = self._distinct
        self._distinct = []
        ids.resize(size, refcheck=False)
        for start, end in pairwise(starts[1:]):
            ids[start:end] = later_parts.pop(0)[: end - start]
        return _from_keys(ids, self._dtype), ranks


class TextCoder(_Tables):
    """Codes of text or bytes, in tables of four bytes per slot, and the distinct values.

    Parameters
    ----------
    columns : list of pyarrow.ChunkedArray
        Columns of text or bytes, or dictionaries of these.
    """

    def __init__(self, columns: list[pa.ChunkedArray], watch: Watch | None = None) -> None:
        kind = columns[0].type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        self._wide = _wide(plain)
        self._shift = min(number_of_threads(), _PARTS).bit_length() - 1
        parts = 1 << self._shift
        super().__init__(parts, watch)
        self._ends: list[Array] = [np.zeros(1, np.int32) for _ in range(parts)]
        self._known: list[Bytes] = [np.empty(0, np.uint8) for _ in range(parts)]
        self._chunks = [self._prepared(column) for column in columns]

    @property
    def bound(self) -> int:
        """An upper bound of all codes so far, exclusive."""
        return int(self._counts.max()) << self._shift

    def write(self, which: int, low: int, codes: Array) -> None:
        """Write the codes of the rows of column `which`, starting at row `low`."""
        high = low + len(codes)
        for first, chunk, known in self._chunks[which]:
            start, end = max(low, first), min(high, first + len(chunk))
            if start >= end:
                continue
            part, out = chunk.slice(start - first, end - start), codes[start - low : end - low]
            if known is None:
                self._write_text(part, out)
            else:
                _translate(part, known, out)

    def _prepared(self, column: pa.ChunkedArray) -> list[tuple[int, pa.Array, Array | None]]:
        """Return chunks with their first rows, and the codes of their dictionaries."""
        chunks: list[tuple[int, pa.Array, Array | None]] = []
        row = 0
        for chunk in column.chunks:
            known = None
            if pa.types.is_dictionary(chunk.type):
                chunk, known = self._dictionary(chunk)
            chunks.append((row, chunk, known))
            row += len(chunk)
        return chunks

    def _dictionary(self, chunk: pa.DictionaryArray) -> tuple[pa.DictionaryArray, Array]:
        """Return the codes of a dictionary's values that occur in some row."""
        used = np.zeros(len(chunk.dictionary), bool)
        _by_pieces(chunk, lambda rows, _low, _high: mark_used(rows, used))
        places = np.flatnonzero(used)
        values = chunk.dictionary
        if len(places) < len(used):
            values = values.take(pa.array(places))
        codes = np.empty(len(places), np.int32)
        for low in range(0, len(codes), BLOCK):
            self._write_text(values.slice(low, BLOCK), codes[low : low + BLOCK])
        known = np.zeros(len(used), np.int32)
        known[places] = codes
        return chunk, known

    def _write_text(self, text: pa.Array, codes: Array) -> None:
        """Write the codes of at most one block of texts."""
        ends, data = _buffers(text, self._wide)
        hashes = np.empty(len(codes), np.int64)
        pieces = cut_evenly(len(codes), number_of_threads())
        parallel(hash_text, [(ends, data, hashes, *piece) for piece in pieces])

        def go_on(part: int, state: Int64, own: Int32) -> None:
            intern_text(
                ends, data, hashes, self._shift, part, self._tables[part], self._ends[part],
                self._known[part], state, codes, own,
            )  # fmt: skip

        self._intern(
            len(codes), go_on, lambda part, row: self._grow(part, int(ends[row + 1] - ends[row]))
        )
        _check_codes(self.bound)

    def _grow(self, part: int, length: int) -> None:
        """Allocate space for more distinct texts, the next of which has `length` bytes."""
        count, slots = int(self._counts[part]), len(self._tables[part])
        if count >= 2 * slots // 3:
            self._tables[part] = np.empty(0, np.int32)  # free it before the next one is allocated
            # With so many slots, few texts share one, and branches are predicted well.
            self._tables[part] = self._table(part, slots * (_FEW if slots == _LEAST else 2))
        if count + 1 == len(self._ends[part]):
            if self.watch is not None:
                size = int(self._counts.sum())
                self.watch(IdShape("text", size, 8 + sum(self._held()) / max(1, size)))
            _extend(self._ends[part], count // _SLACK)
        stored = int(self._ends[part][count])
        if stored + length > _MOST_NARROW and self._ends[part].dtype == np.int32:
            self._ends[part] = self._ends[part].astype(np.int64)
        if stored + length + _WORD > len(self._known[part]):
            _extend(self._known[part], length + _WORD + stored // _SLACK)

    def _table(self, part: int, slots: int) -> Int32:
        """Return a table of `slots` slots with the distinct texts so far."""
        table = np.full(slots, -1, np.int32)
        known = _read_only(self._known[part])
        for low, high in blocks(int(self._counts[part])):
            ends = self._ends[part][low : high + 1].astype(np.int64)
            hashes = np.empty(high - low, np.int64)
            hash_text(ends, known, hashes, 0, high - low)
            place_texts(hashes, low, self._shift, table)
        return table

    def _held(self) -> list[int]:
        """Return the number of bytes of the distinct texts of each part."""
        return [
            int(ends[count]) for count, ends in zip(self._counts.tolist(), self._ends, strict=True)
        ]

    def finish(self) -> tuple[pa.Array, Int32]:
        """Return the distinct values, ascending, and the rank of each code among them."""
        self._tables.clear()
        self._chunks.clear()
        starts = np.cumsum([0, *self._counts]).tolist()
        ends, known = self._joined()
        codes = sort_texts(ends, known)
        places = np.empty(len(codes), np.int32)
        for low, high in blocks(len(codes)):
            places[codes[low:high]] = np.arange(low, high)
        ends, known = _in_order(ends, known, codes, places)
        del codes
        buffers = [None, pa.py_buffer(widened(ends)), pa.py_buffer(known)]
        values = pa.Array.from_buffers(self._wide, len(places), buffers)
        parts, ranks = len(self._counts), np.empty(self.bound, np.int32)
        for part, (start, end) in enumerate(pairwise(starts)):
            ranks[part::parts][: end - start] = places[start:end]
        return values, ranks

    def _joined(self) -> tuple[Array, Bytes]:
        """Return the concatenated texts of all parts, and free them here."""
        sizes, counts = self._held(), self._counts.tolist()
        wide = sum(sizes) + _WORD > _MOST_NARROW
        every = [
            part_ends.astype(np.int64 if wide else np.int32, copy=False) for part_ends in self._ends
        ]
        self._ends, ends, later_ends = [], every[0], every[1:]
        del every
        ends.resize(sum(counts) + 1, refcheck=False)
        known, *more = self._known
        self._known = []
        known.resize(sum(sizes) + _WORD, refcheck=False)
        row, at = counts[0], sizes[0]
        for count, size in zip(counts[1:], sizes[1:], strict=True):
            ends[row + 1 : row + count + 1] = later_ends.pop(0)[1 : count + 1] + at
            known[at : at + size] = more.pop(0)[:size]
            row, at = row + count, at + size
        return ends, known


def sort_texts(ends: Array, known: Bytes) -> Int32:
    """Return the ascending order of texts.

    They are sorted by words of eight bytes; those with equal words are sorted by the next word,
    or by comparison if they are few.

    Parameters
    ----------
    ends : ndarray of int32 or int64, shape (texts + 1,)
        Offsets of the texts.
    known : ndarray of uint8

    Returns
    -------
    ndarray of int32, shape (texts,)
        The texts' numbers.
    """
    codes = np.arange(len(ends) - 1, dtype=np.int32)
    keys = np.empty(len(codes), np.int64)
    todo = [(0, len(codes), 0)]
    while todo:
        first, last, depth = todo.pop()
        some, some_codes = keys[first:last], codes[first:last]
        pieces = cut_evenly(last - first, number_of_threads())
        parallel(order_words, [(ends, known, some_codes, depth, some, *piece) for piece in pieces])
        sort_pairs(some, some_codes)
        depth += _WORD
        runs = np.empty((len(some_codes) // (_TIED + 1), 2), np.int64)
        number_of_runs = sort_ties(ends, known, some, some_codes, depth, _TIED, runs.reshape(-1))
        todo += [(first + low, first + high, depth) for low, high in runs[:number_of_runs].tolist()]
    return codes


def _in_order(ends: Array, known: Bytes, codes: Int32, places: Int32) -> tuple[Array, Bytes]:
    """Return the ends and the bytes of texts in the order `codes`; `ends` and `known` are overwritten."""
    out_ends = np.empty_like(ends)
    end_texts(ends, codes, out_ends)
    size = int(out_ends[-1])
    out = np.empty(size, np.uint8)
    low = 0
    for turn in range(1, _TURNS + 1):
        high = len(codes)
        if turn < _TURNS:
            bound = out_ends.dtype.type(size * turn // _TURNS)
            high = max(low, int(np.searchsorted(out_ends, bound)))
        pieces = [
            (low + first, low + last) for first, last in cut_evenly(high - low, number_of_threads())
        ]
        parallel(gather_texts, [(ends, known, codes, out_ends, out, *piece) for piece in pieces])
        if turn < _TURNS:
            remaining = drop_texts(ends, known, places, high)
            known.resize(remaining + _WORD, refcheck=False)
        low = high
    return out_ends, out


def sort_pairs(keys: Int64, codes: Int32) -> None:
    """Sort keys in place, and codes with them, with little temporary memory.

    Many pairs are first divided by their leading digits into groups that are sorted one at a time.
    The order of equal keys is undefined.

    Parameters
    ----------
    keys : ndarray of int64, shape (pairs,)
    codes : ndarray of int32, shape (pairs,)
    """
    todo = [(0, len(keys))]
    while todo:
        first, last = todo.pop()
        some, size = keys[first:last], last - first
        if size <= _SORTED:
            order = np.argsort(some)
            some[:] = some[order]
            codes[first:last] = codes[first:last][order]
            continue
        low, high = int(some.min()), int(some.max())
        if low == high:
            continue
        digits = min(_DIGITS, (2 * size // _SORTED).bit_length())
        shift = max(0, (high - low).bit_length() - digits)
        ends = np.zeros((high >> shift) - (low >> shift) + 1, np.int64)
        divide_pairs(keys, codes, first, last, shift, low >> shift, ends, ends.copy())
        todo += _joined(first, ends.tolist())


def _joined(first: int, ends: list[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges that end at some of `ends`, as large as can be sorted at a time."""
    end = first
    for after in ends:
        if after - first > _SORTED and end > first:
            yield first, end
            first = end
        end = after
    yield first, end


def apply_ranks(codes: Array, ranks: Array, least: int = 0) -> None:
    """Replace each code by its rank.

    Parameters
    ----------
    codes : ndarray of integers, shape (rows,)
        Overwritten.
    ranks : ndarray of integers, shape (codes,)
    least : int
        The code that has the first rank.
    """
    pieces = cut_evenly(len(codes), number_of_threads())
    parallel(rank_codes, [(codes, ranks, least, *piece) for piece in pieces])


def blocks(rows: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of rows that are read at a time."""
    for low in range(0, rows, BLOCK):
        yield low, min(low + BLOCK, rows)


def table_slots(distinct: int, *, text: bool = False) -> int:
    """Return the total slots of all tables of a coder with `distinct` values."""
    parts = 1 << min(number_of_threads(), _PARTS).bit_length() - 1
    slots = _LEAST
    while distinct // parts >= 2 * slots // 3:
        slots *= _FEW if text and slots == _LEAST else 2
    return parts * slots


def count_distinct(*parts: Sequence[Array | pa.ChunkedArray]) -> int:
    """Estimate the number of distinct values, or tuples of values, to about 2 %.

    Hashes mark bits of a bitmap, and the number of free bits gives the estimate.  For many rows
    only a fraction of the hashes is used.

    Parameters
    ----------
    *parts : sequence of ndarray of integers, or of pyarrow.ChunkedArray of text or bytes
        For every part of a value, columns of one type, in equal number and of equal lengths; only
        read, in blocks.

    Returns
    -------
    int

    References
    ----------
    Whang, Vander-Zanden and Taylor, "A linear-time probabilistic counting algorithm for database
    applications", ACM Transactions on Database Systems 15 (1990).
    """
    rows = sum(map(len, parts[0]))
    places = 1 << min(max(12, rows.bit_length() + 1), _MOST_PLACES)
    share = max(0, rows.bit_length() + 1 - _MOST_PLACES)
    marks = np.zeros(places, np.bool_)
    for columns in zip(*parts, strict=True):
        for low, high in blocks(len(columns[0])):
            hashes = _hashes(columns[0], low, high)
            for column in columns[1:]:
                hashes = _hash(hashes * 31 + _hashes(column, low, high))
            counted = hashes if not share else hashes[hashes & ((1 << share) - 1) == 0]
            marks[(counted >> share) & (places - 1)] = True
    free = places - int(np.count_nonzero(marks))
    return min(rows, round(places * math.log(places / max(1, free))) << share)


def _hashes(column: Array | pa.ChunkedArray, low: int, high: int) -> Int64:
    """Return the hashes of a block of a column."""
    if isinstance(column, np.ndarray):
        return _hash(_as_keys(column[low:high]))
    pieces = [np.empty(0, np.int64)]
    for chunk in column.slice(low, high - low).chunks:
        values = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
        ends, data = _buffers(values, _wide(values.type))
        hashes = np.empty(len(values), np.int64)
        hash_text(ends, data, hashes, 0, len(values))
        pieces.append(_hash(hashes))
    return np.concatenate(pieces)


def _wide(plain: pa.DataType) -> pa.DataType:
    """Return the type with 64-bit offsets for text or for bytes."""
    is_bytes = pa.types.is_binary(plain) or pa.types.is_large_binary(plain)
    return pa.large_binary() if is_bytes else pa.large_string()


def _buffers(text: pa.Array, wide: pa.DataType) -> tuple[Int64, npt.NDArray[np.uint8]]:
    """Return the offsets of the texts, and the bytes."""
    if text.type not in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        text = text.cast(wide)
    narrow = text.type in (pa.string(), pa.binary())
    _, ends, data = text.buffers()
    if ends is None or not len(text):
        return np.zeros(len(text) + 1, np.int64), _read_only(np.zeros(0, np.uint8))
    first = text.offset
    offsets = np.frombuffer(ends, np.int32 if narrow else np.int64)[first : first + len(text) + 1]
    known = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return offsets.astype(np.int64), _read_only(known)


def _by_pieces(part: pa.DictionaryArray, work: Callable[[Array, int, int], None]) -> None:
    """Call `work` with the indices of a dictionary's rows and their range, on all cores.

    Indices are int32 or int64; those of other types are copied to int64, at most a block at a time.
    """

    def each(first: int, last: int) -> None:
        for low in range(first, last, BLOCK):
            high = min(low + BLOCK, last)
            rows = part.indices.slice(low, high - low).to_numpy()
            rows = rows if rows.dtype == np.int32 else rows.astype(np.int64)
            work(_read_only(rows), low, high)

    pieces = min(number_of_threads(), len(part) // BLOCK)
    parallel(each, cut_evenly(len(part), pieces))


def _translate(part: pa.DictionaryArray, known: Int32, codes: Array) -> None:
    """Write the codes of a dictionary's rows, given those of its values."""
    _by_pieces(part, lambda rows, low, high: translate(rows, known, codes[low:high]))


def _read_only(array: Array) -> Array:
    """Return the same memory with the type for which kernels are compiled, writable or not."""
    view = array.view()
    view.flags.writeable = False
    return view


def _as_keys(column: Array) -> Int64:
    """Return integers as int64 of the same order."""
    if column.dtype == np.uint64:
        return np.asarray(column.view(np.int64) ^ _SIGN)
    return np.ascontiguousarray(column, dtype=np.int64)


def _from_keys(keys: Int64, dtype: np.dtype[Any]) -> Array:
    """Undo `_as_keys`; may return the same memory."""
    if dtype == np.uint64:
        keys ^= _SIGN
        return keys.view(np.uint64)
    return keys.astype(dtype, copy=False)


def _ranges(samples: list[Int64]) -> list[tuple[int, int]]:
    """Return the smallest and the greatest integer of each part, from a sample."""
    limits = np.iinfo(np.int64)
    parts = min(number_of_threads(), _PARTS)
    sample = np.unique(np.concatenate(samples))
    cuts = sample[np.arange(1, parts) * len(sample) // parts] if len(sample) else sample
    starts = sorted({int(limits.min), *cuts.tolist()})
    return list(zip(starts, [*(start - 1 for start in starts[1:]), int(limits.max)], strict=True))


def _hash(keys: Int64) -> Int64:
    """Return hashes in which the low bits depend on all bits of the keys."""
    mixed = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed >>= np.uint64(20)
    return mixed.view(np.int64)


def _stride(column: Array) -> int:
    return max(1, len(column) // _SAMPLE)


def _extend(array: Array, more: int) -> None:
    """Extend an array in place, without a copy: its memory must have no other references."""
    array.resize(len(array) + max(more, _LEAST), refcheck=False)


def _check_codes(bound: int) -> None:
    """Raise InputError if codes no longer fit."""
    if bound > _MOST_CODES:
        raise InputError(
            f"there are more than {_MOST_CODES // 2:,} distinct ids, and they are not integers of a "
            f"small range; number them 0 … n-1 first"
        )
