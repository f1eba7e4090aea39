"""Makers of commands that only call a function of the library, or run one of its loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import click

from cugraph_ws.cli.options import Job, job_options
from cugraph_ws.cli.vertex_sets import given_set, need

__all__ = ["call", "function_command", "loop_command"]

Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def loop_command(
    name: str,
    text: str,
    what: Callable[..., Any],
    *options: Option,
    rank_by: str | None = None,
    weighted: bool = False,
) -> click.Command:
    """Make a command that runs a loop.

    Parameters
    ----------
    name, text : str
        The command's name and its help text.
    what : callable
        Makes the loop.
    *options : callable
        Click's options, which `what` takes by name.
    rank_by : str, optional
        Column whose greatest values are shown first.
    weighted : bool
        Whether it reads weights.
    """

    def command(job: Job, **given: Any) -> None:
        loop = what(**given)
        with job.graph(weighted=weighted) as graph:
            job.run(graph, loop, rank_by=rank_by)

    return _made(name, text, command, options)


def function_command(
    name: str,
    text: str,
    what: Callable[..., Any],
    *options: Option,
    listed: str | None = None,
    needed: bool = False,
    rank_by: str | None = None,
    reads_weights: bool = False,
) -> click.Command:
    """Make a command that calls a function.

    Parameters
    ----------
    name, text, rank_by
        As in `loop_command`.
    what : callable
        The function.
    *options : callable
        Click's options, which the function takes by name.
    listed : str, optional
        The function's argument that takes the vertices given by `--vertex`.
    needed : bool
        Whether `--vertex` or its file must be given.
    reads_weights : bool
        Whether it reads weights; it does so with `--weighted` as well.
    """

    def command(job: Job, **given: Any) -> None:
        words, file = given.pop("vertex", ()), given.pop("vertex_file", None)
        if needed:
            need(words, file, "vertex")
        call(
            job,
            what,
            lambda: {
                **given,
                **({listed: given_set(job, "vertex", words, file)} if listed else {}),
            },
            rank_by=rank_by,
            reads_weights=reads_weights or given.get("weighted", False),
        )

    return _made(name, text, command, options)


def _made(
    name: str, text: str, command: Callable[..., None], options: tuple[Option, ...]
) -> click.Command:
    for option in reversed(options):
        command = option(command)
    made: click.Command = click.command(name, help=text)(job_options(command))
    return made


def call(
    job: Job,
    function: Callable[..., Any],
    arguments: Callable[[], dict[str, Any]] = dict,
    *,
    rank_by: str | None = None,
    reads_weights: bool = False,
) -> None:
    """Call a function of the library on the job's graph, and write or show its frame.

    Parameters
    ----------
    job : Job
    function : callable
    arguments : callable
        Returns its arguments; those that are None are left out.  Called when the types of the ids are
        known.
    rank_by : str, optional
        Column whose greatest values are shown first.
    reads_weights : bool
    """
    from cugraph_ws.cli.output import deliver

    if job.trace is not None or job.partial:
        raise click.UsageError(
            f"{function.__name__.replace('_', '-')} supports neither --trace nor --partial; leave it out"
        )
    with job.graph(weighted=reads_weights) as graph:
        given = {key: value for key, value in arguments().items() if value is not None}
        found = function(graph, **given, **job.options.given())
        deliver(job, found, rank_by)
