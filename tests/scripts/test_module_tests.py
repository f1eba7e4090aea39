"""Every module has tests that are found by its path, or by what uses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from module_tests import ROOT, module_tests, path_tests

WITHOUT = {  # the line that starts the command line, and protocols
    "cugraph_ws/__main__.py", "cugraph_ws/contract/accelerator.py",
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


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("kernels/cpu/brandes.py", "tests/algorithms/test_centralities.py"),
        ("cugraph_ws/graph/arcs.py", "tests/graph/test_graph.py"),
        ("cugraph_ws/backends/cuda/loops/sampling.py", "tests/algorithms/test_neighbor_sample.py"),
    ],
)
def test_or_by_what_uses_the_module(module: str, test: str) -> None:
    assert not path_tests(Path(module))
    assert Path(test) in module_tests(Path(module))


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
    for name in ("cugraph_ws/graph/alone.py", "kernels/cpu/other.py", "tests/graph/test_adding.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("A = 1\n", "utf-8")
    assert module_tests(Path("cugraph_ws/graph/alone.py"), tmp_path) == []
