"""Where numbers are in an ascending list, by a bit for each number and a count for every 32 of them.

Two reads tell what a binary search takes dozens for (Jacobson, "Space-efficient static trees and
graphs", FOCS 1989).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    kernel,
    load_once,
    popc,
    thread,
    threads,
)

__all__ = ["count_bits", "find_ids", "find_places"]


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


@kernel
def find_places(
    numbers: Any, rows: Any, low: Any, owned: Any, words: Any, ranks: Any, places: Any
) -> None:
    """Write the place of each number: less `low` if that is one of `owned`, else behind those; or -1.

    `ranks` is for each word of bits how many bits there are up to its end.
    """
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        number = np.int64(load_once(numbers, row))
        place = number - low
        if place < 0 or place >= owned:
            place = np.int64(-1)
            if number >= 0:
                word = np.uint32(words[number >> 5])
                above = np.uint32(word >> np.uint32(number & 31))
                if above & np.uint32(1) != 0:
                    place = np.int64(owned) + np.int64(ranks[number >> 5]) - popc(above)
        places[row] = place
