"""Tracebacks of the library's errors end at the user's line: the frames in between say nothing to a user.

The message names the value, the column and the remedy.  With the environment variable `CUGRAPH_WS_TRACEBACK=full`, which
`--debug` of the command line sets, tracebacks have all frames, and the errors that were the cause.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from cugraph_ws.errors import CugraphWsError

__all__ = ["VARIABLE", "short_errors", "shortened"]

Function = TypeVar("Function", bound=Callable[..., object])
VARIABLE = "CUGRAPH_WS_TRACEBACK"


def shortened(error: CugraphWsError) -> CugraphWsError:
    """Return an error without the frames in which it was raised, and without its cause, to be raised again.

    Parameters
    ----------
    error : CugraphWsError

    Returns
    -------
    CugraphWsError
        The same object.
    """
    if os.environ.get(VARIABLE, "") == "full":
        return error
    error.__cause__ = None
    error.__suppress_context__ = True
    return error.with_traceback(None)


def short_errors(function: Function) -> Function:
    """Let a function raise the library's errors as `shortened` returns them.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable
    """

    @wraps(function)
    def wrapper(*arguments: object, **named: object) -> object:
        try:
            return function(*arguments, **named)
        except CugraphWsError as error:
            raise shortened(error) from error.__cause__

    return cast(Function, wrapper)
