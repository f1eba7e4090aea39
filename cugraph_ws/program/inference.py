"""The types of a program's functions, inferred by Numba over all return paths.

The type of a message, and whether a new state fits its declaration, must not depend on the few values
of a trial.  Nothing is compiled here: type inference takes milliseconds.  Its result is cached on disk
beside the generated code, for other processes.
"""

from __future__ import annotations

import ast
import hashlib
import json
import linecache
import math
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.lists import Listing, why_not_listed
from cugraph_ws.program.vertex_program import AGGREGATE, FUNCTIONS, VertexProgram
from cugraph_ws.runtime.machine_code import code_folder, read_entry, shipped_entry, write_entry
from cugraph_ws.runtime.parsing import in_pieces, parse

__all__ = [
    "CompileError",
    "Inference",
    "Inferrer",
    "compile_error",
    "infer",
    "infer_messages",
    "inferred",
    "message_type",
    "record_type",
    "remembered",
    "scalar_type",
    "seen",
]

LAYOUT = 4  # version of the cached format; increment it if inferred types may change
MOST_KNOWN = 256  # results in memory: a program is bound again for every value of its parameters
MOST_HELPERS = 64  # sets of helpers whose compiled functions are kept
ROUNDS = 4  # widening steps after which a combine whose result types keep widening is refused

_known: dict[str, Inference] = {}


class CompileError(ProgramError):
    """A function is valid Python, but Numba cannot compile it."""


@dataclass(frozen=True)
class Inference:
    """Result of type inference for a program's functions.

    Attributes
    ----------
    message : tuple of str
        NumPy type name of each message component: "bool", "int64", "float32" or "float64".
    tuple_message : bool
        Whether messages are tuples.
    gathered, tuple_gathered
        The same for `gathered`, if the program lists messages.
    """

    message: tuple[str, ...]
    tuple_message: bool
    gathered: tuple[str, ...] = ()
    tuple_gathered: bool = False


def infer(
    program: VertexProgram,
    state: tuple[str, ...],
    edges: tuple[str, ...],
    constants: tuple[str, ...],
    parameters: tuple[str, ...],
) -> Inference:
    """Infer the type of a program's messages, and check that results fit their declarations.

    Parameters
    ----------
    program : VertexProgram
        The program.
    state, edges, constants, parameters : tuple of str
        NumPy type names of the state fields, the edge attributes, the vertex constants and the
        run's parameters.

    Returns
    -------
    Inference

    Raises
    ------
    ProgramError
        If a function does not compile, returns no number on some path, or returns a type that
        does not fit the declared state: a float for an integer or a boolean field.
    """
    types = (state, edges, constants, parameters)
    return _cached("program", program, types, lambda: Inferrer(program, *types).run())


def infer_messages(
    program: VertexProgram,
    state: tuple[str, ...],
    edges: tuple[str, ...],
    constants: tuple[str, ...],
    parameters: tuple[str, ...],
) -> Inference:
    """Infer the types that a program's `compute` returns.

    Parameters
    ----------
    program, state, edges, constants, parameters
        As for `infer`.

    Returns
    -------
    Inference

    Raises
    ------
    ProgramError
        If `compute` does not compile, or returns no number on some path.
    """
    types = (state, edges, constants, parameters)
    return _cached(
        "messages", program, types, lambda: Inference(*Inferrer(program, *types).result("compute"))
    )


def _cached(
    what: str,
    program: VertexProgram,
    types: tuple[tuple[str, ...], ...],
    find: Callable[[], Inference],
) -> Inference:
    """Return a cached inference of a program, or find and cache it."""
    described = (
        what, *types, tuple(program.state), program.edge_fields, program.edge_state_kinds,
        tuple(program.constants), program.parameter_names, program.combine, repr(program.fold),
        repr(program.listing),
        repr(program.identity), [(key, source.text) for key, source in sorted(program.sources.items())],
    )  # fmt: skip
    return remembered(described, find)


