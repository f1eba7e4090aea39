"""The projection of bipartite graphs, by NetworkX's name and signature; its meaning is documented there."""

# Names of arguments are NetworkX's.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Hashable, Iterable

import networkx as nx
import numpy as np

from cugraph_ws.algorithms import public as ws
from cugraph_ws.networkx.convert import convert_to_nx
from cugraph_ws.networkx.converted import ConvertedGraph, column_of
from cugraph_ws.networkx.implemented import ITERATION, engine, implements

__all__ = ["weighted_projected_graph"]

# `projected_graph` without weights takes as long as NetworkX's: most of it is the making of the result.


@implements(ITERATION, directed=False, multigraph=False)
def weighted_projected_graph(
    B: ConvertedGraph, nodes: Iterable[Hashable], ratio: bool = False
) -> nx.Graph:
    """Join nodes of one side that have common neighbours, by edges whose weight is their number."""
    side = list(nodes)
    places = np.array([B.positions.get(node, -1) for node in side], np.int64)
    if not (0 < len(set(side)) == len(side) < len(B)) or places.min() < 0:
        raise NotImplementedError("the nodes are not those of one side, each once")
    if not B.number_of_edges() or B.node_data is None:
        raise NotImplementedError("the graph has no edges, or no attributes of nodes")
    rows = ws.bipartite_projection(B.built(), places, ratio=bool(ratio), engine=engine())
    place_on_side = np.empty(len(B), np.int64)
    place_on_side[places] = np.arange(len(side))
    sources, targets = (place_on_side[column_of(rows, name)] for name in ("source", "destination"))
    projection = ConvertedGraph(side, sources, targets, directed=False, keys=None)
    projection.node_data = [B.node_data[place] for place in places.tolist()]
    projection.graph = B.graph
    weights = column_of(rows, "weight")
    projection.weights["weight"] = weights if ratio else weights.astype(np.int64)
    result: nx.Graph = convert_to_nx(projection)
    return result
