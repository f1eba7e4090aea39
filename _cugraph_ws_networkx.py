"""What NetworkX reads of the backend when it is imported: names and notes, without the library.

It is a module of its own because `import cugraph_ws` imports Numba, and a package's modules are imported
after the package.  `import networkx` takes no longer for it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["FUNCTIONS", "get_info"]

ANY_TREE = "The algorithm is Kruskal's; of equal weights the first edge is taken, as in NetworkX."
BY_DISTANCE = "The dictionary is in the order of distances, then of the graph's nodes."
NO_RANDOMNESS = "The communities are the same in every run; `seed` changes nothing."

# The functions of the backend, with what their documentation in NetworkX adds.
FUNCTIONS: dict[str, str] = {
    "pagerank": "Ranks may be extrapolated; they differ from the exact ones by no more than NetworkX's may.",
    "hits": "Scores sum to 1: `normalized=False` runs in NetworkX.",
    "eigenvector_centrality": "",
    "katz_centrality": "",
    "betweenness_centrality": "With `k`, the sampled nodes are those that NetworkX samples.",
    "edge_betweenness_centrality": "With `k`, the sampled nodes are those that NetworkX samples.",
    "closeness_centrality": "",
    "harmonic_centrality": "With `sources` it runs in NetworkX.",
    "global_efficiency": "",
    "single_source_shortest_path_length": BY_DISTANCE,
    "single_target_shortest_path_length": BY_DISTANCE,
    "all_pairs_shortest_path_length": BY_DISTANCE,
    "single_source_dijkstra_path_length": BY_DISTANCE,
    "multi_source_dijkstra_path_length": BY_DISTANCE,
    "all_pairs_dijkstra_path_length": BY_DISTANCE,
    "single_source_bellman_ford_path_length": f"{BY_DISTANCE} Negative weights run in NetworkX.",
    "all_pairs_bellman_ford_path_length": f"{BY_DISTANCE} Negative weights run in NetworkX.",
    "descendants": "",
    "ancestors": "",
    "descendants_at_distance": "",
    "eccentricity": "With `sp` it runs in NetworkX.",
    "average_shortest_path_length": "With `weight` or `method` it runs in NetworkX.",
    "connected_components": "",
    "number_connected_components": "",
    "is_connected": "",
    "node_connected_component": "",
    "weakly_connected_components": "",
    "number_weakly_connected_components": "",
    "is_weakly_connected": "",
    "strongly_connected_components": "Components are in the order of their first nodes.",
    "number_strongly_connected_components": "",
    "is_strongly_connected": "",
    "is_directed_acyclic_graph": "",
    "articulation_points": "Nodes are in the order of the graph.",
    "bridges": "",
    "has_bridges": "",
    "core_number": "",
    "k_truss": "",
    "triangles": "",
    "clustering": "Directed graphs and weights run in NetworkX.",
    "average_clustering": "Directed graphs and weights run in NetworkX.",
    "transitivity": "Directed graphs run in NetworkX.",
    "greedy_color": "Strategies other than `largest_first` run in NetworkX.",
    "minimum_spanning_edges": ANY_TREE,
    "maximum_spanning_edges": ANY_TREE,
    "jaccard_coefficient": "Without `ebunch` it runs in NetworkX.",
    "adamic_adar_index": "Without `ebunch` it runs in NetworkX.",
    "weighted_projected_graph": "Directed graphs run in NetworkX.",
    "louvain_communities": NO_RANDOMNESS,
    "leiden_communities": NO_RANDOMNESS,
    "modularity": "",
}


def get_info() -> dict[str, Any]:
    """Return the backend's metadata, as NetworkX's entry point `networkx.backend_info` wants it."""
    return {
        "backend_name": "cugraph_ws",
        "project": "cugraph-ws",
        "package": "cugraph_ws",
        "short_summary": "Compiled graph algorithms on the CPU or a GPU.",
        "default_config": {"engine": "auto"},
        "functions": {
            name: {"additional_docs": note} if note else {} for name, note in FUNCTIONS.items()
        },
    }
