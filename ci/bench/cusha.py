"""CuSha's tables, and Tables II, V and VI of the Warp Segmentation paper, over all graphs that a report has."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench.tables import Table

__all__ = ["LARGE", "cusha_tables", "sensitivities"]

PROGRAMS = ("CS", "HS", "NN", "PR")  # those of the eight whose supersteps read every edge
LARGE = 134_000_000  # edges of graphs that the paper calls large: their shards stayed on the host
LAYOUTS = ("csc", "gshards", "windows")
SLIDES = ("CuSha's slides, average", "28.2%, 34.5%", "80.2%, 88.9%", "77.6%, 91.6%")
NONE = "–"

Section = Mapping[str, Any]


def cusha_tables(report: Mapping[str, Any]) -> list[Table]:
    """Return the tables that a report has figures for.

    Parameters
    ----------
    report : mapping
        As `bench.record.read` returns it.
    """
    made = [
        _graphs(_with(report, "shards")),
        _speedups(_with(report, "shards"), "V", large=True),
        _speedups(_with(report, "shards"), "VI", large=False),
        _efficiency(_with(report, "loads")),
        _space(_with(report, "space")),
        _breakdown(_with(report, "breakdown")),
    ]
    return [table for table in made if table.rows]


def sensitivities(report: Mapping[str, Any]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return the time of a superstep by the size of shards.

    Returns
    -------
    dict
        By graph and layout: KiB of shared memory, ascending, and milliseconds with the best number of
        threads.  The CSC, which has no shards, has one point at 0.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for section in _with(report, "layouts").values():
        best: dict[str, dict[float, float]] = {}
        for layout, shared, _, time in section["figures"]["layouts"]:
            sizes = best.setdefault(layout, {})
            sizes[shared / 1024] = min(time, sizes.get(shared / 1024, time))
        found[section["graph"]] = {layout: sorted(sizes.items()) for layout, sizes in best.items()}
    return found


def _with(report: Mapping[str, Any], figure: str) -> dict[str, Section]:
    return {
        name: section
        for name, section in report.get("bench", {}).items()
        if section.get("figures", {}).get(figure)
    }


def _graphs(sections: Mapping[str, Section]) -> Table:
    """Return Table II: the paper's graphs, and those measured in place of some of them."""
    sizes = {
        one["graph"]: (one["figures"]["edges"], one["figures"]["vertices"])
        for one in sections.values()
    }
    rows = [
        [name, f"{vertices:,}", f"{edges:,}", f"{edges / max(1, vertices):.1f}"]
        for name, (edges, vertices) in sorted(sizes.items(), key=lambda one: one[1], reverse=True)
    ]
    columns = ["graph", "vertices with edges", "edges", "edges a vertex"]
    return Table("Table II: graphs on one GPU", columns, rows)


def _speedups(sections: Mapping[str, Section], number: str, *, large: bool) -> Table:
    """Return Table V or VI: time of supersteps over Concatenated Windows ÷ over the CSC."""
    rows, lines = [], []
    for section in sections.values():
        figures = section["figures"]
        if (figures["edges"] >= LARGE) == large:
            ratios = [_ratio(figures["shards"].get(program, {})) for program in PROGRAMS]
            lines.append(ratios)
            rows.append([section["graph"], *map(_text, ratios)])
    if len(lines) > 1:
        means = [_mean(column) for column in zip(*lines, strict=True)]
        rows.append(["average", *map(_text, means)])
    size = "large" if large else "small"
    title = (
        f"Table {number}: speed-up of Warp Segmentation over Concatenated Windows, {size} graphs"
    )
    return Table(title, ["graph", *PROGRAMS], rows)


def _ratio(times: Mapping[str, float]) -> float | None:
    return times["windows"] / times["csc"] if {"windows", "csc"} <= set(times) else None


def _mean(ratios: Sequence[float | None]) -> float | None:
    known = [one for one in ratios if one is not None]
    return statistics.mean(known) if known else None


def _text(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}"


def _efficiency(sections: Mapping[str, Section]) -> Table:
    """Return the efficiency of loads, and the share of active lanes, counted from addresses."""
    rows = []
    names = ("virtual warps of 4", *LAYOUTS)
    for section in sections.values():
        cells = []
        for name in names:
            requests, lanes, sectors, used = section["figures"]["loads"].get(name, (0, 0, 0, 0))
            known = requests and sectors
            cells.append(
                f"{used / (32 * sectors):.1%}, {lanes / (32 * requests):.1%}" if known else NONE
            )
        rows.append([section["graph"], *cells])
    if rows:
        rows.append([SLIDES[0], SLIDES[1], NONE, *SLIDES[2:]])
    title = "CuSha's memory efficiency: bytes used of sectors loaded, lanes active"
    return Table(title, ["graph", *names], rows)


def _space(sections: Mapping[str, Section]) -> Table:
    """Return the bytes of the arcs of each layout."""
    rows = []
    for section in sections.values():
        space, edges = section["figures"]["space"], section["figures"]["edges"]
        for layout in LAYOUTS:
            if layout in space:
                each, times = space[layout] / max(1, edges), space[layout] / space["csc"]
                rows.append([section["graph"], layout, f"{each:.1f}", f"{times:.2f}"])
    return Table("CuSha's space overhead", ["graph", "layout", "B/edge", "times the CSC"], rows)


def _breakdown(sections: Mapping[str, Section]) -> Table:
    """Return the parts of the time of a first PageRank."""
    parts = ("build", "conversion", "supersteps", "result")
    rows = [
        [section["graph"], layout, *(f"{1e3 * found[part]:.1f}" for part in parts)]
        for section in sections.values()
        for layout, found in section["figures"]["breakdown"].items()
    ]
    columns = ["graph", "layout", *(f"{part}, ms" for part in parts)]
    return Table("CuSha's breakdown of time: a first PageRank to 1e-6", columns, rows)
