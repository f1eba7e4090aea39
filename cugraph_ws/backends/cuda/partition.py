"""A partition on the device, as one program reads it: rows, ghosts, constants, edge attributes.

A partition is a `DeviceGraph` whose last positions are ghosts.  Ghosts have no in-arcs in this
partition. So a stable sort of the vertices by falling in-degree puts them last.  A whole graph is a
partition without ghosts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cugraph_ws.backends.cuda.graph import DeviceGraph, Order
from cugraph_ws.backends.cuda.grouping import Ends, number_dtype
from cugraph_ws.backends.cuda.memory import check_device_memory, estimate
from cugraph_ws.backends.cuda.rows import Rows, expand_rows, gather, group_edges
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.device import device

if TYPE_CHECKING:
    from cugraph_ws.graph.view import GraphView

__all__ = [
    "DevicePartition",
    "graph_partition",
    "laid_out",
]

DeviceArray = Any  # CuPy's or NumPy's


class DevicePartition:
    """What a `CudaExecutor` works on; made by the functions of this module.

    Owned vertices are at positions by falling in-degree.  Ghosts follow, grouped by owner.
    Outside, in columns and checkpoints, vertices are in the order in which they were given.

    Parameters
    ----------
    graph : DeviceGraph
        Rows of all positions; those of ghosts are empty.
    vertices, owned : int
    numbers : device array of int32 or int64, shape (size,)
    constants : tuple of device array
        In the order outside.
    edges : callable
        Returns the program's edge attributes in the order of "csc" or "csr".
    boundaries : list of device array
    ghosts : list of (int, int)

    Attributes
    ----------
    vertices : int
        Number of vertices of the whole graph.
    owned : int
        Number of owned vertices.
    size : int
        Number of owned vertices and ghosts.
    arcs : int
        Number of arcs into owned vertices.
    numbers : device array of int32 or int64, shape (size,)
        Vertex number at each position.
    constants : tuple of device array, each of shape (size,) or, if uniform, of one number
        The program's vertex constants, by position.
    boundaries : list of device array of int32 or int64
        For each partition, positions of the owned vertices that it has as ghosts, in its ghosts'
        order.
    ghosts : list of (int, int)
        For each partition, the range of positions of its vertices here.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        *,
        vertices: int,
        owned: int,
        numbers: DeviceArray,
        constants: tuple[DeviceArray, ...],
        edges: Callable[[Order], tuple[DeviceArray, ...]],
        boundaries: list[DeviceArray],
        ghosts: list[tuple[int, int]],
    ) -> None:
        self.graph = graph
        self.vertices = vertices
        self.owned = owned
        self.size = graph.size
        self.arcs = graph.arcs
        self.numbers = numbers
        self.boundaries = boundaries
        self.ghosts = ghosts
        self._edges = edges
        self.constants = tuple(self._laid_out(column) for column in constants)

    @property
    def divided(self) -> bool:
        """Whether there are other partitions of the same graph."""
        return len(self.boundaries) > 1

    @property
    def csc(self) -> Rows:
        """In-neighbours of every position; ghosts have none."""
        return self.graph.csc

    def edges(self, order: Order) -> tuple[DeviceArray, ...]:
        """Return the program's edge attributes; arrays of constants are empty.

        Parameters
        ----------
        order : {"csc", "csr"}

        Returns
        -------
        tuple of device array, each of shape (arcs,) or (0,)
        """
        return self._edges(order)

    def vertices_with(self, degree: int) -> int:
        """Return how many owned vertices have an in-degree of at least `degree`, a positive number."""
        return self.graph.vertices_with(degree)

    def inside(self, array: Any) -> DeviceArray:
        """Reorder values of all positions from the order outside to the order of positions.

        Parameters
        ----------
        array : device array or ndarray, shape (size,)

        Returns
        -------
        device array, shape (size,)
        """
        return self.graph.by_position(array)

    def outside(self, array: DeviceArray) -> DeviceArray:
        """Reorder values of the owned vertices from the order of positions to the order outside.

        Parameters
        ----------
        array : device array, shape (owned,) or more

        Returns
        -------
        device array, shape (owned,)
        """
        return device().xp.take(array, self.graph.positions[: self.owned])

    def _laid_out(self, column: Any) -> DeviceArray:
        """Return a constant by position; a uniform one is returned unchanged."""
        column = device().xp.asarray(column)
        return self.inside(column) if len(column) == self.size else column


