"""The table of what algorithms with loops of their own take, on the CPU and on a GPU.

Bytes at a run's maximum beside the built graph, with the result as a frame, for each vertex and each arc (an
undirected edge is two); the third number is for each arc of a weighted graph besides.  They are measured by
`python -m bench runs`, which prints how far an estimate is from the peak; vertex programs have a formula, in
`execution/run_memory.py`.

A GPU's loops keep and sort other arrays: the weights, which are uploaded when they are first read (16 bytes an
arc, then 8 for each order of the arcs), positions of 64 bits, and the CSR with what its making takes.
"""

from __future__ import annotations

from cugraph_ws.graph.footprints import Bytes, OnGpu, Row, Sizes

__all__ = ["EDGES_ON_GPU", "RESULTS", "ROWS", "community_memory", "subgraph_memory"]

MERGED = Bytes(
    11, 17.3
)  # while repeated neighbours are taken out of the rows of an undirected graph

# Keys of the arcs of both directions, sorted, as on a CPU
NEIGHBOURS_ON_GPU = OnGpu(
    [Bytes(1, 130), Bytes(55, 105)], [Bytes(0, 57), Bytes(50, 53)], Bytes(0, 0)
)
EDGES_ON_GPU = OnGpu([Bytes(0, 80, 16)], [Bytes(0, 57, 8)])  # in order, with their scores

IDS_LOOKED_UP = 190  # bytes by vertex while all vertices are found by their text
VALUES_LOOKED_UP = 290  # the same with a value of each