def remembered(described: Any, find: Callable[[], Inference]) -> Inference:
    """Return a result of inference from memory or the disk cache, or find it and keep it in both.

    Parameters
    ----------
    described : tuple
        Everything that the result depends on besides the compiler.
    find : callable

    Returns
    -------
    Inference
    """
    key = hashlib.sha256(repr((LAYOUT, _compiler(), described)).encode()).hexdigest()
    known = _known.get(key) or _read(key)
    if known is None:
        known = find()
        _write(key, known)
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[key] = known
    return known


@lru_cache
def _compiler() -> str:
    """Return Numba's version, without importing it."""
    return metadata.version("numba")


def _entry(key: str) -> str:
    """Return the name of an inference's file."""
    return f"types-{key[:40]}"


def _read(key: str) -> Inference | None:
    """Return the cached result of another process, or one that is shipped; None if missing or damaged."""
    folder, name = code_folder(), _entry(key)
    content = None if folder is None else read_entry(folder / name)
    content = content or shipped_entry(name)
    if content is None:
        return None
    stored = json.loads(content)
    gathered, several = tuple(stored["gathered"]), bool(stored["tuple_gathered"])
    return Inference(tuple(stored["message"]), bool(stored["tuple"]), gathered, several)


def _write(key: str, inference: Inference) -> None:
    """Cache a result, if it can be written."""
    folder = code_folder()
    if folder is not None:
        stored = {
            "message": list(inference.message),
            "tuple": inference.tuple_message,
            "gathered": list(inference.gathered),
            "tuple_gathered": inference.tuple_gathered,
        }
        write_entry(folder / _entry(key), json.dumps(stored).encode())


