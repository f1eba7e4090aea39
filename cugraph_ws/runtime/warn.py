"""Warnings located at the line that called the library."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cugraph_ws.errors import GraphWarning

__all__ = ["Warnings", "collected_warnings", "warn_caller"]

Warnings = list[tuple[str, type[Warning]]]

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_collected: ContextVar[Warnings | None] = ContextVar("collected", default=None)


@contextmanager
def collected_warnings() -> Iterator[Warnings]:
    """Collect the warnings of `warn_caller` in this thread, for the process that called: a worker has no user.

    Yields
    ------
    list of (str, type)
        Messages and categories.
    """
    messages: Warnings = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)


def warn_caller(
    message: str, category: type[Warning] = GraphWarning, *, at_once: bool = False
) -> None:
    """Issue a warning located at the line that called the library.

    Parameters
    ----------
    message : str
    category : type
    at_once : bool
        Whether it is of use only while the call runs, so that it is not collected.
    """
    collected = _collected.get()
    if collected is not None and not at_once:
        collected.append((message, category))
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
