"""Run the checks that CI leaves out, and keep a row for each in `docs/measurements/by-hand.md`.

`ci/by_hand.sh` calls it, and says what the checks are.  A row replaces the one that its check had.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CHECKS", "Check", "main", "read_rows", "run_check", "write_rows"]

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "measurements" / "by-hand.md"
COUNTED = ("ci", "cugraph_ws", "kernels", "pyproject.toml", "tests")  # what an outcome depends on
HEAD = """# What runs by hand

Written by `bash ci/by_hand.sh`, which says what each check is; do not edit it.  A check that has no row has not
run since it is recorded here.  'Changed' marks a commit whose files had been changed when the check ran.

| check | outcome | when | minutes | commit | cores |
| --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Check:
    """Commands that run one after the other, in the repository's root.

    Attributes
    ----------
    commands : function
        Takes a seed and the number of processes; returns the commands.
    environment : mapping of str to str
        Variables that the commands get beside those of this process.
    """

    commands: Callable[[int, int], Sequence[Sequence[str]]]
    environment: Mapping[str, str]


def _fuzz(seed: int, jobs: int) -> list[list[str]]:
    """Return the commands of the long fuzz, half an hour on two cores; each prints how to repeat a case that fails."""
    seeded = ["--seed", str(seed)]
    parallel = [*seeded, "--jobs", str(jobs)]
    script = [sys.executable, "tests/fuzz/{}.py"]
    counts: list[tuple[str, list[str]]] = [
        ("programs", ["--count", "4000", *parallel]),
        ("programs", ["--count", "300", "--compiled", "--members", "5", *parallel]),
        ("phases", ["--count", "2000", *seeded]),
        ("edges", ["--count", "2000", *seeded]),
        ("ids", ["--count", "3000", *parallel]),
        ("arguments", ["--count", "4000", *parallel]),
        *(
            ("damage", [kind, "--count", "300", *parallel])
            for kind in ("checkpoints", "forged", "inputs", "loops")
        ),
    ]
    return [[word.format(name) for word in script] + options for name, options in counts]


def _suite(jobs: int, *options: str) -> list[str]:
    """Return the command of the suite, or of what options choose of it."""
    return ["pytest", "-q", "-n", str(jobs), "--dist", "loadgroup", *options]


CHECKS = {
    "coverage": Check(lambda seed, jobs: [["bash", "ci/coverage.sh"]], {}),
    "fuzz": Check(_fuzz, {"PYTHONPATH": "tests"}),
    "products": Check(lambda seed, jobs: [_suite(jobs, "-m", "product")], {}),
    "kills": Check(
        lambda seed, jobs: [["pytest", "-q", "tests/cluster/test_cluster_kills.py"]],
        {"CUGRAPH_WS_KILLS": "200"},
    ),
    "registers": Check(lambda seed, jobs: [[sys.executable, "ci/kernels.py", "--check"]], {}),
    "window": Check(lambda seed, jobs: [["bash", "ci/window.sh"]], {}),
    "networkx": Check(
        lambda seed, jobs: [[sys.executable, "tests/networkx_suite.py", "--all"]], {}
    ),
    "pyg": Check(lambda seed, jobs: [["bash", "ci/pyg.sh"]], {}),
    "accelerators": Check(
        lambda seed, jobs: [_suite(jobs, "-m", "not product")],
        {"CUGRAPH_WS_ACCELERATORS": "none"},
    ),
}


def run_check(check: Check, seed: int, jobs: int) -> tuple[bool, str]:
    """Run the commands of a check, showing what they print; stop at none that fails.

    Parameters
    ----------
    check : Check
    seed : int
        Of what is drawn at random.
    jobs : int
        Number of processes.

    Returns
    -------
    good : bool
        Whether all commands ended with status 0.
    outcome : str
        The last line that each printed.
    """
    good, endings = True, []
    for command in check.commands(seed, jobs):
        print("$", *command, flush=True)
        last = ""
        with subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **check.environment}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                last = line.strip(" =\n") or last
        good = process.returncode == 0 and good
        endings.append(last.replace("|", "/"))
    return good, "; ".join(endings)


def read_rows(record: Path) -> dict[str, str]:
    """Return the rows of the record by the names of their checks; empty without a record."""
    lines = record.read_text("utf-8").splitlines() if record.exists() else []
    rows = [line for line in lines if line.startswith("| ")][2:]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


def write_rows(record: Path, rows: Mapping[str, str]) -> None:
    """Write the record, with its rows in the order of the checks."""
    record.write_text(HEAD + "".join(f"{rows[name]}\n" for name in CHECKS if name in rows), "utf-8")


def _commit() -> str:
    """Return the commit that is checked out, and whether files that count differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--", *COUNTED)
    return git("rev-parse", "--short=12", "HEAD") + (", changed" if changed else "")


def main(arguments: Sequence[str] | None = None, record: Path = RECORD) -> int:
    """Run the checks that are named, or all; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="ci/by_hand.sh", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    names = parser.parse_args(arguments).checks or list(CHECKS)
    if unknown := [name for name in names if name not in CHECKS]:
        parser.error(f"there is no check {unknown[0]!r}; choose of {', '.join(CHECKS)}")
    jobs, failed = os.cpu_count() or 1, False
    for name in names:
        commit = _commit()
        begun, start = datetime.datetime.now(datetime.UTC), time.monotonic()
        good, outcome = run_check(CHECKS[name], int(begun.strftime("%Y%m%d")), jobs)
        cells = [
            name,
            f"{'passed' if good else 'failed'}: {outcome}",
            begun.strftime("%Y-%m-%d %H:%M UTC"),
            f"{(time.monotonic() - start) / 60:.1f}",
            commit,
            str(jobs),
        ]
        write_rows(record, {**read_rows(record), name: f"| {' | '.join(cells)} |"})
        failed = failed or not good
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