class Inferrer:
    """Infers the types of one program's functions; see `infer`."""

    shape = "state"  # name in messages of what `check_state` checks

    def __init__(
        self,
        program: VertexProgram,
        state: tuple[str, ...],
        edges: tuple[str, ...],
        constants: tuple[str, ...],
        parameters: tuple[str, ...],
    ) -> None:
        self.program = program
        self.state = state
        counts = ("float64",) * len(program.aggregates) + ("int64", "int64")
        constant_kinds = tuple(map(seen, constants))
        self.given = {
            "vertex": scalar_type("int64"),
            "own": record_type("Own", program.constants, constant_kinds),
            "p": record_type("Parameters", program.parameter_names, (*parameters, *counts)),
            "edge": record_type(
                "Edge", program.edge_fields, tuple(map(seen, (*edges, *program.edge_state_kinds)))
            ),
        }
        vertex = record_type(
            "Vertex", (*program.state, *program.constants), (*map(seen, state), *constant_kinds)
        )
        for name in ("src", "dst", "old", "new", "state"):
            self.given[name] = vertex

    def run(self) -> Inference:
        """Infer all functions."""
        program = self.program
        kinds, is_tuple = self.result("compute")
        if "lift" in program.sources:
            lift = program.sources["lift"].text
            kinds, is_tuple = self.typed("lift", lift, (message_type(kinds, is_tuple),))
        kinds = tuple(self.gathered_as(kind) for kind in kinds)
        if program.combine == "custom":
            kinds = self.closed_under_combine(kinds, is_tuple)
        if program.listing is not None:
            return self.run_listed(program.listing, kinds, is_tuple)
        fields = () if program.fold is None else program.fold.fields
        self.given["gathered"] = (
            record_type("Gathered", fields, kinds) if fields else message_type(kinds, is_tuple)
        )
        self.check_others()
        return Inference(kinds, is_tuple)

    def run_listed(self, listing: Listing, kinds: tuple[str, ...], is_tuple: bool) -> Inference:
        """Infer the functions of a program that lists messages."""
        from numba.core import types

        why = why_not_listed(listing, kinds, is_tuple=is_tuple)
        if why is not None:
            raise self.fail("compute", why)
        gathered, several = kinds[:1], False
        if listing.kind == "list":
            self.given["messages"] = types.List(message_type(kinds, is_tuple))
            gathered, several = self.result("gather_list")
        self.given["gathered"] = message_type(gathered, several)
        self.check_others()
        return Inference(kinds, is_tuple, gathered, several)

    def check_others(self) -> None:
        """Check what functions return besides `compute` and `gather_list`."""
        program = self.program
        self.check_state("apply")
        self.check_state("init")
        for name in (*FUNCTIONS, *program.aggregates):
            if name in ("init_edge", "update_edge") and name in program.sources:
                self.check_edge_state(name)
            elif name in program.sources and name not in (
                "scatter",
                "compute",
                "gather_list",
                "apply",
                "init",
            ):
                self.result(name, scalar=True)

    def check_edge_state(self, name: str) -> None:
        """Refuse results of shapes or types that the declared state of edges cannot hold."""
        fields, declared = tuple(self.program.edge_state), self.program.edge_state_kinds
        kinds, is_tuple = self.result(name)
        several = len(fields) > 1
        if is_tuple != several or len(kinds) != len(fields):
            wanted = f"a tuple of {len(fields)} numbers: {', '.join(fields)}"
            raise self.fail(
                name,
                "returns another shape than the state of edges has; return "
                f"{wanted if several else 'a number'}",
            )
        self.check_kinds(name, fields, kinds, declared)

    def gathered_as(self, kind: str) -> str:
        """Return the type in which messages of a type are combined.

        A sum of flags is a count; floats are summed in the widest type of the state.
        """
        adds = self.program.combine in ("sum", "custom")
        if kind == "bool" and self.program.combine == "sum":
            return "int64"
        return "float64" if adds and kind == "float32" and "float64" in self.state else kind

    def closed_under_combine(self, kinds: tuple[str, ...], is_tuple: bool) -> tuple[str, ...]:
        """Widen the message's types until combining messages gives the same types."""
        identity = self.program.identity
        neutral = identity if isinstance(identity, tuple) else (identity,)
        if isinstance(identity, tuple) != is_tuple or len(neutral) != len(kinds):
            raise self.fail("combine", f"identity {identity!r} does not have the message's shape")
        kinds = tuple(
            "float64" if isinstance(value, (float, np.floating)) and kind in ("bool", "int64") else kind
            for kind, value in zip(kinds, neutral, strict=True)
        )  # fmt: skip
        for _ in range(ROUNDS):
            message = message_type(kinds, is_tuple)
            combined, tuple_found = self.typed(
                "combine", self.program.sources["combine"].text, (message, message)
            )
            if tuple_found != is_tuple or len(combined) != len(kinds):
                raise self.fail("combine", "returns another shape than the messages have")
            wider = tuple(
                self.gathered_as(np.promote_types(a, b).name)
                for a, b in zip(kinds, combined, strict=True)
            )
            if wider == kinds:
                break
            kinds = wider
        return kinds

    def check_state(self, name: str) -> None:
        """Refuse results of types that the declared state cannot hold."""
        kinds = self.fields(name, self.program.sources[name].text)
        self.check_kinds(name, tuple(self.program.state), kinds, self.state)

    def check_kinds(
        self,
        name: str,
        fields: tuple[str, ...],
        kinds: tuple[str, ...],
        declared_kinds: tuple[str, ...],
    ) -> None:
        """Refuse a float for a field that is not one."""
        for field, kind, declared in zip(fields, kinds, declared_kinds, strict=True):
            if kind.startswith("float") and not declared.startswith("float"):
                raise self.fail(
                    name,
                    f"returns a {kind} for `{field}`, which is {declared}; declare `{field}` as a float, "
                    "or return a whole number (`//`, int())",
                )

    def fields(self, name: str, text: str) -> tuple[str, ...]:
        """Return the types of a new state."""
        source = self.program.sources[name]
        kinds, is_tuple = self.typed(
            name, text, [self.given[parameter] for parameter in source.parameters]
        )
        several = len(self.state) > 1
        if is_tuple != several or len(kinds) != len(self.state):
            wanted = ", ".join(self.program.state)
            what = f"a tuple of {len(self.state)} numbers: {wanted}" if several else "a number"
            raise self.fail(name, f"returns another shape than the {self.shape} has; return {what}")
        return kinds

    def result(self, name: str, *, scalar: bool = False) -> tuple[tuple[str, ...], bool]:
        """Return the types of what a function returns, and whether that is a tuple."""
        source = self.program.sources[name]
        known = AGGREGATE if name in self.program.aggregates else FUNCTIONS[name]
        assert set(source.parameters) <= set(known)
        returned = self.typed(
            name, source.text, [self.given[parameter] for parameter in source.parameters]
        )
        if scalar and returned[1]:
            raise self.fail(name, "returns a tuple; return a number")
        return returned

    def typed(
        self, name: str, text: str, argument_types: Sequence[Any]
    ) -> tuple[tuple[str, ...], bool]:
        """Infer what the function in `text` returns for arguments of the given types."""
        from numba.core import types
        from numba.core.errors import NumbaError

        try:
            returned = inferred(text, f"user_{name}", argument_types)[1]
        except NumbaError as error:
            raise compile_error(self.program, error, name) from error
        if isinstance(returned, types.BaseTuple):
            return tuple(self.kind(name, part) for part in returned), True
        return (self.kind(name, returned),), False

    def kind(self, name: str, numba_type: Any) -> str:
        """Return the NumPy name of a type, widened to one that programs compute with."""
        from numba.core import types

        numba_type = types.unliteral(numba_type)
        if isinstance(numba_type, types.Boolean):
            return "bool"
        if isinstance(numba_type, types.Integer):
            return "int64"
        if isinstance(numba_type, types.Float):
            return "float64" if numba_type.bitwidth == 64 else "float32"
        if isinstance(numba_type, (types.Optional, types.NoneType)):
            raise self.fail(name, "returns nothing on some path; return a number on every path")
        raise self.fail(name, f"returns a {numba_type}; return a number")

    def fail(self, name: str, what: str) -> ProgramError:
        """Return the error for an invalid function."""
        source = self.program.sources[name]
        return ProgramError(f"{self.program.name}.{name} ({source.location}): {what}")


