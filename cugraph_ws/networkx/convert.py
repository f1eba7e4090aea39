"""Conversion of NetworkX graphs to arrays of node positions, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain, compress, repeat
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from cugraph_ws.networkx.converted import ConvertedGraph, numbers

__all__ = ["convert_from_nx", "convert_to_nx"]

Array = npt.NDArray[Any]


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: Mapping[Any, Any] | None = None,
    node_attrs: Mapping[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> ConvertedGraph:
    """Convert a NetworkX graph; NetworkX's dispatcher calls it.

    Parameters
    ----------
    graph : networkx.Graph
        Also directed, a multigraph or a view.
    edge_attrs, node_attrs : mapping, optional
        The default of each attribute to convert.
    preserve_edge_attrs, preserve_node_attrs, preserve_graph_attrs : bool
        Whether to keep all attributes.  Those of edges and nodes stay the dictionaries of `graph`.  Those of
        the graph are always kept, and those of nodes without `node_attrs` too.
    name, graph_name : str, optional
        The function that is called, and its argument, for errors.

    Returns
    -------
    ConvertedGraph

    Raises
    ------
    TypeError
        If it is no NetworkX graph.
    NotImplementedError
        If an edge attribute has values that are no finite numbers, or a subclass computes neighbours.
    """
    if not isinstance(graph, nx.Graph):
        raise TypeError(
            f"{graph_name} of {name} is a {type(graph).__name__}; give a NetworkX graph"
        )
    if type(graph).__getitem__ is not nx.Graph.__getitem__:
        raise NotImplementedError(f"a {type(graph).__name__} computes its neighbours")
    nodes = list(graph._adj)
    # Of a view, which filters its rows, `len` may count neighbours that it does not list.
    rows = [row if isinstance(row, dict) else dict(row) for row in graph._adj.values()]
    degrees = np.fromiter(map(len, rows), np.int64, len(rows))
    sources = np.repeat(np.arange(len(nodes)), degrees)
    targets = _positions(nodes, chain.from_iterable(rows), len(sources))
    data: list[Any] = []
    if graph.is_multigraph() or preserve_edge_attrs or edge_attrs:
        data = list(chain.from_iterable(row.values() for row in rows))
    if not graph.is_directed():  # each edge is in the rows of both its ends
        once = sources <= targets
        sources, targets = sources[once], targets[once]
        data = list(compress(data, once.tolist()))
    keys: list[Hashable] | None = None
    if graph.is_multigraph():
        counts = np.fromiter(map(len, data), np.int64, len(data))
        sources, targets = np.repeat(sources, counts), np.repeat(targets, counts)
        keys = list(chain.from_iterable(data))
        data = list(chain.from_iterable(parallel.values() for parallel in data))
    converted = ConvertedGraph(nodes, sources, targets, directed=graph.is_directed(), keys=keys)
    for attribute, default in (edge_attrs or {}).items():
        values = [attributes.get(attribute, default) for attributes in data]
        converted.weights[attribute] = numbers(values, attribute)
    if preserve_edge_attrs:
        converted.edge_data = data
    # All are kept also if none are asked for: `weighted_projected_graph` does not say that it returns them.
    if preserve_node_attrs or not node_attrs:
        converted.node_data = list(graph._node.values())
    else:
        converted.node_data = [
            {attribute: values.get(attribute, default) for attribute, default in node_attrs.items()}
            for values in graph._node.values()
        ]
    converted.graph = dict(graph.graph)
    return converted


def convert_to_nx(graph: Any, *, name: str | None = None) -> Any:
    """Convert a graph back; NetworkX's dispatcher calls it, also with results of functions.

    Parameters
    ----------
    graph : object
    name : str, optional
        The function that is called.

    Returns
    -------
    networkx.Graph
        With the attributes that were converted; anything but a `ConvertedGraph` is returned unchanged.
    """
    if not isinstance(graph, ConvertedGraph):
        return graph
    kinds = ((nx.Graph, nx.MultiGraph), (nx.DiGraph, nx.MultiDiGraph))
    result = kinds[graph.is_directed()][graph.is_multigraph()](**graph.graph)
    nodes = graph.nodes
    result.add_nodes_from(
        nodes if graph.node_data is None else zip(nodes, graph.node_data, strict=True)
    )
    ends = [graph.at(graph.sources), graph.at(graph.targets)]
    keys = [] if graph.keys is None else [graph.keys]
    data = graph.edge_data
    if data is None:
        values = [column.tolist() for column in graph.weights.values()]
        rows = zip(*values, strict=True) if values else repeat((), len(graph.sources))
        data = [dict(zip(graph.weights, row, strict=True)) for row in rows]
    result.add_edges_from(zip(*ends, *keys, data, strict=True))
    return result


def _positions(nodes: Sequence[Hashable], ends: Iterable[Hashable], count: int) -> Array:
    """Return the positions of the ends of edges among nodes; at once if nodes are their positions."""
    if set(map(type, nodes)) != {int} or nodes != list(range(len(nodes))):
        ends = map(dict(zip(nodes, range(len(nodes)), strict=True)).__getitem__, ends)
    return np.fromiter(ends, np.int64, count)
