"""The loop of walks, a thread for each walker.

It is written against `walk_interface`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, thread, threads
from cugraph_ws.kernels.cuda.walk_interface import next_edge

__all__ = ["advance"]


@kernel
def advance(
    rows: Any, columns: Any, sums: Any, values: Any, seed: Any, paths: Any, arcs: Any, beyond: Any,
    walkers: Any, first: Any, last: Any, low: Any, high: Any,
) -> None:  # fmt: skip
    """Take steps of walkers.

    Parameters
    ----------
    rows : tuple of (int64[vertices + 1], int[arcs], int)
        Ascending rows of out-neighbours, and the number of vertices.
    columns, sums, values, beyond
        See `kernels/cpu/walk_interface.py`.
    seed : int
    paths : int[(steps + 1) * walkers]
        By step, the vertex of each walker before the step; -1 once a walk has ended.  Written.
    arcs : int64[walkers]
        The arc by which each walker came; -1 at its start.  Written.
    walkers : int
    first, last : int
        Range of steps.
    low, high : int
        Range of walkers.
    """
    offsets, indices, _ = rows
    for at in range(low + block() * threads() + thread(), high, blocks() * threads()):
        number = np.int64(at)
        vertex, arc = np.int64(paths[first * walkers + number]), np.int64(arcs[number])
        previous = np.int64(-1)
        if first > 0:
            previous = np.int64(paths[(first - 1) * walkers + number])
        step = np.int64(first)
        while step < last and vertex >= 0:
            begin = np.int64(offsets[vertex])
            degree = np.int64(offsets[vertex + 1]) - begin
            place = np.int64(-1)
            if degree > 0:
                walker = (seed, number, step, vertex, previous, arc)
                place = next_edge(rows, columns, sums, beyond, values, walker, begin, degree)
            if place >= degree:
                beyond[0] = 1
                place = np.int64(-1)
            previous = vertex
            vertex = np.int64(-1)
            if place >= 0:
                arc = begin + place
                vertex = np.int64(indices[arc])
                paths[(step + 1) * walkers + number] = vertex
            step += 1
        arcs[number] = arc
