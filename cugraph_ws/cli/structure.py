"""The commands of components, levels, sets, colours, trees, bridges and subgraphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cugraph_ws.cli.centralities import call
from cugraph_ws.cli.options import Job, job_options
from cugraph_ws.cli.vertex_sets import given_set, set_option

__all__ = ["STRUCTURE"]

SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of the priorities.")


@click.command("strongly-connected-components")
@job_options
def strong_components_command(job: Job) -> None:
    """Label strongly connected components.

    The label is the component's smallest vertex.  Result: vertex, labels.
    """
    from cugraph_ws.algorithms.strong_components import StronglyConnectedComponents

    with job.graph(weighted=False) as graph:
        job.run(graph, StronglyConnectedComponents())


@click.command("topological-levels")
@job_options
def topological_levels_command(job: Job) -> None:
    """Find the level of each vertex.

    Of a graph without cycles.  Result: vertex, level.
    """
    from cugraph_ws.algorithms.topological_levels import topological_levels

    call(job, topological_levels)


@click.command("maximal-independent-set")
@job_options
@SEED
def independent_set_command(job: Job, seed: int) -> None:
    """Choose vertices that are no neighbours.

    Result: vertex, in_set.
    """
    from cugraph_ws.algorithms.independent_set import MaximalIndependentSet

    with job.graph(weighted=False) as graph:
        job.run(graph, MaximalIndependentSet(seed))


@click.command("coloring")
@job_options
@SEED
def coloring_command(job: Job, seed: int) -> None:
    """Color vertices unlike their neighbours.

    Result: vertex, color.
    """
    from cugraph_ws.algorithms.independent_set import Coloring

    with job.graph(weighted=False) as graph:
        job.run(graph, Coloring(seed))


@click.command("minimum-spanning-forest")
@job_options
def forest_command(job: Job) -> None:
    """Find the lightest edges that connect.

    Result: edges.
    """
    from cugraph_ws.algorithms.spanning_tree import minimum_spanning_forest

    call(job, minimum_spanning_forest, reads_weights=True)


@click.command("minimum-spanning-tree")
@job_options
def tree_command(job: Job) -> None:
    """Find the lightest tree of all vertices.

    Result: edges.
    """
    from cugraph_ws.algorithms.spanning_tree import minimum_spanning_tree

    call(job, minimum_spanning_tree, reads_weights=True)


@click.command("bridges")
@job_options
def bridges_command(job: Job) -> None:
    """Find the edges without which a component falls apart.

    Result: edges.
    """
    from cugraph_ws.algorithms.biconnectivity import bridges

    call(job, bridges, reads_weights=True)


@click.command("articulation-points")
@job_options
def articulation_points_command(job: Job) -> None:
    """Find the vertices without which a component falls apart.

    Result: vertex.
    """
    from cugraph_ws.algorithms.biconnectivity import articulation_points

    call(job, articulation_points)


@click.command("subgraph")
@job_options
@set_option("vertex", "Vertex to keep; can be repeated.")
def subgraph_command(job: Job, vertex: tuple[str, ...], vertex_file: Path | None) -> None:
    """Extract the edges among vertices.

    Result: edges.
    """
    _need(vertex, vertex_file)
    from cugraph_ws.algorithms.subgraphs import subgraph

    call(
        job,
        subgraph,
        lambda: {"vertices": given_set(job, "vertex", vertex, vertex_file)},
        reads_weights=True,
    )


@click.command("ego-graph")
@job_options
@set_option("vertex", "Vertex in the middle; can be repeated.")
@click.option("--radius", type=click.IntRange(min=0), default=1, show_default=True, help="Hops.")
@click.option("--center/--no-center", default=True, help="With the vertex itself (the default).")
def ego_graph_command(
    job: Job, vertex: tuple[str, ...], vertex_file: Path | None, **given: Any
) -> None:
    """Extract the edges near a vertex.

    Result: edges.
    """
    _need(vertex, vertex_file)
    from cugraph_ws.algorithms.subgraphs import ego_graph

    call(
        job,
        ego_graph,
        lambda: {"vertex": given_set(job, "vertex", vertex, vertex_file), **given},
        reads_weights=True,
    )


def _need(words: tuple[str, ...], file: Path | None) -> None:
    if not words and file is None:
        raise click.UsageError("give --vertex or --vertex-file")


STRUCTURE = (
    strong_components_command,
    topological_levels_command,
    independent_set_command,
    coloring_command,
    forest_command,
    tree_command,
    bridges_command,
    articulation_points_command,
    subgraph_command,
    ego_graph_command,
)
