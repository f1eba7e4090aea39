"""`ConvertedGraph`: a NetworkX graph as arrays of node positions, and graphs of this library over them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.graph.graph import Graph

__all__ = ["ConvertedGraph", "column_of", "numbers"]

Array = npt.NDArray[Any]


class ConvertedGraph:
    """A NetworkX graph as NetworkX's dispatcher passes it to this backend.

    Nodes are numbered in the order of the NetworkX graph, and a node's number is its vertex id in this
    library, so that results are in the order of the nodes.

    Attributes
    ----------
    nodes : list
        Any hashable objects.
    sources, targets : ndarray of int64, shape (edges,)
        Positions of the edges' ends, in the order of `G.edges`: an undirected edge is listed once.
    graph : dict
        Attributes of the graph.
    weights : dict of str to ndarray, shape (edges,)
        Edge attributes that were converted, with the default where an edge has none.
    edge_data, node_data : list of dict, or None
        All attributes of each edge and node, if they were asked for.
    keys : list, or None
        Keys of the edges of a multigraph.
    """

    __networkx_backend__ = "cugraph_ws"

    def __init__(
        self,
        nodes: list[Hashable],
        sources: Array,
        targets: Array,
        *,
        directed: bool,
        keys: list[Hashable] | None,
    ) -> None:
        self.nodes = nodes
        self.sources, self.targets = sources, targets
        self.keys = keys
        self.graph: dict[Any, Any] = {}
        self.weights: dict[Any, Array] = {}
        self.edge_data: list[dict[Any, Any]] | None = None
        self.node_data: list[dict[Any, Any]] | None = None
        self.__networkx_cache__: dict[str, Any] = {}
        self._directed = directed
        self._built: dict[tuple[Any, ...], Graph[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave the built graphs out: NetworkX's graphs keep this one, and are pickled and copied with it."""
        return self.__dict__ | {"_built": {}}

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.positions
        except TypeError:  # it has no hash
            return False

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return self._directed

    def is_multigraph(self) -> bool:
        """Return whether there may be parallel edges."""
        return self.keys is not None

    def number_of_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    def number_of_edges(self) -> int:
        """Return the number of edges."""
        return len(self.sources)

    @cached_property
    def positions(self) -> dict[Hashable, int]:
        """The position of each node."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    @cached_property
    def has_self_loops(self) -> bool:
        """Whether an edge leads from a node to itself."""
        return bool((self.sources == self.targets).any())

    def position(self, node: Any, message: str) -> int:
        """Return the position of a node; raise NetworkX's error with a message if it has none."""
        if node not in self:
            raise nx.NodeNotFound(message)
        return self.positions[node]

    def chosen(self, nodes: Any) -> list[int]:
        """Return the positions of the nodes that `G.nbunch_iter(nodes)` yields."""
        if nodes is None:
            return list(range(len(self.nodes)))
        if nodes in self:
            return [self.positions[nodes]]
        try:
            return [self.positions[node] for node in nodes if node in self.positions]
        except TypeError as error:
            raise nx.NetworkXError(
                f"{nodes!r} is neither a node of the graph nor a sequence of nodes"
            ) from error

    def weight(self, name: Any) -> Array | None:
        """Return an attribute of all edges, 1 where an edge has none; None if all are 1.

        Raises
        ------
        NotImplementedError
            If a value is no finite number; NetworkX then runs the function itself.
        """
        if name is None:
            return None
        if name not in self.weights:
            if self.edge_data is None:
                raise NotImplementedError(f"the edge attribute {name!r} was not converted")
            self.weights[name] = numbers([data.get(name, 1) for data in self.edge_data], name)
        values = self.weights[name]
        return None if (values == 1).all() else values

    def built(
        self, weight: Any = None, *, backward: bool = False, simple: bool = False
    ) -> Graph[Any]:
        """Return a graph of this library; it is built once, then kept.

        Parameters
        ----------
        weight : str or None
            The edge attribute that is its weight.
        backward : bool
            Whether directed edges are reversed.
        simple : bool
            Whether one of several parallel edges is kept; of weights the least.
        """
        values = self.weight(weight)
        backward &= self._directed
        simple &= self.is_multigraph()
        key = (None if values is None else weight, backward, simple)
        if key not in self._built:
            self._built[key] = self.weighted(values, backward=backward, simple=simple)
        return self._built[key]

    def weighted(
        self, values: Array | None, *, backward: bool = False, simple: bool = False
    ) -> Graph[Any]:
        """Return a new graph with an array of weights, or without weights; see `built`."""
        ends = (self.targets, self.sources) if backward else (self.sources, self.targets)
        columns = dict(zip(("source", "destination"), ends, strict=True))
        if values is not None:
            columns["weight"] = values
        return Graph(
            pa.table(columns),
            weight=None if values is None else "weight",
            directed=self._directed,
            vertices=pa.table({"vertex": np.arange(len(self.nodes))}),
            duplicates=("first" if values is None else "min") if simple else "keep",
        )

    def by_node(self, values: Array) -> dict[Hashable, Any]:
        """Return the values of all nodes by node, as NetworkX returns them."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    def at(self, positions: Sequence[int] | Array) -> list[Hashable]:
        """Return the nodes at positions."""
        return [self.nodes[position] for position in np.asarray(positions, np.int64).tolist()]

    def degrees(self, loops: int = 2) -> Array:
        """Return the degree of every node of an undirected graph, to which a self-loop adds `loops`."""
        size, looped = len(self.nodes), self.sources[self.sources == self.targets]
        degrees: Array = np.bincount(self.sources, minlength=size)
        degrees += np.bincount(self.targets, minlength=size)
        degrees += (loops - 2) * np.bincount(looped, minlength=size)
        return degrees

    def sets(self, labels: Array) -> Iterator[set[Hashable]]:
        """Return the nodes of each label, in the order of the labels."""
        order = np.argsort(labels, kind="stable")
        nodes = self.at(order)
        bounds = np.flatnonzero(np.diff(labels[order], prepend=-1, append=-1)).tolist()
        return (set(nodes[first:last]) for first, last in pairwise(bounds))

    def edge_positions(self, frame: Any) -> Array:
        """Return the position, among the edges, of each row of an edge frame of a simple graph."""
        size = len(self.nodes)
        keys = self.sources * size + self.targets
        order = np.argsort(keys)
        sources, targets = (column_of(frame, name) for name in ("source", "destination"))
        if not self._directed:
            swapped = np.isin(sources * size + targets, keys, invert=True)
            sources, targets = (
                np.where(swapped, targets, sources),
                np.where(swapped, sources, targets),
            )
        places: Array = order[np.searchsorted(keys, sources * size + targets, sorter=order)]
        return places


def column_of(frame: pa.Table, name: str) -> Array:
    """Return a column of a result frame, without nulls, as an array."""
    values: Array = frame[name].to_numpy()
    return values


def numbers(values: list[Any], name: Any) -> Array:
    """Return edge attributes as an array of finite numbers.

    Raises
    ------
    NotImplementedError
        If one is no finite number, or an integer beyond 64 bits.
    """
    try:
        array = np.asarray(values) if values else np.empty(0, np.int64)
    except (ValueError, OverflowError) as error:
        raise NotImplementedError(f"the edge attribute {name!r} has no numbers") from error
    if array.dtype.kind not in "bif" or array.ndim != 1 or not np.isfinite(array).all():
        raise NotImplementedError(
            f"the edge attribute {name!r} has values that are no finite numbers"
        )
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
