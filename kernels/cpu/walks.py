"""The loop of walks, written against `walk_interface`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit
from cugraph_ws.kernels.cpu.walk_interface import next_edge

__all__ = ["advance"]

Array = npt.NDArray[Any]


@jit
def advance(
    rows: Any,
    columns: Any,
    sums: Any,
    values: Any,
    seed: int,
    paths: Array,
    arcs: npt.NDArray[np.int64],
    beyond: npt.NDArray[np.int64],
    first: int,
    last: int,
    lo: int,
    hi: int,
) -> int:
    """Take steps of walkers.

    Parameters
    ----------
    rows : tuple of (offsets, indices, vertices)
        Ascending rows of out-neighbours, and the number of vertices.
    columns, sums, values, beyond
        See `walk_interface`.
    seed : int
    paths : ndarray of int, shape (steps + 1, walkers)
        The vertex before each step, and after the last one; -1 once a walk has ended.  Written.
    arcs : ndarray of int64, shape (walkers,)
        The arc by which each walker came; -1 at its start.  Written.
    first, last : int
        Range of steps.
    lo, hi : int
        Range of walkers.

    Returns
    -------
    int
        Number of edges taken.
    """
    offsets, indices, _ = rows
    taken = 0
    for number in range(lo, hi):
        vertex, arc = np.int64(paths[first, number]), arcs[number]
        previous = np.int64(-1)
        if first > 0:
            previous = np.int64(paths[first - 1, number])
        for step in range(first, last):
            if vertex < 0:
                break
            begin = np.int64(offsets[vertex])
            degree = np.int64(offsets[vertex + 1]) - begin
            if degree == 0:
                break
            walker = (seed, np.int64(number), np.int64(step), vertex, previous, arc)
            place = next_edge(rows, columns, sums, beyond, values, walker, begin, degree)
            if place >= degree:
                beyond[0] = 1
            if place < 0 or place >= degree:
                break
            arc = begin + place
            previous, vertex = vertex, np.int64(indices[arc])
            paths[step + 1, number] = vertex
            taken += 1
        arcs[number] = arc
    return taken
