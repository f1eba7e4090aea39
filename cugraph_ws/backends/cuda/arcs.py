"""The edges of a graph on the device, by vertex number.

Engines read `DeviceGraph` itself, which has vertices at positions by falling in-degree.  This
module serves reports, frames of edges, programs' constants, and copies to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from threading import RLock
from typing import Any, ClassVar

import numpy as np

from cugraph_ws.backends.cuda.columns import first_true
from cugraph_ws.backends.cuda.graph import DeviceGraph, Order
from cugraph_ws.backends.cuda.masks import chosen, without_arcs
from cugraph_ws.backends.cuda.order import arc_rows, sort_ends
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.arcs import Arcs
from cugraph_ws.runtime.arrays import any_true, count_true, read_scalars
from cugraph_ws.runtime.bins import bin_counts
from cugraph_ws.runtime.device import device

__all__ = ["DeviceArcs"]

DeviceArray = Any


class DeviceArcs:
    """The edges of a graph that was built on the device; an undirected edge is two arcs.

    Parameters
    ----------
    graph : DeviceGraph
    carried : sequence of str
        Names of the edge columns that it keeps.
    """

    on_device: ClassVar[bool] = True
    has_csr: ClassVar[bool] = False  # on the host
    mapped_bytes: ClassVar[int] = 0

    def __init__(self, graph: DeviceGraph, carried: Sequence[str]) -> None:
        self.graph = graph
        self._carried = list(carried)
        self._lock = RLock()
        self._host: Arcs | None = None

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs; an undirected edge is two, a self-loop one."""
        return int(self.graph.arcs)

    @property
    def both_ways(self) -> int:
        """Pairs of vertices of an undirected graph with edges given in both directions."""
        return int(self.graph.both_ways)

    @property
    def nbytes(self) -> int:
        """Bytes held now on the device, and in copies on the host."""
        return int(self.graph.nbytes) + (0 if self._host is None else self._host.nbytes)

    @property
    def layouts(self) -> dict[str, int]:
        """Bytes of each layout that is held now on the device, by name."""
        return self.graph.layouts

    @property
    def choices(self) -> dict[str, str]:
        """Which layout the last run of each program chose, and why: on a GPU nothing is chosen."""
        return {}

    def host(self) -> Arcs:
        """Return a copy on the host, made when first requested, then kept."""
        with self._lock:
            if self._host is None:
                gpu = device()
                rows, columns, order = self.ordered()
                degrees = bin_counts(rows, self.graph.size)
                offsets = np.zeros(self.graph.size + 1, np.int64)
                np.cumsum(gpu.to_host(degrees), out=offsets[1:])
                values = {
                    name: gpu.to_host(self.graph.values(name, "csc")[order])
                    for name in self._carried
                }
                csc = Adjacency(offsets, gpu.to_host(columns))
                directed = not self.graph.undirected
                self._host = Arcs.of_csc(csc, values, directed=directed, mirrored=self._mirrored)
            return self._host

    def ordered(self) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Return the arcs by destination, then source, as the CSC on the host has them.

        Returns
        -------
        destinations, sources : device arrays, shape (arcs,)
            Vertex numbers.
        order : device array of int64, shape (arcs,)
            Places of the arcs in the graph's own CSC.
        """
        destinations, sources = self._ends()
        order = sort_ends(destinations, sources, self.graph.size)
        return destinations[order], sources[order], order

    def _ends(self) -> tuple[DeviceArray, DeviceArray]:
        """Return the vertex numbers of the arcs' destinations and sources, in the order of the graph's own CSC."""
        graph, csc, numbers = self.graph, self.graph.csc, self._numbers()
        return numbers[arc_rows(csc.offsets, graph.arcs)], numbers[csc.indices]

    def chosen(self, mask: Any) -> DeviceArcs:
        """Return some of the arcs, marked in the order of `ordered`; their own `host` too."""
        *_, order = self.ordered()
        which = order[device().xp.flatnonzero(device().xp.asarray(mask))]
        which.sort()
        arcs = copy(self)
        arcs.graph, arcs._lock, arcs._host = chosen(self.graph, which), RLock(), None
        return arcs

    def none(self) -> DeviceArcs:
        """Return no arcs of the same vertices, without edge columns."""
        arcs = copy(self)
        arcs.graph, arcs._lock, arcs._host = without_arcs(self.graph), RLock(), None
        arcs._carried = []
        return arcs

    def _numbers(self) -> DeviceArray:
        """Return the vertex number at each of the graph's own positions."""
        return self.graph.numbers

    def values(self, name: str, order: Order) -> DeviceArray:
        """Return an edge column in the order of the graph's own CSC or CSR."""
        return self.graph.values(name, order)

    def degrees(self, *, incoming: bool) -> DeviceArray:
        """Return the number of arcs into or out of every vertex, by number."""
        graph = self.graph
        return graph.by_number(graph.in_degrees if incoming else graph.out_degrees)

    def weight_sums(self, name: str, *, incoming: bool) -> DeviceArray:
        """Return the sum of an edge column into or out of every vertex, float64, by number."""
        graph = self.graph
        return graph.by_number(
            graph.in_weight_sums(name) if incoming else graph.out_weight_sums(name)
        )

    @staticmethod
    def first_infinite(values: DeviceArray) -> int | None:
        """Return the first place where an array is not finite, or None."""
        bad = ~device().xp.isfinite(values)
        return first_true(bad) if any_true(bad) else None

    def listed(
        self, names: Sequence[str], keep: Any, among: Any
    ) -> tuple[DeviceArray, DeviceArray, dict[str, DeviceArray]]:
        """List edges; see `Graph.edge_frame`.

        Returns
        -------
        sources, destinations : device arrays
            Vertex numbers.
        values : dict of str to device array
            The edge columns.
        """
        xp, size = device().xp, self.graph.size
        sorted_first = keep is not None and not callable(keep)  # else fewer arcs are sorted
        if sorted_first:
            destinations, sources, order = self.ordered()
            marks = [xp.asarray(keep)]
        else:
            destinations, sources = self._ends()
            order, marks = xp.arange(self.graph.arcs), []
            if keep is not None:
                marks.append(keep(sources.astype(np.int64), destinations.astype(np.int64)))
        if self._mirrored:
            marks.append(sources <= destinations)
        if among is not None:
            among = xp.asarray(among)
            marks.append(among[sources] & among[destinations])
        if marks:
            chosen = marks[0]
            for mark in marks[1:]:
                chosen = chosen & mark
            which = xp.flatnonzero(chosen)
            destinations, sources, order = destinations[which], sources[which], order[which]
        if not sorted_first:
            places = sort_ends(destinations, sources, size)
            destinations, sources, order = destinations[places], sources[places], order[places]
        return sources, destinations, {name: self.values(name, "csc")[order] for name in names}

    def count_loops(self) -> int:
        """Count the edges from a vertex to itself."""
        csc = self.graph.csc
        return count_true(csc.indices == arc_rows(csc.offsets, self.graph.arcs))

    def count_repeated(self) -> int:
        """Count repeated edges: all but the first between two vertices."""
        graph, csc = self.graph, self.graph.csc
        if graph.arcs < 2:
            return 0
        rows = arc_rows(csc.offsets, graph.arcs)
        repeated = (csc.indices[1:] == csc.indices[:-1]) & (rows[1:] == rows[:-1])
        if self._mirrored:  # count one of an edge's two arcs
            numbers = self._numbers()
            repeated &= numbers[csc.indices[1:]] <= numbers[rows[1:]]
        return count_true(repeated)

    @property
    def _mirrored(self) -> bool:
        """Whether every edge is two arcs."""
        return bool(self.graph.undirected)

    def count_isolated(self) -> int:
        """Count the vertices without any edge."""
        return count_true((self.graph.in_degrees == 0) & (self.graph.out_degrees == 0))

    def ends(self, arc: int) -> tuple[int, int]:
        """Return the vertex numbers of source and destination of an arc of the graph's own CSC."""
        graph, csc = self.graph, self.graph.csc
        place = device().xp.asarray([arc], dtype=np.int64)
        row = device().xp.searchsorted(csc.offsets, place, side="right") - 1
        source, destination = read_scalars(graph.numbers[csc.indices[arc]], graph.numbers[row][0])
        return int(source), int(destination)

    def extreme(self, name: str, *, least: bool) -> tuple[float, int]:
        """Return the least or greatest value of an edge column, and an arc that has it."""
        values = self.values(name, "csc")
        (arc,) = read_scalars(values.argmin() if least else values.argmax())
        return device().to_host(values[arc : arc + 1])[0], int(arc)

    def close(self) -> None:
        """Free the device's memory."""
        self.graph.close()
        self._host = None
