"""Faults are planted where they say, and found by the tests of the file."""

from __future__ import annotations

import ast
from pathlib import Path

import module_tests
import mutants
import pytest
from ci_scripts import write_files

SOURCE = '''"""1 + 1."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    limit: int = 1 + 1


def first(values: "list[1]", least: int = 2) -> int:
    """Return 1 < 2."""
    done = []
    for value in values:
        if not value < least and value in done:
            values.clear()
        done[0] += value  # ä
    if least == 9: raise ValueError(least)
    return "é" + str(value * True)
'''
FAULTS = [
    (8, "2", "3"), (12, "not", "not not"), (12, "<", "<="), (12, "and", "or"), (12, "in", "not in"),
    (13, "values.clear()", "pass"), (14, "done[0] += value", "pass"), (14, "0", "1"), (15, "==", "!="),
    (15, "9", "10"), (15, "raise ValueError(least)", "pass"), (16, "+", "-"), (16, "*", "+"),
    (16, "True", "False"),
]  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of one module with a test, and one without."""
    texts = {
        "cugraph_ws/__init__.py": "",
        "cugraph_ws/graph/__init__.py": "",
        "cugraph_ws/graph/adding.py": "def add(a, b):\n    return a + b\n\n\nUNUSED = 5\n",
        "cugraph_ws/graph/alone.py": "A = 1\n",
        "tests/graph/test_adding.py": "from cugraph_ws.graph.adding import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n",
    }
    return write_files(tmp_path, texts)


def test_every_fault_of_a_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(SOURCE, "utf-8")
    found = mutants.mutants_of(Path("module.py"), tmp_path)
    assert [(mutant.line, mutant.old, mutant.new) for mutant in found] == FAULTS
    for mutant in found:
        text = mutant.text(SOURCE.encode()).decode()
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCE))
        before, after = SOURCE.splitlines(), text.splitlines()
        assert [n for n, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b] == [
            mutant.line
        ]


def test_a_seed_draws_the_same(checkout: Path) -> None:
    first, again, other = (mutants.draw(seed, 2, ["cugraph_ws"], checkout) for seed in (1, 1, 2))
    assert first == again
    assert len({(mutant.path, mutant.start) for mutant in first}) == 2
    everything = mutants.draw(2, 99, ["cugraph_ws"], checkout)
    assert set(first) | set(other) <= set(everything)
    assert len(everything) == 3


def test_a_fault_is_killed_or_survives_and_is_taken_out(checkout: Path) -> None:
    path = Path("cugraph_ws/graph/adding.py")
    before = (checkout / path).read_bytes()
    operator, constant = mutants.mutants_of(path, checkout)
    tests = [str(test) for test in module_tests.module_tests(path, checkout)]
    assert tests == ["tests/graph/test_adding.py"]
    assert mutants.run_mutant(operator, tests, checkout) == "killed"
    assert mutants.run_mutant(constant, tests, checkout) == "survived"
    assert (checkout / path).read_bytes() == before


@pytest.mark.parametrize(
    "test",
    ["import missing\n", "def test_sum():\n    assert False\n"],
    ids=["cannot be collected", "fails"],
)
def test_tests_that_do_not_pass_without_a_fault_say_nothing(checkout: Path, test: str) -> None:
    (checkout / "tests/graph/test_adding.py").write_text(test, "utf-8")
    mutant, _ = mutants.mutants_of(Path("cugraph_ws/graph/adding.py"), checkout)
    assert mutants.run_mutant(mutant, ["tests/graph/test_adding.py"], checkout) == "undecided"
