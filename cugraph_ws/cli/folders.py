"""Results of a cluster, on the terminal or in a folder with a file for each partition."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cugraph_ws.errors import FileError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_folder", "ranked", "top_rows", "write_folder"]


def check_folder(path: Path) -> Path:
    """Check, before any work is done, that a folder of results can be written.

    Parameters
    ----------
    path : Path
        The folder.  If it exists, it may hold only Parquet files, and is replaced.

    Returns
    -------
    Path
        The path without links.

    Raises
    ------
    FileError
        If it holds other files, is a file, or its parent is missing or not writable.
    """
    from cugraph_ws.frames.writers import errors_of_writing

    path = Path(os.path.realpath(path))
    if path.suffix.lower() in (".csv", ".tsv", ".gz"):
        raise FileError(
            f"{path}: a cluster writes folders of Parquet files; give a folder, such as ranks/"
        )
    with errors_of_writing(path):
        if path.exists() and not path.is_dir():
            raise FileError(f"{path}: is a file, and a cluster writes folders; give another path")
        if not path.parent.is_dir():
            raise FileError(f"{path}: there is no folder {path.parent}; make it first")
        if path.is_dir() and any(_is_foreign(entry) for entry in path.iterdir()):
            raise FileError(f"{path}: the folder has files that are not Parquet; give another path")
        temporary = _beside(path)
        temporary.mkdir()
        temporary.rmdir()
    return path


def _is_foreign(path: Path) -> bool:
    return path.suffix != ".parquet" or not path.is_file()


def _beside(path: Path) -> Path:
    return path.with_name(f".{uuid.uuid4().hex}.part")


def write_folder(frame: Any, path: Path) -> int:
    """Write a Dask frame's partitions on the workers, a Parquet file each.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    path : Path
        A folder that all workers see.  It is created or replaced once all files are written.

    Returns
    -------
    int
        The number of rows written.

    Raises
    ------
    FileError
        If a worker cannot write there, or this process does not see the files.
    """
    from distributed import get_client

    path = check_folder(path)
    temporary = _beside(path)
    temporary.mkdir()
    try:
        client = get_client()
        parts = client.compute(frame.to_delayed())
        names = [temporary / f"part-{place:05}.parquet" for place in range(len(parts))]
        rows = client.gather(client.map(_write, parts, names, pure=False))
        missing = [name for name in names if not name.is_file()]
        if missing:
            raise FileError(
                f"{path}: the workers' files are not visible here; give a folder on a disk that all workers "
                "and this process share"
            )
        _replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sum(rows)


def _replace(temporary: Path, path: Path) -> None:
    """Move a folder to a path, replacing a folder there."""
    from cugraph_ws.frames.writers import errors_of_writing

    old = _beside(path)
    with errors_of_writing(path):
        if path.exists():
            os.rename(path, old)
        try:
            os.rename(temporary, path)
        except OSError:
            if old.exists():
                os.rename(old, path)
            raise
    shutil.rmtree(old, ignore_errors=True)


def _write(part: Any, path: Path) -> int:
    """Write a partition on the worker that holds it; return its number of rows."""
    from cugraph_ws.frames.writers import write_frame

    if not path.parent.is_dir():
        raise FileError(
            f"{path.parent.parent}: a worker does not see this folder; give one on a disk that all share"
        )
    write_frame(part, path)
    return len(part)


def top_rows(frame: Any, rows: int, rank_by: str | None) -> tuple[pa.Table, int]:
    """Return the first rows of a Dask frame, and the number of all its rows.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    rows : int
        The maximum number of rows to return.
    rank_by : str, optional
        Column to sort by, greatest values first; by default rows are in the order of vertices.

    Returns
    -------
    pyarrow.Table
    int
    """
    import pyarrow as pa
    from distributed import get_client

    client = get_client()
    parts = client.compute(frame.to_delayed())
    top_of_parts = client.gather(client.map(_top, parts, rows=rows, rank_by=rank_by, pure=False))
    tables = [table for table, _ in top_of_parts]
    joined = pa.concat_tables(tables, promote_options="permissive")
    return ranked(joined, rank_by).slice(0, rows), sum(number for _, number in top_of_parts)


def _top(part: Any, rows: int, rank_by: str | None) -> tuple[pa.Table, int]:
    """Return the first rows of a partition, and the number of its rows; see `top_rows`."""
    import narwhals as nw

    table = nw.from_native(part, eager_only=True).to_arrow()
    return ranked(table, rank_by).slice(0, rows), table.num_rows


def ranked(frame: pa.Table, rank_by: str | None) -> pa.Table:
    """Sort a frame for display: greatest values first, then least vertices.

    Parameters
    ----------
    frame : pyarrow.Table
    rank_by : str, optional
        The column to sort by; without one the frame is returned unchanged.

    Returns
    -------
    pyarrow.Table
    """
    if rank_by is None:
        return frame
    columns = [name for name in frame.column_names if name != rank_by]
    return frame.sort_by([(rank_by, "descending"), *((name, "ascending") for name in columns)])
