"""A graph on the device: vertices by falling in-degree, and rows of neighbours.

Kernels treat rows differently by their length.  In this order a class of lengths is a range.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cugraph_ws.backends.cuda.grouping import Ends, number_dtype, run
from cugraph_ws.backends.cuda.memory import (
    check_device_memory,
    check_transpose_memory,
    estimate,
    gives_back,
)
from cugraph_ws.backends.cuda.order import parallel_ranks
from cugraph_ws.backends.cuda.rows import (
    Rows,
    VertexOrder,
    count_targets,
    expand_rows,
    gather,
    group_edges,
    sum_by_target,
    sum_rows,
    transpose,
)
from cugraph_ws.errors import InputError
from cugraph_ws.graph.duplicates import PARALLEL_RANK
from cugraph_ws.runtime.device import Device, device
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.graph.graph import Graph
    from cugraph_ws.graph.vertices import Vertices

__all__ = ["DeviceGraph", "Order", "Rows", "build", "from_host", "graph_behind"]

DeviceArray = Any  # CuPy's or NumPy's
Order = Literal["csc", "csr"]

_USES = itertools.count()
DEGREES = np.left_shift(np.int64(1), np.arange(40))  # degrees that are looked up at once
ASKED_FIRST = 1  # requests before the min-neighbour cache is made: many graphs are searched once
# (least in-degree, threads for each row) in the kernel that makes the cache
SEARCHERS = ((64, 32), (16, 8), (4, 2), (0, 1))
# Over the link: a thread for each arc of a short row, so that a sector is read by one request
LINK_SEARCHERS = ((17, 32), (9, 16), (5, 8), (3, 4), (0, 2))


class DeviceGraph:
    """A graph on the device; made by `build` and `from_host`.

    Vertices are at positions by falling in-degree, ties by number.  Several threads may read it:
    what is made on demand is made once.

    Parameters
    ----------
    owner : Device
        Where the arrays are.
    vertex_order : VertexOrder
    indices : device array, shape (arcs,)
        In-neighbours: the indices of the CSC.
    values : dict of str to device array, shape (arcs,)
        Edge attributes in the order of the CSC.
    undirected : bool
    names : tuple of str
        Names of all edge attributes.
    fetch : callable, optional
        Returns an attribute that is not in `values`, by name, from the host, in the host's order.
    order : device array of int, shape (arcs,), optional
        Place of each arc of the CSC in the host's order.
    both_ways : int
        Pairs of vertices of an undirected graph with edges given in both directions.

    Attributes
    ----------
    size : int
        Number of vertices.
    arcs : int
        Number of arcs: an undirected edge is two, a self-loop one.
    undirected : bool
    edge_attributes : tuple of str
    arcs_on_host : bool
        Whether neighbours and edge attributes are in memory of the host that the device addresses.
    """

    arcs_on_host = False

    def __init__(
        self,
        owner: Device,
        vertex_order: VertexOrder,
        indices: DeviceArray,
        values: dict[str, DeviceArray],
        *,
        undirected: bool,
        names: tuple[str, ...],
        fetch: Callable[[str], Any] | None = None,
        order: DeviceArray = None,
        both_ways: int = 0,
    ) -> None:
        self.both_ways = both_ways
        self.size = len(vertex_order.numbers)
        self.arcs = len(indices)
        self.undirected = undirected
        self.edge_attributes = names
        self._device = owner
        self._lock = RLock()
        self._vertex_order: VertexOrder | None = vertex_order
        self._csc: Rows | None = Rows(vertex_order.offsets, indices)
        self._csr: Rows | None = None
        self._values = {(name, "csc"): array for name, array in values.items()}
        self._fetch = fetch
        self._order = order  # host order → CSC
        self._transposed: DeviceArray = None  # CSC → CSR
        self._out_degrees: DeviceArray = None
        self._at_least: dict[int, int] = {}
        self._busiest: dict[tuple[tuple[int, int], ...], int] = {}
        self._chunks: dict[tuple[int, int], tuple[DeviceArray, ...]] = {}
        self._least: tuple[DeviceArray, ...] | None = None
        self._asked = 0  # requests for the min-neighbour cache
        self._layouts: dict[str, tuple[Any, Any]] = {}  # by name: sizes, and the layout
        self._naming: Any = None  # vertices with ids on the device
        self.used = next(_USES)
        gives_back(self)

    @property
    def numbers(self) -> DeviceArray:
        """Vertex number at each position; int32 or int64, shape (size,)."""
        return self._open().numbers

    @property
    def positions(self) -> DeviceArray:
        """Position of each vertex number; int32 or int64, shape (size,)."""
        return self._open().positions

    @property
    def csc(self) -> Rows:
        """In-neighbours of every vertex."""
        self._open()
        assert self._csc is not None
        return self._csc

    @property
    def csr(self) -> Rows:
        """Out-neighbours of every vertex; made when first read, then kept.

        For an undirected graph, the CSC itself.  Raises GraphMemoryError if it would not fit.
        """
        with self._lock:
            csc = self.csc
            if self.undirected:
                return csc
            if self._csr is None:
                self._csr = self._make_csr()
                self._out_degrees = None  # the offsets replace them
            return self._csr

    def _make_csr(self) -> Rows:
        """Transpose the rows of in-neighbours."""
        keep = bool(self.edge_attributes)
        check_transpose_memory(self.arcs, self.size, keep=keep)
        csr, self._transposed = transpose(self._device, self.csc, self.out_degrees, keep=keep)
        return csr

    @property
    def at_hand(self) -> tuple[Rows, ...]:
        """The rows of in-neighbours and, if made, the rows of out-neighbours."""
        with self._lock:
            return (self.csc,) if self._csr is None else (self.csc, self._csr)

    @property
    def in_degrees(self) -> DeviceArray:
        """Number of arcs into each vertex; int64, shape (size,), by position; not cached."""
        return self._device.xp.diff(self.csc.offsets)

    @property
    def out_degrees(self) -> DeviceArray:
        """Number of arcs out of each vertex; int64, shape (size,), by position."""
        with self._lock:
            if self.undirected:
                return self.in_degrees
            if self._csr is not None:
                return self._device.xp.diff(self._csr.offsets)
            if self._out_degrees is None:
                self._out_degrees = count_targets(self._device, self.csc)
            return self._out_degrees

    def count_self_loops(self) -> DeviceArray:
        """Return the number of self-loops of each vertex; int64, shape (size,), by position."""
        loops = self._device.xp.zeros(self.size, np.int64)
        run(self._device, "count_loops", self.size, *self.csc, loops, self.size, module="core")
        return loops

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        with self._lock:
            rows = [order for order in (self._csc, self._csr) if order is not None]
            arrays = [*(self._vertex_order or ())[:2], *self._values.values()]
            arrays += [array for order in rows for array in order]
            arrays += [self._order, self._transposed, self._out_degrees, *(self._least or ())]
            arrays += [array for chunks in self._chunks.values() for array in chunks]
            if self._naming is not None:
                arrays.append(self._naming.numbering.ids)
            arrays += [
                array
                for _, arc_layout in self._layouts.values()
                for array in arc_layout.arrays.values()
            ]
            return sum(int(array.nbytes) for array in arrays if array is not None)

    def is_apart(self, array: DeviceArray) -> bool:
        """Return whether an array by arc is in the host's memory."""
        return False

    def values(self, name: str, order: Order = "csc") -> DeviceArray:
        """Return an edge attribute in the order of an adjacency; made when first read, then kept.

        Parameters
        ----------
        name : str
        order : {"csc", "csr"}

        Returns
        -------
        device array of int64, float32 or float64, shape (arcs,)
            Read-only.

        Raises
        ------
        InputError
            If the graph has no such attribute.
        """
        with self._lock:
            self._open()
            if name not in (*self.edge_attributes, PARALLEL_RANK):
                raise InputError(
                    f"the graph has no edge column {name!r}; it has: "
                    f"{', '.join(map(repr, self.edge_attributes)) or 'none'}; name the column in "
                    f"Graph(weight=...) or Graph(attributes=[...])"
                )
            if self.undirected:
                order = "csc"
            if (name, order) not in self._values:
                self._values[name, order] = self._make_values(name, order)
            return self._values[name, order]

    def _make_values(self, name: str, order: Order) -> DeviceArray:
        """Reorder an edge attribute, of the host or of the CSC; or rank parallel arcs, which are in input order."""
        if name == PARALLEL_RANK:
            return parallel_ranks(*(self.csc if order == "csc" else self.csr))
        if order == "csc":
            assert self._fetch is not None
            values, places = self._device.xp.asarray(self._fetch(name)), self._order
        else:
            _ = self.csr  # with the permutation
            values, places = self.values(name, "csc"), self._transposed
        return gather(self._device, values, places)

    def vertices_with(self, degree: int) -> int:
        """Return how many vertices have an in-degree of at least `degree`; they come first.

        Parameters
        ----------
        degree : int

        Returns
        -------
        int
            The first call looks up all powers of two; later calls for these cost nothing.
        """
        with self._lock:
            self._open()
            if degree not in self._at_least:
                xp = self._device.xp
                wanted = np.array([degree, *(() if self._at_least else DEGREES)], np.int64)
                results = xp.empty(len(wanted), np.int64)
                run(
                    self._device, "find_degrees", len(wanted), self.csc.offsets, self.size,
                    xp.asarray(wanted), len(wanted), results,
                )  # fmt: skip
                counts = self._device.to_host(results)
                self._at_least.update(zip(wanted.tolist(), counts.tolist(), strict=True))
            return self._at_least[degree]

    def busiest(self, groups: Sequence[tuple[int, int]]) -> int:
        """Return where the group with the most out-arcs per vertex begins.

        Parameters
        ----------
        groups : sequence of (int, int)
            Ranges of positions.

        Returns
        -------
        int
            The first position of the first such group; computed once.
        """
        key = tuple(groups)
        with self._lock:
            if key not in self._busiest:
                bounds = np.array(groups, np.int64).reshape(-1, 2)
                offsets = self.csr.offsets
                ends = self._device.to_host(offsets[self._device.xp.asarray(bounds)])
                arcs, vertices = np.diff(ends)[:, 0], np.diff(bounds)[:, 0]
                each = arcs / np.maximum(vertices, 1)
                self._busiest[key] = int(bounds[each.argmax(), 0]) if len(each) else 0
            return self._busiest[key]

    def least_senders(
        self, numbers: DeviceArray, first: int, last: int
    ) -> tuple[DeviceArray, ...] | None:
        """Return the min-neighbour cache: the positions of the four in-neighbours of least number.

        The second call makes it; it is kept.  It takes as long as reading all arcs one and a half
        times.  If the arcs are in the host's memory, the first call makes it: a search without it reads all
        arcs over the link as well.

        Parameters
        ----------
        numbers : device array of int, shape (size,)
            A number for each position, the same in every call.
        first, last : int
            The range of positions, the same in every call.  No row in it is too long for a warp.

        Returns
        -------
        four device arrays of int32 or int64, shape (last,), or None
            By falling rank, -1 if there are fewer than four.  None in the first call for arcs on the device,
            and if the cache would take more than half of the free memory.
        """
        with self._lock:
            self._open()
            if self._least is None:
                kind = self.csc.indices.dtype
                self._asked += 1
                room = self._device.free_memory() // 2
                early = self._asked <= ASKED_FIRST and not self.arcs_on_host
                if early or 4 * kind.itemsize * last > room:
                    return None
                least = tuple(self._device.xp.empty(last, kind) for _ in range(4))
                for degree, lanes in LINK_SEARCHERS if self.arcs_on_host else SEARCHERS:
                    end = self.vertices_with(degree) if degree else last
                    if end > first:
                        run(
                            self._device, "list_least", lanes * (end - first), first, end, lanes,
                            numbers, *self.csc, least, module="min_neighbours",
                        )  # fmt: skip
                        first = end
                self._least = least
            return self._least

    @property
    def layouts(self) -> dict[str, int]:
        """Bytes of each layout that is held now, by name."""
        with self._lock:
            sizes = {"csc": sum(int(array.nbytes) for array in self.csc)}
            if self._csr is not None:
                sizes["csr"] = sum(int(array.nbytes) for array in self._csr)
            return sizes | {
                name: int(arc_layout.nbytes) for name, (_, arc_layout) in self._layouts.items()
            }

    def layout(self, name: str, sizes: Any, make: Callable[[], Any]) -> Any:
        """Return a further layout of the arcs; made when first requested, then kept.

        Parameters
        ----------
        name : str
            One layout of a name is kept at a time.
        sizes : hashable
            With other sizes it is made anew.
        make : callable
            Makes it.
        """
        with self._lock:
            self._open()
            if self._layouts.get(name, (None,))[0] != sizes:
                self._layouts.pop(name, None)  # before memory is allocated
                self._layouts[name] = sizes, make()
            return self._layouts[name][1]

    def naming(self, vertices: Vertices) -> Vertices:
        """Return the graph's vertices with integer ids on the device, for results; made once, then kept.

        Parameters
        ----------
        vertices : Vertices
            With ids on the host; returned themselves if ids are not one integer, or do not fit.
        """
        with self._lock:
            self._open()
            if self._naming is None:
                self._naming = provider("device vertices").with_ids_there(vertices)
            there: Vertices | None = self._naming
            return vertices if there is None else there

    def chunks(self, count: int, length: int) -> tuple[DeviceArray, ...]:
        """Return the rows of the first `count` vertices cut into chunks; made once, then kept.

        Parameters
        ----------
        count : int
        length : int
            Most arcs of a chunk.

        Returns
        -------
        owners : device array of int32, shape (chunks,)
            The vertex of each chunk.
        begins, ends : device array of int64, shape (chunks,)
            The range of its arcs.
        firsts : device array of int64, shape (count + 1,)
            Where the chunks of each row begin.
        """
        key = count, length
        with self._lock:
            if key not in self._chunks:
                xp = self._device.xp
                offsets = self.csc.offsets[: count + 1]
                firsts = xp.zeros(count + 1, np.int64)
                firsts[1:] = xp.cumsum(-(-xp.diff(offsets) // length))
                total = int(self._device.to_host(firsts[-1:])[0]) if count else 0
                numbers = xp.arange(total, dtype=np.int64)
                owners = xp.searchsorted(firsts[1:], numbers, side="right")
                begins = offsets[owners] + (numbers - firsts[owners]) * length
                ends = xp.minimum(begins + length, offsets[owners + 1])
                self._chunks[key] = owners.astype(np.int32), begins, ends, firsts
            return self._chunks[key]

    def by_number(self, array: DeviceArray) -> DeviceArray:
        """Reorder values by position to the order of vertex numbers.

        Parameters
        ----------
        array : device array, shape (size,)

        Returns
        -------
        device array, shape (size,)
        """
        return self._device.xp.take(array, self.positions)

    def by_position(self, array: Any) -> DeviceArray:
        """Reorder values by vertex number to the order of positions.

        Parameters
        ----------
        array : device array or ndarray, shape (size, ...)

        Returns
        -------
        device array, shape (size, ...)
        """
        xp = self._device.xp
        return xp.take(xp.asarray(array), self.numbers, axis=0)

    def in_weight_sums(self, name: str) -> DeviceArray:
        """Sum an edge attribute over the arcs into each vertex.

        The order of the additions depends on the graph alone, so sums are reproducible.

        Parameters
        ----------
        name : str

        Returns
        -------
        device array of float64, shape (size,), by position
        """
        with self._lock:
            sums = self._device.xp.empty(self.size, np.float64)
            sum_rows(self._device, self.csc.offsets, self.values(name), sums)
            return sums

    def out_weight_sums(self, name: str) -> DeviceArray:
        """Sum an edge attribute over the arcs out of each vertex; see `in_weight_sums`.

        No CSR is made for it: arcs are grouped by source, one part at a time.

        Parameters
        ----------
        name : str

        Returns
        -------
        device array of float64, shape (size,), by position
        """
        with self._lock:
            if self.undirected:
                return self.in_weight_sums(name)
            if self._csr is None:
                return sum_by_target(self._device, self.csc, self.out_degrees, self.values(name))
            sums = self._device.xp.empty(self.size, np.float64)
            sum_rows(self._device, self._csr.offsets, self.values(name, "csr"), sums)
            return sums

    def give_back(self) -> int:
        """Free what can be made again: out-neighbours, values in their order or from the host, further layouts.

        Returns
        -------
        int
            Their bytes on the device; 0 if another thread is making some.
        """
        if not self._lock.acquire(blocking=False):
            return 0
        try:
            before = self.nbytes
            self._least, self._chunks, self._layouts, self._naming = None, {}, {}, None
            if not self.arcs_on_host:
                self._csr = self._transposed = None
                self._values = {
                    key: values
                    for key, values in self._values.items()
                    if key[1] == "csc" and self._fetch is None and key[0] != PARALLEL_RANK
                }
            return before - self.nbytes
        finally:
            self._lock.release()

    def close(self) -> None:
        """Free the memory; using the graph afterwards raises InputError."""
        with self._lock:
            self._vertex_order = self._csc = self._csr = self._fetch = None
            self._order = self._transposed = self._out_degrees = self._least = None
            self._values, self._chunks, self._layouts, self._naming = {}, {}, {}, None

    def _open(self) -> VertexOrder:
        if self._vertex_order is None:
            raise InputError("the graph is closed; use it before close() or inside its `with`")
        self.used = next(_USES)
        return self._vertex_order


def build(
    ends: Ends, values: dict[str, DeviceArray], size: int, *, undirected: bool
) -> DeviceGraph:
    """Build a graph from edges on the device.

    Columns are dropped as soon as they have been read: the ends before any value is moved, then the
    values one by one.  `values` is emptied.  The ends' memory is freed if the caller keeps no
    reference.

    Parameters
    ----------
    ends : Ends
        Vertex numbers, or integers with a table of numbers, which is overwritten.
    values : dict of str to device array of int64, float32 or float64, shape (edges,)
        Edge attributes.
    size : int
        Number of vertices.
    undirected : bool
        Whether every edge is an arc in both directions; a self-loop is one arc.

    Returns
    -------
    DeviceGraph

    Raises
    ------
    GraphMemoryError
        If the graph would not fit on the GPU; raised before it is built.
    """
    owner = device()
    arcs = len(ends.sources) << int(undirected)
    value_bytes = sum(array.dtype.itemsize for array in values.values())
    counted = 0 if ends.table is None else ends.table.nbytes
    check_device_memory(estimate(arcs, size, value_bytes, undirected), beside=counted)
    last_reference = [ends]
    del ends
    names = tuple(values)
    alone = [values.pop(names[0])] if len(names) == 1 else []
    vertex_order, indices, order, both_ways, carried = group_edges(
        owner, last_reference.pop(), size, both=undirected, keep=bool(names), values=alone
    )
    moved = {} if carried is None else {names[0]: carried}
    if alone:  # not moved along
        values[names[0]] = alone.pop()
    for name in list(values):
        column = values.pop(name)
        moved[name] = gather(owner, column, order)
        del column
    owner.trim()
    return DeviceGraph(
        owner, vertex_order, indices, moved, undirected=undirected, names=names, both_ways=both_ways
    )


def from_host(graph: Graph) -> DeviceGraph:
    """Copy a graph from the host to the device.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    DeviceGraph
        Edge attributes are copied when first read, while `graph` is open.

    Raises
    ------
    GraphMemoryError
        If the graph would not fit on the GPU; raised before anything is copied.
    """
    owner = device()
    xp = owner.xp
    size, arcs, names = graph.number_of_vertices, graph.number_of_arcs, graph.edge_attributes
    index = number_dtype(size)
    copied = 2 * index.itemsize * arcs + 8 * size
    needed = estimate(arcs, size, 8 * len(names), not graph.directed)
    check_device_memory(needed, beside=copied, room=graph.memory_limit)
    csc = graph.csc
    offsets = xp.asarray(csc.offsets)
    rows = expand_rows(owner, offsets, arcs, index)
    del offsets
    ends = Ends(rows, xp.asarray(csc.indices))
    del rows, csc
    vertex_order, indices, order, *_ = group_edges(owner, ends, size, both=False, keep=bool(names))
    host = weakref.ref(graph)  # weak, since it holds the device graph

    def fetch(name: str) -> Any:
        return graph_behind(host, f"edge column {name!r}").edge_values(name, "csc")

    owner.trim()
    return DeviceGraph(
        owner, vertex_order, indices, {}, undirected=not graph.directed, names=names, fetch=fetch,
        order=order,
    )  # fmt: skip


def graph_behind(reference: weakref.ref[Graph], wanted: str) -> Graph:
    """Return the graph on the host that a graph on the device was copied from.

    Parameters
    ----------
    reference : weakref.ref of Graph
    wanted : str
        What is read of it, for the error.

    Raises
    ------
    InputError
        If it was deleted.
    """
    graph = reference()
    if graph is None:
        raise InputError(f"{wanted} is lost, because its graph was deleted; keep the Graph")
    return graph
