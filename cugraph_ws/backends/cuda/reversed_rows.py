"""The rows of a graph on the device along reversed edges, laid out by falling out-degree."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from cugraph_ws.backends.cuda.arcs import DeviceArcs
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import Ends, number_dtype
from cugraph_ws.backends.cuda.memory import check_device_memory, estimate
from cugraph_ws.backends.cuda.order import arc_rows
from cugraph_ws.backends.cuda.rows import VertexOrder, gather, group_edges
from cugraph_ws.backends.cuda.shard import DeviceShard, Placement, Totals
from cugraph_ws.partition.ghosts import order_ghosts
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.communicator import attempt
from cugraph_ws.runtime.device import device

__all__ = ["reversed_arcs", "reversed_shard"]

DeviceArray = Any  # CuPy's or NumPy's


def reversed_arcs(arcs: DeviceArcs) -> DeviceArcs:
    """Return the edges of a directed graph on the device in the opposite direction.

    Parameters
    ----------
    arcs : DeviceArcs
        Edge attributes are read from its graph, and reordered, when first requested.

    Returns
    -------
    DeviceArcs

    Raises
    ------
    GraphMemoryError
        If the rows would not fit on the GPU; raised before they are made.
    """
    owner, graph = device(), arcs.graph
    names = graph.edge_attributes
    check_device_memory(estimate(graph.arcs, graph.size, 8 * len(names), False))
    destinations, sources, order = arcs.ordered()
    ends = Ends(sources, destinations)
    del destinations, sources
    vertex_order, indices, places, *_ = group_edges(
        owner, ends, graph.size, both=False, keep=bool(names)
    )
    if not names:
        order = None

    def fetch(name: str) -> Any:
        return graph.values(name, "csc")[order]

    reverse = DeviceGraph(
        owner, vertex_order, indices, {}, undirected=False, names=names, fetch=fetch, order=places
    )
    owner.trim()
    return DeviceArcs(reverse, names)


def reversed_shard(shard: DeviceShard) -> DeviceShard:
    """Return a shard of a directed graph with the arcs out of the owned vertices; collective.

    Parameters
    ----------
    shard : DeviceShard
        Its arcs, and their edge attributes, are sent to the owners of their sources.

    Returns
    -------
    DeviceShard
        With the same owned vertices, and its own ghosts.

    Raises
    ------
    GraphMemoryError
        If the rows of a rank would not fit on its GPU; on all ranks.
    """
    part, gpu = Part(shard, on_device=True), device()
    xp, comm, low, owned = part.xp, shard.comm, shard.low, part.owned
    names, csc = part.laid.edge_attributes, part.csc
    destinations = part.numbers[arc_rows(csc.offsets, part.laid.arcs)]
    ends, opposite, *values = part.halo.send_to_owners(
        part.numbers[csc.indices], destinations, *map(part.laid.values, names)
    )
    del destinations
    away = (opposite < low) | (opposite >= low + owned)
    outside = xp.unique(opposite[away])
    length, index = owned + len(outside), number_dtype(owned + len(outside))
    wide = sum(column.dtype.itemsize for column in values)
    needed = estimate(len(ends), length, wide, False)
    attempt(comm, lambda: check_device_memory(needed))
    bounds = as_host(xp.searchsorted(outside, xp.asarray(shard.owners.cuts, outside.dtype)))
    ghosts = list(pairwise(bounds.tolist()))
    rows = (ends - low).astype(index)
    boundaries, order = _order(part, rows, outside, ghosts)
    placed = xp.empty(len(outside), index)  # ghosts by number, in the order of owners' positions
    placed[order] = xp.arange(owned, length, dtype=index)
    neighbours = (opposite - low).astype(index)
    neighbours[away] = placed[xp.searchsorted(outside, opposite[away])]
    del ends, opposite, away
    grouped = group_edges(gpu, Ends(rows, neighbours), length, both=False, keep=bool(names))
    del rows, neighbours
    vertex_order, indices, from_sent, *_ = grouped
    numbers, positions = vertex_order.numbers.copy(), vertex_order.positions.copy()
    numbers[owned:], positions[owned:] = owned + order, placed
    moved = {
        name: gather(gpu, column, from_sent) for name, column in zip(names, values, strict=True)
    }
    graph = DeviceGraph(
        gpu,
        VertexOrder(numbers, positions, vertex_order.offsets),
        indices,
        moved,
        undirected=False,
        names=names,
    )
    gpu.trim()
    placement = Placement(
        xp.concatenate([xp.arange(low, low + owned, dtype=outside.dtype), outside]),
        bounds,
        boundaries,
        [xp.sort(xp.take(positions, boundary)) for boundary in boundaries],
    )
    return DeviceShard(
        comm,
        shard.owners.cuts,
        graph,
        placement,
        Totals(shard.number_of_edges, shard.number_of_arcs),
        vertices=shard._vertices.with_ghosts(comm, part.halo, outside),
        kind=shard._kind,
        names=(shard._source_names, shard._destination_names),
        weight=shard.weight,
        directed=True,
    )


def _order(
    part: Part, rows: DeviceArray, outside: DeviceArray, ghosts: list[tuple[int, int]]
) -> tuple[list[DeviceArray], DeviceArray]:
    """Return the owned vertices that each rank has as ghosts, and the order of this rank's ghosts.

    Collective.

    Parameters
    ----------
    part : Part
    rows : device array
        The row of each arc: the number of an owned vertex less the first one's.
    outside : device array
        The ghosts' numbers, ascending.
    ghosts : list of (int, int)
        The range of them that each rank owns.

    Returns
    -------
    boundaries : list of device array
        For each rank, numbers of its ghosts that are owned here, less the first owned one's.
    order : device array
        See `order_ghosts`.
    """
    xp, owned, index = part.xp, part.owned, rows.dtype
    degrees = bin_counts(rows, owned)
    falling = xp.argsort(-degrees, kind="stable")  # as vertices are laid out
    positions = xp.empty(owned, index)
    positions[falling] = xp.arange(owned, dtype=index)
    comm = part.halo.comm
    asked = comm.alltoall([[outside[first:last]] for first, last in ghosts])
    boundaries = [part.owners.places(wanted).astype(index) for (wanted,) in asked]
    laid_boundaries = [xp.take(positions, boundary) for boundary in boundaries]
    return boundaries, order_ghosts(comm, ghosts, laid_boundaries)
