"""Text files of rows: format detected from the beginning, parsed by Arrow, errors by line."""

from __future__ import annotations

import csv as python_csv
import gzip
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute, csv

from cugraph_ws.errors import FileError
from cugraph_ws.frames.leading_zeros import LeadingZeros
from cugraph_ws.runtime.memory import available_memory, check_room, format_bytes
from cugraph_ws.runtime.paths import arrow_path
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["FORMATS", "SUFFIXES", "Layout", "TextFile"]

FORMATS = ("parquet", "csv", "tsv", "snap", "matrix-market")
SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".mtx": "matrix-market",
}  # fmt: skip
BLOCK = 1 << 22  # bytes that a thread parses at a time
IN_FLIGHT = 8 * BLOCK  # bytes of text that are read, but not yet released by Arrow
HEAD = 1 << 16  # bytes from which the format is detected
LONGEST = 1 << 20  # maximum bytes of a line
BOM = b"\xef\xbb\xbf"
COMMENT = re.compile(rb"^[ \t]*[#%].*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """Layout of the rows of a text file.

    Attributes
    ----------
    separator : str
        Separator of cells; " " for any number of blanks and tabs.
    columns : list of str
    skip : int
        Rows before the first edge: the header, and comments if `comments` is False.
    comments : bool
        Whether lines that begin with # or % may occur anywhere, and are not rows.
    """

    separator: str
    columns: list[str]
    skip: int
    comments: bool


@dataclass(frozen=True)
class TextFile:
    """A text file, perhaps gzipped, with its first bytes already read."""

    path: Path
    compression: str | None
    head: bytes

    @classmethod
    def open(cls, path: Path) -> TextFile:
        """Read the beginning of a file, and refuse one that cannot be text."""
        with path.open("rb") as file:
            compression = "gzip" if file.read(2) == b"\x1f\x8b" else None
        with pa.input_stream(arrow_path(path), compression=compression) as stream:
            head = stream.read(HEAD)
        if not head:
            raise FileError(f"{path}: is empty; give a file with edges")
        if b"\0" in head:
            raise FileError(
                f"{path}: is neither text in UTF-8 nor Parquet; convert it to one of: "
                f"{', '.join(FORMATS)}"
            )
        return cls(path, compression, head)

    def kind(self) -> str:
        """Return the format that the beginning and the name indicate."""
        if self.head.startswith(b"%%MatrixMarket"):
            return "matrix-market"
        named = SUFFIXES.get(Path(self.path.name.lower().removesuffix(".gz")).suffix)
        if named == "matrix-market":
            return named
        rows = self.first_rows(2)
        first = rows[0] if rows else ""
        words = not _all_numbers(first.split())  # a blank may be part of words
        if "," in first or (named == "csv" and words):
            return "csv"
        if (named == "tsv" and words) or ("\t" in first and _is_header(rows, "\t")):
            return "tsv"
        return "snap"

    def layout(self, kind: str, names: Sequence[str], least: int) -> Layout:
        """Return the layout of a file of this kind.

        `names` are used if it has no header; fewer than `least` columns are refused.
        """
        rows = self.first_rows(2)
        first = rows[0] if rows else ""
        if kind == "snap":
            separator = "\t" if "\t" in first and not _all_numbers(first.split()) else " "
            cells = first.split(None if separator == " " else separator)
            header, before = _is_header(rows, None if separator == " " else separator), 0
            header = header or cells[:1] == [names[0]]
        else:
            separator = "," if kind == "csv" else "\t"
            cells = next(python_csv.reader([first], delimiter=separator), [])
            header, before = not any(map(_is_number, cells)), self._comments_at_the_top()
            if not rows:
                raise FileError(f"{self.path}: has no header and no edges; give a file with edges")
        if not rows:  # an edge list may be empty
            cells = ["0"] * least
        columns = cells if header else _named(len(cells), names)
        repeated = {name for name in columns if columns.count(name) > 1}
        if repeated:
            raise FileError(f"{self.path}: two columns are named {min(repeated)!r}; rename one")
        if len(columns) < least:
            raise FileError(
                f"{self.path}: line {self.line_of(before + 1, kind == 'snap')} has one column "
                f"({first[:60]!r}); give two or more, separated by "
                + {",": "commas", "\t": "tabs", " ": "blanks or tabs"}[separator]
            )
        return Layout(separator, columns, before + header, comments=kind == "snap")

    def first_rows(self, count: int) -> list[str]:
        """Return the first lines that are neither comments nor empty."""
        head = self.head.removeprefix(BOM)
        if len(self.head) == HEAD:  # the last line is truncated
            head = head[: head.rfind(b"\n") + 1] or head
        lines = COMMENT.sub(b"", head).decode("utf-8", "replace").splitlines()
        return [line for line in lines if line.strip()][:count]

    def _comments_at_the_top(self) -> int:
        count = 0
        for line in self.head.removeprefix(BOM).splitlines():
            if line.strip() and not line.lstrip().startswith((b"#", b"%")):
                break
            count += 1
        return count

    def table(self, layout: Layout) -> pa.Table:
        """Parse the rows.

        Arrow infers types that fit all values, but reads integers above int64 as float64; columns
        with such integers are parsed again.
        """
        types: dict[str, pa.DataType] = {}
        while True:
            try:
                table, zeros = self._parse(layout, types)
            except pa.ArrowInvalid as error:
                misfit = re.match(r"In CSV column #(\d+):.*conversion error", str(error))
                if misfit is None:
                    raise self._blame(layout, types, error) from error
                types[layout.columns[int(misfit[1])]] = pa.float64()
                continue
            guessed = [name for name in layout.columns if name not in types]
            large = [name for name in guessed if _holds_large_integers(table[name])]
            if not large:
                self._warn_of(zeros, table)
                return self._checked(table)
            types |= dict.fromkeys(large, pa.uint64())

    def _parse(
        self, layout: Layout, types: dict[str, pa.DataType], threads: bool = True
    ) -> tuple[pa.Table, LeadingZeros]:
        with pa.input_stream(arrow_path(self.path), compression=self.compression) as stream:
            guarded = Guarded(stream, self.path, self._need_of_rows(layout), layout.separator)
            text: Any = Cleaned(guarded, layout.separator == " ") if layout.comments else guarded
            try:
                table = csv.read_csv(
                    pa.PythonFile(text, mode="r"),
                    csv.ReadOptions(
                        skip_rows=layout.skip,
                        column_names=layout.columns,
                        use_threads=threads,
                        block_size=BLOCK,
                    ),
                    csv.ParseOptions(
                        delimiter=layout.separator, quote_char=False if layout.comments else '"'
                    ),
                    csv.ConvertOptions(column_types=types),
                )
            except pa.ArrowInvalid:  # expected if the text is truncated
                guarded.raise_what_stopped_it()
                raise
            guarded.raise_what_stopped_it()
            return table, guarded.zeros

    def _warn_of(self, zeros: LeadingZeros, table: pa.Table) -> None:
        """Warn of ids that may have been merged: 007 and 7."""
        for place, cell in sorted(zeros.found.items()):
            if place < table.num_columns and pa.types.is_integer(table.schema.types[place]):
                warn_caller(
                    f"{self.path}: column {table.column_names[place]!r} has integers with leading zeros, "
                    f"which are dropped: {cell} is read as {int(cell)}; to keep them, make it a Parquet file, with "
                    "that column as text"
                )

    def _checked(self, table: pa.Table) -> pa.Table:
        """Give empty columns a type, and refuse text in another encoding."""
        for number, field in enumerate(table.schema):
            if pa.types.is_binary(field.type):
                raise FileError(
                    f"{self.path}: column {field.name!r} is not text in UTF-8; convert the file"
                )
            if pa.types.is_null(field.type):
                table = table.set_column(number, field.name, table[field.name].cast(pa.int64()))
        return table

    def _blame(
        self, layout: Layout, types: dict[str, pa.DataType], error: pa.ArrowInvalid
    ) -> FileError:
        """Return an error that gives the line of the first row that does not fit."""
        message = str(error)
        try:
            self._parse(layout, types, threads=False)  # Arrow counts rows only in a single thread
        except pa.ArrowInvalid as counted:
            message = str(counted)
        row = re.search(r"Row #(\d+): ([^\n]*)", message)
        if row is None:
            return FileError(f"{self.path}: {message}; check the format")
        line = self.line_of(int(row[1]), layout.comments)
        return FileError(
            f"{self.path}: line {line}: {row[2][:120]}; "
            "the file may be truncated, or have another format"
        )

    def check_size(self, layout: Layout) -> None:
        """Refuse a file too large for memory, judged by its size and its first rows.

        A gzipped file states its size modulo 4 GiB, or that of its last part: a lower bound.  The first
        rows may differ from the rest, so a file is refused only if half the estimate is too large;
        memory is counted again while reading.
        """
        size = self.path.stat().st_size
        if self.compression:
            with self.path.open("rb") as file:
                file.seek(-4, os.SEEK_END)
                size = int.from_bytes(file.read(4), "little")
        if size > len(self.head):
            needed = self._need_of_rows(layout).of(self.head) * size / len(self.head)
            check_room(str(self.path), needed / 2, available_memory())

    def _need_of_rows(self, layout: Layout) -> Need:
        """Return the memory that rows need if all are like the first ones."""
        rows = self.first_rows(layout.skip * (not layout.comments) + 2)[-1:]
        cells = [cell for row in rows for cell in re.split(r"[,\s]+", row.strip())]
        return Need(len(layout.columns), numbers=bool(cells) and _all_numbers(cells))

    def line_of(self, row: int, comments: bool) -> int:
        """Return the line of a row; both are counted from 1, and rows as Arrow counts them."""
        top = 0 if comments else self._comments_at_the_top()
        number = 0
        opened: Any = gzip.open if self.compression else open
        with opened(self.path, "rb") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST), b""), start=1):
                skipped = comments and COMMENT.match(line)
                row -= number <= top or bool(line.strip() and not skipped)
                if row == 0:
                    break
        return number


@dataclass(frozen=True)
class Need:
    """The memory that rows of text take while they are parsed.

    Until the types of all columns are certain, Arrow keeps the parsed text, with four bytes for
    each cell instead of its separator.  It also keeps the values: numbers of eight bytes, or the
    text again.

    Attributes
    ----------
    columns : int
    numbers : bool
        Whether cells are numbers; else the smaller of the two is assumed.
    """

    columns: int
    numbers: bool

    def of(self, text: bytes) -> int:
        """Return the memory in bytes for the rows in a piece of text."""
        cells = text.count(b"\n") * self.columns
        parsed = len(text) + 3 * cells
        return parsed + (8 * cells if self.numbers else min(8 * cells, parsed))


class Guarded:
    """A stream of text that stops if a line is too long, or memory runs out.

    Parameters
    ----------
    stream : file-like
    path : Path
        Used for messages.
    need : Need
        Memory that the rows take.
    separator : str
        Separator of cells.

    Attributes
    ----------
    zeros : LeadingZeros
        What was found in the text so far.
    """

    closed = False

    def __init__(self, stream: Any, path: Path, need: Need, separator: str) -> None:
        self._stream = stream
        self._path = path
        self._need = need
        self._lines = 0  # complete lines so far
        self._length = 0  # of the incomplete line
        self._room = available_memory()
        self._read = 0  # bytes read
        self._held = 0  # bytes that rows take
        self._error: Exception | None = None
        self.zeros = LeadingZeros(separator)
        self._row_that_stops = f"1{separator}".encode() * 4096

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end.

        This raises nothing.  Arrow reads in its own threads, and a thread that is still unwinding an
        error when the process ends would wait for Python forever.  After an error, Arrow gets a row
        with too many columns, which makes it stop.
        """
        if self._error is not None:
            return b""
        try:
            block: bytes = self._stream.read(size)
            self._held += self._need.of(block)  # counted now: Arrow reads ahead of what it parses
            self._read += len(block)
            # Blocks of text are still held while rows are made from earlier ones.
            needed = self._held * 5 // 4 + min(self._read, IN_FLIGHT)
            check_room(str(self._path), needed, self._room)
            self._watch(block)
            self.zeros.look(block)
        except Exception as error:
            self._error = error
            return b"\n" + self._row_that_stops[: size - 1]
        return block

    def raise_what_stopped_it(self) -> None:
        """Raise the error that stopped reading, if there is one."""
        if self._error is not None:
            raise self._error

    def _watch(self, block: bytes) -> None:
        """Refuse a line that is too long, by searching for a line end in every `LONGEST` bytes."""
        at = 0
        while at < len(block):
            end = at + LONGEST - self._length
            last = max(block.rfind(b"\n", at, end), block.rfind(b"\r", at, end))
            if last < 0:
                if end < len(block):
                    line = self._lines + 1
                    raise FileError(
                        f"{self._path}: line {line} is longer than {format_bytes(LONGEST)}; "
                        "this is not a list of edges, or its line endings are unusual"
                    )
                self._length += len(block) - at
                return
            self._lines += block.count(b"\n", at, last + 1)
            at, self._length = last + 1, 0


class Cleaned:
    """A stream of text without comments and, with `blanks`, with one blank between cells."""

    closed = False

    def __init__(self, stream: Any, blanks: bool) -> None:
        self.stream = stream
        self.blanks = blanks
        self.started = self.ended = False
        self.ready = b""
        self.rest = b""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none only at the end."""
        while not self.ready:
            block = self.stream.read(size)
            if not block and not self.rest:
                ended, self.ended = self.ended, True
                return b"" if ended else b"\n"  # Arrow refuses an empty file
            text = self.rest + block
            end = text.rfind(b"\n") + 1 if block else len(text)  # whole lines only
            self.ready, self.rest = self._clean(text[:end]), text[end:]
        given, self.ready = self.ready[:size], self.ready[size:]
        return given

    def _clean(self, text: bytes) -> bytes:
        if not self.started and text:
            text = text.removeprefix(BOM)
            self.started = True
        if b"#" in text or b"%" in text:
            text = COMMENT.sub(b"", text)
        if self.blanks:
            text = text.translate(TABS_TO_BLANKS)
            while b"  " in text:
                text = text.replace(b"  ", b" ")
            text = text.replace(b" \r\n", b"\n").replace(b" \n", b"\n").replace(b"\n ", b"\n")
            text = text.removeprefix(b" ").removesuffix(b" ")
        return text


TABS_TO_BLANKS = bytes.maketrans(b"\t", b" ")


def _all_numbers(cells: Sequence[str]) -> bool:
    return all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip())
    except ValueError:
        return False
    return True


def _is_header(rows: Sequence[str], separator: str | None) -> bool:
    """Return whether the first row has only names, and the second one a number."""
    if len(rows) < 2:
        return False
    first, second = (row.split(separator) for row in rows)
    return not any(map(_is_number, first)) and any(map(_is_number, second))


def _named(count: int, names: Sequence[str]) -> list[str]:
    """Return names for the columns of a file without a header."""
    return [*names[:count], *(f"column_{number + 1}" for number in range(len(names), count))]


def _holds_large_integers(column: pa.ChunkedArray) -> bool:
    """Return whether a column was read as floats because its integers need uint64."""
    if not pa.types.is_floating(column.type):
        return False
    least, most = compute.min_max(column).as_py().values()
    return (
        most is not None
        and least >= 0
        and 2.0**63 <= most <= 2.0**64  # the largest uint64 rounds up to 2**64
        and bool(compute.all(compute.equal(compute.floor(column), column)).as_py())
    )
