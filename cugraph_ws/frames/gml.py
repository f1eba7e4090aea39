"""GML files: nested lists of keys and values, `graph [ node [ id 1 ] edge [ source 1 target 2 ] ]`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.frames.graph_file import GraphFile, from_ends
from cugraph_ws.frames.streams import read_text
from cugraph_ws.frames.textfiles import TextFile
from cugraph_ws.frames.textids import as_ids, is_plain_integer

__all__ = ["read_gml"]

TOKEN = re.compile(rb'"[^"]*"|^[ \t]*#.*$|[\[\]]|[^\s\[\]"]+', re.MULTILINE)
NESTED = 30  # lists in lists, at most
NEED = 6.0  # bytes of memory for a byte of text


def read_gml(text: TextFile, names: Sequence[str], *, text_ids: bool = False) -> GraphFile:
    """Return the graph of a GML file.

    Parameters
    ----------
    text : TextFile
    names : sequence of str
        Names for sources and destinations.
    text_ids : bool
        Whether ids stay text even if all are integers.

    Returns
    -------
    GraphFile
        Vertices are the nodes' ids, not their labels, which need not be unique.  A column for each key of
        edges whose values are numbers or texts, null where it is missing.

    Raises
    ------
    FileError
        If it is not GML, or an edge names a node that is not there.
    GraphMemoryError
        If the graph would not fit in memory.

    References
    ----------
    Himsolt, "GML: A portable graph file format", University of Passau, 1997.
    """
    reader = _Reader(text.path, read_text(text.path, text.compression, NEED))
    for key, value in reader.entries():
        if key == "graph" and value is None:
            return reader.graph(names, text_ids)
        if value is None:
            reader.record()
    raise FileError(f"{text.path}: has no graph; it may be truncated: make or fetch it again")


class _Reader:
    """The tokens of a text."""

    def __init__(self, path: Path, text: bytes) -> None:
        self.path = path
        self.text = text
        self.found = (
            token for token in TOKEN.finditer(text) if not token[0].lstrip().startswith(b"#")
        )

    def entries(self) -> Iterator[tuple[str, str | None]]:
        """Yield keys and values of a list, up to its end; None for a value that is a list.

        The caller reads that list before the next entry.
        """
        for token in self.found:
            key = token[0]
            if key == b"]":
                return
            if key == b"[" or key[:1] == b'"':
                raise self._error(token.start(), key)
            value = next(self.found, None)
            if value is None:
                break
            if value[0] == b"]":
                raise self._error(value.start(), value[0])
            yield key.decode("utf-8", "replace"), None if value[0] == b"[" else _text(value[0])

    def record(self, depth: int = 0) -> dict[str, str]:
        """Return the values of a list that are no lists."""
        if depth > NESTED:
            raise FileError(f"{self.path}: lists are nested more than {NESTED} deep")
        values: dict[str, str] = {}
        for key, value in self.entries():
            if value is None:
                self.record(depth + 1)
            else:
                values[key] = value
        return values

    def graph(self, names: Sequence[str], text_ids: bool) -> GraphFile:
        """Return the graph whose list begins here."""
        nodes: dict[str, int] = {}
        edges: list[dict[str, str]] = []
        directed = False
        for key, value in self.entries():
            if value is not None:
                directed = directed if key != "directed" else value == "1"
                continue
            values = self.record()
            if key == "node":
                name = self._value(values, "id", key)
                if name in nodes:
                    raise FileError(f"{self.path}: two nodes have the id {name!r}; ids are unique")
                nodes[name] = len(nodes)
            elif key == "edge":
                edges.append(values)
        ends = [
            [self._value(edge, name, "edge") for edge in edges] for name in ("source", "target")
        ]
        missing = next((end for column in ends for end in column if end not in nodes), None)
        if missing is not None:
            raise FileError(
                f"{self.path}: an edge has the end {missing!r}, but there is no such node"
            )
        ids = pa.array(list(nodes), pa.string())
        ids = ids if text_ids else as_ids(ids)
        end_ids = [
            ids.take(pa.array([nodes[end] for end in column], pa.int64())) for column in ends
        ]
        keys = dict.fromkeys(
            key for edge in edges for key in edge if key not in ("source", "target")
        )
        attributes = {key: _column([edge.get(key) for edge in edges]) for key in keys}
        undirected = [not directed] * len(edges)
        return from_ends(
            (end_ids[0], end_ids[1]), attributes, names, undirected, pa.table({"vertex": ids})
        )

    def _value(self, values: dict[str, str], key: str, whose: str) -> str:
        if key not in values:
            raise FileError(
                f"{self.path}: a {whose} has no {key}; it may be truncated: make or fetch it again"
            )
        return values[key]

    def _error(self, at: int, what: bytes) -> FileError:
        line = self.text.count(b"\n", 0, at) + 1
        return FileError(
            f"{self.path}: line {line}: {what[:60].decode()!r} is not where GML has it"
        )


def _text(token: bytes) -> str:
    if token[:1] != b'"':
        return token.decode("utf-8", "replace")
    return html.unescape(token[1:-1].decode("utf-8", "replace"))


def _column(values: list[str | None]) -> pa.Array:
    """Return values as integers or floats if all are, else as text."""
    present = [value for value in values if value is not None]
    kinds: list[tuple[pa.DataType, Any]] = [(pa.float64(), float)]
    if all(map(is_plain_integer, present)):
        kinds.insert(0, (pa.int64(), int))
    for kind, convert in kinds:
        try:
            return pa.array([None if value is None else convert(value) for value in values], kind)
        except (ValueError, OverflowError):
            continue
    return pa.array(values, pa.string())
