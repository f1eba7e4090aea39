"""Text files of rows: the layout is found from the beginning, Arrow parses, errors give the line."""

from __future__ import annotations

import csv as python_csv
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute, csv

from cugraph_ws.errors import FileError
from cugraph_ws.frames import textids
from cugraph_ws.frames.streams import (
    BLOCK,
    BOM,
    COMMENT,
    LONGEST,
    Cleaned,
    Guarded,
    Need,
    compression_of,
    open_stream,
    with_line_feeds,
)
from cugraph_ws.frames.textids import Spelled
from cugraph_ws.runtime.memory import available_memory, check_room
from cugraph_ws.runtime.warn import warn_caller

__all__ = ["Layout", "TextFile", "Wanted"]

HEAD = 1 << 16  # bytes from which the format is detected
LONGEST_HEAD = 1 << 24  # bytes of comments before the first rows
KNOWN_NAMES = frozenset(  # in lower case, without blanks and underscores
    [
        *(
            "source",
            "target",
            "destination",
            "src",
            "tgt",
            "dst",
            "dest",
            "from",
            "to",
            "vertex",
            "node",
        ),
        *("sourceid", "targetid", "fromid", "toid", "fromnode", "tonode", "fromnodeid", "tonodeid"),
        *("node1", "node2", "vertex1", "vertex2", "id1", "id2"),
    ]
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Numbers, hexadecimal ones, dates, times and addresses: no name of a column is written like that.
VALUE = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|[\d.:/+-]*\d[\d.:/+-]*([eETZ ][\d.:+-]*)?Z?)")
NAMES = {",": "commas", "\t": "tabs", " ": "blanks or tabs"}


@dataclass(frozen=True)
class Wanted:
    """What a caller says of the rows of a text file.

    Attributes
    ----------
    names : sequence of str
        Names of the first columns if there is no header.
    least : int
        The number of columns that a row has at least.
    pairs : sequence of sequence of str
        Columns of ids; those of one sequence are of one kind.  Those that the file lacks are ignored.
    text : bool
        Whether all ids are read as text.
    header : bool, optional
        Whether the first row is the header; by default found from the first rows.
    separator : str, optional
        Separator of cells; by default found from the first row.
    """

    names: Sequence[str]
    least: int
    pairs: Sequence[Sequence[str]]
    text: bool = False
    header: bool | None = None
    separator: str | None = None


@dataclass(frozen=True)
class Layout:
    """Layout of the rows of a text file.

    Attributes
    ----------
    separator : str
        Separator of cells; " " for any number of blanks and tabs.
    columns : list of str
    skip : int
        Rows before the first edge: the header, and comments if `comments` is None.
    comments : re.Pattern, optional
        Matches lines that are not rows, wherever they are.
    header : bool
        Whether the first row is the header.
    guessed : bool
        Whether that is only likely, since the first rows are all words.
    """

    separator: str
    columns: list[str]
    skip: int
    comments: re.Pattern[bytes] | None
    header: bool = False
    guessed: bool = False


