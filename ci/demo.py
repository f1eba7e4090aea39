"""What does Debian rest on?  From edges to a vertex frame and pictures, with tables on the way."""

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.axes
import matplotlib.figure
import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import cugraph_ws as ws
from cugraph_ws.execution.progress import ProgressUpdate
from cugraph_ws.runtime.device import has_device

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from heaviest_dependency import HeaviestDependency

ROOT = Path(__file__).parents[1]
DATA = ROOT / "examples" / "data"
BLUE, ORANGE, GREY = "#2b6ca3", "#d9722b", "#666666"
Report = Callable[[ProgressUpdate], None]


def main() -> None:
    """Run every step, write the results, and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", default="gimp", help="package that the search starts at")
    parser.add_argument("--output", type=Path, default=ROOT / "demo-output", help="folder")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    console, begun = Console(), time.perf_counter()
    with steps(console, 6) as step:
        graph, needed_by, packages = step("read the files, build the graph", read)
        ranks = step("PageRank", lambda report: ws.pagerank(graph, progress=report))
        hops = step(
            f"breadth-first search from {arguments.start}",
            lambda report: ws.bfs(graph, arguments.start, progress=report),
        )
        parts = step(
            "components", lambda report: ws.weakly_connected_components(graph, progress=report)
        )
        heaviest = step(
            "a program of our own: the heaviest dependency",
            lambda report: ws.run(HeaviestDependency, needed_by, installed_kib="installed_kib",
                                  progress=report).frame,
        )  # fmt: skip
        everything = packages.assign(
            pagerank=ranks["pagerank"],
            component=parts["labels"],
            distance=hops["distance"],
            predecessor=hops["predecessor"],
            size=heaviest["size"],
            heaviest=heaviest["heaviest"],
        )  # every frame is sorted by vertex: nothing to join
        if not isinstance(everything, pd.DataFrame):
            everything = everything.to_pandas()
        step("write the results, draw", lambda _: write(graph, everything, arguments.output))
    console.print(f"{graph.report}\n", highlight=False)
    tell(console, everything, arguments.start)
    console.print(
        f"{time.perf_counter() - begun:.1f} seconds; results are in {arguments.output}:",
        ", ".join(sorted(path.name for path in arguments.output.iterdir())),
        highlight=False,
    )


@contextmanager
def steps(console: Console, total: int) -> Iterator[Callable[[str, Callable[[Report], Any]], Any]]:
    """Show a progress bar for all steps, and the progress of the current one next to it."""
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(name: str, work: Callable[[Report], Any]) -> Any:
            def report(update: ProgressUpdate) -> None:
                bar.update(task, description=f"{name}: superstep {update.superstep}")

            bar.update(task, description=name)
            begun = time.perf_counter()
            done = work(report)
            bar.advance(task)
            bar.console.print(f"[dim]{time.perf_counter() - begun:6.2f} s[/]  {name}")
            return done

        yield step


def read(report: Report) -> tuple[ws.Graph, ws.Graph, pd.DataFrame]:
    """Return the graph of dependencies, the graph of reversed dependencies, and the packages."""
    del report
    frames: Any = pd
    if importlib.util.find_spec("cudf") and has_device():
        import cudf as frames  # on the GPU from here on
    edges = frames.read_parquet(DATA / "debian-dependencies.parquet")
    packages = frames.read_parquet(DATA / "debian-packages.parquet")
    vertices = packages.rename(columns={"package": "vertex"})
    graph = ws.Graph(edges, "package", "depends_on", vertices=vertices)
    needed_by = ws.Graph(edges, "depends_on", "package", vertices=vertices)
    return graph, needed_by, vertices.sort_values("vertex", ignore_index=True)


def write(graph: ws.Graph, everything: pd.DataFrame, folder: Path) -> None:
    """Write the vertex frame, the picture of distributions, and the map of communities."""
    everything.to_parquet(folder / "packages.parquet")
    figure = picture(graph, everything)
    figure.savefig(folder / "distributions.png", dpi=150)
    graph.plot(file=folder / "map.png")


def tell(console: Console, everything: pd.DataFrame, start: str) -> None:
    """Print the top of every result."""
    ranked = everything.nlargest(10, "pagerank")
    table = Table("package", "section", title="What Debian rests on", title_justify="left")
    table.add_column("PageRank", justify="right")
    for row in ranked.itertuples():
        table.add_row(row.vertex, row.section, f"{row.pagerank:.4f}")
    console.print(table)

    reached = everything.dropna(subset="distance")
    table = Table(title=f"What {start} needs, by hops", title_justify="left")
    table.add_column("hops", justify="right")
    table.add_column("packages", justify="right")
    table.add_column("for example")
    for distance, group in reached.groupby("distance"):
        examples = ", ".join(group.nlargest(4, "pagerank")["vertex"])
        table.add_row(str(int(distance)), f"{len(group):,}", examples)
    console.print(table)

    heavy = everything[everything["heaviest"] != everything["vertex"]]
    table = Table(title="What drags in most", title_justify="left")
    table.add_column("heaviest dependency")
    table.add_column("GiB", justify="right")
    table.add_column("dragged in by", justify="right")
    by_heaviest = heavy.groupby(["size", "heaviest"]).size().reset_index(name="packages")
    for row in by_heaviest[by_heaviest["packages"] >= 100].nlargest(5, "size").itertuples():
        table.add_row(row.heaviest, f"{row.size / 2**20:.2f}", f"{row.packages:,} packages")
    console.print(table)

    sizes = everything["component"].value_counts()
    console.print(
        f"{len(sizes):,} components; the largest holds {sizes.iloc[0]:,} packages, "
        f"{(sizes == 1).sum():,} stand alone\n",
        highlight=False,
    )


def picture(graph: ws.Graph, everything: pd.DataFrame) -> matplotlib.figure.Figure:
    """Draw how ranks and degrees are distributed."""
    figure = matplotlib.figure.Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_ranks(left, everything)
    draw_degrees(right, "packages that need it", graph.in_degrees, BLUE)
    draw_degrees(right, "packages that it needs", graph.out_degrees, ORANGE)
    right.set(xlabel="number of packages", ylabel="share of packages with at least as many")
    right.set_title("Dependencies", loc="left", fontweight="bold")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.set(xscale="log", yscale="log")
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_ranks(axes: matplotlib.axes.Axes, everything: pd.DataFrame) -> None:
    """Draw PageRank over the position in its order; label the first few packages."""
    ordered = everything.sort_values("pagerank", ascending=False, ignore_index=True)
    position = np.arange(1, len(ordered) + 1)
    axes.plot(position, ordered["pagerank"], color=BLUE, linewidth=2)
    axes.axhline(1 / len(ordered), color=GREY, linewidth=1, linestyle=":")
    axes.annotate("even share", (position[-1], 1 / len(ordered)), color=GREY, fontsize=9,
                  xytext=(0, 4), textcoords="offset points", ha="right")  # fmt: skip
    for place in (1, 2, 4, 10, 30, 100, 300):
        row = ordered.iloc[place - 1]
        axes.plot(place, row["pagerank"], "o", color=BLUE, markersize=5)
        axes.annotate(row["vertex"], (place, row["pagerank"]), fontsize=9,
                      xytext=(7, 3), textcoords="offset points")  # fmt: skip
    axes.set(xlabel="position among all packages", ylabel="PageRank")
    axes.set_title("What Debian rests on", loc="left", fontweight="bold")


def draw_degrees(axes: matplotlib.axes.Axes, label: str, degrees: Any, color: str) -> None:
    """Draw the share of vertices with at least each degree."""
    counts = np.bincount(degrees)
    at_least = counts[::-1].cumsum()[::-1] / len(degrees)
    present = np.flatnonzero(counts)
    present = present[present > 0]
    axes.plot(present, at_least[present], "o-", color=color, markersize=3, linewidth=1, label=label)


if __name__ == "__main__":
    main()
