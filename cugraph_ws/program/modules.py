"""The module of loops of a program: compiled by Numba, or as plain Python.

`codegen` writes its text, to a file named by its hash, because Numba caches machine code beside files: a
second process, and a second run of a user's program, compile nothing.  For `engine="python"` the loops' own
files are executed uncompiled, and the user's functions with operations that have the compiler's types
(`cugraph_ws.program.typed`), so that a debugger stops in both.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import math
import sys
import threading
import types
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.codegen import (
    Types,
    adaptors,
    generated_source,
    host_adaptors,
    loops_of,
    record_fields,
    without_interface,
)
from cugraph_ws.program.infinity import INFINITY, STORED
from cugraph_ws.program.lists import Messages
from cugraph_ws.program.scatter import plain_calls
from cugraph_ws.program.typed import typed_function
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.generated import import_text, kernel_file
from cugraph_ws.runtime.machine_code import file_stem
from cugraph_ws.runtime.parsing import parse

__all__ = ["compiled_module", "fitting", "plain_loop", "plain_module", "python_module"]

KEPT = 32  # number of cached modules, those of the most recent programs
_modules: dict[str, types.ModuleType] = {}  # the most recent one is last
_one_at_a_time = threading.RLock()


def compiled_module(
    program: Any, types_: Any, write: Callable[[Any, Any], str] = generated_source
) -> types.ModuleType:
    """Return the program's module for the CPU engine; its functions compile when first called.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
        The checked program.
    types_ : Types or EdgeTypes
        Its types on the graph.
    write : callable
        Writes the text of the module.

    Returns
    -------
    module
        Contains the functions of every loop in `kernels/cpu`.
    """
    with _one_at_a_time:
        known = _modules.get(program.memory.get(types_, ""))
        if known is None:
            known = _generated_module(program, write(program, types_))
        name = known.__name__
        program.memory[types_] = name
        _modules.pop(name, None)
        _modules[name] = known
        for oldest in list(_modules)[: max(len(_modules) - KEPT, 0)]:
            del _modules[oldest]
            sys.modules.pop(oldest, None)
        return known


def _generated_module(program: Any, text: str) -> types.ModuleType:
    """Return the module of a program's text, cached if an equal program has run before."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:20]
    name = f"cugraph_ws_generated_{file_stem(program.name)}_{digest}"
    if name not in _modules:
        module = import_text(name, text)
        compiled = [
            dispatcher for dispatcher in vars(module).values() if hasattr(dispatcher, "overloads")
        ]
        # Numba keeps `module` alive.  Loops refer to `module_of_loops`, which is freed with the last loop.
        module_of_loops = types.ModuleType(name)
        vars(module_of_loops).update(vars(module))
        weakref.finalize(module_of_loops, _release, compiled).atexit = False
        _modules[name] = module_of_loops
    return _modules[name]


def _release(dispatchers: list[Any]) -> None:
    """Make Numba free what it compiled for a module, once no loop uses it any more.

    Numba frees compiled functions with their dispatchers.  But its context refers to the functions,
    they refer to their module, and the module refers to the dispatchers, so it never would.
    """
    for dispatcher in dispatchers:
        for result in list(dispatcher.overloads.values()):
            with contextlib.suppress(KeyError):
                result.target_context.remove_user_function(result.entry_point)
        dispatcher.overloads.clear()


def python_module(program: VertexProgram, types_: Types) -> types.ModuleType:
    """Return the program's module as plain Python: the user's functions themselves.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    types_ : Types
        Its types on the graph.

    Returns
    -------
    module
        The same functions as in the compiled module; slow, but usable in a debugger.
    """
    more = zip(program.edge_state, program.edge_state_kinds, strict=True)
    fit = fitting(program, types_, more)
    text = adaptors(program, types_, checked=True)
    text = "\n".join([text, host_adaptors(program, types_)])
    return plain_module(program, record_fields(program), fit, text, loops_of(program))


