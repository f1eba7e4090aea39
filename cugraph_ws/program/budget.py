"""Plain functions under a budget of steps, so that a trial of one always ends.

A function whose source has been checked runs for long only in its loops: it cannot recur, and it
calls nothing but arithmetic and helpers whose source is included.  So each pass through a loop counts.
Counting is written into the source, and works in every thread, beside debuggers and coverage.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from cugraph_ws.runtime.parsing import parse

__all__ = ["OutOfSteps", "limited"]

COUNT = "_count_step"


class OutOfSteps(Exception):  # noqa: N818 - it says that a trial is over, not that something is wrong
    """A function has passed through its loops more often than its budget allows."""


def limited(function: Callable[..., Any], text: str, name: str, most: int) -> Callable[..., Any]:
    """Return a function that raises `OutOfSteps` after `most` passes through its loops.

    Parameters
    ----------
    function : callable
        A function without side effects.
    text : str
        Its source with that of its helpers, self-contained.
    name : str
        Its name in `text`.
    most : int
        The budget of each call.

    Returns
    -------
    callable
        `function` itself if there are no loops.  Otherwise a function that counts; if it fails,
        `function` is called again, so that the traceback names the user's lines.
    """
    code = _counting(text)
    if code is None:
        return function
    remaining = 0

    def count() -> None:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise OutOfSteps

    space: dict[str, Any] = {"math": math, "np": np, COUNT: count}
    exec(code, space)  # noqa: S102 - checked by `cugraph_ws.program.source`
    counted = space[name]

    def called(*arguments: Any) -> Any:
        nonlocal remaining
        remaining = most
        try:
            return counted(*arguments)
        except OutOfSteps:
            raise
        except Exception:
            return function(*arguments)

    return called


@lru_cache
def _counting(text: str) -> CodeType | None:
    """Return the code of a source in which every pass through a loop is counted; None without loops."""
    tree = parse(text)
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.While, ast.For))]
    for loop in loops:
        loop.body.insert(0, *parse(f"{COUNT}()").body)
    if not loops:
        return None
    return compile(ast.fix_missing_locations(tree), "<counted>", "exec")
