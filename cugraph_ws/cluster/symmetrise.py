"""Shards in which the rows of owned vertices hold all of their neighbours, on hosts and on GPUs."""

from __future__ import annotations

from cugraph_ws.cluster.device_mirror import DeviceMirror
from cugraph_ws.cluster.mirror import both_ways
from cugraph_ws.cluster.shard import ShardGraph

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
        Undirected, without edge columns; of one on a GPU there is nothing but geometry and `laid_out`.
    """
    return DeviceMirror(shard) if on_device else both_ways(shard)
