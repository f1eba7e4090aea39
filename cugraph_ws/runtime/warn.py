"""Warnings located at the line that called the library."""

from __future__ import annotations

import os
import sys
import warnings

from cugraph_ws.errors import GraphWarning

__all__ = ["warn_caller"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def warn_caller(message: str, category: type[Warning] = GraphWarning) -> None:
    """Issue a warning located at the line that called the library.

    Parameters
    ----------
    message : str
    category : type
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
