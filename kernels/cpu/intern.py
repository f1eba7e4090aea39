"""Assign codes to distinct integers: open addressing with linear probing, one table for each part.

Values are divided into parts so that threads need no locks: integers by ranges, text (`text`) by
hash.  Every kernel call reads all rows of a block and takes those of its part.  Code `parts * k +
part` stands for the k-th distinct value of a part, in the order of first occurrence.  The number of
slots of a table is a power of two, and the caller keeps a third of them empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = [
    "divide_pairs",
    "intern_integers",
    "mark_used",
    "place_codes",
    "rank_codes",
    "translate",
]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@jit
def place_codes(hashes: Int64, first: int, table: Int32) -> None:
    """Insert distinct integers with the given hashes; their codes are consecutive from `first`."""
    mask = len(table) - 1
    for place in range(len(hashes)):
        slot = hashes[place] & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = first + place


@jit
def intern_integers(
    keys: Int64,
    hashes: Int64,
    low: int,
    high: int,
    part: int,
    parts: int,
    table: Int32,
    distinct: Int64,
    state: Int64,
    codes: Any,
    own: Int32,
) -> None:
    """Write the codes of the keys from `low` to `high`, inclusive; append new ones to `distinct`.

    `state` has the number of distinct keys, and the row to begin with.  At the end the latter is
    the number of rows, or the first row for which there was no room.  `own` is scratch for all
    rows: those of the part are listed in it first, which avoids an unpredictable branch.
    """
    mask = len(table) - 1
    count = state[0]
    room = min(len(distinct), 2 * len(table) // 3)
    rows = 0
    for row in range(state[1], len(keys)):
        own[rows] = row
        rows += (keys[row] >= low) & (keys[row] <= high)
    stopped = len(keys)
    for place in range(rows):
        row = own[place]
        key = keys[row]
        slot = hashes[row] & mask
        code = table[slot]
        while code >= 0 and distinct[code] != key:
            slot = (slot + 1) & mask
            code = table[slot]
        if code < 0:
            if count == room:
                stopped = row
                break
            code = count
            table[slot] = code
            distinct[code] = key
            count += 1
        codes[row] = parts * code + part
    state[0] = count
    state[1] = stopped


@jit
def divide_pairs(
    keys: Int64,
    codes: Int32,
    first: int,
    last: int,
    shift: int,
    base: int,
    ends: Int64,
    free: Int64,
) -> None:
    """Sort the keys `first` to `last - 1` by one digit, `(key >> shift) - base`, in place.

    An American flag sort; codes are moved along.  `ends` is zero for every digit at first, and
    becomes the end of its keys.  Each key is moved once, to the next `free` place of its digit; the
    key that was there is moved next.
    """
    for place in range(first, last):
        ends[(keys[place] >> shift) - base] += 1
    at = first
    for digit in range(len(ends)):
        free[digit] = at
        at += ends[digit]
        ends[digit] = at
    for digit in range(len(ends)):
        while free[digit] < ends[digit]:
            home = free[digit]
            key = keys[home]
            code = codes[home]
            its = (key >> shift) - base
            while its != digit:
                place = free[its]
                free[its] += 1
                moved_key = keys[place]
                keys[place] = key
                key = moved_key
                moved = codes[place]
                codes[place] = code
                code = moved
                its = (key >> shift) - base
            keys[home] = key
            codes[home] = code
            free[digit] += 1


@jit
def mark_used(indices: Any, used: npt.NDArray[np.bool_]) -> None:
    """Set `used` for every index that occurs."""
    for row in range(len(indices)):
        used[indices[row]] = True


@jit
def translate(indices: Any, known: Int32, codes: Any) -> None:
    """Write the code of every index, read from `known`."""
    for row in range(len(indices)):
        codes[row] = known[indices[row]]


@jit
def rank_codes(codes: Any, ranks: Any, least: int, lo: int, hi: int) -> None:
    """Replace `codes[lo:hi]` by their ranks; `ranks[0]` is the rank of the code `least`."""
    for row in range(lo, hi):
        codes[row] = ranks[codes[row] - least]
