"""JSON lines: an object in each line, read and written as rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import IO, Any

import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.frames.streams import read_text
from cugraph_ws.frames.textfiles import TextFile

__all__ = ["JsonLinesWriter", "read_json_lines"]

NEED = 2.0  # bytes in memory for a byte of text: the text, and columns of about the same size
BLOCK = 1 << 24  # bytes that Arrow parses at a time: at least an object


def read_json_lines(text: TextFile, id_columns: Sequence[str], *, text_ids: bool) -> pa.Table:
    """Read JSON lines as a table.

    Parameters
    ----------
    text : TextFile
    id_columns : sequence of str
        Columns of ids; texts in them stay text also if they are written like times.
    text_ids : bool
        Whether ids that are numbers become text too.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    FileError
        If a line is not an object, or the values of one name are of several kinds.
    GraphMemoryError
        As soon as more is read than memory holds.
    """
    from pyarrow import json as arrow_json

    data = read_text(text.path, text.compression, NEED)
    options: dict[str, Any] = {"read_options": arrow_json.ReadOptions(block_size=BLOCK)}
    try:
        table = arrow_json.read_json(pa.BufferReader(data), **options)
        times = [
            field.name
            for field in table.schema
            if field.name in id_columns and pa.types.is_temporal(field.type)
        ]
        if times:
            options["parse_options"] = arrow_json.ParseOptions(
                explicit_schema=pa.schema([(name, pa.string()) for name in times])
            )
            table = arrow_json.read_json(pa.BufferReader(data), **options)
    except pa.ArrowInvalid as error:
        raise FileError(
            f"{text.path}: is not JSON lines ({error}); write an object in each line, with values of one "
            'kind for each name, such as {"source": 1, "destination": 2}'
        ) from error
    if not text_ids:
        return table
    for place, name in enumerate(table.column_names):
        if name in id_columns:
            table = table.set_column(place, name, table[name].cast(pa.string()))
    return table


class JsonLinesWriter:
    """Writes tables as JSON lines; numbers that JSON lacks (NaN, infinities) become null.

    Parameters
    ----------
    file : binary file, or a stream of Arrow
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> JsonLinesWriter:
        return self

    def __exit__(self, *error: object) -> None:
        return

    def write_table(self, table: pa.Table) -> None:
        """Write the rows of a table."""
        for batch in table.to_batches(max_chunksize=1 << 16):
            lines = (json.dumps(_plain(row), ensure_ascii=False) for row in batch.to_pylist())
            self._file.write("".join(f"{line}\n" for line in lines).encode())


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
