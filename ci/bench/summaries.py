"""Read the summaries of other programs: pytest, compute-sanitizer, Nsight Compute."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

__all__ = ["read_junit", "read_metric", "read_sanitizer"]

MOST_LISTED = 20  # failures and findings that a report lists


def read_junit(path: Path) -> dict[str, Any]:
    """Count the outcomes in pytest's JUnit file.

    Parameters
    ----------
    path : Path
        Written by `pytest --junitxml`.

    Returns
    -------
    dict
        passed, failed (errors too), skipped: int; failures: list of str, the first of them.
    """
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            counts["failed"] += 1
            failures.append(f"{case.get('classname', '')}::{case.get('name', '')}".lstrip(":"))
        elif "skipped" in outcomes:
            counts["skipped"] += 1
        else:
            counts["passed"] += 1
    return {**counts, "failures": failures[:MOST_LISTED]}


def read_sanitizer(text: str) -> dict[str, Any]:
    """Sum up what compute-sanitizer printed.

    Parameters
    ----------
    text : str
        Its standard output.

    Returns
    -------
    dict
        errors: int, or None without a summary; warnings: int; findings: list of str, each with its
        kernel.
    """
    lines = [line.removeprefix("=========").strip() for line in text.splitlines()
             if line.startswith("=========")]  # fmt: skip
    errors, warnings = None, 0
    findings: list[str] = []
    for i, line in enumerate(lines):
        if found := re.match(r"ERROR SUMMARY: (\d+) error", line):
            errors = (errors or 0) + int(found[1])
        elif found := re.match(r"RACECHECK SUMMARY: .*\((\d+) errors?, (\d+) warning", line):
            errors, warnings = (errors or 0) + int(found[1]), warnings + int(found[2])
        elif re.match(
            r"(Invalid|Error|Warning|Barrier|Uninitialized|Misaligned|Program hit)", line
        ):
            place = next((one for one in lines[i : i + 3] if re.search(r"\bat \S+\+0x", one)), "")
            kernel = re.search(r"\bat (?:\S+ )?([\w:~<>]+)(?:\(.*\))?\+0x", place)
            findings.append(line + (f" in {kernel[1]}" if kernel else ""))
    return {
        "errors": errors,
        "warnings": warnings,
        "findings": list(dict.fromkeys(findings))[:MOST_LISTED],
    }


def read_metric(text: str, metric: str) -> list[float]:
    """Return a metric's values, kernel by kernel, from what Nsight Compute printed.

    Parameters
    ----------
    text : str
        Standard output of `ncu --metrics`.
    metric : str
        Its name.
    """
    values = []
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == metric:
            number = words[-1].replace(",", "")
            if re.fullmatch(r"\d+(\.\d+)?", number):
                values.append(float(number))
    return values
