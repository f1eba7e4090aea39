"""Strongly connected components of a whole graph, by one depth-first search that can be interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["FOUND", "search"]

Array = npt.NDArray[Any]

FOUND = 4  # entry of `place`


@jit
def search(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    low: Array,
    root: npt.NDArray[np.int64],
    arc: npt.NDArray[np.int64],
    path: Array,
    begun: Array,
    stack: Array,
    place: npt.NDArray[np.int64],
    most: int,
) -> int:
    """Go on with the search until it ends, or has followed at least `most` arcs.

    Tarjan's algorithm with Pearce's arrays: `low` serves as low-link and as mark, so an arc costs one
    read.  On the return from a child, the arc to it is read again, which merges its low-link.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours.
    low : ndarray of int, shape (vertices,)
        0 where a vertex is new; else the least preorder number, from 1, that is known to be reachable;
        the greatest value of the type where the component is known.
    root : ndarray of int64, shape (vertices,)
        By vertex: the first visited vertex of its component; -1 where it is not known.
    arc : ndarray of int64, shape (vertices,)
        The next arc to follow, of each vertex of the path.
    path, begun : ndarray of int, shape (vertices,)
        Vertices of the path from the start, and their preorder numbers.
    stack : ndarray of int, shape (vertices,)
        Vertices that are done, whose component is not.
    place : ndarray of int64, shape (5,)
        The next vertex to start at, vertices visited, lengths of path and stack, vertices whose
        component is known.
    most : int

    Returns
    -------
    int
        Arcs followed.

    References
    ----------
    .. [1] R. E. Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing
       1, 1972.
    .. [2] D. J. Pearce, "A space-efficient algorithm for finding strongly connected components",
       Information Processing Letters 116, 2016.
    """
    size = len(low)
    known = np.iinfo(low.dtype).max
    start, visited, depth, stacked, components = place[0], place[1], place[2], place[3], place[4]
    read = 0
    while read < most:
        if depth == 0:
            while start < size and low[start] != 0:
                start += 1
            if start == size:
                break
            vertex = start
            visited += 1
            low[vertex], arc[vertex] = visited, offsets[vertex]
            path[0], begun[0], depth = vertex, visited, 1
        else:
            vertex = path[depth - 1]
        least, next_arc, end = low[vertex], arc[vertex], offsets[vertex + 1]
        first, fresh = next_arc, -1
        while next_arc < end:
            neighbour_low = low[indices[next_arc]]
            if neighbour_low == 0:
                fresh = indices[next_arc]
                break
            least = min(least, neighbour_low)
            next_arc += 1
        read += next_arc - first + 1
        low[vertex], arc[vertex] = least, next_arc
        if fresh >= 0:
            visited += 1
            low[fresh], arc[fresh] = visited, offsets[fresh]
            path[depth], begun[depth] = fresh, visited
            depth += 1
            continue
        depth -= 1
        number = begun[depth]
        if least < number:
            stack[stacked] = vertex
            stacked += 1
            continue
        while stacked > 0 and low[stack[stacked - 1]] >= number:
            stacked -= 1
            low[stack[stacked]] = known
            root[stack[stacked]] = vertex
            components += 1
        low[vertex] = known
        root[vertex] = vertex
        components += 1
    place[0], place[1], place[2], place[3], place[4] = start, visited, depth, stacked, components
    return read
