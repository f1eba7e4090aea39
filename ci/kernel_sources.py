"""The source of a kernel: its function, and all definitions that it uses, in any file.

A kernel need not be compiled to know its registers if its source and types are those of the table's row.  What
functions call their arguments and variables does not count: with other names, the compiler writes the same PTX.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

__all__ = ["digest"]

PACKAGE = "cugraph_ws.kernels."
LENGTH = 12  # hexadecimal digits of a digest


class Definition(NamedTuple):
    """Something that a module defines.

    Attributes
    ----------
    text : str
        Its source without docstrings and comments, its variables numbered; empty for what is imported.
    names : frozenset of str
        What it mentions, apart from its variables.
    module, name : str
        Where it is imported from, and its name there.
    """

    text: str
    names: frozenset[str]
    module: str = ""
    name: str = ""


def digest(text: str, kernel: str, *further: object) -> str:
    """Return a digest of a kernel's sources, and of what else it depends on.

    Parameters
    ----------
    text : str
        Of the module that has the kernel.
    kernel : str
        Its name.
    *further : object
        Its types, and what compiles it; their `repr` is part of the digest.
    """
    parts = sorted(set(_reached(text, kernel)))
    return sha256("\n".join([repr(further), *parts]).encode()).hexdigest()[:LENGTH]


def _reached(text: str, kernel: str) -> Iterator[str]:
    """Yield the sources of a definition and of all that it mentions."""
    waiting, visited = [(text, kernel)], set()
    while waiting:
        at = waiting.pop()
        if at in visited:
            continue
        visited.add(at)
        where, name = at
        definitions, everything_of = _definitions(where)
        definition = definitions.get(name)
        if definition is None:
            waiting += [(_source(module), name) for module in everything_of]
        elif definition.module:
            waiting.append((_source(definition.module), definition.name))
        else:
            yield definition.text
            waiting += [(where, name_used) for name_used in definition.names]


@cache
def _source(module: str) -> str:
    """Return the text of a module of kernels."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text("utf-8")


@cache
def _definitions(text: str) -> tuple[dict[str, Definition], tuple[str, ...]]:
    """Return a text's definitions, the last of each name, and the modules that it imports with `*`."""
    by_name: dict[str, Definition] = {}
    everything_of: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            for alias in node.names:
                if alias.name == "*":
                    everything_of.append(node.module or "")
                else:
                    imported = Definition("", frozenset(), node.module or "", alias.name)
                    by_name[alias.asname or alias.name] = imported
            continue
        defined, variables = _defined(node), _variables(node)
        names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
        text_of = ast.unparse(_numbered(_without_docstrings(node), variables))
        for name in defined:
            by_name[name] = Definition(text_of, frozenset(names.difference(variables)))
    return by_name, tuple(everything_of)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        walked = (child for target in targets for child in ast.walk(target))
        return [child.id for child in walked if isinstance(child, ast.Name)]
    return []


def _without_docstrings(node: ast.stmt) -> ast.stmt:
    for child in ast.walk(node):
        if (
            isinstance(child, (ast.FunctionDef, ast.ClassDef))
            and ast.get_docstring(child) is not None
        ):
            child.body = child.body[1:] or [ast.Pass()]
    return node


def _variables(node: ast.stmt) -> list[str]:
    """Return the arguments and variables of a function, in an order that their names do not change."""
    if not isinstance(node, ast.FunctionDef):
        return []
    bound: dict[str, None] = {}
    for child in ast.walk(node):
        if isinstance(child, ast.arg):
            bound[child.arg] = None
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            bound[child.id] = None
    return list(bound)


def _numbered(node: ast.stmt, variables: list[str]) -> ast.stmt:
    """Replace the names of variables by their numbers, which no other name can be."""
    number_of = {name: str(number) for number, name in enumerate(variables)}
    for child in ast.walk(node):
        if isinstance(child, ast.arg):
            child.arg = number_of.get(child.arg, child.arg)
        elif isinstance(child, ast.Name):
            child.id = number_of.get(child.id, child.id)
    return node
