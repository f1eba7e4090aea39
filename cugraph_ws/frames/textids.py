"""Ids in files of text: a column of ids holds integers or text, and no two spellings are one id.

Arrow reads 007, 0x7 and 7 as one integer, True and NA as no text, and times of several zones as one
instant.  Here a column of ids is of integers only if each is written as Python writes it (7, -7), with
blanks around it or not.  Every other column of ids is text, letter by letter, without the blanks around
it.  The two ends of an edge are of one kind.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import compute

from cugraph_ws.errors import FileError
from cugraph_ws.runtime.warn import warn_caller

__all__ = [
    "Spelled",
    "as_ids",
    "is_plain_integer",
    "refuse_floats",
    "refuse_missing",
    "text_columns",
    "trimmed",
]

PIECE = 1 << 16  # bytes that are looked at together
ZERO, MINUS = b"0-"
AFTER_ZERO = np.isin(np.arange(256), list(b"0123456789xX"))
CELL = re.compile(rb'[^\s",;|]*')
BLANKS = " \t"
PLAIN = r"^(0|-?[1-9][0-9]*)$"
TEXT = "; --ids text reads ids as text, as they are written"


def is_plain_integer(text: str) -> bool:
    """Return whether text is an integer as Python writes it."""
    return re.fullmatch(PLAIN.strip("^$"), text) is not None


class Spelled:
    """A stream of rows that finds integers which Arrow reads as another one is written: 007, 0x7, -0.

    Parameters
    ----------
    stream : file-like
    separator : str
        Separator of cells.
    places : iterable of int
        Columns of ids, by number.

    Attributes
    ----------
    found : dict of int to str
        By the place of a column: a cell that begins like such an integer.  If the column as a whole is
        of integers, the cell is one.
    """

    closed = False

    def __init__(self, stream: Any, separator: str, places: Iterable[int]) -> None:
        self.found: dict[int, str] = {}
        self._stream = stream
        self._separator = separator.encode()
        self._places = set(places)
        self._begins_after = np.isin(np.arange(256), list(b'\n\r\t "' + self._separator))
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none only at the end."""
        block: bytes = self._stream.read(size)
        if self._places:
            self._look(block)
        return block

    def _look(self, block: bytes) -> None:
        """Look at the lines that a block ends; an empty block ends the text."""
        text = self._rest + block
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 if block else len(text)
        self._rest = text[end:]
        data = np.frombuffer(b"\n\n" + text[:end] + b"\n", np.uint8)  # two bytes before every cell
        pieces = [
            self._candidates(data, start, min(start + PIECE, end + 2))
            for start in range(2, end + 2, PIECE)
        ]
        candidates = np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
        if len(candidates) == 0:
            return
        columns = self._columns(data, candidates)
        for place in self._places.intersection(columns.tolist()):
            at = int(candidates[np.argmax(columns == place)]) - 2
            cell = CELL.match(text, at)
            assert cell is not None
            self.found[place] = cell[0].decode("utf-8", "replace")
            self._places.discard(place)

    def _candidates(self, data: npt.NDArray[np.uint8], start: int, end: int) -> Any:
        """Return where cells begin that are 0 and more digits, 0x, or -0."""
        zeros = start + np.flatnonzero(data[start:end] == ZERO)
        signed = data[zeros - 1] == MINUS
        zeros = zeros[signed | AFTER_ZERO[data[zeros + 1]]]
        begins = zeros - (data[zeros - 1] == MINUS)
        return begins[self._begins_after[data[begins - 1]]]

    def _columns(self, data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64]) -> Any:
        """Return the number of the column of each cell that begins at a place."""
        ends = np.flatnonzero((data == 10) | (data == 13))
        lines = ends[np.searchsorted(ends, at) - 1] + 1
        if self._separator != b" " and (data == 34).any():  # separators in quotes are none
            text = data.tobytes().decode("latin-1")
            separator = self._separator.decode()
            starts = (text[line:cell] for line, cell in zip(lines, at, strict=True))
            rows = (next(csv.reader([start + "0"], delimiter=separator)) for start in starts)
            return np.array([len(row) - 1 for row in rows])
        separators = np.flatnonzero(data == ord(self._separator))
        return np.searchsorted(separators, at) - np.searchsorted(separators, lines)


