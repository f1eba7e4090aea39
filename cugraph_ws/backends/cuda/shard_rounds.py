"""Fill a shard's rows in rounds: the arcs into one range of every rank's rows are sent, grouped and dropped.

What a round takes is in the table of `shard_build`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.grouping import Grouping, number_dtype, part_size, run
from cugraph_ws.backends.cuda.memory import DeviceEstimate
from cugraph_ws.backends.cuda.rows import Rows
from cugraph_ws.backends.cuda.shuffle import DeviceShuffle, kind_dtype
from cugraph_ws.runtime.arrays import as_host, count_true, read_scalars
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import device

__all__ = ["estimate_rounds", "fill_rounds", "kinds_of_arcs", "round_ranges"]

DeviceArray = Any  # CuPy's or NumPy's


def round_ranges(offsets: DeviceArray, rounds: int) -> tuple[list[tuple[int, int]], int]:
    """Split this rank's rows into ranges with about the same number of arcs.

    Returns
    -------
    ranges : list of (int, int)
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


def kinds_of_arcs(
    comm: Communicator,
    positions: DeviceArray,
    ranges: Sequence[tuple[int, int]],
    places: DeviceArray,
    span: int,
) -> DeviceArray:
    """Return the kind of arcs to each id; see `DeviceShuffle.mark_kinds`.  Collective."""
    xp, rounds = device().xp, len(ranges) - 1
    dtype = kind_dtype(rounds * comm.size)
    owned_kinds = xp.zeros(len(positions), dtype)
    for row, _ in ranges[1:-1]:
        owned_kinds += positions >= row
    owned_kinds *= comm.size
    owned_kinds += comm.rank
    by_number = xp.concatenate([kinds for (kinds,) in comm.alltoall([[owned_kinds]] * comm.size)])
    if places is None:
        return by_number
    kinds = xp.zeros(span, dtype)
    kinds[places] = by_number
    return kinds


def estimate_rounds(
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
    most_sent, most = shuffle.sent, max(shuffle.coming)
    numbering, offsets = 2 * index * length, 8 * (length + 1)
    row_bytes = (index + value_bytes) * arcs
    # what is sent, or the keys; what is received; and the part that is being sorted
    room, part = 2 * end * (max(most, most_sent) + most), part_size(most)
    room += 0 if directed else most  # a byte for the direction of each arc
    beside = 8 * part
    if value_bytes:
        listed = number_dtype(most).itemsize
        # values are sent one column at a time
        sending = (number_dtype(arcs).itemsize + 8) * most_sent
        beside = value_bytes * most + max(sending, listed * most + 16 * part)
    return DeviceEstimate(
        numbering=numbering,
        csc=offsets + index * arcs,
        csr=offsets + index * arcs + (number_dtype(arcs).itemsize * arcs if value_bytes else 0),
        values=value_bytes * arcs,
        peak=row_bytes + max(index * span + room + beside, numbering + offsets),
    )


def fill_rounds(
    shuffle: DeviceShuffle,
    offsets: DeviceArray,
    ranges: Sequence[tuple[int, int]],
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
    ranges : sequence of (int, int)
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
    for turn, ((row, arc), (last_row, last_arc)) in enumerate(pairwise(ranges)):
        ends = arriving[0, : last_arc - arc], arriving[1, : last_arc - arc]
        received = shuffle.send(turn, values, (leaving[0], leaving[1]), ends)
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
            for name in list(received):
                values_received, target = received.pop(name), moved[name][place]
                run(gpu, "gather", len(order), values_received, order, len(order), target)
                del values_received
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
    repeats = gpu.xp.zeros(1, np.int64)
    run(gpu, "find_repeats", arcs, rows.offsets, len(rows.offsets) - 1, rows.indices, arcs, repeats)
    if not int(gpu.to_host(repeats)[0]):
        return 0
    ways_given = room[: 2 * arcs]
    ways_given.fill(0)
    run(
        gpu, "mark_given", arcs, *ends, ways, arcs, table, first_row, *rows, ways_given, module="split"
    )  # fmt: skip
    return count_true((ways_given[::2] & ways_given[1::2]).view(np.bool_))
