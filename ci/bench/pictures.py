"""Figure 10 of the Warp Segmentation paper, drawn from a report, and its tables.

Pictures are SVG; the same report always gives the same bytes.  The folder's README.md has the tables and pictures.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from bench.papers import exchanges, scalings, tables

BLUE, ORANGE, GREEN, GREY = "#2b6ca3", "#d9722b", "#4a8f4a", "#666666"
MARKS = ("o", "s", "^", "D")
COLOURS = (GREY, BLUE, ORANGE, GREEN)
HEAD = """# Section V of the Warp Segmentation paper, measured here

Made by `python -m bench report` of the record in the folder above, which `ci/gpu.sh` has written.  What is measured, and
how, is in [ci/bench/README.md](../../../ci/bench/README.md).
"""
ASK_EXCHANGE, ASK_SCALING = "ci/gpu.sh bench-cluster-exchange", "ci/gpu.sh bench-cluster-scaling"


def draw(report: Mapping[str, Any], folder: Path) -> tuple[list[Path], dict[str, str]]:
    """Write pictures and tables of a report into a folder, which is made if missing.

    Returns
    -------
    list of Path
        The written files; empty if the report has no figures for them.
    dict of str to str
        For each missing table or picture the command that measures it.
    """
    needed = {
        "Tables I and VIII": (exchanges(report), ASK_EXCHANGE),
        "Table IX": (scalings(report), ASK_SCALING), "Figure 10": (series(report), ASK_SCALING),
    }  # fmt: skip
    missing = {name: command for name, (figures, command) in needed.items() if not figures}
    texts = [table.markdown() for table in tables(report)]
    if not texts:
        return [], missing
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    if "Figure 10" not in missing:
        paths.append(_saved(scaling_figure(report), folder / "figure-10.svg"))
    page = folder / "README.md"
    page.write_text(
        "\n".join([HEAD, *texts, *(f"![{path.stem}]({path.name})\n" for path in paths)])
    )
    return [*paths, page], missing


def _saved(figure: Figure, path: Path) -> Path:
    """Write a picture without metadata, so that its bytes depend only on its content."""
    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "cugraph_ws", "svg.fonttype": "none"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    lines = [line.rstrip() for line in drawn.getvalue().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    return path


# ------------------------------------------------------------------------------------ Figure 10


def series(report: Mapping[str, Any]) -> dict[float, dict[int, list[tuple[int, float]]]]:
    """Return edges and seconds of SSSP's supersteps, by edges per vertex and number of GPUs, ascending.

    Densities that have only one size are left out.
    """
    densities: dict[float, dict[int, list[tuple[int, float]]]] = {}
    for section in scalings(report).values():
        figures = section["figures"]
        for gpus, times in figures["scaling"].get("SSSP", {}).items():
            lines = densities.setdefault(round(figures["edges"] / figures["vertices"], 2), {})
            lines.setdefault(int(gpus), []).append((figures["edges"], times["seconds"]))
    return {
        density: {gpus: sorted(lines[gpus]) for gpus in sorted(lines)}
        for density, lines in sorted(densities.items())
        if max(len(line) for line in lines.values()) > 1
    }


def scaling_figure(report: Mapping[str, Any]) -> Figure:
    """Return Figure 10: the time of SSSP over the number of edges, an axis for each density."""
    densities = series(report)
    figure = Figure(figsize=(3.6 * len(densities) + 0.6, 3.8), layout="constrained")
    panels = figure.subplots(1, len(densities), sharex=True, sharey=True, squeeze=False)[0]
    numbers = sorted({gpus for lines in densities.values() for gpus in lines})
    every = [line for lines in densities.values() for line in lines.values()]
    sizes = sorted({edges / 1e6 for line in every for edges, _ in line})
    for axes, (density, lines) in zip(panels, densities.items(), strict=True):
        for gpus, line in lines.items():
            style = numbers.index(gpus) % len(MARKS)
            axes.plot(
                [edges / 1e6 for edges, _ in line], [seconds * 1e3 for _, seconds in line],
                marker=MARKS[style], markersize=5, color=COLOURS[style],
                label=f"{gpus} GPU{'s' * (gpus != 1)}",
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="million edges")
        axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        _plain(axes, f"{density:g} edges a vertex")
    panels[0].set_ylabel("SSSP, supersteps, ms")
    panels[0].legend(frameon=False)
    return figure


def _plain(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
