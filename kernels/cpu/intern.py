"""Distinct values to codes: open addressing with linear probing, one table for each part.

Values are divided into parts so that threads need no locks: integers by ranges, text by hash.  Every
kernel call reads all rows of a block and takes those of its own part.  Code `parts * k + part` stands
for the k-th distinct value of a part, in the order of first occurrence.  Tables have a power of two
of slots, and the caller keeps a third of them empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = [
    "divide_pairs",
    "hash_text",
    "intern_integers",
    "intern_text",
    "move_text",
    "place_codes",
]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@jit
def place_codes(hashes: Int64, first: int, table: Int32) -> None:
    """Enter the codes `first`, first + 1, … of distinct integers, whose hashes these are."""
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
    """Write the codes of the keys from `low` to `high`, both included; append new ones to `distinct`.

    `state` has the number of distinct keys, and the row to begin with: at the end, the number of rows,
    or the first one for which there was no more room.  `own` has room for all rows and one more: those
    of the part are listed first, without a branch that no processor could foresee.
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
    keys: Int64, codes: Int32, first: int, last: int, shift: int, base: int, ends: Int64
) -> None:
    """Put the keys `first` to `last - 1` in the order of their digits, `(key >> shift) - base`, in place.

    Codes go along.  `ends` is zero for every digit, and says at the end where its keys end.  Each key is
    moved once, to the next free place of its digit, and what was there is moved next.
    """
    for place in range(first, last):
        ends[(keys[place] >> shift) - base] += 1
    free = np.empty_like(ends)
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
                other = keys[place]
                keys[place] = key
                key = other
                moved = codes[place]
                codes[place] = code
                code = moved
                its = (key >> shift) - base
            keys[home] = key
            codes[home] = code
            free[digit] += 1


@jit
def hash_text(ends: Int64, data: Bytes, hashes: Int64, lo: int, hi: int) -> None:
    """Write a hash of 31 bits for each of the texts `lo` to `hi - 1`.

    Three bytes a step: products stay below 2**63, so that plain Python computes the same.
    """
    for row in range(lo, hi):
        at = ends[row]
        end = ends[row + 1]
        state = (end - at) & 0xFFFFFFFF ^ 0x2545F491
        while at + 3 <= end:
            word = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
            state = (state ^ word) * 0x5BD1E995 & 0xFFFFFFFF
            at += 3
        while at < end:
            state = (state ^ np.int64(data[at])) * 0x5BD1E995 & 0xFFFFFFFF
            at += 1
        state = (state ^ state >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
        hashes[row] = (state ^ state >> 16) >> 1


@jit
def move_text(old: Int64, shift: int, table: Int64) -> None:
    """Enter all that one table of texts has into a larger one; a part is `2**shift`-th of hashes."""
    mask = len(table) - 1
    for place in range(len(old)):
        entry = old[place]
        if entry >= 0:
            slot = (entry >> 32 >> shift) & mask
            while table[slot] >= 0:
                slot = (slot + 1) & mask
            table[slot] = entry


@jit
def intern_text(
    ends: Int64,
    data: Bytes,
    hashes: Int64,
    shift: int,
    part: int,
    table: Int64,
    known_ends: Int64,
    known: Bytes,
    state: Int64,
    codes: Any,
    own: Int32,
) -> None:
    """Write the codes of the texts whose hash is that of a part.

    A slot of `table` holds a hash and a code, -1 if it is empty.  Texts that are new are appended to
    `known`, and where they end to `known_ends`.  `state` and `own` as for `intern_integers`.
    """
    mask = len(table) - 1
    within = (1 << shift) - 1
    count = state[0]
    room = min(len(known_ends) - 1, 2 * len(table) // 3)
    rows = 0
    for row in range(state[1], len(hashes)):
        own[rows] = row
        rows += (hashes[row] & within) == part
    stopped = len(hashes)
    for place in range(rows):
        row = own[place]
        told = hashes[row]
        slot = (told >> shift) & mask
        first = ends[row]
        length = ends[row + 1] - first
        code = np.int64(-1)
        while table[slot] >= 0:
            if table[slot] >> 32 == told:
                code = table[slot] & 0xFFFFFFFF
                at = known_ends[code]
                same = known_ends[code + 1] - at == length
                step = 0
                while same and step + 4 <= length:
                    same = (
                        (data[first + step] ^ known[at + step])
                        | (data[first + step + 1] ^ known[at + step + 1])
                        | (data[first + step + 2] ^ known[at + step + 2])
                        | (data[first + step + 3] ^ known[at + step + 3])
                    ) == 0
                    step += 4
                while same and step < length:
                    same = data[first + step] == known[at + step]
                    step += 1
                if same:
                    break
                code = np.int64(-1)
            slot = (slot + 1) & mask
        if code < 0:
            at = known_ends[count]
            if count == room or at + length > len(known):
                stopped = row
                break
            code = np.int64(count)
            table[slot] = told << 32 | code
            for step in range(length):
                known[at + step] = data[first + step]
            count += 1
            known_ends[count] = at + length
        codes[row] = (code << shift) + part
    state[0] = count
    state[1] = stopped
