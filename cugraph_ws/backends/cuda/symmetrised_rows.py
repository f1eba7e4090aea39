"""Symmetrised rows on the GPU; see `symmetrise`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import Ends, number_dtype
from cugraph_ws.backends.cuda.memory import check_device_memory, estimate
from cugraph_ws.backends.cuda.order import arc_rows
from cugraph_ws.backends.cuda.rows import group_edges
from cugraph_ws.partition.agreement import attempt
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.device import as_host, device

__all__ = ["SymmetrisedRows"]

DeviceArray = Any  # CuPy's or NumPy's


class SymmetrisedRows(ShardGraph):
    """A shard in which the rows of owned vertices hold all neighbours, on the device.  Collective.

    It has no edge columns, only its geometry and `laid_out`.

    Parameters
    ----------
    shard : ShardGraph
        Of a directed graph.

    Raises
    ------
    GraphMemoryError
        If the rows of a rank would not fit on its GPU; on all ranks.
    """

    def __init__(self, shard: ShardGraph) -> None:
        self._settle_in(
            shard.comm, shard.cuts, shard._vertices, shard._kind,
            (shard._source_names, shard._destination_names), [], None, directed=False,
        )  # fmt: skip
        xp, comm, low, owned = device().xp, shard.comm, shard.low, shard.owned
        rows, neighbours = _both_ends(shard)
        away = (neighbours < low) | (neighbours >= low + owned)
        outside = xp.unique(neighbours[away])
        self._find_ghosts(as_host(xp.searchsorted(outside, xp.asarray(self.cuts, outside.dtype))))
        length, arcs = self.length, len(rows)
        needed = estimate(arcs, length, 0, False)
        attempt(comm, lambda: check_device_memory(needed))
        index = number_dtype(length)
        ranks = xp.where(away, owned + xp.searchsorted(outside, neighbours), neighbours - low)
        del neighbours, away
        ends = Ends(rows.astype(index), ranks.astype(index))
        del rows, ranks
        layout, indices, _, _ = group_edges(device(), ends, length, both=False, keep=False)
        del ends
        graph = DeviceGraph(device(), layout, indices, {}, undirected=False, names=())
        wanted = [outside[first - owned : last - owned] for first, last in self.ghosts]
        asked = _halo_of(shard).exchange([[numbers] for numbers in wanted])
        held = [xp.take(graph.positions, numbers - low) for (numbers,) in asked]
        numbers = xp.concatenate([xp.arange(low, low + owned, dtype=outside.dtype), outside])
        self._laid = graph, xp.take(numbers, graph.numbers), held
        device().trim()

    def laid_out(self) -> tuple[DeviceGraph, DeviceArray, list[DeviceArray]]:
        """Return the shard as the CUDA engine reads it; see `ShardGraph.laid_out`."""
        return self._laid


def _both_ends(shard: ShardGraph) -> tuple[DeviceArray, DeviceArray]:
    """Return, for every arc at an owned vertex, that vertex's place and the other end's number.

    Arcs between owned vertices occur twice, once from each end.  Collective.
    """
    xp, low, owned = device().xp, shard.low, shard.owned
    there, numbers, _ = shard.laid_out()
    csc = there.csc
    rows = arc_rows(csc.offsets, there.arcs)
    strange = csc.indices >= owned
    # Ghosts of one owner are adjacent, so sorting by position groups their arcs by owner.
    leaving = xp.flatnonzero(strange)
    leaving = leaving[xp.argsort(csc.indices[leaving])]
    begins = np.array([first for first, _ in shard.ghosts] + [shard.length])
    sources = csc.indices[leaving]
    cuts = as_host(xp.searchsorted(sources, xp.asarray(begins, sources.dtype))).tolist()
    boxes = [
        [numbers[csc.indices[leaving[first:last]]], numbers[rows[leaving[first:last]]]]
        for first, last in pairwise(cuts)
    ]
    came = _halo_of(shard).exchange(boxes)
    staying = xp.flatnonzero(~strange)
    own = [numbers[rows], numbers[csc.indices[staying]], *(sources for sources, _ in came)]
    others = [numbers[csc.indices], numbers[rows[staying]], *(ends for _, ends in came)]
    return xp.concatenate(own) - low, xp.concatenate(others)


def _halo_of(shard: ShardGraph) -> Halo:
    """Return the halo of a shard as it is laid out on the device."""
    boundaries = shard.laid_out()[2]
    return Halo(shard.comm, boundaries, shard.ghosts, shard.cuts, on_device=True)
