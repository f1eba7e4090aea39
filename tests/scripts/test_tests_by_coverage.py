"""A module without tests by its path has those that run through its lines, and not the slowest of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests_by_coverage import choose, seconds_of

LINES = {
    "tests/graph/test_arcs.py": set(range(10, 90)),
    "tests/program/test_runs.py": set(range(10, 92)),
    "tests/cluster/test_kills.py": set(range(100)),
    "tests/graph/test_rest.py": {95, 96, 97, 98, 99, 3},
    "tests/graph/test_import.py": {1},
}
SIZES = {test: len(numbers) for test, numbers in LINES.items()} | {
    "tests/program/test_runs.py": 900
}


def test_first_what_runs_through_little_else_then_what_adds_lines() -> None:
    seconds = Counter(dict.fromkeys(LINES, 5.0)) + Counter({"tests/cluster/test_kills.py": 200.0})
    # one adds nearly as many lines as the slow one, and less of other modules than its like; the last adds too few
    expected = [f"tests/graph/test_{name}.py" for name in ("arcs", "rest", "import")]
    assert choose(LINES, seconds, SIZES) == expected
    assert choose(LINES, seconds, {**SIZES, "tests/graph/test_arcs.py": 901})[0] != expected[0]


def test_then_what_runs_through_little_else() -> None:
    seconds = Counter(dict.fromkeys(LINES, 5.0))
    busy = dict.fromkeys(["tests/cluster/test_kills.py", "tests/graph/test_import.py"], 900)
    chosen = choose({**LINES, "tests/cluster/test_kills.py": {1, 2}}, seconds, {**SIZES, **busy})
    assert chosen[2] == "tests/program/test_runs.py"
    assert len(chosen) == 3


def test_slow_tests_alone_are_better_than_none() -> None:
    slow = "tests/cluster/test_kills.py"
    assert choose({slow: {1, 2}}, Counter({slow: 200.0}), SIZES) == [slow]
    assert choose({}, Counter(), {}) == []


def test_three_at_most_within_eighty_seconds() -> None:
    lines = {f"tests/graph/test_{n}.py": set(range(n * 10, n * 10 + 10)) for n in range(5)}
    sizes = dict.fromkeys(lines, 10)
    assert len(choose(lines, Counter(dict.fromkeys(lines, 5.0)), sizes)) == 3
    assert len(choose(lines, Counter(dict.fromkeys(lines, 36.0)), sizes)) == 2


def test_seconds_are_those_of_files(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_arcs.py").touch()
    report = tmp_path / "seconds.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_arcs" name="a" time="1.5"/>'
        '<testcase classname="tests.test_arcs.TestLists" name="b" time="0.25"/></testsuite></testsuites>'
    )
    assert seconds_of(report, tmp_path) == {"tests/test_arcs.py": 1.75}