def graph_partition(graph: GraphView, bound: BoundProgram) -> DevicePartition:
    """Return a whole graph, or a rank's shard of one, as a program's partition.

    Parameters
    ----------
    graph : GraphView
        Its rows are laid out on the device once, and kept there.
    bound : BoundProgram
        The program; its constants are by the graph's positions.

    Returns
    -------
    DevicePartition
        Edge attributes are copied to the device when first requested.

    Raises
    ------
    GraphMemoryError
        If it would not fit on the GPU; raised before anything is copied.
    """
    laid, numbers, boundaries = graph.laid_out()
    return DevicePartition(
        laid,
        vertices=graph.number_of_vertices,
        owned=graph.owned,
        numbers=numbers,
        constants=bound.constants,
        edges=_attributes(laid, bound),
        boundaries=boundaries,
        ghosts=graph.ghosts,
    )


def laid_out(size: int, offsets: Any, indices: Any, values: Mapping[str, Any]) -> DeviceGraph:
    """Lay out the rows of owned vertices by falling in-degree, then ghosts without rows.

    Parameters
    ----------
    size : int
        Number of owned vertices and ghosts.
    offsets : array of int64, shape (owned + 1,)
    indices : array of int32 or int64, shape (arcs,)
    values : mapping of str to array, each of shape (arcs,)
        Edge attributes.

    Returns
    -------
    DeviceGraph

    Raises
    ------
    GraphMemoryError
        If it would not fit on the GPU; raised before anything is copied.
    """
    owner = device()
    xp = owner.xp
    owned, arcs = len(offsets) - 1, len(indices)
    index = number_dtype(size)
    wide = sum(np.dtype(column.dtype).itemsize for column in values.values())
    copied = 2 * index.itemsize * arcs + 8 * size
    check_device_memory(estimate(arcs, size, wide, False), beside=copied)
    starts = xp.asarray(offsets, np.int64)
    degrees = xp.zeros(size, number_dtype(arcs))
    degrees[:owned] = xp.diff(starts)
    rows = expand_rows(owner, starts, arcs, index)
    ends = Ends(rows, xp.asarray(indices, index), counts=degrees)
    del rows, starts, degrees
    layout, sources, order, _ = group_edges(owner, ends, size, both=False, keep=wide > 0)
    del ends
    named = {name: gather(owner, xp.asarray(column), order) for name, column in values.items()}
    graph = DeviceGraph(owner, layout, sources, named, undirected=False, names=tuple(named))
    owner.trim()
    return graph


def _attributes(
    graph: DeviceGraph, bound: BoundProgram
) -> Callable[[Order], tuple[DeviceArray, ...]]:
    """Return a reader of a program's edge attributes, copied to the device when first requested."""
    xp = device().xp
    # A kernel that prepares messages per vertex reads arc 0 even if there are no arcs.
    empty = 0 if graph.arcs else 1

    def edges(order: Order) -> tuple[DeviceArray, ...]:
        arrays = []
        for column, kind in zip(bound.edge_columns, bound.types.edges, strict=True):
            if column is None:
                arrays.append(xp.zeros(empty, kind))
                continue
            # Kernels cast what they read.  A narrower column is kept, since it moves fewer bytes.
            values = graph.values(column, order)
            wider = values.dtype.itemsize > np.dtype(kind).itemsize
            arrays.append(values.astype(kind) if wider else values)
        return tuple(arrays)

    return edges
