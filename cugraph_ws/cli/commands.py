"""Makers of commands that only call a function of the library, or run one of its loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import click

from cugraph_ws.algorithms.registry import ALGORITHMS, Algorithm
from cugraph_ws.cli.options import Job, job_options
from cugraph_ws.cli.vertex_sets import given_set, need, set_option

__all__ = ["call", "function_command", "loop_command"]

Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class Number(click.ParamType):  # type: ignore[type-arg]  # older versions of Click have none
    """A number: an int if it is written as one, else a float."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """Return the number in a word."""
        try:
            return int(value)
        except ValueError:
            return click.FLOAT.convert(value, param, ctx)


TYPES: dict[str, Any] = {"int": click.INT, "float": Number()}
# Parameters that are vertices, and the options that give them
LISTED = {"vertices": "vertex", "vertex": "vertex", "start": "start", "starts": "start"}
COMMON = {"graph", "source", "destination", "weight", "directed", "options", "engine"}


def loop_command(
    name: str,
    what: Callable[..., Any],
    *options: Option,
    rank_by: str | None = None,
    more: str = "",
    takes_job: bool = False,
) -> click.Command:
    """Make the command of an algorithm that runs a loop.

    Parameters
    ----------
    name : str
        The algorithm's function.
    what : callable
        Makes the loop.
    *options : callable
        Click's options, which `what` takes by name.
    rank_by : str, optional
        Column whose greatest values are shown first.
    more : str
        The end of its help text.
    takes_job : bool
        Whether `what` takes the job too, by which it reads files.
    """
    declared = ALGORITHMS[name]

    def command(job: Job, **arguments: Any) -> None:
        loop = what(job, **arguments) if takes_job else what(**arguments)
        with job.graph(weighted=declared.reads_weights) as graph:
            job.run(graph, loop, rank_by=rank_by)

    return _made(declared, command, options, more)


def function_command(declared: Algorithm, *more: Option) -> click.Command:
    """Make the command of an algorithm that calls its function.

    Numbers and flags of the function's signature are options, and so are vertices, as `--vertex` or
    `--start`; of other parameters only those in `more`.

    Parameters
    ----------
    declared : Algorithm
    *more : callable
        Further options of Click, which the function takes by name.
    """
    parameters = inspect.signature(declared.function).parameters
    listed = next((name for name in LISTED if name in parameters), "")
    word = LISTED.get(listed, "")
    needed = listed and parameters[listed].default is inspect.Parameter.empty

    def command(job: Job, **arguments: Any) -> None:
        words, file = arguments.pop(word, ()), arguments.pop(f"{word}_file", None)
        if needed:
            need(words, file, word)
        call(
            job,
            declared.function,
            lambda: {
                **arguments,
                **({listed: given_set(job, word, words, file)} if listed else {}),
            },
            rank_by=declared.columns.split(", ")[1] if declared.group == "centrality" else None,
            reads_weights=declared.reads_weights or arguments.get("weighted", False),
        )

    options = [
        option
        for name, parameter in parameters.items()
        for option in _options(declared, name, parameter)
    ]
    return _made(declared, command, (*options, *more))


def _options(declared: Algorithm, name: str, parameter: inspect.Parameter) -> Iterator[Option]:
    """Yield the option for a parameter, if it is a number, a flag or a set of vertices."""
    text, default = declared.described(name), parameter.default
    # -q is the short form of --quiet
    dashes = "-" if name == "k" else "--"
    word = f"{dashes}{name.replace('_', '-')}"
    kind = TYPES.get(str(parameter.annotation).removesuffix(" | None"))
    required = default is parameter.empty
    if name in COMMON:
        return
    if name in LISTED:
        yield set_option(LISTED[name], f"{text}  Can be repeated.")
    elif parameter.annotation == "bool" and default:
        yield click.option(f"{word}/--no-{word[2:]}", default=True, help=text)
    elif parameter.annotation == "bool":
        yield click.option(word, is_flag=True, help=text)
    elif parameter.annotation == "Sequence[int]":
        word, text = word.removesuffix("s"), f"{text}  Can be repeated."
        yield click.option(word, name, type=int, multiple=True, required=True, help=text)
    elif name == "degree_type":
        kinds = click.Choice(["both", "in", "out"])
        yield click.option(word, type=kinds, default=default, show_default=True, help=text)
    elif kind is not None:
        yield click.option(
            word,
            type=kind,
            required=required,
            default=None if required else default,
            show_default=default is not None,
            help=text,
        )
    elif required:
        raise TypeError(f"{declared.name}: {name} cannot be an option; write the command by hand")


def _made(
    declared: Algorithm, command: Callable[..., None], options: Iterable[Option], more: str = ""
) -> click.Command:
    for option in reversed([*options]):
        command = option(command)
    built: click.Command = click.command(
        declared.name.replace("_", "-"),
        help=f"{declared.summary}\n\nResult: {declared.columns}.  {more}".rstrip(),
    )(job_options(command))
    return built


def call(
    job: Job,
    function: Callable[..., Any],
    arguments: Callable[[], dict[str, Any]] = dict,
    *,
    rank_by: str | None = None,
    reads_weights: bool = False,
) -> None:
    """Call a function of the library on the job's graph, and write or show its frame, or its number as a row.

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
    import pyarrow as pa

    from cugraph_ws.cli.output import deliver

    if job.trace is not None or job.partial:
        raise click.UsageError(
            f"{function.__name__.replace('_', '-')} supports neither --trace nor --partial; leave it out"
        )
    with job.graph(weighted=reads_weights) as graph:
        chosen = {key: value for key, value in arguments().items() if value is not None}
        result = function(graph, **chosen, **job.options.chosen())
        if isinstance(result, (int, float)):
            result = pa.table({function.__name__: [result]})
        deliver(job, result, rank_by)
