"""What the machine code of a function depends on: its own code, and all that its code names.

So an edit of one function compiles again that function and its callers, and nothing else in its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["function_digest"]

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def function_digest(function: Callable[..., Any]) -> str:
    """Return a hash of a function's code and of all functions and constants that it names.

    Parameters
    ----------
    function : callable
        A Python function that Numba compiles.

    Returns
    -------
    str
        The same after an edit of a line that the function does not depend on, and in another process.
    """
    parts: list[str] = []
    _describe(function, parts, {})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _describe(value: Any, parts: list[str], known: dict[int, int]) -> None:
    """Append what `value` is; an object that is `known` is its number."""
    if isinstance(value, PLAIN):
        parts.append(repr(value))
        return
    if id(value) in known:
        parts.append(f"object {known[id(value)]}")
        return
    known[id(value)] = len(known)
    if isinstance(value, (tuple, list)):
        parts.append(f"{type(value).__name__} of {len(value)}")
        for item in value:
            _describe(item, parts, known)
    elif isinstance(value, ModuleType):
        parts.append(f"module {value.__name__} {getattr(value, '__version__', '')}")
    elif isinstance(value, type):
        parts.append(f"type {value.__qualname__} {getattr(value, '_fields', '')}")
        if not hasattr(value, "_fields"):
            parts.append(str(value.__module__))
    elif isinstance(value, FunctionType):
        _describe_function(value, parts, known)
    elif isinstance(python := getattr(value, "py_func", None), FunctionType):  # Numba's dispatcher
        parts.append(f"{type(value).__name__} {sorted(map(repr, value.targetoptions.items()))}")
        _describe_function(python, parts, known)
    elif isinstance(python := getattr(value, "_defn", None), FunctionType):  # Numba's intrinsic
        parts.append("intrinsic")
        _describe_function(python, parts, known)
    else:
        parts.append(f"{type(value).__qualname__} {_written(value)}")


def _written(value: Any) -> str:
    """Return the text of an object of another library; addresses in it differ between processes."""
    text = repr(value)
    return text if " at 0x" not in text else str(getattr(value, "__qualname__", ""))


def _describe_function(function: FunctionType, parts: list[str], known: dict[int, int]) -> None:
    if not function.__module__ or function.__module__.split(".")[0] in (
        "numba",
        "llvmlite",
        "numpy",
    ):
        parts.append(f"{function.__module__}.{function.__qualname__}")  # keys have their versions
        return
    parts.append(f"function {function.__qualname__}")
    names: set[str] = set()
    for code in _codes(function.__code__):
        facts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        parts.append(repr(facts))
        parts += [
            repr(sorted(map(repr, item)) if isinstance(item, frozenset) else item)
            for item in code.co_consts
            if not isinstance(item, CodeType)
        ]
        names.update(code.co_names)
    for item in (*(function.__defaults__ or ()), *_cells(function)):
        _describe(item, parts, known)
    for name in sorted(names & function.__globals__.keys()):
        parts.append(name)
        _describe(function.__globals__[name], parts, known)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and those of the functions in it."""
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


def _cells(function: FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]
