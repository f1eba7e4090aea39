"""Choose the tests of each module that has none by its path, among those that run through most of its lines.

    python ci/tests_by_coverage.py COVERED ALONE

`ci/coverage.sh` calls it: it reads which file of tests ran which lines from `.coverage`, and how long each took from
pytest's JUnit files, COVERED of tests with coverage and ALONE of tests without, and writes `ci/tests_of_modules.txt`,
which `ci/module_tests.py` reads.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import coverage
from module_tests import MOST, RECORD, ROOT, path_tests

__all__ = ["choose", "main", "seconds_of"]

SECONDS = 80.0  # that they may take together, one after the other: 40 with two workers
COVERED = 3.0  # times what tests take alone: with coverage, beside others
LEAST = 0.05  # share of a module's lines that a further file must add, while one does
ENOUGH = 0.8  # share of the most lines that a file must add to be preferred, if it runs through less else
HEAD = """# The tests of modules that have none by their paths, by the lines that they run through.
# Written by ci/coverage.sh; do not edit it: tests are best found by their paths.
"""


def seconds_of(report: Path, root: Path = ROOT) -> Counter[str]:
    """Return how many seconds the tests of each file took.

    Parameters
    ----------
    report : Path
        JUnit's XML, by pytest.
    root : Path
        The checkout.

    Returns
    -------
    Counter of str
    """
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        dotted = case.attrib["classname"] or case.attrib["name"]  # of a file that is skipped
        file = Path(*dotted.split(".")).with_suffix(".py")
        if not (root / file).exists():  # its last name is a class
            file = file.parent.with_suffix(".py")
        seconds[str(file)] += float(case.attrib["time"])
    return seconds


def choose(
    lines: Mapping[str, set[int]], seconds: Mapping[str, float], sizes: Mapping[str, int]
) -> list[str]:
    """Choose files of tests of a module.

    Parameters
    ----------
    lines : mapping of str to set of int
        The lines of the module that each file of tests runs through.
    seconds : mapping of str to float
        How long each takes.
    sizes : mapping of str to int
        The lines of all modules that each runs through.

    Returns
    -------
    list of str
        At most three.  Each adds the most lines, or nearly so: of these the one that runs through the least else.
        If none adds some, the one of whose lines the most are the module's.
    """
    number_of_lines = len(set().union(*lines.values()))
    chosen: list[str] = []
    covered: set[int] = set()
    while len(chosen) < MOST:
        seconds_left = SECONDS - sum(seconds[test] for test in chosen)
        gains = {
            test: len(numbers - covered)
            for test, numbers in lines.items()
            if not chosen or seconds[test] <= seconds_left
        }
        most = max(gains.values(), default=0)
        if most > LEAST * number_of_lines:
            test = min(
                (test for test, gain in gains.items() if gain >= ENOUGH * most),
                key=lambda test: (seconds[test] > seconds_left, sizes[test]),
            )
        elif others := gains.keys() - chosen:
            test = max(sorted(others), key=lambda test: len(lines[test]) / sizes[test])
        else:
            break
        chosen.append(test)
        covered |= lines[test]
    return chosen


def lines_by_test(data: coverage.CoverageData) -> dict[Path, dict[str, set[int]]]:
    """Return for each module of the library the lines that each file of tests ran."""
    modules: dict[Path, dict[str, set[int]]] = {}
    for file in sorted(data.measured_files()):
        if file.startswith(tuple(f"{ROOT}/{top}/" for top in ("cugraph_ws", "kernels"))):
            lines = modules[Path(file).relative_to(ROOT)] = defaultdict(set)
            for line, tests in data.contexts_by_lineno(file).items():
                for test in filter(None, tests):  # "" is what imports run
                    lines[test].add(line)
    return modules


def main(covered: Path, alone: Path) -> None:
    """Write which tests modules have that have none by their paths."""
    data = coverage.CoverageData(str(ROOT / ".coverage"))
    data.read()
    modules, seconds = lines_by_test(data), seconds_of(alone)
    seconds.update({test: took / COVERED for test, took in seconds_of(covered).items()})
    sizes: Counter[str] = Counter()
    for lines in modules.values():
        sizes.update({test: len(numbers) for test, numbers in lines.items()})
    rows = [
        " ".join([str(module), *chosen])
        for module, lines in modules.items()
        if not path_tests(module) and (chosen := choose(lines, seconds, sizes))
    ]
    RECORD.write_text(HEAD + "".join(f"{row}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
