"""Group arcs by row on the device in buckets that a block sorts in its shared memory.

It moves a third of the bytes that sorting 64-bit keys part by part does (`grouping`), and takes more
memory; so it serves graphs that are worth its launches and for which there is room.  The rows are
the same.  See `docs/decisions/037`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.backends.cuda.grouping import bits_for, number_dtype, run
from cugraph_ws.kernels.cuda.layout import CURSOR, LOCAL_BITS, RUN_BITS
from cugraph_ws.runtime.device import Device

__all__ = ["Filled", "fill_rows", "is_served"]

DeviceArray = Any  # CuPy's or NumPy's

BLOCK = 512
SPAN = 1 << 12  # places of a bucket
TILE = 1 << 12  # arcs that a block spreads at a time
MOST_BINS = 1 << 9  # buckets that arcs are spread over at once
LEAST_ARCS = 1 << 20  # fewer are not worth the launches
# Rows up to these lengths are sorted by launches of their own, with the shared memory that they need
LENGTHS = (1 << RUN_BITS, 1 << 8, 1 << 10, 1 << 12)
WORK = 16  # bytes a slot: keys before and after they are spread again
SORTED = 8  # bytes a slot, of rows that no bucket holds
KEY_BITS = 63


class Filled(NamedTuple):
    """Rows of neighbours.

    Attributes
    ----------
    indices : device array, shape (arcs,)
        The rows' neighbours, ascending in each row.
    order : device array or None
        The edge of each arc, if it is kept and no value is moved along.
    values : device array or None
        The value of each arc, if it is moved along.
    """

    indices: DeviceArray
    order: DeviceArray
    values: DeviceArray


def is_served(device: Device, slots: int, size: int, keep: bool, value_bytes: int) -> bool:
    """Return whether arcs are grouped in buckets.

    Parameters
    ----------
    device : Device
    slots : int
        Arcs, or places for them.
    size : int
        Number of vertices.
    keep : bool
        Whether arcs take their edge along.
    value_bytes : int
        Bytes of the value that each arc also takes along; 0 if none.

    Returns
    -------
    bool
        If there are arcs enough, their places and vertices have 31 bits, a block can sort a bucket, and
        memory is free: 28 bytes a slot and 12 a vertex; three times 4 a slot more to keep edges, and
        as often the bytes of a value.
    """
    if not LEAST_ARCS <= slots <= SPAN * MOST_BINS * MOST_BINS:
        return False
    if number_dtype(max(slots, size)).itemsize > 4:
        return False
    if bits_for(slots) + bits_for(size) > KEY_BITS or _longest(device, keep) < LENGTHS[0]:
        return False
    each = WORK + SORTED + 4 + 3 * ((4 if keep else 0) + value_bytes)
    return bool(each * slots + 12 * size <= device.free_memory())


def _room(length: int, keep: bool) -> tuple[int, int, int]:
    """Return what a bucket with rows up to a length takes in shared memory.

    Returns
    -------
    most : int
        The most arcs of a bucket, rounded up.
    room : int
        As many, if rows are merged; else 0.
    shared : int
        Bytes.
    """
    most = -(-(SPAN + length) // 8) * 8
    room = most if length > LENGTHS[0] else 0
    return most, room, 4 * SPAN + 2 * most + (8 if keep else 4) * (most + room)


def _longest(device: Device, keep: bool) -> int:
    """Return the most arcs of a row that a bucket can hold besides its span; a multiple of 8."""
    each = 2 + 2 * (8 if keep else 4)
    most = int(device.shared_memory - 4 * SPAN) // each // 8 * 8
    return int(min(most, 1 << LOCAL_BITS)) - SPAN


def fill_rows(
    device: Device,
    columns: tuple[DeviceArray, DeviceArray],
    offsets: DeviceArray,
    positions: DeviceArray,
    size: int,
    *,
    low: int,
    both: bool,
    keep: bool,
    values: list[DeviceArray],
) -> Filled:
    """Write every row's neighbours, ascending; parallel edges stay in input order.

    Parameters
    ----------
    device : Device
    columns : tuple of two device arrays of int32 or int64, shape (edges,)
        Destinations and sources.
    offsets : device array of int64, shape (size + 1,)
        Where each row starts; rows get shorter.
    positions : device array of int32
        The position of each integer from `low` on.
    size : int
        Number of vertices.
    low : int
    both : bool
        Whether an edge goes into the rows of both of its ends; a self-loop goes into one.
    keep : bool
        Whether to return which edge each arc comes from, or to move the value along.
    values : list of at most one device array, shape (edges,)
        With `keep`: values of the edges, which leave the list.

    Returns
    -------
    Filled
    """
    xp = device.xp
    carry = bool(values)
    slots = len(columns[0]) << int(both)
    kind = values[0].dtype if carry else np.dtype(np.int32)
    bits = np.int32 if kind.itemsize == 4 else np.int64  # of a value, whatever it means
    carried = values.pop().view(bits) if carry else xp.empty(1, bits)
    longest = _longest(device, keep)
    lengths = [limit for limit in LENGTHS if limit < longest] + [longest]
    firsts, arcs = _classes(device, offsets, size, lengths)
    source_bits, buckets = bits_for(size), -(-arcs // SPAN)
    begins = xp.empty(buckets + 1, np.int64)
    ruled = (offsets, size, SPAN, buckets, begins)
    run(device, "find_begins", buckets + 1, *ruled, module="arc_buckets")

    def room_for(count: int) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        return (
            xp.empty(count, np.int64),
            xp.empty(count if keep else 1, np.int32),
            xp.empty(count if carry else 1, bits),
        )

    group = 1 << (bits_for(buckets) + 1) // 2 if buckets > MOST_BINS else 1
    coarse = -(-buckets // group)
    shift = source_bits + bits_for(SPAN)
    starts = xp.take(offsets, positions).astype(np.int32)
    cursors = xp.zeros(CURSOR * coarse, np.int64)
    cursors[::CURSOR] = begins[:-1:group]
    spread = room_for(arcs)
    module = device.module("arc_buckets")
    step = bits_for(group) if group > 1 else 0
    module.launch(
        "spread_columns", _blocks(device, -(-slots // TILE)), BLOCK, columns, int(both), slots, low,
        starts, positions, source_bits, shift + step, coarse, CURSOR, TILE, cursors, carried,
        int(keep), int(carry), spread, shared=12 * (TILE + coarse),
    )  # fmt: skip
    del starts, cursors, carried
    if group > 1:
        tiles = xp.zeros(coarse + 1, np.int64)
        sizes = xp.diff(xp.append(begins[:-1:group], begins[-1:]))
        xp.cumsum(-(-sizes // TILE), out=tiles[1:])
        again = room_for(arcs)
        module.launch(
            "spread_keys", _blocks(device, -(-arcs // TILE) + coarse), BLOCK, spread, begins,
            buckets, group, tiles, coarse, shift, TILE, begins.copy(), int(keep), int(carry),
            again, shared=12 * (TILE + group),
        )  # fmt: skip
        spread = again
        del again, tiles, sizes
    filled = Filled(
        xp.empty(arcs, np.int32),
        xp.empty(arcs if keep and not carry else 1, np.int32),
        xp.empty(arcs if carry else 1, bits),
    )
    ruler = _Ruler(begins, firsts, lengths, source_bits)
    _sort_buckets(device, spread, ruler, filled, both=both, keep=keep, carry=carry)
    if carry:
        return Filled(filled.indices, None, filled.values.view(kind))
    return Filled(filled.indices, filled.order if keep else None, None)


class _Ruler(NamedTuple):
    """Where the buckets of sorted keys begin, and the classes of buckets.

    Attributes
    ----------
    begins : device array of int64, shape (buckets + 1,)
        Where each bucket begins.
    firsts : list of int
        The first bucket without a row above each length, longest first; and the end.
    lengths : list of int
        The longest row of each class, ascending.
    source_bits : int
        Bits of a neighbour in a key.
    """

    begins: DeviceArray
    firsts: list[int]
    lengths: list[int]
    source_bits: int


def _sort_buckets(
    device: Device,
    spread: tuple[DeviceArray, DeviceArray, DeviceArray],
    ruler: _Ruler,
    filled: Filled,
    *,
    both: bool,
    keep: bool,
    carry: bool,
) -> None:
    """Sort the keys of each bucket in shared memory, and write the rows."""
    (keys, order, carried), (begins, firsts, _, source_bits) = spread, ruler
    module = device.module("arc_buckets")
    # Rows get shorter, so the longest come first; the class before has those longer still
    for length, first, last in zip(ruler.lengths[::-1], firsts, firsts[1:], strict=False):
        if first == last:
            continue
        most, room, shared = _room(length, keep)
        grid = _blocks(device, last - first)
        if keep:
            module.launch(
                "sort_kept_buckets", grid, BLOCK, spread, begins, first, last, source_bits, SPAN,
                most, room, int(both), int(carry), filled, shared=shared,
            )  # fmt: skip
        else:
            module.launch(
                "sort_buckets", grid, BLOCK, keys, begins, first, last, source_bits, SPAN, most,
                room, filled.indices, shared=shared,
            )  # fmt: skip
    if firsts[0]:
        end = int(device.to_host(begins[firsts[0] : firsts[0] + 1])[0])
        longest_rows = keys[:end], order[:end] if keep else None, carried[:end] if carry else None
        _sort_long(device, longest_rows, source_bits, int(both), filled)


def _sort_long(
    device: Device,
    spread: tuple[DeviceArray, DeviceArray, DeviceArray],
    source_bits: int,
    both: int,
    filled: Filled,
) -> None:
    """Sort the first rows, of which some are longer than a bucket."""
    xp, (keys, order, values) = device.xp, spread
    count = len(keys)
    if order is None:
        keys.sort()
    else:
        turns = xp.argsort(order, kind="stable")
        turns = turns[xp.argsort(keys[turns], kind="stable")]
        keys = keys[turns]
        if values is not None:
            filled.values[:count] = values[turns]
        else:
            filled.order[:count] = order[turns] >> both
    run(device, "take_low", count, keys, count, source_bits, filled.indices[:count])


def _classes(
    device: Device, offsets: DeviceArray, size: int, lengths: list[int]
) -> tuple[list[int], int]:
    """Return the first bucket without a row above each length, longest first; its end; the arcs."""
    xp, count = device.xp, len(lengths)
    least = xp.asarray(np.array(lengths[::-1], np.int64) + 1)
    rows = xp.empty(count, np.int64)
    run(device, "find_degrees", count, offsets, size, least, count, rows)
    starts = device.to_host(xp.append(offsets[rows], offsets[-1:])).tolist()
    return [-(-start // SPAN) for start in starts], starts[-1]


def _blocks(device: Device, tasks: int) -> int:
    """Return the blocks of a grid in which each takes a task at a time."""
    return device.blocks_for(tasks, 1)
