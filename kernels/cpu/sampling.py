"""Edges drawn from rows, with and without replacement; `kernels/cuda/sampling.py` draws the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit
from cugraph_ws.kernels.cpu.philox import philox

__all__ = ["draw_arcs", "draw_by_weight"]

Integers = npt.NDArray[np.int64]
CALL = 0x7FFD << 48  # of all draws of samples, beside those of walks and of vertex programs
PASSES = (
    64  # a pass over the row is as fast as insertions that move so many entries for each edge of it
)


@inline
def drawn(key: int, vertex: int, hop: int, count: int, end: int) -> Any:
    """Return a random integer from 0 to less than `end`."""
    place = np.uint64(CALL) | np.uint64(vertex)
    bits = philox(key, place, (np.uint64(hop) << np.uint64(32)) | np.uint64(count))
    return np.int64(bits % np.uint64(end))


@inline
def insert_place(chosen: Integers, low: int, count: int, place: int, last: int) -> None:
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
        for moved in range(low + count, at, -1):
            chosen[moved] = chosen[moved - 1]
        chosen[at] = place


@jit
def draw_arcs(
    begins: Integers,
    degrees: Integers,
    vertices: Integers,
    keys: Integers,
    ends: Integers,
    arcs: Integers,
    hop: int,
    replace: bool,
    lo: int,
    hi: int,
) -> None:
    """Draw arcs of rows.

    Without replacement, few of many are drawn by Floyd's algorithm, and many by a pass over the row that takes
    each with the probability that it has given the earlier ones (Knuth's Algorithm S).

    Parameters
    ----------
    begins, degrees : ndarray of int64, shape (rows,)
        The first arc of each row, and from how many it is drawn.
    vertices, keys : ndarray of int64, shape (rows,)
        The number of the row's vertex, and the key of its draws.
    ends : ndarray of int64, shape (rows + 1,)
        Where the arcs of each row are listed.  A row of as many as its degree is listed whole.
    arcs : ndarray of int64
        Written; those of a row ascend if they are drawn without replacement.
    hop : int
    replace : bool
        Whether an arc may be drawn several times.
    lo, hi : int
        Range of rows.
    """
    for row in range(lo, hi):
        low, degree, key, vertex = ends[row], degrees[row], keys[row], vertices[row]
        wanted = ends[row + 1] - low
        if replace:
            for count in range(wanted):
                arcs[low + count] = drawn(key, vertex, hop, count, degree)
        elif wanted * wanted > PASSES * degree or wanted == degree:
            listed, place = 0, 0
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
            arcs[at] += begins[row]


@inline
def fraction(key: int, vertex: int, hop: int, count: int) -> Any:
    """Return a random number from 0 to less than 1, a multiple of 2**-53."""
    place = np.uint64(CALL) | np.uint64(vertex)
    bits = philox(key, place, (np.uint64(hop) << np.uint64(32)) | np.uint64(count))
    return np.float64(np.int64(bits >> np.uint64(11))) * 2.0**-53


@inline
def sum_before(sums: Any, begin: int, place: int) -> Any:
    """Return the sum of a row's weights before a place."""
    before = 0.0
    if place > 0:
        before = sums[begin + place - 1]
    return before


@inline
def place_in(sums: Any, begin: int, degree: int, wanted: float) -> Any:
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
def insert_next(chosen: Integers, low: int, count: int, place: Any, degree: int) -> Any:
    """Insert a place into ascending ones, or the first one after it that is not among them; return it.

    Rounding may lead to a place that has been drawn.
    """
    at = low
    while at < low + count and chosen[at] < place:
        at += 1
    while at < low + count and chosen[at] == place:
        at += 1
        place += 1
        if place == degree:
            at, place = low, np.int64(0)
    for moved in range(low + count, at, -1):
        chosen[moved] = chosen[moved - 1]
    chosen[at] = place
    return place


@jit
def draw_by_weight(
    begins: Integers,
    degrees: Integers,
    vertices: Integers,
    keys: Integers,
    ends: Integers,
    arcs: Integers,
    hop: int,
    replace: bool,
    sums: npt.NDArray[np.float64],
    lo: int,
    hi: int,
) -> None:
    """Draw arcs of rows, each with a probability in proportion to its weight among those that are left.

    Parameters
    ----------
    begins, degrees, vertices, keys, ends, arcs, hop, replace, lo, hi
        See `draw_arcs`.
    sums : ndarray of float64, shape (arcs of all rows,)
        The sum of the row's weights, above 0, up to each arc.
    """
    for row in range(lo, hi):
        low, degree, key, vertex = ends[row], degrees[row], keys[row], vertices[row]
        begin, wanted = begins[row], ends[row + 1] - low
        gone = 0.0  # the weights of the arcs that are drawn
        for count in range(wanted):
            if wanted == degree and not replace:
                arcs[low + count] = count
                continue
            total = sums[begin + degree - 1]
            # The least of both also keeps a compiler from rounding the product and the sums below at once
            at = min(fraction(key, vertex, hop, count) * (total - gone), total)
            if replace:
                arcs[low + count] = place_in(sums, begin, degree, at)
            else:
                for drawn_before in range(low, low + count):
                    earlier = arcs[drawn_before]
                    before = sum_before(sums, begin, earlier)
                    if at < before:
                        break
                    at += sums[begin + earlier] - before
                place = place_in(sums, begin, degree, at)
                place = insert_next(arcs, low, count, place, degree)
                gone += sums[begin + place] - sum_before(sums, begin, place)
        for at_arc in range(low, low + wanted):
            arcs[at_arc] += begin
