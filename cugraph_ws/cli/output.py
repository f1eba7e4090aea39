"""Results on the terminal: the top rows as a table, and one line of summary."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cugraph_ws.cli.status import stage
from cugraph_ws.cli.streams import STANDARD, write_output

if TYPE_CHECKING:
    import pyarrow as pa

    from cugraph_ws.cli.options import Job
    from cugraph_ws.execution.loop import Result
    from cugraph_ws.graph.graph import Graph

__all__ = ["deliver", "deliver_result", "say", "show_table"]


def deliver(job: Job, frame: pa.Table, rank_by: str | None = None) -> None:
    """Write a result to the job's output, or show its top rows.

    Parameters
    ----------
    job : Job
    frame : pyarrow.Table, or Dask frame
    rank_by : str, optional
        Column by which shown rows are sorted, greatest values first; default: order of vertices.
    """
    if job.profile is not None:
        _write_profiles(job, job.profile)
    from cugraph_ws.cli.folders import ranked, top_rows
    from cugraph_ws.frames.base import is_dask_frame

    if job.output == STANDARD:
        write_output(frame, f".{job.output_format}")
        return
    if job.output is not None:
        _write(job, frame, job.output)
        return
    if is_dask_frame(frame):
        top, row_count = top_rows(frame, job.rows, rank_by)
    else:
        top, row_count = ranked(frame, rank_by), frame.num_rows
    show_table(top.slice(0, job.rows))
    hidden = row_count - min(job.rows, row_count)
    if hidden:
        say(job, f"and {hidden:,} more rows; -o FILE writes all")


def _write_profiles(job: Job, path: Path) -> None:
    """Write the profiles of all runs of a command as one table."""
    import pyarrow as pa

    from cugraph_ws.frames.writers import write_frame

    if not job.profiles:
        raise click.UsageError("the command has no supersteps; leave --profile out")
    write_frame(pa.concat_tables([profile.frame for profile in job.profiles]), path)


def _write(job: Job, frame: Any, path: Path) -> None:
    """Write a frame to a file, or a Dask frame to a folder."""
    from cugraph_ws.cli.folders import write_folder
    from cugraph_ws.frames.base import is_dask_frame
    from cugraph_ws.frames.writers import write_frame

    if is_dask_frame(frame):
        with stage(job, "writing", str(path), 0, "rows"):
            rows = write_folder(frame, path)
    else:
        rows = frame.num_rows
        with stage(job, "writing", str(path), rows, "rows"):
            write_frame(frame, path)
    say(job, f"{rows:,} rows in {path}")


def deliver_result(
    job: Job,
    graph: Graph,
    result: Result,
    rank_by: str | None = None,
    make: Callable[[Result], pa.Table] | None = None,
    edge_output: Path | None = None,
) -> None:
    """Write or show the result of a run, write its trace, and print a summary.

    Parameters
    ----------
    job : Job
    graph : Graph
        The graph of the run.
    result : Result
    rank_by : str, optional
        As for `deliver`.
    make : callable, optional
        Makes the frame to write or show from the result; default: its frame.
    edge_output : Path, optional
        Where to write the state of edges.
    """
    if edge_output is not None:
        _write(job, result.edges, edge_output)
    if job.trace is not None:
        from cugraph_ws.frames.writers import write_frame

        write_frame(result.trace, job.trace)
    deliver(job, result.frame if make is None else make(result), rank_by)
    if result.stopped != "converged":
        click.echo(f"stopped by {result.stopped} after {result.iterations:,} supersteps", err=True)
        return
    size = f"{graph.number_of_vertices:,} vertices, {graph.number_of_edges:,} edges"
    residual = "" if math.isnan(result.residual) else f", residual {result.residual:.2g}"
    say(job, f"{size}: {result.iterations:,} supersteps{residual}")


def say(job: Job, line: str) -> None:
    """Write a line to stderr if that is a terminal.

    Parameters
    ----------
    job : Job
        A quiet job writes nothing.
    line : str
    """
    if not job.quiet and sys.stderr.isatty():
        click.echo(line, err=True)


def show_table(table: pa.Table) -> None:
    """Show a table on stdout: drawn on a terminal, with tabs between cells in a pipe.

    Parameters
    ----------
    table : pyarrow.Table
        All of its rows are shown.
    """
    columns = [[_cell(value) for value in column.to_pylist()] for column in table.columns]
    rows = zip(*columns, strict=True)
    if not sys.stdout.isatty():
        click.echo("\t".join(table.column_names))
        for row in rows:
            click.echo("\t".join(row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD)
    for name, column in zip(table.column_names, table.columns, strict=True):
        numeric = str(column.type).startswith(("int", "uint", "float", "double"))
        drawn.add_column(Text(name), justify="right" if numeric else "left")
    for row in rows:
        drawn.add_row(*map(Text, row))
    Console().print(drawn)


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        return "null" if math.isnan(value) else f"{value:.6g}"
    return " ".join(str(value).split("\t"))
