"""Truss numbers by peeling edges: remove the edges in the fewest triangles, level after level.

It runs in one thread, as the peeling of vertices does: the remaining edges are scanned for each
level at which an edge falls, and edges that fall are queued (Wang and Cheng, "Truss decomposition
in massive networks", PVLDB 2012; the scans are those of PKT, Kabir and Madduri 2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["peel_edges"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


@inline
def sift_edges(supports: Integers, truss: Integers, edges: Integers, count: int) -> tuple[int, int]:
    """Drop removed edges from the list; return how many are left, and their least support."""
    remaining, least = 0, -1
    for place in range(count):
        edge = edges[place]
        if truss[edge] > 0:
            continue
        edges[remaining] = edge
        remaining += 1
        if least < 0 or supports[edge] < least:
            least = supports[edge]
    return remaining, least


@inline
def lower_triangles(
    rows: tuple[Integers, Array, Array],
    first_end: int,
    second_end: int,
    supports: Integers,
    truss: Integers,
    level: int,
    queue: Integers,
    size: int,
) -> tuple[int, int]:
    """Remove an edge: lower the supports of the two other edges of each of its triangles.

    No support falls below `level`.  Returns the new length of the queue, and arcs read.
    """
    offsets, indices, edges = rows
    if offsets[first_end + 1] - offsets[first_end] > offsets[second_end + 1] - offsets[second_end]:
        first_end, second_end = second_end, first_end
    low, end = offsets[second_end], offsets[second_end + 1]
    for arc in range(offsets[first_end], offsets[first_end + 1]):
        near = edges[arc]
        if truss[near] > 0:
            continue
        third = indices[arc]
        high = end
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < third:
                low = middle + 1
            else:
                high = middle
        if low == end:
            break
        if indices[low] != third or truss[edges[low]] > 0:
            continue
        far = edges[low]
        for edge in (near, far):
            if supports[edge] > level:
                supports[edge] -= 1
                if supports[edge] == level:
                    queue[size] = edge
                    size += 1
    return size, offsets[first_end + 1] - offsets[first_end]


@jit
def peel_edges(
    rows: tuple[Integers, Array, Array],
    ends: tuple[Integers, Array],
    supports: Integers,
    truss: Integers,
    edges: Integers,
    count: int,
    queue: Integers,
    target: int,
    budget: int,
) -> tuple[int, int]:
    """Peel level after level until `budget` arcs have been read, or nothing is left.

    Parameters
    ----------
    rows : tuple of (offsets, indices, edges)
        All neighbours of each vertex, ascending, and the edge to each.
    ends : tuple of (tails, heads)
        The vertices of each edge.
    supports : ndarray of int64, shape (edges,)
        Triangles of each edge among the edges that are left; lowered.
    truss : ndarray of int64, shape (edges,)
        0 for edges that are left; written for those that are removed.
    edges : ndarray of int64
        The first `count` are the edges that are left, and perhaps some removed; compacted.
    count : int
    queue : ndarray of int64, shape (edges,)
        Scratch.
    target : int
        Remove only edges whose support is, or becomes, at most this; -1 to peel all levels.
    budget : int
        Arcs; checked between levels.

    Returns
    -------
    count : int
        Number of edges in `edges`; 0 at the end, even if edges above `target` are left.
    read : int
        Number of arcs read.
    """
    tails, heads = ends
    read = 0
    while read < budget:
        count, least = sift_edges(supports, truss, edges, count)
        if count == 0 or (target >= 0 and least > target):
            return 0, read
        level = target if target >= 0 else least
        size = 0
        for place in range(count):
            if supports[edges[place]] <= level:
                queue[size] = edges[place]
                size += 1
        place = 0
        while place < size:
            edge = queue[place]
            place += 1
            truss[edge] = level + 2
            size, more = lower_triangles(
                rows, tails[edge], heads[edge], supports, truss, level, queue, size
            )
            read += more
    return count, read
