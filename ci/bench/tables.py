"""Tables of texts, as Markdown and for a terminal; tables of a record's timings and targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OURS = "cugraph_ws"
# Order of an entrant's figures in a record; times are in milliseconds
FIGURES = ("median", "least", "most", "runs", "alone", "first", "bytes", "edges")
TIMINGS = ["work", "by", "ms", "algorithm alone, ms", "least to most", "runs", "GB/s", "G edges/s",
           "× ours", "first call, ms"]  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table of texts: its title, the names of its columns, and a list of texts for each row."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Return it as Markdown, with its title as a heading."""
        rows = [self.columns, ["---"] * len(self.columns), *self.rows]
        lines = (f"| {' | '.join(row)} |" for row in rows)
        return "\n".join([f"## {self.title}", "", *lines, ""])

    def plain(self) -> str:
        """Return it for a terminal, with aligned columns."""
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = [f"  {self.title}"]
        for row in (self.columns, *self.rows):
            cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            lines.append(" ".join(["  ", row[0].ljust(widths[0]), *cells]))
        return "\n".join(lines)


def milliseconds(value: float | None) -> str:
    """Format milliseconds with three digits or, from a hundred on, as an integer."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def timing_table(title: str, jobs: Mapping[str, Mapping[str, Sequence[Any]]]) -> Table:
    """Return the timings of a section: by job and entrant the figures in the order of `FIGURES`."""
    return Table(
        title, TIMINGS, [row for job, timings in jobs.items() for row in _rows(job, timings)]
    )


def _rows(job: str, timings: Mapping[str, Sequence[Any]]) -> Iterator[list[str]]:
    for library, figures in timings.items():
        value = dict(zip(FIGURES, figures, strict=True))
        seconds = (value["alone"] or value["median"]) / 1e3
        spread = f"{milliseconds(value['least'])} to {milliseconds(value['most'])}"
        yield [
            job, library, milliseconds(value["median"]), milliseconds(value["alone"]),
            "" if value["least"] is None else spread, str(value["runs"] or ""),
            f"{value['bytes'] / seconds / 1e9:,.0f}" if value["bytes"] else "",
            f"{value['edges'] / seconds / 1e9:,.2f}" if value["edges"] else "",
            f"{value['median'] / timings[OURS][0]:.2f}" if OURS in timings else "",
            milliseconds(value["first"]),
        ]  # fmt: skip


def target_table(targets: Sequence[Any]) -> Table:
    """Return a table of targets (`bench.timing.Target`), in which missed ones are marked."""
    met = sum(target.met for target in targets)
    rows = [
        [target.name, target.graph, f"{target.measured:.2f}",
         f"{'≥' if target.at_least else '≤'} {target.bound:g}", "met" if target.met else "**missed**"]
        for target in targets
    ]  # fmt: skip
    columns = ["target", "graph", "measured", "bound", ""]
    return Table(f"Targets: {met} of {len(targets)} met", columns, rows)
