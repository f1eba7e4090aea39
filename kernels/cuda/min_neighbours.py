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
    number: Any, position: Any, one: Any, two: Any, three: Any, four: Any, at_one: Any, at_two: Any,
    at_three: Any, at_four: Any,
) -> Any:  # fmt: skip
    """Return the least four of five numbers without a repetition, and where they are."""
    if number < four and number != one and number != two and number != three:
        four, at_four = number, position
        if four < three:
            three, four, at_three, at_four = four, three, at_four, at_three
        if three < two:
            two, three, at_two, at_three = three, two, at_three, at_two
        if two < one:
            one, two, at_one, at_two = two, one, at_two, at_one
    return one, two, three, four, at_one, at_two, at_three, at_four


@inline
def least_of_lanes(number: Any, position: Any, lanes: Any) -> Any:
    """Return the least number of each group of `lanes` neighbouring lanes, and where that vertex is."""
    bits = np.int32(lanes >> 1)
    while bits > 0:
        other, at = shuffle_xor(FULL, number, bits), shuffle_xor(FULL, position, bits)
        if other < number:
            number, position = other, at
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
    here = np.int32(block() * threads() + thread())
    first = (here - lane()) // lanes  # of the groups of threads in the warp
    for base in range(low + first, high, blocks() * threads() // lanes):
        row = base + here // lanes - first
        given = row < high
        begin, end = np.int64(0), np.int64(0)
        if given:
            begin, end = offsets[row], offsets[row + 1]
        one = two = three = four = np.int64(NOBODY)
        at_one = at_two = at_three = at_four = np.int64(-1)
        for arc in range(begin + lane() % lanes, end, lanes):
            position = np.int64(load_once(indices, arc))
            one, two, three, four, at_one, at_two, at_three, at_four = sort_in(
                np.int64(numbers[position]), position, one, two, three, four, at_one, at_two,
                at_three, at_four,
            )  # fmt: skip
        for rank in range(4):
            number, position = least_of_lanes(one, at_one, lanes)
            if one == number:  # of every lane that has it
                one, two, three, four = two, three, four, np.int64(NOBODY)
                at_one, at_two, at_three, at_four = at_two, at_three, at_four, np.int64(-1)
            if given and lane() % lanes == rank % lanes:
                if rank == 0:
                    least[0][row] = position
                elif rank == 1:
                    least[1][row] = position
                elif rank == 2:
                    least[2][row] = position
                else:
                    least[3][row] = position
