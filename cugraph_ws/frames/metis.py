"""METIS files: a line for each vertex lists its neighbours, so every edge is there twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.frames.graph_file import (
    GraphFile,
    listed_once,
    numbered_vertices,
    refuse_numbers,
)
from cugraph_ws.frames.streams import read_text
from cugraph_ws.frames.textfiles import TextFile
from cugraph_ws.runtime.memory import available_memory, check_room

__all__ = ["read_metis"]

PIECE = 1 << 20  # bytes of lines that are parsed together


def read_metis(text: TextFile, names: Sequence[str]) -> GraphFile:
    """Return the graph of a METIS file.

    The first line has the numbers of vertices and edges, a format (three digits: whether vertices have
    sizes, vertices have weights, edges have weights) and the number of weights of a vertex.  Sizes and
    weights of vertices are not returned.

    Parameters
    ----------
    text : TextFile
    names : sequence of str
        Names for sources, destinations and weights.

    Returns
    -------
    GraphFile
        Vertices 1 to n; edges have no direction.

    Raises
    ------
    FileError
        If the lines are not as the first one says, or an edge is listed by one of its ends alone.
    GraphMemoryError
        If the file would not fit in memory.

    References
    ----------
    Karypis, "METIS: a software package for partitioning unstructured graphs, version 5.1.0", 2013, section 4.1.1.
    """
    path = text.path
    lines = _Lines(read_text(path, text.compression, need=1.0))
    head = next(lines.rows(), "")
    words = head.split()
    if not 2 <= len(words) <= 4 or not all(word.isdecimal() and len(word) < 19 for word in words):
        raise FileError(
            f"{path}: the first line is {head[:60]!r}; a METIS file begins with the numbers of vertices and "
            "edges; give --format snap if it is a list of edges"
        )
    count, edges = int(words[0]), int(words[1])
    flags = (words[2:3] or ["0"])[0].zfill(3)
    if len(flags) > 3 or set(flags) - {"0", "1"}:
        raise FileError(f"{path}: the format is {words[2]!r}; it has three digits that are 0 or 1")
    weights = int(words[3]) if len(words) == 4 else 1
    skipped = (flags[0] == "1") + (flags[1] == "1") * weights
    vertices = numbered_vertices(count, path)
    lengths, values = lines.numbers(path, edges, skipped * count)
    lengths = lengths[: count + np.count_nonzero(lengths[count:])]  # empty lines may follow
    if len(lengths) != count:
        raise FileError(
            f"{path}: has lines for {len(lengths)} vertices, and its first line says {count}; "
            "the file may be truncated: make or fetch it again"
        )
    step = 1 + (flags[2] == "1")
    wrong = (lengths < skipped) | ((lengths - skipped) % step != 0)
    if wrong.any():
        raise FileError(
            f"{path}: the line of vertex {np.argmax(wrong) + 1} has {lengths[wrong][0]} numbers, which does "
            f"not fit the format {flags}"
        )
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = np.arange(len(values)) - starts - skipped
    is_neighbour = (place >= 0) & (place % step == 0)
    sources = np.repeat(vertices["vertex"].to_numpy(), lengths)[is_neighbour]
    columns = [sources, values[is_neighbour]]
    if step == 2:
        columns.append(values[(place >= 0) & (place % step == 1)])
    table = pa.table(dict(zip(names, columns, strict=False)))
    if table.num_rows != 2 * edges:
        raise FileError(
            f"{path}: lists {table.num_rows} neighbours, and its first line says {edges} edges, which are "
            f"{2 * edges}; the file may be truncated: make or fetch it again"
        )
    refuse_numbers(table, count, path)
    once = listed_once(table)
    if once is None:
        raise FileError(
            f"{path}: an edge is listed by one of its two vertices alone, or with two weights; "
            "a METIS file lists it by both"
        )
    return GraphFile(once, vertices, undirected=True)


class _Lines:
    """The lines of a text that are not comments; empty ones count."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def rows(self) -> Iterator[str]:
        """Yield line by line."""
        while self.at < len(self.text):
            end = self.text.find(b"\n", self.at) + 1 or len(self.text)
            line, self.at = self.text[self.at : end], end
            if not line.lstrip().startswith(b"%"):
                yield line.decode("utf-8", "replace").strip()

    def numbers(self, path: Any, edges: int, skipped: int) -> tuple[Any, Any]:
        """Return how many numbers each of the remaining lines has, and the numbers."""
        room = available_memory()
        check_room(
            str(path), len(self.text) + 8 * min(2 * edges + skipped, len(self.text) // 2), room
        )
        lengths: list[Any] = [np.zeros(0, np.int64)]
        values: list[Any] = [np.zeros(0, np.int64)]
        nbytes = 0
        while self.at < len(self.text):
            end = self.text.find(b"\n", self.at + PIECE) + 1 or len(self.text)
            piece, self.at = self.text[self.at : end], end
            if b"%" in piece:
                rows = piece.splitlines(keepends=True)
                piece = b"".join(row for row in rows if not row.lstrip().startswith(b"%"))
            words = piece.split()
            try:
                values.append(pa.array(words, pa.string()).cast(pa.int64()).to_numpy())
            except (pa.ArrowInvalid, UnicodeDecodeError) as error:
                raise FileError(f"{path}: {error}; METIS files have whole numbers only") from error
            lengths.append(_lengths(piece))
            nbytes += 8 * (len(words) + len(lengths[-1]))
            check_room(str(path), len(self.text) + 4 * nbytes, room)  # sources, places and masks
        return np.concatenate(lengths), np.concatenate(values)


def _lengths(piece: bytes) -> Any:
    """Return the number of words of each line."""
    data = np.frombuffer(piece, np.uint8)
    blank = np.concatenate([[True], data <= 32])
    starts = np.flatnonzero(blank[:-1] & ~blank[1:])
    ends = np.flatnonzero(data == 10)
    lines = len(ends) + (not piece.endswith(b"\n") and bool(piece))
    return np.bincount(np.searchsorted(ends, starts), minlength=lines)
