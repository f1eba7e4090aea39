"""Files of graphs and of vertices, in every format that is read, as Arrow tables."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow import compute

from cugraph_ws.errors import FileError
from cugraph_ws.frames.arrow_files import (
    ARROW,
    PARQUET,
    begins_with,
    open_folder,
    read_arrow,
    read_parquet,
)
from cugraph_ws.frames.dimacs import read_dimacs
from cugraph_ws.frames.formats import (
    FORMATS,
    SUFFIXES,
    find_format,
    refuse_binary,
    refuse_unlikely,
)
from cugraph_ws.frames.gml import read_gml
from cugraph_ws.frames.graph_file import GraphFile
from cugraph_ws.frames.graphml import read_graphml
from cugraph_ws.frames.json_lines import read_json_lines
from cugraph_ws.frames.matrix_market import read_matrix_market
from cugraph_ws.frames.metis import read_metis
from cugraph_ws.frames.pajek import read_pajek
from cugraph_ws.frames.textfiles import TextFile, Wanted
from cugraph_ws.runtime.paths import native_path

__all__ = ["FORMATS", "SEPARATORS", "IdKind", "read_edges", "read_frame", "read_graph"]

EDGE_COLUMNS = ("source", "destination", "weight")
VERTEX_COLUMNS = ("vertex", "value")
SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " ", "comma": ",", "semicolon": ";"}
NUMBERED = {  # formats that number vertices from 1
    "matrix-market": read_matrix_market,
    "dimacs": read_dimacs,
    "metis": read_metis,
    "pajek": read_pajek,
}
NAMED = {"graphml": read_graphml, "gml": read_gml}
IdKind = Literal["auto", "text"]
TRUNCATED = re.compile("(?i)truncated|too early|end of file|unexpected end")


def read_graph(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - the word that users look for
    *,
    source: Sequence[str] = ("source",),
    destination: Sequence[str] = ("destination",),
    ids: IdKind = "auto",
    header: bool | None = None,
    separator: str | None = None,
) -> GraphFile:
    """Read a file of a graph.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files.  Text may be compressed by gzip, bzip2, zstd, lz4 or xz,
        regardless of its name.
    format : str, optional
        By default detected from the suffix and the first bytes.

        - parquet; arrow: Arrow's files and streams, and Feather.
        - csv, tsv: a row for each edge, cells separated by commas or tabs.  The first row is the
          header, unless one of its cells is a number.
        - snap: a line for each edge, cells separated by blanks or tabs; lines that begin with # or
          % are comments.  The first line is the header if it has usual names (source, from, src), those
          of `source` and `destination`, or words above numbers.
        - matrix-market: square coordinate matrices; an entry is an edge from its row to its column.
        - dimacs: problems sp, max, edge, col and tw.  metis: adjacency lists, with weights.
        - jsonl: an object in each line, with the ends of an edge under the names of the columns.
        - graphml, gml, pajek: one graph, with the attributes of its edges.

    source, destination : sequence of str
        The columns of ids, if the file has names of columns.  If it lacks them, its first two columns are
        ids.
    ids : {"auto", "text"}
        "auto": ids of text files are integers if each is written as Python writes it, and text otherwise
        (007, 0x10, 2024-01-01T00:00Z, NA, true); the two ends of an edge are of one kind.  Blanks around
        an id are not part of it.  Numbers such as 1.0 are refused.  "text": all are text.
    header : bool, optional
        Whether the first row of a csv, tsv or snap file is the header; by default detected.
    separator : str, optional
        The separator of cells: a character, or the name of one of `SEPARATORS`.

    Returns
    -------
    GraphFile
        Columns are named by the header if there is one, else source, destination, weight, and column_4
        and so on.  Vertices without edges are in `vertices`, if the format has them.

    Raises
    ------
    FileError
        If the file is missing, empty, truncated, in a format that is not read, or not in its format, or a
        line of text is longer than 1 MiB; the message gives the line if it is known.
    GraphMemoryError
        If its rows would not fit in memory.  This is raised before reading if the file gives their
        number, and otherwise as soon as too much is read.
    """
    names = source, destination
    pairs = [list(pair) for pair in zip(*names, strict=False)] or [list(EDGE_COLUMNS[:2])]
    separator = SEPARATORS.get(separator or "", separator)
    wanted = Wanted(EDGE_COLUMNS, 2, pairs, ids == "text", header, separator)
    return _read(path, format, wanted)


def read_edges(path: str | Path, format: str | None = None, **options: Any) -> pa.Table:  # noqa: A002 - as above
    """Read the edges of a file, with one in each direction for an edge without direction.

    Parameters
    ----------
    path, format, **options
        As for `read_graph`, which also returns the vertices without edges.

    Returns
    -------
    pyarrow.Table
    """
    return read_graph(path, format, **options).directed(native_path(path)).edges


def read_frame(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - as in read_graph
    names: Sequence[str] = VERTEX_COLUMNS,
    *,
    ids: IdKind = "auto",
    id_columns: Sequence[str] = ("vertex",),
) -> pa.Table:
    """Read a file of vertices or pairs of them, in parquet, arrow, csv, tsv, snap or jsonl.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files.
    format : str, optional
        As for `read_graph`.
    names : sequence of str
        Names of the first columns if the file has no header.
    ids : {"auto", "text"}
        As for `read_graph`.
    id_columns : sequence of str
        The columns of ids; if the file has none of them, the first one.

    Returns
    -------
    pyarrow.Table
        Columns as for `read_graph`.

    Raises
    ------
    FileError, GraphMemoryError
        As for `read_graph`.
    """
    wanted = Wanted(names, 1, [[name] for name in id_columns], ids == "text")
    return _read(path, format, wanted).edges


def _read(path: str | Path, format: str | None, wanted: Wanted) -> GraphFile:  # noqa: A002 - as above
    path = native_path(path)
    if format is not None and format not in FORMATS:
        raise FileError(f"format={format!r} is not known; choose one of: {', '.join(FORMATS)}")
    if wanted.separator is not None and len(wanted.separator) != 1:
        raise FileError(
            f"separator={wanted.separator!r} is not one character; give one, or one of: {', '.join(SEPARATORS)}"
        )
    with _errors_of(path):
        kind = format or SUFFIXES.get(path.suffix.lower())
        if path.is_dir() or kind == "parquet" or (format is None and begins_with(path, PARQUET)):
            folder = open_folder(path)
            return GraphFile(read_parquet(folder), incomplete=folder.incomplete)
        if kind == "arrow" or (format is None and begins_with(path, ARROW)):
            return GraphFile(read_arrow(path))
        text = TextFile.open(path)
        rows_of_cells = format in ("csv", "tsv", "snap") or wanted.separator is not None
        kind = format or (None if rows_of_cells else find_format(path, text.head))
        refuse_binary(path, text.head)
        if wanted.least == 1 and kind in (*NUMBERED, *NAMED):
            raise FileError(f"{path}: is a graph in the format {kind}; give a table, such as CSV")
        if kind in NUMBERED:
            return NUMBERED[kind](text, wanted.names)
        if kind in NAMED:
            return NAMED[kind](text, wanted.names, text_ids=wanted.text)
        if kind == "jsonl":
            id_columns = [name for names in wanted.pairs for name in names]
            return GraphFile(read_json_lines(text, id_columns, text_ids=wanted.text))
        return _read_rows(text, kind or text.kind(wanted), wanted, detected=not rows_of_cells)


def _read_rows(text: TextFile, kind: str, wanted: Wanted, *, detected: bool) -> GraphFile:
    """Read rows of cells."""
    layout = text.layout(kind, wanted)
    if detected and wanted.least > 1:
        separator = None if layout.separator == " " else layout.separator
        rows = [row.split(separator) for row in text.first_rows(2)]
        header = layout.header or wanted.header is not None
        refuse_unlikely(text.path, rows, header=header)
    have = [pair for pair in wanted.pairs if set(pair) <= set(layout.columns)]
    ids = replace(wanted, pairs=have or [layout.columns[: wanted.least]])
    text.check_size(layout)
    table = text.table(layout, ids)
    if detected and not layout.header and wanted.least > 1:
        _refuse_metis(table, text.path)
    return GraphFile(table, header=layout.header)


def _refuse_metis(table: pa.Table, path: Path) -> None:
    """Refuse rows that are those of a METIS file too: `n m`, then n lines of neighbours, 2 m in all."""
    columns = table.columns
    if table.num_rows < 2 or not all(pa.types.is_integer(column.type) for column in columns):
        return
    vertices, edges = (column[0].as_py() for column in columns[:2])
    if table.num_rows - 1 != vertices or 2 * edges != vertices * len(columns):
        return
    ids = [compute.min_max(column[1:]).as_py() for column in columns]
    if all(0 < bounds["min"] <= bounds["max"] <= vertices for bounds in ids):
        raise FileError(
            f"{path}: may be a list of edges, or a METIS file of {vertices} vertices; give --format snap or "
            "--format metis"
        )


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Convert errors of the system and of Arrow to errors that name the file."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file; check the path") from None
    except (OSError, EOFError, lzma.LZMAError, pa.ArrowException, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not a format's
            raise FileError(
                f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
            ) from error
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        state = "is truncated" if TRUNCATED.search(reason) else "may be truncated or damaged"
        raise FileError(
            f"{path}: cannot be read ({reason}); it {state}: make or fetch it again"
        ) from error
