"""Parse Python source, in one thread at a time.

Before Python 3.12, `ast.parse` in two threads at once may fail with "AST constructor recursion depth
mismatch", because they share a counter.  Ranks may be threads of one process.
"""

from __future__ import annotations

import ast
import threading

__all__ = ["parse"]

_ONE_AT_A_TIME = threading.Lock()


def parse(text: str) -> ast.Module:
    """Return the tree of a module's source; see `ast.parse`.

    Parameters
    ----------
    text : str

    Returns
    -------
    ast.Module
    """
    with _ONE_AT_A_TIME:
        return ast.parse(text)