#            directed graphs, with the CSR    undirected graphs
#            on a GPU, beside the CSR: the same; what is there while the CSR is made; arcs that are listed
ROWS = {
    # the rows of arcs, for self-loops; then degrees and sums
    "assortativity": Row(Bytes(72, 0), Bytes(72, 0), Bytes(15, 9), result=0,
        gpu=OnGpu([Bytes(64, 0)], [Bytes(72, 0), Bytes(8, 17)])),
    # arcs as keys both ways: messages, places, and the table of the next ones
    "belief_propagation": Row(Bytes(106, 100), Bytes(75, 41),
        gpu=OnGpu([Bytes(72, 80)], [Bytes(72, 40)], Bytes(24, 0))),
    # levels, paths and dependencies are by source; integer weights are converted
    "betweenness_centrality": Row(Bytes(20, 4.3), Bytes(12, 0), result=0,
        gpu=OnGpu([Bytes(21, 0)], [Bytes(21, 0)], Bytes(24, 0))),
    "weighted_betweenness_centrality": Row(Bytes(20, 4, 8), Bytes(12, 0, 8), result=0,
        gpu=OnGpu([Bytes(0, 0, 16)], [Bytes(0, 0, 8)], Bytes(24, 0), (16, 16))),
    # edges once, the forest, the nearest common ancestors of the others' ends
    "biconnectivity": Row(Bytes(222, 138), Bytes(216, 68),
        gpu=OnGpu([Bytes(255, 116), Bytes(100, 130)], [Bytes(272, 63)])),
    # preorder numbers, parents, the next arc
    "biconnectivity of one CPU": Row(Bytes(40, 4), Bytes(30, 0)),
    "clustering_coefficient": Row(Bytes(9, 141), Bytes(108, 12.2), MERGED, gpu=NEIGHBOURS_ON_GPU),
    "coloring": Row(Bytes(9, 141), Bytes(82, 8), MERGED,
        gpu=OnGpu([Bytes(10, 130), Bytes(50, 105)], [Bytes(32, 55)], Bytes(0, 0))),
    "coloring by seed": Row(Bytes(100, 4), Bytes(92, 0),
        gpu=OnGpu([Bytes(76, 0)], [Bytes(116, 0)], Bytes(48, 0), (8, 0))),
    "core_number": Row(Bytes(50, 4), Bytes(41, 0),
        gpu=OnGpu([Bytes(33, 0)], [Bytes(33, 0)], Bytes(8, 0))),
    # bits of a search, hops both ways, bounds
    "diameter": Row(Bytes(122, 4), Bytes(115, 0), result=0,
        gpu=OnGpu([Bytes(56, 0)], [Bytes(56, 0)], Bytes(81, 0))),
    # bits of 64 searches, and the vertices of a level
    "distance_sums": Row(Bytes(70, 4), Bytes(62, 0), result=0,
        gpu=OnGpu([Bytes(48, 0)], [Bytes(48, 0)], Bytes(59, 0))),
    "distance_sums by heaps": Row(Bytes(26, 4), Bytes(26, 0)),  # of one CPU
    "weighted_distance_sums": Row(Bytes(54, 4.4, 8), Bytes(42, 0),
        gpu=OnGpu([Bytes(8, 0, 16)], [Bytes(0, 0, 8)], Bytes(80, 0), (24, 24))),
    "eigenvector_centrality": Row(Bytes(46, 0), Bytes(100, 0),
        gpu=OnGpu([Bytes(44, 0, 16)], [Bytes(97, 0, 16)])),
    "hits": Row(Bytes(107, 4, 8), Bytes(99, 0),
        gpu=OnGpu([Bytes(130, 0, 16)], [Bytes(121, 0, 16)], Bytes(33, 0, 8))),
    "label_propagation": Row(Bytes(20, 17, 28), Bytes(4, 3.5, 21),
        gpu=OnGpu([Bytes(43, 0, 32), Bytes(0, 0, 48)], [Bytes(43, 0, 16), Bytes(0, 0, 32)], Bytes(0, 0))),
    # arcs both ways as keys with weights, sorted
    "louvain": Row(Bytes(29, 240), Bytes(18, 125),  # and Leiden
        gpu=OnGpu([Bytes(19, 261)], [Bytes(30, 130), Bytes(340, 0)])),
    "maximal_bipartite_matching": Row(Bytes(70, 4), Bytes(59, 0), looked_up=IDS_LOOKED_UP,
        gpu=OnGpu([Bytes(38, 0)], [Bytes(38, 0)], Bytes(10, 0))),
    "maximal_independent_set": Row(Bytes(109, 4), Bytes(90, 0),
        gpu=OnGpu([Bytes(89, 0)], [Bytes(76, 0)], Bytes(48, 0), (24, 24))),
    # every edge once with its weight, and the order of those that are sorted
    "marks of edges": Row(Bytes(2, 8), Bytes(2, 9), result=66),  # the least that subgraphs take
    "minimum_spanning_forest": Row(Bytes(56, 129), Bytes(56, 70),
        gpu=OnGpu([Bytes(200, 33)], [Bytes(160, 28)])),
    "maximum_spanning_forest": Row(Bytes(56, 129), Bytes(56, 70),
        gpu=OnGpu([Bytes(60, 127)], [Bytes(61, 67)])),
    "forest on one CPU": Row(Bytes(30, 38, 42), Bytes(26, 19, 20)),
    # sums by community, also for conductance: in arrays by arc, or, on a CPU, of the weights by row alone
    "modularity": Row(Bytes(33, 42), Bytes(33, 42), looked_up=VALUES_LOOKED_UP,
        gpu=OnGpu([Bytes(25, 49)], [Bytes(25, 49)])),
    "modularity on a CPU": Row(Bytes(57, 4, 16), Bytes(49, 0, 8), looked_up=VALUES_LOOKED_UP),
    # rows of distinct neighbours: keys of the arcs of both directions, sorted
    "neighbours": Row(Bytes(9, 141), Bytes(108, 12.2), MERGED, gpu=NEIGHBOURS_ON_GPU),
    "neighbours kept": Row(Bytes(16, 18), Bytes(16, 7),
        gpu=OnGpu([Bytes(32, 24)], [Bytes(32, 12)], Bytes(0, 0))),
    # the frame with three columns; sums of weights out of vertices, and integer weights as floats
    "pagerank of groups": Row(Bytes(64, 0, 19.3), Bytes(36, 0, 8), result=78),
    "personalized_pagerank": Row(Bytes(30, 4, 9), Bytes(6, 0), result=6,
        gpu=OnGpu([Bytes(25, 0, 8)], [Bytes(25, 0, 8)])),
    # a result with a float for each vertex
    "scores": Row(Bytes(0, 0), Bytes(0, 0), gpu=OnGpu([Bytes(8, 0)], [Bytes(8, 0)])),
    "similarity of edges": Row(Bytes(9, 141), Bytes(76, 38.5),
        gpu=OnGpu([Bytes(1, 130), Bytes(69, 100)], [Bytes(66, 55)], Bytes(0, 0))),
    "strongly_connected_components": Row(Bytes(95, 4.8), Bytes(84, 0),
        gpu=OnGpu([Bytes(133, 0)], [Bytes(78, 0)], Bytes(40, 0), (0, 24))),
    "triangle_count": Row(Bytes(9, 141), Bytes(108, 12.2), MERGED, gpu=NEIGHBOURS_ON_GPU),
    # every edge once with its triangles; repeated edges take less
    "truss_number": Row(Bytes(47, 141), Bytes(66, 63),
        gpu=OnGpu([Bytes(1, 130), Bytes(56, 116)], [Bytes(28, 71)], Bytes(0, 0))),
    "weakly_connected_components": Row(Bytes(56, 0), Bytes(52, 0),
        gpu=OnGpu([Bytes(21, 0)], [Bytes(21, 0)])),
}  # fmt: skip

# Bytes of each row of a result that has not one for each vertex, from where it is computed to the frame
RESULTS = {
    "edge_betweenness": 130,
    "multi_source_bfs": 87,
    "multi_source_bfs on a GPU": 37,  # arrays alone
    "multi_source_sssp": 101,
    "multi_source_sssp on a GPU": 48.5,  # the same
    "personalized_pagerank": 65,
    "personalized_pagerank columns": 24,
    "similarity": 80,
    "similarity on a GPU": 96,  # the same
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
    if sizes.on_device and not sizes.framed:  # of the search alone
        return searched * max(
            23 * sizes.vertices + sizes.transposing, 12 * sizes.vertices + sizes.csr
        )
    listed = ROWS["marks of edges"].of(sizes) + (each + 2 * sizes.wide_ids) * edges
    if searched:
        return listed + sizes.csr
    return max(listed, IDS_LOOKED_UP * sizes.vertices * (sizes.wide_ids > 0))
