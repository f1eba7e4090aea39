"""Graph algorithms on dataframes: an edge frame goes in, a vertex frame comes out.

Known algorithms are functions.  Algorithms of your own are vertex programs in plain Python, run by
the same engines.
"""

from cugraph_ws.accessor import register as _register_accessors
from cugraph_ws.algorithms.belief_propagation import BeliefPropagation, belief_propagation
from cugraph_ws.algorithms.betweenness import (
    Betweenness,
    betweenness_centrality,
    edge_betweenness_centrality,
)
from cugraph_ws.algorithms.bfs import BFS, bfs
from cugraph_ws.algorithms.biconnectivity import articulation_points, bridges
from cugraph_ws.algorithms.circuit import Circuit, circuit
from cugraph_ws.algorithms.closeness import (
    DistanceSums,
    closeness_centrality,
    harmonic_centrality,
)
from cugraph_ws.algorithms.components import (
    WeaklyConnectedComponents,
    weakly_connected_components,
)
from cugraph_ws.algorithms.core import CoreNumber, core_number, k_core
from cugraph_ws.algorithms.degrees import degree, degrees
from cugraph_ws.algorithms.delta_pagerank import DeltaPageRank
from cugraph_ws.algorithms.eigenvector import (
    EigenvectorCentrality,
    KatzCentrality,
    eigenvector_centrality,
    katz_centrality,
)
from cugraph_ws.algorithms.heat import Heat, heat
from cugraph_ws.algorithms.hits import HITS, hits
from cugraph_ws.algorithms.independent_set import (
    Coloring,
    MaximalIndependentSet,
    coloring,
    maximal_independent_set,
)
from cugraph_ws.algorithms.label_propagation import LabelPropagation, label_propagation
from cugraph_ws.algorithms.leiden import Leiden, leiden
from cugraph_ws.algorithms.louvain import Louvain, louvain
from cugraph_ws.algorithms.matching import MaximalBipartiteMatching, maximal_bipartite_matching
from cugraph_ws.algorithms.modularity import conductance, modularity
from cugraph_ws.algorithms.multi_source import MultiSource, multi_source_bfs, multi_source_sssp
from cugraph_ws.algorithms.neural_network import NeuralNetwork, neural_network
from cugraph_ws.algorithms.pagerank import PageRank, pagerank
from cugraph_ws.algorithms.paths import shortest_path
from cugraph_ws.algorithms.personalized_pagerank import (
    PersonalizedPageRank,
    personalized_pagerank,
)
from cugraph_ws.algorithms.similarity import (
    Similarity,
    adamic_adar,
    cosine,
    jaccard,
    overlap,
    sorensen,
)
from cugraph_ws.algorithms.spanning_tree import (
    SpanningForest,
    minimum_spanning_forest,
    minimum_spanning_tree,
)
from cugraph_ws.algorithms.sssp import SSSP, sssp
from cugraph_ws.algorithms.strong_components import (
    StronglyConnectedComponents,
    strongly_connected_components,
)
from cugraph_ws.algorithms.subgraphs import ego_graph, subgraph
from cugraph_ws.algorithms.topological_levels import TopologicalLevels, topological_levels
from cugraph_ws.algorithms.triangles import (
    ClusteringCoefficient,
    TriangleCount,
    clustering_coefficient,
    triangle_count,
)
from cugraph_ws.algorithms.truss import TrussNumber, k_truss, truss_number
from cugraph_ws.algorithms.widest_path import WidestPath, widest_path
from cugraph_ws.dask.local import local_cluster
from cugraph_ws.dask.probe import ClusterScan, cluster_scan
from cugraph_ws.errors import (
    ConvergenceError,
    CugraphWsError,
    EngineError,
    FileError,
    GraphMemoryError,
    GraphWarning,
    InputError,
    Interrupted,
    ProgramError,
    WorkerLostError,
)
from cugraph_ws.execution.check import CheckReport, check
from cugraph_ws.execution.loop import Result
from cugraph_ws.execution.run import run
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.report import GraphReport
from cugraph_ws.program.combines import bitset, first_by, histogram, top
from cugraph_ws.program.declarations import (
    boolean,
    distribution,
    edge,
    edge_state,
    float32,
    float64,
    floating,
    hidden,
    in_degree,
    in_weight,
    int32,
    int64,
    like,
    neighbour_count,
    nullable,
    optional_vertex_set,
    out_degree,
    out_weight,
    parameter,
    predecessor,
    vertex_id,
    vertex_parameter,
    vertex_set,
    vertex_value,
)
from cugraph_ws.program.decorator import (
    VertexProgram,
    aggregate,
    any_message,
    l1_norm,
    max_norm,
    vertex_program,
)
from cugraph_ws.program.edge_program import EdgeProgram, edge_program
from cugraph_ws.program.jumps import at, greatest_at, least_at, sum_at
from cugraph_ws.program.lists import mode
from cugraph_ws.program.phases import Phases, phase, phases

