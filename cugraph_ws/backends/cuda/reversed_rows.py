"""The rows of a graph on the device along reversed edges, laid out by falling out-degree."""

from __future__ import annotations

from typing import Any

from cugraph_ws.backends.cuda.arcs import DeviceArcs
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import Ends
from cugraph_ws.backends.cuda.memory import check_device_memory, estimate
from cugraph_ws.backends.cuda.rows import group_edges
from cugraph_ws.runtime.device import device

__all__ = ["reversed_arcs"]


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
    layout, indices, places, _ = group_edges(owner, ends, graph.size, both=False, keep=bool(names))
    if not names:
        order = None

    def fetch(name: str) -> Any:
        return graph.values(name, "csc")[order]

    reverse = DeviceGraph(
        owner, layout, indices, {}, undirected=False, names=names, fetch=fetch, order=places
    )
    owner.trim()
    return DeviceArcs(reverse, names)