@dataclass(frozen=True)
class TextFile:
    """A text file, perhaps compressed, with its first bytes already read.

    Attributes
    ----------
    path : Path
    compression : str, optional
    head : bytes
        The first bytes, up to the second row or more.
    complete : bool
        Whether that is the whole text.
    """

    path: Path
    compression: str | None
    head: bytes
    complete: bool

    @classmethod
    def open(cls, path: Path) -> TextFile:
        """Read the beginning of a file."""
        compression = compression_of(path)
        with open_stream(path, compression) as stream:
            head = stream.read(HEAD)
            if not head:
                raise FileError(f"{path}: is empty; give a file with edges")
            text = cls(path, compression, head, complete=False)
            while len(text.first_rows(2)) < 2 and len(head) < LONGEST_HEAD:
                block = stream.read(max(HEAD, len(head)))
                head += block
                text = cls(path, compression, head, complete=not block)
                if not block or text.last_line() > LONGEST:
                    break
            return text

    def last_line(self) -> int:
        """Return the bytes of the last line that was read."""
        return len(self.head) - 1 - max(self.head.rfind(b"\n"), self.head.rfind(b"\r"))

    def lines(self) -> list[str]:
        """Return the lines of the beginning; the last one only if it is complete."""
        head = self.head.removeprefix(BOM)
        if not self.complete:
            head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head
        return with_line_feeds(head).decode("utf-8", "replace").split("\n")

    def first_rows(self, count: int, comments: re.Pattern[bytes] = COMMENT) -> list[str]:
        """Return the first lines that are neither comments nor empty."""
        rows = (line for line in self.lines() if line.strip() and not comments.match(line.encode()))
        return [row for row, _ in zip(rows, range(count), strict=False)]

    def kind(self, wanted: Wanted) -> str:
        """Return which of csv, tsv and snap the beginning and the name indicate."""
        if wanted.separator is not None:
            return {",": "csv", "\t": "tsv", " ": "snap"}.get(wanted.separator, "csv")
        name = self.path.name.lower()
        rows = self.first_rows(2)
        first = rows[0] if rows else ""
        words = not _all_numbers(first.split())  # a blank may be part of words
        if "," in first or (".csv" in name and words):
            return "csv"
        if (".tsv" in name and words) or ("\t" in first and _is_header(rows, "\t")):
            return "tsv"
        return "snap"

    def layout(self, kind: str, wanted: Wanted) -> Layout:
        """Return the layout of a file of this kind; fewer than the least columns are refused."""
        rows = self.first_rows(2)
        first = rows[0] if rows else ""
        if kind == "snap":
            separator = "\t" if "\t" in first and not _all_numbers(first.split()) else " "
            comments, before = COMMENT, 0
        else:
            separator = wanted.separator or ("," if kind == "csv" else "\t")
            comments, before = None, self._comments_at_the_top()
            if not rows:
                raise FileError(f"{self.path}: has no header and no edges; give a file with edges")
        split = [_cells(row, separator, quotes=comments is None) for row in rows]
        cells = split[0] if rows else ["0"] * wanted.least  # an edge list may be empty
        header, guessed = self._header(kind, split, wanted)
        columns = cells if header else _named(len(cells), wanted.names)
        repeated = {name for name in columns if columns.count(name) > 1}
        if repeated:
            raise FileError(f"{self.path}: two columns are named {min(repeated)!r}; rename one")
        if len(columns) < wanted.least:
            other_separators = [mark for mark in ",;|" if mark in first and mark != separator]
            raise FileError(
                f"{self.path}: line {self.line_of(before + 1, comments)} has one column "
                f"({first[:60]!r}); give two or more, separated by "
                + NAMES.get(separator, repr(separator))
                + (
                    f"; --separator {other_separators[0]!r} names another separator"
                    if other_separators
                    else ""
                )
            )
        return Layout(separator, columns, before + header, comments, header, guessed)

    def _header(self, kind: str, rows: list[list[str]], wanted: Wanted) -> tuple[bool, bool]:
        """Return whether the first row is the header, and whether this is only likely.

        A row with a number is none.  Words above a row with a number are one.  Among words only, a row is
        one that has the names that were asked for, or usual ones; any other first row is the header of a
        csv or tsv file, and an edge of an edge list.
        """
        if wanted.header is not None:
            return wanted.header and bool(rows), False
        if not rows or any(map(_is_value, rows[0])):
            return False, False
        if len(rows) == 2 and any(map(_is_value, rows[1])):
            return True, True
        first = rows[0]
        asked = [name for names in wanted.pairs for name in names]
        usual = [_letters(cell) in KNOWN_NAMES for cell in first[: wanted.least]]
        named = first[:1] == [wanted.names[0]] or bool(asked and set(asked) <= set(first))
        return kind != "snap" or named or all(usual), True

    def _comments_at_the_top(self) -> int:
        count = 0
        for line in self.lines():
            if line.strip() and not line.lstrip().startswith(("#", "%")):
                break
            count += 1
        return count

    def table(self, layout: Layout, wanted: Wanted) -> pa.Table:
        """Parse the rows.

        Arrow infers types that fit all values.  Columns are parsed again in another type if they have
        integers above int64, which Arrow reads as float64, or ids that Arrow changed.
        """
        pairs = [[name for name in names if name in layout.columns] for names in wanted.pairs]
        ids = [name for names in pairs for name in names]
        types = dict.fromkeys(ids, pa.string()) if wanted.text else {}
        floats: list[str] = []
        while True:
            try:
                table, spelled = self._parse(layout, types, ids)
            except pa.ArrowInvalid as error:
                misfit = re.match(r"In CSV column #(\d+):.*conversion error", str(error))
                if misfit is None:
                    raise self._blame(layout, types, error) from error
                name = layout.columns[int(misfit[1])]
                if types.get(name) == pa.string():
                    raise self._not_utf8(name) from error
                types[name] = pa.float64()
                continue
            guessed = [name for name in layout.columns if name not in types]
            large = [name for name in guessed if _holds_large_integers(table[name])]
            types |= dict.fromkeys(large, pa.uint64())
            if large:
                continue
            text = textids.text_columns(table, pairs, spelled, self.path) if table.num_rows else []
            if not text:
                break
            floats += [name for name in text if pa.types.is_floating(table.schema.field(name).type)]
            types |= dict.fromkeys(text, pa.string())
        table = self._checked(table)
        for name in floats:
            textids.refuse_floats(table, name, self.path)
        table = textids.trimmed(table, ids, self.path)
        for name in ids:
            textids.refuse_missing(table, name, self.path)
        self._check_header(layout, table, pairs)
        return table

    def _parse(
        self,
        layout: Layout,
        types: dict[str, pa.DataType],
        ids: Sequence[str],
        threads: bool = True,
    ) -> tuple[pa.Table, dict[str, str]]:
        with open_stream(self.path, self.compression) as stream:
            guarded = Guarded(stream, self.path, self._need_of_rows(layout), layout.separator)
            text: Any = guarded
            if layout.comments is not None:
                text = Cleaned(guarded, layout.separator == " ", layout.comments)
            places = [layout.columns.index(name) for name in ids if name not in types]
            text = Spelled(text, layout.separator, places)
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
                        delimiter=layout.separator,
                        quote_char='"' if layout.comments is None else False,
                    ),
                    csv.ConvertOptions(column_types=types),
                )
            except pa.ArrowInvalid:  # expected if the text is truncated
                guarded.raise_what_stopped_it()
                raise
            guarded.raise_what_stopped_it()
            return table, {layout.columns[place]: cell for place, cell in text.found.items()}

    def _check_header(
        self, layout: Layout, table: pa.Table, pairs: Sequence[Sequence[str]]
    ) -> None:
        """Refuse a first row taken as the header if it has ids; warn of one that may be a header."""
        if not layout.guessed:
            return
        ids = [name for names in pairs for name in names]
        texts = [name for name in ids if pa.types.is_string(table.schema.field(name).type)]
        first = ids if layout.header else [table[name][0].as_py() for name in texts]
        again = [
            name
            for name in first
            if sum(compute.sum(compute.equal(table[text], name)).as_py() or 0 for text in texts)
            > (not layout.header) * first.count(name)
        ]
        row = ", ".join(map(str, first))
        if layout.header and again:
            raise FileError(
                f"{self.path}: the first row ({row}) may be the header or an edge, since {again[0]!r} is also "
                "an id; give --no-header if it is an edge, --header if it is none"
            )
        if not layout.header and len(texts) > 1 and not again and table.num_rows > 1:
            warn_caller(
                f"{self.path}: the first row ({row}) is read as an edge, and its ids are in no other row; "
                "give --header if it is the header, --no-header if it is an edge"
            )

    def _checked(self, table: pa.Table) -> pa.Table:
        """Give empty columns a type, and refuse text in another encoding."""
        for number, field in enumerate(table.schema):
            if pa.types.is_binary(field.type):
                raise self._not_utf8(field.name)
            if pa.types.is_null(field.type):
                table = table.set_column(number, field.name, table[field.name].cast(pa.int64()))
        return table

    def _not_utf8(self, name: str) -> FileError:
        return FileError(f"{self.path}: column {name!r} is not text in UTF-8; convert the file")

    def _blame(
        self, layout: Layout, types: dict[str, pa.DataType], error: pa.ArrowInvalid
    ) -> FileError:
        """Return an error that gives the line of the first row that does not fit."""
        message = str(error)
        try:
            self._parse(layout, types, (), threads=False)  # only a single thread counts rows
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
        """Refuse a plain file too large for memory, judged by its size and its first rows.

        The first rows may differ from the rest, so a file is refused only if half the estimate is too
        large; memory is counted again while reading.  What a compressed file says of its size may be
        wrong, so it is not asked.
        """
        size = self.path.stat().st_size
        if self.compression is None and size > len(self.head):
            needed = self._need_of_rows(layout).of(self.head) * size / len(self.head)
            check_room(str(self.path), needed / 2, available_memory())

    def _need_of_rows(self, layout: Layout) -> Need:
        """Return the memory that rows need if all are like the first ones."""
        comments = layout.comments or COMMENT
        rows = self.first_rows(layout.skip * (layout.comments is not None) + 2, comments)[-1:]
        cells = [cell for row in rows for cell in re.split(r"[,\s]+", row.strip())]
        return Need(len(layout.columns), numbers=bool(cells) and _all_numbers(cells))

    def line_of(self, row: int, comments: re.Pattern[bytes] | None) -> int:
        """Return the line of a row; both are counted from 1, and rows as Arrow counts them."""
        top = 0 if comments else self._comments_at_the_top()
        number = 0
        with open_stream(self.path, self.compression) as stream:
            for number, line in enumerate(_lines_of(stream), start=1):
                skipped = comments is not None and comments.match(line)
                row -= number <= top or bool(line.strip() and not skipped)
                if row == 0:
                    break
        return number


