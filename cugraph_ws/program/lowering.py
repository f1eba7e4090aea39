"""A program whose combine has a name as one with a user-defined combine, once the types of its messages are known."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.by_part import ByPart
from cugraph_ws.program.rewriting import prepend, read_gathered_from, rewritten
from cugraph_ws.program.snapshot import Memory
from cugraph_ws.program.source import FunctionSource
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["lowered"]

PARTS = "ws_parts"  # a variable of the rewritten `apply`


def lowered(program: VertexProgram, kinds: Sequence[str], *, is_tuple: bool) -> VertexProgram:
    """Return a program whose fold is written out as a user-defined combine with its identity.

    Parameters
    ----------
    program : VertexProgram
        Has a `fold`.
    kinds : sequence of str
        NumPy type names of what `compute` returns.
    is_tuple : bool
        Whether that is a tuple.

    Returns
    -------
    VertexProgram
        With the functions `combine` and, for some folds, `lift`.

    Raises
    ------
    ProgramError
        If messages of these types cannot be combined by the fold.
    """
    fold = program.fold
    assert fold is not None
    compute = program.sources["compute"]
    why = fold.why_not(kinds, is_tuple=is_tuple)
    if why is not None:
        raise ProgramError(f"{program.name}.compute ({compute.location}): {why}")
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
            sources[name] = FunctionSource(text, parameters, {}, compute.location)
    changed = replace(
        program,
        identity=fold.identity(kinds),
        functions=functions,
        sources=sources,
        memory=Memory(),
    )
    nested = fold.nested("gathered") if isinstance(fold, ByPart) else None
    if nested is None or "gathered" not in program.sources["apply"].parameters:
        return changed

    def applies(node: ast.FunctionDef) -> None:
        read_gathered_from(node, PARTS)
        prepend(node, f"{PARTS} = {nested}", ())

    return rewritten(changed, {"apply": applies})
