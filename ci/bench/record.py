"""The record of measurements in `docs/measurements`: a JSON file for each stage, with a line for each job.

A file has a section for each graph and GPU model (and number of GPUs, if several), with its tree and commit.
A new run replaces its own section and keeps all others.  Sections name their machine, whose facts are in
`machines.json`.  A section has
* timings: by job and library the figures that `bench.tables.FIGURES` lists, in milliseconds, or a share;
* targets: [name, measured, "≥" or "≤", bound], and the mean if `measured` is the worst of several;
* tables of texts, and figures from which pictures and tables over several graphs are made.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.children import Done

Report = dict[str, Any]
GROUPS = ("stages", "bench")
CHECKS = "checks"  # file of stages that are not benchmarks
MACHINES = "machines"
DIGITS = 7
SHORT = 500  # most characters of JSON on one line
JOBS = 3  # depth of nested mappings from which they get lines for each job


def merge(report: Mapping[str, Any], group: str, name: str, facts: Mapping[str, Any]) -> Report:
    """Return a report in which one section is new and all others are as they were.

    Parameters
    ----------
    report : mapping
        Read from disk; may be empty.
    group : {"stages", "bench"}
    name : str
        Name of the section: a stage, or part and graph of a benchmark.
    facts : mapping
        The section.  Numbers are rounded, and empty entries left out.
    """
    merged = {key: dict(report.get(key, {})) for key in GROUPS}
    merged[group][name] = {key: _rounded(fact) for key, fact in facts.items() if fact or fact == 0}
    return merged


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) >= 10**DIGITS else short


def placed(stage: str, machine: Mapping[str, Any]) -> str:
    """Return the end of a section's name: the number of GPUs, of a stage of clusters, and the GPU model."""
    card, gpus = machine.get("gpu") or machine.get("processor"), machine.get("gpus", "?")
    cluster = stage.removeprefix("bench-").startswith("cluster")
    return (f", {gpus} GPU{'s' * (gpus != 1)}" if cluster else "") + (f", {card}" if card else "")


def when(begun: datetime.datetime) -> dict[str, Any]:
    """Return when something began, and how many seconds ago that is."""
    seconds = (datetime.datetime.now(datetime.UTC) - begun).total_seconds()
    return {"when": begun.strftime("%Y-%m-%d %H:%M UTC"), "seconds": seconds}


def outcome(problem: str | None, good: bool = True) -> dict[str, str]:
    """Return whether something passed, and its problem otherwise."""
    if problem is None and good:
        return {"status": "passed"}
    return {"status": "failed", "problem": problem or "nothing was done"}


def section_of(written: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the facts of a section that a benchmark has written."""
    section = dict(written)
    problem = "\n".join(f"{error['what']}: {error['error']}" for error in section.pop("errors"))
    return f"{section['part']} {section['graph']}", {**section, **outcome(problem or None)}


def bench_sections(
    part: str, graphs: Sequence[str], written: Mapping[str, Any], done: Done
) -> dict[str, dict[str, Any]]:
    """Return facts for the report from a benchmark's JSON file (`written`) and its exit status."""
    sections = dict(map(section_of, written.get("sections", [])))
    running = written.get("running")  # none if it came to its end
    failed = any(section["status"] == "failed" for section in sections.values())
    if done.code != 0 and (running or not failed):
        part, graph = running or [part, graphs[0] if len(graphs) == 1 else "all"]
        begun = sections.get(f"{part} {graph}", {})
        problem = "\n".join(filter(None, (begun.get("problem"), done.problem)))
        sections[f"{part} {graph}"] = {
            "part": part, "graph": graph, **begun, **outcome(problem or None, False),
        }  # fmt: skip
    return sections


# -------------------------------------------------------------------------------------- on disk


def read(folder: Path) -> Report:
    """Return all sections that a folder has, which may be missing.

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
    """Write all sections of a report, as `read` returns it, a file for each stage; the folder is made if missing."""
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
        text_of = _json if stage == MACHINES else _section
        blocks = [f" {_json(name)}: {text_of(facts)}" for name, facts in ordered]
        (folder / f"{stage}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def machine_key(machine: Mapping[str, Any]) -> str:
    """Return the name of a machine in sections."""
    text = json.dumps(machine, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _section(facts: Mapping[str, Any]) -> str:
    """Return a section as JSON: its facts on a line, then a line for each job, target and table."""
    flat = {key: fact for key, fact in facts.items() if not isinstance(fact, dict | list)}
    blocks = [_json(flat)[1:-1]] if flat else []
    for key, value in facts.items():
        if key not in flat:
            blocks.append(f"{_json(key)}: {_laid_out(value, '   ')}")
    return "{\n  " + ",\n  ".join(blocks) + "}"


def _laid_out(value: Any, indent: str) -> str:
    """Return JSON on one line if it is short; else with a line for each entry, or each job within."""
    line = _json(value)
    nested = isinstance(value, dict) and (_depth(value) >= JOBS or indent == "   ")
    if len(line) <= SHORT or not (nested or isinstance(value, list)):
        return line
    if isinstance(value, list):
        return f"[\n{indent}" + f",\n{indent}".join(map(_json, value)) + "]"
    rows = [f"{_json(key)}: {_laid_out(item, indent + ' ')}" for key, item in value.items()]
    return f"{{\n{indent}" + f",\n{indent}".join(rows) + "}"


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value.values()), default=0) if isinstance(value, dict) else 0


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
