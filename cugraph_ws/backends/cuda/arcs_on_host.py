"""A graph on the device whose arcs stay in the host's memory: kernels read them in place, over the link.

Vertices are on the device: offsets, positions and states.  Neighbours and edge columns are in pinned memory, which
the device addresses like its own, so every kernel runs as it is, and a sparse frontier reads the sectors of its own
rows alone (Min et al. 2020, "EMOGI").  Dense supersteps, which read all arcs, go through buffers instead; see
`streamed_supersteps`.

Rows are read from the host in its own order, a range at a time, sorted on the device, and written where they belong.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cugraph_ws.backends.cuda.graph import DeviceGraph, Order, from_host, graph_behind
from cugraph_ws.backends.cuda.grouping import number_dtype
from cugraph_ws.backends.cuda.order import arc_rows, sort_ends
from cugraph_ws.backends.cuda.rows import Rows, place_vertices
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.memory import available_memory, format_bytes

if TYPE_CHECKING:
    from cugraph_ws.graph.graph import Graph

__all__ = ["GraphOfHostArcs", "placed"]

LOG = logging.getLogger("cugraph_ws")

DeviceArray = Any

SORTED = 64  # bytes on the device of an arc whose row is sorted
LEAST_SORTED, MOST_SORTED = (
    1 << 12,
    1 << 24,
)  # arcs that are sorted at a time; more if a row has more


def placed(graph: Graph) -> DeviceGraph:
    """Copy a graph from the host to the device: with its arcs if they fit and shall be there, or its vertices alone.

    Parameters
    ----------
    graph : Graph
        Its `placement` is not "memory".

    Returns
    -------
    DeviceGraph

    Raises
    ------
    GraphMemoryError
        If it would not fit on the device; raised before anything is copied.
    """
    if graph.placement == "host":
        return GraphOfHostArcs(graph)
    try:
        return from_host(graph)
    except GraphMemoryError as error:
        LOG.info("the graph's arcs stay in the host's memory: %s", error)
        return GraphOfHostArcs(graph)


class GraphOfHostArcs(DeviceGraph):
    """A graph whose vertices are on the device, and whose arcs are in pinned memory of the host.

    Parameters
    ----------
    graph : Graph
        On the host, in memory or in mapped files; it must stay open.

    Raises
    ------
    GraphMemoryError
        If its vertices would not fit on the device, or its arcs in the host's memory; raised before anything is
        copied.
    """

    arcs_on_host = True

    def __init__(self, graph: Graph) -> None:
        owner = device()
        room = owner.free_memory()
        if graph.memory_limit is not None:
            room = min(room, graph.memory_limit)
        size, arcs = graph.number_of_vertices, graph.number_of_arcs
        index = number_dtype(size)
        vertices = (2 * index.itemsize + 8) * size
        placing, longest = (16 + 2 * index.itemsize) * size, int(graph.in_degrees.max(initial=0))
        needed = vertices + max(placing, SORTED * max(longest, min(arcs, LEAST_SORTED)))
        if needed > room:
            raise GraphMemoryError(
                f"the graph's {size:,} vertices, without its arcs, need {format_bytes(needed)} of GPU memory and "
                f"{format_bytes(room)} are available; use a larger memory_limit= or GPU, or engine='cpu'"
            )
        self._most = max(LEAST_SORTED, min(MOST_SORTED, (room - vertices) // (2 * SORTED)))
        self._host = weakref.ref(graph)  # weak, since it holds this graph
        vertex_order = place_vertices(owner, [owner.xp.asarray(graph.in_degrees)], size)
        super().__init__(
            owner,
            vertex_order,
            owner.addressable(0, index),
            {},
            undirected=not graph.directed,
            names=graph.edge_attributes,
            both_ways=graph.own_both_ways,
        )
        self.arcs = arcs
        self._csc = Rows(vertex_order.offsets, self._laid_out(vertex_order.offsets, "csc"))
        owner.trim()

    @property
    def nbytes(self) -> int:
        """Bytes held now on the device."""
        with self._lock:
            return super().nbytes - sum(int(array.nbytes) for array in self._apart())

    def is_apart(self, array: DeviceArray) -> bool:
        """Return whether an array by arc is in the host's memory."""
        return any(array is column for column in self._apart())

    def _apart(self) -> list[DeviceArray]:
        """Return all arrays in the host's memory."""
        with self._lock:
            return [*(rows.indices for rows in self.at_hand), *self._values.values()]

    def _make_csr(self) -> Rows:
        """Lay out the rows of out-neighbours, from those that the host makes."""
        xp = self._device.xp
        offsets = xp.zeros(self.size + 1, np.int64)
        xp.cumsum(self.out_degrees, out=offsets[1:])
        return Rows(offsets, self._laid_out(offsets, "csr"))

    def _make_values(self, name: str, order: Order) -> DeviceArray:
        """Lay out an edge column in the order of the rows."""
        offsets = (self.csc if order == "csc" else self.csr).offsets
        return self._laid_out(offsets, order, name)

    @property
    def out_degrees(self) -> DeviceArray:
        """Number of arcs out of each vertex; int64, shape (size,), by position."""
        with self._lock:
            if self.undirected or self._csr is not None:
                return super().out_degrees
            return self.by_position(graph_behind(self._host, "rows").out_degrees)

    def _laid_out(self, offsets: DeviceArray, order: Order, name: str = "") -> DeviceArray:
        """Return the neighbours of rows that begin at `offsets`, or an edge column in their order, in pinned memory."""
        xp, positions = self._device.xp, self.positions
        graph = graph_behind(self._host, f"edge column {name!r}" if name else "rows")
        rows = graph.csc if order == "csc" else graph.csr
        column = graph.edge_values(name, order) if name else None
        kind = number_dtype(self.size) if column is None else column.dtype
        needed, available = self.arcs * kind.itemsize, available_memory()
        if needed > available:
            raise GraphMemoryError(
                f"the graph's arcs need {format_bytes(needed)} of memory on the host and {format_bytes(available)} "
                f"are available; leave out weight= and attributes=, or use engine='cpu'"
            )
        laid = self._device.addressable(self.arcs, kind)
        for first, last in _ranges(rows.offsets, self._most):
            look()
            begin, end = int(rows.offsets[first]), int(rows.offsets[last])
            neighbours = xp.take(positions, xp.asarray(rows.indices[begin:end]))
            starts = xp.asarray(rows.offsets[first : last + 1].astype(np.int64)) - begin
            of_arcs = arc_rows(starts, end - begin)
            within = sort_ends(of_arcs, neighbours, self.size)
            shift = offsets[positions[first:last]] - starts[:-1]
            values = neighbours if column is None else xp.asarray(column[begin:end])
            laid[xp.arange(end - begin) + shift[of_arcs]] = values[within]
        self._device.synchronize()
        return laid


def _ranges(offsets: Any, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with at most so many arcs, or of one row."""
    rows, first = len(offsets) - 1, 0
    while first < rows and offsets[first] < offsets[-1]:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = min(max(last, first + 1), rows)
        yield first, last
        first = last
