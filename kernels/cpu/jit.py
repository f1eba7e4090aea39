"""How every CPU kernel is compiled: once, without the GIL, kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from cugraph_ws.machine_code import CodeCache

__all__ = ["inline", "jit"]

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile a loop that threads call; division by zero follows IEEE 754, as in NumPy."""
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if compiled is not function:  # else the compiler is switched off
        compiled._cache = CodeCache(function)
    loop: F = compiled
    return loop


def inline(function: F) -> F:
    """Compile a small function that kernels call."""
    compiled: F = numba.njit(nogil=True, error_model="numpy", inline="never")(function)
    return compiled
