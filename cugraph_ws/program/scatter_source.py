"""The source of `scatter`: what it asks of `edges` becomes calls of functions that `scatter` (the module) writes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import NoReturn, TypeVar

from cugraph_ws.runtime.parsing import parse, parse_expression

__all__ = ["CALLED", "PLACE", "Rewriting"]

Node = TypeVar("Node", bound=ast.AST)

CALLED = ("ws_checked", "ws_out_edge", "ws_send")  # the functions that a rewritten source calls
PLACE = "ws_place"  # the place of an edge among those of its source, as a field and as a variable


class Rewriting(ast.NodeTransformer):
    """Replaces what a function asks of `edges` by calls.

    Parameters
    ----------
    attributes, fields : collection of str
        What an edge has, and what the vertex has that it leads to.

    Attributes
    ----------
    parts : int
        The parts of a message that is a tuple; 0 if messages are numbers.
    """

    def __init__(self, attributes: Collection[str], fields: Collection[str]) -> None:
        self.attributes, self.fields = attributes, fields
        self.parts = -1
        self._loops = 0
        self._edges: set[str] = set()  # variables that are edges
        self._fail: Callable[[ast.AST, str], NoReturn]

    def rewrite(self, function: ast.FunctionDef, fail: Callable[..., NoReturn]) -> tuple[str, ...]:
        """Rewrite a function; return the names that its text does not define."""
        self._fail = fail
        for node in ast.walk(function):
            match node:
                case ast.For(target=ast.Name(id=name), iter=ast.Name(id="edges")):
                    self._edges.add(name)
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id="edges"))
                ):
                    self._edges.add(name)
                case ast.Return(value=value) if value is not None:
                    fail(node, f"returns `{ast.unparse(value)}`; send it, as in `edge.send(…)`")
        before = -1
        while before < len(self._edges):
            before = len(self._edges)
            self._edges |= {
                node.targets[0].id
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and isinstance(node.value, ast.Name)
                and node.value.id in self._edges
            }
        function.body = [self.visit(statement) for statement in function.body]
        if self.parts < 0:
            fail(function, "sends nothing; write `edge.send(…)` in a loop `for edge in edges`")
        function.body.append(_placed(parse("return").body[0], function.body[-1]))
        return CALLED

    def visit_For(self, node: ast.For) -> ast.AST:
        """Replace `for edge in edges`."""
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Name(id="edges")):
                self._loops += 1
                place = f"{PLACE}_{self._loops}"
                body = [self.visit(statement) for statement in node.body]
                text = (
                    f"for {place} in range(edges.degree):\n    {name} = ws_out_edge(edges, {place})"
                )
                loop = _placed(parse(text).body[0], node)
                assert isinstance(loop, ast.For)
                loop.body += body
                loop.orelse = [self.visit(statement) for statement in node.orelse]
                return loop
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Replace a statement that sends a message."""
        match node.value:
            case ast.Call(func=ast.Attribute(value=edge, attr="send"), args=[message], keywords=[]):
                return self._sending(node, edge, message)
            case ast.Call(func=ast.Attribute(attr="send")):
                self._fail(node, f"uses `{ast.unparse(node)}`; write `edge.send(message)`")
        return self.generic_visit(node)

    def _sending(self, node: ast.Expr, edge: ast.expr, message: ast.expr) -> ast.AST:
        """Return the statement that stores a message."""
        at: ast.expr
        match edge:
            case ast.Subscript(value=ast.Name(id="edges")):
                loaded = self.visit(edge)  # once, since it changes what it visits
                assert isinstance(loaded, ast.Call)
                at = loaded.args[1]
            case ast.Name(id=name) if name in self._edges:
                at = ast.Attribute(ast.Name(name, ast.Load()), PLACE, ast.Load())
            case _:
                self._fail(
                    node,
                    f"sends along `{ast.unparse(edge)}`; send along one of `edges`, as in "
                    "`edges[i].send(…)`, or in a loop `for edge in edges`",
                )
        parts = len(message.elts) if isinstance(message, ast.Tuple) else 0
        if self.parts not in (-1, parts):
            self._fail(
                node,
                f"sends `{ast.unparse(message)}`, but other messages have {self.parts or 1} "
                "parts; send as many along every edge",
            )
        self.parts = parts
        call = _call("ws_send", at, self.visit(message))
        return _placed(ast.Assign([ast.Name("ws_stored", ast.Store())], call), node)

    def _checked(self, place: ast.expr) -> ast.expr:
        """Return a place that there is."""
        return _call("ws_checked", self.visit(place))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `len(edges)`."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id="edges")], keywords=[]):
                return _placed(parse_expression("edges.degree"), node)
            case ast.Call(func=ast.Attribute(attr="send")):
                self._fail(node, f"uses `{ast.unparse(node)}` as a value; sending is a statement")
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace `edges[i]`."""
        match node:
            case ast.Subscript(value=ast.Name(id="edges"), slice=ast.Slice() | ast.Tuple()):
                self._fail(node, f"uses `{ast.unparse(node)}`; read one edge, as in `edges[i]`")
            case ast.Subscript(value=ast.Name(id="edges"), slice=place):
                return _placed(_call("ws_out_edge", self._checked(place)), node)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Check what is read of an edge."""
        match node:
            case ast.Attribute(value=ast.Name(id="edges"), attr=name):
                self._fail(
                    node, f"uses `edges.{name}`; read it of one edge, as in `edges[i].{name}`"
                )
            case ast.Attribute(value=ast.Attribute(value=edge, attr="dst"), attr=name):
                self._check(node, edge, name, self.fields, "the vertex that an edge leads to")
            case ast.Attribute(value=edge, attr=name) if name != "dst":
                self._check(node, edge, name, (*self.attributes, "dst"), "an edge")
        return self.generic_visit(node)

    def _check(
        self, node: ast.AST, edge: ast.expr, name: str, has: Collection[str], what: str
    ) -> None:
        """Refuse to read of an edge what is not declared."""
        match edge:
            case ast.Name(id=variable) if variable not in self._edges:
                return
            case ast.Name() | ast.Subscript(value=ast.Name(id="edges")):
                if name not in has:
                    self._fail(
                        node,
                        f"`{ast.unparse(node)}` is not declared; {what} has: {', '.join(sorted(has))}",
                    )

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Refuse other uses of `edges`."""
        if node.id == "edges":
            self._fail(node, "uses `edges` as a whole; write a loop `for edge in edges`")
        return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    """Return a call of a function of `edges`."""
    return ast.Call(ast.Name(name, ast.Load()), [ast.Name("edges", ast.Load()), *arguments], [])


def _placed(part: Node, node: ast.AST) -> Node:
    """Return a piece of source with the lines of a node, where it has none of its own."""
    for inner in ast.walk(part):
        if not hasattr(inner, "lineno") or inner is part:
            ast.copy_location(inner, node)
    return ast.fix_missing_locations(part)
