"""Edge files: Parquet, CSV, SNAP text and Matrix Market, plain or gzipped, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.frames.matrix_market import read_matrix_market
from cugraph_ws.frames.textfiles import FORMATS, SUFFIXES, TextFile
from cugraph_ws.runtime.memory import available_memory, check_room
from cugraph_ws.runtime.paths import arrow_path, native_path

__all__ = ["FORMATS", "read_edges", "read_frame"]

EDGE_COLUMNS = ("source", "destination", "weight")
VERTEX_COLUMNS = ("vertex", "value")
PARQUET = b"PAR1"
BATCH = 1 << 16  # rows of text that are read at a time


def read_edges(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - the word that users look for
) -> pa.Table:
    """Read a file of edges.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files.  Text may be gzipped, regardless of its name.
    format : {"parquet", "csv", "tsv", "snap", "matrix-market"}, optional
        By default detected from the name and the first bytes.

        - csv, tsv: a row for each edge, cells separated by commas or tabs.  The first row is the
          header, unless one of its cells is a number.
        - snap: a line for each edge, cells separated by blanks or tabs; lines that begin with # or
          % are comments.
        - matrix-market: coordinate matrices; an entry is an edge from its row to its column, with
          ids from 1; symmetric matrices give edges in both directions.

    Returns
    -------
    pyarrow.Table
        Columns named by the header if there is one, else source, destination, weight, and column_4
        and so on.  Ids that look like integers are int64 (or uint64); a `GraphWarning` says so if some have
        leading zeros, which are dropped.

    Raises
    ------
    FileError
        If the file is missing, empty, truncated or not in the format, or a line of text is longer
        than 1 MiB; the message gives the line if it is known.
    GraphMemoryError
        If its rows would not fit in memory.  This is raised before reading if the file gives their
        number, and otherwise as soon as too much is read.
    """
    return _read(path, format, EDGE_COLUMNS, least=2)


def read_frame(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - as in read_edges
    names: Sequence[str] = VERTEX_COLUMNS,
) -> pa.Table:
    """Read a file of vertices, or any other table in the formats of `read_edges`.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of Parquet files.
    format : str, optional
        As for `read_edges`.
    names : sequence of str
        Names of the first columns if the file has no header.

    Returns
    -------
    pyarrow.Table
        Columns as for `read_edges`.

    Raises
    ------
    FileError, GraphMemoryError
        As for `read_edges`.
    """
    return _read(path, format, names, least=1)


def _read(path: str | Path, format: str | None, names: Sequence[str], least: int) -> pa.Table:  # noqa: A002 - as above
    path = native_path(path)
    if format is not None and format not in FORMATS:
        raise FileError(f"format={format!r} is not known; choose one of: {', '.join(FORMATS)}")
    with _errors_of(path):
        if path.is_dir() or (format or SUFFIXES.get(path.suffix.lower())) == "parquet":
            return _read_parquet(path)
        if format is None and _begins_with(path, PARQUET):
            return _read_parquet(path)
        text = TextFile.open(path)
        kind = format or text.kind()
        if kind == "matrix-market":
            return read_matrix_market(text, names)
        layout = text.layout(kind, names, least)
        text.check_size(layout)
        return text.table(layout)


def _begins_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Convert errors of the system and of Arrow to errors that name the file."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file; check the path") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # a name may raise the last
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(
            f"{path}: cannot be read ({reason}); it may be truncated or damaged: "
            "make or fetch it again"
        ) from error


def _read_parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    if path.is_dir():
        if not any(path.rglob("*.parquet")):
            raise FileError(f"{path}: the folder has no .parquet files; give another folder")
    elif not _begins_with(path, PARQUET):
        state = "is not a Parquet file" if path.stat().st_size else "is empty"
        raise FileError(f"{path}: {state}; give its format if it has another one")
    room = available_memory()
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    needed, text = 0, False
    for one in files:
        facts = parquet.ParquetFile(arrow_path(one))
        widths = [_width(kind) for kind in facts.schema_arrow.types]
        needed += sum(widths) * facts.metadata.num_rows // 8
        check_room(str(path), needed, room)
        text = text or 0 in widths
    if path.is_dir() or not text:
        return parquet.read_table(arrow_path(path))
    # the size of texts in memory is only known after reading
    batches, needed = [], 0
    for batch in parquet.ParquetFile(arrow_path(path)).iter_batches(BATCH):
        needed += batch.nbytes
        check_room(str(path), needed, room)
        batches.append(batch)
    return pa.Table.from_batches(batches, parquet.read_schema(arrow_path(path)))


def _width(kind: pa.DataType) -> int:
    """Return the bits of a value; 0 if they differ from row to row."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 0
