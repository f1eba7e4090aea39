"""Streams of rows that are larger than memory: written column by column to mapped files, then an Arrow table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cugraph_ws.errors import FileError, InputError
from cugraph_ws.frames.arrow_files import open_folder, parquet_batches
from cugraph_ws.frames.base import Column
from cugraph_ws.frames.lazy import is_stream
from cugraph_ws.frames.values import read_numbers
from cugraph_ws.runtime.mapped_files import FileFolder, MappedFile
from cugraph_ws.runtime.paths import native_path

__all__ = ["Rows", "rows_of", "spooled"]

BATCH = 1 << 18  # rows that are read at a time


class Rows:
    """Rows that can be read once, in batches.

    Parameters
    ----------
    schema : pyarrow.Schema
    open_batches : callable
        Given the columns that are read, yields record batches.
    """

    def __init__(
        self, schema: pa.Schema, open_batches: Callable[[list[str]], Iterator[pa.RecordBatch]]
    ) -> None:
        self.schema = schema
        self._open = open_batches

    @property
    def no_rows(self) -> pa.Table:
        """A table of the columns without rows."""
        return self.schema.empty_table()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows' batches; errors of the library that reads are InputErrors, or FileErrors."""
        try:
            yield from self._open(list(dict.fromkeys(columns)))
        except (FileError, InputError):
            raise
        except Exception as error:  # of Arrow, or of what makes the batches
            raise InputError(
                f"edges: the rows cannot be read to their end: {error}; the file or stream may be damaged"
            ) from error


def rows_of(data: Any) -> Rows | None:
    """Return the rows of a Parquet file, a folder of them, or a stream; None for anything else.

    Raises
    ------
    FileError
        If there is no such file, or it is not Parquet.
    """
    if isinstance(data, (str, os.PathLike)):
        try:
            folder = open_folder(native_path(data))
        except FileError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"{data}: cannot be read: {error}; check the path") from error

        def of_files(columns: list[str]) -> Iterator[pa.RecordBatch]:
            folder.refuse_incomplete(columns)
            return parquet_batches(folder, BATCH, columns)

        return Rows(folder.schema, of_files)
    if not is_stream(data):
        return None
    reader = pa.RecordBatchReader.from_stream(data)

    def of_stream(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            some = batch.select(columns)
            for low in range(0, len(some), BATCH):
                yield some.slice(low, BATCH)

    return Rows(reader.schema, of_stream)


def spooled(
    batches: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    ids: Sequence[tuple[str, str]],
    values: Sequence[tuple[str, str]],
    folder: FileFolder,
) -> pa.Table:
    """Write the columns of rows to files, and return them as a table of mapped memory.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
    schema : pyarrow.Schema
    ids, values : sequence of (str, str)
        Names of columns, and the arguments that select them.
    folder : FileFolder

    Returns
    -------
    pyarrow.Table
        Values are int64, float32 or float64, each column in one chunk.

    Raises
    ------
    InputError
        If a value is null or NaN, or a column is not there or not numeric; names the row.
    FileError
        If the folder is full.
    """
    columns: dict[str, _Spool] = {}
    for pairs, numeric in ((ids, False), (values, True)):
        for name, argument in pairs:
            columns.setdefault(
                name, _Spool(name, argument, schema.field(name).type, numeric, folder)
            )
    rows = 0
    for batch in batches:
        for name, spool in columns.items():
            spool.write(batch.column(name), rows)
        rows += len(batch)
    return pa.table({name: spool.column() for name, spool in columns.items()})


class _Spool:
    """A column that is written in batches: values of one width as they are, others as Arrow's stream."""

    def __init__(
        self, name: str, argument: str, kind: pa.DataType, numeric: bool, folder: FileFolder
    ) -> None:
        self._name, self._argument, self._numeric = name, argument, numeric
        if numeric:  # refuses a type that is not numeric
            empty = pa.chunked_array([], kind)
            kind = pa.from_numpy_dtype(read_numbers(self._read(empty, 0)).dtype)
        elif pa.types.is_dictionary(kind):
            kind = kind.value_type
        self._type = kind
        fixed = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)
        self._width = kind.bit_width // 8 if fixed else 0
        self._rows = 0
        self._file = MappedFile(folder, np.uint8)
        self._stream: Any = None
        if not self._width:
            self._stream = pa.ipc.new_stream(
                pa.PythonFile(_Sink(self._file), mode="w"), pa.schema([("", kind)])
            )

    def _read(self, values: pa.ChunkedArray, first_row: int) -> Column:
        kind = values.type
        if self._numeric and not values.null_count and kind != pa.bool_():
            return Column(self._name, self._argument, values.to_numpy(), kind, first_row=first_row)
        return Column(self._name, self._argument, values, kind, first_row=first_row)

    def write(self, values: pa.Array, first_row: int) -> None:
        """Write a batch's values, which begin with row `first_row`."""
        read = self._read(pa.chunked_array([values]), first_row)
        read.refuse_nulls()
        self._rows += len(values)
        if self._numeric:
            self._file.append(read_numbers(read).view(np.uint8))
            return
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if self._width:
            raw = np.frombuffer(values.buffers()[1], np.uint8)
            low = values.offset * self._width
            self._file.append(raw[low : low + len(values) * self._width])
        else:
            self._stream.write_batch(pa.record_batch([values], [""]))

    def column(self) -> pa.ChunkedArray:
        """Return the whole column, mapped."""
        if self._stream is not None:
            self._stream.close()
        buffer = pa.py_buffer(self._file.mapped())
        if self._stream is not None:
            return pa.ipc.open_stream(pa.BufferReader(buffer)).read_all().column(0)
        return pa.chunked_array(
            [pa.Array.from_buffers(self._type, self._rows, [None, buffer])], self._type
        )


class _Sink:
    """A file that Arrow writes to."""

    closed = False

    def __init__(self, file: MappedFile) -> None:
        self._file = file
        self._size = 0

    def write(self, data: Any) -> int:
        """Append some bytes."""
        raw = np.frombuffer(data, np.uint8)
        self._file.append(raw)
        self._size += len(raw)
        return len(raw)

    def tell(self) -> int:
        """Return how many bytes are written."""
        return self._size

    def flush(self) -> None:
        """Do nothing: bytes are written as they come."""
