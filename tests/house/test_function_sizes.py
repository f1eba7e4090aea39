"""No function is so long, or has so many parameters, that a reader loses the thread."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import cugraph_ws as ws

PACKAGE = Path(ws.__file__).parent
MOST_LINES = 80  # without the docstring
MOST_PARAMETERS = 12  # without `self`
MOST_KERNEL_LINES, MOST_KERNEL_PARAMETERS = 150, 16
AS_GRAPH = {"cugraph_ws.dask.graph.ClusterGraph.__init__"}  # `Graph` of a Dask frame


class Function(NamedTuple):
    """A function of the library, how many lines it has, and how many parameters."""

    name: str
    lines: int
    parameters: int


def functions(node: ast.AST, prefix: str) -> Iterator[Function]:
    """Yield the functions within a syntax tree, nested ones too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}.{child.name}"
            yield Function(name, lines_of(child), parameters_of(child.args))
            yield from functions(child, name)
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}.{child.name}")
        else:
            yield from functions(child, prefix)


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        assert docstring.end_lineno is not None
        lines -= docstring.end_lineno - docstring.lineno + 1
    return lines


def parameters_of(arguments: ast.arguments) -> int:
    positional = [*arguments.posonlyargs, *arguments.args]
    names = [argument.arg for argument in [*positional, *arguments.kwonlyargs]]
    variadic = (arguments.vararg is not None) + (arguments.kwarg is not None)
    return len(names) - (names[:1] in (["self"], ["cls"])) + variadic


def all_functions() -> list[Function]:
    """Return the functions of the package without kernels, which are in it by a link."""
    kernels = PACKAGE / "kernels"
    return functions_of(path for path in PACKAGE.rglob("*.py") if kernels not in path.parents)


def all_kernels() -> list[Function]:
    """Return the functions of the kernels' files."""
    return functions_of((PACKAGE / "kernels").rglob("*.py"))


def functions_of(paths: Iterable[Path]) -> list[Function]:
    every: list[Function] = []
    for path in sorted(paths):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        every += functions(ast.parse(path.read_text("utf-8")), ".".join(parts))
    return every


def public() -> set[str]:
    """Return the full names of what users call."""
    names = set()
    for name in ws.__all__:
        value = getattr(ws, name)
        if inspect.isclass(value):
            names.add(f"{value.__module__}.{value.__qualname__}.__init__")
        elif inspect.isfunction(value):
            names.add(f"{value.__module__}.{value.__qualname__}")
    return names


def test_functions_fit_a_screen_or_two() -> None:
    assert [function for function in all_functions() if function.lines > MOST_LINES] == []


def test_functions_that_users_do_not_call_have_few_parameters() -> None:
    known = public() | AS_GRAPH
    wide = [function for function in all_functions() if function.parameters > MOST_PARAMETERS]
    assert [function for function in wide if function.name not in known] == []
    assert any(function.name in known for function in wide), "public functions are found by name"


def test_kernels_fit_two_screens_and_have_few_parameters() -> None:
    every = all_kernels()
    assert "cugraph_ws.kernels.cuda.frontier.traverse" in {function.name for function in every}
    assert [function for function in every if function.lines > MOST_KERNEL_LINES] == []
    assert [function for function in every if function.parameters > MOST_KERNEL_PARAMETERS] == []


def test_lines_and_parameters_are_counted_without_docstring_and_self() -> None:
    text = 'class A:\n    def f(self, a, /, b, *c, d=0, **e):\n        """Say.\n\n        More.\n        """\n        return 1\n'
    assert list(functions(ast.parse(text), "m")) == [Function("m.A.f", 2, 5)]
