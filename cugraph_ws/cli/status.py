"""What a command is doing, on a terminal: a line at once, and the time and the rate of what took long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cugraph_ws.cli.options import Job

__all__ = ["bytes_of", "doing", "stage"]

LONG = 0.5  # seconds from which on a stage leaves a line


@contextmanager
def doing(text: str, *, shown: bool = True) -> Iterator[None]:
    """Show a line with the time that has passed, and remove it at the end.

    Parameters
    ----------
    text : str
    shown : bool
        Whether stderr is looked at; it is not if it is no terminal.
    """
    if not (shown and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as line:
        line.add_task(text, total=None)
        yield


@contextmanager
def stage(job: Job, verb: str, what: str, count: int, unit: str) -> Iterator[None]:
    """Show one stage of a job while it lasts, and afterwards its time and rate if it was long.

    Parameters
    ----------
    job : Job
        A quiet one, or one without progress, shows nothing.
    verb : str
        As in "reading".
    what : str
        What is read, built or written.
    count : int
        How much it is.
    unit : str
        What is counted: "bytes", or what `count` has, such as "edges".
    """
    text = f"{verb} {what}" + (f", {_amount(count, unit)}" if count else "")
    shown = not job.quiet and job.progress is not False
    start = time.perf_counter()
    with doing(text, shown=shown):
        yield
    seconds = time.perf_counter() - start
    if shown and seconds >= LONG and sys.stderr.isatty():
        rate = f", {_amount(int(count / seconds), unit)}/s" if count else ""
        click.echo(f"{text}: {seconds:.1f} s{rate}", err=True)


def bytes_of(path: Path) -> int:
    """Return the size of a file or of the files in a folder; 0 if it is not known."""
    try:
        if path.is_dir():
            return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        return path.stat().st_size
    except OSError:
        return 0


def _amount(count: int, unit: str) -> str:
    if unit == "bytes":
        from cugraph_ws.runtime.memory import format_bytes

        return format_bytes(count)
    return f"{count:,} {unit}"
