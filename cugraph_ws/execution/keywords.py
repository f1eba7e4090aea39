"""Names of arguments that a function does not have are refused before work starts."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from cugraph_ws.errors import InputError
from cugraph_ws.execution.options import declared

__all__ = ["refuse_unknown"]

OPTIONS = "options"  # the name of `**` in functions that pass options of `run` on


def refuse_unknown(function: Callable[..., Any], names: Iterable[str]) -> None:
    """Refuse names that are neither a function's own arguments nor options of `run`.

    Parameters
    ----------
    function : callable
        If it does not take `**options`, nothing is refused here: its other arguments are a program's,
        or it has none.
    names : iterable of str

    Raises
    ------
    InputError
        It names the argument, a similar one, and all that the function has.
    """
    own, known = _known(function)
    for name in names:
        if not known or name in known:
            continue
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(
            f"{function.__name__}() has no argument {name}; {hint}it has: {', '.join(own)}, and the "
            "options of run()"
        )


@functools.cache
def _known(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a function's own arguments, and those that it takes; none if it takes any."""
    parameters = inspect.signature(function).parameters
    others = parameters.get(OPTIONS)
    if others is None or others.kind is not inspect.Parameter.VAR_KEYWORD:
        return (), ()
    own = tuple(name for name in parameters if name != OPTIONS)
    return own, (*own, *declared())
