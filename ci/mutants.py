"""Plant small faults in the library, one at a time, and see whether tests notice.

    python ci/mutants.py --seed 1 --count 12                       any file of cugraph_ws and kernels
    python ci/mutants.py --seed 1 --count 12 cugraph_ws/graph      of a folder or a file
    python ci/mutants.py --seed 1 --count 12 --list                show the faults, and run nothing
    python ci/mutants.py --seed 1 --only 7                         the seventh of them again

A mutant is a comparison, an operator or a constant that is another one, a negation that is gone, or a
statement that is deleted; a seed always draws the same ones of the same tree.  The tests are those that
`module_tests` finds for the file, or those after `--tests`.  They run in a copy of the checkout.  A mutant
is killed if one fails, or all take longer than the limit, and the same passes without the fault; it survives if they
pass; if a file has no tests, nothing runs and the mutant counts as one without tests.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from module_tests import module_tests

__all__ = ["Mutant", "draw", "main", "mutants_of", "run_mutant"]

ROOT = Path(__file__).parents[1]
TOPS = ("cugraph_ws", "kernels")
SECONDS = 600  # limit of a mutant's tests
COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.In: ("in", "not in"),
}  # fmt: skip
OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"), ast.Mod: ("%", "//"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip
JUNCTIONS = {ast.And: ("and", "or"), ast.Or: ("or", "and")}


@dataclass(frozen=True)
class Mutant:
    """A fault: bytes of a file that are replaced.

    Attributes
    ----------
    path : Path
        Of the file, from the repository's root.
    line : int
    start, stop : int
        The bytes that are replaced.
    old, new : str
    """

    path: Path
    line: int
    start: int
    stop: int
    old: str
    new: str

    def text(self, source: bytes) -> bytes:
        """Return the file with the fault."""
        return source[: self.start] + self.new.encode() + source[self.stop :]

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {old} → {new or 'nothing'}"


class _Finder(ast.NodeVisitor):
    """Lists what can be changed, but for annotations, docstrings and what only type checkers read."""

    def __init__(self, path: Path, source: bytes) -> None:
        self.path, self.source = path, source
        self.found: list[Mutant] = []
        lengths = [len(line) for line in source.splitlines(keepends=True)]
        self.begins = [sum(lengths[:number]) for number in range(len(lengths) + 1)]

    def _bytes(self, node: ast.AST) -> tuple[int, int]:
        start = self.begins[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _replace(self, node: ast.AST, start: int, stop: int, new: str) -> None:
        line: int = node.lineno  # type: ignore[attr-defined]
        old = self.source[start:stop].decode()
        self.found.append(Mutant(self.path, line, start, stop, old, new))

    def _between(
        self, node: ast.AST, left: ast.AST, right: ast.AST, signs: tuple[str, str]
    ) -> None:
        """Replace the sign between two operands."""
        start, stop = self._bytes(left)[1], self._bytes(right)[0]
        place = self.source.find(signs[0].encode(), start, stop)
        if place >= 0:
            self._replace(node, place, place + len(signs[0]), signs[1])

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, sign, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            if type(sign) in COMPARISONS:
                self._between(node, left, right, COMPARISONS[type(sign)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATORS:
            self._between(node, node.left, node.right, OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(node, left, right, JUNCTIONS[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start = self._bytes(node)[0]
            self._replace(node, start, start + len("not"), "not not")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        start, stop = self._bytes(node)
        if isinstance(node.value, bool):
            self._replace(node, start, stop, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(node, start, stop, str(node.value + 1))

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._replace(node, *self._bytes(node), "pass")
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, *self._bytes(node), "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets):
            self._replace(node, *self._bytes(node), "pass")  # an element or an attribute
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, *self._bytes(node), "pass")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)


def mutants_of(path: Path, root: Path = ROOT) -> list[Mutant]:
    """Return all faults that can be planted in a file, in order."""
    source = (root / path).read_bytes()
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda mutant: (mutant.start, mutant.stop))


def _files(chosen: Sequence[str], root: Path) -> Iterator[Path]:
    for name in chosen:
        top = root / name
        for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
            relative = path.relative_to(root)
            if not relative.is_relative_to("cugraph_ws/kernels"):  # a link to kernels
                yield relative


def draw(seed: int, count: int, chosen: Sequence[str] = TOPS, root: Path = ROOT) -> list[Mutant]:
    """Draw mutants, each as likely as any other.

    Parameters
    ----------
    seed, count : int
    chosen : sequence of str
        Files and folders.
    root : Path
        The checkout.

    Returns
    -------
    list of Mutant
        No two are of the same bytes.
    """
    everything = [mutant for path in _files(chosen, root) for mutant in mutants_of(path, root)]
    return random.Random(seed).sample(everything, min(count, len(everything)))


def _failures(tests: Sequence[str], checkout: Path) -> list[str]:
    """Run tests in a checkout, up to the first failure.

    Parameters
    ----------
    tests : sequence of str
        Files, folders, or single tests.
    checkout : Path

    Returns
    -------
    list of str
        Empty if all pass.  Else the test that failed, or all that ran if they took too long or could not be collected.
    """
    options = ["-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {
        **os.environ, "PYTHONPATH": str(checkout), "CI": "1",
        "CUGRAPH_WS_CACHE_DIR": str(checkout / ".compiled"),  # by the texts of what is compiled
        "PYTHONDONTWRITEBYTECODE": "1",  # a mutant may have the size and the time of its source
    }  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=checkout, env=environment, timeout=SECONDS, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return list(tests)
    if done.returncode == 0:
        return []
    named = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return named or list(tests)


def run_mutant(mutant: Mutant, tests: Sequence[str], checkout: Path) -> str:
    """Plant a mutant, run the tests, and take it out again.

    Returns
    -------
    str
        "killed"; "survived"; or "undecided", if what fails with the fault fails without it too.
    """
    file = checkout / mutant.path
    source = file.read_bytes()
    file.write_bytes(mutant.text(source))
    try:
        failures = _failures(tests, checkout)
    finally:
        file.write_bytes(source)
    if not failures:
        return "survived"
    return "undecided" if _failures(failures, checkout) else "killed"


def _outcome(mutant: Mutant, tests: Sequence[str], checkouts: Queue[Path]) -> tuple[str, float]:
    """Run a mutant in a checkout that no other uses; return what came out, and the seconds it took."""
    if not tests:
        return "without tests", 0.0
    checkout = checkouts.get()
    begun = time.monotonic()
    try:
        return run_mutant(mutant, tests, checkout), time.monotonic() - begun
    finally:
        checkouts.put(checkout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw mutants, run their tests, and print what came out."""
    parser = argparse.ArgumentParser(
        prog="ci/mutants.py", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "files", nargs="*", default=TOPS, help="where to plant; by default everywhere"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=12, help="mutants")
    parser.add_argument(
        "--only", type=int, nargs="+", metavar="NUMBER", help="some of them, from 1 on"
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants that run at a time")
    parser.add_argument("--tests", nargs="+", help="run these for all of them")
    parser.add_argument("--list", action="store_true", help="show them, and run nothing")
    options = parser.parse_args(arguments)
    mutants = draw(options.seed, options.count, options.files)
    numbers = options.only or range(1, len(mutants) + 1)
    tests = [options.tests or [*map(str, module_tests(mutant.path))] for mutant in mutants]
    if options.list:
        for number in numbers:
            print(f"{number:3} {mutants[number - 1]}", *tests[number - 1])
        return 0
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        checkouts: Queue[Path] = Queue()
        for job in range(options.jobs):
            ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
            shutil.copytree(ROOT, Path(folder, str(job)), symlinks=True, ignore=ignored)
            checkouts.put(Path(folder, str(job)))
        runs = [
            pool.submit(_outcome, mutants[number - 1], tests[number - 1], checkouts)
            for number in numbers
        ]
        for number, run in zip(numbers, runs, strict=True):
            outcome, seconds = run.result()
            outcomes[outcome] += 1
            print(
                f"{number:3} {outcome} in {seconds:.0f} s: {mutants[number - 1]}",
                *tests[number - 1], flush=True,
            )  # fmt: skip
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