def text_columns(
    table: pa.Table, pairs: Sequence[Sequence[str]], spelled: dict[str, str], path: Any
) -> list[str]:
    """Return the columns of ids that are to be read again as text.

    Parameters
    ----------
    table : pyarrow.Table
        With the types that Arrow chose.
    pairs : sequence of sequence of str
        Columns of ids; those of one sequence are of one kind.
    spelled : dict of str to str
        By column: an integer that Arrow changed.
    path : Path
        For messages.

    Returns
    -------
    list of str
    """
    text = []
    for names in pairs:
        kinds = [table.schema.field(name).type for name in names]
        changed = [
            name for name in names if name in spelled and _is(table, name, pa.types.is_integer)
        ]
        if changed:
            warn_caller(
                f"{path}: column {changed[0]!r} has {spelled[changed[0]]}, which is no plain integer: "
                f"its ids are read as text, as they are written{TEXT} without this warning"
            )
        if changed or not all(pa.types.is_integer(kind) for kind in kinds):
            text += [name for name in names if not _is(table, name, _is_text)]
    return text


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))  # the latter: not UTF-8


def _is(table: pa.Table, name: str, kind: Any) -> bool:
    return bool(kind(table.schema.field(name).type))


def as_ids(ids: pa.Array) -> pa.Array:
    """Return ids of text as integers if all are plain ones that fit in 64 bits; else as they are."""
    if not compute.all(compute.match_substring_regex(ids, PLAIN), min_count=0).as_py():
        return ids
    for kind in (pa.int64(), pa.uint64()):
        try:
            return ids.cast(kind)
        except pa.ArrowInvalid:
            continue
    return ids


def refuse_floats(table: pa.Table, name: str, path: Any) -> None:
    """Refuse a column of ids, read as text, whose cells were all numbers, but not all integers.

    1.0 and 1 may mean the same vertex, or two.
    """
    plain = compute.match_substring_regex(_trim(table[name]), PLAIN)
    if compute.all(plain, min_count=0).as_py():
        return
    row = compute.index(plain, False).as_py()
    raise FileError(
        f"{path}: column {name!r}: row {row} has the id {table[name][row].as_py()!r}, a number that is no "
        f"plain integer; write ids as integers{TEXT}"
    )


def refuse_missing(table: pa.Table, name: str, path: Any) -> None:
    """Refuse a row without an id."""
    ids = table[name]
    text = pa.types.is_string(ids.type)
    missing = compute.equal(ids, "") if text else compute.is_null(ids)
    row = compute.index(missing, True).as_py()
    if row >= 0:
        remedy = "fill it or drop the row"
        if not text:
            remedy += "; words like NA and nan mean 'missing' among integers" + TEXT
        raise FileError(f"{path}: column {name!r}: row {row} has no id; {remedy}")


def trimmed(table: pa.Table, names: Sequence[str], path: Any) -> pa.Table:
    """Return a table without the blanks around ids of text; warn where two spellings become one id."""
    names = [name for name in names if _is(table, name, pa.types.is_string)]
    padded: set[str] = set()
    for name in names:
        changed = compute.not_equal(_trim(table[name]), table[name])
        if compute.any(changed, min_count=0).as_py():
            padded.update(table[name].filter(changed).unique().to_pylist())
    if not padded:
        return table
    bare = pa.array({cell.strip(BLANKS) for cell in padded}, pa.string())
    spellings: dict[str, str] = {}  # by id, its first spelling
    for name in names:
        ids = table[name].filter(compute.is_in(table[name], bare)).unique().to_pylist()
        spellings |= {cell: cell for cell in ids}
    pairs = [(spellings.setdefault(cell.strip(BLANKS), cell), cell) for cell in sorted(padded)]
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    if pairs:
        first, second = pairs[0]
        warn_caller(
            f"{path}: blanks around ids are dropped, which makes one vertex of two spellings "
            f"{len(pairs):,} times, first of {first!r} and {second!r}"
        )
    for name in names:
        place = table.column_names.index(name)
        table = table.set_column(place, name, _trim(table[name]))
    return table


def _trim(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    return compute.utf8_trim(ids, BLANKS)
