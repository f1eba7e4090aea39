"""The loop of each public function, for estimates of its memory before there is a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from cugraph_ws.algorithms.belief_propagation import BeliefPropagation
from cugraph_ws.algorithms.betweenness import Betweenness
from cugraph_ws.algorithms.bfs import BFS
from cugraph_ws.algorithms.biconnectivity import Biconnectivity
from cugraph_ws.algorithms.circuit import Circuit
from cugraph_ws.algorithms.closeness import DistanceSums
from cugraph_ws.algorithms.components import WeaklyConnectedComponents
from cugraph_ws.algorithms.core import CoreNumber
from cugraph_ws.algorithms.distances import Diameter, Eccentricities
from cugraph_ws.algorithms.eigenvector import EigenvectorCentrality
from cugraph_ws.algorithms.footprints import ROWS, community_memory, subgraph_memory
from cugraph_ws.algorithms.hits import HITS
from cugraph_ws.algorithms.independent_set import Coloring, MaximalIndependentSet
from cugraph_ws.algorithms.krylov import PrincipalVector
from cugraph_ws.algorithms.label_propagation import LabelPropagation
from cugraph_ws.algorithms.leiden import Leiden
from cugraph_ws.algorithms.louvain import Louvain
from cugraph_ws.algorithms.matching import MaximalBipartiteMatching
from cugraph_ws.algorithms.multi_source import MultiSource
from cugraph_ws.algorithms.neighbor_sample import NeighborSample
from cugraph_ws.algorithms.personalized_pagerank import PersonalizedPageRank
from cugraph_ws.algorithms.random_walks import node2vec, uniform, weighted, weighted_node2vec
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.algorithms.similarity import Similarity
from cugraph_ws.algorithms.spanning_tree import SpanningForest
from cugraph_ws.algorithms.sssp import SSSP
from cugraph_ws.algorithms.strong_components import StronglyConnectedComponents
from cugraph_ws.algorithms.triangles import ClusteringCoefficient, TriangleCount
from cugraph_ws.algorithms.truss import TrussNumber
from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.execution.edge_loop import EdgeLoop
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.execution.run_memory import lists_messages
from cugraph_ws.execution.vector_loop import VectorLoop
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.execution.walk_loop import WalkLoop
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.phases import Phases
from cugraph_ws.program.vector_program import VectorProgram
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.program.walk_program import WalkProgram

__all__ = ["FUNCTIONS", "lists_messages", "loop_of"]

_EIGENVECTOR: Any = EigenvectorCentrality  # type checkers see the classes that they are made from
_CIRCUIT: Any = Circuit

_LENGTH = 80  # of walks, if nothing is said


def _walks(program: WalkProgram, starts: int) -> WalkLoop:
    """Return the loop of walks from a number of starts."""
    return WalkLoop(program, {"starts": range(starts), "length": _LENGTH}, Options())


def _walks_of_kinds(plain: WalkProgram, by_weight: WalkProgram, starts: int) -> SimpleNamespace:
    """Return the memory of walks that read weights if there are any."""
    loops = _walks(plain, starts), _walks(by_weight, starts)
    return SimpleNamespace(memory=lambda sizes: loops[sizes.weighted].memory(sizes))


# What each function that is no program runs with its defaults, given a number of sources.
FUNCTIONS: dict[str, Callable[[int], Any]] = {
    "adamic_adar": lambda _: Similarity("adamic_adar"),
    "articulation_points": lambda _: Biconnectivity(),
    "assortativity": lambda _: ROWS["assortativity"],
    "average_clustering": lambda _: ClusteringCoefficient(),
    "average_shortest_path_length": lambda _: Eccentricities(),
    "belief_propagation": lambda _: BeliefPropagation(["", ""], [[1.0, 1.0], [1.0, 1.0]]),
    "betweenness_centrality": Betweenness,
    "bipartite_projection": lambda _: Similarity("common"),
    "bridges": lambda _: Biconnectivity(),
    "circuit": lambda _: VertexLoop(_CIRCUIT, {"sources": {}}, Options()),
    "closeness_centrality": lambda count: DistanceSums(range(count)),
    "clustering_coefficient": lambda _: ClusteringCoefficient(),
    "coloring": lambda _: Coloring(),
    "conductance": lambda _: SimpleNamespace(memory=community_memory),
    "core_number": lambda _: CoreNumber(),
    "cosine": lambda _: Similarity("cosine"),
    "diameter": lambda _: Diameter(),
    "eccentricity": lambda count: Eccentricities(range(count)),
    "ego_graph": lambda _: SimpleNamespace(memory=partial(subgraph_memory, searched=True)),
    "edge_betweenness_centrality": lambda count: Betweenness(count, edges=True),
    "eigenvector_centrality": lambda _: PrincipalVector(_EIGENVECTOR),
    "harmonic_centrality": lambda count: DistanceSums(range(count)),
    "hits": lambda _: HITS(),
    "is_connected": lambda _: WeaklyConnectedComponents(),
    "jaccard": lambda _: Similarity("jaccard"),
    "k_core": lambda _: CoreNumber(),
    "k_truss": lambda _: TrussNumber(),
    "label_propagation": lambda _: LabelPropagation(),
    "leiden": lambda _: Leiden(),
    "louvain": lambda _: Louvain(),
    "maximal_bipartite_matching": lambda _: MaximalBipartiteMatching([]),
    "maximal_independent_set": lambda _: MaximalIndependentSet(),
    "maximum_spanning_forest": lambda _: SpanningForest(greatest=True),
    "minimum_spanning_forest": lambda _: SpanningForest(),
    "minimum_spanning_tree": lambda _: SpanningForest(),
    "modularity": lambda _: SimpleNamespace(memory=community_memory),
    "multi_source_bfs": lambda count: MultiSource(BFS, "start", range(count)),
    "multi_source_sssp": lambda count: MultiSource(SSSP, "start", range(count)),
    "neighbor_sample": lambda count: NeighborSample(range(count)),
    "node2vec_walks": lambda count: _walks_of_kinds(node2vec, weighted_node2vec, count),
    "overlap": lambda _: Similarity("overlap"),
    "personalized_pagerank": lambda count: PersonalizedPageRank(range(count)),
    "random_walks": lambda count: _walks_of_kinds(uniform, weighted, count),
    "reciprocity": lambda _: ROWS["neighbours"],
    "sorensen": lambda _: Similarity("sorensen"),
    "strongly_connected_components": lambda _: StronglyConnectedComponents(),
    "subgraph": lambda _: SimpleNamespace(memory=subgraph_memory),
    "transitivity": lambda _: TriangleCount(),
    "triangle_count": lambda _: TriangleCount(),
    "truss_number": lambda _: TrussNumber(),
    "weakly_connected_components": lambda _: WeaklyConnectedComponents(),
}


def loop_of(program: Any, sources: int) -> Any:
    """Return the loop that runs a function, a program or phases; a loop itself.

    Parameters
    ----------
    program : callable, str, VertexProgram, EdgeProgram, WalkProgram, Phases or Loop
    sources : int
        Number of starts, seeds or sources of a function.

    Returns
    -------
    Loop

    Raises
    ------
    InputError
        If it is none of these.
    """
    name = program if isinstance(program, str) else getattr(program, "__name__", "")
    declared = ALGORITHMS.get(name)
    if name in FUNCTIONS:
        program = FUNCTIONS[name](sources)
    elif declared is not None and declared.program is not None:
        program = declared.program
    if isinstance(program, VectorProgram):
        return VectorLoop(program, {}, Options())
    if isinstance(program, VertexProgram):
        return VertexLoop(program, {}, Options())
    if isinstance(program, Phases):
        return PhasedLoop(program, {}, Options())
    if isinstance(program, EdgeProgram):
        return EdgeLoop(program, {}, Options())
    if isinstance(program, WalkProgram):
        return _walks(program, sources)
    if not callable(getattr(program, "memory", None)):
        raise InputError(
            f"program={shown(program)} is neither a function that runs on a graph, nor a vertex program, nor a "
            "loop; give what is to be run"
        )
    return program
