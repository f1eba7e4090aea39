"""Tables I, VIII and IX of the Warp Segmentation paper, over all graphs of a report."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from bench.tables import Table

PROGRAMS = ("BFS", "CC", "CS", "HS", "NN", "PR", "SSSP", "SSWP")  # in the paper's order
OTHERS = ("ALL", "MS")  # methods of exchange that VR is compared with
NONE = "–"

Section = Mapping[str, Any]
Report = Mapping[str, Any]  # as `bench.record.read` returns it
Numbers = Mapping[str, Mapping[str, float]]  # of a program, by variant


def with_figure(report: Report, figure: str) -> dict[str, Section]:
    """Return the sections that have a figure, by name."""
    bench = report.get("bench", {}).items()
    return {name: section for name, section in bench if section.get("figures", {}).get(figure)}


def exchanges(report: Report) -> dict[str, Section]:
    """Return the sections in which methods of exchange were compared, by name."""
    return with_figure(report, "exchange")


def scalings(report: Report) -> dict[str, Section]:
    """Return the sections in which one GPU was compared with several, by name.

    For each graph it is the section with the most GPUs, which has timings on fewer too.
    """
    sections = with_figure(report, "scaling")
    most: dict[str, Section] = {}
    for section in sorted(sections.values(), key=lambda section: int(section["figures"]["gpus"])):
        most[section["graph"]] = section
    return {
        name: section for name, section in sections.items() if most[section["graph"]] is section
    }


def gpus(section: Section) -> str:
    """Return a section's number of GPUs, and whether they communicated through the host."""
    hub = ", through the host" if section["part"] == "cluster-hub" else ""
    card = section.get("machine", {}).get("gpu")
    return f"{section['figures']['gpus']} {f'× {card}' if card else 'GPUs'}{hub}"


def label(section: Section) -> str:
    """Return a section's graph and its GPUs."""
    return f"{section['graph']}, {gpus(section)}"


def tables(report: Report) -> list[Table]:
    """Return the tables that a report has figures for."""
    every = [
        useful_table(report), refinement_table(report),
        *(scaling_table(report, time) for time in ("supersteps", "call")),
    ]  # fmt: skip
    return [table for table in every if table.rows]


def useful_table(report: Report) -> Table:
    """Return Table I: the part of the sent bytes that were values of changed vertices."""
    rows = []
    for section in exchanges(report).values():
        numbers = section["figures"]["exchange"]
        for method in OTHERS:
            cells = [useful(numbers.get(program, {}), method) or NONE for program in PROGRAMS]
            rows.append([label(section), method, *cells])
    return Table(
        "Table I: useful bytes of all that are sent", ["graph", "sent is", *PROGRAMS], rows
    )


def refinement_table(report: Report) -> Table:
    """Return Table VIII: time of supersteps by ALL and by MS ÷ by VR."""
    rows = []
    lines: dict[tuple[str, str], list[list[float | None]]] = {}  # of all graphs
    for section in exchanges(report).values():
        numbers = section["figures"]["exchange"]
        for method in OTHERS:
            ratios = [over(numbers.get(program, {}), method) for program in PROGRAMS]
            lines.setdefault((gpus(section), f"over {method}"), []).append(ratios)
            rows.append([label(section), f"over {method}", *_cells(ratios)])
    for (where, method), several in lines.items():
        if len(several) > 1:
            means = [_mean(column) for column in zip(*several, strict=True)]
            overall = _mean([ratio for line in several for ratio in line])
            rows.append([f"mean, {where}", method, *map(_text, (*means, overall))])
    return Table("Table VIII: speed-up of VR, supersteps", ["graph", "", *PROGRAMS, "mean"], rows)


def useful(numbers: Numbers, method: str) -> str:
    """Return the useful part of a program's bytes by a method, as text; empty if unknown."""
    values = numbers.get(method, {})
    return f"{values['useful'] / values['sent']:.1%}" if values.get("sent") else ""


def over(numbers: Numbers, method: str, base: str = "VR", time: str = "seconds") -> float | None:
    """Return the time of a program's supersteps by a method ÷ by another; None if one is unknown."""
    return numbers[method][time] / numbers[base][time] if {base, method} <= set(numbers) else None


def scaling_table(report: Report, time: str) -> Table:
    """Return Table IX: speed-up of more GPUs over fewer, of all supersteps or of the "call"."""
    rows = []
    for section in scalings(report).values():
        numbers = section["figures"]["scaling"]
        counts = sorted({int(count) for times in numbers.values() for count in times})
        for fewer, more in combinations(counts, 2):
            kind = "call" if time == "call" else "seconds"
            ratios = [
                over(numbers.get(program, {}), str(fewer), str(more), kind) for program in PROGRAMS
            ]
            rows.append([section["graph"], f"{more} vs. {fewer}", *_cells(ratios)])
    return Table(
        f"Table IX: speed-up with more GPUs, {time}", ["graph", "GPUs", *PROGRAMS, "mean"], rows
    )


def _mean(ratios: Sequence[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return statistics.mean(known) if known else None


def _cells(ratios: Sequence[float | None]) -> list[str]:
    """Return ratios, and their mean, as texts."""
    return [_text(ratio) for ratio in (*ratios, _mean(ratios))]


def _text(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}"
