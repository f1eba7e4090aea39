"""A graph on the device with some of the arcs of another."""

from __future__ import annotations

from typing import Any

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import Ends
from cugraph_ws.backends.cuda.order import arc_rows
from cugraph_ws.backends.cuda.rows import gather, group_edges
from cugraph_ws.runtime.device import device

__all__ = ["chosen", "without_arcs"]

DeviceArray = Any  # CuPy's or NumPy's


def chosen(graph: DeviceGraph, which: DeviceArray) -> DeviceGraph:
    """Return a graph with some of the arcs, laid out by falling in-degree in that graph.

    Parameters
    ----------
    graph : DeviceGraph
    which : device array of int64
        Indices of the arcs in its CSC, ascending.

    Returns
    -------
    DeviceGraph
    """
    gpu, csc, numbers = device(), graph.csc, graph.numbers
    ends = Ends(numbers[arc_rows(csc.offsets, graph.arcs)[which]], numbers[csc.indices[which]])
    names = graph.edge_attributes
    vertex_order, indices, order, *_ = group_edges(
        gpu, ends, graph.size, both=False, keep=bool(names)
    )
    del ends
    values = {name: gather(gpu, graph.values(name)[which], order) for name in names}
    return DeviceGraph(gpu, vertex_order, indices, values, undirected=graph.undirected, names=names)


def without_arcs(graph: DeviceGraph) -> DeviceGraph:
    """Return a graph of the same vertices without arcs and edge columns.

    Parameters
    ----------
    graph : DeviceGraph

    Returns
    -------
    DeviceGraph
    """
    gpu, nothing = device(), graph.numbers[:0]
    vertex_order, indices, *_ = group_edges(
        gpu, Ends(nothing, nothing.copy()), graph.size, both=False, keep=False
    )
    return DeviceGraph(gpu, vertex_order, indices, {}, undirected=graph.undirected, names=())
