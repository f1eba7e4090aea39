"""Arcs where their sources are: what loops need that follow edges against their direction."""

from __future__ import annotations

import numpy as np

from cugraph_ws.cluster.post import Post
from cugraph_ws.cluster.shard import ShardGraph

__all__ = ["both_ways"]


def both_ways(shard: ShardGraph) -> ShardGraph:
    """Return a share in which the rows of own vertices hold all of their neighbours, together.

    Parameters
    ----------
    shard : ShardGraph

    Returns
    -------
    ShardGraph
        Without edge columns: each arc of a directed graph, and one that leads back, parallel to
        others if it may be.  An undirected graph's share is returned as it is.
    """
    if not shard.directed:
        return shard
    rows = shard.csc
    sources = shard.positions[rows.indices]
    destinations = np.repeat(shard.positions[: shard.owned], rows.degrees)
    back, ahead = Post(shard).deliver(sources, destinations)
    return ShardGraph(
        shard.crew,
        shard.cuts,
        np.concatenate([sources, ahead]),
        np.concatenate([destinations, back]),
        {},
        vertices=shard._vertices,
        kind=shard._kind,
        names=(shard._source_names, shard._destination_names),
        directed=False,
    )
