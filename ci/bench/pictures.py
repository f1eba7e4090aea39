"""Figures 9 and 10 of the Warp Segmentation paper, drawn from a report, and its tables.

Pictures are SVG; the same report always gives the same bytes.  The folder's README.md has the tables and pictures.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from bench.papers import PROGRAMS, Section, exchanges, label, scalings, tables

BLUE, ORANGE, GREEN, GREY = "#2b6ca3", "#d9722b", "#4a8f4a", "#666666"
METHODS = ("VR", "MS", "ALL")
PARTS = {"computing": BLUE, "communication": ORANGE}
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
    pictures: dict[str, Callable[[], Figure]] = {
        "-".join(["figure-9", *re.findall(r"[\w-]+", name)]): partial(breakdown_figure, section)
        for name, section in exchanges(report).items()
        if shares(section)
    }
    needed = {
        "Tables I and VIII": (exchanges(report), ASK_EXCHANGE), "Figure 9": (pictures, ASK_EXCHANGE),
        "Table IX": (scalings(report), ASK_SCALING), "Figure 10": (series(report), ASK_SCALING),
    }  # fmt: skip
    missing = {name: command for name, (figures, command) in needed.items() if not figures}
    if "Figure 10" not in missing:
        pictures["figure-10"] = partial(scaling_figure, report)
    texts = [table.markdown() for table in tables(report)]
    if not pictures and not texts:
        return [], missing
    folder.mkdir(parents=True, exist_ok=True)
    paths = [_saved(make(), folder / f"{name}.svg") for name, make in pictures.items()]
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


# ------------------------------------------------------------------------------------- Figure 9


def shares(section: Section) -> dict[str, dict[str, dict[str, float]]]:
    """Return computation and communication by program and method, relative to the program's longest time.

    Programs and methods whose time was not split, of one of `exchanges`, are left out.
    """
    programs = {}
    for program in PROGRAMS:
        methods = {
            method: {part: numbers[part] for part in PARTS}
            for method, numbers in section["figures"]["exchange"].get(program, {}).items()
            if set(PARTS) <= set(numbers)
        }
        longest = max((sum(parts.values()) for parts in methods.values()), default=0.0)
        if longest:
            programs[program] = {
                method: {part: seconds / longest for part, seconds in parts.items()}
                for method, parts in methods.items()
            }
    return programs


def breakdown_figure(section: Section) -> Figure:
    """Return Figure 9 of a graph: a bar for each program and method, with computation at the bottom."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    axes = figure.subplots()
    places, names, groups = [], [], []
    for group, (program, methods) in enumerate(shares(section).items()):
        groups.append((group * (len(METHODS) + 1) + 1, program))
        for place, method in enumerate(METHODS):
            places.append(group * (len(METHODS) + 1) + place)
            names.append(method)
            bottom = 0.0
            for part, height in methods.get(method, {}).items():
                axes.bar(places[-1], height, bottom=bottom, color=PARTS[part], width=0.85)
                bottom += height
    axes.set_xticks(places, names, fontsize=8)
    for middle, program in groups:
        axes.annotate(program, (middle, 0), xytext=(0, -28), textcoords="offset points",
                      ha="center", fontweight="bold", annotation_clip=False)  # fmt: skip
    for part, colour in PARTS.items():
        axes.bar(0, 0, color=colour, label=part)
    axes.set(ylabel="of the longest time", ylim=(0, 1.02))
    axes.set_xlabel(" ", labelpad=18)  # room for the programs' names
    axes.set_title(label(section), loc="left", fontweight="bold")
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.7, 1.0), ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


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
