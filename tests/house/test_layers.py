"""Imports go one way through the layers that pyproject.toml declares; no file is in an import circle."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

import cugraph_ws
from cugraph_ws.runtime.dispatch import PROVIDERS

HOME = Path(cugraph_ws.__file__).parents[1]


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """All imports, those for type checkers too."""
    return grimp.build_graph("cugraph_ws", cache_dir=None)


def test_contracts_of_layers_and_circles_are_kept() -> None:
    assert lint_imports(config_filename=str(HOME / "pyproject.toml"), no_cache=True) == 0


def test_every_file_is_looked_at(imports: grimp.ImportGraph) -> None:
    files = {*(HOME / "cugraph_ws").rglob("*.py"), *(HOME / "kernels").rglob("*.py")}
    assert len(imports.modules) == len(files)


def test_errors_import_nothing_not_even_types(imports: grimp.ImportGraph) -> None:
    assert imports.find_modules_directly_imported_by("cugraph_ws.errors") == set()


@pytest.mark.parametrize("what", PROVIDERS)
def test_the_table_names_files_that_there_are(what: str, imports: grimp.ImportGraph) -> None:
    assert PROVIDERS[what] in imports.modules


@pytest.mark.parametrize(
    "module",
    [
        path.relative_to(HOME).with_suffix("").as_posix().replace("/", ".")
        for path in sorted((HOME / "kernels").rglob("*.py"))
    ],
)
def test_kernels_can_be_imported(module: str) -> None:
    """So what they name is there: programs' texts replace these imports, which nothing else follows."""
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    importlib.import_module(f"cugraph_ws.{module}")


def test_own_files_are_imported_by_name_in_few_places() -> None:
    """A name in a string is an import that no contract sees: the tables', and kernels by theirs."""
    named = [
        path.relative_to(HOME).with_suffix("").as_posix()
        for path in (HOME / "cugraph_ws").rglob("*.py")
        if re.search(
            r"import_module\((f?\"cugraph_ws|PROVIDERS|ACCELERATORS|kernel_module)",
            path.read_text("utf-8"),
        )
    ]
    assert sorted(named) == [
        "cugraph_ws/accelerators/__init__",
        "cugraph_ws/backends/__init__",
        "cugraph_ws/runtime/compile_worker",
        "cugraph_ws/runtime/device",
        "cugraph_ws/runtime/dispatch",
    ]


def _names_of_imports(path: Path) -> set[str]:
    """Return the modules that a file imports, inside functions too, and what it takes of each."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_one_file_imports_the_compiler_of_kernels() -> None:
    """So that another compiler, or another release, is a matter of that file."""
    importers = [
        path.relative_to(HOME).as_posix()
        for folder in ("cugraph_ws", "kernels")
        for path in (HOME / folder).rglob("*.py")
        if any(re.match(r"numba\.cuda\b|numba_cuda\b", name) for name in _names_of_imports(path))
    ]
    assert importers == ["cugraph_ws/runtime/cuda_target.py"]
