"""How every CPU kernel is compiled: once, without the GIL, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["inline", "jit"]

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile a loop that threads call; division by zero follows IEEE 754, as in NumPy."""
    try:
        compiled: F = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled


def inline(function: F) -> F:
    """Compile a small function that kernels call."""
    compiled: F = numba.njit(nogil=True, error_model="numpy", inline="never")(function)
    return compiled
