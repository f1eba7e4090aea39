"""Build the shards of a graph from frames on GPUs, without copies to the host.

The ids of the edges must be integers that nearly fill a range, and there must be no frame of
vertices.  Parallel edges are allowed.  All other graphs are built over the host by `build_shard`.

Arcs are sent as pairs of ids less the least id.  Ids become positions where the arcs are grouped.
So the layout is made first, from in-degrees that are summed over ranks.  Then rows are filled in R
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
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.types as pt

from cugraph_ws.backends.cuda.graph import DeviceGraph
from cugraph_ws.backends.cuda.grouping import Grouping, check_order, number_dtype, part_size, run
from cugraph_ws.backends.cuda.memory import DeviceEstimate, check_device_memory
from cugraph_ws.backends.cuda.numbering import read_scalars, signed
from cugraph_ws.backends.cuda.rows import Layout, Rows, add_degrees, place_vertices
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.backends.cuda.shard_vertices import DeviceShardVertices
from cugraph_ws.backends.cuda.shuffle import MOST_KINDS, DeviceShuffle, kind_dtype, words_for
from cugraph_ws.errors import InputError
from cugraph_ws.frames.ids import IdType
from cugraph_ws.partition import id_encoding
from cugraph_ws.partition.ghosts import order_ghosts
from cugraph_ws.partition.partitioned_frame import Parts
from cugraph_ws.partition.range_offsets import bucket_starts, cuts_of_buckets
from cugraph_ws.runtime.arrays import as_host, count_on_device, count_true
from cugraph_ws.runtime.communicator import Communicator, attempt, total
from cugraph_ws.runtime.device import device

__all__ = ["PresentOnDevices", "are_integers", "build_on_devices", "find_present"]

DeviceArray = Any  # CuPy's or NumPy's

ROUNDS = 4
LEAST_ROUND = 1 << 22  # arcs; smaller rounds are not worth their launches


@dataclass
class PresentOnDevices:
    """Which integers of a range are ids; their numbers are in their order.

    Attributes
    ----------
    low : int
        The least id.
    span : int
        Number of integers in the range.
    size : int
        Number of distinct ids.
    present : device array of bool, shape (span,), optional
        Whether low + i is an id; without it, all are.
    """

    low: int
    span: int
    size: int
    present: DeviceArray = None

    def places(self) -> DeviceArray:
        """Return the ids, less `low`, by number; int64, shape (size,), or None if all are there."""
        return None if self.present is None else device().xp.flatnonzero(self.present)

    def numbers(self, places: DeviceArray) -> DeviceArray:
        """Return the numbers of ids.

        Parameters
        ----------
        places : device array of int64
            Ids less `low`.

        Returns
        -------
        device array of int32 or int64
        """
        index = number_dtype(self.size)
        if self.present is None:
            return places.astype(index)
        return device().xp.cumsum(self.present, dtype=index)[places] - 1


def are_integers(comm: Communicator, parts: Parts, names: tuple[list[str], list[str]]) -> bool:
    """Return whether the ids of all ranks' edges are single integers.  Collective.

    Parameters
    ----------
    comm : Communicator
    parts : Parts
    names : pair of list of str
        The id columns.
    """
    single = all(len(one) == 1 for one in names)
    try:
        own = single and all(
            pt.is_integer(part.column(name, argument).arrow_type)
            for part in parts.own
            for (name,), argument in zip(names, ("source", "destination"), strict=True)
        )
    except InputError:  # raised again, with its reason, when the columns are read
        own = False
    return all(comm.allgather(own))


def find_present(
    comm: Communicator, columns: Sequence[DeviceArray], dense_up_to: int, *, natural: bool = False
) -> PresentOnDevices | None:
    """Find the integers that occur on any rank.  Collective.

    Each rank marks its ids in a bitmap over the range, and sends it to all ranks.

    Parameters
    ----------
    comm : Communicator
    columns : sequence of device array of int32, uint32 or int64
        The id columns of this rank; may be empty.
    dense_up_to : int
        Largest range to number this way, the same on all ranks.
    natural : bool
        Whether negative values stand for unsigned ids above int64.

    Returns
    -------
    PresentOnDevices or None
        None, on all ranks, if the range is larger, or an id is above int64.
    """
    gpu = device()
    xp, limits = gpu.xp, np.iinfo(np.int64)
    filled = [column for column in columns if len(column)]
    range_here = xp.asarray(np.array([limits.max, limits.min]))
    for column in filled:
        run(gpu, "find_range", len(column), column, len(column), range_here, module="split")
    ends = gpu.to_host(range_here).tolist() if filled else []
    shown = [one for one in comm.allgather(ends) if one]
    if not shown:
        return PresentOnDevices(0, 0, 0)
    low, high = min(one[0] for one in shown), max(one[1] for one in shown)
    span = high - low + 1
    if span > max(dense_up_to, 1) or (natural and low < 0):
        return None
    bits = xp.zeros(words_for(span), np.uint32)
    for column in filled:
        run(gpu, "mark_bits", len(column), column, low, len(column), bits, module="split")
    came = comm.alltoall([[bits]] * comm.size)
    present = _unpack_bits(_any_set([one for (one,) in came]), span)
    del bits, came
    size = count_true(present)
    return PresentOnDevices(low, span, int(size), None if size == span else present)


def build_on_devices(
    comm: Communicator,
    parts: Parts,
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
    parts : Parts
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
    xp, form = device().xp, id_encoding.form_of(kind)
    if form.itemsize < 4:  # the dtype of ids on the device; results get the original dtype
        form = np.dtype(np.int32)
    if form == np.uint32:  # kernels compute with int64; a copy would be as long as all rows
        own = [xp.ascontiguousarray(one, dtype=form) for one in columns]
    else:
        read_as = np.dtype(np.int64 if form.itemsize == 8 else np.int32)
        own = [signed(one, read_as) for one in columns]
    dense = 8 * parts.rows // comm.size + (1 << 20)
    there = find_present(comm, own, dense, natural=form == np.uint64)
    if there is None:
        return None
    count = len(parts.own)
    ends = list(zip(own[:count], own[count:], strict=True))
    loops = None
    if self_loops != "keep":
        met = [count_on_device(sources == destinations) for sources, destinations in ends]
        loops = total(comm, sum(read_scalars(*met)) if met else 0)
        if loops and self_loops == "error":
            return None
    keep, low = self_loops == "keep", there.low
    places = there.places()
    degrees = [_own_degrees(ends, there, parts.rows, places, loops=keep, directed=directed)]
    cuts = cuts_of_buckets(comm, there.size, _bucket_sums(comm, degrees[0]), weights)
    first, last = (int(one) for one in cuts[comm.rank : comm.rank + 2])
    owned = last - first
    degrees.append(_sum_degrees(comm, degrees.pop(), cuts))
    _, positions, offsets = place_vertices(device(), degrees, owned)

    rounds = max(
        1, min(ROUNDS, parts.rows // comm.size // LEAST_ROUND, (MOST_KINDS - 1) // comm.size)
    )
    goals, arcs = _round_ranges(offsets, rounds)
    shuffle = DeviceShuffle(
        comm, ends, [part.place[0] for part in parts.own], low, there.span,
        rounds=rounds, loops=keep, directed=directed,
    )  # fmt: skip
    kinds = _kinds(comm, positions, goals, places, there.span)
    marks = shuffle.mark_kinds(kinds)
    del kinds
    came = comm.alltoall(
        [
            [bits, announced, np.array([arcs])]
            for bits, announced in zip(marks, shuffle.announcements(), strict=True)
        ]
    )
    del marks
    shuffle.expect([one[1] for one in came])
    all_arcs = sum(int(one[2][0]) for one in came)
    borders = cuts if places is None else as_host(xp.append(places, there.span)[xp.asarray(cuts)])
    sources = _unpack_bits(_any_set([one[0] for one in came]), there.span)
    del came
    sources[int(borders[comm.rank]) : int(borders[comm.rank + 1])] = False
    outside = xp.flatnonzero(sources)
    del sources
    own_places = xp.arange(first, last) if places is None else places[first:last].copy()
    del places
    remote = there.numbers(outside)
    there.present = None
    length = owned + len(outside)
    index = number_dtype(length)
    bounds = as_host(xp.searchsorted(remote, xp.asarray(cuts, remote.dtype)))
    ghosts = list(pairwise(bounds.tolist()))
    order = order_ghosts(comm, ghosts, _find_boundaries(comm, remote, ghosts, positions, first)[1])
    value_bytes = sum(column.dtype.itemsize for column in values.values())
    needed = _estimate(shuffle, arcs, owned, length, there.span, value_bytes, directed=directed)
    most = max(shuffle.coming)

    def check() -> None:
        check_device_memory(needed)
        if values:
            check_order(most, length)

    attempt(comm, check)
    table = xp.empty(there.span, index)
    table[own_places] = positions
    table[outside[order]] = xp.arange(owned, length, dtype=index)
    del order
    ids = None
    if there.size < there.span or low:
        ids = (xp.concatenate([own_places, outside]) + low).astype(form)
    del own_places, outside
    indices, moved, pairs = _fill(
        shuffle, offsets, goals, table, arcs, length, values, directed=directed
    )
    values.clear()
    outside = remote
    if ids is not None:  # in eight bytes, since a difference may not fit the ids' own dtype
        wide = ids[owned:] if form.itemsize == 8 else ids[owned:].astype(np.int64)
        outside = (wide - low).astype(np.int64)
        del wide
    layout = _with_ghosts(positions, table[outside], offsets)
    del table, shuffle, outside, offsets
    # Exchanged a second time, so that it takes no memory during the rounds.
    held, sent = _find_boundaries(comm, remote, ghosts, positions, first)
    for boundary in sent:
        boundary.sort()
    numbers = xp.concatenate([xp.arange(first, last, dtype=remote.dtype), remote])
    del remote
    del positions
    device().trim()
    graph = DeviceGraph(
        device(), layout, indices, moved, undirected=False, names=tuple(moved), both_ways=pairs
    )
    return DeviceShard(
        comm,
        cuts,
        graph,
        numbers,
        bounds,
        held,
        sent,
        vertices=DeviceShardVertices(comm, names[0], kind, cuts, form, ids),
        kind=parts.kind_like(names[0][0]),
        names=names,
        weight=weight,
        directed=directed,
        number_of_edges=parts.rows - (loops or 0),
        number_of_arcs=all_arcs,
        loops=loops,
    )


def _own_degrees(
    ends: Sequence[tuple[DeviceArray, DeviceArray]],
    there: PresentOnDevices,
    rows: int,
    places: DeviceArray,
    *,
    loops: bool,
    directed: bool,
) -> DeviceArray:
    """Return how many of this rank's arcs lead to each vertex; `rows` counts those of all ranks."""
    gpu = device()
    counts = gpu.xp.zeros(there.span, number_dtype(2 * rows))
    for sources, destinations in ends:
        add_degrees(gpu, destinations, sources, int(loops), there.low, counts)
        if not directed:
            add_degrees(gpu, sources, destinations, 0, there.low, counts)
    return counts if places is None else gpu.xp.take(counts, places)


