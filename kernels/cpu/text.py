"""Assign codes to distinct texts, and sort them, eight bytes at a time.

Texts are byte strings, concatenated in one array; `ends` has the start of each and the end of the
last.  The number of slots of a table is a power of two, and the caller keeps a third of them empty.
Of a slot's bits, the lowest log2(slots) hold a code.  The others hold the bits of the text's hash
that did not choose the slot.  An empty slot is -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit
from cugraph_ws.kernels.cpu.words import fold, load_word, reverse_bytes

__all__ = [
    "drop_texts",
    "end_texts",
    "gather_texts",
    "hash_text",
    "intern_text",
    "order_words",
    "place_texts",
    "sort_ties",
]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Ends = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_SEED = 0x2545F4914F6CDD1D
_ODD = 0x5851F42D4C957F2D
_SIGN = -0x8000000000000000


@inline
def _word(data: Bytes, at: Any, remaining: Any) -> Any:
    """Return the next eight bytes of a text with `remaining` bytes left, padded with zeros."""
    if remaining >= 8:
        return load_word(data, at)
    if at + 8 <= len(data):
        return load_word(data, at) & ((np.int64(1) << 8 * remaining) - 1)
    word = np.int64(0)
    for step in range(remaining):
        word |= np.int64(data[at + step]) << 8 * step
    return word


@jit
def hash_text(ends: Int64, data: Bytes, hashes: Int64, lo: int, hi: int) -> None:
    """Write a 31-bit hash for each of the texts `lo` to `hi - 1`."""
    for row in range(lo, hi):
        at = ends[row]
        remaining = ends[row + 1] - at
        state = remaining ^ _SEED
        while remaining > 0:
            state = fold(state ^ _word(data, at, remaining), _ODD)
            at += 8
            remaining -= 8
        hashes[row] = fold(state, _ODD) >> 32 & 0x7FFFFFFF


@jit
def place_texts(hashes: Int64, first: int, shift: int, table: Int32) -> None:
    """Insert distinct texts with the given hashes; their codes are consecutive from `first`."""
    mask = len(table) - 1
    for place in range(len(hashes)):
        key = hashes[place] >> shift
        slot = key & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = key & ~mask | (first + place)


@jit
def intern_text(
    ends: Int64,
    data: Bytes,
    hashes: Int64,
    shift: int,
    part: int,
    table: Int32,
    known_ends: Ends,
    known: Bytes,
    state: Int64,
    codes: Any,
    own: Int32,
) -> None:
    """Write the codes of the texts of a part: those whose hashes end in the `shift` bits of `part`.

    New texts are appended to `known`, and their ends to `known_ends`; eight bytes of `known` stay
    free.  `state` and `own` are as in `intern_integers`.
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
        key = hashes[row] >> shift
        slot = key & mask
        first = ends[row]
        length = ends[row + 1] - first
        code = np.int64(-1)
        entry = np.int64(table[slot])
        while entry >= 0:
            if (entry ^ key) & ~mask == 0:
                code = entry & mask
                at = np.int64(known_ends[code])
                same = known_ends[code + 1] - at == length
                step = 0
                while same and step < length:
                    remaining = length - step
                    same = _word(data, first + step, remaining) == _word(
                        known, at + step, remaining
                    )
                    step += 8
                if same:
                    break
                code = np.int64(-1)
            slot = (slot + 1) & mask
            entry = np.int64(table[slot])
        if code < 0:
            at = np.int64(known_ends[count])
            if count == room or at + length + 8 > len(known):
                stopped = row
                break
            code = np.int64(count)
            table[slot] = key & ~mask | code
            for step in range(length):
                known[at + step] = data[first + step]
            count += 1
            known_ends[count] = at + length
        codes[row] = (code << shift) + part
    state[0] = count
    state[1] = stopped


@jit
def order_words(
    ends: Ends, known: Bytes, codes: Int32, depth: int, keys: Int64, lo: int, hi: int
) -> None:
    """Write sort keys for the eight bytes from `depth` on of the texts `codes[lo:hi]`."""
    for place in range(lo, hi):
        code = codes[place]
        at = np.int64(ends[code]) + depth
        remaining = max(0, ends[code + 1] - at)
        keys[place] = reverse_bytes(_word(known, at, remaining)) ^ _SIGN


@inline
def _is_less(ends: Ends, known: Bytes, first: int, second: int, depth: int) -> Any:
    """Return whether a text is less than another with the same first `depth` bytes."""
    at = np.int64(ends[first]) + depth
    remaining = ends[first + 1] - at
    its = np.int64(ends[second]) + depth
    its_left = ends[second + 1] - its
    while remaining > 0 and its_left > 0:
        word = _word(known, at, remaining)
        its_word = _word(known, its, its_left)
        if word != its_word:
            return (reverse_bytes(word) ^ _SIGN) < (reverse_bytes(its_word) ^ _SIGN)
        at += 8
        remaining -= 8
        its += 8
        its_left -= 8
    return remaining < its_left


@jit
def sort_ties(
    ends: Ends,
    known: Bytes,
    keys: Int64,
    codes: Int32,
    depth: int,
    most: int,
    runs: Int64,
) -> int:
    """Sort the codes of texts within each run of equal keys, by the bytes from `depth` on.

    Runs of more than `most` texts, some of which have further bytes, are left to the caller: their
    bounds are written to `runs`.  Returns the number of these runs.
    """
    ties = 0
    first = 0
    while first < len(keys):
        last = first + 1
        goes_on = False
        while last < len(keys) and keys[last] == keys[first]:
            last += 1
        if last - first > most:
            for place in range(first, last):
                code = codes[place]
                goes_on |= ends[code + 1] - ends[code] > depth
        if goes_on:
            runs[2 * ties] = first
            runs[2 * ties + 1] = last
            ties += 1
        else:
            for place in range(first + 1, last):
                code = codes[place]
                low = first
                high = place
                while low < high:
                    middle = (low + high) // 2
                    if _is_less(ends, known, code, codes[middle], depth):
                        high = middle
                    else:
                        low = middle + 1
                for moved in range(place, low, -1):
                    codes[moved] = codes[moved - 1]
                codes[low] = code
        first = last
    return ties


@jit
def end_texts(ends: Ends, codes: Int32, out: Ends) -> None:
    """Write the `ends` of the texts `codes`, concatenated in this order."""
    at = np.int64(0)
    out[0] = 0
    for place in range(len(codes)):
        code = codes[place]
        at += ends[code + 1] - ends[code]
        out[place + 1] = at


@jit
def gather_texts(
    ends: Ends, known: Bytes, codes: Int32, out_ends: Ends, out: Bytes, lo: int, hi: int
) -> None:
    """Copy the texts `codes[lo:hi]` to their places, given by `out_ends`."""
    for place in range(lo, hi):
        at = np.int64(ends[codes[place]])
        begin = out_ends[place]
        for step in range(out_ends[place + 1] - begin):
            out[begin + step] = known[at + step]


@jit
def drop_texts(ends: Ends, known: Bytes, places: Int32, bound: int) -> Any:
    """Make the texts whose places are below `bound` empty, and move the others to the front.

    Returns the number of bytes that are left.
    """
    free = np.int64(0)
    at = np.int64(ends[0])
    for code in range(len(places)):
        end = np.int64(ends[code + 1])
        if places[code] >= bound:
            for step in range(end - at):
                known[free + step] = known[at + step]
            free += end - at
        ends[code + 1] = free
        at = end
    return free
