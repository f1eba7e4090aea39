"""A function of a program as one expression, from its checked source."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse, parse_expression

__all__ = ["Function", "as_expression", "function_of", "is_field", "is_same", "owner_of", "picked"]


@dataclass
class Function:
    """A function as expressions: its return values, with the conditions that lead to them."""

    node: ast.FunctionDef
    helpers: dict[str, ast.FunctionDef]


def function_of(program: VertexProgram, name: str) -> Function:
    """Return one of a program's functions, with the helpers that it calls."""
    definitions = {
        node.name: node
        for node in parse(program.sources[name].text).body
        if isinstance(node, ast.FunctionDef)
    }
    return Function(definitions.pop(f"user_{name}"), definitions)


def as_expression(body: list[ast.stmt]) -> ast.expr | None:
    """Return a function's body as one expression: variables substituted, ifs as `a if c else b`."""
    known: dict[str, ast.expr] = {}

    def filled(node: ast.expr, names: dict[str, ast.expr]) -> ast.expr:
        class Fill(ast.NodeTransformer):
            def visit_Name(self, name_node: ast.Name) -> ast.expr:
                return names.get(name_node.id, name_node)

        # The source's tree is shared with other readers.
        result = Fill().visit(parse_expression(ast.unparse(node)))
        assert isinstance(result, ast.expr)
        return result

    def block(statements: list[ast.stmt], names: dict[str, ast.expr]) -> ast.expr | None:
        for place, statement in enumerate(statements):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            if isinstance(statement, ast.Return):
                return None if statement.value is None else filled(statement.value, names)
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if not isinstance(target, ast.Name):
                    return None
                names = {**names, target.id: filled(statement.value, names)}
            elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                before = names.get(statement.target.id)
                if before is None:
                    return None
                value = ast.BinOp(before, statement.op, filled(statement.value, names))
                names = {**names, statement.target.id: value}
            elif isinstance(statement, ast.If):
                rest = statements[place + 1 :]
                first = block([*statement.body, *rest], names)
                second = block([*statement.orelse, *rest], names)
                if first is None or second is None:
                    return None
                return ast.IfExp(filled(statement.test, names), first, second)
            else:
                return None
        return None

    return block(body, known)


def is_same(first: ast.expr, second: ast.expr) -> bool:
    """Return whether two expressions are written alike."""
    return ast.unparse(first) == ast.unparse(second)


def is_field(node: ast.expr, owner: str, field: str) -> bool:
    """Return whether an expression is `owner.field`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == field
        and isinstance(node.value, ast.Name)
        and node.value.id == owner
    )


def owner_of(node: ast.Attribute) -> str:
    """Return the name before the dot; empty if there is an expression."""
    return node.value.id if isinstance(node.value, ast.Name) else ""


def picked(node: ast.expr) -> tuple[str, ast.expr, ast.expr] | None:
    """Recognise the minimum or maximum of two expressions; return "min" or "max", and both."""
    if isinstance(node, ast.Call) and not node.keywords:
        called = ast.unparse(node.func).removeprefix("np.")[:3]
        known = ast.unparse(node.func) in ("min", "max", "np.minimum", "np.maximum")
        return (called, node.args[0], node.args[1]) if known and len(node.args) == 2 else None
    if not isinstance(node, ast.IfExp) or not isinstance(node.test, ast.Compare):
        return None
    test = node.test
    if len(test.ops) != 1:
        return None
    first, second = test.left, test.comparators[0]
    below = isinstance(test.ops[0], (ast.Lt, ast.LtE))
    if not below and not isinstance(test.ops[0], (ast.Gt, ast.GtE)):
        return None
    if is_same(node.body, first) and is_same(node.orelse, second):
        return ("min" if below else "max"), first, second
    if is_same(node.body, second) and is_same(node.orelse, first):
        return ("max" if below else "min"), first, second
    return None
