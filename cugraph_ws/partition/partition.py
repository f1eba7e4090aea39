"""Partitions: a range of vertices, the arcs into them, and ghosts of in-neighbours outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.binding import BoundProgram

__all__ = ["Partition", "partition_of"]

Array = npt.NDArray[Any]


@dataclass
class Partition:
    """The data of one executor; positions 0 … owned−1 are owned vertices, later ones ghosts.

    Attributes
    ----------
    vertices : int
        Number of vertices of the whole graph.
    owned : int
        Number of owned vertices.
    numbers : ndarray of int64, shape (size,)
        Vertex number at each position.  Ghosts are grouped by owner, so a message updates one
        contiguous range.
    constants : tuple of ndarray, each of shape (size,) or, if uniform, of one number
        The program's vertex constants, by position.
    csc : Adjacency
        Rows are owned vertices; indices are positions of in-neighbours, in the order of their
        numbers.  So rounding of sums and the choice between ties do not depend on the partitions.
    csr : Adjacency
        Rows are all positions; indices are positions of owned out-neighbours.
    boundaries : list of ndarray of int64
        For each partition, the owned positions that it holds as ghosts, in the order of its ghosts.
    ghosts : list of (int, int)
        For each partition, the range of positions of its vertices here.
    """

    vertices: int
    owned: int
    numbers: npt.NDArray[np.int64]
    constants: tuple[Array, ...]
    csc: Adjacency
    csr: Adjacency
    boundaries: list[npt.NDArray[np.int64]]
    ghosts: list[tuple[int, int]]
    _edges: dict[str, tuple[Array, ...]]

    @property
    def size(self) -> int:
        """Number of owned vertices and ghosts."""
        return len(self.numbers)

    @property
    def ghosted(self) -> bool:
        """Whether there are ghosts."""
        return self.size > self.owned

    def edges(self, order: Literal["csc", "csr"]) -> tuple[Array, ...]:
        """Return the program's edge attributes in the order of `csc` or `csr`.

        An attribute replaced by a constant is an empty array.
        """
        return self._edges[order]


def partition_of(graph: GraphView, bound: BoundProgram) -> Partition:
    """Return a whole graph, or a rank's shard of one, as a program's partition.

    Parameters
    ----------
    graph : GraphView
    bound : BoundProgram
        The program; its constants are by the graph's positions.

    Returns
    -------
    Partition
    """
    return Partition(
        vertices=graph.number_of_vertices,
        owned=graph.owned,
        numbers=graph.positions,
        constants=bound.constants,
        csc=graph.csc,
        csr=graph.csr,
        boundaries=graph.boundaries,
        ghosts=graph.ghosts,
        _edges={order: _edge_arrays(graph, bound, order) for order in ("csc", "csr")},
    )


def _edge_arrays(
    graph: GraphView, bound: BoundProgram, order: Literal["csc", "csr"]
) -> tuple[Array, ...]:
    """Return a program's edge attributes; one replaced by a constant is an empty array."""
    return tuple(
        np.empty(0, kind)
        if column is None
        else graph.edge_values(column, order).astype(kind, copy=False)
        for column, kind in zip(bound.edge_columns, bound.types.edges, strict=True)
    )
