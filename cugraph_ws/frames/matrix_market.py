"""Matrix Market files: the entries of a sparse matrix as edges, its rows and columns as vertices."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import compute

from cugraph_ws.errors import FileError
from cugraph_ws.frames.graph_file import GraphFile, numbered_vertices, refuse_numbers
from cugraph_ws.frames.streams import COMMENT
from cugraph_ws.frames.textfiles import Layout, TextFile, Wanted
from cugraph_ws.runtime.memory import available_memory, check_room

__all__ = ["read_matrix_market"]

FIELDS = {"pattern": None, "integer": pa.int64(), "real": pa.float64(), "double": pa.float64()}
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
DIGITS = 18  # of a size; more would not fit in 64 bits


def read_matrix_market(text: TextFile, names: Sequence[str]) -> GraphFile:
    """Return the graph of a square coordinate matrix: an entry is an edge from its row to its column.

    Parameters
    ----------
    text : TextFile
    names : sequence of str
        Names for rows, columns and values.

    Returns
    -------
    GraphFile
        Ids from 1, as in the file; rows and columns without entries are vertices too.  A symmetric
        matrix has no directions; an entry off the diagonal of a skew-symmetric one gives an edge in
        each direction, with opposite values.

    Raises
    ------
    FileError
        If the header, the sizes or the entries are not those of a square coordinate matrix.
    GraphMemoryError
        If the entries or the vertices would not fit in memory.

    References
    ----------
    Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996.
    """
    field, symmetry = _header(text)
    rows, columns, entries = _sizes(text)
    if rows != columns:
        raise FileError(
            f"{text.path}: the matrix has {rows} rows and {columns} columns; rows and columns of "
            "a graph are the same vertices, so give a square one"
        )
    named = list(names[:2]) if field == "pattern" else list(names[:3])
    room = available_memory()
    if text.compression is None:  # no entry is shorter than "1 1", regardless of the size line
        possible = min(entries, text.path.stat().st_size // 4)
        check_room(str(text.path), 8 * len(named) * possible, room)
    layout = Layout(" ", named, skip=1, comments=COMMENT)
    table = text.table(layout, Wanted(named, 2, ()))
    if table.num_rows != entries:
        raise FileError(
            f"{text.path}: has {table.num_rows} entries, and its size line says {entries}; "
            "the file may be truncated: make or fetch it again"
        )
    refuse_numbers(table, rows, text.path)
    vertices = numbered_vertices(rows, text.path)
    kind = FIELDS[field]
    if kind is not None:
        try:
            values = table[named[2]].cast(kind)
        except pa.ArrowInvalid as error:
            raise FileError(f"{text.path}: values are not {field}: {error}") from error
        table = table.set_column(2, named[2], values)
    if symmetry != "skew-symmetric":
        return GraphFile(table, vertices, undirected=symmetry == "symmetric")
    check_room(str(text.path), 2 * table.nbytes, room)
    return GraphFile(_with_opposites(table, named), vertices)


def _header(text: TextFile) -> tuple[str, str]:
    line = text.lines()[0].strip()
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise FileError(
            f"{text.path}: line 1 is {line[:60]!r}, not a %%MatrixMarket header; "
            "give format snap if it is a list of edges"
        )
    layout, field, symmetry = words[2:]
    if layout != "coordinate" or field not in FIELDS or symmetry not in SYMMETRIES:
        raise FileError(
            f"{text.path}: line 1 declares a matrix that is {' '.join(words[2:])}; give one that is "
            f"coordinate, one of {', '.join(FIELDS)}, and one of {', '.join(SYMMETRIES)}"
        )
    return field, symmetry


def _sizes(text: TextFile) -> tuple[int, int, int]:
    line = "".join(text.first_rows(1))
    words = line.split()
    if len(words) != 3 or not all(word.isdecimal() and len(word) <= DIGITS for word in words):
        raise FileError(
            f"{text.path}: line {text.line_of(1, COMMENT)} is {line[:60]!r}; it should have "
            f"three whole numbers of at most {DIGITS} digits: rows, columns and entries"
        )
    rows, columns, entries = map(int, words)
    return rows, columns, entries


def _with_opposites(table: pa.Table, named: list[str]) -> pa.Table:
    source, destination = named[:2]
    below = table.filter(compute.not_equal(table[source], table[destination]))
    mirrored = below.select([destination, source, *named[2:]]).rename_columns(named)
    if len(named) == 3:
        mirrored = mirrored.set_column(2, named[2], compute.negate(mirrored[named[2]]))
    return pa.concat_tables([table, mirrored])
