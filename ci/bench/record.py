"""The record of what was measured: one JSON file a stage, one line a job, in `docs/measurements`.

A file has a section for each graph and card (and number of cards, for several), with the tree and commit
that it belongs to; a new run replaces its own section and leaves all others.  Sections name their machine,
whose facts are in `machines.json`.  Of the calls that were timed a section keeps, by job and library, the
figures that `bench.tables.FIGURES` lists, in milliseconds, with seven digits.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.tables import FIGURES

__all__ = ["GROUPS", "Report", "compact", "merge", "read", "write"]

Report = dict[str, Any]
GROUPS = ("stages", "bench")
CHECKS = "checks"  # file of what is no benchmark
MACHINES = "machines"
DIGITS = 7
SHORT = 500  # characters that stay on a line
JOBS = 3  # mappings within each other: below, figures of one job
DROPPED = (
    "allocated",
    "errors",
    "grown",
    "runs",
    "taken",
)  # `problem` and `summary` say what counts


def merge(report: Mapping[str, Any], group: str, name: str, facts: Mapping[str, Any]) -> Report:
    """Return a report in which one section is new and all others are as they were.

    Parameters
    ----------
    report : mapping
        As read from disk; may be empty.
    group : {"stages", "bench"}
    name : str
        Of the section: a stage, or part and graph of a benchmark.
    facts : mapping
        The section, as the stage has it or compact.
    """
    merged = {one: dict(report.get(one, {})) for one in GROUPS}
    merged[group][name] = compact(facts)
    return merged


def compact(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section with figures in place of single runs, numbers rounded, nothing empty.

    Parameters
    ----------
    facts : mapping
        As a stage or `bench.timing.Section.facts` has it; what is compact already stays so.

    Returns
    -------
    dict
        timings: by job and library a list in the order of `FIGURES`, or a share; targets: list of
        [name, measured, "≥" or "≤", bound], and for schedules the mean of the speed-ups.
    """
    found = {key: value for key, value in facts.items() if key not in DROPPED}
    if isinstance(found.get("timings"), list):
        jobs: dict[str, dict[str, Any]] = {}
        for row in found["timings"]:
            jobs.setdefault(row["job"], {})[row["library"]] = row.get("value") or _figures(row)
        found["timings"] = jobs
    if found.get("targets") and isinstance(found["targets"][0], Mapping):
        found["targets"] = [_target(one) for one in found["targets"]]
    return {key: _rounded(value) for key, value in found.items() if value or value == 0}


def _figures(row: Mapping[str, Any]) -> list[Any]:
    alone = row["alone_median"]
    times = {
        "median": row["median"], "least": min(row["seconds"]), "most": max(row["seconds"]),
        "alone": alone, "first": row["first"],
    }  # fmt: skip
    figures = {name: one and one * 1e3 for name, one in times.items()}
    figures |= {"runs": len(row["seconds"]), "bytes": row["bytes"], "edges": row["edges"]}
    return [figures[name] for name in FIGURES]


def _target(one: Mapping[str, Any]) -> list[Any]:
    speedups = one.get("facts", {}).get("speedups", {}).values()
    made = [one["name"], one["measured"], "≥" if one["at_least"] else "≤", one["bound"]]
    return [*made, statistics.mean(speedups)] if speedups else made


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) >= 10**DIGITS else short


# -------------------------------------------------------------------------------------- on disk


def read(folder: Path) -> Report:
    """Return all sections that a folder has.

    Parameters
    ----------
    folder : Path
        Need not be there.

    Returns
    -------
    dict
        By group, "stages" and "bench", and name; `machine` of each is that machine's facts.
    """
    files = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    machines = files.pop(MACHINES, {})
    report: Report = {group: {} for group in GROUPS}
    for stage, sections in files.items():
        for name, facts in sections.items():
            if "machine" in facts:
                facts["machine"] = machines[facts["machine"]]
            report["stages" if stage == CHECKS else "bench"][name] = facts
    return report


def write(folder: Path, report: Mapping[str, Any]) -> None:
    """Write all sections of a report, a file for each stage.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    report : mapping
        As `read` returns it.
    """
    files: dict[str, dict[str, Any]] = {MACHINES: {}}
    for group in GROUPS:
        for name, facts in report.get(group, {}).items():
            facts = dict(facts)
            if machine := facts.get("machine"):
                facts["machine"] = machine_key(machine)
                files[MACHINES][facts["machine"]] = machine
            files.setdefault(CHECKS if group == "stages" else facts["part"], {})[name] = facts
    folder.mkdir(parents=True, exist_ok=True)
    for stage, sections in files.items():
        ordered = sorted(sections.items()) if stage == MACHINES else sections.items()
        write_one = _json if stage == MACHINES else _section
        blocks = [f" {_json(name)}: {write_one(facts)}" for name, facts in ordered]
        (folder / f"{stage}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def machine_key(machine: Mapping[str, Any]) -> str:
    """Return by what sections name a machine."""
    text = json.dumps(machine, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _section(facts: Mapping[str, Any]) -> str:
    """Return a section as JSON: what it is on a line, then a line for each job, target and table."""
    flat = {key: one for key, one in facts.items() if not isinstance(one, dict | list)}
    blocks = [_json(flat)[1:-1]] if flat else []
    for key, value in facts.items():
        if key not in flat:
            blocks.append(f"{_json(key)}: {_laid_out(value, '   ')}")
    return "{\n  " + ",\n  ".join(blocks) + "}"


def _laid_out(value: Any, indent: str) -> str:
    """Return JSON on one line if it is short; else with a line for each entry, and for jobs within."""
    whole = _json(value)
    if len(whole) <= SHORT or (
        isinstance(value, dict) and _depth(value) < JOBS and indent != "   "
    ):
        return whole
    if isinstance(value, list):
        return f"[\n{indent}" + f",\n{indent}".join(map(_json, value)) + "]"
    rows = [f"{_json(key)}: {_laid_out(one, indent + ' ')}" for key, one in value.items()]
    return f"{{\n{indent}" + f",\n{indent}".join(rows) + "}"


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value.values()), default=0) if isinstance(value, dict) else 0


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
