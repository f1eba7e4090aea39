"""Cores, trusses and triangles, by NetworkX's names and signatures; their meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Hashable
from itertools import compress
from typing import Any

import networkx as nx
import numpy as np

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.convert import convert_to_nx
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import ITERATION, LINEAR, engine, implements

__all__ = [
    "average_clustering",
    "clustering",
    "core_number",
    "k_truss",
    "transitivity",
    "triangles",
]

SELF_LOOPS = (
    "Input graph has self loops which is not permitted; "
    "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
)


@implements(LINEAR, multigraph=False)
def core_number(G: ConvertedGraph) -> dict[Hashable, int]:
    """Compute the core number of every node."""
    if G.has_self_loops:
        raise nx.NetworkXNotImplemented(SELF_LOOPS)
    if not len(G):
        return {}
    return G.by_node(column_of(ws.core_number(G.built(), engine=engine()), "core_number"))


@implements(ITERATION, directed=False, multigraph=False)
def k_truss(G: ConvertedGraph, k: int) -> nx.Graph:
    """Return the graph of the edges that are in at least k - 2 triangles of it."""
    if G.has_self_loops:
        raise nx.NetworkXNotImplemented(SELF_LOOPS)
    if not G.number_of_edges():
        in_truss = np.zeros(0, np.bool_)
    else:
        rows = ws.truss_number(G.built(), engine=engine())
        in_truss = np.empty(G.number_of_edges(), np.bool_)
        in_truss[G.edge_positions(rows)] = column_of(rows, "truss_number") >= k
    among = np.zeros(len(G), np.bool_)
    among[G.sources[in_truss]] = among[G.targets[in_truss]] = True
    places = np.cumsum(among) - 1
    truss = ConvertedGraph(
        list(compress(G.nodes, among.tolist())),
        places[G.sources[in_truss]],
        places[G.targets[in_truss]],
        directed=False,
        keys=None,
    )
    truss.graph = G.graph
    truss.node_data = list(compress(G.node_data or [{}] * len(G), among.tolist()))
    truss.edge_data = list(compress(G.edge_data or [{}] * len(in_truss), in_truss.tolist()))
    return convert_to_nx(truss)


@implements(ITERATION, directed=False, multigraph=False)
def triangles(G: ConvertedGraph, nodes: Any = None) -> Any:
    """Count the triangles that each node is in, or those in `nodes`."""
    return _of_nodes(G, nodes, "counts", ws.triangle_count)


@implements(ITERATION, directed=False, multigraph=False, only={"weight": None})
def clustering(G: ConvertedGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """Compute the fraction of pairs of neighbours that are joined, of each node or those in `nodes`."""
    return _of_nodes(G, nodes, "clustering_coefficient", ws.clustering_coefficient)


@implements(ITERATION, directed=False, multigraph=False, only={"weight": None})
def average_clustering(
    G: ConvertedGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    """Compute the mean clustering coefficient of the nodes, or of those in `nodes`."""
    chosen = G.chosen(nodes)
    if not G.number_of_edges():
        values = np.zeros(len(chosen))
    else:
        rows = ws.clustering_coefficient(G.built(), engine=engine())
        values = column_of(rows, "clustering_coefficient")[chosen]
    if not count_zeros:
        values = values[values > 0]
    return sum(values.tolist()) / len(values)


@implements(ITERATION, directed=False, multigraph=False)
def transitivity(G: ConvertedGraph) -> float:
    """Compute the fraction of paths of two edges whose ends are joined."""
    if not G.number_of_edges():
        return 0
    closed = 2 * int(column_of(ws.triangle_count(G.built(), engine=engine()), "counts").sum())
    degrees = G.degrees(loops=0)
    paths = int((degrees * (degrees - 1)).sum())
    return closed / paths if closed else 0


def _of_nodes(G: ConvertedGraph, nodes: Any, column: str, function: Any) -> Any:
    """Return a column of a result by node: of all nodes, of some, or the value of one."""
    chosen = G.chosen(nodes)
    if not G.number_of_edges():
        values = [0] * len(chosen)
    else:
        values = column_of(function(G.built(), engine=engine()), column)[chosen].tolist()
    if nodes is not None and nodes in G:
        return values[0]
    return dict(zip(G.at(chosen), values, strict=True))