def seen(kind: str) -> str:
    """Return the type in which programs see a number that is stored as `kind`."""
    return "int64" if kind == "int32" else kind


def scalar_type(kind: str) -> Any:
    """Return Numba's type of a number, given NumPy's name of it."""
    from numba.core import types

    return getattr(types, "boolean" if kind == "bool" else kind)


def record_type(name: str, fields: Sequence[str] | Any, kinds: Sequence[str]) -> Any:
    """Return Numba's type of a named tuple of numbers."""
    return record_of(name, fields, tuple(map(scalar_type, kinds)))


def record_of(name: str, fields: Sequence[str] | Any, parts: tuple[Any, ...]) -> Any:
    """Return Numba's type of a named tuple of parts of given types."""
    from numba.core import types

    # A tuple type with names that are known only at run time
    record: Any = namedtuple(name, tuple(fields))  # type: ignore[misc]
    return types.NamedTuple(parts, record)


def message_type(kinds: tuple[str, ...], is_tuple: bool) -> Any:
    """Return Numba's type of a message."""
    from numba.core import types

    parts = tuple(map(scalar_type, kinds))
    return types.Tuple(parts) if is_tuple else parts[0]


def inferred(text: str, name: str, argument_types: Sequence[Any]) -> tuple[dict[str, Any], Any]:
    """Infer the types of a function's variables, and of its result.

    Parameters
    ----------
    text : str
        The function and its helpers.
    name : str
        Which function.
    argument_types : sequence of Numba types
        Of its arguments.

    Returns
    -------
    dict
        Numba's type of each variable; assignments of one variable may have names of their own,
        such as `x.1`.
    type
        Numba's type of the result.

    Raises
    ------
    NumbaError
        If it does not compile.
    """
    from numba.core import compiler, rewrites, typed_passes
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    function = _function(text, name)
    context = cpu_target.typing_context
    # All threads share the compiler's context, and ranks that are threads infer concurrently.
    with global_compiler_lock, _compiler_on():
        context.refresh()
        code = compiler.run_frontend(function)
        state = SimpleNamespace(func_ir=code, typemap=None, calltypes=None)
        rewrites.rewrite_registry.apply("before-inference", state)
        inference = typed_passes.type_inference_stage(
            context, cpu_target.target_context, code, tuple(argument_types), None
        )
    _refuse_mixed_tuples(code, inference.typemap)
    return inference.typemap, inference.return_type


