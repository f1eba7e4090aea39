"""GraphML files, read as a stream: no entities, no document type, integers exact.

Python's own parser (expat) is used rather than igraph, which reads integers as floats and ignores an
edge's own direction, or NetworkX, which keeps a dictionary for each edge.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.frames.graph_file import GraphFile, from_ends
from cugraph_ws.frames.streams import BLOCK, open_stream
from cugraph_ws.frames.textfiles import TextFile
from cugraph_ws.frames.textids import as_ids
from cugraph_ws.runtime.memory import available_memory, check_room

__all__ = ["read_graphml"]

LONGEST_TOKEN = 1 << 24  # bytes of a tag or a comment, which expat keeps
NODE, EDGE, VALUE = 150, 17, 64  # bytes that each takes here
TYPES = {
    **dict.fromkeys(("int", "long"), pa.int64()),
    **dict.fromkeys(("float", "double"), pa.float64()),
    "boolean": pa.bool_(),
    "string": pa.string(),
}


def read_graphml(text: TextFile, names: Sequence[str], *, text_ids: bool = False) -> GraphFile:
    """Return the graph of a GraphML file.

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
        Vertices are the nodes' ids; a column for each attribute of edges, null where it is missing and
        has no default.  Attributes of nodes, ports and what extensions add are not read.

    Raises
    ------
    FileError
        If it is no XML, has a document type, nested graphs, hyperedges or several graphs, or an edge
        names a node that is not there.
    GraphMemoryError
        If the graph would not fit in memory.

    References
    ----------
    Brandes, Eiglsperger, Herman, Himsolt and Marshall, "GraphML progress report", Graph Drawing 2001.
    """
    reader = _Reader(text.path)
    room, size = available_memory(), 0
    with open_stream(text.path, text.compression) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            reader.feed(block)
            check_room(str(text.path), reader.held(), room)
            if size - reader.parser.CurrentByteIndex > LONGEST_TOKEN:
                raise reader.error("a tag or comment is too long")
        reader.feed(b"", final=True)
    return reader.graph(names, text_ids)


class _Reader:
    """Handlers of the parser's events, and what was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[str, int] = {}  # by id: its number, in order of appearance
        self.declared = bytearray()  # by number: whether there was a node
        self.ends = array("q"), array("q")
        self.undirected = bytearray()
        self.keys: dict[str, _Key] = {}
        self.edges_undirected = False
        self.open: list[str] = []  # elements
        self.graphs = 0
        self.into: list[str] | None = None  # pieces of the text that is collected
        self.key: _Key | None = None  # whose value or default that is
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype

    def feed(self, block: bytes, *, final: bool = False) -> None:
        try:
            self.parser.Parse(block, final)
        except expat.ExpatError as error:
            raise FileError(
                f"{self.path}: is not well-formed XML ({error}); it may be truncated: make or fetch it again"
            ) from error

    def held(self) -> int:
        """Return about how many bytes are held."""
        values = sum(len(key.values) for key in self.keys.values())
        return NODE * len(self.nodes) + EDGE * len(self.undirected) + VALUE * values

    def error(self, what: str) -> FileError:
        return FileError(f"{self.path}: line {self.parser.CurrentLineNumber}: {what}")

    def _doctype(self, *declaration: Any) -> None:
        raise self.error(
            "has a document type (DOCTYPE), which may declare entities and is not read; remove it"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        parent = self.open[-1] if self.open else ""
        self.open.append(name)
        if name == "node" and parent == "graph":
            number = self._number(self._attribute(attributes, "id"))
            if self.declared[number]:
                raise self.error(f"a second node has the id {attributes['id']!r}; ids are unique")
            self.declared[number] = True
        elif name == "edge" and parent == "graph":
            for end, ends in zip(("source", "target"), self.ends, strict=True):
                ends.append(self._number(self._attribute(attributes, end)))
            directed = attributes.get("directed")
            self.undirected.append(
                self.edges_undirected if directed is None else directed not in ("true", "1")
            )
        elif name == "data" and parent == "edge":
            self.key = self.keys.get(self._attribute(attributes, "key"))
            if self.key is None:
                raise self.error(f"there is no key {attributes['key']!r}")
            self.into = []
        elif name == "key" and attributes.get("for", "all") in ("edge", "all"):
            self.keys[self._attribute(attributes, "id")] = self.key = _Key(attributes)
        elif name == "default" and parent == "key" and self.key is not None:
            self.into = []
        elif name == "graph":
            self.graphs += 1
            if self.graphs > 1:
                raise self.error("there is a second or nested graph; give a file with one graph")
            self.edges_undirected = attributes.get("edgedefault") == "undirected"
        elif name == "hyperedge":
            raise self.error("there is a hyperedge; edges have two ends")
        elif not parent and name != "graphml":
            raise self.error(f"the document is {name!r}, not graphml")

    def _end(self, name: str) -> None:
        name = self.open.pop()
        parent = self.open[-1] if self.open else ""
        if name == "key":
            self.key = None
        elif self.into is not None and (name, parent) in (("data", "edge"), ("default", "key")):
            value, self.into = "".join(self.into), None
            assert self.key is not None
            if parent == "key":
                self.key.default = self._value(self.key, value)
            else:
                self.key.rows.append(len(self.undirected) - 1)
                self.key.values.append(self._value(self.key, value))
                self.key = None

    def _characters(self, piece: str) -> None:
        if self.into is not None and self.open[-1] in ("data", "default"):
            self.into.append(piece)

    def _attribute(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise self.error(f"<{self.open[-1]}> has no {name}")
        return attributes[name]

    def _number(self, name: str) -> int:
        number = self.nodes.setdefault(name, len(self.nodes))
        if number == len(self.declared):
            self.declared.append(False)
        return number

    def _value(self, key: _Key, text: str) -> Any:
        """Return a value in the type of its key."""
        bare = text.strip()
        if key.type == "string":
            return text
        if not bare:
            return None
        try:
            if key.type == "boolean":
                return {"true": True, "1": True, "false": False, "0": False}[bare.lower()]
            return int(bare) if key.type in ("int", "long") else float(bare)
        except (ValueError, KeyError):
            raise self.error(f"{bare[:60]!r} is no {key.type}, as key {key.name!r} says") from None

    def graph(self, names: Sequence[str], text_ids: bool) -> GraphFile:
        """Return what was read."""
        if not self.graphs:
            raise FileError(f"{self.path}: has no graph; give a file with one")
        ids = pa.array(list(self.nodes), pa.string())
        missing = self.declared.find(0)
        if missing >= 0:
            raise FileError(
                f"{self.path}: an edge has the end {ids[missing].as_py()!r}, but there is no such node; "
                "the file may be truncated: make or fetch it again"
            )
        ids = ids if text_ids else as_ids(ids)
        ends = [ids.take(pa.array(np.frombuffer(end, np.int64))) for end in self.ends]
        attributes = {
            key.name: key.column(len(self.undirected))
            for key in self.keys.values()
            if key.rows or (key.default is not None and key.whose == "edge")
        }
        undirected = np.frombuffer(self.undirected, np.uint8)
        return from_ends(
            (ends[0], ends[1]), attributes, names, undirected, pa.table({"vertex": ids})
        )


class _Key:
    """An attribute of edges: its type, and its values by row."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.name = attributes.get("attr.name", attributes.get("id", ""))
        self.type = attributes.get("attr.type", "string").lower()
        if self.type not in TYPES:
            self.type = "string"
        self.whose = attributes.get("for", "all")
        self.default: Any = None
        self.rows = array("q")
        self.values: list[Any] = []

    def column(self, count: int) -> pa.Array:
        """Return the values of `count` edges."""
        values: list[Any] = [self.default] * count
        for row, value in zip(self.rows, self.values, strict=True):
            values[row] = value
        return pa.array(values, TYPES[self.type])
