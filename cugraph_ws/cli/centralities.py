"""The commands of degrees and centralities."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cugraph_ws.cli.options import Job, job_options, option_flag
from cugraph_ws.cli.vertex_sets import given_set, set_option

__all__ = ["CENTRALITIES", "DEGREE_TYPE", "call"]

F = TypeVar("F", bound=Callable[..., Any])

TOLERANCE = option_flag("tol", 1e-6)
SUPERSTEPS = option_flag("max_iter", 1000)
DEGREE_TYPE = click.option(
    "--degree-type",
    type=click.Choice(["both", "in", "out"]),
    default="both",
    show_default=True,
    help="Which edges count where the graph is directed.",
)


def call(
    job: Job,
    function: Callable[..., Any],
    arguments: Callable[[], dict[str, Any]] = dict,
    *,
    rank_by: str | None = None,
    reads_weights: bool = False,
) -> None:
    """Call a function of the library on the job's graph, and write or show its frame.

    Parameters
    ----------
    job : Job
    function : callable
    arguments : callable
        Returns its arguments, those that are None left out; called when the types of the ids are
        known.
    rank_by : str, optional
        Column whose greatest values are shown first.
    reads_weights : bool
    """
    from cugraph_ws.cli.output import deliver

    if job.trace is not None or job.partial:
        raise click.UsageError(
            f"{function.__name__.replace('_', '-')} has neither --trace nor --partial"
        )
    with job.graph(weighted=reads_weights) as graph:
        given = {key: value for key, value in arguments().items() if value is not None}
        found = function(graph, **given, **job.options.given())
        deliver(job, found, rank_by)


LISTED = set_option("vertex", "Vertex to list; can be repeated; default: all.")
WEIGHTED = click.option(
    "--weighted", is_flag=True, help="Add up weights instead of counting edges."
)


@click.command("degree")
@job_options
@LISTED
@DEGREE_TYPE
@WEIGHTED
def degree_command(
    job: Job,
    vertex: tuple[str, ...],
    vertex_file: Path | None,
    degree_type: str,
    weighted: bool,
) -> None:
    """Count the edges at vertices.

    Result: vertex, degree.
    """
    given = {"weighted": weighted, "degree_type": degree_type}
    from cugraph_ws.algorithms.degrees import degree

    call(
        job,
        degree,
        lambda: {"vertices": given_set(job, "vertex", vertex, vertex_file), **given},
        rank_by="degree",
        reads_weights=weighted,
    )


@click.command("degrees")
@job_options
@LISTED
@WEIGHTED
def degrees_command(
    job: Job, vertex: tuple[str, ...], vertex_file: Path | None, weighted: bool
) -> None:
    """Count the edges into and out of vertices.

    Result: vertex, in_degree, out_degree.
    """
    from cugraph_ws.algorithms.degrees import degrees

    call(
        job,
        degrees,
        lambda: {"vertices": given_set(job, "vertex", vertex, vertex_file), "weighted": weighted},
        rank_by="in_degree",
        reads_weights=weighted,
    )


@click.command("eigenvector-centrality")
@job_options
@SUPERSTEPS
@TOLERANCE
def eigenvector_command(job: Job) -> None:
    """Rank vertices by their neighbours' rank.

    Result: vertex, eigenvector_centrality.
    """
    from cugraph_ws.algorithms.eigenvector import EigenvectorCentrality

    with job.graph() as graph:
        job.run(graph, EigenvectorCentrality, rank_by="eigenvector_centrality")


@click.command("katz-centrality")
@job_options
@click.option("--alpha", type=float, help="Factor of each further edge; default: 1 / (1 + d).")
@click.option("--beta", type=float, default=1.0, show_default=True, help="Each vertex's own value.")
@click.option("--normalized/--no-normalized", default=True, help="Scale to length 1 (the default).")
@SUPERSTEPS
@TOLERANCE
def katz_command(job: Job, alpha: float | None, beta: float, normalized: bool) -> None:
    """Rank vertices by the walks that end there.

    Result: vertex, katz_centrality.
    """
    given = {"alpha": alpha, "beta": beta, "normalized": normalized}
    from cugraph_ws.algorithms.eigenvector import katz_centrality

    call(job, katz_centrality, lambda: given, rank_by="katz_centrality", reads_weights=True)


@click.command("hits")
@job_options
@click.option("--normalized/--no-normalized", default=True, help="Scale to sum 1 (the default).")
@SUPERSTEPS
@TOLERANCE
def hits_command(job: Job, normalized: bool, max_iter: int, tol: float) -> None:
    """Compute hubs and authorities.

    Result: vertex, hubs, authorities.
    """
    from cugraph_ws.algorithms.hits import HITS

    with job.graph() as graph:
        job.run(graph, HITS(max_iter, tol, normalized=normalized), rank_by="authorities")


SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
NORMALIZED = click.option(
    "--normalized/--no-normalized",
    default=True,
    help="Divide by the number of pairs (the default).",
)


LENGTHS = click.option("--weighted", is_flag=True, help="Edges are as long as their weights.")


def _distance_command(
    name: str, text: str, other: Callable[[Callable[..., None]], Callable[..., None]]
) -> click.Command:
    """Make the command of a centrality by distances."""

    @click.command(name.replace("_", "-"), help=f"{text}\n\nResult: vertex, {name}.")
    @job_options
    @set_option("vertex", "Vertex to compute it for; can be repeated; default: all.")
    @click.option("-k", type=click.IntRange(min=1), help="Estimate it from K random vertices.")
    @SEED
    @LENGTHS
    @other
    def command(job: Job, vertex: tuple[str, ...], vertex_file: Path | None, **given: Any) -> None:
        from cugraph_ws.algorithms import closeness

        call(
            job,
            getattr(closeness, name),
            lambda: {"vertices": given_set(job, "vertex", vertex, vertex_file), **given},
            rank_by=name,
            reads_weights=given["weighted"],
        )

    return command


@click.command("betweenness-centrality")
@job_options
@click.option("-k", type=click.IntRange(min=1), help="Estimate it from K random vertices.")
@SEED
@NORMALIZED
@LENGTHS
@click.option("--endpoints", is_flag=True, help="The ends of a path count as well.")
def betweenness_command(job: Job, **given: Any) -> None:
    """Rank vertices by the shortest paths through them.

    Result: vertex, betweenness_centrality.
    """
    from cugraph_ws.algorithms.betweenness import betweenness_centrality

    call(
        job,
        betweenness_centrality,
        lambda: given,
        rank_by="betweenness_centrality",
        reads_weights=given["weighted"],
    )


@click.command("edge-betweenness-centrality")
@job_options
@click.option("-k", type=click.IntRange(min=1), help="Estimate it from K random vertices.")
@SEED
@NORMALIZED
@LENGTHS
def edge_betweenness_command(job: Job, **given: Any) -> None:
    """Rank edges by the shortest paths through them.

    Result: edges, betweenness_centrality.
    """
    from cugraph_ws.algorithms.betweenness import edge_betweenness_centrality

    call(
        job,
        edge_betweenness_centrality,
        lambda: given,
        rank_by="betweenness_centrality",
        reads_weights=True,
    )


@click.command("personalized-pagerank")
@job_options
@set_option("seed", "Vertex to compute personalized ranks for; can be repeated.")
@click.option(
    "--alpha", type=float, default=0.85, show_default=True, help="Probability of following an edge."
)
@click.option(
    "--top", type=click.IntRange(min=1), help="Only so many vertices of each seed, highest first."
)
@click.option("--columns", is_flag=True, help="A column for each seed instead of rows.")
@option_flag("max_iter", 100)
@TOLERANCE
def personalized_command(
    job: Job, seed: tuple[str, ...], seed_file: Path | None, columns: bool, **given: Any
) -> None:
    """Compute a PageRank for each of many seeds.

    Result: seed, vertex, pagerank.
    """
    if not seed and seed_file is None:
        raise click.UsageError("give --seed or --seed-file")
    from cugraph_ws.algorithms.personalized_pagerank import personalized_pagerank

    call(
        job,
        personalized_pagerank,
        lambda: {
            "seeds": given_set(job, "seed", seed, seed_file),
            "format": "columns" if columns else "long",
            **given,
        },
        reads_weights=True,
    )


CENTRALITIES = (
    betweenness_command,
    edge_betweenness_command,
    _distance_command(
        "closeness_centrality",
        "Rank vertices by their mean distance.",
        click.option(
            "--wf-improved/--no-wf-improved",
            default=True,
            help="Scale by the share of vertices that reach it.",
        ),
    ),
    _distance_command(
        "harmonic_centrality",
        "Rank vertices by the reciprocals of distances.",
        click.option("--normalized", is_flag=True, help="Divide by the other vertices."),
    ),
    degree_command,
    degrees_command,
    eigenvector_command,
    katz_command,
    personalized_command,
    hits_command,
)
