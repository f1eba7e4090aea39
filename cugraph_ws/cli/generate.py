"""`cugraph-ws generate`: writes random graphs to files, chunk by chunk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from cugraph_ws.cli.options import A_FILE, debug_option

__all__ = ["generate_group"]

F = TypeVar("F", bound=Callable[..., Any])


@click.group("generate")
def generate_group() -> None:
    """Write a random graph.

    The same seed gives the same graph.  It is made and written in chunks, so it may be larger
    than memory.
    """


def _options(function: F) -> F:
    """Add the options that all generators have."""
    for option in (
        debug_option,
        click.option("-q", "--quiet", is_flag=True, help="No progress and no summary."),
        click.option(
            "--chunk", type=int, metavar="EDGES", help="Edges generated and written at a time."
        ),
        click.option(
            "--weights",
            nargs=2,
            metavar="LOW HIGH",
            help="Uniform weights in this range: integers if both bounds are, else real numbers.",
        ),
        click.option("--seed", type=int, default=0, show_default=True),
        click.option(
            "-o",
            "--output",
            required=True,
            type=A_FILE,
            help="File to write: .parquet, .csv, .tsv or .jsonl, the last three also with .gz.",
        ),
    ):
        function = option(function)
    return function


def _probabilities(function: F) -> F:
    for name, default in (("c", 0.19), ("b", 0.19), ("a", 0.57)):
        function = click.option(
            f"-{name}",
            type=float,
            default=default,
            show_default=True,
            help="Probability of a quadrant.",
        )(function)
    return function


@generate_group.command()
@click.argument("scale", type=int, required=False)
@click.option("--edge-factor", type=float, default=16, show_default=True, help="Edges per vertex.")
@click.option("--vertices", type=int, help="Number of vertices, instead of SCALE.")
@click.option("--edges", type=int, help="Number of edges, instead of --edge-factor.")
@_probabilities
@_options
def rmat(**arguments: Any) -> None:
    """Make an R-MAT graph: few hubs, many vertices of low degree.

    It has 2**SCALE vertices.
    """
    _write("rmat", **arguments)


@generate_group.command()
@click.argument("scale", type=int)
@click.option("--edge-factor", type=float, default=16, show_default=True, help="Edges per vertex.")
@click.option(
    "--permute/--no-permute", default=True, show_default=True, help="Renumber vertices at random."
)
@_options
def kronecker(weights: tuple[str, str] | None, **arguments: Any) -> None:
    """Make a Kronecker graph, as Graph500 does.

    It has 2**SCALE vertices, and weights in [0, 1) unless others are requested.
    """
    _write("kronecker", weights=weights or ("0.0", "1.0"), **arguments)


@generate_group.command("erdos-renyi")
@click.argument("vertices", type=int)
@click.option("--edges", type=int, help="Number of edges.")
@click.option(
    "--probability", type=float, help="Probability that a pair is an edge, instead of --edges."
)
@click.option(
    "--undirected", is_flag=True, help="Make an undirected graph; each edge is listed once."
)
@_options
def erdos_renyi(undirected: bool, **arguments: Any) -> None:
    """Draw edges uniformly from all pairs."""
    _write("erdos_renyi", directed=not undirected, **arguments)


@generate_group.command()
@click.argument("rows", type=int)
@click.argument("columns", type=int)
@click.option(
    "--drop", type=float, default=0.0, show_default=True, help="Fraction of edges to leave out."
)
@_options
def grid(**arguments: Any) -> None:
    """Make a grid, similar to a road network.

    Neighbours are joined in both directions.
    """
    _write("grid", **arguments)


@generate_group.command("preferential-attachment")
@click.argument("vertices", type=int)
@click.option(
    "--degree", type=int, default=4, show_default=True, help="Number of edges of each new vertex."
)
@_options
def preferential_attachment(**arguments: Any) -> None:
    """Grow a graph whose new vertices prefer vertices of high degree."""
    _write("preferential_attachment", **arguments)


@generate_group.command("stochastic-blocks")
@click.argument("sizes", type=int, nargs=-1, required=True)
@click.option("--within", type=float, required=True, help="Probability of a pair of one block.")
@click.option("--between", type=float, required=True, help="Probability of a pair of two blocks.")
@click.option("--directed", is_flag=True, help="Make a directed graph.")
@_options
def stochastic_blocks(**arguments: Any) -> None:
    """Make a graph of blocks of SIZES vertices, which have more edges within than between."""
    _write("stochastic_blocks", **arguments)


def _write(
    generator: str,
    *,
    output: Path,
    weights: tuple[str, str] | None,
    chunk: int | None,
    quiet: bool,
    **parameters: Any,
) -> None:
    from cugraph_ws.frames.writers import check_writable, write_chunks
    from cugraph_ws.graph.generators import CHUNK, chunks

    check_writable(output)
    bounds = None if weights is None else _numbers(weights)
    size = CHUNK if chunk is None else chunk
    pieces = chunks(generator, size, weights=bounds, **parameters)
    shown = not quiet and sys.stderr.isatty()
    rows = write_chunks(_shown(pieces, output) if shown else pieces, output)
    if shown:
        click.echo(f"{rows:,} edges in {output}", err=True)


def _numbers(words: tuple[str, str]) -> tuple[float, float]:
    try:
        return int(words[0]), int(words[1])
    except ValueError:
        try:
            return float(words[0]), float(words[1])
        except ValueError:
            raise click.BadParameter(
                f"{' '.join(words)!r} are not two numbers", param_hint="--weights"
            ) from None


def _shown(pieces: Iterable[Any], output: Path) -> Iterator[Any]:
    """Count the edges on the terminal as they are written."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("[bold]{task.description}"),
        TextColumn("{task.completed:,} edges"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(output.name, total=None)
        for piece in pieces:
            yield piece
            bar.advance(task, len(piece["source"]))
