"""Coalescing: on a cluster, runs of many small supersteps continue on one rank."""

from __future__ import annotations

from cugraph_ws.contract import Accelerator, ShardLoops

__all__ = ["ACCELERATOR"]


def _shard_loops() -> ShardLoops:
    from cugraph_ws.accelerators.coalescing.loops import CoalescingLoop

    return CoalescingLoop


ACCELERATOR = Accelerator(
    name="coalescing",
    bits="last bits",
    memory="rank 0 keeps the whole graph, if that takes at most a quarter of its free memory, and of its GPU's",
    first_call="what a run on one whole graph compiles, on rank 0",
    page="024-coalescing-to-one-rank.md",
    shard_loops=_shard_loops,
)
