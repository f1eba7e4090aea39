"""Proofs from a program's source: that its messages are never NaN, and which fields hold vertex numbers.

Messages of min and max are never NaN if `init`, `compute` and `apply` return a number, given that states
and messages are numbers and edge attributes are finite.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from cugraph_ws.program.expressions import as_expression, function_of, owner_of
from cugraph_ws.program.vertex_program import VertexProgram

if TYPE_CHECKING:
    from cugraph_ws.program.codegen import Types

__all__ = ["fields_of_vertex_numbers", "is_never_nan"]


def is_never_nan(program: VertexProgram, types: Types) -> bool:
    """Return whether states and messages are proved never to be NaN, if edge attributes are finite.

    Parameters
    ----------
    program : VertexProgram
        The checked program; its states begin with `init`.
    types : Types
        Its types on a graph.

    Returns
    -------
    bool
        False if there is no proof.
    """
    if program.combine not in ("min", "max") or program.edge_state or program.jumps:
        return False
    if program.listing is not None or program.fold is not None or "lift" in program.sources:
        return False
    return all(_Numbers(program, types).of(name) for name in ("init", "compute", "apply"))


def fields_of_vertex_numbers(program: VertexProgram) -> list[str]:
    """Return the state fields that `init` plainly sets to the vertex number.

    Parameters
    ----------
    program : VertexProgram
        The checked program.

    Returns
    -------
    list of str
    """
    result = as_expression(function_of(program, "init").node.body)
    fields: set[str] = set()
    ends = [] if result is None else [result]
    while ends:
        node = ends.pop()
        if isinstance(node, ast.IfExp):
            ends += [node.body, node.orelse]
            continue
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        fields |= {
            field
            for field, part in zip(program.state, parts, strict=False)
            if isinstance(part, ast.Name) and part.id == "vertex"
        }
    return [field for field in program.state if field in fields]


# ------------------------------------------------------------------------- expressions without NaN


class _Numbers:
    """Determines whether expressions are numbers, given that states and messages are."""

    def __init__(self, program: VertexProgram, types: Types) -> None:
        self.program = program
        self.kinds: dict[str, str] = {
            **dict(zip(program.state, types.state, strict=True)),
            **dict(zip(program.constants, types.constants, strict=True)),
        }
        self.parameters = dict(zip(program.parameters, types.parameters, strict=True))
        self.missing = dict(zip(program.edges, types.missing_edges, strict=True))
        self.given: set[str] = set()  # arguments of the function that is looked at

    def of(self, name: str) -> bool:
        """Return whether a function returns numbers."""
        node = function_of(self.program, name).node
        result = as_expression(node.body)
        if result is None:
            return False
        self.given = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        parts = result.elts if isinstance(result, ast.Tuple) else [result]
        return all(self.is_number(part) for part in parts)

    def is_number(self, node: ast.expr) -> bool:
        """Return whether an expression is never NaN."""
        if isinstance(node, ast.Name):
            return node.id in ("gathered", "vertex") and node.id in self.given
        if isinstance(node, ast.Attribute):
            if ast.unparse(node) in ("math.inf", "np.inf"):
                return True
            if owner_of(node) == "p" and node.attr in self.parameters:
                return True  # binding refuses NaN
            states = ("src", "dst", "old", "state")
            return (owner_of(node) in states and node.attr in self.program.state) or self.is_finite(
                node
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            either = self.is_finite(node.left) or self.is_finite(node.right)
            return either and self.is_number(node.left) and self.is_number(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self.is_finite(node.left) and self.is_finite(node.right)
        parts = _alternatives(node)
        return self.is_finite(node) if parts is None else all(map(self.is_number, parts))

    def is_finite(self, node: ast.expr) -> bool:
        """Return whether an expression is a finite number; a sum may overflow."""
        if isinstance(node, ast.Constant):
            value = node.value
            return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.Attribute):
            owner, name = owner_of(node), node.attr
            if owner == "edge" and name in self.missing:
                stand_in = self.missing[name]
                return stand_in is None or math.isfinite(stand_in)
            kinds = self.parameters if owner == "p" else self.kinds
            return name in kinds and not kinds[name].startswith("float")
        parts = _alternatives(node)
        return parts is not None and all(map(self.is_finite, parts))


def _alternatives(node: ast.expr) -> list[ast.expr] | None:
    """Return expressions of which one, perhaps with another sign, is the value; None if not known."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return [node.operand]
    if isinstance(node, ast.Call) and not node.keywords:
        least = {"min": 2, "max": 2, "np.minimum": 2, "np.maximum": 2, "abs": 1, "float": 1}
        least |= {"np.float64": 1}
        if len(node.args) >= least.get(ast.unparse(node.func), math.inf):
            return node.args
    return None