def plain_module(
    program: Any,
    records: Mapping[str, Sequence[str]],
    fit: Callable[[int, Any], Any],
    text: str,
    loops: Sequence[str],
) -> types.ModuleType:
    """Return a program's module as plain Python; `text` replaces the interface that `loops` import."""

    def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    # Named as part of the package, since coverage selects files by the name of the module that runs them.
    module = types.ModuleType(f"cugraph_ws.python.{program.name}")
    space = module.__dict__
    space.update(math=math, np=np, inline=as_it_is, always_inline=as_it_is, jit=as_it_is, fit=fit)
    for name, names in records.items():
        space[name] = namedtuple(name, names)
    for name, source in program.sources.items():
        called = plain_calls(space) if name == "scatter" else {}
        space[f"user_{name}"] = typed_function(source, program.name, **called)
    if "gather_list" in program.sources:
        space["user_gather_list"] = _with_messages(program, space)
    exec(compile(text, f"<interface of {program.name}>", "exec"), space)  # noqa: S102 - our own text
    for loop in loops:
        exec(plain_loop(loop), space)  # noqa: S102 - the library's own file
    return module


def _with_messages(program: VertexProgram, space: dict[str, Any]) -> Callable[..., Any]:
    """Return the user's `gather_list` as loops call it, with a buffer of messages."""
    function = space["user_gather_list"]
    place = program.sources["gather_list"].parameters.index("messages")

    def called(*arguments: Any) -> Any:
        slots, first, count = arguments[place]
        take = space["take_message"]
        listed = Messages(take(slots, first + number) for number in range(count))
        return function(*arguments[:place], listed, *arguments[place + 1 :])

    return called


@lru_cache
def plain_loop(loop: str) -> types.CodeType:
    """Return the code of a module of `kernels/cpu`, changed to run as plain Python."""
    path = kernel_file("cpu", loop)
    tree = parse(path.read_text("utf-8"))
    tree.body = [_plain_import(node) for node in without_interface(tree)]
    return compile(tree, str(path), "exec")


def fitting(
    program: Any, types_: Any, more: Iterable[tuple[str, str]] = ()
) -> Callable[[int, Any], Any]:
    """Return a function that converts to a state field's type and refuses what does not fit.

    `more` are names and types of further fields.
    """
    infinite = program.infinite
    named = [*zip(program.state, types_.state, strict=True), *more]
    fields: list[tuple[str, np.dtype[Any]]] = [(name, np.dtype(kind)) for name, kind in named]

    def fit(place: int, value: Any) -> Any:
        field, dtype = fields[place]
        if place < len(infinite) and infinite[place]:
            if value >= INFINITY:
                value = STORED[dtype.name]
            elif value <= -STORED[dtype.name] or value >= STORED[dtype.name]:
                raise ProgramError(
                    f"{program.name}: `{field}` is {dtype.name} and may be infinite, so it holds numbers "
                    f"between -{STORED[dtype.name]} and {STORED[dtype.name]}, not {value}; declare it as a "
                    "wider type, or bound the value"
                )
        if dtype.kind == "b":
            fits = value in (0, 1)
        elif dtype.kind == "i":
            limits = np.iinfo(dtype)
            # Comparisons with NaN are false.
            fits = bool(limits.min <= value <= limits.max) and value == int(value)
        else:
            fits = True
        if not fits:
            shown = value.item() if isinstance(value, np.generic) else value
            raise ProgramError(
                f"{program.name}: `{field}` is {dtype.name}, which cannot hold {shown!r}; declare "
                f"`{field}` as a wider type, or bound the value"
            )
        return dtype.type(value)

    return fit


def _plain_import(node: ast.stmt) -> ast.stmt:
    """Make a loop import the plain atomics instead of the compiled ones."""
    if isinstance(node, ast.ImportFrom) and node.module == "cugraph_ws.kernels.cpu.atomics":
        node.module = "cugraph_ws.kernels.cpu.plain_atomics"
    return node
