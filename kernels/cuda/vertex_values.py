"""Numbers that are given for vertices, each written to the place of its vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_once,
    store_fresh,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = ["place_values"]

OUTSIDE, UNKNOWN, NANS = 0, 1, 2  # places among the counts


@inline
def place_from(guess: Any, wanted: Any, ids: Any, size: Any) -> Any:
    """Return where an id is among ascending ones, −1 if nowhere; `guess` is read first, if it is a place."""
    place = np.int64(-1)
    if guess >= 0 and guess < size and np.int64(ids[max(guess, 0)]) == wanted:
        place = np.int64(guess)
    else:
        low, high = np.int64(0), np.int64(size)
        while low < high:
            middle = np.int64((low + high) >> 1)
            if np.int64(ids[middle]) < wanted:
                low = np.int64(middle + 1)
            else:
                high = middle
        if low < size and np.int64(ids[low]) == wanted:
            place = low
    return place


@kernel
def place_values(
    wanted: Any, rows: Any, low: Any, least: Any, most: Any, ids: Any, size: Any, bits: Any,
    sign: Any, infinity: Any, placed: Any, is_given: Any, counts: Any,
) -> None:  # fmt: skip
    """Write each row's number to the place of the vertex whose id it has, and mark that place.

    Rows are expected in the order of the places, as in the result of an earlier run: the places after that of
    the first row's id are read before a row's id is searched.  If several rows have one id, one of them counts.

    Parameters
    ----------
    wanted : int[rows]
        The ids, less `low`.
    rows, low : int
    least, most : int
        The least and the greatest id that has a place.
    ids : int[size]
        The ids by place, ascending; not read if all from `least` to `most` are ids.
    size : int
    bits : uint[rows]
        The numbers' bits.
    sign, infinity : uint64
        The sign bit, and the bits of infinity, so that NaN can be told; for integers 0 and all bits.
    placed : uint[size]
        Numbers by place, written.
    is_given : uint8[size]
        Set to 1 where a number is written.
    counts : int64[3]
        Added to: rows with ids not between `least` and `most`, rows with other ids without a place, and
        rows whose number is NaN.
    """
    dense = most - least == size - 1
    shift = np.int64(0)
    first = low + np.int64(wanted[0])
    if not dense and first >= least and first <= most:
        shift = max(place_from(np.int64(0), first, ids, size), np.int64(0))
    outside, unknown, nans = np.int64(0), np.int64(0), np.int64(0)
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        named = low + np.int64(load_once(wanted, row))
        number = load_once(bits, row)
        if (np.uint64(number) & ~np.uint64(sign)) > np.uint64(infinity):
            nans += 1
        if named < least or named > most:
            outside += 1
        else:
            place = named - least
            if not dense:
                place = place_from(shift + row, named, ids, size)
            if place < 0:
                unknown += 1
            else:
                store_fresh(placed, place, number)
                store_fresh(is_given, place, np.uint8(1))
    outside, unknown, nans = sum_of_lanes(outside), sum_of_lanes(unknown), sum_of_lanes(nans)
    if lane() == 0:
        if outside > 0:
            atomic_add(counts, OUTSIDE, outside)
        if unknown > 0:
            atomic_add(counts, UNKNOWN, unknown)
        if nans > 0:
            atomic_add(counts, NANS, nans)
