"""Streams of text: decompressed, limited to the memory at hand, and cleaned for Arrow's parser.

A compressed file may grow a thousandfold, and what it says of its size may be wrong.  So memory is
counted while text is read, not before.
"""

from __future__ import annotations

import lzma
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.runtime.memory import available_memory, check_room, format_bytes
from cugraph_ws.runtime.paths import arrow_path

__all__ = [
    "BLOCK",
    "BOM",
    "COMMENT",
    "LONGEST",
    "Cleaned",
    "Guarded",
    "Need",
    "compression_of",
    "line_ends",
    "open_stream",
    "read_text",
    "with_line_feeds",
]

BLOCK = 1 << 22  # bytes that a thread parses at a time
IN_FLIGHT = 8 * BLOCK  # bytes of text that are read, but not yet released by Arrow
LONGEST = 1 << 20  # maximum bytes of a line
XZ_MEMORY = 1 << 28  # an .xz file may ask for a dictionary of 4 GiB
BOM = b"\xef\xbb\xbf"
COMMENT = re.compile(rb"^[ \t]*[#%].*\n?", re.MULTILINE)
TABS_TO_BLANKS = bytes.maketrans(b"\t", b" ")
COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\0": "xz",
}


def compression_of(path: Path) -> str | None:
    """Return the compression that the first bytes of a file indicate."""
    with path.open("rb") as file:
        start = file.read(8)
    return next((name for magic, name in COMPRESSIONS.items() if start.startswith(magic)), None)


def open_stream(path: Path, compression: str | None) -> AbstractContextManager[Any]:
    """Open a file to read its text, decompressed."""
    if compression == "xz":
        return XzStream(path)
    return pa.input_stream(arrow_path(path), compression=compression)  # type: ignore[no-any-return]


class XzStream:
    """The text of an .xz file; Arrow cannot read these, and `lzma.open` sets no limit of memory."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._decompressor = self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)

    def __enter__(self) -> XzStream:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""
        while True:
            compressed = b""
            if self._decompressor.eof:
                compressed = self._decompressor.unused_data or self._file.read(BLOCK)
                if not compressed.strip(b"\0"):  # padding may follow
                    return b""
                self._decompressor = self._new()
            elif self._decompressor.needs_input:
                compressed = self._file.read(1 << 16)
                if not compressed:
                    raise OSError("the compressed text ends too early")
            text = self._decompressor.decompress(compressed, size)
            if text:
                return text


def line_ends(text: bytes) -> int:
    r"""Count line ends: \n, \r\n and \r."""
    count = text.count(b"\n")
    return count + text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else count


def with_line_feeds(text: bytes) -> bytes:
    r"""Return text whose lines end in \n only."""
    if b"\r" not in text:
        return text
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def read_text(path: Path, compression: str | None, need: float) -> bytes:
    """Read the whole text of a file.

    Parameters
    ----------
    path : Path
    compression : str, optional
    need : float
        Bytes of memory that a byte of text takes while it is read and parsed: a lower bound.

    Returns
    -------
    bytes
        Without a byte order mark; lines end in a line feed.

    Raises
    ------
    GraphMemoryError
        As soon as more is read than memory holds.
    """
    room, size, blocks = available_memory(), 0, []
    with open_stream(path, compression) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            check_room(str(path), size * need, room)
            blocks.append(block)
    return with_line_feeds(b"".join(blocks).removeprefix(BOM))


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
        cells = line_ends(text) * self.columns
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
            self._lines += line_ends(block[at : last + 1])
            at, self._length = last + 1, 0


class Cleaned:
    """A stream of rows without comments and empty lines and, with `blanks`, one blank between cells.

    Parameters
    ----------
    stream : file-like
    blanks : bool
        Whether cells are separated by any number of blanks and tabs.
    comment : re.Pattern
        Matches a line that is not a row, with its end.
    """

    closed = False

    def __init__(self, stream: Any, blanks: bool, comment: re.Pattern[bytes] = COMMENT) -> None:
        self.stream = stream
        self.blanks = blanks
        self.comment = comment
        self.started = self.ended = False
        self.ready = b""
        self.rest = b""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none only at the end."""
        while not self.ready:
            block = with_line_feeds(self.stream.read(size))
            if not block and not self.rest:
                ended, self.ended = self.ended, True
                return b"" if ended else b"\n"  # Arrow refuses an empty file
            text = self.rest + block
            end = text.rfind(b"\n") + 1 if block else len(text)  # whole lines only
            self.ready, self.rest = self._clean(text[:end]), text[end:]
        chunk, self.ready = self.ready[:size], self.ready[size:]
        return chunk

    def _clean(self, text: bytes) -> bytes:
        if not self.started and text:
            text = text.removeprefix(BOM)
            self.started = True
        if self.comment is not COMMENT or b"#" in text or b"%" in text:
            text = self.comment.sub(b"", text)
        if self.blanks:
            text = text.translate(TABS_TO_BLANKS)
            while b"  " in text:
                text = text.replace(b"  ", b" ")
            text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n")
            text = text.removeprefix(b" ").removesuffix(b" ")
        while b"\n\n" in text:
            text = text.replace(b"\n\n", b"\n")
        return text.removeprefix(b"\n")
