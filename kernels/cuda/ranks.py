"""Where numbers are in an ascending list, by a bit for each number and a count for every 32 of them.

Two reads tell what a binary search takes dozens for (Jacobson, "Space-efficient static trees and
graphs", FOCS 1989).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add, put_word
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    load_fresh,
    load_once,
    popc,
    shuffle,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = [
    "count_bits",
    "find_ids",
    "find_places",
    "list_bits",
    "mark_others",
    "name_others",
    "name_vertices",
]


@kernel
def count_bits(words: Any, number: Any, counts: Any) -> None:
    """Count the bits of each word."""
    for word in range(block() * threads() + thread(), number, blocks() * threads()):
        counts[word] = popc(words[word])


@kernel
def find_ids(wanted: Any, rows: Any, ids: Any, size: Any, places: Any) -> None:
    """Write where in ascending ids each wanted one is, or -1: a binary search, for so few that no bits pay."""
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        low, high = np.int64(0), np.int64(size)
        while low < high:
            middle = np.int64((low + high) >> 1)
            if ids[middle] < wanted[row]:
                low = np.int64(middle + 1)
            else:
                high = middle
        places[row] = low if low < size and ids[low] == wanted[row] else np.int64(-1)


@inline
def place_of(number: Any, low: Any, owned: Any, words: Any, ranks: Any) -> Any:
    """Return the place of a number, int64; see `find_places`."""
    place = number - low
    if place < 0 or place >= owned:
        place = np.int64(-1)
        if number >= 0:
            word = np.uint32(words[number >> 5])
            above = np.uint32(word >> np.uint32(number & 31))
            if above & np.uint32(1) != 0:
                place = np.int64(owned) + np.int64(ranks[number >> 5]) - popc(above)
    return place


@kernel
def find_places(
    numbers: Any, rows: Any, low: Any, owned: Any, words: Any, ranks: Any, places: Any
) -> None:
    """Write the place of each number, -1 if it has none.

    Numbers from `low` to low + `owned` - 1 come first, then those with a bit.  `ranks` is for each word
    how many bits are set up to its end.
    """
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        places[row] = place_of(np.int64(load_once(numbers, row)), low, owned, words, ranks)


@kernel
def name_vertices(
    numbers: Any, rows: Any, low: Any, owned: Any, words: Any, ranks: Any, ids: Any, named: Any,
    mask: Any, counts: Any,
) -> None:  # fmt: skip
    """Write the id of each vertex number, and a bit for each that is not below 0.

    Parameters
    ----------
    numbers : int[rows]
    rows, low, owned, words, ranks
        As for `find_places`.
    ids : int[places]
        At least one.
    named : int[rows]
        The first id where there is no place.
    mask : uint32[ceil(rows / 32)]
    counts : int64[2]
        Added to: numbers below 0, and others without a place.
    """
    missing, strange = np.int64(0), np.int64(0)
    for first in range(block() * threads() + thread() - lane(), rows, blocks() * threads()):
        row = first + lane()
        valid = False
        if row < rows:
            number = np.int64(load_once(numbers, row))
            valid = bool(number >= 0)
            place = place_of(number, low, owned, words, ranks)
            named[row] = ids[max(place, 0)]
            if not valid:
                missing += 1
            elif place < 0:
                strange += 1
        put_word(mask, first, valid)
    missing, strange = sum_of_lanes(missing), sum_of_lanes(strange)
    if lane() == 0 and missing > 0:
        atomic_add(counts, 0, missing)
    if lane() == 0 and strange > 0:
        atomic_add(counts, 1, strange)


@kernel
def mark_others(
    numbers: Any, rows: Any, low: Any, owned: Any, words: Any, ranks: Any, asked: Any
) -> None:
    """Set a bit for each number that has no place, unless it is below 0; see `find_places`.

    Parameters
    ----------
    numbers : int[rows]
    rows, low, owned, words, ranks
        As for `find_places`.
    asked : uint32[words]
        The bits, by number.
    """
    for first in range(block() * threads() + thread() - lane(), rows, blocks() * threads()):
        row, number, has_no_place = first + lane(), np.int64(-1), False
        if row < rows:
            number = np.int64(load_once(numbers, row))
            has_no_place = bool(number >= 0 and place_of(number, low, owned, words, ranks) < 0)
        mask = ballot(FULL, has_no_place)
        if mask != 0:
            # Of labels nearly all are the same: one lane stands for all that have its number.
            lead = ffs(mask) - 1
            same = shuffle(FULL, number, lead)
            if has_no_place and (lane() == lead or number != same):
                word = np.int64(load_fresh(asked, number >> 5))
                if (word >> (number & 31)) & 1 == 0:
                    add(asked, number)


@kernel
def list_bits(words: Any, number: Any, ranks: Any, listed: Any) -> None:
    """List the numbers that have a bit, ascending.

    Parameters
    ----------
    words : uint32[number]
    number : int
    ranks : int[number]
        How many bits are set up to the end of each word.
    listed : int64[bits]
    """
    for word in range(block() * threads() + thread(), number, blocks() * threads()):
        bits = np.uint32(words[word])
        at = np.int64(ranks[word]) - popc(bits)
        while bits != 0:
            listed[at] = np.int64(32 * word + ffs(bits) - 1)
            bits = np.uint32(bits & (bits - np.uint32(1)))
            at += 1


@kernel
def name_others(
    numbers: Any, rows: Any, low: Any, owned: Any, words: Any, ranks: Any, asked: Any, ends: Any,
    names: Any, named: Any,
) -> None:  # fmt: skip
    """Write the id of each number that `mark_others` has marked.

    Parameters
    ----------
    numbers, rows, low, owned, words, ranks, asked
        As for `mark_others`.
    ends : int[words]
        How many bits of `asked` are set up to the end of each word.
    names : int[bits]
        The ids of the numbers with a bit, ascending.
    named : int[rows]
    """
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        number = np.int64(load_once(numbers, row))
        if number >= 0 and place_of(number, low, owned, words, ranks) < 0:
            named[row] = names[place_of(number, 0, 0, asked, ends)]
