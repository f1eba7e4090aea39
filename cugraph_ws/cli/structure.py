"""The commands of components, levels, sets, colours, trees, bridges and subgraphs."""

from __future__ import annotations

import click

from cugraph_ws.algorithms.biconnectivity import articulation_points, bridges
from cugraph_ws.algorithms.independent_set import Coloring, MaximalIndependentSet
from cugraph_ws.algorithms.spanning_tree import minimum_spanning_forest, minimum_spanning_tree
from cugraph_ws.algorithms.strong_components import StronglyConnectedComponents
from cugraph_ws.algorithms.subgraphs import ego_graph, subgraph
from cugraph_ws.algorithms.topological_levels import topological_levels
from cugraph_ws.cli.commands import function_command, loop_command
from cugraph_ws.cli.vertex_sets import set_option

__all__ = ["STRUCTURE"]

SEED = click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the random priorities."
)

STRUCTURE = (
    loop_command(
        "strongly-connected-components",
        "Label strongly connected components.\n\n"
        "The label is the component's least vertex id.  Result: vertex, labels.",
        StronglyConnectedComponents,
    ),
    function_command(
        "topological-levels",
        "Find the topological level of each vertex.\n\nThe graph must have no cycles.  Result: vertex, level.",
        topological_levels,
    ),
    loop_command(
        "maximal-independent-set",
        "Find a maximal independent set.\n\nResult: vertex, in_set.",
        MaximalIndependentSet,
        SEED,
    ),
    loop_command(
        "coloring",
        "Color vertices such that neighbours differ.\n\nResult: vertex, color.",
        Coloring,
        SEED,
    ),
    function_command(
        "minimum-spanning-forest",
        "Find a minimum spanning forest.\n\nResult: edges.",
        minimum_spanning_forest,
        reads_weights=True,
    ),
    function_command(
        "minimum-spanning-tree",
        "Find a minimum spanning tree.\n\nResult: edges.",
        minimum_spanning_tree,
        reads_weights=True,
    ),
    function_command(
        "bridges",
        "Find bridges.\n\nResult: edges.",
        bridges,
        reads_weights=True,
    ),
    function_command(
        "articulation-points",
        "Find articulation points.\n\nResult: vertex.",
        articulation_points,
    ),
    function_command(
        "subgraph",
        "Extract the edges between given vertices.\n\nResult: edges.",
        subgraph,
        set_option("vertex", "Vertex to keep; can be repeated."),
        listed="vertices",
        needed=True,
        reads_weights=True,
    ),
    function_command(
        "ego-graph",
        "Extract the edges near a vertex.\n\nResult: edges.",
        ego_graph,
        set_option("vertex", "Center vertex; can be repeated."),
        click.option(
            "--radius", type=click.IntRange(min=0), default=1, show_default=True, help="Hops."
        ),
        click.option(
            "--center/--no-center", default=True, help="Include the center itself (the default)."
        ),
        listed="vertex",
        needed=True,
        reads_weights=True,
    ),
)
