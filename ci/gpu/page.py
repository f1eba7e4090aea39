"""The report: sections merged into one, and rendered as a page of Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["averages", "merge", "page", "targets"]

Report = dict[str, Any]
OURS = "cugraph_ws"
GROUPS = ("stages", "bench")
STAGES = ("tests", "sanitize", "leaks", "fuzz")
AVERAGE = 1.29  # the paper's smallest average speed-up over a size of virtual warps


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
        The section.

    Returns
    -------
    dict
    """
    merged = {one: dict(report.get(one, {})) for one in GROUPS}
    merged[group][name] = dict(facts)
    return merged


def targets(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all targets of the benchmarks, and those that several sections make up together.

    Parameters
    ----------
    report : mapping

    Returns
    -------
    list of dict
        name, graph, measured, bound, at_least, met.
    """
    sections = report.get("bench", {}).values()
    return [*(one for section in sections for one in section["targets"]), *averages(report)]


def averages(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the paper's average: warp segmentation against virtual warps, over all that ran.

    Each case, a program on a graph, counts by the mean of its speed-ups over the five sizes.

    Parameters
    ----------
    report : mapping

    Returns
    -------
    list of dict
        One target, or none if no section has speed-ups.
    """
    means = [
        statistics.mean(one["facts"]["speedups"].values())
        for section in report.get("bench", {}).values()
        for one in section["targets"]
        if one.get("facts", {}).get("speedups")
    ]
    if not means:
        return []
    measured = statistics.mean(means)
    return [
        {
            "name": "virtual warps ÷ warp segmentation, mean over sizes, programs and graphs",
            "graph": f"{len(means)} cases",
            "measured": measured,
            "bound": AVERAGE,
            "at_least": True,
            "met": measured >= AVERAGE,
        }
    ]


def page(report: Mapping[str, Any]) -> str:
    """Return the report as Markdown.

    Parameters
    ----------
    report : mapping

    Returns
    -------
    str
    """
    lines = ["# What ran on a GPU", "", *_machine(report), ""]
    lines += [
        "| stage | outcome | when | seconds | tree | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    stages = report.get("stages", {})
    for name in sorted(stages, key=lambda one: (one not in STAGES, one)):
        lines.append(_stage_row(name, stages[name], _outcome(stages[name])))
    bench = report.get("bench", {})
    for name, section in bench.items():
        said = f"{len(section['timings'])} timings"
        lines.append(_stage_row(f"bench {name}", section, said))
    for name, section in [*stages.items(), *bench.items()]:
        if section.get("problem"):
            told = [line.rstrip() for line in section["problem"].strip().splitlines()]
            lines += ["", f"## {name} failed", "", "```", *told, "```"]
    lines += _target_table(targets(report))
    for name, section in bench.items():
        lines += _timing_table(name, section["timings"])
        for table in section.get("tables", ()):
            lines += _text_table(f"{name}: {table['title']}", table["columns"], table["rows"])
    return "\n".join(lines) + "\n"


def _machine(report: Mapping[str, Any]) -> Iterator[str]:
    machines: dict[str, None] = {}
    for group in GROUPS:
        for section in report.get(group, {}).values():
            facts = section.get("machine", {})
            versions = ", ".join(f"{a} {b}" for a, b in facts.get("versions", {}).items())
            machines[
                f"{facts.get('gpus', '?')} × {facts.get('gpu', 'unknown GPU')}, driver "
                f"{facts.get('driver', '?')}, CUDA {facts.get('cuda', '?')}, Python "
                f"{facts.get('python', '?')}; {versions or 'versions unknown'}."
            ] = None
    yield from machines


def _stage_row(name: str, section: Mapping[str, Any], said: str) -> str:
    tree = section.get("tree", {})
    shown = tree.get("files", "?") + (f" (git {tree['git'][:12]})" if tree.get("git") else "")
    seconds = section.get("seconds", math.nan)
    return (
        f"| {name} | {section['status']} | {section.get('when', '?')} | {seconds:,.0f} | "
        f"{shown} | {said} |"
    )


def _outcome(section: Mapping[str, Any]) -> str:
    if "passed" in section:
        said = (
            f"{section['passed']} passed, {section['failed']} failed, {section['skipped']} skipped"
        )
        return "; ".join([said, *section.get("failures", [])])
    if "tools" in section:
        return "; ".join(
            f"{tool}: {one['errors']} errors, {one['warnings']} warnings"
            + "".join(f" ({finding})" for finding in one["findings"])
            for tool, one in section["tools"].items()
        )
    return str(section.get("summary", ""))


def _target_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    met = sum(bool(row["met"]) for row in rows)
    yield from ["", f"## Targets: {met} of {len(rows)} met", ""]
    yield from ["| target | graph | measured | bound | |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        sign = "≥" if row["at_least"] else "≤"
        yield (
            f"| {row['name']} | {row['graph']} | {row['measured']:.2f} | {sign} {row['bound']:g} | "
            f"{'met' if row['met'] else '**missed**'} |"
        )


def _timing_table(name: str, timings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not timings:
        return
    yield from ["", f"## {name}", ""]
    if all("value" in row for row in timings):
        yield from ["| what | by | |", "| --- | --- | --- |"]
        for row in timings:
            yield f"| {row['job']} | {row['library']} | {row['value']:.1%} |"
        return
    headings = ["work", "by", "ms", "algorithm alone, ms", "least to most", "runs", "GB/s",
                "G edges/s", "× ours", "first call, ms"]  # fmt: skip
    yield "| " + " | ".join(headings) + " |"
    yield "| " + " | ".join("---" for _ in headings) + " |"
    ours = {row["job"]: row["median"] for row in timings if row["library"] == OURS}
    for row in timings:
        seconds = row["alone_median"] or row["median"]
        cells = [
            row["job"],
            row["library"],
            _milliseconds(row["median"]),
            _milliseconds(row["alone_median"]) if row["alone_median"] else "",
            f"{_milliseconds(min(row['seconds']))} to {_milliseconds(max(row['seconds']))}",
            str(len(row["seconds"])),
            f"{row['bytes'] / seconds / 1e9:,.0f}" if row["bytes"] else "",
            f"{row['edges'] / seconds / 1e9:,.2f}" if row["edges"] else "",
            f"{row['median'] / ours[row['job']]:.2f}" if row["job"] in ours else "",
            _milliseconds(row["first"]),
        ]
        yield "| " + " | ".join(cells) + " |"


def _text_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from ["", f"## {title}", "", "| " + " | ".join(columns) + " |"]
    yield "| " + " | ".join("---" for _ in columns) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
