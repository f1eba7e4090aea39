"""What Numba makes of kernels: compiled once, without the GIL, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import binding
from numba.core.registry import CPUDispatcher

from cugraph_ws.runtime.machine_code import CodeCache

__all__ = ["OPTIONS", "always_inlined", "inlined", "loop"]


def _free_pass_managers() -> None:
    """Make llvmlite free the pass managers that Numba no longer needs.

    In llvmlite 0.45 and 0.46 their classes inherit an empty `_dispose` before the one that frees
    them.  So each optimized function leaks 60 KB: 13 MB for the loops of a program.
    """
    managers: Any = getattr(binding, "newpassmanagers", None)
    for name in ("ModulePassManager", "FunctionPassManager"):
        kind = getattr(managers, name, None)
        if kind is not None and kind._dispose is binding.ffi.ObjectRef._dispose:
            kind._dispose = managers.NewPassManager._dispose


_free_pass_managers()


# No wrappers for calls from C, nor, for `inlined`, from Python: they take half of the compile time.
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def loop(function: Callable[..., Any]) -> Any:
    """Return a loop that threads call; division by zero follows IEEE 754, as NumPy's does."""
    compiled: Any = numba.njit(**OPTIONS)(function)
    if compiled is not function:  # the same function if the compiler is switched off
        compiled._cache = CodeCache(function, repr(OPTIONS))
    return compiled


class Inlined(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A function for calls from compiled code; a call from Python raises TypeError."""

    def _insert(self, *overload: Any) -> None:
        """Leave an overload out of those that Python may call."""

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        raise TypeError(f"{self.__name__} can be called by compiled code alone")


def inlined(function: Callable[..., Any], **more: Any) -> Any:
    """Return a small function that kernels call; Python cannot, unless the compiler is switched off."""
    if numba.config.DISABLE_JIT:
        return function
    options = {**OPTIONS, "nopython": True, "inline": "never", "no_cpython_wrapper": True, **more}
    return Inlined(function, targetoptions=options)


def always_inlined(function: Callable[..., Any]) -> Any:
    """Return the same for a function that LLVM makes part of its callers, however long it is."""
    return inlined(function, forceinline=True)
