"""The table of what algorithms with loops of their own take, on the CPU and on a GPU.

Bytes at a run's maximum beside the built graph, with the result as a frame, for each vertex and each arc (an
undirected edge is two); the third number is for each arc of a weighted graph besides.  They are measured by
`python -m bench runs`, which prints how far an estimate is from the peak; vertex programs have a formula, in
`execution/run_memory.py`.
"""

from __future__ import annotations

from cugraph_ws.graph.footprints import Bytes, Row, Sizes

__all__ = ["RESULTS", "ROWS", "community_memory", "subgraph_memory"]

MERGED = Bytes(
    11, 17.3
)  # while repeated neighbours are taken out of the rows of an undirected graph

IDS_LOOKED_UP = 190  # bytes by vertex while all vertices are found by their text
VALUES_LOOKED_UP = 290  # the same with a value of each

#            directed graphs, with the CSR    undirected graphs
ROWS = {
    # the rows of arcs, for self-loops; then degrees and sums
    "assortativity": Row(Bytes(72, 0), Bytes(72, 0), Bytes(15, 9), result=0),
    # arcs as keys both ways: messages, places, and the table of the next ones
    "belief_propagation": Row(Bytes(106, 100), Bytes(75, 41)),
    # levels, paths and dependencies are by source; integer weights are converted
    "betweenness_centrality": Row(Bytes(20, 4.3), Bytes(12, 0), result=0),
    "weighted_betweenness_centrality": Row(Bytes(20, 4, 8), Bytes(12, 0, 8), result=0),
    # edges once, the forest, the nearest common ancestors of the others' ends
    "biconnectivity": Row(Bytes(222, 138), Bytes(216, 68)),
    # preorder numbers, parents, the next arc
    "biconnectivity of one CPU": Row(Bytes(40, 4), Bytes(30, 0)),
    "clustering_coefficient": Row(Bytes(9, 141), Bytes(108, 12.2), MERGED),
    "coloring": Row(Bytes(9, 141), Bytes(82, 8), MERGED),
    "coloring by seed": Row(Bytes(100, 4), Bytes(92, 0)),
    "core_number": Row(Bytes(50, 4), Bytes(41, 0)),
    # bits of a search, hops both ways, bounds
    "diameter": Row(Bytes(122, 4), Bytes(115, 0), result=0),
    # bits of 64 searches, and the vertices of a level
    "distance_sums": Row(Bytes(70, 4), Bytes(62, 0), result=0),
    "distance_sums by heaps": Row(Bytes(26, 4), Bytes(26, 0)),  # of one CPU
    "weighted_distance_sums": Row(Bytes(54, 4.4, 8), Bytes(42, 0)),
    "eigenvector_centrality": Row(Bytes(46, 0), Bytes(100, 0)),
    "hits": Row(Bytes(107, 4, 8), Bytes(99, 0)),
    "label_propagation": Row(Bytes(20, 17, 28), Bytes(4, 3.5, 21)),
    # arcs both ways as keys with weights, sorted
    "louvain": Row(Bytes(29, 240), Bytes(18, 125)),  # and Leiden
    "maximal_bipartite_matching": Row(Bytes(70, 4), Bytes(59, 0), looked_up=IDS_LOOKED_UP),
    "maximal_independent_set": Row(Bytes(109, 4), Bytes(90, 0)),
    # every edge once with its weight, and the order of those that are sorted
    "marks of edges": Row(Bytes(2, 8), Bytes(2, 9), result=66),  # the least that subgraphs take
    "minimum_spanning_forest": Row(Bytes(56, 129), Bytes(56, 70)),
    "forest on one CPU": Row(Bytes(30, 38, 42), Bytes(26, 19, 20)),
    # sums by community, also for conductance: in arrays by arc, or, on a CPU, of the weights by row alone
    "modularity": Row(Bytes(33, 42), Bytes(33, 42), looked_up=VALUES_LOOKED_UP),
    "modularity on a CPU": Row(Bytes(57, 4, 16), Bytes(49, 0, 8), looked_up=VALUES_LOOKED_UP),
    # rows of distinct neighbours: keys of the arcs of both directions, sorted
    "neighbours": Row(Bytes(9, 141), Bytes(108, 12.2), MERGED),
    "neighbours kept": Row(Bytes(16, 18), Bytes(16, 7)),
    # the frame with three columns; sums of weights out of vertices, and integer weights as floats
    "pagerank of groups": Row(Bytes(64, 0, 19.3), Bytes(36, 0, 8), result=78),
    "personalized_pagerank": Row(Bytes(30, 4, 9), Bytes(6, 0), result=6),
    "scores": Row(Bytes(0, 0), Bytes(0, 0)),  # a result with a float for each vertex
    "similarity of edges": Row(Bytes(9, 141), Bytes(76, 38.5)),
    "strongly_connected_components": Row(Bytes(95, 4.8), Bytes(84, 0)),
    "triangle_count": Row(Bytes(9, 141), Bytes(108, 12.2), MERGED),
    # every edge once with its triangles; repeated edges take less
    "truss_number": Row(Bytes(47, 141), Bytes(66, 63)),
    "weakly_connected_components": Row(Bytes(56, 0), Bytes(52, 0)),
}

# Bytes of each row of a result that has not one for each vertex, from where it is computed to the frame
RESULTS = {
    "edge_betweenness": 130,
    "multi_source_bfs": 87,
    "multi_source_sssp": 101,
    "personalized_pagerank": 65,
    "personalized_pagerank columns": 24,
    "similarity": 80,
    "subgraph": 51,
    "weights of a subgraph": 24,
}


def community_memory(sizes: Sizes) -> float:
    """Return the bytes that sums by community take.

    Parameters
    ----------
    sizes : Sizes
        Of the graph.

    Returns
    -------
    float
    """
    return ROWS["modularity" if sizes.on_device else "modularity on a CPU"].of(sizes)


def subgraph_memory(sizes: Sizes, edges: float | None = None, *, searched: bool = False) -> float:
    """Return the bytes that a subgraph takes as an edge frame, with the marks of all edges.

    Parameters
    ----------
    sizes : Sizes
        Of the graph.
    edges : float, optional
        Number of edges of the subgraph; by default it has all.
    searched : bool
        Whether a search finds the vertices; else they are given, and text is looked up.

    Returns
    -------
    float
    """
    if edges is None:
        edges = sizes.arcs / (1 if sizes.directed else 2)
    each = RESULTS["subgraph"] + RESULTS["weights of a subgraph"] * sizes.weighted
    listed = ROWS["marks of edges"].of(sizes) + (each + 2 * sizes.wide_ids) * edges
    if searched:
        return listed + sizes.csr
    return max(listed, IDS_LOOKED_UP * sizes.vertices * (sizes.wide_ids > 0))
