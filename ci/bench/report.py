"""Remake the pages, tables and pictures of `docs/measurements` from its JSON files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.page import write_pages
from bench.pictures import draw
from bench.places import MEASUREMENTS
from bench.record import Report, read, write
from bench.tree import commits_of

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write pages and pictures; return 1 if the record lacks the figures for one of them."""
    parser = argparse.ArgumentParser(prog="bench report", description=__doc__)
    parser.add_argument("--folder", type=Path, default=MEASUREMENTS,
                        help="folder of the record; by default docs/measurements")  # fmt: skip
    folder = parser.parse_args(arguments).folder
    report = read(folder)
    if not any(report.values()):
        print(f"there is no record in {folder}; ci/gpu.sh writes one", file=sys.stderr)
        return 1
    _name_commits(report)
    write(folder, report)
    drawn, missing = draw(report, folder / "pictures")
    for path in [*write_pages(folder, report), *drawn]:
        print(path)
    for what, ask in missing.items():
        told = f"{what}: nothing in {folder} is for it; on several GPUs, {ask} measures it"
        print(told, file=sys.stderr)
    return 1 if missing else 0


def _name_commits(report: Report) -> None:
    """Add the commit to sections whose tree one has: machines with GPUs may have no git."""
    sections = [one for group in report.values() for one in group.values() if one.get("tree")]
    found = commits_of({one["tree"] for one in sections if "commit" not in one})
    for one in sections:
        if one["tree"] in found:
            one.setdefault("commit", found[one["tree"]])