def _bucket_sums(comm: Communicator, degrees: DeviceArray) -> npt.NDArray[np.int64]:
    """Add up degrees by the ranges of `bucket_starts`."""
    xp, starts = device().xp, bucket_starts(comm, len(degrees))
    if len(starts) == len(degrees) + 1:
        return as_host(degrees).astype(np.int64)
    sums = xp.cumsum(degrees, dtype=np.int64)
    before: npt.NDArray[np.int64] = as_host(sums[xp.asarray(starts[1:] - 1)])
    return np.diff(before, prepend=0)


def _any_set(pieces: Sequence[DeviceArray]) -> DeviceArray:
    """Return the bits that are set in any of several arrays."""
    bits = pieces[0]
    for one in pieces[1:]:
        bits = bits | one
    return bits


def _unpack_bits(words: DeviceArray, count: int) -> DeviceArray:
    """Unpack the bits of 32-bit words, lowest first, into an array of bool."""
    xp = device().xp
    return xp.unpackbits(words.view(np.uint8), bitorder="little")[:count].view(np.bool_)


def _sum_degrees(
    comm: Communicator, degrees: DeviceArray, cuts: npt.NDArray[np.int64]
) -> DeviceArray:
    """Sum the degrees of owned vertices over all ranks.  Collective."""
    came = comm.alltoall([[degrees[first:last]] for first, last in pairwise(cuts.tolist())])
    # a copy, so that the degrees of other ranks' vertices can be freed
    found = came[0][0].copy()
    for (one,) in came[1:]:
        found += one
    return found


