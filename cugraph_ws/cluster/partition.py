"""A partition: a range of vertices, the arcs into them, and copies of the in-neighbours outside."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cugraph_ws.binding import BoundProgram
from cugraph_ws.graph import Adjacency, Graph

__all__ = ["Partition", "whole_graph"]


class Partition:
    """What one executor works on; positions 0 … owned−1 are its own vertices, then come ghosts.

    Attributes
    ----------
    owned, size : int
        Number of its own vertices, and of these and the ghosts.
    numbers : ndarray of int64, shape (size,)
        Vertex number at each position.
    constants : tuple of ndarray
        The program's vertex constants, by position.
    csc : Adjacency
        Rows are owned vertices; indices are positions of in-neighbours.
    csr : Adjacency
        Rows are all positions; indices are positions of owned out-neighbours.
    """

    def __init__(self, graph: Graph, bound: BoundProgram) -> None:
        self._graph = graph
        self._columns = bound.edge_columns
        self._kinds = bound.types.edges
        self.owned = self.size = graph.number_of_vertices
        self.numbers = np.arange(self.size, dtype=np.int64)
        self.constants = bound.constants
        self._edges: dict[str, tuple[npt.NDArray[Any], ...]] = {}

    @property
    def csc(self) -> Adjacency:
        """In-neighbours of the owned vertices."""
        return self._graph.csc

    @property
    def csr(self) -> Adjacency:
        """Owned out-neighbours of every position."""
        return self._graph.csr

    def edges(self, order: Literal["csc", "csr"]) -> tuple[npt.NDArray[Any], ...]:
        """Return the program's edge attributes in the order of `csc` or `csr`.

        Attributes that a constant stands in for are empty arrays.
        """
        if order not in self._edges:
            self._edges[order] = tuple(
                np.empty(0, kind)
                if column is None
                else self._graph.edge_values(column, order).astype(kind, copy=False)
                for column, kind in zip(self._columns, self._kinds, strict=True)
            )
        return self._edges[order]


def whole_graph(graph: Graph, bound: BoundProgram) -> Partition:
    """Return the only partition of a graph on one machine: all vertices, no ghosts.

    Parameters
    ----------
    graph : Graph
        The graph.
    bound : BoundProgram
        The program that will run on it.

    Returns
    -------
    Partition
        The partition.
    """
    return Partition(graph, bound)
