"""How long runs go on after `timeout=`, after a callback has returned False, and after Ctrl-C.

    python -m bench stops                                    all functions on three graphs
    python -m bench stops --graphs star --only jaccard louvain

Each function runs once on a small graph, which compiles it.  Then it runs on a large one, stopped after
0.2 s in each of the three ways.  A line shows the seconds from the request to the end of the call: the
lesser of the wall clock's and of the processor time of all threads, since other work on the machine
delays the one, and several threads count in the other.  A call that ends before the request shows that.
The exit status says whether a call went on for more than `--most` seconds.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import cugraph_ws as ws

__all__ = ["CALLS", "GRAPHS", "WAYS", "main"]

AFTER = 0.2  # seconds until a run is asked to stop
COUPLING = [[1.3, 1.0], [1.0, 1.3]]
Call = Callable[..., Any]


def _beliefs(graph: Any, **options: Any) -> Any:
    ids = np.arange(graph.number_of_vertices)
    priors = pd.DataFrame({"vertex": ids, "no": 0.4, "yes": 0.6})
    return ws.belief_propagation(graph, priors, COUPLING, **options)


def _starts(count: int, graph: Any) -> list[int]:
    return list(range(0, graph.number_of_vertices, -(-graph.number_of_vertices // count)))


def _many(function: Call, count: int, graph: Any, **options: Any) -> Any:
    return function(graph, _starts(count, graph), **options)


def _circuit(graph: Any, **options: Any) -> Any:
    sources = {0: 1.0, graph.number_of_vertices - 1: 0.0}
    return ws.circuit(graph, sources, tol=1e-12, **options)


def _sample(function: Call, count: int, weighted: bool, graph: Any, **options: Any) -> Any:
    count = min(count, graph.number_of_vertices)
    return function(graph, k=count, weighted=weighted, **options)


def _from_first(function: Call, graph: Any, **options: Any) -> Any:
    return function(graph, 0, **options)


def _matching(graph: Any, **options: Any) -> Any:
    return ws.maximal_bipartite_matching(graph, list(graph.left), **options)


CALLS: dict[str, Call] = {
    "adamic_adar": ws.adamic_adar,
    "articulation_points": ws.articulation_points,
    "belief_propagation": _beliefs,
    "betweenness_centrality": partial(_sample, ws.betweenness_centrality, 64, False),
    "betweenness_centrality, weighted": partial(_sample, ws.betweenness_centrality, 8, True),
    "bfs": partial(_from_first, ws.bfs),
    "bridges": ws.bridges,
    "circuit": _circuit,
    "closeness_centrality": partial(_sample, ws.closeness_centrality, 64, False),
    "closeness_centrality, weighted": partial(_sample, ws.closeness_centrality, 8, True),
    "clustering_coefficient": ws.clustering_coefficient,
    "coloring": ws.coloring,
    "core_number": ws.core_number,
    "cosine": ws.cosine,
    "edge_betweenness_centrality": partial(_sample, ws.edge_betweenness_centrality, 64, False),
    "edge_betweenness_centrality, weighted": partial(
        _sample, ws.edge_betweenness_centrality, 8, True
    ),
    "ego_graph": partial(_from_first, ws.ego_graph),
    "eigenvector_centrality": partial(ws.eigenvector_centrality, tol=1e-9),
    "harmonic_centrality": partial(_sample, ws.harmonic_centrality, 64, False),
    "harmonic_centrality, weighted": partial(_sample, ws.harmonic_centrality, 64, True),
    "heat": partial(ws.heat, temperature=1.0),
    "hits": partial(ws.hits, tol=1e-9),
    "jaccard": ws.jaccard,
    "k_core": ws.k_core,
    "k_truss": partial(ws.k_truss, k=4),
    "katz_centrality": partial(ws.katz_centrality, tol=1e-9),
    "label_propagation": ws.label_propagation,
    "leiden": ws.leiden,
    "louvain": ws.louvain,
    "maximal_bipartite_matching": _matching,
    "maximal_independent_set": ws.maximal_independent_set,
    "minimum_spanning_forest": ws.minimum_spanning_forest,
    "minimum_spanning_tree": ws.minimum_spanning_tree,
    "multi_source_bfs": partial(_many, ws.multi_source_bfs, 16),
    "multi_source_sssp": partial(_many, ws.multi_source_sssp, 16),
    "neural_network": partial(ws.neural_network, activation=0.5),
    "overlap": ws.overlap,
    "pagerank": partial(ws.pagerank, tol=1e-12),
    "personalized_pagerank": partial(_many, ws.personalized_pagerank, 16),
    "run DeltaPageRank": lambda graph, **options: ws.run(ws.DeltaPageRank, graph, **options),
    "run PageRank, 3 partitions": lambda graph, **options: ws.run(
        ws.PageRank, graph, tol=1e-12, plan=ws.Plan(partitions=3), **options
    ),
    "run SSSP, 3 partitions": lambda graph, **options: ws.run(
        ws.SSSP, graph, start=0, plan=ws.Plan(partitions=3), **options
    ),
    "sorensen": ws.sorensen,
    "sssp": partial(_from_first, ws.sssp),
    "strongly_connected_components": ws.strongly_connected_components,
    "topological_levels": ws.topological_levels,
    "triangle_count": ws.triangle_count,
    "truss_number": ws.truss_number,
    "weakly_connected_components": ws.weakly_connected_components,
    "widest_path": partial(_from_first, ws.widest_path),
}


def _random(size: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    arcs = 5 * size
    # Squares make some vertices far commoner than others
    return pd.DataFrame(
        {
            "source": (size * rng.random(arcs) ** 2).astype(int),
            "destination": rng.integers(0, size, arcs),
        }
    )


def _star(size: int) -> pd.DataFrame:
    return pd.DataFrame({"source": np.zeros(size - 1, int), "destination": np.arange(1, size)})


def _path(size: int) -> pd.DataFrame:
    return pd.DataFrame({"source": np.arange(size - 1), "destination": np.arange(1, size)})


GRAPHS: dict[str, tuple[Callable[[int], pd.DataFrame], int]] = {
    "random": (_random, 1_000_000),
    "star": (_star, 20_000),
    "path": (_path, 200_000),
}
ACYCLIC = ("topological_levels",)
UNDIRECTED = ("leiden", "louvain")


def _opened(name: str, edges: pd.DataFrame, size: int) -> Any:
    """Return the graph that a function takes."""
    rng = np.random.default_rng(7)
    edges = edges[edges.source != edges.destination]
    if name in ACYCLIC or "bipartite" in name:
        edges = pd.DataFrame(
            {
                "source": edges.min(axis=1) // 2,
                "destination": size // 2 + edges.max(axis=1) // 2,
            }
            if "bipartite" in name
            else {"source": edges.min(axis=1), "destination": edges.max(axis=1)}
        )
    edges = edges.assign(weight=rng.random(len(edges)) + 0.01)
    if name.startswith("run "):
        name = ""
    graph = ws.Graph(
        edges, vertices=pd.DataFrame({"vertex": np.arange(size)}), directed=name not in UNDIRECTED
    )
    graph.left = range(size // 2)
    return graph


class _Refusal:
    """A callback that asks a run to stop from `AFTER` seconds on."""

    def __call__(self, update: Any) -> bool:
        return bool(update.seconds < AFTER)


def _by_timeout(call: Call) -> Any:
    return call(timeout=AFTER)


def _by_callback(call: Call) -> Any:
    return call(progress=_Refusal())


def _by_interrupt(call: Call) -> Any:
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    timer = threading.Timer(AFTER, signal.pthread_kill, (main_thread, signal.SIGINT))
    timer.start()
    try:
        return call()
    finally:
        timer.cancel()


WAYS = {"timeout": _by_timeout, "callback": _by_callback, "Ctrl-C": _by_interrupt}


def _overrun(way: Callable[[Call], Any], call: Call) -> tuple[float, str]:
    """Return the seconds that a call went on after the request, and how it ended."""
    work_before: list[
        float
    ] = []  # processor time at the request, which comes late on a busy machine
    timer = threading.Timer(AFTER, lambda: work_before.append(time.process_time()))
    asked = time.perf_counter() + AFTER
    timer.start()
    try:
        way(call)
        how = "returned"
    except (Exception, KeyboardInterrupt) as error:
        how = type(error).__name__
    finally:
        timer.cancel()
    wall, work = time.perf_counter() - asked, time.process_time()
    if wall < 0 or not work_before:
        return 0.0, "ended before"
    return min(wall, work - work_before[0]), how


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each function and graph; return 1 if a call went on for too long."""
    parser = argparse.ArgumentParser(
        prog="bench stops", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--only", nargs="+", metavar="FUNCTION", help="names that begin so")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--most", type=float, default=0.3, help="seconds that a call may go on")
    given = parser.parse_args(arguments)
    late = 0
    for kind in given.graphs:
        make, size = GRAPHS[kind]
        for name, call in CALLS.items():
            if given.only and not name.startswith(tuple(given.only)):
                continue
            large = _opened(name, make(size), size)
            small = _opened(name, make(1000), 1000)
            _overrun(lambda run: run(), partial(call, small))
            seen = {}
            for way in given.ways:
                seen[way] = _overrun(WAYS[way], partial(call, large))
            late += sum(seconds > given.most for seconds, _ in seen.values())
            cells = (f"{way} {seconds:.2f} {how}" for way, (seconds, how) in seen.items())
            print(f"{kind:8}{name:40}", *(f"{cell:36}" for cell in cells), flush=True)
            del large
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())
