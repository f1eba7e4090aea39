"""Edges drawn from rows, with and without replacement; `kernels/cuda/sampling.py` draws the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit
from cugraph_ws.kernels.cpu.philox import philox

__all__ = ["draw_arcs"]

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
