"""The table of what algorithms with loops of their own take, on the CPU and on a GPU.

Bytes at a run's maximum beside the built graph, with the result as a frame, for each vertex and each arc (an
undirected edge is two); the third number is for each arc of a weighted graph besides.  They are measured by
`python -m bench runs`, which prints how far an estimate is from the peak; vertex programs have a formula, in
`execution/run_memory.py`.
"""

from __future__ import annotations

from cugraph_ws.graph.footprints import Bytes, Row

__all__ = ["RESULTS", "ROWS"]

#            directed graphs, with the CSR    undirected graphs
ROWS = {
    # arcs as keys both ways: messages, places, and the table of the next ones
    "belief_propagation": Row(Bytes(160, 93), Bytes(160, 93)),
    # levels, paths and dependencies are by source
    "betweenness_centrality": Row(Bytes(20, 4), Bytes(12, 0)),
    "weighted_betweenness_centrality": Row(Bytes(20, 4, 8), Bytes(12, 0)),
    # edges once, the forest, the nearest common ancestors of the others' ends
    "biconnectivity": Row(Bytes(145, 138), Bytes(145, 66)),
    "clustering_coefficient": Row(Bytes(9, 141), Bytes(108, 12.2)),
    "coloring": Row(Bytes(9, 141), Bytes(108, 12.2)),
    "coloring by seed": Row(Bytes(100, 4), Bytes(92, 0)),
    "conductance": Row(Bytes(60, 30), Bytes(60, 30)),
    "core_number": Row(Bytes(50, 4), Bytes(41, 0)),
    # bits of 64 searches, and the arcs of a level
    "distance_sums": Row(Bytes(200, 30), Bytes(200, 20)),
    "weighted_distance_sums": Row(Bytes(60, 30, 8), Bytes(60, 20)),
    "eigenvector_centrality": Row(Bytes(100, 0), Bytes(100, 0)),
    "ego_graph": Row(Bytes(60, 30), Bytes(60, 30)),
    "hits": Row(Bytes(96, 4, 8), Bytes(97, 0)),
    "label_propagation": Row(Bytes(20, 17, 28), Bytes(4, 3.5, 21)),
    # arcs both ways as keys with weights, sorted
    "leiden": Row(Bytes(25, 233), Bytes(15, 122)),
    "louvain": Row(Bytes(25, 233), Bytes(15, 122)),
    "maximal_bipartite_matching": Row(Bytes(90, 0), Bytes(90, 0)),
    "maximal_independent_set": Row(Bytes(111, 22.4), Bytes(100, 18.4)),
    # every edge once with its weight, and the order of those that are sorted
    "minimum_spanning_forest": Row(Bytes(56, 142), Bytes(56, 70)),
    "modularity": Row(Bytes(60, 30), Bytes(60, 30)),
    # rows of distinct neighbours: keys of the arcs of both directions, sorted
    "neighbours": Row(Bytes(9, 141), Bytes(108, 12.2)),
    "neighbours kept": Row(Bytes(16, 18), Bytes(16, 0)),
    "personalized_pagerank": Row(Bytes(30, 4, 8), Bytes(22, 0)),
    "similarity of edges": Row(Bytes(9, 141), Bytes(41, 41)),
    "strongly_connected_components": Row(Bytes(95, 4.8), Bytes(84, 0)),
    "subgraph": Row(Bytes(60, 30), Bytes(60, 30)),
    "triangle_count": Row(Bytes(9, 141), Bytes(108, 12.2)),
    "truss_number": Row(Bytes(9, 141), Bytes(28, 61)),
    "weakly_connected_components": Row(Bytes(54, 0), Bytes(50, 0)),
}

# Bytes of each row of a result that has not one for each vertex, from where it is computed to the frame
RESULTS = {
    "edge_betweenness": 130,
    "multi_source_bfs": 87,
    "multi_source_sssp": 101,
    "personalized_pagerank": 65,
    "personalized_pagerank columns": 24,
    "similarity": 80,
}
