"""Pajek .net files: numbered vertices, then sections of arcs, edges, lists of neighbours or a matrix."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.frames.graph_file import GraphFile, from_ends, numbered_vertices, refuse_numbers
from cugraph_ws.frames.streams import read_text
from cugraph_ws.frames.textfiles import TextFile

__all__ = ["read_pajek"]

SECTIONS = ("vertices", "arcs", "edges", "arcslist", "edgeslist", "matrix", "network")
WEIGHT = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NEED = 6.0  # bytes of memory for a byte of text


def read_pajek(text: TextFile, names: Sequence[str]) -> GraphFile:
    """Return the graph of a Pajek file.

    Parameters
    ----------
    text : TextFile
    names : sequence of str
        Names for sources, destinations and weights.

    Returns
    -------
    GraphFile
        Vertices 1 to n, not their labels, which need not be unique.  There are weights if a line has one;
        those without have 1.  Arcs have directions; edges, and the matrix of a network of two kinds, have none.  All relations are read together.

    Raises
    ------
    FileError
        If it has sections that are not those of one network, or a line is wrong.
    GraphMemoryError
        If the graph would not fit in memory.

    References
    ----------
    Batagelj and Mrvar, "Pajek: Program for analysis and visualization of very large networks, reference manual".
    """
    reader = _Reader(text.path)
    rows = read_text(text.path, text.compression, NEED)
    for number, line in enumerate(_lines(rows), start=1):
        if line[:1] == b"*":
            reader.begin(number, line)
        elif line and line[:1] != b"%":
            reader.row(number, line)
    return reader.graph(names)


def _lines(text: bytes) -> Iterator[bytes]:
    """Yield lines without the blanks around them."""
    at = 0
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        yield text[at:end].strip()
        at = end + 1


class _Reader:
    """What was read, and the section that is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.section = ""
        self.count: int | None = None
        self.first_mode = 0  # vertices of the first kind, of a network of two kinds
        self.matrix_rows = 0
        self.ends = array("q"), array("q")
        self.weights: list[float] = []
        self.undirected = bytearray()
        self.weighted = False

    def begin(self, number: int, line: bytes) -> None:
        """Begin a section."""
        word, *numbers = line[1:].decode("utf-8", "replace").split() or [""]
        self.section = word.lower()
        if self.section not in SECTIONS:
            raise self._error(number, f"a section *{word} is not read; leave it out")
        if self.section != "vertices":
            if self.section != "network" and self.count is None:
                raise self._error(number, f"*{word} comes before *Vertices")
            return
        if self.count is not None:
            raise self._error(number, "there is a second network; give a file with one")
        if not numbers or not all(text.isdecimal() and len(text) < 19 for text in numbers[:2]):
            raise self._error(number, "*Vertices needs the number of vertices")
        self.count = int(numbers[0])
        self.first_mode = int(numbers[1]) if len(numbers) > 1 else 0
        if self.first_mode > self.count:
            raise self._error(number, "the first kind has more vertices than there are")

    def row(self, number: int, line: bytes) -> None:
        """Read a line of the section."""
        if self.section == "vertices":
            return
        words = line.split()
        try:
            if self.section in ("arcs", "edges"):
                weight = len(words) > 2 and WEIGHT.fullmatch(words[2])
                self._add(int(words[0]), int(words[1]), words[2] if weight else None)
            elif self.section in ("arcslist", "edgeslist"):
                for word in words[1:]:
                    self._add(int(words[0]), int(word), None)
            elif self.section == "matrix":
                self.matrix_rows += 1
                for place, word in enumerate(words, start=1):
                    if float(word) != 0:
                        self._add(self.matrix_rows, self.first_mode + place, word)
            else:
                raise ValueError
        except (ValueError, IndexError, OverflowError):
            what = line[:60].decode("utf-8", "replace")
            raise self._error(number, f"{what!r} is no line of *{self.section}") from None

    def _add(self, source: int, destination: int, weight: bytes | None) -> None:
        self.ends[0].append(source)
        self.ends[1].append(destination)
        two_modes = self.section == "matrix" and self.first_mode > 0
        self.undirected.append(two_modes or self.section in ("edges", "edgeslist"))
        self.weighted |= weight is not None
        self.weights.append(1 if weight is None else _number(weight))

    def _error(self, number: int, what: str) -> FileError:
        return FileError(f"{self.path}: line {number}: {what}")

    def graph(self, names: Sequence[str]) -> GraphFile:
        """Return what was read."""
        if self.count is None:
            raise FileError(
                f"{self.path}: has no *Vertices; give format snap if it is a list of edges"
            )
        vertices = numbered_vertices(self.count, self.path)
        ends = [pa.array(np.frombuffer(end, np.int64)) for end in self.ends]
        refuse_numbers(pa.table(dict(zip(names, ends, strict=False))), self.count, self.path)
        exact = all(isinstance(weight, int) for weight in self.weights)
        weights = pa.array(self.weights, pa.int64() if exact else pa.float64())
        attributes = {names[2]: weights} if self.weighted else {}
        undirected = np.frombuffer(self.undirected, np.uint8)
        return from_ends((ends[0], ends[1]), attributes, names, undirected, vertices)


def _number(word: bytes) -> float:
    """Return an exact integer if the word is one."""
    return int(word) if word.lstrip(b"+-").isdigit() and len(word) < 19 else float(word)
