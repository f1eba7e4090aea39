"""A graph as one of another library: SciPy, CuPy, NetworkX, igraph, PyTorch Geometric.

Row i of a matrix, and vertex i of igraph and PyTorch Geometric, is row i of `graph.vertices`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.frames.conversions import to_arrow
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.extras import import_optional

__all__ = ["to_cupy", "to_igraph", "to_networkx", "to_pyg", "to_scipy"]

MOST = int(np.iinfo(np.int32).max)
INSTALL = {"cupyx.scipy.sparse": "cupy-cuda13x", "torch_geometric.data": "torch torch_geometric"}


def to_scipy(graph: GraphView[Any]) -> Any:
    """Return the adjacency matrix; see `Graph.to_scipy`."""
    values, columns, offsets = _rows(graph)
    sparse = _imported("scipy.sparse", "to_scipy()")
    return sparse.csr_array((values, columns, offsets), shape=(graph.number_of_vertices,) * 2)


def to_cupy(graph: GraphView[Any]) -> Any:
    """Return the adjacency matrix on the GPU; see `Graph.to_cupy`."""
    sparse = _imported("cupyx.scipy.sparse", "to_cupy()")
    cupy = _imported("cupy", "to_cupy()")
    values, columns, offsets = map(cupy.asarray, _rows(graph))
    return sparse.csr_matrix((values, columns, offsets), shape=(graph.number_of_vertices,) * 2)


def _rows(graph: GraphView[Any]) -> tuple[Any, Any, Any]:
    """Return the weights, out-neighbours and offsets of the rows of the adjacency matrix."""
    rows = graph.csr
    values = (
        np.ones(len(rows.indices))
        if graph.weight is None
        else graph.edge_values(graph.weight, "csr")
    )
    index = np.int32 if len(rows.indices) <= MOST else np.int64
    return np.array(values), rows.indices.astype(index), rows.offsets.astype(index)


def to_networkx(graph: GraphView[Any]) -> Any:
    """Return a graph of NetworkX; see `Graph.to_networkx`."""
    networkx = _imported("networkx", "to_networkx()")
    several = "Multi" if graph.report.duplicates else ""
    made = getattr(networkx, f"{several}{'DiGraph' if graph.directed else 'Graph'}")()
    ids, attributes = _vertices(graph)
    made.add_nodes_from(zip(ids, _records(attributes, len(ids)), strict=True))
    sources, destinations, columns = _edges(graph)
    records = _records(columns, len(sources))
    made.add_edges_from(
        (ids[source], ids[destination], record)
        for source, destination, record in zip(sources, destinations, records, strict=True)
    )
    return made


def to_igraph(graph: GraphView[Any]) -> Any:
    """Return a graph of igraph; see `Graph.to_igraph`."""
    igraph = _imported("igraph", "to_igraph()")
    ids, attributes = _vertices(graph)
    if "name" in attributes:  # which igraph looks vertices up by
        attributes["vertex_name"] = attributes.pop("name")
    sources, destinations, columns = _edges(graph)
    return igraph.Graph(
        n=len(ids),
        edges=list(zip(sources, destinations, strict=True)),
        directed=graph.directed,
        vertex_attrs={"name": ids, **attributes},
        edge_attrs=columns,
    )


def to_pyg(graph: GraphView[Any]) -> Any:
    """Return a `Data` of PyTorch Geometric; see `Graph.to_pyg`."""
    data = _imported("torch_geometric.data", "to_pyg()")
    torch = _imported("torch", "to_pyg()")
    rows = graph.csr
    sources = np.repeat(np.arange(graph.number_of_vertices), np.diff(rows.offsets))
    made = data.Data(
        edge_index=torch.from_numpy(np.stack([sources, rows.indices.astype(np.int64)])),
        num_nodes=graph.number_of_vertices,
    )
    for name in graph.edge_attributes:
        values = torch.from_numpy(np.array(graph.edge_values(name, "csr")))
        made["edge_weight" if name == graph.weight else f"edge_{name}"] = values
    for name, column in _vertices(graph)[1].items():
        if not any(isinstance(value, str | None) for value in column):
            made[name] = torch.from_numpy(np.array(column))
    return made


def _vertices(graph: GraphView[Any]) -> tuple[list[Any], dict[str, list[Any]]]:
    """Return the ids by vertex number, tuples if they have several columns, and the attributes."""
    columns = to_arrow(graph.vertices).to_pydict()
    ids = [columns.pop(name) for name in graph._vertices.names]
    return list(ids[0]) if len(ids) == 1 else list(zip(*ids, strict=True)), columns


def _edges(graph: GraphView[Any]) -> tuple[list[int], list[int], dict[str, list[Any]]]:
    """Return the vertex numbers of the edges' ends, and the edge columns; an undirected edge once."""
    sources, destinations, columns = graph._listed(None, None)
    values = {name: as_host(column).tolist() for name, column in columns.items()}
    return as_host(sources).tolist(), as_host(destinations).tolist(), values


def _records(columns: dict[str, list[Any]], count: int) -> list[dict[str, Any]]:
    """Return columns as a mapping for each row, without what is missing."""
    rows = zip(*columns.values(), strict=True) if columns else [()] * count
    return [
        {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        for row in rows
    ]


def _imported(name: str, what: str) -> Any:
    """Import a module of another library, or raise InputError that says how to install it."""
    package = INSTALL.get(name, name.partition(".")[0])
    return import_optional(name, what, f"pip install {package}")
