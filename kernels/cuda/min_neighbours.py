"""The min-neighbour cache: the four in-neighbours of least number of every vertex.

A predecessor is the least in-neighbour by number, but rows are in the order of positions, so a search for it
reads the whole row.  Most vertices find theirs among the first four by number, which are listed once for a
graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import NOBODY
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_once,
    shuffle_xor,
    thread,
    threads,
)

__all__ = ["list_least"]


@inline
def sort_in(
    number: Any, position: Any, number_0: Any, number_1: Any, number_2: Any, number_3: Any, at_0: Any, at_1: Any,
    at_2: Any, at_3: Any,
) -> Any:  # fmt: skip
    """Return the least four of five numbers without a repetition, and where they are."""
    if number < number_3 and number != number_0 and number != number_1 and number != number_2:
        number_3, at_3 = number, position
        if number_3 < number_2:
            number_2, number_3, at_2, at_3 = number_3, number_2, at_3, at_2
        if number_2 < number_1:
            number_1, number_2, at_1, at_2 = number_2, number_1, at_2, at_1
        if number_1 < number_0:
            number_0, number_1, at_0, at_1 = number_1, number_0, at_1, at_0
    return number_0, number_1, number_2, number_3, at_0, at_1, at_2, at_3


@inline
def least_of_lanes(number: Any, position: Any, lanes: Any) -> Any:
    """Return the least number of each group of `lanes` neighbouring lanes, and where that vertex is."""
    bits = np.int32(lanes >> 1)
    while bits > 0:
        peer_number, at = shuffle_xor(FULL, number, bits), shuffle_xor(FULL, position, bits)
        if peer_number < number:
            number, position = peer_number, at
        bits = np.int32(bits >> 1)
    return number, position


@kernel
def list_least(
    low: Any, high: Any, lanes: Any, numbers: Any, offsets: Any, indices: Any, least: Any
) -> None:
    """Write where the four in-neighbours of least number are, of each row of [low, high).

    Each row has `lanes` threads: a power of two, 32 at most.  `least` are four of int[high], the
    least number first; -1 where there are fewer neighbours.
    """
    lanes = np.int32(lanes)
    thread_number = np.int32(block() * threads() + thread())
    first = (thread_number - lane()) // lanes  # of the groups of threads in the warp
    for base in range(low + first, high, blocks() * threads() // lanes):
        row = base + thread_number // lanes - first
        has_row = row < high
        begin, end = np.int64(0), np.int64(0)
        if has_row:
            begin, end = offsets[row], offsets[row + 1]
        number_0 = number_1 = number_2 = number_3 = np.int64(NOBODY)
        at_0 = at_1 = at_2 = at_3 = np.int64(-1)
        for arc in range(begin + lane() % lanes, end, lanes):
            position = np.int64(load_once(indices, arc))
            number_0, number_1, number_2, number_3, at_0, at_1, at_2, at_3 = sort_in(
                np.int64(numbers[position]), position, number_0, number_1, number_2, number_3, at_0, at_1,
                at_2, at_3,
            )  # fmt: skip
        for rank in range(4):
            number, position = least_of_lanes(number_0, at_0, lanes)
            if number_0 == number:  # of every lane that has it
                number_0, number_1, number_2, number_3 = (
                    number_1, number_2, number_3, np.int64(NOBODY),
                )  # fmt: skip
                at_0, at_1, at_2, at_3 = at_1, at_2, at_3, np.int64(-1)
            if has_row and lane() % lanes == rank % lanes:
                if rank == 0:
                    least[0][row] = position
                elif rank == 1:
                    least[1][row] = position
                elif rank == 2:
                    least[2][row] = position
                else:
                    least[3][row] = position
