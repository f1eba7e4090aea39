"""A rank's shard of a graph on its GPU; made by `shard_build`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.arcs import DeviceArcs
from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import number_dtype, run
from cugraph_ws.backends.cuda.numbered_ids import ranks_of
from cugraph_ws.backends.cuda.order import arc_rows, sort_ends
from cugraph_ws.backends.cuda.shard_vertices import DeviceShardVertices
from cugraph_ws.frames.base import FrameKind
from cugraph_ws.graph.owners import Owners
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import device

__all__ = ["DeviceShard", "Placement", "Totals"]

DeviceArray = Any  # CuPy's or NumPy's


class Placement(NamedTuple):
    """Where a shard's vertices are, and which of them other ranks have as ghosts.

    Attributes
    ----------
    numbers : device array of int32 or int64, shape (length,)
        The vertex number at each position: owned vertices, then ghosts, each ascending.
    bounds : ndarray of int64, shape (comm.size + 1,)
        Where each rank's vertices begin among the ghosts.
    boundaries : list of device array
        For each rank, positions in the shard of the owned vertices that it has as ghosts.
    laid_boundaries : list of device array
        The same vertices at positions of the `DeviceGraph`.
    """

    numbers: DeviceArray
    bounds: npt.NDArray[np.int64]
    boundaries: list[DeviceArray]
    laid_boundaries: list[DeviceArray]


class Totals(NamedTuple):
    """Numbers over all ranks.

    Attributes
    ----------
    edges, arcs : int
    loops : int, optional
        Dropped self-loops.
    """

    edges: int
    arcs: int
    loops: int | None = None


class DeviceShard(ShardGraph):
    """A rank's shard of a graph; see `GraphView` for its methods.

    Rows are laid out on the device, by falling in-degree.  Arrays are copied to the host when first
    requested there.

    Parameters
    ----------
    comm : Communicator
        Exchanges arrays on the device.
    cuts : ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered from cuts[r] to cuts[r + 1].
    graph : DeviceGraph
        Owned vertices, by number less `low`, with their rows; ghosts after them.
    placement : Placement
    totals : Totals
    vertices : DeviceShardVertices
    kind, names, weight, directed
        See `ShardGraph`.
    """

    _arcs: ShardArcs

    def __init__(
        self,
        comm: Communicator,
        cuts: npt.NDArray[np.int64],
        graph: DeviceGraph,
        placement: Placement,
        totals: Totals,
        *,
        vertices: DeviceShardVertices,
        kind: FrameKind,
        names: tuple[list[str], list[str]],
        weight: str | None,
        directed: bool,
    ) -> None:
        carried = list(graph.edge_attributes)
        owners = Owners(cuts, comm.rank)
        self._set_up(comm, owners, kind, vertices, names, carried, weight=weight, directed=directed)
        self._vertices.align_to(self)
        self._edges, self._all_arcs, self._self_loops = totals
        self._find_ghosts(placement.bounds)
        self._boundaries = placement.boundaries
        self._arcs = ShardArcs(graph, carried, self._below, self.owned, mirrored=not directed)
        self._numbers = placement.numbers  # by position in the shard
        laid_numbers = device().xp.take(placement.numbers, graph.numbers)
        self._laid = graph, laid_numbers, placement.laid_boundaries

    # ------------------------------------------------------------------------------ geometry

    @property
    def low(self) -> int:
        """Number of the first owned vertex: ranks own ranges."""
        return int(self.owners.number_at(0))

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """The vertex number at each position; copied to the host when first requested."""
        with self._lock:
            if "positions" not in self.kept:
                self.kept["positions"] = as_host(self._numbers).astype(np.int64)
            return super().positions

    @property
    def boundaries(self) -> list[npt.NDArray[np.int64]]:
        """Positions of each rank's boundary; copied to the host when first requested."""
        with self._lock:
            if "boundaries" not in self.kept:
                self.kept["boundaries"] = [
                    as_host(boundary).astype(np.int64) for boundary in self._boundaries
                ]
            return super().boundaries

    @property
    def nbytes(self) -> int:
        """Bytes held now, on the device and on the host."""
        orders = sum(order.nbytes for order in self._orders.values()) + self._reversed_bytes
        geometry = [self._numbers, self._laid[1], *self._boundaries, *self._laid[2]]
        geometry += [array for array in self.kept.values() if isinstance(array, np.ndarray)]
        geometry += self.kept.get("ranks", ())
        geometry_bytes = sum(int(array.nbytes) for array in geometry)
        return self._arcs.nbytes + int(self._vertices.nbytes) + geometry_bytes + orders

    def laid_out(self) -> tuple[DeviceGraph, Any, list[Any]]:
        """Return the shard as the CUDA engine reads it; see `GraphView.laid_out`."""
        return self._laid

    def numbers_of(self, places: DeviceArray) -> DeviceArray:
        """Return the vertex numbers of positions, on the device."""
        return self._numbers[places]

    def places_of(self, numbers: DeviceArray) -> DeviceArray:
        """Return the positions of vertices, on the device: −1 if neither owned nor a ghost here.

        Parameters
        ----------
        numbers : device array of int32 or int64
            Below the number of vertices; a negative number means no vertex.

        Returns
        -------
        device array of int32 or int64
        """
        places = device().xp.empty(len(numbers), number_dtype(self.length))
        run(
            device(), "find_places", len(numbers), numbers, len(numbers), self.low, self.owned,
            *self.ranks, places, module="ranks",
        )  # fmt: skip
        return places

    @property
    def ranks(self) -> tuple[DeviceArray, DeviceArray]:
        """Bitmap of ghosts by vertex number, and the bits set up to each word's end; kept."""
        with self._lock:
            if "ranks" not in self.kept:
                xp, outside = device().xp, self._numbers[self.owned :]
                words = xp.zeros(-(-self.owners.size // 32), np.uint32)
                rows = len(outside)
                run(device(), "mark_bits", rows, outside, 0, rows, words, module="split")
                self.kept["ranks"] = words, ranks_of(words, rows)
            bitmap: tuple[DeviceArray, DeviceArray] = self.kept["ranks"]
            return bitmap

    def place(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of vertices; see `ShardGraph.place`."""
        xp = device().xp
        on_device = xp.asarray(np.asarray(numbers, np.int64))
        return as_host(self.places_of(on_device)).astype(np.int64, copy=False)

    @property
    def halo(self) -> Halo:
        """The halo of device arrays by the shard's positions."""
        return Halo.of(self, self._boundaries, on_device=True)

    def _with_arcs(self, arcs: Any, edges: int) -> Self:
        shard = super()._with_arcs(arcs, edges)
        for name in ("ranks", "positions", "boundaries"):
            if name in self.kept:
                shard.kept[name] = self.kept[name]
        xp, graph = device().xp, arcs.graph
        positions = [xp.take(graph.positions, boundary) for boundary in self._boundaries]
        shard._laid = graph, xp.take(self._numbers, graph.numbers), positions
        return shard

    # ------------------------------------------------------------------------------- queries

    def _sums_by_position(self, own: DeviceArray) -> DeviceArray:
        return own

    def _ends(self, arc: int) -> Sequence[int]:
        places = device().xp.asarray(self._arcs.ends(arc))
        ends: list[int] = as_host(self.numbers_of(places)).tolist()
        return ends

    # ------------------------------------------------------------------------------- results

    def _own_ids(self) -> Mapping[str, Any]:
        return dict(self._vertices.own_columns(self.owners))

    def edges_among(self, marks: Any) -> Any:
        """Return the edges into owned vertices whose ends are both marked.  Collective.

        See `GraphView.edges_among`.  Only the kept edges are sorted, on the device.
        """
        xp, part = device().xp, Part(self, on_device=True)
        numbers, csc, marked = part.numbers, part.csc, part.with_ghosts(marks)
        rows = arc_rows(csc.offsets, part.laid.arcs)
        chosen = marked[csc.indices] & marked[rows]
        if not self.directed:  # an edge is two arcs; the one from the smaller vertex is kept
            chosen &= numbers[csc.indices] <= numbers[rows]
        which = xp.flatnonzero(chosen)
        sources, destinations = numbers[csc.indices[which]], numbers[rows[which]]
        order = sort_ends(destinations, sources, self.number_of_vertices)
        sources, destinations = (ends[order].astype(np.int64) for ends in (sources, destinations))
        values = {name: part.laid.values(name)[which[order]] for name in self.edge_attributes}
        return self.frame_of_edges(sources, destinations, values)


class ShardArcs(DeviceArcs):
    """The arcs of a shard; on the host vertices are ordered by number, ghosts among owned ones.

    Parameters
    ----------
    graph : DeviceGraph
        Its vertex numbers are positions in the shard.
    carried : sequence of str
        Names of the edge columns that the graph keeps.
    below : int
        Number of ghosts with smaller numbers than the owned vertices.
    owned : int
        Number of owned vertices.
    mirrored : bool
        Whether every edge is two arcs, each on the rank that owns its destination.
    """

    def __init__(
        self, graph: DeviceGraph, carried: Sequence[str], below: int, owned: int, *, mirrored: bool
    ) -> None:
        super().__init__(graph, carried)
        self._below, self._owned, self._both = below, owned, mirrored

    @property
    def _mirrored(self) -> bool:
        return self._both

    def _numbers(self) -> DeviceArray:
        places, owned, below = self.graph.numbers, self._owned, self._below
        xp = device().xp
        ghosts = xp.where(places - owned < below, places - owned, places)
        return xp.where(places < owned, places + below, ghosts)
