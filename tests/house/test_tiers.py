"""Which tests are long, and which cases of products are left to `ci/by_hand.sh`."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import LONG, mark_long, mark_products
from shapes import SHAPES

ROOT = Path(__file__).parents[2]


def items_of(test: str, cases: list[dict[str, Any]]) -> list[Any]:
    """Return what pytest collects of a test, as far as marks are put on by it."""
    items = []
    for case in cases:
        name = "-".join(map(str, case.values()))
        marks: list[str] = []
        items.append(
            SimpleNamespace(
                nodeid=f"{test}[{name}]" if case else test,
                callspec=SimpleNamespace(params=case, id=name),
                marks=marks,
                add_marker=lambda mark, marks=marks: marks.append(mark.name),
            )
        )
    return items


def kept(test: str, **lists: list[Any]) -> list[tuple[Any, ...]]:
    """Return the cases of a product that CI runs."""
    cases = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    items = items_of(test, cases)
    mark_products(items)
    return [tuple(item.callspec.params.values()) for item in items if not item.marks]


@pytest.mark.parametrize("name", ["test_a", "test_b", "test_c", "test_d"])
def test_each_value_of_a_product_occurs(name: str) -> None:
    cases = kept(f"tests/graph/test_x.py::{name}", shape=list("abcde"), directed=[True, False])
    assert len(cases) == 5
    assert {shape for shape, _ in cases} == set("abcde")
    assert {directed for _, directed in cases} == {True, False}


def test_each_pair_of_three_arguments_occurs() -> None:
    cases = kept("tests/graph/test_x.py::test", a=list("abcde"), b=[1, 2, 3], c=[None, 0.5])
    assert len(cases) == 15
    for first, second, count in ((0, 1, 15), (0, 2, 10), (1, 2, 6)):
        assert len({(case[first], case[second]) for case in cases}) == count


def test_tests_of_one_name_or_another_leave_out_other_halves() -> None:
    halves = {
        tuple(kept(f"tests/graph/test_x.py::test_{name}", a=[1, 2, 3], b=[1, 2]))
        for name in "abcdefgh"
    }
    assert len(halves) == 2


def test_what_is_no_product_is_whole() -> None:
    assert len(kept("tests/graph/test_x.py::test", a=[1, 2, 3])) == 3
    assert len(kept("tests/frames/test_x.py::test", a=[1, 2, 3], b=[1, 2])) == 6
    together = items_of("tests/graph/test_x.py::test", [{"a": 1, "b": 2}, {"a": 2, "b": 1}])
    some = items_of(
        "tests/graph/test_y.py::test", [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}]
    )
    mark_products(together + some)
    assert not any(item.marks for item in together + some)


def test_the_emulator_runs_every_fourth_shape_of_the_battery() -> None:
    shapes = list(SHAPES)
    assert len(kept("tests/backends/test_cuda_x.py::test", name=shapes)) in (
        len(shapes) // 4, -(-len(shapes) // 4),
    )  # fmt: skip
    assert kept("tests/backends/test_cpu_x.py::test", name=shapes) == [(name,) for name in shapes]
    assert len(kept("tests/backends/test_cuda_x.py::test", name=shapes[:5])) == 5


def test_long_tests_are_processes_and_the_emulator() -> None:
    tests = {
        "tests/cluster/test_x.py::test": True,
        "tests/program/test_zoo.py::test": True,  # a group
        "tests/backends/test_cuda_engine.py::test_first": False,  # the smoke of its module
        "tests/backends/test_cuda_engine.py::test_second": True,
        "tests/graph/test_graph.py::test_first": False,
        "tests/graph/test_graph.py::test_on_a_GPU": True,
        "tests/graph/test_graph.py::test_third": False,
    }
    items = [item for test in tests for item in items_of(test, [{}])]
    mark_long(items)
    assert {item.nodeid: bool(item.marks) for item in items} == tests


def test_long_files_exist() -> None:
    assert all((ROOT / path).exists() for path in LONG)


def test_modules_of_tests_have_names_of_their_own() -> None:
    """Two files of one name cannot be collected together: pytest imports both under that name."""
    alone = [
        path.name
        for path in (ROOT / "tests").rglob("*.py")
        if not (path.parent / "__init__.py").exists()
    ]
    assert sorted(alone) == sorted(set(alone))
