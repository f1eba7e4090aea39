"""Errors and warnings of the library in the command line's own words: `--max-iter 0`, not `max_iter=0`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, TextIO

import click

from cugraph_ws.cli.options import Settings
from cugraph_ws.errors import GraphWarning

__all__ = ["flags_of", "in_own_words", "show_warnings"]

# Arguments that the command line has under another name
PHRASES = {
    "weight=None": "--unweighted",
    "directed=False": "--undirected",
    "give directed=True": "leave --undirected out",
    "give vertices without edges to Graph(vertices=...)": "list vertices without edges in --vertices FILE",
    "Graph(vertices=...)": "--vertices FILE",
    ", or values as a frame or a dict": ", or a file of values",
}
OF_PROGRAMS = ("source", "destination", "weight")
OTHER_NAMES = {"targets": "--to", "vertices": "--vertex", "starts": "--start"}
VALUE = r"(?:'([\w.:/-]+)'|(?=[^\s=]))"  # a word is written without quotes


def flags_of(command: click.Command) -> dict[str, str]:
    """Return the longest flag of each option of a command, by the name of its parameter.

    Of `run` without those that a program's own parameters, which are no options, may be called too.
    """
    flags = {
        str(option.name): max(option.opts, key=len)
        for option in command.params
        if isinstance(option, click.Option)
    }
    if command.name == "run":
        return {name: flag for name, flag in flags.items() if name not in OF_PROGRAMS}
    return {**flags, **{name: flag for name, flag in OTHER_NAMES.items() if flag[2:] in flags}}


def in_own_words(message: str, flags: Mapping[str, str]) -> str:
    """Return a message of the library with options for arguments.

    Parameters
    ----------
    message : str
    flags : mapping of str to str
        By the argument's name.

    Returns
    -------
    str
    """
    for phrase, ours in PHRASES.items():
        message = message.replace(phrase, ours)
    if not flags:
        return message
    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))

    def option(match: re.Match[str]) -> str:
        return f"{flags[match[1]]} {match[2] or ''}"

    message = re.sub(rf"(?<![\w.(-])({names})={VALUE}", option, message)
    return re.sub(rf"^({names}): ", lambda match: f"{flags[match[1]]}: ", message)


def show_warnings(program: str, settings: Settings) -> None:
    """Show the library's warnings as lines like its errors; those of other libraries stay as they are."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> Any:
        if not issubclass(category, GraphWarning):
            return others(message, category, filename, lineno, file, line)
        return click.echo(
            f"{program}: warning: {in_own_words(str(message), settings.flags)}", err=True
        )

    warnings.showwarning = show
