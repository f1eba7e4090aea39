"""The figures as tables for a terminal and as facts for a JSON file."""

import importlib.metadata
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
from measure import OURS, Target, Timing
from rich.table import Table

__all__ = ["machine", "results", "target_table", "timing_table"]

LIBRARIES = ("cugraph-ws", "networkit", "igraph", "networkx", "scipy", "numpy", "pandas", "numba")


def machine() -> dict[str, Any]:
    """Describe where the figures come from."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(": ", 1)[1] for line in lines if "model name" in line), model)
    return {
        "processor": model,
        "memory": psutil.virtual_memory().total,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }


def results(timings: list[Timing], targets: list[Target]) -> dict[str, Any]:
    """Return what goes into the JSON file."""
    return {
        "timings": [{**asdict(timing), "median": timing.median} for timing in timings],
        "targets": [{**asdict(target), "met": target.met} for target in targets],
    }


def timing_table(timings: list[Timing]) -> Table:
    """Return a table of medians, spreads and how often our time each took."""
    table = Table("graph", "job", "library", title="Medians, least and most, in milliseconds")
    for heading in ("median", "least", "most", "runs", "times ours"):
        table.add_column(heading, justify="right")
    ours = {
        (timing.graph, timing.job): timing.median for timing in timings if timing.library == OURS
    }
    previous = None
    for timing in timings:
        key = (timing.graph, timing.job)
        if previous not in (None, key):
            table.add_section()
        previous = key
        figures = [timing.median, min(timing.seconds), max(timing.seconds)]
        table.add_row(
            timing.graph if timing.library == OURS else "",
            timing.job if timing.library == OURS else "",
            timing.library,
            *[f"{seconds * 1e3:,.2f}" for seconds in figures],
            str(len(timing.seconds)),
            f"{timing.median / ours[key]:,.2f}",
        )
    return table


def target_table(targets: list[Target]) -> Table:
    """Return a table of targets, the missed ones marked."""
    table = Table("target", "graph", title="Targets")
    for heading in ("measured", "bound", "met"):
        table.add_column(heading, justify="right")
    for target in targets:
        bound = f"{'≥' if target.at_least else '≤'} {target.bound:g}"
        met = "[green]yes" if target.met else "[bold red]no"
        table.add_row(target.name, target.graph, f"{target.measured:,.2f}", bound, met)
    return table
