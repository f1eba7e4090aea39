"""Tables I, VIII and IX of the Warp Segmentation paper, over all graphs that a report has."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from bench.tables import Table

__all__ = ["OTHERS", "PROGRAMS", "exchanges", "gpus", "label", "over", "refinement_table", "scaling_table",
           "scalings", "useful", "useful_table"]  # fmt: skip

PROGRAMS = ("BFS", "CC", "CS", "HS", "NN", "PR", "SSSP", "SSWP")  # in the paper's order
OTHERS = ("ALL", "MS")  # methods of exchange that VR is compared with
NONE = "–"

Section = Mapping[str, Any]


def exchanges(report: Mapping[str, Any]) -> dict[str, Section]:
    """Return the sections in which methods of exchange were compared, by name."""
    return _with(report, "exchange")


def scalings(report: Mapping[str, Any]) -> dict[str, Section]:
    """Return the sections in which one GPU was compared with several, by name.

    For each graph it is the section with the most GPUs, which has timings on fewer too.
    """
    most: dict[str, Section] = {}
    found = _with(report, "scaling")
    for section in sorted(found.values(), key=lambda one: int(one["figures"]["gpus"])):
        most[section["graph"]] = section
    return {name: one for name, one in found.items() if most[one["graph"]] is one}


def _with(report: Mapping[str, Any], figure: str) -> dict[str, Section]:
    return {
        name: section
        for name, section in report.get("bench", {}).items()
        if section.get("figures", {}).get(figure)
    }


def gpus(section: Section) -> str:
    """Return a section's number of GPUs, and whether they communicated through the host."""
    how = ", through the host" if section["part"] == "cluster-hub" else ""
    card = section.get("machine", {}).get("gpu")
    return f"{section['figures']['gpus']} {f'× {card}' if card else 'GPUs'}{how}"


def label(section: Section) -> str:
    """Return a section's graph and its GPUs."""
    return f"{section['graph']}, {gpus(section)}"


def useful_table(report: Mapping[str, Any]) -> Table:
    """Return Table I: the part of the sent bytes that were values of changed vertices.

    Parameters
    ----------
    report : mapping
        As `bench.record.read` returns it.
    """
    rows = []
    for section in exchanges(report).values():
        found = section["figures"]["exchange"]
        for method in OTHERS:
            cells = [useful(found.get(program, {}), method) or NONE for program in PROGRAMS]
            rows.append([label(section), method, *cells])
    return Table(
        "Table I: useful bytes of all that are sent", ["graph", "sent is", *PROGRAMS], rows
    )


def refinement_table(report: Mapping[str, Any]) -> Table:
    """Return Table VIII: time of supersteps by ALL and by MS ÷ by VR."""
    rows = []
    lines: dict[tuple[str, str], list[list[float | None]]] = {}  # of all graphs
    for section in exchanges(report).values():
        found = section["figures"]["exchange"]
        for method in OTHERS:
            ratios = [over(found.get(program, {}), method) for program in PROGRAMS]
            lines.setdefault((gpus(section), f"over {method}"), []).append(ratios)
            rows.append([label(section), f"over {method}", *_cells(ratios)])
    for (where, versus), several in lines.items():
        if len(several) > 1:
            means = [_mean(column) for column in zip(*several, strict=True)]
            overall = _mean([one for line in several for one in line])
            rows.append([f"mean, {where}", versus, *map(_text, (*means, overall))])
    return Table("Table VIII: speed-up of VR, supersteps", ["graph", "", *PROGRAMS, "mean"], rows)


def useful(found: Mapping[str, Mapping[str, float]], method: str) -> str:
    """Return the useful part of a program's bytes by a method, as text; empty if unknown."""
    one = found.get(method, {})
    return f"{one['useful'] / one['sent']:.1%}" if one.get("sent") else ""


def over(found: Mapping[str, Mapping[str, float]], method: str) -> float | None:
    """Return the time of a program's supersteps by a method ÷ by VR."""
    if not {"VR", method} <= set(found):
        return None
    return found[method]["seconds"] / found["VR"]["seconds"]


def scaling_table(report: Mapping[str, Any], what: str) -> Table:
    """Return Table IX: speed-up of more GPUs over fewer.

    Parameters
    ----------
    report : mapping
    what : {"supersteps", "call"}
        Which times are compared: of all supersteps, or of the whole call.
    """
    rows = []
    for section in scalings(report).values():
        found = section["figures"]["scaling"]
        counts = sorted({int(one) for times in found.values() for one in times})
        for fewer, more in combinations(counts, 2):
            ratios = [_gain(found.get(program, {}), fewer, more, what) for program in PROGRAMS]
            rows.append([section["graph"], f"{more} vs. {fewer}", *_cells(ratios)])
    title = f"Table IX: speed-up with more GPUs, {what}"
    return Table(title, ["graph", "GPUs", *PROGRAMS, "mean"], rows)


def _gain(
    found: Mapping[str, Mapping[str, float]], fewer: int, more: int, what: str
) -> float | None:
    if not {str(fewer), str(more)} <= set(found):
        return None
    return found[str(fewer)][what] / found[str(more)][what]


def _mean(ratios: Sequence[float | None]) -> float | None:
    known = [one for one in ratios if one is not None]
    return statistics.mean(known) if known else None


def _cells(ratios: Sequence[float | None]) -> list[str]:
    """Return ratios, and their mean, as texts."""
    return [_text(one) for one in (*ratios, _mean(ratios))]


def _text(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}"
