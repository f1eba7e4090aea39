"""Edges drawn from rows, with and without replacement, a thread for each row; see `kernels.cpu.sampling`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.philox import philox
from cugraph_ws.kernels.cuda.primitives import block, blocks, inline, kernel, thread, threads

__all__ = ["draw_arcs", "draw_by_weight"]

CALL = 0x7FFD << 48  # as in kernels/cpu/sampling.py, as all of this
PASSES = 64


@inline
def drawn(key: Any, vertex: Any, hop: Any, count: Any, end: Any) -> Any:
    """Return a random integer from 0 to less than `end`."""
    place = np.uint64(CALL) | np.uint64(vertex)
    bits = philox(key, place, (np.uint64(hop) << np.uint64(32)) | np.uint64(count))
    return np.int64(bits % np.uint64(end))


@inline
def insert_place(chosen: Any, low: Any, count: Any, place: Any, last: Any) -> None:
    """Insert a place into ascending ones; if it is among them, the last one, which is not."""
    at, high = low, low + count
    while at < high:
        middle = (at + high) // 2
        if chosen[middle] < place:
            at = middle + 1
        else:
            high = middle
    if at < low + count and chosen[at] == place:
        chosen[low + count] = last
    else:
        moved = low + count
        while moved > at:
            chosen[moved] = chosen[moved - 1]
            moved -= 1
        chosen[at] = place


@kernel
def draw_arcs(
    begins: Any, degrees: Any, vertices: Any, keys: Any, ends: Any, arcs: Any, hop: Any, replace: Any, rows: Any
) -> None:  # fmt: skip
    """Draw arcs of rows.

    Parameters
    ----------
    begins, degrees, vertices, keys : int64[rows]
    ends : int64[rows + 1]
    arcs : int64[ends[rows]]
        Written.
    hop, replace : int
    rows : int
    """
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        low, degree = np.int64(ends[row]), np.int64(degrees[row])
        key, vertex = np.int64(keys[row]), np.int64(vertices[row])
        begin, wanted = np.int64(begins[row]), np.int64(ends[row + 1]) - low
        if replace != 0:
            for count in range(wanted):
                arcs[low + count] = drawn(key, vertex, hop, count, degree)
        elif wanted * wanted > PASSES * degree or wanted == degree:
            listed, place = np.int64(0), np.int64(0)
            while listed < wanted:
                left = degree - place
                if wanted == degree or drawn(key, vertex, hop, place, left) < wanted - listed:
                    arcs[low + listed] = place
                    listed += 1
                place += 1
        else:
            for count in range(wanted):
                last = degree - wanted + count
                place = drawn(key, vertex, hop, count, last + 1)
                insert_place(arcs, low, count, place, last)
        for at in range(low, low + wanted):
            arcs[at] += begin


@inline
def fraction(key: Any, vertex: Any, hop: Any, count: Any) -> Any:
    """Return a random number from 0 to less than 1, a multiple of 2**-53."""
    place = np.uint64(CALL) | np.uint64(vertex)
    bits = philox(key, place, (np.uint64(hop) << np.uint64(32)) | np.uint64(count))
    return np.float64(np.int64(bits >> np.uint64(11))) * np.float64(2.0**-53)


@inline
def sum_before(sums: Any, begin: Any, place: Any) -> Any:
    """Return the sum of a row's weights before a place."""
    before = np.float64(0.0)
    if place > 0:
        before = np.float64(sums[begin + place - 1])
    return before


@inline
def place_in(sums: Any, begin: Any, degree: Any, wanted: Any) -> Any:
    """Return the first place of a row up to which its weights add up to more than `wanted`, or the last one."""
    low, high = np.int64(0), np.int64(degree - 1)
    while low < high:
        middle = (low + high) // 2
        if sums[begin + middle] <= wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def insert_next(chosen: Any, low: Any, count: Any, place: Any, degree: Any) -> Any:
    """Insert a place into ascending ones, or the first one after it that is not among them; return it."""
    at = np.int64(low)
    while at < low + count and chosen[at] < place:
        at += 1
    while at < low + count and chosen[at] == place:
        at += 1
        place += 1
        if place == degree:
            at, place = np.int64(low), np.int64(0)
    moved = low + count
    while moved > at:
        chosen[moved] = chosen[moved - 1]
        moved -= 1
    chosen[at] = place
    return place


@kernel
def draw_by_weight(
    begins: Any, degrees: Any, vertices: Any, keys: Any, ends: Any, arcs: Any, hop: Any, replace: Any, sums: Any,
    rows: Any,
) -> None:  # fmt: skip
    """Draw arcs of rows, each with a probability in proportion to its weight among those that are left.

    Parameters
    ----------
    begins, degrees, vertices, keys, ends, arcs, hop, replace, rows
        See `draw_arcs`.
    sums : float64[arcs of all rows]
    """
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        low, degree = np.int64(ends[row]), np.int64(degrees[row])
        key, vertex = np.int64(keys[row]), np.int64(vertices[row])
        begin, wanted = np.int64(begins[row]), np.int64(ends[row + 1]) - low
        gone = np.float64(0.0)
        for count in range(wanted):
            if wanted == degree and replace == 0:
                arcs[low + count] = count
            else:
                total = np.float64(sums[begin + degree - 1])
                at = min(fraction(key, vertex, hop, count) * (total - gone), total)
                if replace != 0:
                    arcs[low + count] = place_in(sums, begin, degree, at)
                else:
                    earlier, end = low, low + count
                    while earlier < end:
                        chosen = np.int64(arcs[earlier])
                        before = sum_before(sums, begin, chosen)
                        if at < before:
                            end = earlier
                        else:
                            at += np.float64(sums[begin + chosen]) - before
                            earlier += 1
                    place = place_in(sums, begin, degree, at)
                    place = insert_next(arcs, low, count, place, degree)
                    gone += np.float64(sums[begin + place]) - sum_before(sums, begin, place)
        for at_arc in range(low, low + wanted):
            arcs[at_arc] += begin
