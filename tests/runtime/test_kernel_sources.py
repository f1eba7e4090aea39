"""What a kernel is compiled from: nothing that it names is missed, and nothing else counts."""

from __future__ import annotations

import ast
import symtable
from importlib.util import find_spec
from pathlib import Path

import pytest

from cugraph_ws.runtime.kernel_sources import _module, _reached, sources_digest
from cugraph_ws.runtime.paths import kernels_folder

FILES = [
    path
    for folder in ("cuda", "accelerators")
    for path in sorted((kernels_folder() / folder).rglob("*.py"))
    if path.stem != "interface"  # what a program's text replaces
]
TEXT = '''"""A module; walk() is a word of its docstring."""

import numpy as np
from cugraph_ws.kernels.cuda.layout import CODES, NOBODY
from cugraph_ws.kernels.cuda.primitives import *

LEAST, MOST = 3, (
    4,
)
WIDTH: int = 5


# Looks at one vertex.
@inline
def look(vertex):
    """Do what walk() does not."""
    return vertex + WIDTH


@kernel
def walk(count):
    """Walk."""
    if look(count) < MOST[0]:
        sync_block()


@bounded(
    128
)
def rest(count):
    return count + NOBODY
'''


def digests(text):
    return {name: sources_digest(text, name) for name in ("look", "walk", "rest")}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("Do what walk() does not", "Look", {"look", "walk"}),
        ("A module", "The module", set()),
        ("# Looks at one vertex.", "# Looks.", set()),
        ("\n\n\n", "\n\n", set()),
        ("WIDTH: int = 5", "WIDTH: int = 6", {"look", "walk"}),
        ("    4,", "    7,", {"walk"}),
        ("count + NOBODY", "count", {"rest"}),
        ("NOBODY\nfrom", "LOWEST as NOBODY\nfrom", {"rest"}),
        ("    128", "    256", {"look", "walk", "rest"}),  # a decorator of several lines
        ("import numpy as np", "import math", {"look", "walk", "rest"}),
        ("@inline\n", "@jit\n", {"look", "walk"}),
        ("def walk(count)", "def walk(size)", {"walk"}),
    ],
)
def test_an_edit_changes_what_depends_on_it(old, new, changed):
    assert old in TEXT
    before, after = digests(TEXT), digests(TEXT.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("def look(walk):\n    return walk", set()),
        ("def look(vertex):\n    walk = vertex\n    return walk", set()),
        ("def look(vertex):\n    for walk in range(vertex):\n        rest = walk", set()),
        ("def look(vertex):\n    walk, rest = vertex\n    return walk", set()),
        ("def look(vertex, least=walk):\n    return vertex", {"walk"}),
        ("def look(walk: walk):\n    return walk", {"walk"}),
        ("@bounded(walk)\ndef look(walk):\n    return walk", {"walk"}),
        ("def look(vertex, least=most(walk)):\n    rest = 1", {"walk", "rest"}),
        ("def look(vertex):\n    return rest(walk=vertex)", {"walk", "rest"}),
        ("def look(vertex):\n    if walk == vertex:\n        return 1", {"walk"}),
        ("def look(vertex):\n    return f'{walk}'", {"walk"}),
        ("def look(vertex):\n    return RF'{walk}' + ' rest'", {"walk"}),
        ("look = both('walk', \"it's\", rest, 'a\\'b')", {"rest"}),
        ("def look(vertex):  # Vertex' rest or 'walk\n    return walk", {"walk"}),
        ("def look(vertex):\n    global walk\n    walk = vertex", {"walk"}),
        ("def look(vertex):\n    def inner(x):\n        walk = x\n    return walk", {"walk"}),
    ],
)
def test_variables_are_no_names(function, names):
    ((_, words),) = _module(function).defined["look"]
    assert words & {"walk", "rest"} == names


def test_definitions_of_other_modules_count():
    parts = list(_reached(TEXT, "walk"))
    assert any("def sync_block" in part for part in parts)
    assert not any("def fence" in part for part in parts)
    assert any(part.startswith("NOBODY") for part in _reached(TEXT, "rest"))


def test_a_name_that_is_defined_twice_has_both():
    twice = TEXT + "\nWIDTH = 9\n"
    assert sources_digest(twice, "look") != sources_digest(TEXT, "look")
    assert sources_digest(twice, "rest") == sources_digest(TEXT, "rest")


def test_of_an_unknown_name_the_whole_text_counts():
    assert sources_digest("a", "kernel") != sources_digest("b", "kernel")
    assert sources_digest(TEXT, "kernel") != sources_digest(TEXT + "\nMORE = 1\n", "kernel")


def written(node):
    """Return the text of a tree without its empty lines, which docstrings may have."""
    return [line for line in ast.unparse(node).splitlines() if line.strip()]


def global_names(node):
    """Return the names of its module that a statement uses, as Python's compiler sees them."""
    tables = [symtable.symtable(ast.unparse(node), "statement", "exec")]
    names = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_referenced()}
    for table in tables:
        tables += table.get_children()
        names |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_as_the_parser_has_it(path):
    """Statements are the parser's, and each has all its names; imports of the library's modules are followed."""
    module = _module(path.read_text("utf-8"))
    for node in ast.parse(path.read_text("utf-8")).body:
        names = global_names(node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cugraph_ws"):
            if node.module == "cugraph_ws.runtime.cuda_target":  # every kernel depends on it
                continue
            origin = Path(find_spec(node.module).origin).read_text("utf-8")
            for alias in node.names:
                if alias.name == "*":
                    assert node.module in module.everything_of
                else:
                    assert alias.name in {*_module(origin).defined, *_module(origin).imported}
                    assert module.imported[alias.asname or alias.name] == (node.module, alias.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            ((statement, words),) = module.defined[node.name]
            assert written(ast.parse(statement)) == written(node)
            assert names - {node.name} <= words
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            walked = [child for target in targets for child in ast.walk(target)]
            for name in {child.id for child in walked if isinstance(child, ast.Name)}:
                ((statement, words),) = module.defined[name]
                assert written(ast.parse(statement)) == written(node)
                assert names - {name} <= words
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            assert isinstance(node, (ast.Import, ast.ImportFrom))
            assert ast.unparse(node) in module.rest
            assert "cugraph_ws" not in ast.unparse(node)
