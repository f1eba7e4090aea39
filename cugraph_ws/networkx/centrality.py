"""Centralities, by NetworkX's names and signatures; their meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
from networkx.utils import create_py_random_state

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import ALL_PAIRS, ITERATION, engine, implements

__all__ = [
    "betweenness_centrality",
    "closeness_centrality",
    "edge_betweenness_centrality",
    "eigenvector_centrality",
    "global_efficiency",
    "harmonic_centrality",
    "hits",
    "katz_centrality",
    "pagerank",
]

Values = dict[Hashable, float]


@implements(ITERATION)
def pagerank(
    G: ConvertedGraph,
    alpha: float = 0.85,
    personalization: Mapping[Hashable, float] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Hashable, float] | None = None,
    weight: str | None = "weight",
    dangling: Mapping[Hashable, float] | None = None,
) -> Values:
    """Compute the PageRank of every node."""
    if not len(G):
        return {}
    if personalization is not None and sum(map(personalization.get, G, [0] * len(G))) == 0:
        raise ZeroDivisionError("personalization is 0 for every node")
    ranks = ws.pagerank(
        G.built(weight),
        alpha=alpha,
        personalization=_by_vertex(G, personalization),
        nstart=_by_vertex(G, nstart),
        dangling=_by_vertex(G, dangling),
        max_iter=max_iter,
        tol=tol * len(G),
        engine=engine(),
    )
    return G.by_node(column_of(ranks, "pagerank"))


@implements(ITERATION, only={"normalized": True})
def hits(
    G: ConvertedGraph,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Mapping[Hashable, float] | None = None,
    normalized: bool = True,
) -> tuple[Values, Values]:
    """Compute the hub and authority scores of every node."""
    if not len(G):
        return {}, {}
    scores = ws.hits(
        G.built("weight"), max_iter, tol, nstart=_by_vertex(G, nstart), engine=engine()
    )
    return G.by_node(column_of(scores, "hubs")), G.by_node(column_of(scores, "authorities"))


@implements(ITERATION, multigraph=False)
def eigenvector_centrality(
    G: ConvertedGraph,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Hashable, float] | None = None,
    weight: str | None = None,
) -> Values:
    """Compute the eigenvector centrality of every node."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    if nstart is not None and not any(nstart.values()):
        raise nx.NetworkXError("initial vector cannot have all zero values")
    values = ws.eigenvector_centrality(
        G.built(weight), max_iter, tol, nstart=_by_vertex(G, nstart), engine=engine()
    )
    return G.by_node(column_of(values, "eigenvector_centrality"))


@implements(ITERATION, multigraph=False)
def katz_centrality(
    G: ConvertedGraph,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Mapping[Hashable, float] | None = None,
    normalized: bool = True,
    weight: str | None = None,
) -> Values:
    """Compute the Katz centrality of every node."""
    if not len(G):
        return {}
    if isinstance(beta, Mapping):
        if set(beta) != set(G):
            raise nx.NetworkXError("beta dictionary must have a value for every node")
        beta = _by_vertex(G, beta)
    values = ws.katz_centrality(
        G.built(weight), alpha, beta, max_iter, tol, _by_vertex(G, nstart), normalized,
        engine=engine(),
    )  # fmt: skip
    return G.by_node(column_of(values, "katz_centrality"))


@implements(ALL_PAIRS)
def betweenness_centrality(
    G: ConvertedGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> Values:
    """Compute the betweenness centrality of every node."""
    sample = _sample(G, k, seed)
    if not len(G):
        return {}
    values = ws.betweenness_centrality(
        G.built(weight, simple=True),
        sample,
        normalized,
        endpoints=endpoints,
        weighted=G.weight(weight) is not None,
        engine=engine(),
    )
    return G.by_node(column_of(values, "betweenness_centrality"))


@implements(ALL_PAIRS, multigraph=False)
def edge_betweenness_centrality(
    G: ConvertedGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    seed: Any = None,
) -> dict[tuple[Hashable, Hashable], float]:
    """Compute the betweenness centrality of every edge."""
    sample = _sample(G, k, seed)
    if not G.number_of_edges():
        return {}
    rows = ws.edge_betweenness_centrality(
        G.built(weight),
        sample,
        normalized,
        weighted=G.weight(weight) is not None,
        engine=engine(),
    )
    values = np.empty(G.number_of_edges())
    values[G.edge_positions(rows)] = column_of(rows, "betweenness_centrality")
    edges = zip(G.at(G.sources), G.at(G.targets), strict=True)
    return dict(zip(edges, values.tolist(), strict=True))


@implements(ALL_PAIRS)
def closeness_centrality(
    G: ConvertedGraph, u: Any = None, distance: str | None = None, wf_improved: bool = True
) -> Any:
    """Compute the closeness centrality of every node, or of `u`."""
    if not len(G) and u is None:
        return {}
    chosen = None if u is None else [G.position(u, f"Source {u} is not in G")]
    rows = ws.closeness_centrality(
        G.built(distance),
        chosen,
        wf_improved=wf_improved,
        weighted=G.weight(distance) is not None,
        engine=engine(),
    )
    values = column_of(rows, "closeness_centrality")
    return G.by_node(values) if u is None else float(values[0])


@implements(ALL_PAIRS, only={"sources": None})
def harmonic_centrality(
    G: ConvertedGraph, nbunch: Any = None, distance: str | None = None, sources: Any = None
) -> Values:
    """Compute the harmonic centrality of every node, or of those in `nbunch`."""
    chosen = sorted(set(G.chosen(nbunch)))
    if not chosen:
        return {}
    weights = G.weight(distance)
    if weights is not None and (weights == 0).any():
        raise NotImplementedError("pairs of nodes at distance 0 count nothing in NetworkX")
    rows = ws.harmonic_centrality(
        G.built(distance), chosen, weighted=weights is not None, engine=engine()
    )
    values = column_of(rows, "harmonic_centrality").tolist()
    return dict(zip(G.at(column_of(rows, "vertex")), values, strict=True))


@implements(ALL_PAIRS, directed=False)
def global_efficiency(G: ConvertedGraph) -> float:
    """Compute the mean reciprocal of the distances between nodes."""
    pairs = len(G) * (len(G) - 1)
    if not pairs:
        return 0
    rows = ws.harmonic_centrality(G.built(), engine=engine())
    return float(column_of(rows, "harmonic_centrality").sum()) / pairs


def _by_vertex(G: ConvertedGraph, values: Mapping[Hashable, float] | None) -> pa.Table | None:
    """Return values by node as a frame by vertex, 0 for nodes without one."""
    if values is None:
        return None
    column = np.array([values.get(node, 0) for node in G.nodes], np.float64)
    return pa.table({"vertex": np.arange(len(G)), "value": column})


def _sample(G: ConvertedGraph, k: int | None, seed: Any) -> list[int] | None:
    """Return the positions of the nodes that NetworkX samples; None for all."""
    if k is None:
        return None
    if k == 0 and len(G):
        raise ZeroDivisionError("k=0 samples no node; give 1 or more, or leave it out")
    return list(create_py_random_state(seed).sample(range(len(G)), k))
