"""`min` and `max` in users' functions on a GPU: as in Python, NaN stays if it comes first.

The device's own prefer a number to NaN, so that a program would mean something else there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from cugraph_ws.program.analysis import is_never_nan
from cugraph_ws.program.expressions import owner_of
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse

__all__ = ["spelling_of", "with_nan_kept"]

TEXTS = {
    "min": "def ws_least(a, b):\n    return a if a != a else min(a, b)",
    "max": "def ws_greatest(a, b):\n    return a if a != a else max(a, b)",
}
NAMES = {"min": "ws_least", "max": "ws_greatest"}


def spelling_of(program: Any, types: Any) -> Callable[[str], str]:
    """Return a function that rewrites the text of a program's functions.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
        The checked program.
    types : Types or EdgeTypes
        Its types on a graph.
    """
    edges = getattr(types, "edges", ())
    kinds = dict(zip(program.constants, types.constants, strict=True))
    kinds |= dict(zip(program.state, types.state, strict=True))
    kinds |= dict(zip(program.edges, edges, strict=False))
    has_floats = any(
        kind.startswith("float") for kind in (*kinds.values(), *types.message, *types.parameters)
    )
    if not has_floats or (isinstance(program, VertexProgram) and is_never_nan(program, types)):
        return str
    return partial(
        with_nan_kept,
        integers={name for name, kind in kinds.items() if not kind.startswith("float")},
    )


def with_nan_kept(text: str, integers: set[str]) -> str:
    """Return the text with calls of `min` and `max` replaced, unless all arguments are plainly whole numbers.

    Parameters
    ----------
    text : str
        Definitions of a function and its helpers.
    integers : set of str
        The fields, constants and edge attributes that are integers or booleans.
    """
    if "min(" not in text and "max(" not in text:
        return text
    tree = parse(text)
    defined = {statement.name for statement in tree.body if isinstance(statement, ast.FunctionDef)}
    rewriting = _Rewriting(set(NAMES) - defined, integers)
    body = [rewriting.visit(statement) for statement in tree.body]
    if not rewriting.used:
        return text
    helpers = [TEXTS[name] for name in sorted(rewriting.used)]
    module = ast.fix_missing_locations(ast.Module(body, []))
    return "\n\n".join([*helpers, ast.unparse(module)])


class _Rewriting(ast.NodeTransformer):
    """Replaces calls."""

    def __init__(self, names: set[str], integers: set[str]) -> None:
        self.names, self.integers = names, integers
        self.used: set[str] = set()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace a call of min or max by calls for two arguments each."""
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in self.names or len(node.args) < 2 or node.keywords:
            return node
        if all(map(self.is_whole, node.args)):
            return node
        self.used.add(name)
        nested = node.args[0]
        for argument in node.args[1:]:
            nested = ast.Call(ast.Name(NAMES[name], ast.Load()), [nested, argument], [])
        return nested

    def is_whole(self, node: ast.expr) -> bool:
        """Return whether an expression is plainly a whole number."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return self.is_whole(node.left) and self.is_whole(node.right)
        if isinstance(node, ast.Attribute):
            return owner_of(node) != "p" and node.attr in self.integers
        return False