def _round_ranges(offsets: DeviceArray, rounds: int) -> tuple[list[tuple[int, int]], int]:
    """Split this rank's rows into ranges with about the same number of arcs.

    Returns
    -------
    goals : list of (int, int)
        The row and the arc at which each range starts, and the end.
    arcs : int
    """
    xp = device().xp
    arcs = int(read_scalars(offsets[-1])[0])
    wanted = xp.asarray(np.array([arcs * turn // rounds for turn in range(1, rounds)], np.int64))
    rows = xp.searchsorted(offsets, wanted)
    bounds = as_host(xp.stack([rows, offsets[rows]]))
    size = len(offsets) - 1
    return [(0, 0), *((int(row), int(arc)) for row, arc in bounds.T), (size, arcs)], arcs


def _kinds(
    comm: Communicator,
    positions: DeviceArray,
    goals: Sequence[tuple[int, int]],
    places: DeviceArray,
    span: int,
) -> DeviceArray:
    """Return the kind of arcs to each id; see `DeviceShuffle.mark_kinds`.  Collective."""
    xp, rounds = device().xp, len(goals) - 1
    dtype = kind_dtype(rounds * comm.size)
    own = xp.zeros(len(positions), dtype)
    for row, _ in goals[1:-1]:
        own += positions >= row
    own *= comm.size
    own += comm.rank
    by_number = xp.concatenate([one for (one,) in comm.alltoall([[own]] * comm.size)])
    if places is None:
        return by_number
    kinds = xp.zeros(span, dtype)
    kinds[places] = by_number
    return kinds


def _estimate(
    shuffle: DeviceShuffle,
    arcs: int,
    owned: int,
    length: int,
    span: int,
    value_bytes: int,
    *,
    directed: bool,
) -> DeviceEstimate:
    """Estimate how much more memory a shard will take, before the first round."""
    index, end = number_dtype(length).itemsize, number_dtype(span).itemsize
    sent, most = shuffle.sent, max(shuffle.coming)
    numbering, offsets = 2 * index * length, 8 * (length + 1)
    kept = (index + value_bytes) * arcs
    # what is sent, or the keys; what is received; and the part that is being sorted
    room, part = 2 * end * (max(most, sent) + most), part_size(most)
    room += 0 if directed else most  # a byte for the direction of each arc
    beside = 8 * part
    if value_bytes:
        listed = number_dtype(most).itemsize
        # values are sent one column at a time
        sending = (number_dtype(arcs).itemsize + 8) * sent
        beside = value_bytes * most + max(sending, listed * most + 16 * part)
    return DeviceEstimate(
        numbering=numbering,
        csc=offsets + index * arcs,
        csr=offsets + index * arcs + (number_dtype(arcs).itemsize * arcs if value_bytes else 0),
        values=value_bytes * arcs,
        peak=kept + max(index * span + room + beside, numbering + offsets),
    )


def _fill(
    shuffle: DeviceShuffle,
    offsets: DeviceArray,
    goals: Sequence[tuple[int, int]],
    table: DeviceArray,
    arcs: int,
    length: int,
    values: dict[str, DeviceArray],
    *,
    directed: bool,
) -> tuple[DeviceArray, dict[str, DeviceArray], int]:
    """Fill this rank's rows, range by range.  Collective.

    Parameters
    ----------
    shuffle : DeviceShuffle
    offsets : device array of int64, shape (owned + 1,)
    goals : sequence of (int, int)
        The row and the arc at which each range starts, and the end.
    table : device array
        The position of each id, indexed by the id less the least one.
    arcs, length : int
        Number of this rank's arcs; number of owned vertices and ghosts.
    values : dict of str to device array
        Edge columns of this rank's rows.
    directed : bool

    Returns
    -------
    indices : device array, shape (arcs,)
    values : dict of str to device array, each of shape (arcs,)
    pairs : int
        Pairs of vertices with edges given in both directions; the larger vertex is owned.
    """
    gpu, pairs = device(), 0
    xp = gpu.xp
    indices = xp.empty(arcs, number_dtype(length))
    moved = {name: xp.empty(arcs, column.dtype) for name, column in values.items()}
    # All rounds use the same memory, and the keys reuse the send buffer: to allocate and to free
    # memory is slow in the driver.
    most, end = max(shuffle.coming), number_dtype(len(table))
    longest = max(most, shuffle.sent)
    leaving, arriving = xp.empty((2, longest), end), xp.empty((2, most), end)
    ways = xp.empty(0 if directed else most, np.uint8)
    for turn, ((row, arc), (last_row, last_arc)) in enumerate(pairwise(goals)):
        ends = arriving[0, : last_arc - arc], arriving[1, : last_arc - arc]
        came = shuffle.send(turn, values, (leaving[0], leaving[1]), ends)
        if arc == last_arc:
            continue
        if not directed:
            run(gpu, "strip_marks", last_arc - arc, ends[1], last_arc - arc, ways, module="split")
        starts = offsets[row : last_row + 1] - arc
        # rounds=1: all arcs of this round are present, so they are grouped in one pass
        grouping = Grouping(
            gpu, ends, starts, last_row - row,
            positions=table, first_row=row, neighbours=length, rounds=1, room=leaving.ravel().view(np.int64),
        )  # fmt: skip
        place = slice(arc, last_arc)
        if values:
            order = xp.empty(last_arc - arc, number_dtype(last_arc - arc))
            grouping.fill_with_order(indices[place], order)
            for name in list(came):
                run(
                    gpu,
                    "gather",
                    len(order),
                    came.pop(name),
                    order,
                    len(order),
                    moved[name][place],
                )
            del order
        else:
            grouping.fill(indices[place])
        if not directed:
            rows = Rows(starts, indices[place])
            pairs += _count_both_ways(ends, ways, table, row, rows, leaving.ravel().view(np.uint8))
    return indices, moved, pairs


def _count_both_ways(
    ends: tuple[DeviceArray, DeviceArray],
    ways: DeviceArray,
    table: DeviceArray,
    first_row: int,
    rows: Rows,
    room: DeviceArray,
) -> int:
    """Count the pairs of vertices with edges given in both directions.  Not collective.

    Every arc is read once.  Only where arcs are repeated are the received arcs looked up in the
    rows.

    Parameters
    ----------
    ends : pair of device array, shape (arcs,)
        Destinations and sources of the arcs of some rows, as ids less the least.
    ways : device array of uint8
        1 where an arc is a reversed edge.
    table : device array
        The position of each id, indexed by the id less the least one.
    first_row : int
        The position of the first row.
    rows : Rows
    room : device array of uint8
        Scratch memory; at least two entries per arc.

    Returns
    -------
    int
        A pair is counted in the row of its larger vertex.
    """
    gpu, arcs = device(), len(rows.indices)
    found = gpu.xp.zeros(1, np.int64)
    run(gpu, "find_repeats", arcs, rows.offsets, len(rows.offsets) - 1, rows.indices, arcs, found)
    if not int(gpu.to_host(found)[0]):
        return 0
    given = room[: 2 * arcs]
    given.fill(0)
    run(gpu, "mark_given", arcs, *ends, ways, arcs, table, first_row, *rows, given, module="split")
    return count_true((given[::2] & given[1::2]).view(np.bool_))


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
    held, sent : list of device array
        Numbers less `first`; positions of the same vertices, in the shard's index dtype.
    """
    xp, index = device().xp, number_dtype(len(positions) + len(remote))
    came = comm.alltoall([[remote[one:other]] for one, other in ghosts])
    held = [wanted - first for (wanted,) in came]
    return held, [xp.take(positions, one).astype(index) for one in held]


def _with_ghosts(positions: DeviceArray, ghosts: DeviceArray, offsets: DeviceArray) -> Layout:
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
    return Layout(numbers, placed, starts)