__version__ = "0.1.0"

_register_accessors()

__all__ = [
    "BFS",
    "HITS",
    "SSSP",
    "BeliefPropagation",
    "Betweenness",
    "CheckReport",
    "Circuit",
    "ClusterScan",
    "ClusteringCoefficient",
    "Coloring",
    "ConvergenceError",
    "CoreNumber",
    "CugraphWsError",
    "DeltaPageRank",
    "DistanceSums",
    "EdgeProgram",
    "EigenvectorCentrality",
    "EngineError",
    "FileError",
    "Graph",
    "GraphMemoryError",
    "GraphReport",
    "GraphWarning",
    "Heat",
    "InputError",
    "Interrupted",
    "KatzCentrality",
    "LabelPropagation",
    "Leiden",
    "Louvain",
    "MaximalBipartiteMatching",
    "MaximalIndependentSet",
    "MultiSource",
    "NeuralNetwork",
    "PageRank",
    "PersonalizedPageRank",
    "Phases",
    "ProgramError",
    "Result",
    "Similarity",
    "SpanningForest",
    "StronglyConnectedComponents",
    "TopologicalLevels",
    "TriangleCount",
    "TrussNumber",
    "VertexProgram",
    "WeaklyConnectedComponents",
    "WidestPath",
    "WorkerLostError",
    "adamic_adar",
    "aggregate",
    "any_message",
    "articulation_points",
    "at",
    "belief_propagation",
    "betweenness_centrality",
    "bfs",
    "bitset",
    "boolean",
    "bridges",
    "check",
    "circuit",
    "closeness_centrality",
    "cluster_scan",
    "clustering_coefficient",
    "coloring",
    "conductance",
    "core_number",
    "cosine",
    "degree",
    "degrees",
    "distribution",
    "edge",
    "edge_betweenness_centrality",
    "edge_program",
    "edge_state",
    "ego_graph",
    "eigenvector_centrality",
    "estimate_memory",
    "first_by",
    "float32",
    "float64",
    "floating",
    "greatest_at",
    "harmonic_centrality",
    "heat",
    "hidden",
    "histogram",
    "hits",
    "in_degree",
    "in_weight",
    "int32",
    "int64",
    "jaccard",
    "k_core",
    "k_truss",
    "katz_centrality",
    "l1_norm",
    "label_propagation",
    "least_at",
    "leiden",
    "like",
    "local_cluster",
    "louvain",
    "max_norm",
    "maximal_bipartite_matching",
    "maximal_independent_set",
    "minimum_spanning_forest",
    "minimum_spanning_tree",
    "mode",
    "modularity",
    "multi_source_bfs",
    "multi_source_sssp",
    "neighbour_count",
    "neural_network",
    "nullable",
    "optional_vertex_set",
    "out_degree",
    "out_weight",
    "overlap",
    "pagerank",
    "parameter",
    "personalized_pagerank",
    "phase",
    "phases",
    "predecessor",
    "run",
    "shortest_path",
    "sorensen",
    "sssp",
    "strongly_connected_components",
    "subgraph",
    "sum_at",
    "top",
    "topological_levels",
    "triangle_count",
    "truss_number",
    "vertex_id",
    "vertex_parameter",
    "vertex_program",
    "vertex_set",
    "vertex_value",
    "weakly_connected_components",
    "widest_path",
]


def __dir__() -> list[str]:
    return list(__all__)
