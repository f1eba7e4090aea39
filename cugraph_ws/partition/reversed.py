"""A graph, or a rank's shard of one, along reversed edges.

A shard holds the arcs into its vertices.  Reversing it sends arcs to the owners of their sources, once.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.reversed import reversed_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.dispatch import provider

__all__ = ["reversed_view"]


def reversed_view(graph: GraphView) -> Any:
    """Return a graph along reversed edges, with the same vertices on the same ranks; collective.

    Parameters
    ----------
    graph : GraphView

    Returns
    -------
    GraphView
        Made when first needed, then kept by `graph`.  An undirected graph is returned unchanged.
    """
    if isinstance(graph, Graph):
        return reversed_graph(graph)
    assert isinstance(graph, ShardGraph)
    return _reversed_shard(graph) if graph.directed else graph


def _reversed_shard(shard: ShardGraph) -> ShardGraph:
    """Return a shard with the arcs out of the owned vertices, as arcs into them; collective."""
    # Concurrent runs share what is kept, so one may see it on some ranks only: all ranks agree first.
    if not all(shard.comm.allgather("reversed" in shard.kept)):
        on_device = shard._open().on_device
        make = provider("reversed device graphs").reversed_shard if on_device else _sent_to_sources
        shard.kept["reversed"] = make(shard)
    reversed_shard: ShardGraph = shard.kept["reversed"]
    view = copy(reversed_shard)  # other runs have communicators of their own
    view.comm, view._vertices = shard.comm, reversed_shard._vertices.join(shard.comm)
    view._vertices.align_to(view)
    view.agree_on_what_is_kept()
    return view


def _sent_to_sources(shard: ShardGraph) -> ShardGraph:
    """Build a shard of the arcs out of the owned vertices; collective."""
    csc, names = shard.csc, list(shard.edge_attributes)
    destinations = np.repeat(shard.positions[: shard.owned], csc.degrees)
    ends, sources, *values = Halo.of(shard).send_to_owners(
        shard.positions[csc.indices], destinations, *map(shard.edge_values, names)
    )
    # Arcs from each rank are ordered by destination, so parallel arcs stay in input order.
    vertices = shard._vertices.join(shard.comm)
    reversed_shard = ShardGraph(
        shard.comm,
        shard.owners,
        sources,
        ends,
        dict(zip(names, values, strict=True)),
        vertices=vertices,
        kind=shard._kind,
        names=(shard._source_names, shard._destination_names),
        weight=shard.weight,
        directed=True,
    )
    vertices.align_to(reversed_shard)
    return reversed_shard
