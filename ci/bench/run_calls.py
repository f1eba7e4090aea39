"""Every function as it is called: for `bench runs`, `bench compare` and `bench stops`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

PAIRS = 30e6  # of neighbours, whose coefficients take half a minute
TEXT = "vertex {:09}"  # a vertex of a graph with text ids

Call = Callable[[Any, Any, Any, dict[str, Any]], Any]


class Case(NamedTuple):
    """A function as it is called.

    Attributes
    ----------
    call : callable
        Takes the library, a graph, what `input` returned, and options.
    program : str or callable, optional
        What the estimate is of, or a function that returns it given the library and the input; by
        default the function with the case's name.
    sources : int
        Starts, seeds or sources.
    input : callable, optional
        Makes another argument, given the number of vertices, before memory is measured.
    edges : {"all", "acyclic", "sides", "light"}
        Which edges the graph has: all, those to greater vertices, those between two sides, or all with
        small weights.
    decided : bool
        Whether the data decide how much it takes, so that an estimate may be twice as much.
    counted : bool
        Whether it counts the edges of its result, for which the estimate is then.
    lists_pairs : bool
        Whether it computes a coefficient for every two neighbours of a vertex; graphs with more than `PAIRS`
        are left out.
    supersteps : callable, optional
        Returns how many supersteps a run took, given its result, if they may be as many as vertices: then the
        trace counts.
    shares : bool
        Whether it takes a share of what a GPU has free.
    """

    call: Call
    program: Any = None
    sources: int = 1
    input: Callable[[int], Any] | None = None
    edges: str = "all"
    decided: bool = False
    counted: bool = False
    lists_pairs: bool = False
    supersteps: Callable[[Any], int] | None = None
    shares: bool = False


def column(name: str) -> Callable[[int], Any]:
    """Return a function that makes a frame with a number for every vertex."""

    def made(n: int) -> Any:
        return pd.DataFrame({"vertex": np.arange(n), name: np.ones(n)})

    return made


def communities(n: int) -> Any:
    """Return a frame of communities of 50 vertices."""
    return pd.DataFrame({"vertex": np.arange(n), "partition": np.arange(n) // 50})


def pairs(n: int) -> Any:
    """Return a frame of random pairs, five for each vertex."""
    ends = np.random.default_rng(3).integers(0, n, (2, 5 * n))
    return pd.DataFrame({"first": ends[0], "second": ends[1]})


def priors(n: int) -> Any:
    """Return a frame of beliefs of two vertices."""
    return pd.DataFrame({"vertex": [0, 1], "no": [0.4, 0.5], "yes": [0.6, 0.5]})


def every_other(n: int) -> Any:
    """Return every other vertex."""
    return np.arange(0, n, 2)


def all_vertices(n: int) -> Any:
    """Return all vertices."""
    return np.arange(n)


def named(argument: Any) -> Any:
    """Return another argument with text for vertices."""

    def texts(numbers: Any) -> Any:
        return np.array([TEXT.format(number) for number in numbers], object)

    if isinstance(argument, np.ndarray):
        return texts(argument)
    ends = [name for name in ("vertex", "first", "second") if name in argument]
    return argument.assign(**{name: texts(argument[name]) for name in ends})


def first(graph: Any, count: int) -> list[Any]:
    """Return the first vertices."""
    return [n if graph.numbers_are_ids else TEXT.format(n) for n in range(count)]


def quiet(call: Callable[[], Any]) -> Any:
    """Return the result of a call, also if it has not converged."""
    from cugraph_ws import ConvergenceError

    try:
        return call()
    except ConvergenceError as error:
        return error.result.frame


def by_name(*names: str, started: bool = False, **facts: Any) -> dict[str, Case]:
    """Return cases of functions that are called with a graph, and with its first vertex if `started`."""

    def call(name: str, ws: Any, graph: Any, _: Any, options: dict[str, Any]) -> Any:
        start = first(graph, 1) if started else []
        return getattr(ws, name)(graph, *start, **options)

    return {name: Case(partial(call, name), **facts) for name in names}


MATRIX = [[1.3, 1.0], [1.0, 1.3]]
CASES: dict[str, Case] = {
    **by_name("assortativity", "clustering_coefficient", "coloring", "core_number", "maximal_independent_set", "triangle_count", "weakly_connected_components"),
    **by_name("articulation_points", "bridges", "leiden", "louvain", "maximum_spanning_forest", "minimum_spanning_forest", "pagerank", "strongly_connected_components", "truss_number", decided=True),
    **by_name("bfs", "sssp", "widest_path", started=True),
    "adamic_adar top": Case(
        lambda ws, g, _, o: ws.adamic_adar(g, top=3, **o),
        lambda ws, _: ws.Similarity("adamic_adar", top=3), decided=True, lists_pairs=True, shares=True,
    ),
    "belief_propagation": Case(
        lambda ws, g, given, o: quiet(lambda: ws.belief_propagation(g, given, MATRIX, max_iter=3, **o)),
        input=priors,
    ),
    "betweenness_centrality": Case(
        lambda ws, g, _, o: ws.betweenness_centrality(g, 8, **o), sources=8, decided=True
    ),
    "betweenness_centrality 1": Case(
        lambda ws, g, _, o: ws.betweenness_centrality(g, 1, **o), "betweenness_centrality",
        decided=True,
    ),
    "betweenness_centrality weighted": Case(
        lambda ws, g, _, o: ws.betweenness_centrality(g, 2, weighted=True, **o),
        lambda ws, _: ws.algorithms.betweenness.WeightedBetweenness(2), decided=True,
    ),
    "bipartite_projection top": Case(
        lambda ws, g, given, o: ws.bipartite_projection(g, given, top=3, **o),
        lambda ws, given: ws.algorithms.projection.Projection(given, top=3), input=every_other, edges="sides", decided=True,
        lists_pairs=True, shares=True,
    ),
    "circuit": Case(
        lambda ws, g, _, o: quiet(
            lambda: ws.circuit(g, dict(zip(first(g, 2), (1.0, 0.0), strict=True)), max_iter=5, **o)
        )
    ),
    "closeness_centrality": Case(
        lambda ws, g, _, o: ws.closeness_centrality(g, first(g, 64), **o), sources=64, decided=True
    ),
    "closeness_centrality weighted": Case(
        lambda ws, g, _, o: ws.closeness_centrality(g, first(g, 4), weighted=True, **o),
        lambda ws, _: ws.algorithms.closeness.WeightedDistanceSums(list(range(4))), decided=True,
    ),
    "coloring by seed": Case(
        lambda ws, g, _, o: ws.coloring(g, seed=1, **o), lambda ws, _: ws.Coloring(1), decided=True
    ),
    "conductance": Case(lambda ws, g, given, o: ws.conductance(g, given, **o), input=communities),
    "cosine of pairs": Case(
        lambda ws, g, given, o: ws.cosine(g, given, **o),
        lambda ws, given: ws.Similarity("cosine", given), input=pairs,
    ),
    "diameter": Case(  # the bounds of a few searches, on a GPU after its kernels are compiled
        lambda ws, g, _, o: ws.run(
            ws.algorithms.distances.Diameter(connected=False), g,
            timeout=1 if o["engine"] == "cpu" else 8, **o,
        ),
        decided=True,
    ),
    "eccentricity": Case(
        lambda ws, g, _, o: ws.eccentricity(g, first(g, 64), False, **o), sources=64, decided=True
    ),
    "edge_betweenness_centrality": Case(
        lambda ws, g, _, o: ws.edge_betweenness_centrality(g, 4, **o), sources=4, decided=True
    ),
    "ego_graph": Case(
        lambda ws, g, _, o: ws.ego_graph(g, first(g, 1), 3, **o), decided=True, counted=True
    ),
    "eigenvector_centrality": Case(
        lambda ws, g, _, o: quiet(lambda: ws.eigenvector_centrality(g, max_iter=60, **o)),
        decided=True,
    ),
    "harmonic_centrality": Case(
        lambda ws, g, _, o: ws.harmonic_centrality(g, k=64, **o),
        lambda ws, _: ws.algorithms.closeness.DistanceSums(k=64), decided=True,
    ),
    "heat": Case(
        lambda ws, g, given, o: quiet(lambda: ws.heat(g, given, max_iter=5, **o)),
        input=column("temperature"), edges="light",
    ),
    "hits": Case(lambda ws, g, _, o: quiet(lambda: ws.hits(g, max_iter=60, **o)), decided=True),
    "jaccard of edges": Case(
        lambda ws, g, _, o: ws.jaccard(g, "edges", **o), lambda ws, _: ws.Similarity("jaccard", "edges")
    ),
    "katz_centrality": Case(lambda ws, g, _, o: ws.katz_centrality(g, 1e-4, **o)),
    "label_propagation": Case(
        lambda ws, g, _, o: quiet(lambda: ws.label_propagation(g, max_iter=6, **o)), decided=True, shares=True
    ),
    "maximal_bipartite_matching": Case(
        lambda ws, g, given, o: ws.maximal_bipartite_matching(g, given, **o),
        input=every_other, edges="sides",
    ),
    "modularity": Case(lambda ws, g, given, o: ws.modularity(g, given, **o), input=communities),
    "multi_source_bfs": Case(
        lambda ws, g, _, o: ws.multi_source_bfs(g, first(g, 8), **o), sources=8
    ),
    "multi_source_sssp": Case(
        lambda ws, g, _, o: ws.multi_source_sssp(g, first(g, 8), **o), sources=8
    ),
    "neural_network": Case(
        lambda ws, g, given, o: ws.neural_network(g, given, **o),
        input=column("activation"), edges="acyclic",
    ),
    "neighbor_sample": Case(
        lambda ws, g, _, o: ws.neighbor_sample(g, first(g, 64) * 1000, [3, 3], batches=range(64_000), **o),
        lambda ws, _: ws.NeighborSample(range(64_000), [3, 3], range(64_000)), decided=True,
    ),
    "node2vec_walks": Case(
        lambda ws, g, _, o: ws.node2vec_walks(g, first(g, 64), 80, 0.5, 2.0, **o), sources=64
    ),
    "personalized_pagerank": Case(
        lambda ws, g, _, o: ws.personalized_pagerank(g, first(g, 8), tol=1e-2, **o), sources=8
    ),
    "personalized_pagerank columns": Case(
        lambda ws, g, _, o: ws.personalized_pagerank(g, first(g, 8), tol=1e-2, format="columns", **o),
        lambda ws, _: ws.PersonalizedPageRank(list(range(8)), format="columns"), decided=True,
    ),
    "personalized_pagerank top": Case(
        lambda ws, g, _, o: ws.personalized_pagerank(g, first(g, 8), tol=1e-2, top=10, **o),
        lambda ws, _: ws.PersonalizedPageRank(list(range(8)), top=10),
    ),
    "random_walks": Case(
        lambda ws, g, _, o: ws.random_walks(g, first(g, 64), 80, **o), sources=64
    ),
    "subgraph": Case(
        lambda ws, g, given, o: ws.subgraph(g, given), input=every_other, decided=True, counted=True
    ),
    "subgraph of all": Case(
        lambda ws, g, given, o: ws.subgraph(g, given), "subgraph", input=all_vertices, decided=True,
        counted=True,
    ),
    "topological_levels": Case(
        lambda ws, g, _, o: ws.topological_levels(g, **o), edges="acyclic", decided=True,
        supersteps=lambda levels: int(levels.level.max()) + 1,
    ),
}  # fmt: skip
