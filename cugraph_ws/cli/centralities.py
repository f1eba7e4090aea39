"""The commands of degrees and centralities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.cli.commands import call, function_command
from cugraph_ws.cli.options import Job, job_options, option_flag
from cugraph_ws.cli.vertex_sets import given_set, need, set_option

__all__ = ["CENTRALITIES", "DEGREE_TYPE"]

TOLERANCE = option_flag("tol", 1e-6)
SUPERSTEPS = option_flag("max_iter", 1000)
DEGREE_TYPE = click.option(
    "--degree-type",
    type=click.Choice(["both", "in", "out"]),
    default="both",
    show_default=True,
    help="Which edges count if the graph is directed.",
)


@click.command("eigenvector-centrality")
@job_options
@SUPERSTEPS
@TOLERANCE
def eigenvector_command(job: Job, max_iter: int, tol: float) -> None:
    """Rank vertices by eigenvector centrality.

    Result: vertex, eigenvector_centrality.
    """
    from cugraph_ws.algorithms.eigenvector import EigenvectorCentrality
    from cugraph_ws.algorithms.krylov import PrincipalVector

    program: Any = EigenvectorCentrality
    column = "eigenvector_centrality"
    with job.graph() as graph:
        if job.undirected:
            job.run(graph, PrincipalVector(program, max_iter, tol), rank_by=column)
        else:
            job.run(graph, program, rank_by=column, max_iter=max_iter, tol=tol)


@click.command("hits")
@job_options
@click.option("--normalized/--no-normalized", default=True, help="Scale to sum 1 (the default).")
@SUPERSTEPS
@TOLERANCE
def hits_command(job: Job, normalized: bool, max_iter: int, tol: float) -> None:
    """Compute hub and authority scores.

    Result: vertex, hubs, authorities.
    """
    from cugraph_ws.algorithms.hits import HITS

    with job.graph() as graph:
        job.run(graph, HITS(max_iter, tol, normalized=normalized), rank_by="authorities")


@click.command("personalized-pagerank")
@job_options
@set_option("seed", "Vertex to compute personalized ranks for; can be repeated.")
@click.option(
    "--alpha", type=float, default=0.85, show_default=True, help="Probability of following an edge."
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help="Number of vertices for each seed, highest ranks first.",
)
@click.option("--columns", is_flag=True, help="A column for each seed instead of rows.")
@option_flag("max_iter", 100)
@TOLERANCE
def personalized_command(
    job: Job, seed: tuple[str, ...], seed_file: Path | None, columns: bool, **arguments: Any
) -> None:
    """Compute a PageRank for each of many seeds.

    Result: seed, vertex, pagerank.
    """
    need(seed, seed_file, "seed")
    from cugraph_ws.algorithms.personalized_pagerank import personalized_pagerank

    call(
        job,
        personalized_pagerank,
        lambda: {
            "seeds": given_set(job, "seed", seed, seed_file),
            "format": "columns" if columns else "long",
            **arguments,
        },
        reads_weights=True,
    )


SAMPLE = click.option("-k", type=click.IntRange(min=1), help="Estimate it from K random vertices.")
CENTRALITIES = (
    function_command(ALGORITHMS["betweenness_centrality"], SAMPLE),
    function_command(ALGORITHMS["edge_betweenness_centrality"], SAMPLE),
    eigenvector_command,
    function_command(
        ALGORITHMS["katz_centrality"],
        click.option(
            "--beta", type=float, default=1.0, show_default=True, help="Each vertex's own value."
        ),
    ),
    personalized_command,
    hits_command,
)
