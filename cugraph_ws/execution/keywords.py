"""Names of arguments that a function does not have are refused before work starts."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from cugraph_ws.errors import InputError
from cugraph_ws.execution.options import declared

__all__ = ["refuse_unknown", "refuses_unknown"]

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS = "options"  # the name of `**` in functions that pass options of `run` on


def refuses_unknown(function: Function) -> Function:
    """Let a function that takes `**options` refuse names that are neither its own nor options.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable

    Raises
    ------
    InputError
        Raised by the call; it names the argument, a similar one, and all that the function has.
    """

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        refuse_unknown(function, options)
        return function(*arguments, **options)

    return cast(Function, wrapper)


def refuse_unknown(function: Callable[..., Any], names: Iterable[str]) -> None:
    """Raise InputError if a function does not have an argument; see `refuses_unknown`."""
    own = _own(function)
    if own is None:
        return
    for name in names:
        if name in own or name in declared():
            continue
        close = difflib.get_close_matches(name, [*own, *declared()], 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(
            f"{function.__name__}() has no argument {name}; {hint}it has: {', '.join(own)}, and the "
            "options of run()"
        )


@functools.cache
def _own(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the names of a function's own arguments; None if any other may be a program's."""
    parameters = inspect.signature(function).parameters
    others = parameters.get(OPTIONS)
    if others is None or others.kind is not inspect.Parameter.VAR_KEYWORD:
        return None
    return tuple(name for name in parameters if name != OPTIONS)