def _refuse_mixed_tuples(code: Any, kinds: dict[str, Any]) -> None:
    """Refuse a variable that has named fields on one path and is a plain tuple on another.

    Numba infers a plain tuple, and fails without a word once it writes the conversion.
    """
    from numba.core import ir, types
    from numba.core.errors import TypingError

    for block in code.blocks.values():
        for assignment in block.find_insts(ir.Assign):
            value = assignment.value
            if isinstance(value, ir.Expr) and value.op == "cast":
                value = value.value
            kind = kinds.get(value.name) if isinstance(value, ir.Var) else None
            if isinstance(kind, types.BaseNamedTuple) and kind != kinds[assignment.target.name]:
                record = "gathered" if kind.instance_class.__name__ == "Gathered" else "…"
                named = ", ".join(f"{record}.{field}" for field in kind.fields)
                raise TypingError(
                    f"a value with named fields on one path is a tuple on another; write ({named}) for it"
                )


def _function(text: str, name: str) -> Any:
    """Make a function from its source; its helpers are compiled even if NUMBA_DISABLE_JIT is set."""
    text = in_pieces(text)
    space = _executed(text, f"<{name}>")
    helpers = [
        ast.unparse(node)
        for node in parse(text).body
        if not isinstance(node, ast.FunctionDef) or node.name != name
    ]
    space |= _helpers("\n\n".join(helpers))
    return space[name]


@lru_cache(maxsize=MOST_HELPERS)
def _helpers(text: str) -> dict[str, Any]:
    """Make functions that others call, which are compiled for all that have the same helpers."""
    from numba.core.registry import CPUDispatcher

    space = _executed(text, f"<helpers {hash(text) % MOST_HELPERS}>")
    functions = {key: value for key, value in space.items() if isinstance(value, FunctionType)}
    made = {
        key: CPUDispatcher(py_func=value, targetoptions={"nopython": True})
        for key, value in functions.items()
    }
    space |= made
    return made


def _executed(text: str, file: str) -> dict[str, Any]:
    """Return the names that a text defines."""
    space: dict[str, Any] = {"math": math, "np": np}
    # Numba's errors quote the source from here.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)  # noqa: S102 - checked by `cugraph_ws.program.source`
    return space


@contextmanager
def _compiler_on() -> Iterator[None]:
    """Let Numba type its own functions, even if NUMBA_DISABLE_JIT disables compilation."""
    from numba.core import config

    before = config.DISABLE_JIT
    config.DISABLE_JIT = 0
    try:
        yield
    finally:
        config.DISABLE_JIT = before


def compile_error(
    program: VertexProgram, error: Exception, name: str | None = None
) -> CompileError:
    """Explain in the user's terms why the compiler refuses a program.

    Parameters
    ----------
    program : VertexProgram
        The program.
    error : Exception
        What Numba raised.
    name : str, optional
        The function, if known.

    Returns
    -------
    CompileError
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    reason = next((line for line in text.splitlines() if line.strip()), "no reason given")
    reason = re.sub(
        r"No implementation of function Function\(<\w+ '?(\w+)'?.*>\) found for signature:",
        r"`\1` cannot be used with what it is given; use operators, min, max and functions of math",
        reason,
    )
    places = re.findall(r"^\s*(?:<source elided>)?\s*(\S.*)\n\s*\^", text, re.MULTILINE)
    where = f", near `{places[-1].strip()}`" if places else ""
    functions = [
        function_name
        for function_name in re.findall(r"user_(\w+)", text)
        if function_name in program.sources
    ]
    if name is None and functions:
        name = functions[-1]
    of = program.name
    if name is not None:
        of = f"{of}.{name} ({program.sources[name].location})"
    if name is not None and "(" in reason and reason.startswith("Can't unify return type"):
        return CompileError(
            f"{of}: returns a number on one path and a tuple on another; return the same number of numbers on all"
        )
    remedy = "engine='python' runs it uncompiled"
    if name is not None and ":=" in program.sources[name].text:
        remedy = "assign on a line of its own instead of with :="
    return CompileError(f"{of} cannot be compiled: {reason.strip()}{where}; {remedy}")
