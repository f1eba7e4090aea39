"""Bridges and articulation points of a whole graph, by one depth-first search that can be interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["BRIDGE", "CUT", "find_bridges", "search"]

Array = npt.NDArray[Any]
Rows = tuple[npt.NDArray[np.int64], Array]

# Bits of a vertex's flags: the edge to its parent is passed, and is a bridge; it is an articulation point; it
# is a root with a child.
PASSED, BRIDGE, CUT, BRANCHED = 1, 2, 4, 8


@jit
def search(
    rows: Rows,
    more: Rows,
    number: Array,
    least: Array,
    parent: Array,
    arc: npt.NDArray[np.int64],
    flags: npt.NDArray[np.uint8],
    place: npt.NDArray[np.int64],
    most: int,
) -> int:
    """Go on with the search until it ends, or has followed at least `most` arcs.

    least[v] is the least preorder number of a vertex that an edge joins to the subtree of v; the edge to the
    parent p is a bridge if it is above number[p], and p is an articulation point if it is not below.

    Parameters
    ----------
    rows, more : tuple of ndarray
        Offsets and indices; the neighbours of a vertex are those in both.
    number, least, parent : ndarray of int, shape (vertices,)
        Preorder numbers from 1, 0 where a vertex is new.
    arc : ndarray of int64, shape (vertices,)
        How many neighbours have been read.
    flags : ndarray of uint8, shape (vertices,)
        Zeros at first.
    place : ndarray of int64, shape (3,)
        The next vertex to start at, vertices visited, and the current vertex, -1 at first.
    most : int

    Returns
    -------
    int
        Arcs followed; 0 at the end.

    References
    ----------
    .. [1] J. Hopcroft and R. E. Tarjan, "Algorithm 447: efficient algorithms for graph manipulation",
       Communications of the ACM 16, 1973.
    """
    (offsets, indices), (more_offsets, more_indices) = rows, more
    size = len(number)
    start, visited, vertex = place[0], place[1], place[2]
    read = 0
    while read < most:
        if vertex < 0:
            while start < size and number[start] != 0:
                start += 1
            if start == size:
                break
            vertex = start
            visited += 1
            number[vertex], least[vertex], parent[vertex], arc[vertex] = visited, visited, -1, 0
        first, more_first = offsets[vertex], more_offsets[vertex]
        length = offsets[vertex + 1] - first
        end = length + more_offsets[vertex + 1] - more_first
        position, low, above = arc[vertex], least[vertex], parent[vertex]
        begin, fresh = position, -1
        while position < end and fresh < 0:
            if position < length:
                neighbour = indices[first + position]
            else:
                neighbour = more_indices[more_first + position - length]
            position += 1
            if number[neighbour] == 0:
                fresh = neighbour
            elif neighbour == above and not flags[vertex] & PASSED:
                flags[vertex] |= PASSED
            else:
                low = min(low, number[neighbour])
        read += position - begin + 1
        arc[vertex], least[vertex] = position, low
        if fresh >= 0:
            visited += 1
            number[fresh], least[fresh], parent[fresh], arc[fresh] = visited, visited, vertex, 0
            vertex = fresh
            continue
        if above >= 0:
            if low > number[above]:
                flags[vertex] |= BRIDGE
            if low >= number[above]:
                if parent[above] >= 0 or flags[above] & BRANCHED:
                    flags[above] |= CUT
                flags[above] |= BRANCHED
            least[above] = min(least[above], low)
        vertex = above
    place[0], place[1], place[2] = start, visited, vertex
    return read


@inline
def _arc_from(rows: Rows, vertex: int, neighbour: int) -> int:
    """Return the arc of a row, which is ascending, that leads to a neighbour; -1 if there is none."""
    offsets, indices = rows
    low, high = offsets[vertex], offsets[vertex + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < neighbour:
            low = middle + 1
        else:
            high = middle
    return low if low < offsets[vertex + 1] and indices[low] == neighbour else -1


@jit
def find_bridges(
    rows: Rows,
    directed: bool,
    parent: Array,
    flags: npt.NDArray[np.uint8],
    bridges: npt.NDArray[np.int64],
) -> int:
    """List the arcs of bridges; of an undirected edge the one into the greater vertex.

    Parameters
    ----------
    rows : tuple of ndarray
        Offsets and indices of in-neighbours.
    directed : bool
    parent, flags
        As `search` leaves them.
    bridges : ndarray of int64
        Written; as long as there are bridges.

    Returns
    -------
    int
        How many there are.
    """
    count = 0
    for vertex in range(len(flags)):
        if flags[vertex] & BRIDGE:
            low, high = vertex, int(parent[vertex])
            if low > high:
                low, high = high, low
            arc = _arc_from(rows, high, low)
            if directed and arc < 0:
                arc = _arc_from(rows, low, high)
            bridges[count] = arc
            count += 1
    return count
