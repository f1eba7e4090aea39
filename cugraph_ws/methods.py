"""`Graph` as users see it: with the library's functions as methods.

Graphs are below the algorithms, so `add_methods` adds them at run time; type checkers and editors read
the lines here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from cugraph_ws.algorithms import public
from cugraph_ws.graph import graph as built
from cugraph_ws.pictures import layout as layouts
from cugraph_ws.pictures import plot as plots

__all__ = ["Graph"]

if TYPE_CHECKING:
    from cugraph_ws.execution.check import CheckReport
    from cugraph_ws.execution.explain import Explanation
    from cugraph_ws.execution.loop import Result
    from cugraph_ws.frames.types import FrameT

    Given = ParamSpec("Given")
    Returned = TypeVar("Returned")

    def method(
        function: Callable[Concatenate[built.Graph[FrameT], Given], Returned],
    ) -> Callable[Concatenate[Graph[FrameT], Given], Returned]:
        """Return a function of a graph as a method."""

    class Graph(built.Graph[FrameT]):
        """A graph built from an edge frame; see `cugraph_ws.graph.graph.Graph`."""

        run: Callable[..., Result[FrameT]]
        run_many: Callable[..., list[Result[FrameT]]]
        check: Callable[..., CheckReport]
        explain: Callable[..., Explanation]
        shortest_path: Callable[..., FrameT]
        layout = method(layouts.layout)
        plot = method(plots.plot)

        # These lines are written by ci/functions.py.
        adamic_adar = method(public.adamic_adar)
        ancestors = method(public.ancestors)
        articulation_points = method(public.articulation_points)
        assortativity = method(public.assortativity)
        average_clustering = method(public.average_clustering)
        average_shortest_path_length = method(public.average_shortest_path_length)
        belief_propagation = method(public.belief_propagation)
        betweenness_centrality = method(public.betweenness_centrality)
        bfs = method(public.bfs)
        bipartite_projection = method(public.bipartite_projection)
        bridges = method(public.bridges)
        circuit = method(public.circuit)
        closeness_centrality = method(public.closeness_centrality)
        clustering_coefficient = method(public.clustering_coefficient)
        coloring = method(public.coloring)
        conductance = method(public.conductance)
        core_number = method(public.core_number)
        cosine = method(public.cosine)
        degree = method(public.degree)
        degrees = method(public.degrees)
        density = method(public.density)
        descendants = method(public.descendants)
        diameter = method(public.diameter)
        eccentricity = method(public.eccentricity)
        edge_betweenness_centrality = method(public.edge_betweenness_centrality)
        ego_graph = method(public.ego_graph)
        eigenvector_centrality = method(public.eigenvector_centrality)
        harmonic_centrality = method(public.harmonic_centrality)
        heat = method(public.heat)
        hits = method(public.hits)
        is_connected = method(public.is_connected)
        jaccard = method(public.jaccard)
        k_core = method(public.k_core)
        k_truss = method(public.k_truss)
        katz_centrality = method(public.katz_centrality)
        label_propagation = method(public.label_propagation)
        leiden = method(public.leiden)
        louvain = method(public.louvain)
        maximal_bipartite_matching = method(public.maximal_bipartite_matching)
        maximal_independent_set = method(public.maximal_independent_set)
        maximum_spanning_forest = method(public.maximum_spanning_forest)
        minimum_spanning_forest = method(public.minimum_spanning_forest)
        minimum_spanning_tree = method(public.minimum_spanning_tree)
        modularity = method(public.modularity)
        multi_source_bfs = method(public.multi_source_bfs)
        multi_source_sssp = method(public.multi_source_sssp)
        neighbor_sample = method(public.neighbor_sample)
        neural_network = method(public.neural_network)
        node2vec_walks = method(public.node2vec_walks)
        overlap = method(public.overlap)
        pagerank = method(public.pagerank)
        personalized_pagerank = method(public.personalized_pagerank)
        random_walks = method(public.random_walks)
        reciprocity = method(public.reciprocity)
        sorensen = method(public.sorensen)
        sssp = method(public.sssp)
        strongly_connected_components = method(public.strongly_connected_components)
        subgraph = method(public.subgraph)
        topological_levels = method(public.topological_levels)
        transitivity = method(public.transitivity)
        triangle_count = method(public.triangle_count)
        truss_number = method(public.truss_number)
        weakly_connected_components = method(public.weakly_connected_components)
        widest_path = method(public.widest_path)
else:
    Graph = built.Graph
