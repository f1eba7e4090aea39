"""Rewriting functions of a vertex program when it is bound: their text for compilers, and as plain Python for trials."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.infinity import plain_functions
from cugraph_ws.program.snapshot import Memory
from cugraph_ws.program.source import FunctionSource, plain_function
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse

Program = TypeVar("Program", bound=VertexProgram | EdgeProgram)

__all__ = ["function_of", "prepend", "read_gathered_from", "rewritten", "statements"]


class _GatheredIn(ast.NodeTransformer):
    """Reads what was gathered from a variable, and its named parts by their places."""

    def __init__(self, variable: str, names: Sequence[str], gathered: str) -> None:
        self.variable, self.names, self.gathered = variable, names, gathered

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == self.variable:
            place = ast.Constant(self.names.index(node.attr))
            return ast.copy_location(ast.Subscript(node.value, place, node.ctx), node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = self.variable if node.id == self.gathered else node.id
        return ast.copy_location(ast.Name(name, node.ctx), node)


def read_gathered_from(
    node: ast.FunctionDef, variable: str, names: Sequence[str] = (), *, gathered: str = "gathered"
) -> None:
    """Have a function read its argument `gathered` from a variable; `names` are those of its parts."""
    reading = _GatheredIn(variable, names, gathered)
    node.body = [reading.visit(statement) for statement in node.body]


def statements(text: str) -> list[ast.stmt]:
    """Return the statements of a text."""
    return parse(text).body


def prepend(node: ast.FunctionDef, text: str, needed: Collection[str]) -> None:
    """Write statements before a function's own, with the arguments that they need."""
    named = {argument.arg for argument in node.args.args}
    node.args.args += [ast.arg(name) for name in needed if name not in named]
    node.body = [*statements(text), *node.body]


def rewritten(
    program: Program, changes: Mapping[str, Callable[[ast.FunctionDef], None]]
) -> Program:
    """Return a program of which each of some functions was changed."""
    functions, sources = dict(program.functions), dict(program.sources)
    for name, change in changes.items():
        source = sources[name]
        definitions = list(source.definitions) or [
            (f"<{program.name}>", node)
            for node in parse(source.text).body
            if isinstance(node, ast.FunctionDef)
        ]
        file, node = definitions[-1]
        node = copy.deepcopy(node)
        change(node)
        for part in ast.walk(node):
            if "lineno" in part._attributes and not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        definitions[-1] = (file, ast.fix_missing_locations(node))
        before = parse(source.text).body[:-1]  # helpers
        sources[name] = replace(
            source,
            text="\n\n".join(map(ast.unparse, [*before, node])),
            parameters=tuple(argument.arg for argument in node.args.args),
            definitions=tuple(definitions),
        )
        functions[name] = function_of(sources[name], program)
    return replace(program, functions=functions, sources=sources, memory=Memory())


def function_of(source: FunctionSource, program: VertexProgram | EdgeProgram) -> Callable[..., Any]:
    """Compile a function as plain Python for trials, in the module of the program's."""
    owner, module = program.name, program.module
    definitions = source.definitions or tuple(
        (f"<{owner}>", node)
        for node in parse(source.text).body
        if isinstance(node, ast.FunctionDef)
    )
    return plain_function(definitions, **plain_functions(owner), __name__=module)
