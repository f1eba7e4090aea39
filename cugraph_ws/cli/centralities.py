"""The commands of degrees and centralities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cugraph_ws.algorithms.betweenness import betweenness_centrality, edge_betweenness_centrality
from cugraph_ws.algorithms.closeness import closeness_centrality, harmonic_centrality
from cugraph_ws.algorithms.degrees import degree, degrees
from cugraph_ws.algorithms.eigenvector import katz_centrality
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
LISTED = set_option("vertex", "Vertex to list; can be repeated; default: all.")
WEIGHTED = click.option(
    "--weighted", is_flag=True, help="Add up weights instead of counting edges."
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


SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
NORMALIZED = click.option(
    "--normalized/--no-normalized",
    default=True,
    help="Divide by the number of pairs (the default).",
)
LENGTHS = click.option("--weighted", is_flag=True, help="The length of an edge is its weight.")
SAMPLE = click.option("-k", type=click.IntRange(min=1), help="Estimate it from K random vertices.")
COMPUTED = set_option("vertex", "Vertex to compute it for; can be repeated; default: all.")


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
    job: Job, seed: tuple[str, ...], seed_file: Path | None, columns: bool, **given: Any
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
            **given,
        },
        reads_weights=True,
    )


CENTRALITIES = (
    function_command(
        "betweenness-centrality",
        "Rank vertices by betweenness centrality.\n\nResult: vertex, betweenness_centrality.",
        betweenness_centrality,
        SAMPLE,
        SEED,
        NORMALIZED,
        LENGTHS,
        click.option("--endpoints", is_flag=True, help="The ends of a path count as well."),
        rank_by="betweenness_centrality",
    ),
    function_command(
        "edge-betweenness-centrality",
        "Rank edges by betweenness centrality.\n\nResult: edges, betweenness_centrality.",
        edge_betweenness_centrality,
        SAMPLE,
        SEED,
        NORMALIZED,
        LENGTHS,
        rank_by="betweenness_centrality",
        reads_weights=True,
    ),
    function_command(
        "closeness-centrality",
        "Rank vertices by closeness centrality.\n\nResult: vertex, closeness_centrality.",
        closeness_centrality,
        COMPUTED,
        SAMPLE,
        SEED,
        LENGTHS,
        click.option(
            "--wf-improved/--no-wf-improved",
            default=True,
            help="Scale by the fraction of vertices that reach it.",
        ),
        listed="vertices",
        rank_by="closeness_centrality",
    ),
    function_command(
        "harmonic-centrality",
        "Rank vertices by harmonic centrality.\n\nResult: vertex, harmonic_centrality.",
        harmonic_centrality,
        COMPUTED,
        SAMPLE,
        SEED,
        LENGTHS,
        click.option("--normalized", is_flag=True, help="Divide by the number of other vertices."),
        listed="vertices",
        rank_by="harmonic_centrality",
    ),
    function_command(
        "degree",
        "Count the edges of each vertex.\n\nResult: vertex, degree.",
        degree,
        LISTED,
        DEGREE_TYPE,
        WEIGHTED,
        listed="vertices",
        rank_by="degree",
    ),
    function_command(
        "degrees",
        "Count the edges into and out of vertices.\n\nResult: vertex, in_degree, out_degree.",
        degrees,
        LISTED,
        WEIGHTED,
        listed="vertices",
        rank_by="in_degree",
    ),
    eigenvector_command,
    function_command(
        "katz-centrality",
        "Rank vertices by Katz centrality.\n\nResult: vertex, katz_centrality.",
        katz_centrality,
        click.option(
            "--alpha", type=float, help="Attenuation factor; default: 1 / (1 + greatest in-degree)."
        ),
        click.option(
            "--beta", type=float, default=1.0, show_default=True, help="Each vertex's own value."
        ),
        click.option(
            "--normalized/--no-normalized", default=True, help="Scale to length 1 (the default)."
        ),
        SUPERSTEPS,
        TOLERANCE,
        rank_by="katz_centrality",
        reads_weights=True,
    ),
    personalized_command,
    hits_command,
)
