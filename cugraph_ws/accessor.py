"""`edges.ws.pagerank(source="src", destination="dst")`: the functions as methods of a frame.

An accessor is made anew at every use, so it keeps only the frame.  It is registered with a
dataframe library when that library is imported, so users of one library never load another.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt

from cugraph_ws.algorithms.belief_propagation import belief_propagation
from cugraph_ws.algorithms.betweenness import (
    betweenness_centrality,
    edge_betweenness_centrality,
)
from cugraph_ws.algorithms.bfs import bfs
from cugraph_ws.algorithms.biconnectivity import articulation_points, bridges
from cugraph_ws.algorithms.circuit import circuit
from cugraph_ws.algorithms.closeness import closeness_centrality, harmonic_centrality
from cugraph_ws.algorithms.components import weakly_connected_components
from cugraph_ws.algorithms.core import core_number, k_core
from cugraph_ws.algorithms.degrees import degree, degrees
from cugraph_ws.algorithms.eigenvector import eigenvector_centrality, katz_centrality
from cugraph_ws.algorithms.heat import heat
from cugraph_ws.algorithms.hits import hits
from cugraph_ws.algorithms.independent_set import coloring, maximal_independent_set
from cugraph_ws.algorithms.label_propagation import label_propagation
from cugraph_ws.algorithms.leiden import leiden
from cugraph_ws.algorithms.louvain import louvain
from cugraph_ws.algorithms.matching import maximal_bipartite_matching
from cugraph_ws.algorithms.modularity import conductance, modularity
from cugraph_ws.algorithms.multi_source import multi_source_bfs, multi_source_sssp
from cugraph_ws.algorithms.neural_network import neural_network
from cugraph_ws.algorithms.pagerank import pagerank
from cugraph_ws.algorithms.personalized_pagerank import personalized_pagerank
from cugraph_ws.algorithms.similarity import adamic_adar, cosine, jaccard, overlap, sorensen
from cugraph_ws.algorithms.spanning_tree import minimum_spanning_forest, minimum_spanning_tree
from cugraph_ws.algorithms.sssp import sssp
from cugraph_ws.algorithms.strong_components import strongly_connected_components
from cugraph_ws.algorithms.subgraphs import ego_graph, subgraph
from cugraph_ws.algorithms.topological_levels import topological_levels
from cugraph_ws.algorithms.triangles import clustering_coefficient, triangle_count
from cugraph_ws.algorithms.truss import k_truss, truss_number
from cugraph_ws.algorithms.widest_path import widest_path
from cugraph_ws.execution.check import check
from cugraph_ws.execution.run import run
from cugraph_ws.graph.graph import Graph

__all__ = ["NAME", "EdgeFrameAccessor", "register"]

NAME = "ws"


def _method(function: Callable[..., Any], frame_parameter: str = "graph") -> Any:
    """Return `function` as a method that passes the frame as one of its parameters."""
    signature = inspect.signature(function)
    position = list(signature.parameters).index(frame_parameter)

    @functools.wraps(function)
    def method(self: EdgeFrameAccessor, /, *arguments: Any, **options: Any) -> Any:
        if len(arguments) >= position:
            arguments = (*arguments[:position], self._frame, *arguments[position:])
        else:  # the frame is not the first parameter
            options[frame_parameter] = self._frame
        return function(*arguments, **options)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    others = [one for name, one in signature.parameters.items() if name != frame_parameter]
    shown = signature.replace(parameters=[own, *others])
    method.__signature__ = shown  # type: ignore[attr-defined]  # where inspect looks first
    method.__name__ = function.__name__.lower()  # Graph is a method here too
    method.__qualname__ = f"EdgeFrameAccessor.{method.__name__}"
    return method


class EdgeFrameAccessor:
    """Graph algorithms on a frame of edges, at `frame.ws`.

    Every method calls the function of the same name in `cugraph_ws` on this frame.  The columns of
    the edges are arguments.

    Parameters
    ----------
    frame : DataFrame
        The edges.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    adamic_adar = _method(adamic_adar)
    articulation_points = _method(articulation_points)
    belief_propagation = _method(belief_propagation)
    betweenness_centrality = _method(betweenness_centrality)
    bfs = _method(bfs)
    bridges = _method(bridges)
    check = _method(check)
    circuit = _method(circuit)
    closeness_centrality = _method(closeness_centrality)
    clustering_coefficient = _method(clustering_coefficient)
    coloring = _method(coloring)
    conductance = _method(conductance)
    core_number = _method(core_number)
    cosine = _method(cosine)
    degree = _method(degree)
    degrees = _method(degrees)
    edge_betweenness_centrality = _method(edge_betweenness_centrality)
    ego_graph = _method(ego_graph)
    eigenvector_centrality = _method(eigenvector_centrality)
    graph = _method(Graph, "edges")
    harmonic_centrality = _method(harmonic_centrality)
    heat = _method(heat)
    hits = _method(hits)
    jaccard = _method(jaccard)
    k_core = _method(k_core)
    k_truss = _method(k_truss)
    katz_centrality = _method(katz_centrality)
    label_propagation = _method(label_propagation)
    leiden = _method(leiden)
    louvain = _method(louvain)
    maximal_bipartite_matching = _method(maximal_bipartite_matching)
    maximal_independent_set = _method(maximal_independent_set)
    minimum_spanning_forest = _method(minimum_spanning_forest)
    minimum_spanning_tree = _method(minimum_spanning_tree)
    modularity = _method(modularity)
    multi_source_bfs = _method(multi_source_bfs)
    multi_source_sssp = _method(multi_source_sssp)
    neural_network = _method(neural_network)
    overlap = _method(overlap)
    pagerank = _method(pagerank)
    personalized_pagerank = _method(personalized_pagerank)
    run = _method(run)
    sorensen = _method(sorensen)
    sssp = _method(sssp)
    strongly_connected_components = _method(strongly_connected_components)
    subgraph = _method(subgraph)
    topological_levels = _method(topological_levels)
    triangle_count = _method(triangle_count)
    truss_number = _method(truss_number)
    weakly_connected_components = _method(weakly_connected_components)
    widest_path = _method(widest_path)


def _register_pandas(module: ModuleType) -> None:
    if not hasattr(module.DataFrame, NAME):
        module.api.extensions.register_dataframe_accessor(NAME)(EdgeFrameAccessor)


def _register_polars(module: ModuleType) -> None:
    if not hasattr(module.DataFrame, NAME):
        module.api.register_dataframe_namespace(NAME)(EdgeFrameAccessor)


def _register_dask(module: ModuleType) -> None:
    if not hasattr(module.DataFrame, NAME):
        module.extensions.register_dataframe_accessor(NAME)(EdgeFrameAccessor)


def register() -> None:
    """Give the frames of pandas, Polars, cuDF and Dask a `.ws`, now or when they are imported.

    A `.ws` of another package is kept.
    """
    wrapt.register_post_import_hook(_register_pandas, "pandas")
    wrapt.register_post_import_hook(_register_polars, "polars")
    wrapt.register_post_import_hook(_register_pandas, "cudf")  # the same interface as pandas'
    wrapt.register_post_import_hook(_register_dask, "dask.dataframe")
