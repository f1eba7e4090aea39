"""Parts in which the rows of owned vertices contain all of their neighbours, on hosts and on GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.dispatch import provider

__all__ = ["all_neighbours"]


def all_neighbours(graph: Any, *, on_device: bool, weighted: bool = False) -> Part:
    """Return a part with all neighbours of owned vertices in its rows; collective.

    Parameters
    ----------
    graph : GraphView
        A whole graph, which is used unchanged since its CSC and CSR together have all neighbours; or a
        rank's shard.
    on_device : bool
    weighted : bool
        Whether the part has the weights, if the graph has any.

    Returns
    -------
    Part
        For a directed shard, its rows have each arc and its reverse, which may be parallel to others,
        and no other edge columns than the weight.
    """
    if graph.comm.size == 1 or not graph.directed:
        return Part(graph, on_device=on_device)
    if weighted and graph.weight is not None:
        return Part(_symmetrised(graph, graph.weight), on_device=on_device)
    if on_device:
        part: Part = provider("symmetrised rows").symmetrised(Part(graph, on_device=True))
        return part
    return Part(_symmetrised(graph), on_device=False)


def _symmetrised(shard: ShardGraph, weight: str | None = None) -> ShardGraph:
    """Return a shard on the host with each arc and its reverse, and a weight; collective."""
    rows = shard.csc
    sources = shard.positions[rows.indices]
    destinations = np.repeat(shard.positions[: shard.owned], rows.degrees)
    values = [] if weight is None else [shard.edge_values(weight)]
    back, ahead, *values_received = Halo.of(shard).send_to_owners(sources, destinations, *values)
    return ShardGraph(
        shard.comm,
        shard.owners,
        np.concatenate([sources, ahead]),
        np.concatenate([destinations, back]),
        {str(weight): np.concatenate(both) for both in zip(values, values_received, strict=True)},
        vertices=shard._vertices,
        kind=shard._kind,
        names=(shard._source_names, shard._destination_names),
        weight=weight,
        directed=False,
    )
