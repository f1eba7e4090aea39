"""Warnings located at the line that called the library."""

from __future__ import annotations

import os
import sys
import warnings
from contextvars import ContextVar

from cugraph_ws.errors import GraphWarning

__all__ = ["Warnings", "collected", "warn_caller"]

Warnings = list[tuple[str, type[Warning]]]

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
# Where warnings of this thread go instead, for the process that called: a worker has no user
collected: ContextVar[Warnings | None] = ContextVar("collected", default=None)


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
    kept = collected.get()
    if kept is not None and not at_once:
        kept.append((message, category))
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
