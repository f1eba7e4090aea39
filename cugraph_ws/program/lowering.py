"""A program whose combine has a name as one with a user-defined combine, once the types of its messages are known."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.by_part import ByPart
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.rewriting import prepend, read_gathered_from, rewritten
from cugraph_ws.program.snapshot import Memory
from cugraph_ws.program.source import FunctionSource
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["lowered"]

PARTS = "ws_parts"  # a variable of the rewritten `apply`


Program = TypeVar("Program", bound=VertexProgram | EdgeProgram)


def lowered(program: Program, kinds: Sequence[str], *, is_tuple: bool) -> Program:
    """Return a program whose fold is written out as a user-defined combine with its identity.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
        Has a `fold`.
    kinds : sequence of str
        NumPy type names of what `compute`, or `common`, returns.
    is_tuple : bool
        Whether that is a tuple.

    Returns
    -------
    VertexProgram or EdgeProgram
        With the functions `combine` and, for some folds, `lift`.

    Raises
    ------
    ProgramError
        If messages of these types cannot be combined by the fold.
    """
    fold = program.fold
    assert fold is not None
    of_pairs = isinstance(program, EdgeProgram)
    sender, reader, read = (
        ("common", "value", "common") if of_pairs else ("compute", "apply", "gathered")
    )
    sending = program.sources[sender]
    why = fold.why_not(kinds, is_tuple=is_tuple)
    if why is not None:
        raise ProgramError(f"{program.name}.{sender} ({sending.location}): {why}")
    functions, sources = dict(program.functions), dict(program.sources)
    written = {
        "combine": (("first", "second"), fold.combine(kinds)),
        "lift": (("message",), fold.lift(kinds)),
    }
    for name, (parameters, body) in written.items():
        if body:
            lines = [
                f"def user_{name}({', '.join(parameters)}):",
                *[f"    {line}" for line in body],
            ]
            text = "\n".join(lines)
            space: dict[str, Any] = {"np": np}
            exec(compile(text, f"<{fold!r}>", "exec"), space)  # noqa: S102 - our own text
            functions[name] = space[f"user_{name}"]
            sources[name] = FunctionSource(text, parameters, {}, sending.location)
    changed = replace(
        program,
        identity=fold.identity(kinds),
        functions=functions,
        sources=sources,
        memory=Memory(),
    )
    nested = fold.nested(read) if isinstance(fold, ByPart) else None
    if nested is None or read not in program.sources[reader].parameters:
        return changed

    def applies(node: ast.FunctionDef) -> None:
        read_gathered_from(node, PARTS, gathered=read)
        prepend(node, f"{PARTS} = {nested}", ())

    return rewritten(changed, {reader: applies})
