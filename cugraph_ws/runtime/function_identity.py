"""What the machine code of a function depends on: its own code, and all that its code names.

So an edit of one function compiles again that function and its callers, and nothing else in its file.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["UnknownValueError", "codes", "function_digest"]

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
LIBRARIES = (
    "builtins",
    "math",
    "operator",
    "numba",
    "llvmlite",
    "numpy",
)  # whose versions are part of keys


class UnknownValueError(TypeError):
    """A function names something whose changes would not be seen."""


def function_digest(
    function: Callable[..., Any],
    apart: Callable[[Any], bool] = lambda _: False,
    source: Callable[[FunctionType], str | None] = lambda _: None,
) -> str:
    """Return a hash of a function's code and of all functions and constants that it names.

    Parameters
    ----------
    function : callable
        A Python function that Numba compiles.
    apart : callable, optional
        Tells of a dispatcher of Numba's whether only its signature and options count, not its code.
    source : callable, optional
        Returns the text of a function, which counts in place of its bytecode, so that the digest is the same in each
        version of Python; None where there is no text.

    Returns
    -------
    str
        The same after an edit of a line that the function does not depend on, and in another process.

    Raises
    ------
    UnknownValueError
        If a change of something that it names could not be seen.
    """
    parts: list[str] = []
    _describe(function, parts, _Known(apart, source))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _Known(dict[int, int]):
    """Numbers of the objects that have been described, by `id`; what counts without its code, and texts of code."""

    def __init__(
        self, apart: Callable[[Any], bool], source: Callable[[FunctionType], str | None]
    ) -> None:
        super().__init__()
        self.apart, self.source = apart, source


def _describe(value: Any, parts: list[str], known: _Known) -> None:
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
    elif isinstance(value, (frozenset, set)) and " at 0x" not in repr(value):  # in no order
        parts.append(f"{type(value).__name__} of {sorted(map(repr, value))}")
    elif isinstance(value, ModuleType):
        parts.append(f"module {value.__name__}")
    elif isinstance(value, type):
        parts.append(f"type {value.__qualname__} {getattr(value, '_fields', '')}")
        if not hasattr(value, "_fields"):
            parts.append(str(value.__module__))
    elif isinstance(value, FunctionType):
        _describe_function(value, parts, known)
    elif isinstance(python := getattr(value, "py_func", None), FunctionType):  # Numba's dispatcher
        parts.append(f"{type(value).__name__} {sorted(map(repr, value.targetoptions.items()))}")
        if known.apart(value):
            parts.append(f"{inspect.signature(python)}")
        else:
            _describe_function(python, parts, known)
    elif isinstance(python := getattr(value, "_defn", None), FunctionType):  # Numba's intrinsic
        parts.append("intrinsic")
        _describe_function(python, parts, known)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:  # a constant for Numba
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        parts.append(f"array {value.dtype} {value.shape} {content}")
    elif _library(value) in LIBRARIES and " at 0x" not in repr(value):
        parts.append(f"{type(value).__qualname__} {value!r}")
    elif _library(value) in LIBRARIES and hasattr(value, "__qualname__"):  # a function of theirs
        parts.append(f"{type(value).__qualname__} {_library(value)} {value.__qualname__}")
    else:
        raise UnknownValueError(f"{value!r} is no constant, function or type of known libraries")


def _library(value: Any) -> str:
    """Return the library of an object, or of its type."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return str(module).split(".")[0]


def _describe_function(function: FunctionType, parts: list[str], known: _Known) -> None:
    if _library(function) in LIBRARIES:
        parts.append(f"{function.__module__}.{function.__qualname__}")  # keys have their versions
        return
    parts.append(f"function {function.__qualname__}")
    source = known.source(function)
    parts += _bytecode(function.__code__) if source is None else [source]
    names = {name for code in codes(function.__code__) for name in code.co_names}
    for item in (*(function.__defaults__ or ()), *_cells(function)):
        _describe(item, parts, known)
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        parts.append(name)
        _describe(value, parts, known)
        if isinstance(value, ModuleType) and value.__name__.split(".")[0] not in LIBRARIES:
            for attribute in sorted(names & vars(value).keys()):
                parts.append(attribute)
                _describe(vars(value)[attribute], parts, known)


def _bytecode(function: CodeType) -> Iterator[str]:
    """Yield what a function's code is to this version of Python."""
    for code in codes(function):
        facts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        yield repr(facts)
        for item in code.co_consts:
            if not isinstance(item, CodeType):
                yield repr(sorted(map(repr, item)) if isinstance(item, frozenset) else item)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and those of the functions in it."""
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from codes(item)


def _cells(function: FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]
