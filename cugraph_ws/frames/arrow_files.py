"""Parquet files and folders of them, and Arrow files (Feather), as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from cugraph_ws.errors import FileError
from cugraph_ws.runtime.memory import available_memory, check_room
from cugraph_ws.runtime.paths import arrow_path

__all__ = [
    "ARROW",
    "PARQUET",
    "Folder",
    "begins_with",
    "open_folder",
    "parquet_batches",
    "read_arrow",
    "read_parquet",
]

PARQUET = b"PAR1"
ARROW = b"ARROW1"
FEATHER_1 = b"FEA1"  # the first version of Feather, which is not Arrow's file
BATCH = 1 << 16  # rows of text that are read at a time


@dataclass(frozen=True)
class Folder:
    """Parquet files that are read as one.

    Attributes
    ----------
    path : Path
        The folder, or the only file.
    files : list of Path
    schema : pyarrow.Schema
        The columns of all files, in types that hold the values of all.
    incomplete : mapping of str to Path
        By column: a file that lacks it.
    mixed : bool
        Whether some file has a column in another type than `schema`.
    """

    path: Path
    files: list[Path]
    schema: pa.Schema
    incomplete: Mapping[str, Path] = field(default_factory=dict)
    mixed: bool = False

    def refuse_incomplete(self, columns: Sequence[str | None]) -> None:
        """Refuse a column that is needed if some files lack it."""
        refuse_incomplete(self.path, self.incomplete, columns)


def refuse_incomplete(
    path: Path, incomplete: Mapping[str, Path], columns: Sequence[str | None]
) -> None:
    """Refuse a column that is needed if some files of a folder lack it."""
    for name in columns:
        if name is not None and name in incomplete:
            raise FileError(
                f"{path}: {incomplete[name].name} has no column {name!r}, which other files have; add it "
                "there, or leave the column out of all (--unweighted ignores a column of weights)"
            )


def open_folder(path: Path) -> Folder:
    """Read the schemas of a Parquet file, or of all files in a folder.

    What is decided from them does not depend on the order of the files.

    Raises
    ------
    FileError
        If there are none, or a column has types without a common one; the message names the files.
    """
    from pyarrow import dataset, parquet

    if not path.is_dir():
        if not begins_with(path, PARQUET):
            state = "is not a Parquet file" if path.stat().st_size else "is empty"
            raise FileError(f"{path}: {state}; give its format if it has another one")
        return Folder(path, [path], parquet.read_schema(arrow_path(path)))
    files = [file for file in sorted(path.rglob("*.parquet")) if not _is_hidden(file, path)]
    if not files:
        raise FileError(f"{path}: the folder has no .parquet files; give another folder")
    schemas: list[pa.Schema] = []
    for file in files:
        if not begins_with(file, PARQUET):
            raise FileError(f"{file}: is not a Parquet file; make it again or move it elsewhere")
        try:
            schemas.append(parquet.read_schema(arrow_path(file)).remove_metadata())
        except (OSError, pa.ArrowException) as error:
            raise FileError(
                f"{file}: may be truncated or damaged ({str(error).split('. ')[0]}); make or fetch it again"
            ) from error
    merged = schemas[0]
    for file, schema in zip(files[1:], schemas[1:], strict=True):
        try:
            merged = pa.unify_schemas([merged, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise FileError(
                f"{file}: its columns have other types than those of {files[0].name}: {error}; write both "
                "with the same types"
            ) from error
    incomplete = {
        name: file
        for name in merged.names
        for file, schema in zip(files, schemas, strict=True)
        if name not in schema.names
    }
    mixed = any(
        field.type != merged.field(field.name).type for schema in schemas for field in schema
    )
    folders = dataset.dataset(
        [arrow_path(file) for file in files],
        format="parquet",
        partitioning=dataset.partitioning(flavor="hive"),
        partition_base_dir=arrow_path(path),
    ).schema
    for place, name in enumerate(folders.names):  # columns that names of folders give
        if name not in merged.names:
            merged = merged.append(folders.field(place))
    return Folder(path, files, merged, incomplete, mixed)


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def begins_with(path: Path, magic: bytes) -> bool:
    """Return whether a file begins with some bytes."""
    with path.open("rb") as file:
        return file.read(8).startswith(magic)


def read_parquet(folder: Folder) -> pa.Table:
    """Read Parquet files as one table; columns that a file lacks are null there.

    Raises
    ------
    GraphMemoryError
        If the rows would not fit in memory.
    """
    from pyarrow import parquet

    room, needed, text = available_memory(), 0, False
    for file in folder.files:
        facts = parquet.ParquetFile(arrow_path(file))
        widths = [_width(kind) for kind in facts.schema_arrow.types]
        needed += sum(widths) * facts.metadata.num_rows // 8
        check_room(str(folder.path), needed, room)
        text = text or 0 in widths
    if folder.path.is_file() and not text:
        return parquet.read_table(arrow_path(folder.path))
    if not text:
        return _dataset(folder).to_table()
    # The size of texts in memory is only known after reading.
    return _collected(parquet_batches(folder, BATCH), folder.path, room, folder.schema)


def parquet_batches(
    folder: Folder, rows: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Return Parquet files in batches of at most so many rows; a row group is in memory at a time."""
    batches: Iterator[pa.RecordBatch] = _dataset(folder).to_batches(
        columns, batch_size=rows, batch_readahead=1, fragment_readahead=1
    )
    return batches


def _dataset(folder: Folder) -> Any:
    """Return the files as a dataset of Arrow's."""
    from pyarrow import dataset

    partitioning = {}
    if folder.path.is_dir():
        partitioning = {
            "partitioning": dataset.partitioning(flavor="hive"),
            "partition_base_dir": arrow_path(folder.path),
        }
    return dataset.dataset(
        [arrow_path(file) for file in folder.files],
        schema=folder.schema,
        format="parquet",
        **partitioning,
    )


def read_arrow(path: Path) -> pa.Table:
    """Read an Arrow file (Feather) or a stream of Arrow.

    Raises
    ------
    FileError
        If it is none, or is damaged.
    GraphMemoryError
        If its rows would not fit in memory.
    """
    room = available_memory()
    if begins_with(path, FEATHER_1):
        raise FileError(
            f"{path}: is Feather of version 1, which is not read; write it again as Parquet, by "
            "pandas.read_feather(path).to_parquet"
        )
    with pa.OSFile(arrow_path(path)) as source:
        if begins_with(path, ARROW):
            reader = pa.ipc.open_file(source)
            batches: Any = (reader.get_batch(at) for at in range(reader.num_record_batches))
        else:
            batches = reader = pa.ipc.open_stream(source)
        table = _collected(batches, path, room, reader.schema)
    table.validate(full=True)  # offsets and codes of a damaged file may point anywhere
    return table


def _collected(batches: Any, path: Path, room: int, schema: pa.Schema) -> pa.Table:
    """Return batches as a table, and count their memory as they come."""
    rows, needed = [], 0
    for batch in batches:
        needed += batch.nbytes
        check_room(str(path), needed, room)
        rows.append(batch)
    return pa.Table.from_batches(rows, schema)


def _width(kind: pa.DataType) -> int:
    """Return the bits of a value; 0 if they differ from row to row."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 0
