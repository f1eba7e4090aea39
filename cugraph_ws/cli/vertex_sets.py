"""Options of the command line for a set of vertices: ids as words, and a file with further ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from cugraph_ws.cli.options import A_FILE, Job

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["given_set", "need", "set_option"]

F = TypeVar("F", bound=Callable[..., Any])


def set_option(name: str, help_text: str) -> Callable[[F], F]:
    """Add `--name`, which can be repeated, and `--name-file`, a set of vertices."""

    def decorate(function: F) -> F:
        file = click.option(
            f"--{name}-file", type=A_FILE, metavar="FILE", help="File with further vertices."
        )
        return click.option(f"--{name}", multiple=True, metavar="ID", help=help_text)(
            file(function)
        )

    return decorate


def given_set(job: Job, name: str, words: Sequence[str], file: Path | None) -> pa.Table | None:
    """Return the ids of a set of vertices; None if none are given."""
    import pyarrow as pa

    sources = [job.vertex_ids(words, f"--{name}")] if words else []
    if file is not None:
        sources.append(job.ids_in(file, f"--{name}-file"))
    return pa.concat_tables(sources) if sources else None


def need(words: Sequence[str], file: Path | None, name: str) -> None:
    """Refuse a set of vertices for which neither words nor a file are given."""
    if not words and file is None:
        given = click.get_current_context().get_parameter_source("source")
        column = "; --source is a column of the edges" * (given == ParameterSource.COMMANDLINE)
        raise click.UsageError(f"give --{name} or --{name}-file{column}")
