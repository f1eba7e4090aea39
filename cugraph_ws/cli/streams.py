"""`-` for standard input and standard output."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from cugraph_ws.errors import FileError

__all__ = ["STANDARD", "input_file", "write_output"]

STANDARD = Path("-")
STDIN = "standard input"


@contextmanager
def input_file(path: Path) -> Iterator[Path]:
    """Give a file to read for a path; standard input is copied to one, since formats are looked for in it.

    Parameters
    ----------
    path : Path
        `-` for standard input.

    Yields
    ------
    Path
        Errors about the copy name standard input.
    """
    if path != STANDARD:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="cugraph_ws-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        try:
            yield copy
        except FileError as error:
            raise FileError(str(error).replace(str(copy), STDIN)) from error


def write_output(frame: Any, suffix: str) -> None:
    """Write a frame to standard output.

    Parameters
    ----------
    frame : pyarrow.Table
    suffix : str
        The format, as the suffix of a file has it.

    Raises
    ------
    click.UsageError
        If that would be Parquet on a terminal.
    """
    from cugraph_ws.frames.writers import write_stream

    if suffix == ".parquet" and sys.stdout.isatty():
        raise click.UsageError("Parquet is not for a terminal; give -o FILE, or a pipe after it")
    write_stream(frame, sys.stdout.buffer, suffix)
