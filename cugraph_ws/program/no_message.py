"""Programs whose `compute` returns `ws.no_message` on some path, as programs that always return a message.

An engine knows of messages only.  Where a vertex cannot tell an absent message from the identity of
`combine`, that is what is sent: where vertices without messages apply to it anyway, and where `apply` plainly
keeps the better of the state and what it gathers.  Elsewhere a flag travels with each message: whether it was
sent.  `combine` becomes a function that joins flags, and `apply` keeps the state of a vertex without messages.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.inference import Inference
from cugraph_ws.program.order import keeps_at_identity
from cugraph_ws.program.rewriting import (
    function_of,
    prepend,
    read_gathered_from,
    rewritten,
    statements,
)
from cugraph_ws.program.snapshot import Memory
from cugraph_ws.program.source import NO_MESSAGE, FunctionSource
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse

__all__ = ["only_messages", "with_messages"]

SENT, RECEIVED = "ws_sent", "ws_received"  # variables of the rewritten functions


def only_messages(program: VertexProgram) -> VertexProgram:
    """Return a program whose `compute` raises an error in place of `ws.no_message`, to infer what it sends.

    Parameters
    ----------
    program : VertexProgram
    """

    def raised(node: ast.FunctionDef) -> None:
        _replace_returns(node, lambda value: [ast.Return(value)], statements("raise ValueError"))

    return rewritten(program, {"compute": raised})


def with_messages(program: VertexProgram, types: Inference) -> VertexProgram:
    """Return a program of the same meaning that returns a message on every path.

    Parameters
    ----------
    program : VertexProgram
        Its `compute` returns `ws.no_message` on some path; a fold is written out.
    types : Inference
        The types of the messages of `only_messages(program)`.

    Returns
    -------
    VertexProgram

    Raises
    ------
    ProgramError
        If it is asynchronous, or has a predecessor, and an absent message needs a flag.
    """
    kinds, several = types.message, types.tuple_message
    applies_to_silence = program.contributors == "all" or (
        program.all_send and not program.idempotent
    )
    is_flag = kinds == ("bool",) and not several
    has_identity = program.combine != "any" or is_flag
    as_identity = has_identity and (
        applies_to_silence or program.asynchronous or keeps_at_identity(program)
    )
    if as_identity and "lift" not in program.sources:
        identity = _row(_identity(program, kinds), kinds, several=several)

        def sends(node: ast.FunctionDef) -> None:
            absent = statements(f"return {identity}")
            _replace_returns(node, lambda value: [ast.Return(value)], absent)

        return rewritten(program, {"compute": sends})
    needs = {"asynchronous = True": program.asynchronous, "a predecessor": program.predecessor}
    for declared, is_declared in needs.items():
        if is_declared:
            raise ProgramError(
                f"{program.name}.compute ({program.sources['compute'].location}) returns ws.no_message, which with "
                f"{declared} needs combine = min or max and an apply such as min(old.x, gathered), in this order; leave "
                f"out {declared}, or return what changes no state"
            )
    return _flagged(program, kinds, several=several, quiet=not applies_to_silence)


def _flagged(
    program: VertexProgram, kinds: Sequence[str], *, several: bool, quiet: bool
) -> VertexProgram:
    """Return a program whose messages begin with whether they were sent.

    If `quiet`, a vertex without messages keeps its state, and only one that has changed is active.
    """
    sums = program.combine == "sum"
    kinds = ["int64" if kind == "bool" and sums else kind for kind in kinds]
    lifted = "lift" in program.sources
    identity = _identity(program, kinds)
    nothing = (0,) * len(kinds) if lifted else identity
    absent = ", ".join(map(_number, nothing, kinds))
    parts = []
    for place, kind in enumerate(kinds):
        part = f"{SENT}[{place}]" if several else SENT
        if program.combine in ("min", "max") and kind.startswith("float"):
            part = f"({part} if {part} == {part} else {_number(identity[place], kind)})"  # NaN is no message
        parts.append(f"np.int64({part})" if kind == "int64" and sums else part)

    def sends(node: ast.FunctionDef) -> None:
        def sent(value: ast.expr) -> list[ast.stmt]:
            assigned = ast.Assign([ast.Name(SENT, ast.Store())], value)
            return [assigned, *statements(f"return (True, {', '.join(parts)})")]

        _replace_returns(node, sent, statements(f"return (False, {absent})"))

    is_row = isinstance(program.identity, tuple) if program.combine == "custom" else several
    gathered = _parts("gathered", len(identity), several=is_row)
    names = () if program.fold is None else program.fold.fields
    old = ", ".join(f"old.{field}" for field in program.state)

    def applies(node: ast.FunctionDef) -> None:
        read_gathered_from(node, RECEIVED, names)
        kept = f"if not gathered[0]:\n    return {f'({old})' if len(program.state) > 1 else old}\n"
        prepend(node, f"{kept if quiet else ''}{RECEIVED} = {gathered}", ("old", "gathered"))

    def is_active(node: ast.FunctionDef) -> None:
        same = [
            f"(old.{field} == new.{field} or (old.{field} != old.{field} and new.{field} != new.{field}))"
            for field in program.state
        ]
        prepend(node, f"if {' and '.join(same)}:\n    return False", ("old", "new"))

    changes: dict[str, Callable[[ast.FunctionDef], None]] = {"compute": sends, "apply": applies}
    if quiet and "active" in program.sources:
        changes["active"] = is_active
    changed = rewritten(program, changes)
    written = {"combine": _combine_text(program, len(identity), is_row=is_row, kinds=kinds)}
    if lifted:
        written["lift"] = _lift_text(program, identity, kinds, is_row=is_row, several=several)
    functions, sources = dict(changed.functions), dict(changed.sources)
    for name, text in written.items():
        parameters = ("first", "second") if name == "combine" else ("message",)
        sources[name] = FunctionSource(text, parameters, {}, program.sources["compute"].location)
        functions[name] = function_of(sources[name], program)
    return replace(
        changed, combine="custom", identity=(False, *identity), functions=functions, sources=sources,
        contributors="all" if program.all_send else "active", fold=None if names else program.fold,
        flagged=True, memory=Memory(),
    )  # fmt: skip


def _lift_text(
    program: VertexProgram,
    identity: tuple[Any, ...],
    kinds: Sequence[str],
    *,
    is_row: bool,
    several: bool,
) -> str:
    """Write the function that converts a message of types `kinds`, after a flag, to one that is combined."""
    assert program.fold is not None
    absent = ", ".join(map(_number, identity, program.fold.combined_kinds(kinds)))
    parts = ", ".join(_places("parts", len(identity), is_row=is_row))
    message = _parts("message", len(kinds), several=several)
    return (
        f"{_renamed(program.sources['lift'], 'lift')}\n\ndef user_lift(message):\n"
        f"    if not message[0]:\n        return (False, {absent})\n"
        f"    parts = user_lift_of_message({message})\n    return (True, {parts})"
    )


def _combine_text(
    program: VertexProgram, length: int, *, is_row: bool, kinds: Sequence[str]
) -> str:
    """Write the function that combines messages that begin with a flag."""
    combine = program.combine
    first, second = (_parts(side, length, several=is_row) for side in ("first", "second"))
    rows = [[f"{side}[{place + 1}]" for place in range(length)] for side in ("first", "second")]
    helper, begins = "", ""
    if combine == "custom":
        helper = f"{_renamed(program.sources['combine'], 'combine')}\n\n"
        begins = f"    parts = user_combine_of_message({first}, {second})\n"
        parts = _places("parts", length, is_row=is_row)
    elif combine == "sum" or (combine == "any" and list(kinds) == ["bool"]):
        sign = "+" if combine == "sum" else "or"
        parts = [f"{a} {sign} {b}" for a, b in zip(*rows, strict=True)]
    else:
        sign = "<" if combine == "min" else ">"
        begins = (
            f"    is_first = {'first[0]' if combine == 'any' else f'not {second} {sign} {first}'}\n"
        )
        parts = [f"{a} if is_first else {b}" for a, b in zip(*rows, strict=True)]
    returned = f"    return (first[0] or second[0], {', '.join(parts)})"
    return f"{helper}def user_combine(first, second):\n{begins}{returned}"


def _identity(program: VertexProgram, kinds: Sequence[str]) -> tuple[Any, ...]:
    """Return the parts of the identity of a program's combine, for messages of these types."""
    if program.combine == "custom":
        identity = program.identity
        return identity if isinstance(identity, tuple) else (identity,)
    if program.combine in ("sum", "any"):
        return (0,) * len(kinds)
    rising = program.combine == "max"
    extremes: list[Any] = []
    for kind in kinds:
        if kind == "bool":
            extremes.append(not rising)
        elif kind.startswith("float"):
            extremes.append(-math.inf if rising else math.inf)
        else:
            limits = np.iinfo(kind)
            extremes.append(int(limits.min if rising else limits.max))
    return tuple(extremes)


