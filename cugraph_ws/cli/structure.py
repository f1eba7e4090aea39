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

SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of the priorities.")

STRUCTURE = (
    loop_command(
        "strongly-connected-components",
        "Label strongly connected components.\n\n"
        "The label is the component's smallest vertex.  Result: vertex, labels.",
        StronglyConnectedComponents,
    ),
    function_command(
        "topological-levels",
        "Find the level of each vertex.\n\nOf a graph without cycles.  Result: vertex, level.",
        topological_levels,
    ),
    loop_command(
        "maximal-independent-set",
        "Choose vertices that are no neighbours.\n\nResult: vertex, in_set.",
        MaximalIndependentSet,
        SEED,
    ),
    loop_command(
        "coloring",
        "Color vertices unlike their neighbours.\n\nResult: vertex, color.",
        Coloring,
        SEED,
    ),
    function_command(
        "minimum-spanning-forest",
        "Find the lightest edges that connect.\n\nResult: edges.",
        minimum_spanning_forest,
        reads_weights=True,
    ),
    function_command(
        "minimum-spanning-tree",
        "Find the lightest tree of all vertices.\n\nResult: edges.",
        minimum_spanning_tree,
        reads_weights=True,
    ),
    function_command(
        "bridges",
        "Find the edges without which a component falls apart.\n\nResult: edges.",
        bridges,
        reads_weights=True,
    ),
    function_command(
        "articulation-points",
        "Find the vertices without which a component falls apart.\n\nResult: vertex.",
        articulation_points,
    ),
    function_command(
        "subgraph",
        "Extract the edges among vertices.\n\nResult: edges.",
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
        set_option("vertex", "Vertex in the middle; can be repeated."),
        click.option(
            "--radius", type=click.IntRange(min=0), default=1, show_default=True, help="Hops."
        ),
        click.option(
            "--center/--no-center", default=True, help="With the vertex itself (the default)."
        ),
        listed="vertex",
        needed=True,
        reads_weights=True,
    ),
)
