"""`edges.ws.pagerank(source="src", destination="dst")`: the functions as methods of a frame.

An accessor is made anew at every use, so it keeps only the frame.  It is registered with a
dataframe library when that library is imported, so users of one library never load another.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar

import wrapt

from cugraph_ws.algorithms import public
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.errors import InputError
from cugraph_ws.execution.check import CheckReport, check
from cugraph_ws.execution.explain import Explanation, explain
from cugraph_ws.execution.loop import Result
from cugraph_ws.execution.run import run
from cugraph_ws.execution.run_many import run_many
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.methods import add_methods
from cugraph_ws.methods import Graph
from cugraph_ws.pictures.layout import layout
from cugraph_ws.pictures.plot import plot
from cugraph_ws.suggestions import did_you_mean

__all__ = ["NAME", "EdgeFrameAccessor", "register"]

NAME = "ws"

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def method(
    function: Callable[Concatenate[Graph[FrameT], Given], Returned],
) -> Callable[Concatenate[EdgeFrameAccessor[FrameT], Given], Returned]:
    """Return a function of a graph as a method, which passes the frame as the graph."""
    return _method(function, "graph")


def constructor(
    kind: Callable[Concatenate[FrameT, Given], Returned],
) -> Callable[Concatenate[EdgeFrameAccessor[FrameT], Given], Returned]:
    """Return a class that is made from edges as a method."""
    return _method(kind, "edges")


def _method(function: Callable[..., Any], frame_parameter: str) -> Callable[..., Any]:
    """Return `function` as a method that passes the frame as one of its parameters."""
    signature = inspect.signature(function)
    position = list(signature.parameters).index(frame_parameter)

    @functools.wraps(function)
    def method(self: EdgeFrameAccessor[Any], /, *arguments: Any, **options: Any) -> Any:
        if arguments and arguments[0] is self._frame:
            raise InputError(
                f"frame.{NAME}.{function.__name__}() has the frame before .{NAME} as its graph; leave out the first "
                "argument"
            )
        if len(arguments) >= position:
            arguments = (*arguments[:position], self._frame, *arguments[position:])
        else:  # the frame is not the first parameter
            options[frame_parameter] = self._frame
        return function(*arguments, **options)

    self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = [
        parameter for name, parameter in signature.parameters.items() if name != frame_parameter
    ]
    shown = signature.replace(parameters=[self_parameter, *parameters])
    method.__signature__ = shown  # type: ignore[attr-defined]  # where inspect looks first
    method.__name__ = function.__name__.lower()  # Graph is a method here too
    method.__qualname__ = f"EdgeFrameAccessor.{method.__name__}"
    return method


class EdgeFrameAccessor(Generic[FrameT]):
    """Graph algorithms on a frame of edges, at `frame.ws`.

    Every method calls the function of the same name in `cugraph_ws` on this frame.  The columns of
    the edges are arguments.

    Parameters
    ----------
    frame : DataFrame
        The edges.
    """

    if not TYPE_CHECKING:  # to type checkers other names are errors

        def __getattr__(self, name: str) -> NoReturn:
            hint = "" if name.startswith("_") else did_you_mean(name, _public(self), f"{NAME}.")
            raise AttributeError(f"frame.{NAME} has no {name!r}{hint}", name=name)

    def __init__(self, frame: FrameT) -> None:
        self._frame = frame

    graph = constructor(Graph)
    run: Callable[..., Result[FrameT]] = _method(run, "graph")
    run_many: Callable[..., list[Result[FrameT]]] = _method(run_many, "graph")
    run_groups: Callable[..., FrameT] = _method(public.run_groups, "edges")
    check: Callable[..., CheckReport] = _method(check, "graph")
    explain: Callable[..., Explanation] = _method(explain, "graph")
    shortest_path: Callable[..., FrameT] = _method(public.shortest_path, "result")
    layout = method(layout)
    plot = method(plot)

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


def _public(accessor: object) -> list[str]:
    """Return the names of an accessor's methods."""
    return [name for name in dir(type(accessor)) if not name.startswith("_")]


def _run_on(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a program and a graph as one of a graph and a program."""

    @functools.wraps(function)
    def method(graph: Any, program: Any, /, *arguments: Any, **options: Any) -> Any:
        return function(program, graph, *arguments, **options)

    return method


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

    A `.ws` of another package is kept.  Graphs get the functions as methods at once.
    """
    functions = {name: declared.function for name, declared in ALGORITHMS.items()}
    more: dict[str, Callable[..., Any]] = {"layout": layout, "plot": plot}
    more["shortest_path"] = public.shortest_path
    more |= {"run": _run_on(run), "run_many": _run_on(run_many)}
    more |= {"check": _run_on(check), "explain": _run_on(explain)}
    add_methods({**functions, **more})
    wrapt.register_post_import_hook(_register_pandas, "pandas")
    wrapt.register_post_import_hook(_register_polars, "polars")
    wrapt.register_post_import_hook(_register_pandas, "cudf")  # the same interface as pandas'
    wrapt.register_post_import_hook(_register_dask, "dask.dataframe")
