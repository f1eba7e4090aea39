"""Writes frames and edges to Parquet, CSV or JSON lines, atomically."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import pyarrow as pa
from pyarrow import csv

from cugraph_ws.errors import FileError, InputError
from cugraph_ws.frames.json_lines import JsonLinesWriter
from cugraph_ws.runtime.atomic_files import new_beside, replacing, sweep
from cugraph_ws.runtime.paths import native_path

__all__ = ["check_writable", "errors_of_writing", "write_chunks", "write_frame", "write_stream"]

OUTPUTS = (
    *(".parquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz"),
    *(".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
)


def check_writable(path: str | Path, *, any_name: bool = False) -> Path:
    """Check before any work is done that a result can be written.

    Parameters
    ----------
    path : str or Path
        Where to write; its suffix selects the format.
    any_name : bool
        Whether any suffix is accepted.

    Returns
    -------
    Path
        The file itself, if `path` is a link to it.

    Raises
    ------
    FileError
        If the suffix is unknown, or the folder is missing or not writable.
    """
    path = native_path(path)
    if not any_name:
        _suffix(path)
    path = Path(os.path.realpath(path))  # not resolve(), which has no answer to links in a circle
    with errors_of_writing(path):
        if path.exists() and not path.is_file():
            raise FileError(f"{path}: is not a regular file; give another path for the output")
        if not path.parent.is_dir():
            raise FileError(f"{path}: there is no folder {path.parent}; make it first")
        temporary = new_beside(path)
        temporary.touch(exist_ok=False)
        temporary.unlink()
        sweep(path.parent)
    return path


def write_frame(frame: Any, path: str | Path) -> None:
    """Write a frame to a file, which appears only when it is complete.

    Parameters
    ----------
    frame : pandas, Polars, PyArrow or cuDF frame
    path : str or Path
        .parquet, .csv, .tsv or .jsonl; the last three also with .gz.

    Raises
    ------
    FileError
        If the file cannot be written; the previous file is unchanged.
    """
    path = check_writable(path)
    try:
        table = nw.from_native(frame, eager_only=True).to_arrow()
    except TypeError:
        raise InputError(
            f"{type(frame).__name__} is not a frame; give one of pandas, Polars, PyArrow or cuDF"
        ) from None
    with (
        errors_of_writing(path),
        replacing(path) as file,
        _writer(_suffix(path), file, table.schema) as writer,
    ):
        writer.write_table(table)


def write_stream(frame: Any, stream: IO[bytes], suffix: str) -> None:
    """Write a frame to an open stream.

    Parameters
    ----------
    frame : pandas, Polars, PyArrow or cuDF frame
    stream : binary file
        Stays open.
    suffix : str
        The format, as the suffix of a file has it.
    """
    table = nw.from_native(frame, eager_only=True).to_arrow()
    with _writer(suffix, stream, table.schema) as writer:
        writer.write_table(table)
    stream.flush()


def write_chunks(chunks: Iterable[Mapping[str, Any]], path: str | Path) -> int:
    """Write edges as they are generated, a row group per chunk; only one chunk is in memory.

    Parameters
    ----------
    chunks : iterable of dict of ndarray
        At least one; all with the same columns.
    path : str or Path
        As for `write_frame`.

    Returns
    -------
    int
        Number of rows written.

    Raises
    ------
    FileError
        If the file cannot be written; the previous file is unchanged.
    """
    path = check_writable(path)
    tables = (pa.table(dict(chunk)) for chunk in chunks)
    first = next(tables)
    rows: int = first.num_rows
    with (
        errors_of_writing(path),
        replacing(path) as file,
        _writer(_suffix(path), file, first.schema) as writer,
    ):
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
            rows += table.num_rows
    return rows


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for suffix in OUTPUTS:
        if name.endswith(suffix):
            return suffix
    raise FileError(f"{path}: the suffix is not a known format; end it in {', '.join(OUTPUTS)}")


@contextmanager
def errors_of_writing(path: Path) -> Iterator[None]:
    """Convert system errors of a block that writes to a FileError that names what it writes.

    Parameters
    ----------
    path : Path
        The file or folder.

    Yields
    ------
    None

    Raises
    ------
    FileError
    """
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{path}: cannot be written ({reason}); give another path") from error


@contextmanager
def _writer(suffix: str, file: IO[bytes], schema: pa.Schema) -> Iterator[Any]:
    """Open a writer of a format on an open file."""
    if suffix in (".parquet", ".pq"):
        from pyarrow import parquet

        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            yield writer
        return
    with ExitStack() as open_:
        stream: Any = file
        if suffix.endswith(".gz"):
            plain = open_.enter_context(pa.PythonFile(_Kept(file), mode="w"))
            stream = open_.enter_context(pa.CompressedOutputStream(plain, "gzip"))
        yield open_.enter_context(_rows_writer(suffix, stream, schema))


def _rows_writer(suffix: str, stream: Any, schema: pa.Schema) -> Any:
    """Return a writer of rows of text on an open stream."""
    if "json" in suffix:
        return JsonLinesWriter(stream)
    options = csv.WriteOptions(delimiter="\t" if ".tsv" in suffix else ",")
    return csv.CSVWriter(stream, schema, write_options=options)


class _Kept:
    """A file for Arrow to write to, which stays open after Arrow closes it."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Leave the file open."""
