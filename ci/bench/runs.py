"""Compare the memory that `ws.estimate_memory` predicts for a run with the memory that it takes.

Every function runs on graphs of several shapes, in one new process (Linux).  On the CPU the peak is that of
resident memory beside the built graph, with the result; with `--engine cuda` it is that of the memory
allocated by CuPy's pool, or by RMM.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.cpu.estimates import resident
from bench.places import environment
from bench.tables import Table

__all__ = ["SHAPES", "main"]


class Shape(NamedTuple):
    """A graph: how its edges are drawn, and how they are read."""

    kind: str
    vertices: int
    edges: int
    directed: bool
    weighted: bool


K = 1000
# The first three are those of the test.
SHAPES = {
    "random": Shape("random", 200 * K, 1000 * K, True, True),
    "powers": Shape("powers", 130 * K, 800 * K, False, False),
    "grid": Shape("grid", 250 * K, 0, False, True),
    "sparse": Shape("random", 500 * K, 500 * K, True, True),
    "dense": Shape("random", 40 * K, 1600 * K, True, True),
    "sparse undirected": Shape("random", 500 * K, 500 * K, False, True),
    "dense undirected": Shape("random", 40 * K, 800 * K, False, False),
    "random undirected": Shape("random", 200 * K, 700 * K, False, True),
    "random plain": Shape("random", 300 * K, 1200 * K, True, False),
    "powers directed": Shape("powers", 130 * K, 1000 * K, True, True),
    "powers wide": Shape("powers", 500 * K, 1000 * K, True, False),
    "grid plain": Shape("grid", 360 * K, 0, True, False),
    "tree": Shape("tree", 500 * K, 0, False, False),
    "hubs": Shape("hubs", 250 * K, 750 * K, False, True),
    "hubs directed": Shape("hubs", 250 * K, 750 * K, True, False),
    "clusters": Shape("clusters", 150 * K, 900 * K, False, True),
}
SAME = 20  # sources, seeds and starts


def edges(shape: Shape) -> Any:
    """Return the edge frame of a shape; every vertex has an edge."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(7)
    n, m = shape.vertices, shape.edges
    every = np.arange(n)
    if shape.kind == "grid":
        side = int(n**0.5)
        places = np.arange(side * side).reshape(side, side)
        one = np.concatenate([places[:, :-1].ravel(), places[:-1].ravel()])
        other = np.concatenate([places[:, 1:].ravel(), places[1:].ravel()])
    elif shape.kind == "tree":
        one, other = every[1:], (every[1:] - 1) // 3
    elif shape.kind == "clusters":
        one = rng.integers(0, n, m)
        other = one // 50 * 50 + rng.integers(0, 50, m)
    else:
        one, other = rng.integers(0, n, (2, m))
        if shape.kind == "powers":
            one, other = ((n * (draw / n) ** 3).astype(np.int64) for draw in (one, other))
            one, other = np.concatenate([one, every[1:]]), np.concatenate([other, every[:-1]])
        if shape.kind == "hubs":
            other = np.where(other < n // 2, other % 20, other)
    one, other = np.unique(np.concatenate([one, other]), return_inverse=True)[1].reshape(2, -1)
    frame = {"source": one, "destination": other}
    if shape.weighted:
        frame["weight"] = rng.integers(1, 9, len(one)) / 8
    return pd.DataFrame(frame)


class Case(NamedTuple):
    """A function as it is called, and what its estimate is given besides the graph."""

    call: Callable[[Any, Any, dict[str, Any]], Any]  # of ws, a graph and options
    given: dict[str, Any] = {}
    acyclic: bool = False
    sides: bool = False


def _pairs(graph: Any) -> Any:
    import numpy as np
    import pandas as pd

    n = graph.number_of_vertices
    first, second = np.random.default_rng(3).integers(0, n, (2, 5 * n))
    return pd.DataFrame({"first": first, "second": second})


def _one_each(graph: Any) -> Any:
    import numpy as np
    import pandas as pd

    return pd.DataFrame({"vertex": np.arange(graph.number_of_vertices), "activation": 1.0})


def _priors(graph: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({"vertex": [0, 1], "no": [0.4, 0.5], "yes": [0.6, 0.5]})


def _labels(graph: Any) -> Any:
    import numpy as np
    import pandas as pd

    every = np.arange(graph.number_of_vertices)
    return pd.DataFrame({"vertex": every, "partition": every // 50})


CASES: dict[str, Case] = {
    "bfs": Case(lambda ws, g, o: ws.bfs(g, 0, **o)),
    "sssp": Case(lambda ws, g, o: ws.sssp(g, 0, **o)),
    "widest_path": Case(lambda ws, g, o: ws.widest_path(g, 0, **o)),
    "pagerank": Case(lambda ws, g, o: ws.pagerank(g, **o)),
    "katz_centrality": Case(lambda ws, g, o: ws.katz_centrality(g, 1e-4, **o)),
    "eigenvector_centrality": Case(lambda ws, g, o: _quiet(lambda: ws.eigenvector_centrality(g, max_iter=60, **o))),
    "hits": Case(lambda ws, g, o: _quiet(lambda: ws.hits(g, max_iter=60, **o))),
    "heat": Case(lambda ws, g, o: ws.heat(g, _one_each(g).rename(columns={"activation": "temperature"}), max_iter=5, **o)),
    "louvain": Case(lambda ws, g, o: ws.louvain(g, **o)),
    "leiden": Case(lambda ws, g, o: ws.leiden(g, **o)),
    "label_propagation": Case(lambda ws, g, o: _quiet(lambda: ws.label_propagation(g, max_iter=6, **o))),
    "multi_source_bfs": Case(lambda ws, g, o: ws.multi_source_bfs(g, list(range(SAME)), **o), {"sources": SAME}),
    "multi_source_sssp": Case(lambda ws, g, o: ws.multi_source_sssp(g, list(range(SAME)), **o), {"sources": SAME}),
    "personalized_pagerank": Case(lambda ws, g, o: ws.personalized_pagerank(g, list(range(SAME)), tol=1e-2, **o), {"sources": SAME}),
    "minimum_spanning_forest": Case(lambda ws, g, o: ws.minimum_spanning_forest(g, **o)),
    "closeness_centrality": Case(lambda ws, g, o: ws.closeness_centrality(g, list(range(64)), **o), {"sources": 64}),
    "harmonic_centrality": Case(lambda ws, g, o: ws.harmonic_centrality(g, k=64, **o), {"sources": 64}),
    "betweenness_centrality": Case(lambda ws, g, o: ws.betweenness_centrality(g, 4, **o), {"sources": 4}),
    "edge_betweenness_centrality": Case(lambda ws, g, o: ws.edge_betweenness_centrality(g, 4, **o), {"sources": 4}),
    "maximal_independent_set": Case(lambda ws, g, o: ws.maximal_independent_set(g, **o)),
    "coloring": Case(lambda ws, g, o: ws.coloring(g, **o)),
    "weakly_connected_components": Case(lambda ws, g, o: ws.weakly_connected_components(g, **o)),
    "strongly_connected_components": Case(lambda ws, g, o: ws.strongly_connected_components(g, **o)),
    "core_number": Case(lambda ws, g, o: ws.core_number(g, **o)),
    "triangle_count": Case(lambda ws, g, o: ws.triangle_count(g, **o)),
    "clustering_coefficient": Case(lambda ws, g, o: ws.clustering_coefficient(g, **o)),
    "truss_number": Case(lambda ws, g, o: ws.truss_number(g, **o)),
    "jaccard": Case(lambda ws, g, o: ws.jaccard(g, "edges", **o), {"vertex_pair": "edges"}),
    "cosine": Case(lambda ws, g, o: ws.cosine(g, _pairs(g), **o)),
    "bridges": Case(lambda ws, g, o: ws.bridges(g, **o)),
    "articulation_points": Case(lambda ws, g, o: ws.articulation_points(g, **o)),
    "maximal_bipartite_matching": Case(lambda ws, g, o: _matching(ws, g, o), sides=True),
    "belief_propagation": Case(lambda ws, g, o: _quiet(lambda: ws.belief_propagation(g, _priors(g), [[1.3, 1.0], [1.0, 1.3]], max_iter=3, **o))),
    "circuit": Case(lambda ws, g, o: _quiet(lambda: ws.circuit(g, {0: 1.0, 1: 0.0}, max_iter=5, **o))),
    "neural_network": Case(lambda ws, g, o: ws.neural_network(g, _one_each(g), **o), acyclic=True),
    "topological_levels": Case(lambda ws, g, o: ws.topological_levels(g, **o), acyclic=True),
    "modularity": Case(lambda ws, g, o: ws.modularity(g, _labels(g), **o)),
    "ego_graph": Case(lambda ws, g, o: ws.ego_graph(g, 0, 3, **o)),
    "subgraph": Case(lambda ws, g, o: ws.subgraph(g, list(range(0, g.number_of_vertices, 2)))),
}


def _quiet(call: Callable[[], Any]) -> Any:
    """Return the result of a call, also if it has not converged."""
    from cugraph_ws import ConvergenceError

    try:
        return call()
    except ConvergenceError as error:
        return error.result.frame


def _lefts(graph: Any) -> Any:
    import numpy as np

    return np.asarray(graph._vertices.numbering.ids)[::1][lambda_even(graph)] if False else _even_ids(graph)


def _even_ids(graph: Any) -> Any:
    import numpy as np
    import cugraph_ws as ws

    ids = ws.degrees(graph).vertex.to_numpy()
    return ids[ids % 2 == 0]


def _matching(ws: Any, graph: Any, options: dict[str, Any]) -> Any:
    import numpy as np

    return ws.maximal_bipartite_matching(graph, np.arange(0, 2 * graph.number_of_vertices, 2)[:0] if False else _lefts(graph), **options)


def main(arguments: Sequence[str] | None = None) -> int:
    import os, time, traceback
    import cugraph_ws as ws
    names = arguments[0].split(",") if arguments and arguments[0] != "all" else list(CASES)
    shapes = arguments[1].split(",") if len(arguments) > 1 else list(SHAPES)
    small = {key: shape._replace(vertices=900, edges=4000) for key, shape in SHAPES.items()}
    for name in names:
        case = CASES[name]
        for key in shapes:
            for which, shape in (("warm", small[key]),) + ((("first", SHAPES[key]),) if key == shapes[0] else ()) + (("real", SHAPES[key]),):
                frame = edges(shape)
                if case.acyclic:
                    flip = frame.source > frame.destination
                    frame.loc[flip, ["source", "destination"]] = frame.loc[flip, ["destination", "source"]].to_numpy()
                    frame = frame[frame.source != frame.destination]
                if case.sides:
                    frame["source"] *= 2
                    frame["destination"] = 2 * frame["destination"] + 1
                graph = ws.Graph(frame, weight="weight" if shape.weighted else None, directed=shape.directed or case.acyclic)
                graph.csc
                del frame
                began = time.process_time()
                try:
                    with resident() as taken:
                        result = case.call(ws, graph, {"engine": "cpu"})
                        peak = taken()
                except Exception as error:
                    if which == "real":
                        print(json.dumps({"name": name, "shape": key, "error": repr(error)[:300]}), flush=True)
                    continue
                if which == "real":
                    print(json.dumps({"name": name, "shape": key, "n": graph.number_of_vertices, "arcs": graph.number_of_arcs, "directed": graph.directed, "weighted": shape.weighted, "peak": peak, "seconds": round(time.process_time() - began, 2)}), flush=True)
                del result
                graph.close()
    return 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
