"""One rank's part of a graph with the data of a bound program: constants and edge attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.graph.arcs import Order
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.program.binding import BoundProgram

__all__ = ["ProgramPart"]

Array = Any  # NumPy's or CuPy's


class ProgramPart(Part):
    """One rank's part of a graph, as an executor reads it.

    In-neighbours of a row are in the order of their numbers.  So the rounding of sums and the breaking
    of ties do not depend on the partitions.

    Parameters
    ----------
    graph : GraphView
        A graph, or a rank's shard of one.  On a GPU its rows are laid out once, and kept there.
    bound : BoundProgram
        The program; its constants are by the graph's positions.
    on_device : bool
        Whether the program runs on the GPU.

    Attributes
    ----------
    vertices : int
        Number of vertices of the whole graph.
    arcs : int
        Number of arcs into owned vertices.
    constants : tuple of array, each of shape (size,) or, if uniform, of one number
        The program's vertex constants, by position.

    Raises
    ------
    GraphMemoryError
        If the part would not fit on the GPU; raised before anything is copied.
    """

    def __init__(self, graph: GraphView, bound: BoundProgram, *, on_device: bool) -> None:
        super().__init__(graph, on_device=on_device)
        self._bound = bound
        self._edges: dict[Order, tuple[Array, ...]] = {}
        self.vertices = graph.number_of_vertices
        self.arcs: int = self.laid.arcs if on_device else len(self.csc.indices)
        self.constants = tuple(self._constant(column) for column in bound.constants)

    @property
    def divided(self) -> bool:
        """Whether other ranks have parts of the same graph."""
        return not self.halo.alone

    @property
    def boundaries(self) -> list[Array]:
        """For each rank, the owned positions that it holds as ghosts, in the order of its ghosts."""
        return list(self.halo.boundaries)

    def edges(self, order: Order) -> tuple[Array, ...]:
        """Return the program's edge attributes in the order of `csc` or `csr`.

        Parameters
        ----------
        order : {"csc", "csr"}

        Returns
        -------
        tuple of array, each of shape (arcs,)
            Made when first requested.  An attribute replaced by a constant is an empty array.
        """
        if order not in self._edges:
            self._edges[order] = tuple(
                self._edge_values(column, np.dtype(kind), order)
                for column, kind in zip(
                    self._bound.edge_columns, self._bound.types.edges, strict=True
                )
            )
        return self._edges[order]

    def _edge_values(self, column: str | None, kind: np.dtype[Any], order: Order) -> Array:
        if column is None:
            # A kernel that prepares messages per vertex reads arc 0 even if there are no arcs.
            return self.xp.zeros(1 if self.on_device and not self.arcs else 0, kind)
        values = self.arc_values(column, order)
        # Kernels on the GPU cast what they read; a narrower column moves fewer bytes.
        cast = not self.on_device or values.dtype.itemsize > kind.itemsize
        return values.astype(kind, copy=False) if cast else values

    def _constant(self, column: Array) -> Array:
        """Return a constant by position; a uniform one is returned unchanged."""
        if not self.on_device:
            return column
        column = self.xp.asarray(column)
        return self.laid.by_position(column) if len(column) == self.size else column
