"""What a name that does not exist may stand for: names of NetworkX, cuGraph, igraph and GraphFrames."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["OURS", "did_you_mean", "near_id"]

# Their name, and ours.
OURS: dict[str, str] = {
    "pr": "pagerank",
    "mis": "maximal_independent_set",
    "bipartite_matching": "maximal_bipartite_matching",
    "triangle": "triangle_count",
    "cores": "core_number",
    "core": "core_number",
    "Cluster": "local_cluster",
    "cluster": "local_cluster",
    "connected": "is_connected",
    "shortest_paths": "shortest_path",
    "vertex": "vertex_id",
    "visualize": "plot",
    "draw_graph": "plot",
    "show": "plot",
    "VertexProgramm": "vertex_program",
    "Program": "vertex_program",
    "execute": "run",
    "compute": "run",
    "all_shortest_paths": "shortest_path",
    "k_shortest_paths": "shortest_path",
    "astar_path": "shortest_path",
    "from_polars": "Graph",
    "from_arrow": "Graph",
    "from_dataframe": "Graph",
    "from_pandas": "Graph",
    "from_networkx": "Graph",
    "from_edgelist": "Graph",
    "scc": "strongly_connected_components",
    "wcc": "weakly_connected_components",
    "spanning": "minimum_spanning_tree",
    "centrality": "pagerank or betweenness_centrality",
    "lpa": "label_propagation",
    "label_prop": "label_propagation",
    "neighbours": "ego_graph",
    "neighbors": "ego_graph",
    "sample_neighbors": "neighbor_sample",
    "sample": "neighbor_sample",
    "random_walk": "random_walks",
    "node2vec": "node2vec_walks",
    "mst": "minimum_spanning_tree",
    "katz": "katz_centrality",
    "overlap_similarity": "overlap",
    "jaccard_similarity": "jaccard",
    "girvan_newman": "louvain or leiden",
    "clustering_louvain": "louvain",
    "clusters": "louvain or leiden",
    "community": "louvain or leiden",
    "communities": "louvain or leiden",
    "int_": "int64",
    "int": "int64",
    "float": "float64",
    "double": "float64",
    "bool_": "boolean",
    "bool": "boolean",
    "hub": "hits",
    "authority": "hits",
    "DiGraph": "Graph",
    "MultiGraph": "Graph",
    "all_pairs_shortest_path_length": "multi_source_bfs",
    "analyze_clustering_modularity": "modularity",
    "assortativity_degree": "assortativity",
    "authority_score": "hits",
    "average_degree": "degrees",
    "average_path_length": "average_shortest_path_length",
    "betweenness": "betweenness_centrality",
    "biconnected_components": "articulation_points",
    "breadth_first_search": "bfs",
    "closeness": "closeness_centrality",
    "clustering": "clustering_coefficient",
    "color": "coloring",
    "community_label_propagation": "label_propagation",
    "community_leiden": "leiden",
    "community_multilevel": "louvain",
    "components": "weakly_connected_components",
    "connected_components": "weakly_connected_components",
    "connectedComponents": "weakly_connected_components",
    "connected_component": "weakly_connected_components",
    "coreness": "core_number",
    "cosine_similarity": "cosine",
    "cut_vertices": "articulation_points",
    "degree_centrality": "degrees",
    "degree_assortativity_coefficient": "assortativity",
    "dijkstra": "sssp",
    "dijkstra_path": "sssp",
    "distances": "multi_source_sssp",
    "draw": "plot",
    "draw_networkx": "plot",
    "edge_betweenness": "edge_betweenness_centrality",
    "ego_net": "ego_graph",
    "eigenvector": "eigenvector_centrality",
    "force_atlas2": "layout",
    "forceatlas2_layout": "layout",
    "from_cudf_edgelist": "Graph",
    "from_pandas_edgelist": "Graph",
    "get_shortest_paths": "shortest_path",
    "greedy_color": "coloring",
    "hub_score": "hits",
    "induced_subgraph": "subgraph",
    "inDegrees": "degrees",
    "jaccard_coefficient": "jaccard",
    "jaccard_coefficients": "jaccard",
    "kcore": "k_core",
    "ktruss_subgraph": "k_truss",
    "labelPropagation": "label_propagation",
    "label_propagation_communities": "label_propagation",
    "leiden_communities": "leiden",
    "louvain_communities": "louvain",
    "is_strongly_connected": "is_connected",
    "is_weakly_connected": "is_connected",
    "maximal_matching": "maximal_bipartite_matching",
    "maximum_spanning_edges": "maximum_spanning_forest",
    "maximum_spanning_tree": "maximum_spanning_forest",
    "minimum_spanning_edges": "minimum_spanning_forest",
    "outDegrees": "degrees",
    "overlap_coefficient": "overlap",
    "pageRank": "pagerank",
    "projected_graph": "bipartite_projection",
    "weighted_projected_graph": "bipartite_projection",
    "personalised_pagerank": "personalized_pagerank",
    "shortestPaths": "multi_source_bfs",
    "shortest_path_length": "bfs",
    "single_source_dijkstra": "sssp",
    "single_source_shortest_path_length": "bfs",
    "sorensen_coefficient": "sorensen",
    "spring_layout": "layout",
    "spanning_tree": "minimum_spanning_tree",
    "stronglyConnectedComponents": "strongly_connected_components",
    "strong_components": "strongly_connected_components",
    "subcomponent": "descendants",
    "topological_generations": "topological_levels",
    "topological_sort": "topological_levels",
    "transitivity_undirected": "transitivity",
    "triangleCount": "triangle_count",
    "triangles": "triangle_count",
}
# Members of a graph, by their name of a graph's or frame's method elsewhere.
OF_GRAPHS: dict[str, str] = {
    "delete": "close",
    "adj": "ego_graph",
    "columns": "edges",
    "ecount": "number_of_edges",
    "es": "edges",
    "get_edgelist": "edges",
    "get_vertices": "vertices",
    "head": "edges",
    "in_degree": "degrees",
    "nodes": "vertices",
    "neighbors": "ego_graph",
    "num_edges": "number_of_edges",
    "num_nodes": "number_of_vertices",
    "num_vertices": "number_of_vertices",
    "number_of_nodes": "number_of_vertices",
    "order": "number_of_vertices",
    "out_degree": "degrees",
    "shape": "number_of_vertices",
    "size": "number_of_edges",
    "to_pandas": "edges",
    "to_pandas_edgelist": "edges",
    "transpose": "reverse",
    "vcount": "number_of_vertices",
    "vs": "vertices",
    "view_edge_list": "edges",
}
# What takes the place of a method that a graph does not have.
INSTEAD: dict[str, str] = {
    **dict.fromkeys(
        (
            *(
                "add_edge",
                "add_edges",
                "add_edges_from",
                "add_node",
                "add_nodes_from",
                "add_vertices",
                "add_weighted_edges_from",
            ),
            *(
                "remove_edge",
                "remove_edges_from",
                "remove_node",
                "remove_nodes_from",
                "delete_edges",
            ),
        ),
        "; a graph does not change: build one of the changed frame",
    ),
    **dict.fromkeys(("has_node", "has_vertex"), "; write: vertex in graph"),
    "is_directed": "; graph.directed is True or False",
    "is_weighted": "; graph.weight is the name of the column, None without weights",
    **dict.fromkeys(("has_edge", "get_edge_data"), "; look in graph.edges, a frame"),
    **dict.fromkeys(("predecessors", "successors"), "; select rows of graph.edges, a frame"),
    **dict.fromkeys(("to_directed", "to_undirected"), "; build it with directed=True or False"),
    "copy": "; a graph does not change, so it needs no copy",
    "is_multigraph": "; graph.report.duplicates is the number of parallel edges",
    **dict.fromkeys(
        ("save", "write", "to_csv", "to_parquet", "write_parquet", "dump"),
        "; graph.edges is a frame: write that",
    ),
    "is_closed": "; using a closed graph is an error",
}
FILES = "; read the file by pandas, Polars or PyArrow, and give the frame"
SETTINGS = {
    **dict.fromkeys(
        ("engine", "set_engine", "gpu", "cuda", "cpu", "use_gpu", "device"),
        "; give engine='cuda' or 'cpu' to a call",
    ),
    **dict.fromkeys(
        ("threads", "set_threads", "set_num_threads", "n_jobs"),
        "; the environment variable CUGRAPH_WS_THREADS is the number of threads",
    ),
    **dict.fromkeys(
        ("write", "save", "dump", "to_csv", "write_graph"),
        "; results and graph.edges are frames: write them by their library",
    ),
    **dict.fromkeys(("version",), "; write ws.__version__"),
    **{
        name: f"; it is a method of graphs: write ws.Graph(edges).{name}()"
        for name in ("to_cupy", "to_igraph", "to_networkx", "to_pyg", "to_scipy")
    },
}
CLOSE = 0.75  # similarity from which a name is a misspelling


def did_you_mean(name: str, names: Iterable[str], prefix: str = "") -> str:
    """Return a remedy for a name that does not exist.

    Parameters
    ----------
    name : str
    names : iterable of str
        Those that exist.
    prefix : str
        What is written before each, for example "graph.".

    Returns
    -------
    str
        "; did you mean …", or "" if nothing is close.
    """
    existing = list(names)
    if prefix == "graph." and name in INSTEAD and name not in existing:
        return INSTEAD[name]
    if prefix == "ws." and name.startswith(("read_", "load")):
        return FILES
    if prefix == "ws." and name in SETTINGS:
        return SETTINGS[name]
    meant = OURS.get(name, "") if prefix != "graph." else OF_GRAPHS.get(name, OURS.get(name, ""))
    if meant and all(word in existing for word in meant.split(" or ")):
        return f"; did you mean {' or '.join(prefix + word for word in meant.split(' or '))}?"
    by_lower: dict[str, str] = {}
    for known in sorted(existing, key=_is_class):  # of names that differ in capitals, the function
        by_lower.setdefault(known.lower().replace("_", ""), known)
    plain = name.lower().replace("_", "")
    near = (
        [plain]
        if plain in by_lower
        else difflib.get_close_matches(plain, by_lower, n=3, cutoff=CLOSE)
    )
    close = sorted((by_lower[word] for word in near), key=_is_class)
    if close and not _is_class(close[0]) and not _is_class(name):
        close = [word for word in close if not _is_class(word)]
    return f"; did you mean {' or '.join(prefix + word for word in close)}?" if close else ""


def near_id(value: str, ids: Iterable[Any]) -> str:
    """Return a remedy for a text that is no vertex: the id that is most like it, "" if none is.

    Ids with other digits are not alike: order-12 is not meant by order-13.

    Parameters
    ----------
    value : str
    ids : iterable
        Those of all vertices; those that are not texts are left out.
    """
    digits = re.findall(r"\d", value)
    by_plain = {
        known.strip().casefold(): known
        for known in ids
        if isinstance(known, str) and re.findall(r"\d", known) == digits
    }
    near = difflib.get_close_matches(value.strip().casefold(), by_plain, n=1, cutoff=CLOSE)
    return f"; did you mean {by_plain[near[0]]!r}?" if near else ""


def _is_class(name: str) -> bool:
    """Return whether a name is written as those of classes are."""
    return name[:1].isupper()
