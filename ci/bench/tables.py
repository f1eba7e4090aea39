"""Tables of texts, as Markdown and for a terminal; tables of a record's timings and targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Table", "milliseconds", "seconds_of", "target_table", "timing_table"]

OURS = "cugraph_ws"
# Order of an entrant's figures in a record; times are in milliseconds
FIGURES = ("median", "least", "most", "runs", "alone", "first", "bytes", "edges")
TIMINGS = ["work", "by", "ms", "algorithm alone, ms", "least to most", "runs", "GB/s", "G edges/s",
           "× ours", "first call, ms"]  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    title : str
    columns : list of str
    rows : list of list of str
    """

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


def seconds_of(figures: Sequence[Any]) -> float:
    """Return the seconds of an entrant's algorithm alone, if known, else of its call."""
    one = dict(zip(FIGURES, figures, strict=True))
    return float((one["alone"] or one["median"]) / 1e3)


def timing_table(title: str, jobs: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the timings of a section.

    Parameters
    ----------
    title : str
    jobs : mapping
        By job and entrant the figures in the order of `FIGURES`, or a share.
    """
    shares = all(isinstance(one, float) for found in jobs.values() for one in found.values())
    if shares:
        rows = [
            [job, who, f"{one:.1%}"] for job, found in jobs.items() for who, one in found.items()
        ]
        return Table(title, ["what", "by", ""], rows)
    return Table(title, TIMINGS, [row for job, found in jobs.items() for row in _rows(job, found)])


def _rows(job: str, found: Mapping[str, Sequence[Any]]) -> Iterator[list[str]]:
    ours = found[OURS][0] if OURS in found else None
    for who, figures in found.items():
        one = dict(zip(FIGURES, figures, strict=True))
        seconds, median = seconds_of(figures), one["median"]
        known = one["least"] is not None
        yield [
            job,
            who,
            milliseconds(median),
            milliseconds(one["alone"]),
            f"{milliseconds(one['least'])} to {milliseconds(one['most'])}" if known else "",
            str(one["runs"] or ""),
            f"{one['bytes'] / seconds / 1e9:,.0f}" if one["bytes"] else "",
            f"{one['edges'] / seconds / 1e9:,.2f}" if one["edges"] else "",
            "" if ours is None else f"{median / ours:.2f}",
            milliseconds(one["first"]),
        ]


def target_table(targets: Sequence[Any], title: str | None = None) -> Table:
    """Return a table of targets (`bench.timing.Target`), in which missed ones are marked."""
    met = sum(one.met for one in targets)
    rows = [
        [
            one.name, one.graph, f"{one.measured:.2f}",
            f"{'≥' if one.at_least else '≤'} {one.bound:g}", "met" if one.met else "**missed**",
        ]
        for one in targets
    ]  # fmt: skip
    columns = ["target", "graph", "measured", "bound", ""]
    return Table(title or f"Targets: {met} of {len(targets)} met", columns, rows)
