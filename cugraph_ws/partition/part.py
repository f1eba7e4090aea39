"""One rank's part of a graph on the CPU or the GPU: rows, numbers, and the halo.

A whole graph is the part of a single rank.  Arrays by vertex are indexed by *position*: owned
vertices first, then ghosts, grouped by owner.  On the CPU both are in the order of their numbers;
on the GPU owned vertices are in the order of falling in-degree.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from cugraph_ws.graph.arcs import Order
from cugraph_ws.graph.owners import Owners
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.halo import Halo, Range
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.arrays import array_module, module_of

__all__ = ["Part", "find_places", "in_ascending_order"]

Array = Any  # NumPy's or CuPy's


class Part:
    """One rank's part of a graph, as a loop reads it.

    Parameters
    ----------
    graph : GraphView
        A graph, or a rank's shard of one.
    on_device : bool
        Whether the loop computes on the GPU.
    laid_out : (DeviceGraph, device array, list of device array), optional
        Symmetrised rows that replace the graph's own; see `GraphView.laid_out`.
    ghosts : list of (int, int), optional
        The ghosts of `laid_out`.

    Attributes
    ----------
    graph : GraphView
        Gives ids and columns; some of its methods are collective.
    xp : module
        NumPy or CuPy.
    owned, size : int
        Number of owned vertices, and number of positions.
    owners : Owners
        Which rank owns which vertices.
    ghosts : list of (int, int)
        For each rank, the range of positions of its vertices.
    halo : Halo
    directed : bool
        Whether a vertex's row of the CSC may lack some of its neighbours.
    whole : bool
        Whether the graph is not a shard.  Shards write checkpoints in parts, even on a single rank.
    order : array of int, or slice
        Positions of the owned vertices, in the order of their numbers.
    laid : DeviceGraph or None
        Rows on the device, by position.
    """

    def __init__(
        self,
        graph: GraphView,
        *,
        on_device: bool,
        laid_out: tuple[Any, Array, list[Array]] | None = None,
        ghosts: list[Range] | None = None,
    ) -> None:
        self.graph, self.on_device = graph, on_device
        self.xp = array_module(on_device)
        self.owned, self.owners, self.whole = graph.owned, graph.owners, graph.whole
        self.directed = graph.directed and laid_out is None
        self.ghosts = graph.ghosts if ghosts is None else ghosts
        self.size = self.ghosts[-1][1]
        self.order: Any = slice(0, self.owned)
        self.laid: Any = None
        if on_device:
            self.laid, self.numbers, boundaries = laid_out or graph.laid_out()
            self.order = self.laid.positions[: self.owned]
        else:
            boundaries = graph.boundaries
        self.halo = Halo(graph.comm, boundaries, self.ghosts, graph.owners, on_device=on_device)

    @cached_property
    def numbers(self) -> Array:
        """The vertex number at each position."""
        return self.graph.positions

    @property
    def numbers_are_positions(self) -> bool:
        """Whether vertex numbers equal positions."""
        return not self.on_device and self.halo.alone

    @cached_property
    def csc(self) -> Any:
        """Rows of in-neighbours of owned vertices, by position: `offsets` and `indices`."""
        return self.laid.csc if self.on_device else self.graph.csc

    @property
    def csr(self) -> Any:
        """Rows of owned out-neighbours of all positions: `offsets` and `indices`."""
        return self.laid.csr if self.on_device else self.graph.csr

    @property
    def index(self) -> np.dtype[Any]:
        """The dtype of the positions in `indices`."""
        dtype: np.dtype[Any] = self.csc.indices.dtype
        return dtype

    def named(self, places: Array) -> Array:
        """Convert positions to vertex numbers; negative entries are unchanged.

        Parameters
        ----------
        places : array of int

        Returns
        -------
        array of int
        """
        if self.numbers_are_positions or not self.size:
            return places
        xp = self.xp
        return xp.where(places >= 0, xp.take(self.numbers, xp.maximum(places, 0)), places)

    def placed(self, numbers: Array) -> Array:
        """Convert vertex numbers to positions.

        Parameters
        ----------
        numbers : array of int

        Returns
        -------
        array of int
            Negative entries are unchanged; vertices neither owned nor ghosts become `size`.
        """
        if self.numbers_are_positions or not self.size:
            return numbers
        xp, places = self.xp, find_places(numbers, self.owners, *self._outside)
        strange = places < 0
        if self.on_device:
            places = xp.take(self.laid.positions, xp.maximum(places, 0))
        return xp.where(numbers < 0, numbers, xp.where(strange, self.size, places))

    @cached_property
    def _outside(self) -> tuple[Array, Array | None]:
        """The numbers of the ghosts, ascending, and their order; see `find_places`."""
        outside = self.numbers[self.owned :]
        if self.on_device:
            outside = self.xp.take(self.numbers, self.laid.positions[self.owned :])
        return in_ascending_order(outside, self.owners)

    def with_ghosts(self, own: Array) -> Array:
        """Extend an array by owned vertex to all positions; collective.

        Parameters
        ----------
        own : array, shape (owned,)
            In the order of numbers; on the host or on the part's device.

        Returns
        -------
        array, shape (size,)
        """
        column = self.xp.empty(self.size, own.dtype)
        column[self.order] = self.xp.asarray(own)
        self.halo.update(column)
        return column

    def by_number(self, column: Array) -> Array:
        """Return the owned vertices' entries of a column by position, in the order of their numbers.

        Parameters
        ----------
        column : array, shape (size, ...)

        Returns
        -------
        array, shape (owned, ...)
        """
        return column[self.order]

    def arc_values(self, name: str, order: Order = "csc") -> Array:
        """Return an edge column in the order of the arcs of `csc` or `csr`.

        Parameters
        ----------
        name : str
        order : {"csc", "csr"}

        Returns
        -------
        array, shape (arcs,)
            Read-only.

        Raises
        ------
        InputError
            If the graph has no such column.
        """
        rows = self.laid.values if self.on_device else self.graph.edge_values
        return rows(name, order)

    def by_position(self, own: Array) -> Array:
        """Return a column by position, given owned vertices' entries in the order of their numbers.

        Parameters
        ----------
        own : array, shape (owned, ...)
            On the host or on the part's device.

        Returns
        -------
        array, shape (size, ...)
            Ghosts' entries are 0.
        """
        entries = self.xp.asarray(own)
        if self.halo.alone:
            return self.xp.take(entries, self.laid.numbers, axis=0) if self.on_device else entries
        column = self.xp.zeros((self.size, *own.shape[1:]), own.dtype)
        column[self.order] = entries
        return column


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

    @property
    def edge_columns(self) -> tuple[str | None, ...]:
        """For each of the program's edge attributes, the graph's that provides it; None for a constant."""
        return self._bound.edge_columns

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
        wider = values.dtype.itemsize > kind.itemsize
        cast = not self.on_device or (wider and not self.laid.arcs_on_host)
        return values.astype(kind, copy=False) if cast else values

    def _constant(self, column: Array) -> Array:
        """Return a constant by position; a uniform one is returned unchanged."""
        if not self.on_device:
            return column
        column = self.xp.asarray(column)
        return self.laid.by_position(column) if len(column) == self.size else column


def in_ascending_order(outside: Array, owners: Owners) -> tuple[Array, Array | None]:
    """Return the numbers of ghosts, given in the order of their owners, as `find_places` takes them."""
    if owners.in_ranges:
        return outside, None
    order = module_of(outside).argsort(outside)
    return outside[order], order


def find_places(
    numbers: Array, owners: Owners, outside: Array, order: Array | None = None
) -> Array:
    """Return the positions of vertices, if owned vertices and each owner's ghosts are in the order of numbers.

    Parameters
    ----------
    numbers : array of int
    owners : Owners
    outside : array of int
        The ghosts' numbers, ascending.
    order : array of int, optional
        The places of these among the ghosts; without it, the same.

    Returns
    -------
    array of int
        −1 for vertices that are neither owned nor ghosts.
    """
    xp, owned = module_of(numbers), owners.owned
    owns, places = owners.holds(numbers), owners.places(numbers)
    if not len(outside):
        return xp.where(owns, places, -1)
    ghost_places = xp.searchsorted(outside, numbers.astype(outside.dtype))
    known = outside[xp.minimum(ghost_places, len(outside) - 1)] == numbers
    if order is not None:
        ghost_places = order[xp.minimum(ghost_places, len(outside) - 1)]
    return xp.where(owns, places, xp.where(known, ghost_places + owned, -1))
