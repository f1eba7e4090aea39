"""Decorators of CPU kernels, which import Numba when the first one is called.

So `import cugraph_ws` does without it.  Until then a kernel is a `Waiting`; then all are made what
`dispatchers` makes of them, also in the modules that name them: Numba looks there for what kernels call.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial, update_wrapper
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["always_inline", "inline", "instruction", "jit"]

F = TypeVar("F", bound=Callable[..., Any])

_waiting: list[Waiting] | None = []  # None once Numba is there
_one_at_a_time = threading.RLock()


class Waiting:
    """A kernel before Numba is imported; whoever keeps it calls the compiled one through it.

    Parameters
    ----------
    function : callable
        The Python function.
    compiled : callable
        Makes of it what is called.
    """

    def __init__(self, function: Any, compiled: Callable[[Callable[..., Any]], Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function  # as dispatchers call it
        self._compiled = compiled
        self._ready: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel."""
        return (self._ready or self.ready())(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.ready(), name)

    def ready(self) -> Any:
        """Return what is called, after making all kernels ready."""
        with _one_at_a_time:
            _begin()
            if self._ready is None:
                self._ready = self._compiled(self.py_func)
        return self._ready


def _begin() -> None:
    """Put what is called in the place of all that wait."""
    global _waiting
    if _waiting is None:
        return
    waited, _waiting = _waiting, None
    for kernel in waited:
        kernel.ready()
    users = [
        vars(module) for name, module in list(sys.modules.items()) if name.startswith("cugraph_ws.")
    ]
    for space in (*users, *(kernel.py_func.__globals__ for kernel in waited)):
        for name, value in list(space.items()):
            if isinstance(value, Waiting):
                space[name] = value.ready()


def _later(function: F, compiled: Callable[[Callable[..., Any]], Any]) -> F:
    with _one_at_a_time:
        if _waiting is None:
            ready: F = compiled(function)
            return ready
        waiting: Any = Waiting(function, compiled)
        _waiting.append(waiting)
        kernel: F = waiting
        return kernel


def jit(function: F) -> F:
    """Compile a loop that threads call; division by zero follows IEEE 754, as NumPy's does."""
    return _later(function, partial(_dispatcher, "loop"))


def inline(function: F) -> F:
    """Compile a small function that kernels call; Python cannot, unless the compiler is switched off."""
    return _later(function, partial(_dispatcher, "inlined"))


def always_inline(function: F) -> F:
    """Compile a function that is long, called for each arc, and so made part of its callers."""
    return _later(function, partial(_dispatcher, "always_inlined"))


def instruction(module: str, plain: F) -> F:
    """Return a function that is `plain` in Python, and in kernels what `module` emits under the same name."""
    return _later(plain, partial(_emitted, module))


def _dispatcher(kind: str, function: Callable[..., Any]) -> Any:
    return getattr(import_module("cugraph_ws.kernels.cpu.dispatchers"), kind)(function)


def _emitted(module: str, plain: Callable[..., Any]) -> Any:
    import numba

    if numba.config.DISABLE_JIT:
        return plain
    name = plain.__name__.removeprefix("plain_")
    return getattr(import_module(f"cugraph_ws.kernels.cpu.{module}"), name)
