"""Shards in which the rows of owned vertices hold all of their neighbours, on hosts and on GPUs."""

from __future__ import annotations

import numpy as np

from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.dispatch import provider

__all__ = ["symmetrised"]


def symmetrised(shard: ShardGraph, *, on_device: bool) -> ShardGraph:
    """Return a shard in which the rows of owned vertices hold all of their neighbours; collective.

    Parameters
    ----------
    shard : ShardGraph
        Of a directed graph.
    on_device : bool
        Whether the rows are needed on the GPU.

    Returns
    -------
    ShardGraph
        Undirected, without edge columns.  It has each arc and its reverse, which may be parallel to
        others.  On a GPU it has only its geometry and `laid_out`.
    """
    if on_device:
        made: ShardGraph = provider("symmetrised rows").SymmetrisedRows(shard)
        return made
    rows = shard.csc
    sources = shard.positions[rows.indices]
    destinations = np.repeat(shard.positions[: shard.owned], rows.degrees)
    back, ahead = shard.halo_for(sources).send_to_owners(sources, destinations)
    return ShardGraph(
        shard.comm,
        shard.cuts,
        np.concatenate([sources, ahead]),
        np.concatenate([destinations, back]),
        {},
        vertices=shard._vertices,
        kind=shard._kind,
        names=(shard._source_names, shard._destination_names),
        directed=False,
    )
