"""One rank's shard of a graph: a range of vertices, the arcs into them, and ghosts.

Positions of owned vertices, and of ghosts after them, are in the order of their numbers, so the
ghosts of one owner are contiguous.  Arcs refer to vertices by *rank*: the index in the ascending
numbers of owned vertices and ghosts together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cugraph_ws.frames.base import FrameKind
from cugraph_ws.graph.adjacency import Adjacency, EdgeList
from cugraph_ws.graph.arcs import Arcs, Order
from cugraph_ws.graph.duplicates import Merge, Policy
from cugraph_ws.graph.edges import Duplicates
from cugraph_ws.graph.numbering import number_integers
from cugraph_ws.graph.owners import Owners
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.neighbourhoods import flattened
from cugraph_ws.partition.part import Part, find_places, in_ascending_order
from cugraph_ws.partition.partitioned_frame import OpenedPartitions, Partitions
from cugraph_ws.partition.range_frames import RangeFrames
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.communicator import Communicator, attempt, total
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.backends.cuda.graph import DeviceGraph

__all__ = ["ShardGraph"]

Array = npt.NDArray[Any]

CHUNK = 1 << 20  # arcs whose destinations are renumbered at a time


class ShardGraph(RangeFrames):
    """One rank's shard of a graph; `GraphView` describes the interface.

    All ranks must call the collective methods and properties, in the same order.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    owners : Owners
        Which rank owns which vertices.
    sources, destinations : ndarray of int64, shape (arcs,)
        Vertex numbers of the endpoints of all arcs into owned vertices; parallel arcs in input
        order. An undirected edge is two arcs, each on the rank that owns its destination.  In the
        arc opposite to the edge as given, destination v is marked as ~v.
    values : mapping of str to ndarray, each of shape (arcs,)
        The edge columns, in the order of the arcs.
    vertices : Vertices
        Converts ids to numbers and back; collective.
    kind : FrameKind
        The kind of result frames.
    names : pair of list of str
        The id columns of sources and of destinations.
    weight : str, optional
        Which of `values` is the weight.
    directed : bool
    duplicates : str or mapping
        Policy on parallel edges.

    Attributes
    ----------
    kept : dict
        Results that are computed when first needed, then kept.
    """

    whole = False
    _vertices: Any

    def __init__(
        self,
        comm: Communicator,
        owners: Owners,
        sources: npt.NDArray[np.int64],
        destinations: npt.NDArray[np.int64],
        values: Mapping[str, Array],
        *,
        vertices: Any,
        kind: FrameKind,
        names: tuple[list[str], list[str]],
        weight: str | None = None,
        directed: bool = True,
        duplicates: Duplicates | Mapping[str, Merge] = "keep",
    ) -> None:
        self._set_up(
            comm, owners, kind, vertices, names, list(values), weight=weight, directed=directed
        )
        away = np.flatnonzero(~owners.holds(sources))
        remote = number_integers([sources[away]], dense_up_to=2 * len(away) + (1 << 16))
        (ids,) = remote.numbering.decode(np.arange(remote.numbering.size))
        outside = ids.to_numpy()
        order, bounds = owners.split(outside)
        grouped = outside if order is None else outside[order]
        self.kept["positions"] = np.concatenate([owners.numbers(), grouped])
        self._find_ghosts(np.array(bounds))
        asked = comm.alltoall(
            [[self.positions[slice(*ghost_range)]] for ghost_range in self.ghosts]
        )
        self.kept["boundaries"] = [owners.places(wanted[0]) for wanted in asked]
        if order is None:
            ranks = (
                self._ranks_of(sources, away, remote.numbers(0)),
                self._own_ranks_of(destinations),
            )
        else:
            ranks = self._ranks_by_table(sources), self._ranks_by_table(destinations)
        del away, remote
        listed = EdgeList(*ranks, 0, np.empty(0, ranks[0].dtype), self.length)
        base, placed = listed.rows_of_sources(list(values.values()), both=False)
        arcs = self._arcs = Arcs(
            base, dict(zip(values, placed, strict=True)), directed=True, mirrored=not directed
        )
        self._edges = total(comm, arcs.count(np.ones(arcs.csc.number_of_arcs, np.bool_)))
        if duplicates != "keep":
            self._merge(duplicates)
        self._all_arcs = total(comm, arcs.number_of_arcs)

    def _set_up(self, *about: Any, **named: Any) -> None:
        """Set the attributes of `GraphView`, none of which depends on the rows."""
        super().__init__(*about, **named)
        self._orders: dict[Order, Adjacency] = {}
        self.kept: dict[str, Any] = {}  # shared with copies on other communicators

    def _find_ghosts(self, bounds: npt.NDArray[np.int64]) -> None:
        """Set the ghost range of each rank, given where each begins among the ghosts."""
        self._below = int(bounds[self.comm.rank])
        self.ghosts = list(pairwise((bounds + self.owned).tolist()))

    # ------------------------------------------------------------------------------ geometry

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """Vertex number at each position."""
        positions: npt.NDArray[np.int64] = self.kept["positions"]
        return positions

    @property
    def boundaries(self) -> list[Array]:
        """For each rank, the owned positions that it holds as ghosts, in that rank's order."""
        boundaries: list[Array] = self.kept["boundaries"]
        return boundaries

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs of the whole graph."""
        return self._all_arcs

    @property
    def halo(self) -> Halo:
        """The halo for columns by position, on the host or device where the shard was built."""
        return Halo.of(self)

    def join(self, comm: Communicator) -> None:
        """Use another communicator from now on, of the same ranks in the same order.

        Parameters
        ----------
        comm : Communicator
        """
        self.comm = comm
        self._vertices = self._vertices.join(comm)
        self._vertices.align_to(self)

    def know(self, known: Sequence[Any]) -> None:
        """Accept vertex numbers that were looked up before; the same on all ranks.

        Parameters
        ----------
        known : sequence of (list of ndarray, ndarray of int64)
            Encoded ids, as `IdRanges.packed` returns them, and their numbers.
        """
        self._vertices.numbering.known = known

    def agree_on_what_is_kept(self) -> None:
        """Drop cached results that some rank lacks; collective.

        An abandoned run may have ended after a collective on some ranks and before it on others.
        A rank that lacks a result calls a collective to compute it, so all ranks must.
        """
        caches: list[dict[Any, Any]] = [self._sums, self._extremes, self.learned]
        names = [{str(key): key for key in cache} for cache in caches]
        shown = self.comm.allgather([sorted(keys) for keys in names])
        for which, (cache, keys) in enumerate(zip(caches, names, strict=True)):
            known = set.intersection(*(set(theirs[which]) for theirs in shown))
            for name, key in keys.items():
                if name not in known:
                    del cache[key]

    @property
    def nbytes(self) -> int:
        """Bytes in use now."""
        orders = sum(order.nbytes for order in self._orders.values()) + self._reversed_bytes
        geometry = self.positions.nbytes + sum(boundary.nbytes for boundary in self.boundaries)
        geometry += self.owners.nbytes
        return self._host().nbytes + int(self._vertices.numbering.nbytes) + geometry + orders

    @property
    def _reversed_bytes(self) -> int:
        """Bytes of the arcs along reversed edges, if there are any."""
        return int(self.kept["reversed"]._open().nbytes) if "reversed" in self.kept else 0

    def _ranks_of(
        self, numbers: npt.NDArray[np.int64], away: npt.NDArray[np.int64], ghost_indices: Array
    ) -> Array:
        """Return the rank of each vertex: its index in the ascending numbers of owned vertices and ghosts.

        `away` has the indices of ghosts in `numbers`; `ghost_indices` has their indices among the ghosts.
        """
        ranks: Array = self.owners.places(numbers) + self._below
        ranks[away] = ghost_indices + np.where(ghost_indices >= self._below, self.owned, 0)
        return ranks.astype(self._rank_dtype)

    def _own_ranks_of(self, numbers: npt.NDArray[np.int64]) -> Array:
        """Return the ranks of owned vertices; see `_ranks_of`.  Entries marked as ~v stay marked."""
        ranks, shift = (
            np.empty(len(numbers), self._rank_dtype),
            self._below - int(self.owners.number_at(0)),
        )
        for first in range(0, len(numbers), CHUNK):
            some = numbers[first : first + CHUNK]
            marks = some >> 63  # −1 for ~v: x ^ −1 is ~x
            ranks[first : first + CHUNK] = ((some ^ marks) + shift) ^ marks
        return ranks

    def _ranks_by_table(self, numbers: npt.NDArray[np.int64]) -> Array:
        """Return the ranks of vertices, if owners are no ranges; entries marked as ~v stay marked."""
        marks = numbers >> 63
        ranks = np.searchsorted(self.positions[self._position_of_rank], numbers ^ marks)
        return (ranks ^ marks).astype(self._rank_dtype)

    @property
    def _rank_dtype(self) -> type[np.signedinteger[Any]]:
        return np.int32 if self.length <= np.iinfo(np.int32).max else np.int64

    def _by_position(self, by_rank: Array) -> Array:
        """Reorder an array from the order of numbers to positions."""
        if not self.owners.in_ranges:
            return by_rank[self._rank_of_position]
        owned_ranks = slice(self._below, self._below + self.owned)
        return np.concatenate(
            [by_rank[owned_ranks], by_rank[: owned_ranks.start], by_rank[owned_ranks.stop :]]
        )

    def place(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of vertices, −1 for those that are neither owned nor ghosts here."""
        vertices = np.asarray(numbers, np.int64)
        outside = in_ascending_order(self.positions[self.owned :], self.owners)
        return np.asarray(find_places(vertices, self.owners, *outside))

    def laid_out(self) -> tuple[DeviceGraph, Any, list[Any]]:
        """Return the shard as the CUDA engine reads it; see `GraphView.laid_out`."""
        with self._lock:
            if "device" not in self.kept:
                from cugraph_ws.runtime.device import device

                number_dtype = provider("device rows").number_dtype
                laid_out = provider("device partitions").laid_out

                csc, xp = self.csc, device().xp
                values = {name: self.edge_values(name) for name in self._carried}
                graph = laid_out(self.length, csc.offsets, csc.indices, values)
                numbers = xp.asarray(self.positions, number_dtype(self.number_of_vertices))
                self.kept["device"] = (
                    graph,
                    xp.take(numbers, graph.numbers),
                    [
                        xp.take(graph.positions, xp.asarray(boundary))
                        for boundary in self.boundaries
                    ],
                )
            device_shard: tuple[DeviceGraph, Any, list[Any]] = self.kept["device"]
            return device_shard

    # ---------------------------------------------------------------------------- rows and sums

    @property
    def csc(self) -> Adjacency:
        """In-neighbours of owned vertices, as positions, in the order of their numbers."""
        return self._adjacency("csc")

    @property
    def csr(self) -> Adjacency:
        """Owned out-neighbours of all positions, in the order of their numbers."""
        return self._adjacency("csr")

    def _adjacency(self, order: Order) -> Adjacency:
        arcs, below, owned = self._host(), self._below, self.owned
        with self._lock:
            if order in self._orders:
                return self._orders[order]
            if order == "csc":
                ranked = arcs.csc
                offsets = ranked.offsets[below : below + owned + 1]  # ghosts have no rows
                if not self.owners.in_ranges:
                    begins = ranked.offsets[self._rank_of_position[:owned]]
                    offsets = np.append(begins, ranked.offsets[-1])
                indices = self._position_of_rank[ranked.indices]
            else:
                ranked = arcs.csr
                degrees = self._by_position(np.diff(ranked.offsets))
                offsets = np.concatenate([[0], np.cumsum(degrees)])
                indices = self._turned(self._position_of_rank[ranked.indices])
            self._orders[order] = Adjacency(offsets, indices)
            return self._orders[order]

    @property
    def _position_of_rank(self) -> Array:
        """The position of each rank, in the order of numbers."""
        if "position_of_rank" not in self.kept:
            order = np.argsort(self.positions, kind="stable")  # runs are merged
            self.kept["position_of_rank"] = order.astype(self._rank_dtype)
        position_of_rank: Array = self.kept["position_of_rank"]
        return position_of_rank

    @property
    def _rank_of_position(self) -> Array:
        """The rank at each position."""
        if "rank_of_position" not in self.kept:
            ranks = np.empty_like(self._position_of_rank)
            ranks[self._position_of_rank] = np.arange(self.length)
            self.kept["rank_of_position"] = ranks
        rank_of_position: Array = self.kept["rank_of_position"]
        return rank_of_position

    def _turned(self, by_arc: Array) -> Array:
        """Reorder an array by arc of the CSR: from rows by number to rows by position."""
        offsets = self._host().csr.offsets
        if not self.owners.in_ranges:
            begins, lengths = (self._by_position(each) for each in (offsets[:-1], np.diff(offsets)))
            return by_arc[flattened(np, begins, lengths)[2]]
        owned_arcs = slice(int(offsets[self._below]), int(offsets[self._below + self.owned]))
        return np.concatenate(
            [by_arc[owned_arcs], by_arc[: owned_arcs.start], by_arc[owned_arcs.stop :]]
        )

    def edge_values(self, name: str, order: Order = "csc") -> Array:
        """Return an edge column in the order of `csc` or `csr`; see `GraphView.edge_values`."""
        values = super().edge_values(name, order)
        if order == "csc":
            return values
        with self._lock:
            key = f"{name} of out-arcs"
            if key not in self.kept:
                self.kept[key] = self._turned(values)
            out_values: Array = self.kept[key]
            return out_values

    def _over_all_arcs(self, own: Any, *, incoming: bool) -> Any:
        sums = self._sums_by_position(own)
        with np.errstate(over="ignore"):
            halo = self.halo
            if not incoming:  # the owner of a vertex has all arcs into it, but not all out of it
                halo.reduce(sums)
            halo.update(sums)
        return sums

    def _sums_by_position(self, own: Any) -> Any:
        """Return a copy by position of sums over this rank's arcs, which `Arcs` returns by rank."""
        return self._by_position(own)

    def _count_isolated(self) -> int:
        alone = (self.degree_array(incoming=True) == 0) & (self.degree_array(incoming=False) == 0)
        return int(np.count_nonzero(alone[: self.owned]))

    def _ends(self, arc: int) -> Sequence[int]:
        places = self._position_of_rank[list(self._host().ends(arc))]
        ends: list[int] = self.positions[places].tolist()
        return ends

    def _find_extreme(self, name: str, *, least: bool) -> tuple[Any, Any]:
        arcs, own_extreme = self._open(), None
        if arcs.number_of_arcs:
            value, arc = arcs.extreme(name, least=least)
            own_extreme = [value.item(), *self._ends(arc)]
        shown = [extreme for extreme in self.comm.allgather(own_extreme) if extreme is not None]
        value, *ends = (min if least else max)(shown, key=lambda extreme: extreme[0])
        return self.edge_dtype(name).type(value), ends

    def _local(self, step: Callable[[], Any]) -> Any:
        return attempt(self.comm, step)

    def _with_arcs(self, arcs: Any, edges: int) -> Self:
        shard = super()._with_arcs(arcs, edges)
        # Ghosts stay, with or without arcs
        same = ("positions", "boundaries", "position_of_rank", "rank_of_position")
        shard.kept = {name: self.kept[name] for name in same if name in self.kept}
        shard._orders = {}
        shard._all_arcs = total(self.comm, arcs.number_of_arcs)
        shard._vertices = self._vertices.join(self.comm)
        shard._vertices.align_to(shard)
        return shard

    def _merge_arcs(self, arcs: Arcs, policy: Policy, repeated: npt.NDArray[np.bool_]) -> None:
        attempt(self.comm, lambda: arcs.merge(policy, repeated))  # a rank's sums may exceed int64

    # --------------------------------------------------------------------------- ids and frames

    def _own_ids(self) -> Mapping[str, Any]:
        return dict(self._vertices.own_columns(self.owners))

    def _places_here(self, numbers: Any) -> Any:
        places = self.place(numbers)
        return places[places >= 0]

    def value_columns(
        self, data: Any, argument: str, *, on_device: bool = False
    ) -> list[str] | None:
        """Return the names of columns other than ids; collective; see `Framed.value_columns`."""
        if isinstance(data, Partitions):
            return self._beside_ids(OpenedPartitions(self.comm, data, argument))
        return super().value_columns(data, argument, on_device=on_device)

    @property
    def device_resident(self) -> bool:
        """Whether the frames, and so the runs, are on GPUs."""
        return self._kind.backend == "cudf"

    def arc_ends(self) -> tuple[Any, Any]:
        """Return the sources and destinations of this shard's arcs; see `Framed.arc_ends`."""
        csc = self.csc
        rows = np.repeat(np.arange(self.owned), csc.degrees)
        return self.positions[csc.indices], self.positions[rows]

    def edges_among(self, marks: Any) -> Any:
        """Return edges as a frame; collective; see `GraphView.edges_among`."""
        return self.edge_frame(among=Part(self, on_device=False).with_ghosts(as_host(marks)))

    def _listed(self, keep: Any, among: Any) -> tuple[Any, Any, Mapping[str, Any]]:
        places = self._position_of_rank
        by_rank = None if among is None else among[places]
        if callable(keep):
            keep = keep(*self.arc_ends())
        sources, destinations, values = self._host().listed(self._carried, keep, by_rank)
        numbers = self.positions[places]
        return numbers[sources], numbers[destinations], values
