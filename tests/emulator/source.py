"""Kernel source, made ready to run on the CPU.

The text is compiled under its own path, so that coverage and tracebacks see it.  Two things differ
from plain Python: number literals have the device's types, and `~` of a bool is `not`.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

from cugraph_ws.runtime.generated import kernel_file
from cugraph_ws.runtime.parsing import parse

from .library import BUILTINS, MATH, NUMPY, invert
from .primitives import SERVED
from .scalars import scalar

__all__ = ["defined_twice", "load", "top_level_names"]

PACKAGE = "cugraph_ws.kernels.cuda"
ACCELERATORS = "cugraph_ws.kernels.accelerators"
_numbers = itertools.count(1)
_DEFINITION = re.compile(r"^(?:def (\w+)\(|class (\w+)|(\w+(?:, \w+)*) = )", re.MULTILINE)


def top_level_names(text: str) -> list[str]:
    """Return what a module's text defines, as often as it does."""
    found = [next(filter(None, one.groups())) for one in _DEFINITION.finditer(text)]
    return [name for names in found for name in names.split(", ")]


def defined_twice(text: str) -> set[str]:
    """Return the names that a module's text defines more than once: only the last would count."""
    counts = Counter(top_level_names(text))
    return {name for name, count in counts.items() if count > 1}


class _Literals(ast.NodeTransformer):
    """Put names in the place of number literals, and a call in that of `~`."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def _name(self, node: ast.AST, value: Any) -> ast.Name:
        name = f"_literal_{type(value).__name__}_{len(self.names)}"
        for known, other in self.names.items():
            if type(other) is type(value) and repr(other) == repr(value):
                name = known
        self.names[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._name(node, scalar(node.value)) if type(node.value) in (int, float) else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        operand = node.operand
        literal = isinstance(operand, ast.Name) and operand.id in self.names
        if literal and isinstance(node.op, ast.USub):
            value = self.names[operand.id]
            return self._name(node, -value if isinstance(value, float) else scalar(-int(value)))
        if isinstance(node.op, ast.Invert):
            function = ast.copy_location(ast.Name("_invert", ast.Load()), node)
            return ast.copy_location(ast.Call(function, [operand], []), node)
        return node


class _Importer:
    """Serves the imports of one module and of those that it imports."""

    def __init__(self, served: Mapping[str, Mapping[str, Any]]) -> None:
        self.modules = {"primitives": SERVED, **served}

    def __call__(
        self, name: str, outer: Any = None, local: Any = None, wanted: Any = (), level: int = 0
    ) -> Any:
        if name == "math":
            return MATH
        if name == "numpy":
            return NUMPY
        if name == PACKAGE:
            return SimpleNamespace(**{one: self.module(one) for one in wanted or ()})
        for package in (PACKAGE, ACCELERATORS):
            if name.startswith(f"{package}."):
                return self.module(name.removeprefix(f"{package}."))
        return builtins.__import__(name, outer, local, wanted or (), level)

    def module(self, stem: str) -> Any:
        """Return a module of kernels, by the name that launches know, loaded when first asked for."""
        if stem not in self.modules:
            self.modules[stem] = _execute(kernel_file("cuda", stem), self)
        return SimpleNamespace(**self.modules[stem])


def load(
    source: str | Path, served: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Execute a module of kernels, its imports served by the emulator.

    Parameters
    ----------
    source : str or Path
        Its text, or its file (a `Path`, or a string without a line break that ends in `.py`).
    served : dict, optional
        Namespaces that stand in for modules of `cugraph_ws.kernels.cuda`, by the module's last
        name; in what those modules import as well.

    Returns
    -------
    dict
        The module's namespace.
    """
    return _execute(source, _Importer(served or {}))


def _execute(source: str | Path, importer: _Importer) -> dict[str, Any]:
    if isinstance(source, str) and not (source.endswith(".py") and "\n" not in source):
        made, name = _of_text(source), f"{PACKAGE}.text"
    else:
        file = _resolved(source)
        made, name = _of_file(file, file.stat().st_mtime_ns), f"{PACKAGE}.{file.stem}"
    namespace: dict[str, Any] = {
        "__name__": name,
        "__file__": made.path,
        "__builtins__": {**BUILTINS, "__import__": importer},
        "__emulated__": True,
        "_invert": invert,
        **made.literals,
    }
    exec(made.code, namespace)
    return namespace


@lru_cache
def _resolved(source: str | Path) -> Path:
    return Path(source).resolve()  # asks the system about every folder on the way


class _Compiled(NamedTuple):
    """Code, the file that it says it is from, and its literals by name."""

    code: CodeType
    path: str
    literals: dict[str, Any]


@lru_cache(maxsize=256)
def _of_text(text: str) -> _Compiled:
    path = f"<kernels {next(_numbers)}>"
    # without a time of change, `linecache.checkcache` leaves it alone
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    return _compiled(text, path)


@lru_cache(maxsize=256)
def _of_file(file: Path, changed: int) -> _Compiled:
    return _compiled(file.read_text(), str(file))


def _compiled(text: str, path: str) -> _Compiled:
    literals = _Literals()
    tree = ast.fix_missing_locations(literals.visit(parse(text)))
    return _Compiled(compile(tree, path, "exec", dont_inherit=True), path, literals.names)