def _number(value: Any, kind: str) -> str:
    """Write a number of a type; one that the type does not hold keeps its own."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        text = "math.nan" if value != value else "math.inf" if value > 0 else "-math.inf"
    elif kind == "bool" and not isinstance(value, float):
        return str(bool(value))
    else:
        text = repr(float(value) if kind.startswith("float") else value)
    return f"np.float32({text})" if kind == "float32" else text


def _row(values: Sequence[Any], kinds: Sequence[str], *, several: bool) -> str:
    numbers = ", ".join(map(_number, values, kinds))
    return f"({numbers},)" if several else numbers


def _places(name: str, length: int, *, is_row: bool) -> list[str]:
    """Write the parts of a message that is a tuple, or a number."""
    return [f"{name}[{place}]" for place in range(length)] if is_row else [name]


def _parts(name: str, length: int, *, several: bool) -> str:
    """Write the message that follows a flag."""
    parts = [f"{name}[{place + 1}]" for place in range(length)]
    return f"({', '.join(parts)},)" if several else parts[0]


def _replace_returns(
    node: ast.FunctionDef, sent: Callable[[ast.expr], list[ast.stmt]], absent: list[ast.stmt]
) -> None:
    """Replace what a `compute` returns: `sent` writes the statements for a message."""

    def returned(value: ast.expr) -> list[ast.stmt]:
        names = [name.id for name in ast.walk(value) if isinstance(name, ast.Name)]
        if NO_MESSAGE not in names:
            return sent(value)
        if isinstance(value, ast.IfExp):
            return [ast.If(value.test, returned(value.body), returned(value.orelse))]
        return copy.deepcopy(absent)

    class Returns(ast.NodeTransformer):
        def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
            assert node.value is not None
            statements = returned(node.value)
            for part in (part for statement in statements for part in ast.walk(statement)):
                if "lineno" in part._attributes:
                    ast.copy_location(part, node)
            return statements

    Returns().visit(node)


def _renamed(source: FunctionSource, name: str) -> str:
    """Return the text of a function that is called for messages without flags."""
    *helpers, node = parse(source.text).body
    assert isinstance(node, ast.FunctionDef)
    node = copy.copy(node)
    node.name = f"user_{name}_of_message"
    return "\n\n".join(map(ast.unparse, [*helpers, node]))
