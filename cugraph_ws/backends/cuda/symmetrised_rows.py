"""Symmetrised rows on the GPU; see `cugraph_ws.partition.symmetrise`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import Ends, number_dtype
from cugraph_ws.backends.cuda.memory import check_device_memory, estimate
from cugraph_ws.backends.cuda.order import arc_rows
from cugraph_ws.backends.cuda.rows import group_edges
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.communicator import attempt
from cugraph_ws.runtime.device import device

__all__ = ["symmetrised"]

DeviceArray = Any  # CuPy's or NumPy's


def symmetrised(part: Part) -> Part:
    """Return a part in which the rows of owned vertices hold all neighbours; collective.

    Parameters
    ----------
    part : Part
        Of a directed graph's shard, on the device.

    Returns
    -------
    Part
        Without edge columns.

    Raises
    ------
    GraphMemoryError
        If the rows of a rank would not fit on its GPU; on all ranks.
    """
    xp, owners, owned = part.xp, part.owners, part.owned
    rows, neighbours = _both_ends(part)
    away = ~owners.holds(neighbours)
    outside = xp.unique(neighbours[away])
    order, bounds = owners.split(outside)
    ghosts = [(first + owned, last + owned) for first, last in pairwise(bounds)]
    length = owned + len(outside)
    needed = estimate(len(rows), length, 0, False)
    attempt(part.halo.comm, lambda: check_device_memory(needed))
    index = number_dtype(length)
    ghost_places = xp.searchsorted(outside, neighbours)
    if order is not None:  # each owner's ghosts are adjacent
        ghost_places, outside = xp.argsort(order)[ghost_places], outside[order]
    ranks = xp.where(away, owned + ghost_places, owners.places(neighbours))
    del ghost_places
    del neighbours, away
    ends = Ends(rows.astype(index), ranks.astype(index))
    del rows, ranks
    vertex_order, indices, *_ = group_edges(device(), ends, length, both=False, keep=False)
    del ends
    graph = DeviceGraph(device(), vertex_order, indices, {}, undirected=False, names=())
    wanted = [outside[first - owned : last - owned] for first, last in ghosts]
    asked = part.halo.exchange([[numbers] for numbers in wanted])
    boundaries = [xp.take(graph.positions, owners.places(numbers)) for (numbers,) in asked]
    numbers = xp.concatenate([owners.numbers(xp, outside.dtype), outside])
    laid_out = graph, xp.take(numbers, graph.numbers), boundaries
    device().trim()
    return Part(part.graph, on_device=True, laid_out=laid_out, ghosts=ghosts)


def _both_ends(part: Part) -> tuple[DeviceArray, DeviceArray]:
    """Return, for every arc at an owned vertex, that vertex's place and the other end's number.

    Arcs between owned vertices occur twice, once from each end.  Collective.
    """
    xp, owned, numbers, csc = part.xp, part.owned, part.numbers, part.csc
    rows = arc_rows(csc.offsets, part.laid.arcs)
    strange = csc.indices >= owned
    # Ghosts of one owner are adjacent, so sorting by position groups their arcs by owner.
    leaving = xp.flatnonzero(strange)
    leaving = leaving[xp.argsort(csc.indices[leaving])]
    begins = np.array([first for first, _ in part.ghosts] + [part.size])
    sources = csc.indices[leaving]
    cuts = as_host(xp.searchsorted(sources, xp.asarray(begins, sources.dtype))).tolist()
    buffers = [
        [numbers[csc.indices[leaving[first:last]]], numbers[rows[leaving[first:last]]]]
        for first, last in pairwise(cuts)
    ]
    received = part.halo.exchange(buffers)
    staying = xp.flatnonzero(~strange)
    owned_ends = [
        numbers[rows],
        numbers[csc.indices[staying]],
        *(sources for sources, _ in received),
    ]
    opposite = [numbers[csc.indices], numbers[rows[staying]], *(ends for _, ends in received)]
    return part.owners.places(xp.concatenate(owned_ends)), xp.concatenate(opposite)