def _lines_of(stream: Any) -> Any:
    """Yield the lines of a stream; a long one comes in pieces."""
    rest = b""
    while block := stream.read(LONGEST):
        text = rest + block
        cut = text.endswith(b"\r")  # perhaps half a line end
        *lines, rest = with_line_feeds(text[: len(text) - cut]).split(b"\n")
        rest += b"\r" * cut
        yield from lines
        if len(rest) > LONGEST:
            yield rest
            rest = b""
    if rest:
        yield rest


def _cells(row: str, separator: str, *, quotes: bool) -> list[str]:
    """Return the cells of a row, without the blanks around them."""
    if separator == " ":
        return row.split()
    cells = row.split(separator)
    if quotes and '"' in row:
        with suppress(python_csv.Error):  # a cell may be too long for Python's reader
            cells = next(python_csv.reader([row], delimiter=separator))
    return [cell.strip() for cell in cells]


def _letters(cell: str) -> str:
    return re.sub(r"[\s_-]", "", cell).lower()


def _all_numbers(cells: Sequence[str]) -> bool:
    return all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell.strip()) is not None


def _is_value(cell: str) -> bool:
    """Return whether a cell of the first row cannot be the name of a column."""
    return VALUE.fullmatch(cell.strip()) is not None


def _is_header(rows: Sequence[str], separator: str | None) -> bool:
    """Return whether the first row has only names, and the second one a number."""
    if len(rows) < 2:
        return False
    first, second = (row.split(separator) for row in rows)
    return not any(map(_is_value, first)) and any(map(_is_value, second))


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
