"""Imports go one way through the layers, also those inside functions; no file is in an import circle."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import cugraph_ws
from cugraph_ws.runtime.dispatch import PROVIDERS

HOME = Path(cugraph_ws.__file__).parent
KERNELS = Path(cugraph_ws.__file__).parents[1] / "kernels"

# What a row imports is in its own row or in one above it.
LAYERS = (
    "errors", "runtime", "kernels", "arguments", "frames", "graph", "program", "contract", "partition",
    "backends", "execution", "accelerators", "algorithms", "dask", "accessor", "cli", "",
)  # fmt: skip


def modules() -> dict[str, Path]:
    """Return the library's files by the name that they are imported by."""
    found = {}
    for home, prefix in ((HOME, "cugraph_ws"), (KERNELS, "cugraph_ws.kernels")):
        for path in home.rglob("*.py"):
            parts = path.relative_to(home).with_suffix("").parts
            if parts[0] == "kernels":
                continue
            name = ".".join([prefix, *parts])
            found[name.removesuffix(".__init__")] = path
    return found


def imports_of(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield what a file imports of the library, inside functions too, but not for type checkers alone."""
    tree = ast.parse(path.read_text("utf-8"))
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                full = f"{node.module}.{one.name}"
                if full in known or node.module in known:
                    yield full if full in known else node.module


def layer_of(module: str) -> int:
    """Return the row of a module; one that is in no row is an error."""
    parts = module.split(".")
    return LAYERS.index(parts[1] if len(parts) > 1 else "")


def graph_of_imports() -> dict[str, set[str]]:
    known = modules()
    return {name: {*imports_of(path, known)} - {name} for name, path in known.items()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return groups of files that import each other, by Tarjan's algorithm."""
    order, low, stack, found = {}, {}, [], []
    numbers = itertools.count()

    def visit(one: str) -> None:
        order[one] = low[one] = next(numbers)
        stack.append(one)
        for other in graph[one]:
            if other not in order:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], order[other])
        if low[one] == order[one]:
            group = stack[stack.index(one) :]
            del stack[stack.index(one) :]
            if len(group) > 1:
                found.append(sorted(group))

    for one in graph:
        if one not in order:
            visit(one)
    return found


def test_every_file_is_in_a_layer() -> None:
    for name in modules():
        layer_of(name)


def test_imports_go_to_the_same_layer_or_to_one_above() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in graph_of_imports().items()
        for other in others
        if layer_of(other) > layer_of(name)
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_file_is_in_a_circle() -> None:
    assert circles(graph_of_imports()) == []


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert circles(graph) == [["a", "b", "c"]]


@pytest.mark.parametrize("what", PROVIDERS)
def test_the_table_names_files_that_there_are(what: str) -> None:
    assert PROVIDERS[what] in modules()


def test_own_files_are_imported_by_name_in_few_places() -> None:
    """A name in a string is an import that no test above sees: the tables', and kernels by theirs."""
    named = [
        name
        for name, path in modules().items()
        if re.search(
            r"import_module\((f?\"cugraph_ws|PROVIDERS|ACCELERATORS|kernel_module)",
            path.read_text("utf-8"),
        )
    ]
    assert sorted(named) == [
        "cugraph_ws.accelerators",
        "cugraph_ws.backends",
        "cugraph_ws.runtime.compile_worker",
        "cugraph_ws.runtime.device",
        "cugraph_ws.runtime.dispatch",
    ]
