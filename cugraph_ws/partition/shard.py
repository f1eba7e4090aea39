"""One rank's shard of a graph: a range of vertices, the arcs into them, and ghosts.

A `ShardGraph` has the interface of a `Graph`; many of its methods are collective.  Arrays by
vertex are indexed by *position*: owned vertices first, then ghosts, each in the order of their
numbers.  So the ghosts of one owner are contiguous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_choice
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import FrameKind, VertexNumbers
from cugraph_ws.graph.adjacency import Adjacency, EdgeList
from cugraph_ws.graph.arcs import Arcs, Order
from cugraph_ws.graph.duplicates import Merge, refuse_infinite
from cugraph_ws.graph.edges import Duplicates, refuse_repeated
from cugraph_ws.graph.graph import Graph, GraphReport
from cugraph_ws.graph.numbering import number_integers
from cugraph_ws.graph.view import EXAMPLES
from cugraph_ws.partition.agreement import attempt, in_order
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.partition import Partition, edge_arrays
from cugraph_ws.partition.partitioned_frame import Partitions, Parts
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.communicator import Communicator, total
from cugraph_ws.runtime.device import array_module, as_host, mark
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.backends.cuda.graph import DeviceGraph

__all__ = ["ShardGraph"]

Array = npt.NDArray[Any]

CHUNK = 1 << 20  # arcs whose destinations are renumbered at a time


class ShardGraph(Graph):
    """One rank's shard of a graph; see `Graph` for the interface.

    All ranks must call the collective methods and properties, in the same order.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    cuts : ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1.
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
    duplicates : str
        Policy on parallel edges.

    Attributes
    ----------
    comm : Communicator
    cuts : ndarray of int64
    ghosts : list of (int, int)
        For each rank, the range of positions of its vertices that are ghosts here.
    """

    _vertices: Any
    whole = False

    def __init__(
        self,
        comm: Communicator,
        cuts: npt.NDArray[np.int64],
        sources: npt.NDArray[np.int64],
        destinations: npt.NDArray[np.int64],
        values: Mapping[str, Array],
        *,
        vertices: Any,
        kind: FrameKind,
        names: tuple[list[str], list[str]],
        weight: str | None = None,
        directed: bool = True,
        duplicates: Duplicates = "keep",
    ) -> None:
        self._settle_in(comm, cuts, vertices, kind, names, list(values), weight, directed)
        low, high = self.low, self.low + self.owned
        away = np.flatnonzero((sources < low) | (sources >= high))
        remote = number_integers([sources[away]], dense_up_to=2 * len(away) + (1 << 16))
        (ids,) = remote.numbering.decode(np.arange(remote.numbering.size))
        outside = ids.to_numpy()
        self.kept["positions"] = np.concatenate([np.arange(low, high), outside])
        self._find_ghosts(np.searchsorted(outside, cuts))
        asked = comm.alltoall([[self.positions[slice(*held)]] for held in self.ghosts])
        self.kept["boundaries"] = [wanted[0] - low for wanted in asked]
        ranks = (
            self._ranks_of(sources, away, remote.numbers(0)),
            self._own_ranks_of(destinations),
        )
        del away, remote
        listed = EdgeList(*ranks, 0, np.empty(0, ranks[0].dtype), self.length)
        base, placed = listed.rows_of_sources(list(values.values()), both=False)
        arcs = self._arcs = Arcs(
            base, dict(zip(values, placed, strict=True)), directed=True, marked=not directed
        )
        self._all_arcs = total(comm, arcs.csc.number_of_arcs)
        self._edges = self._count(np.ones(arcs.csc.number_of_arcs, np.bool_))
        if duplicates != "keep":
            self._merge(duplicates)

    def _settle_in(
        self,
        comm: Communicator,
        cuts: npt.NDArray[np.int64],
        vertices: Any,
        kind: FrameKind,
        names: tuple[list[str], list[str]],
        carried: list[str],
        weight: str | None,
        directed: bool,
    ) -> None:
        """Set the attributes given by the caller, and initialise the caches."""
        self.comm = comm
        self._cuts = cuts
        self._owned = int(cuts[comm.rank + 1] - cuts[comm.rank])
        self.directed = directed
        self.weight = weight
        self._source_names, self._destination_names = names
        self._carried = carried
        self._kind = kind
        self._vertices = vertices
        self._lock = RLock()
        self._copy = None
        self._extremes = {}
        self._degrees: dict[Any, Array] = {}
        self._orders: dict[Order, Adjacency] = {}
        self.learned: dict[str, Any] = {}  # results that are the same on all ranks
        self.kept: dict[str, Any] = {}  # shared with copies on other communicators
        self._duplicates = self._self_loops = None

    def _find_ghosts(self, bounds: npt.NDArray[np.int64]) -> None:
        """Set the ghost range of each rank, given where each begins among the ghosts."""
        self._below = int(bounds[self.comm.rank])
        self._ghosts = list(pairwise((bounds + self.owned).tolist()))

    # ------------------------------------------------------------------------------ geometry

    @property
    def cuts(self) -> npt.NDArray[np.int64]:
        """Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1."""
        return self._cuts

    @property
    def ghosts(self) -> list[tuple[int, int]]:
        """For each rank, the range of positions of its vertices that are ghosts here."""
        return self._ghosts

    @property
    def length(self) -> int:
        """Length of an array by position: owned vertices and ghosts."""
        return self.ghosts[-1][1]

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """Vertex number at each position."""
        kept: npt.NDArray[np.int64] = self.kept["positions"]
        return kept

    @property
    def boundaries(self) -> list[Array]:
        """For each rank, the owned positions that it holds as ghosts, in that rank's order."""
        kept: list[Array] = self.kept["boundaries"]
        return kept

    @property
    def owned(self) -> int:
        """Number of owned vertices."""
        return self._owned

    @property
    def low(self) -> int:  # type: ignore[override]
        """Number of the first owned vertex."""
        return int(self.cuts[self.comm.rank])

    @property
    def binds_on_device(self) -> bool:
        """Whether a run on the device makes its arrays by vertex there."""
        return False

    def join(self, comm: Communicator) -> None:
        """Use another communicator from now on, of the same ranks in the same order.

        Parameters
        ----------
        comm : Communicator
        """
        self.comm = comm
        self._vertices = self._vertices.join(comm)
        self._vertices.settle(self)

    def agree_on_what_is_kept(self) -> None:
        """Drop cached results that some rank lacks; collective.

        An abandoned run may have ended after a collective on some ranks and before it on others.
        A rank that lacks a result calls a collective to compute it, so all ranks must.
        """
        found: list[dict[Any, Any]] = [self._degrees, self._extremes, self.learned]
        names = [{str(key): key for key in kept} for kept in found]
        shown = self.comm.allgather([sorted(own) for own in names])
        for which, (kept, own) in enumerate(zip(found, names, strict=True)):
            known = set.intersection(*(set(theirs[which]) for theirs in shown))
            for name, key in own.items():
                if name not in known:
                    del kept[key]

    @property
    def nbytes(self) -> int:
        """Bytes in use now."""
        orders = sum(one.nbytes for one in self._orders.values())
        geometry = self.positions.nbytes + sum(held.nbytes for held in self.boundaries)
        return self._host().nbytes + int(self._vertices.numbering.nbytes) + geometry + orders

    @property
    def number_of_vertices(self) -> int:
        """Number of vertices of the whole graph."""
        self._open()
        return int(self.cuts[-1])

    @property
    def own_arcs(self) -> int:
        """Number of arcs into owned vertices."""
        return self._host().csc.number_of_arcs

    @property
    def own_both_ways(self) -> int:
        """Pairs of vertices with edges both ways whose larger number is owned."""
        return self._open().both_ways

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs of the whole graph."""
        self._open()
        return self._all_arcs

    def _ranks_of(
        self, numbers: npt.NDArray[np.int64], away: npt.NDArray[np.int64], found: Array
    ) -> Array:
        """Return the place of each vertex in the ascending numbers of owned vertices and ghosts.

        `away` has the indices of ghosts in `numbers`; `found` has their places among the ghosts.
        """
        ranks = numbers - self.low + self._below
        ranks[away] = found + np.where(found >= self._below, self.owned, 0)
        return ranks.astype(self._rank_dtype)

    def _own_ranks_of(self, numbers: npt.NDArray[np.int64]) -> Array:
        """Return the places of owned vertices, as `_ranks_of`; entries marked as ~v stay marked."""
        ranks, shift = np.empty(len(numbers), self._rank_dtype), self._below - self.low
        for first in range(0, len(numbers), CHUNK):
            some = numbers[first : first + CHUNK]
            marks = some >> 63  # −1 for ~v: x ^ −1 is ~x
            ranks[first : first + CHUNK] = ((some ^ marks) + shift) ^ marks
        return ranks

    @property
    def _rank_dtype(self) -> type[np.signedinteger[Any]]:
        return np.int32 if self.length <= np.iinfo(np.int32).max else np.int64

    def _by_position(self, by_rank: Array) -> Array:
        """Reorder an array from the order of numbers to positions."""
        own = slice(self._below, self._below + self.owned)
        return np.concatenate([by_rank[own], by_rank[: own.start], by_rank[own.stop :]])

    def place(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of vertices, −1 for those that are neither owned nor ghosts here."""
        outside = self.positions[self.owned :]
        places = np.asarray(numbers, np.int64) - self.low
        away = np.flatnonzero((places < 0) | (places >= self.owned))
        found = np.searchsorted(outside, numbers[away])
        known = np.zeros(len(away), np.bool_)
        inside = np.flatnonzero(found < len(outside))
        known[inside] = outside[found[inside]] == numbers[away[inside]]
        places[away] = np.where(known, found + self.owned, -1)
        return places

    def owners(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the ranks of vertices' owners."""
        return np.searchsorted(self.cuts, numbers, side="right") - 1

    def halo_for(self, *columns: Array) -> Halo:
        """Return the halo for columns by position, all on the host or all on the device."""
        return Halo(self.comm, self.boundaries, self.ghosts, self.cuts, on_device=False)

    def with_ghosts(self, own: Array) -> Array:
        """Extend an array by owned vertex to all positions; collective.

        Parameters
        ----------
        own : ndarray, shape (owned,)

        Returns
        -------
        ndarray, shape (length,)
        """
        column = np.empty(self.length, own.dtype)
        column[: self.owned] = own
        self.halo_for(column).update(column)
        return column

    def laid_out(self) -> tuple[DeviceGraph, Any, list[Any]]:
        """Return the shard in the CUDA engine's layout; made when first needed, then cached.

        Returns
        -------
        graph : DeviceGraph
            Rows of owned vertices, by falling in-degree; ghosts have no rows.
        numbers : device array, shape (length,)
            Vertex number at each position of this layout.
        boundaries : list of device array
            As `boundaries`, in positions of this layout.
        """
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
                    [xp.take(graph.positions, xp.asarray(held)) for held in self.boundaries],
                )
            kept: tuple[DeviceGraph, Any, list[Any]] = self.kept["device"]
            return kept

    def partition(self, bound: BoundProgram) -> Partition:
        """Return the partition for an executor."""
        return Partition(
            vertices=self.number_of_vertices,
            owned=self.owned,
            numbers=self.positions,
            constants=bound.constants,
            csc=self.csc,
            csr=self.csr,
            boundaries=self.boundaries,
            ghosts=self.ghosts,
            _edges={order: edge_arrays(self, bound, order) for order in ("csc", "csr")},
        )

    # ---------------------------------------------------------------------------------- view

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
                indices = self._position_of_rank[ranked.indices]
            else:
                ranked = arcs.csr
                degrees = self._by_position(np.diff(ranked.offsets))
                offsets = np.concatenate([[0], np.cumsum(degrees)])
                indices = self._turned(ranked.indices - ranked.indices.dtype.type(below))
            self._orders[order] = Adjacency(offsets, indices)
            return self._orders[order]

    @property
    def _position_of_rank(self) -> Array:
        if "position_of_rank" not in self.kept:
            ranks = np.arange(self.length, dtype=np.int64)
            position = np.empty(self.length, self._host().csc.indices.dtype)
            position[self._by_position(ranks)] = ranks
            self.kept["position_of_rank"] = position
        kept: Array = self.kept["position_of_rank"]
        return kept

    def _turned(self, by_arc: Array) -> Array:
        """Reorder an array by arc of the CSR: from rows by number to rows by position."""
        offsets = self._host().csr.offsets
        own = slice(int(offsets[self._below]), int(offsets[self._below + self.owned]))
        return np.concatenate([by_arc[own], by_arc[: own.start], by_arc[own.stop :]])

    def edge_values(self, name: str, order: Order = "csc") -> Array:
        """Return an edge column in the order of `csc` or `csr`; see `Graph.edge_values`."""
        check_choice("order", order, ("csc", "csr"))
        self._check_carried(name)
        values = self._host().values(name, order)
        if order == "csc":
            return values
        with self._lock:
            key = f"{name} of out-arcs"
            if key not in self.kept:
                self.kept[key] = self._turned(values)
            kept: Array = self.kept[key]
            return kept

    def degrees(self, *, incoming: bool, on_device: bool = False) -> Any:
        """Return the number of edges into, or out of, every vertex, by position; collective."""
        if incoming not in self._degrees:
            column = self._own_degrees(incoming=incoming)
            self._share_sums(column, incoming=incoming)
            self._degrees[incoming] = column
        column = self._degrees[incoming]
        return column if on_device else as_host(column)

    def _own_degrees(self, *, incoming: bool) -> Array:
        """Return the number of this shard's arcs into, or out of, every position."""
        if not incoming:
            return self._by_position(self._host().out_degrees)
        column = np.zeros(self.length, np.int64)
        column[: self.owned] = np.diff(self.csc.offsets)
        return column

    def weight_sums(self, name: str | None, *, incoming: bool, on_device: bool = False) -> Any:
        """Return sums of an edge column, by position; collective; see `Graph.weight_sums`."""
        if name is None:
            counts = self.degrees(incoming=incoming, on_device=on_device)
            return counts.astype(np.float64)
        self._check_carried(name)
        key = name, incoming
        if key not in self._degrees:
            column = self._own_sums(name, incoming=incoming)
            self._share_sums(column, incoming=incoming)
            own = column[: self.owned]
            self._refuse_infinite(name, self._open().first_infinite(own) if self.owned else None)
            self._degrees[key] = column
        column = self._degrees[key]
        return column if on_device else as_host(column)

    def _own_sums(self, name: str, *, incoming: bool) -> Array:
        """Return the sums of a column over this shard's arcs into, or out of, every position."""
        return self._by_position(self._host().weight_sums(name, incoming=incoming))

    def _share_sums(self, column: Array, *, incoming: bool) -> None:
        """Turn sums over this shard's arcs into sums over all arcs; collective."""
        with np.errstate(over="ignore"):
            halo = self.halo_for(column)
            if not incoming:  # its owner has all arcs into a vertex, but not all out of it
                halo.reduce(column)
            halo.update(column)

    def _refuse_infinite(self, name: str, bad: int | None) -> None:
        """Raise InputError for the first vertex whose sum is not finite; collective.

        Parameters
        ----------
        name : str
            The column summed.
        bad : int or None
            The first owned vertex whose sum is not finite.
        """

        def look() -> None:
            if bad is not None:
                raise InputError(
                    f"column {name!r}: the weights at vertex {self.describe(bad)} add up to more than a "
                    "float64 holds; scale the weights down"
                )

        in_order(self.comm, [([self.low + (bad or 0)], look)])

    def members(self, values: Any, argument: str, *, on_device: bool = False) -> Any:
        """Mark vertices, by position; collective; see `GraphView.members`."""
        places = self.place(self.numbers(values, argument))
        marks = array_module(on_device).zeros(self.length, np.bool_)
        mark(marks, places[places >= 0])
        return marks

    def vertex_sum(self, values: Any) -> Any:
        """Return the sum over all vertices of an array by position; collective."""
        own = values[: self.owned].sum()
        shares = self.comm.allgather(own if isinstance(own, np.generic) else as_host(own)[()])
        return np.sum(shares)

    def vertex_max(self, values: Any) -> Any:
        """Return the greatest entry over all vertices of an array by position; collective."""
        own = values[: self.owned].max() if self.owned else np.float64(0.0)
        shares = self.comm.allgather(own if isinstance(own, np.generic) else as_host(own)[()])
        return np.max(shares)

    def examples(self, *columns: Any) -> list[Any]:
        """Return the entries of a few vertices of every rank; collective."""
        own = slice(0, min(self.owned, EXAMPLES))
        shown = [
            as_host(column[own] if len(column) == self.length else column) for column in columns
        ]
        every = self.comm.alltoall([shown] * self.comm.size)
        return [
            np.concatenate([box[which] for box in every])
            if len(column) == self.length
            else shown[which]
            for which, column in enumerate(columns)
        ]

    def any_rank(self, truth: bool) -> bool:
        """Tell whether a condition is true on any rank; collective."""
        return any(self.comm.allgather(bool(truth)))

    def describe(self, number: int) -> str:
        """Return the id of an owned vertex, by position, as text for errors."""
        self._open()
        text: str = self._vertices.describe_own(number)
        return text

    def describe_vertices(self, numbers: Sequence[int]) -> list[str]:
        """Return the ids of any vertices as text; collective; see `GraphView.describe_vertices`."""
        return [self._vertices.describe(number) for number in numbers]

    def value_columns(
        self, data: Any, argument: str, *, on_device: bool = False
    ) -> list[str] | None:
        """Return the names of columns other than ids; collective; see `Graph.value_columns`."""
        if isinstance(data, Partitions):
            return self._beside_ids(Parts(self.comm, data, argument))
        return super().value_columns(data, argument, on_device=on_device)

    def _extreme(self, name: str, *, least: bool) -> tuple[Any, Any] | None:
        """Return the least or greatest value, and the endpoints of its edge; collective."""
        self._check_carried(name)
        key = name, least
        if not self.number_of_arcs:
            return None
        if key not in self._extremes:
            own = self._own_extreme(name, least=least)
            shown = [one for one in self.comm.allgather(own) if one is not None]
            best = (min if least else max)(shown, key=lambda one: one[0])
            dtype = self.edge_dtype(name)
            self._extremes[key] = dtype.type(best[0]), (best[1], best[2])  # type: ignore[assignment]
        return self._extremes[key]

    def _own_extreme(self, name: str, *, least: bool) -> list[Any] | None:
        """Return the least or greatest value of this shard's arcs, and the endpoints of its arc."""
        arcs = self._host()
        if not arcs.csc.number_of_arcs:
            return None
        value, arc = arcs.extreme(name, least=least)
        ends = [self.positions[self._position_of_rank[end]] for end in arcs.ends(arc)]
        return [value.item(), *map(int, ends)]

    def describe_edge(self, arc: Any) -> str:
        """Return the ids of the endpoints of an edge found by `_extreme`; collective."""
        return " to ".join(self.describe_vertices(arc))

    @property
    def device_resident(self) -> bool:
        """Whether the frames, and so the runs, are on GPUs."""
        return self._kind.backend == "cudf"

    # ------------------------------------------------------------------------------- results

    def vertex_frame(self, columns: Mapping[str, Any]) -> Any:
        """Return a frame of the owned vertices, sorted; collective; see `Graph.vertex_frame`.

        Parameters
        ----------
        columns : mapping of str to array, VertexNumbers or Masked
            Each of shape (owned,).
        """
        self._open()
        ids = self._vertices.columns(None, VertexNumbers(self.positions[: self.owned]))
        return self._kind.make(self._beside(ids, columns))

    def edge_frame(self, keep: Any = None, *, among: Any = None) -> Any:
        """Return edges into owned vertices as a frame; collective; see `Graph.edge_frame`.

        Parameters
        ----------
        keep : array of bool, shape (arcs,), optional
            Which of this shard's arcs to return, in the order of the CSC.
        among : array of bool, shape (length,), optional
            By position; an edge is returned only if both endpoints are marked.
        """
        csc = self.csc
        rows = np.repeat(np.arange(self.owned), csc.degrees)
        marks = np.ones(len(rows), np.bool_)
        if keep is not None:
            marks &= keep
        if not self.directed:
            marks &= self._once()
        if among is not None:
            marks &= among[csc.indices] & among[rows]
        which = np.flatnonzero(marks)
        sources, destinations = self.positions[csc.indices[which]], self.positions[rows[which]]
        values = {name: self.edge_values(name)[which] for name in self._carried}
        return self._frame_of_edges(sources, destinations, values)

    def edges_among(self, marks: Any) -> Any:
        """Return the owned edges between marked vertices; collective; see `Graph.edges_among`."""
        return self.edge_frame(among=self.with_ghosts(as_host(marks)))

    @property
    def report(self) -> GraphReport:
        """What the build did; collective."""
        if self._self_loops is None:
            self._self_loops = total(self.comm, self._open().count_loops())
        if self._duplicates is None:
            self._duplicates = self._count_repeated()
        alone = (self.degrees(incoming=True) == 0) & (self.degrees(incoming=False) == 0)
        return GraphReport(
            vertices=self.number_of_vertices,
            edges=self._edges,
            isolated=total(self.comm, np.count_nonzero(alone[: self.owned])),
            duplicates=self._duplicates,
            self_loops=self._self_loops,
            renumbered=self._vertices.numbering.renumbered,
            bytes=total(self.comm, self.nbytes),
            both_ways=0 if self.directed else total(self.comm, self.own_both_ways),
        )

    def _once(self) -> npt.NDArray[np.bool_]:
        """Mark one arc of each undirected edge, from the smaller vertex."""
        csc = self._host().csc
        return csc.indices <= csc.rows()  # rows are in the order of numbers

    def _count(self, marked: npt.NDArray[np.bool_]) -> int:
        """Count the edges of marked arcs; collective."""
        return total(
            self.comm, np.count_nonzero(marked if self.directed else marked & self._once())
        )

    def _count_repeated(self) -> int:
        """Count parallel edges, all but the first of each pair of vertices; collective."""
        return self._count(self._host().repeated())

    def _merge(self, policy: Merge | str) -> None:
        """Merge or refuse parallel edges, as the policy says; collective."""
        arcs = self._host()
        repeated = arcs.repeated()
        surplus = self._duplicates = self._count(repeated)
        if surplus and policy == "error":
            self._refuse_repeated(arcs, repeated, surplus)
        if surplus:
            # a rank's sums may exceed int64
            attempt(self.comm, lambda: arcs.merge(policy, repeated))  # type: ignore[arg-type]
            self._all_arcs = total(self.comm, arcs.csc.number_of_arcs)
            self._edges -= surplus
        if surplus and policy in ("sum", "mean") and self.weight is not None:
            self._refuse_infinite_weights(arcs, policy, self.weight)

    def _refuse_infinite_weights(self, arcs: Arcs, policy: str, name: str) -> None:
        """Refuse merged edges whose weights are not finite; collective."""
        values = arcs.values(name, "csc")
        bad = arcs.first_infinite(values)
        own = None
        if bad is not None:
            ends = [int(self.positions[self._position_of_rank[end]]) for end in arcs.ends(bad)]
            own = float(values[bad]), ends
        shown = next((one for one in self.comm.allgather(own) if one is not None), None)
        if shown is not None:
            refuse_infinite(policy, name, shown[0], self.describe_edge(shown[1]))

    def _refuse_repeated(
        self, arcs: Arcs, repeated: npt.NDArray[np.bool_], surplus: int
    ) -> NoReturn:
        """Raise InputError that names a repeated edge; collective."""
        own = None
        if repeated.any():
            ends = arcs.ends(int(np.argmax(repeated)))
            own = [int(self.positions[self._position_of_rank[end]]) for end in ends]
        shown = next(one for one in self.comm.allgather(own) if one is not None)
        refuse_repeated(surplus, self.describe_edge(shown))
