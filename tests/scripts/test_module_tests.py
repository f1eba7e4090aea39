"""Every module has tests that are found by its path, or by the lines that they run through."""

from __future__ import annotations

from pathlib import Path

import pytest
from ci_scripts import write_files
from module_tests import RECORD, ROOT, module_tests, path_tests

WITHOUT = {  # the line that starts the command line; protocols and types, which only type checkers read
    "cugraph_ws/__main__.py", "cugraph_ws/contract/accelerator.py", "cugraph_ws/frames/types.py",
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("cugraph_ws/graph/interning.py", "tests/graph/test_interning.py"),
        ("cugraph_ws/backends/cuda/predecessors.py", "tests/backends/test_cuda_predecessors.py"),
        ("kernels/cuda/predecessors.py", "tests/backends/test_cuda_predecessors.py"),
        ("cugraph_ws/backends/cpu/loops/louvain.py", "tests/algorithms/test_louvain.py"),
        ("kernels/cpu/louvain.py", "tests/algorithms/test_louvain.py"),
    ],
)
def test_tests_are_found_by_the_path(module: str, test: str) -> None:
    assert Path(test) in path_tests(Path(module))
    assert module_tests(Path(module)) == path_tests(Path(module))


def checkout_of(folder: Path, *, record: str) -> Path:
    """Return a checkout of a module, with two files of tests and a record of what ran through its lines."""
    texts = {
        "cugraph_ws/graph/alone.py": "A = 1\n",
        "tests/graph/test_adding.py": "from cugraph_ws.graph.alone import A\n",
        "tests/graph/test_more.py": "",
        "ci/tests_of_modules.txt": record,
    }
    return write_files(folder, texts)


def test_or_by_the_lines_that_tests_run_through(tmp_path: Path) -> None:
    row = "cugraph_ws/graph/alone.py tests/graph/test_more.py tests/graph/test_gone.py\n"
    root = checkout_of(tmp_path, record=f"# a comment\n{row}")
    assert module_tests(Path("cugraph_ws/graph/alone.py"), root) == [
        Path("tests/graph/test_more.py")
    ]


def test_or_by_what_imports_it(tmp_path: Path) -> None:
    root = checkout_of(tmp_path, record="")
    assert module_tests(Path("cugraph_ws/graph/alone.py"), root) == [
        Path("tests/graph/test_adding.py")
    ]


def test_or_by_what_tests_its_users(tmp_path: Path) -> None:
    texts = {
        "kernels/cpu/words.py": "",
        "cugraph_ws/graph/loads.py": 'load("words")\n',
        "tests/graph/test_loads.py": "",
    }
    root = write_files(tmp_path, texts)
    assert module_tests(Path("kernels/cpu/words.py"), root) == [Path("tests/graph/test_loads.py")]


def test_what_is_recorded_is_needed_and_there() -> None:
    rows = [row.split() for row in RECORD.read_text("utf-8").splitlines() if row[0] != "#"]
    assert len(rows) > 100
    for module, *tests in rows:
        assert (ROOT / module).exists()
        assert not path_tests(Path(module)), f"{module} has tests by its path now: remove its row"
        assert module_tests(Path(module)) == [Path(test) for test in tests]


def test_every_module_has_some() -> None:
    modules = [
        file.relative_to(ROOT)
        for top in ("cugraph_ws", "kernels")
        for file in (ROOT / top).rglob("*.py")
        if file.name != "__init__.py"
        and file.relative_to(ROOT).parts[:2] != ("cugraph_ws", "kernels")
    ]
    assert len(modules) > 500
    without = {str(module) for module in modules if not module_tests(module)}
    assert without <= WITHOUT


def test_a_module_that_nothing_uses_has_none(tmp_path: Path) -> None:
    root = checkout_of(tmp_path, record="")
    assert module_tests(Path("cugraph_ws/graph/other.py"), root) == []
