"""Build the shards of a graph from frames on GPUs, without copies to the host.

The ids of the edges must be integers that nearly fill a range, and there must be no frame of
vertices.  Parallel edges are allowed.  All other graphs are built over the host by `build_shard`.

Arcs are sent as pairs of ids less the least id.  Ids become positions where the arcs are grouped.
So vertices are ordered first, by in-degrees that are summed over ranks.  Then rows are filled in R
rounds: in each round all arcs into one range of every rank's rows are sent, grouped and dropped.

Bytes that a rank holds besides its partitions, for n vertices, of which it owns o and has g as
ghosts; ids from a range of r; k ranks, and m/k edges of a directed graph for each; b owned vertices
that other ranks have as ghosts; i bytes per integer (4, or 8); v bytes of values per arc:

    step                     kept so far                    temporary
    ids marked               r                              2 r / 8
    in-degrees               r + i n + 8 n                  i r, then 8 n
    owned vertices laid out  r + 8 n + (i + 8) o            i (o + n), then 8 o, then n and r of kinds
    arcs split by kind       … + m/k                        k r / 8 of sources, then r + i r
    ghosts put in order      …                              8 g, then i (b + g) and 24 b to sort by
    each of R rounds         (i + 8) o + i (r + g) + m/k    2 i m/kR sent, as much received; then what
                             + (i + v) m/k                  is received, 8 m/kR of keys, a part sorted
    done                     (2 i + 8) (o + g) + (i + v) m/k

Values are sent and received too, one column at a time, with i bytes per arc for the row of each
value.  The rank's own columns are kept until the last round.  Rows are read once for the range of
the ids, once to mark them, for in-degrees (one end only) once for every part of the counts that
fits the L2, and once to find their kinds, a byte each.  A round reads these bytes, and about every
second sector of the ends.

For an undirected graph a byte for each arc of a round says in which direction its edge was given,
so that pairs of vertices with edges in both directions can be counted.  That reads every arc once
more.  Only where arcs are repeated are the round's arcs looked up in the rows; two bytes per arc are
then kept in the memory of the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.types as pt

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import check_order, number_dtype
from cugraph_ws.backends.cuda.memory import check_device_memory
from cugraph_ws.backends.cuda.numbering import signed
from cugraph_ws.backends.cuda.present_ids import PresentIds, any_set, find_present, unpack_bits
from cugraph_ws.backends.cuda.rows import VertexOrder, add_degrees, place_vertices
from cugraph_ws.backends.cuda.shard import DeviceShard, Placement, Totals
from cugraph_ws.backends.cuda.shard_rounds import (
    estimate_rounds,
    fill_rounds,
    kinds_of_arcs,
    round_ranges,
)
from cugraph_ws.backends.cuda.shard_vertices import DeviceShardVertices
from cugraph_ws.backends.cuda.shuffle import MOST_KINDS, DeviceShuffle
from cugraph_ws.errors import InputError
from cugraph_ws.frames.ids import IdType
from cugraph_ws.partition import id_encoding
from cugraph_ws.partition.ghosts import order_ghosts
from cugraph_ws.partition.partitioned_frame import OpenedPartitions
from cugraph_ws.partition.range_offsets import bucket_starts, cuts_of_buckets
from cugraph_ws.runtime.arrays import as_host, count_on_device, read_scalars
from cugraph_ws.runtime.communicator import Communicator, attempt, total
from cugraph_ws.runtime.device import device

__all__ = ["are_integers", "build_on_devices"]

DeviceArray = Any  # CuPy's or NumPy's

ROUNDS = 4
LEAST_ROUND = 1 << 22  # arcs; smaller rounds are not worth their launches


def are_integers(
    comm: Communicator, parts: OpenedPartitions, names: tuple[list[str], list[str]]
) -> bool:
    """Return whether the ids of all ranks' edges are single integers.  Collective.

    Parameters
    ----------
    comm : Communicator
    parts : OpenedPartitions
    names : pair of list of str
        The id columns.
    """
    single = all(len(columns) == 1 for columns in names)
    try:
        are_here = single and all(
            pt.is_integer(part.column(name, argument).arrow_type)
            for part in parts.own
            for (name,), argument in zip(names, ("source", "destination"), strict=True)
        )
    except InputError:  # raised again, with its reason, when the columns are read
        are_here = False
    return all(comm.allgather(are_here))


def build_on_devices(
    comm: Communicator,
    parts: OpenedPartitions,
    names: tuple[list[str], list[str]],
    kind: IdType,
    columns: list[DeviceArray],
    values: dict[str, DeviceArray],
    *,
    weight: str | None,
    directed: bool,
    self_loops: str,
    weights: Sequence[float] | None,
) -> DeviceShard | None:
    """Build this rank's shard of a graph; see `build_shard`.  Collective.

    Parameters
    ----------
    comm : Communicator
        Exchanges arrays on the device.
    parts : OpenedPartitions
        The edge frame's partitions, opened on the device.
    names : pair of list of str
        The id columns.
    kind : IdType
        Type of the ids, an integer.
    columns : list of device array
        The id columns of this rank's partitions: sources, then destinations.
    values : dict of str to device array, each of shape (rows,)
        Edge columns of this rank's rows; emptied.
    weight, directed, self_loops, weights
        See `build_shard`.

    Returns
    -------
    DeviceShard or None
        None, on all ranks, if ids must be numbered over the host, or an error must name a
        self-loop.

    Raises
    ------
    InputError
        If there are more edges with values than can be kept in order; on all ranks.
    GraphMemoryError
        If a rank's shard would not fit on its GPU; on all ranks.
    """
    form = _form_on_device(kind)
    ids = _as_kernels_read(columns, form)
    dense_up_to = 8 * parts.rows // comm.size + (1 << 20)
    present = find_present(comm, ids, dense_up_to, natural=form == np.uint64)
    if present is None:
        return None
    count = len(parts.own)
    ends = list(zip(ids[:count], ids[count:], strict=True))
    loops = None if self_loops == "keep" else _count_loops(comm, ends)
    if loops and self_loops == "error":
        return None
    build = _Build(
        comm, present, ends, parts.rows, keeps_loops=self_loops == "keep", directed=directed
    )
    build.lay_out_owned(weights)
    build.split_arcs([part.place[0] for part in parts.own])
    build.order_ghosts()
    build.check_memory(values)
    shown_ids = build.place_ids(form)
    vertex_order, indices, moved, pairs = build.fill_rows(values, shown_ids)
    placement = build.place_boundaries()
    device().trim()
    graph = DeviceGraph(
        device(),
        vertex_order,
        indices,
        moved,
        undirected=False,
        names=tuple(moved),
        both_ways=pairs,
    )
    return DeviceShard(
        comm,
        build.cuts,
        graph,
        placement,
        Totals(parts.rows - (loops or 0), build.all_arcs, loops),
        vertices=DeviceShardVertices(comm, names[0], kind, build.cuts, form, shown_ids),
        kind=parts.kind_like(names[0][0]),
        names=names,
        weight=weight,
        directed=directed,
    )


def _form_on_device(kind: IdType) -> np.dtype[Any]:
    """Return the dtype of ids on the device; results get the original dtype."""
    form: np.dtype[Any] = id_encoding.form_of(kind)
    return np.dtype(np.int32) if form.itemsize < 4 else form


def _as_kernels_read(columns: list[DeviceArray], form: np.dtype[Any]) -> list[DeviceArray]:
    """Return the id columns in a dtype that kernels read, without copies if they have one."""
    if form == np.uint32:  # kernels compute with int64; a copy would be as long as all rows
        xp = device().xp
        return [xp.ascontiguousarray(column, dtype=form) for column in columns]
    read_as = np.dtype(np.int64 if form.itemsize == 8 else np.int32)
    return [signed(column, read_as) for column in columns]


def _count_loops(comm: Communicator, ends: Sequence[tuple[DeviceArray, DeviceArray]]) -> int:
    """Return how many self-loops all ranks have.  Collective."""
    counts = [count_on_device(sources == destinations) for sources, destinations in ends]
    return total(comm, sum(read_scalars(*counts)) if counts else 0)


class _Build:
    """One rank's build, stage by stage, in the order of the methods.

    Each stage frees what later ones do not need.

    Parameters
    ----------
    comm : Communicator
    present : PresentIds
        Emptied once ghosts are numbered.
    ends : sequence of (device array, device array)
        Sources and destinations of each of this rank's partitions.
    rows : int
        Edges of all ranks.
    keeps_loops, directed : bool
    """

    def __init__(
        self,
        comm: Communicator,
        present: PresentIds,
        ends: Sequence[tuple[DeviceArray, DeviceArray]],
        rows: int,
        *,
        keeps_loops: bool,
        directed: bool,
    ) -> None:
        self._comm, self._present, self._ends, self._all_rows = comm, present, ends, rows
        self._keeps_loops, self._directed = keeps_loops, directed
        self._places = present.places()

    def lay_out_owned(self, weights: Sequence[float] | None) -> None:
        """Sum in-degrees over ranks, choose which range of vertices each rank owns, and lay out this one's."""
        comm, present = self._comm, self._present
        degrees = [
            _own_degrees(
                self._ends,
                present,
                self._all_rows,
                self._places,
                loops=self._keeps_loops,
                directed=self._directed,
            )
        ]
        self.cuts = cuts_of_buckets(comm, present.size, _bucket_sums(comm, degrees[0]), weights)
        self._first, self._last = (int(cut) for cut in self.cuts[comm.rank : comm.rank + 2])
        self._owned = self._last - self._first
        degrees.append(_sum_degrees(comm, degrees.pop(), self.cuts))
        _, self._positions, self._offsets = place_vertices(device(), degrees, self._owned)

    def split_arcs(self, partitions: Sequence[int]) -> None:
        """Find the round and the owner of each arc, and which vertices of other ranks are sources of arcs here.

        Parameters
        ----------
        partitions : sequence of int
            The place of each of this rank's partitions in the frame.
        """
        xp, comm, span = device().xp, self._comm, self._present.span
        rounds = min(ROUNDS, self._all_rows // comm.size // LEAST_ROUND)
        rounds = max(1, min(rounds, (MOST_KINDS - 1) // comm.size))
        self._ranges, self._arcs = round_ranges(self._offsets, rounds)
        self._shuffle = DeviceShuffle(
            comm, self._ends, partitions, self._present.low, span,
            rounds=rounds, loops=self._keeps_loops, directed=self._directed,
        )  # fmt: skip
        kinds = kinds_of_arcs(comm, self._positions, self._ranges, self._places, span)
        marks = self._shuffle.mark_kinds(kinds)
        del kinds
        received = comm.alltoall(
            [
                [bits, announced, np.array([self._arcs])]
                for bits, announced in zip(marks, self._shuffle.announcements(), strict=True)
            ]
        )
        del marks
        self._shuffle.expect([announced for _, announced, _ in received])
        self.all_arcs = sum(int(arcs[0]) for _, _, arcs in received)
        is_source = unpack_bits(any_set([bits for bits, _, _ in received]), span)
        del received
        begin, end = self.cuts[comm.rank : comm.rank + 2]
        if self._places is not None:
            begin, end = as_host(xp.append(self._places, span)[xp.asarray([begin, end])])
        is_source[int(begin) : int(end)] = False
        self._ghost_places = xp.flatnonzero(is_source)

    def order_ghosts(self) -> None:
        """Give the ghosts their numbers, and the order in which their owners lay them out."""
        xp, first, last = device().xp, self._first, self._last
        places = self._places
        self._owned_places = xp.arange(first, last) if places is None else places[first:last].copy()
        del self._places, places
        self._remote = self._present.numbers(self._ghost_places)
        self._present.present = None
        self._length = self._owned + len(self._remote)
        cuts = xp.asarray(self.cuts, self._remote.dtype)
        self._bounds = as_host(xp.searchsorted(self._remote, cuts))
        self._ghosts = list(pairwise(self._bounds.tolist()))
        _, laid_boundaries = self._find_boundaries()
        self._order = order_ghosts(self._comm, self._ghosts, laid_boundaries)

    def check_memory(self, values: dict[str, DeviceArray]) -> None:
        """Raise on all ranks if the rows would not fit on a GPU, or values cannot be kept in order."""
        value_bytes = sum(column.dtype.itemsize for column in values.values())
        needed = estimate_rounds(
            self._shuffle, self._arcs, self._owned, self._length, self._present.span, value_bytes,
            directed=self._directed,
        )  # fmt: skip
        most = max(self._shuffle.coming)

        def check() -> None:
            check_device_memory(needed)
            if values:
                check_order(most, self._length)

        attempt(self._comm, check)

    def place_ids(self, form: np.dtype[Any]) -> DeviceArray:
        """Make the table of ids' positions; return the ids by number, ghosts last, or None without gaps."""
        xp, present = device().xp, self._present
        index = number_dtype(self._length)
        self._table = xp.empty(present.span, index)
        self._table[self._owned_places] = self._positions
        ghosts = self._ghost_places[self._order]
        self._table[ghosts] = xp.arange(self._owned, self._length, dtype=index)
        del self._order, ghosts
        ids = None
        if present.size < present.span or present.low:
            wide = xp.concatenate([self._owned_places, self._ghost_places])
            wide += present.low
            ids = wide.astype(form)
            del wide
        del self._owned_places, self._ghost_places
        return ids

    def fill_rows(
        self, values: dict[str, DeviceArray], ids: DeviceArray
    ) -> tuple[VertexOrder, DeviceArray, dict[str, DeviceArray], int]:
        """Send, group and drop the arcs, round by round.

        Parameters
        ----------
        values : dict of str to device array
            Emptied.
        ids : device array, or None
            What `place_ids` has returned.

        Returns
        -------
        vertex_order : VertexOrder
        indices, values, pairs
            See `fill_rounds`.
        """
        indices, moved, pairs = fill_rounds(
            self._shuffle, self._offsets, self._ranges, self._table, self._arcs, self._length,
            values, directed=self._directed,
        )  # fmt: skip
        values.clear()
        ghosts = self._remote
        if ids is not None:  # in eight bytes, since a difference may not fit the ids' own dtype
            wide = ids[self._owned :]
            wide = wide if wide.dtype.itemsize == 8 else wide.astype(np.int64)
            ghosts = (wide - self._present.low).astype(np.int64)
            del wide
        vertex_order = _with_ghosts(self._positions, self._table[ghosts], self._offsets)
        del self._table, self._shuffle, self._offsets
        return vertex_order, indices, moved, pairs

    def place_boundaries(self) -> Placement:
        """Return where vertices are, and which others have as ghosts."""
        # Exchanged a second time, so that it takes no memory during the rounds.
        boundaries, laid_boundaries = self._find_boundaries()
        for boundary in laid_boundaries:
            boundary.sort()
        remote = self._remote
        numbers = device().xp.arange(self._first, self._last, dtype=remote.dtype)
        numbers = device().xp.concatenate([numbers, remote])
        del self._remote, self._positions
        return Placement(numbers, self._bounds, boundaries, laid_boundaries)

    def _find_boundaries(self) -> tuple[list[DeviceArray], list[DeviceArray]]:
        return _find_boundaries(
            self._comm, self._remote, self._ghosts, self._positions, self._first
        )


def _own_degrees(
    ends: Sequence[tuple[DeviceArray, DeviceArray]],
    present: PresentIds,
    rows: int,
    places: DeviceArray,
    *,
    loops: bool,
    directed: bool,
) -> DeviceArray:
    """Return how many of this rank's arcs lead to each vertex; `rows` counts those of all ranks."""
    gpu = device()
    counts = gpu.xp.zeros(present.span, number_dtype(2 * rows))
    for sources, destinations in ends:
        add_degrees(gpu, destinations, sources, int(loops), present.low, counts)
        if not directed:
            add_degrees(gpu, sources, destinations, 0, present.low, counts)
    return counts if places is None else gpu.xp.take(counts, places)


def _bucket_sums(comm: Communicator, degrees: DeviceArray) -> npt.NDArray[np.int64]:
    """Add up degrees by the ranges of `bucket_starts`."""
    xp, starts = device().xp, bucket_starts(comm, len(degrees))
    if len(starts) == len(degrees) + 1:
        return as_host(degrees).astype(np.int64)
    sums = xp.cumsum(degrees, dtype=np.int64)
    before: npt.NDArray[np.int64] = as_host(sums[xp.asarray(starts[1:] - 1)])
    return np.diff(before, prepend=0)


def _sum_degrees(
    comm: Communicator, degrees: DeviceArray, cuts: npt.NDArray[np.int64]
) -> DeviceArray:
    """Sum the degrees of owned vertices over all ranks.  Collective."""
    received = comm.alltoall([[degrees[first:last]] for first, last in pairwise(cuts.tolist())])
    # a copy, so that the degrees of other ranks' vertices can be freed
    sums = received[0][0].copy()
    for (counts,) in received[1:]:
        sums += counts
    return sums


def _find_boundaries(
    comm: Communicator,
    remote: DeviceArray,
    ghosts: Sequence[tuple[int, int]],
    positions: DeviceArray,
    first: int,
) -> tuple[list[DeviceArray], list[DeviceArray]]:
    """Return which owned vertices each rank has as ghosts, by number and by position.  Collective.

    Parameters
    ----------
    comm : Communicator
    remote : device array of int32 or int64
        The numbers of this rank's ghosts, ascending.
    ghosts : sequence of (int, int)
        The range of them that each rank owns.
    positions : device array, shape (owned,)
        Positions of the owned vertices, which are numbered from `first` on.
    first : int
        The least number of an owned vertex.

    Returns
    -------
    boundaries, laid_boundaries : list of device array
        Numbers less `first`; positions of the same vertices, in the shard's index dtype.
    """
    xp, index = device().xp, number_dtype(len(positions) + len(remote))
    asked = comm.alltoall([[remote[begin:end]] for begin, end in ghosts])
    boundaries = [numbers - first for (numbers,) in asked]
    return boundaries, [xp.take(positions, numbers).astype(index) for numbers in boundaries]


def _with_ghosts(positions: DeviceArray, ghosts: DeviceArray, offsets: DeviceArray) -> VertexOrder:
    """Append ghosts to the owned vertices' layout, at given positions, with empty rows."""
    owned, length = len(positions), len(positions) + len(ghosts)
    xp, index = device().xp, number_dtype(length)
    placed = xp.empty(length, index)
    placed[:owned], placed[owned:] = positions, ghosts
    numbers = xp.empty(length, index)
    numbers[placed] = xp.arange(length, dtype=index)
    starts = xp.empty(length + 1, np.int64)
    starts[: owned + 1] = offsets
    starts[owned + 1 :] = offsets[-1]
    return VertexOrder(numbers, placed, starts)
