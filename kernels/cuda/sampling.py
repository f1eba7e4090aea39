"""Edges drawn from rows, with and without replacement, a thread for each row; see `kernels.cpu.sampling`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.philox import philox
from cugraph_ws.kernels.cuda.primitives import block, blocks, inline, kernel, thread, threads

__all__ = ["draw_arcs"]

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
