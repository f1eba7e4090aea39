"""A maximal matching by mutual proposals, the same for any number of threads.

Every edge has a rank, a hash of its two ends.  In each round a free vertex proposes to the free
neighbour along its edge of least rank.  An edge proposed from both ends is matched: it precedes all
adjacent edges.  The result is that of the greedy algorithm on the edges in the order of rank.  With
high probability the number of rounds is polylogarithmic (Blelloch, Fineman and Shun, SPAA 2012).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.generate import mix
from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["UNDECIDED", "accept", "find_inside", "propose"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

UNDECIDED = -2  # a vertex that has not read its neighbours yet
MASK = 0xFFFFFFFFFFFFFFFF
POSITIVE = 0x1FFFFFFFFFFFFF  # bits of a hash that give the same number, signed or unsigned


@inline
def rank_of(key: int, first: int, second: int) -> int:
    """Return the rank of the edge between two vertices: the same from both ends."""
    low, high = int(min(first, second)), int(max(first, second))  # 64 bits wide, compiled or not
    rank: int = (mix((mix((key + low) & MASK) + high) & MASK) >> 11) & POSITIVE
    return rank


@jit
def propose(
    adjacency: tuple[Integers, Array, Integers, Array],
    numbers: Integers | None,
    mate: Array,
    best: Array,
    free: Array,
    key: int,
    lo: int,
    hi: int,
) -> int:
    """Choose for the vertices from `lo` to `hi` of `free` the free neighbour with the best edge.

    Of two edges with one rank, the one to the neighbour of the smaller number is better.  That
    orders all edges, so the best edge is always proposed from both ends.

    Parameters
    ----------
    adjacency : tuple of (offsets, indices, offsets, indices)
        Rows of neighbours, in two parts; the second has no indices if there is only one part.
    numbers : ndarray of int64, shape (vertices,), or None
        Vertex number at each position, by which edges are ranked; None if both are the same.
    mate : ndarray of int, shape (vertices,)
        -1 for a free vertex.
    best : ndarray of int, shape (vertices,)
        The choice of each vertex, `UNDECIDED` at first, -1 for none; searched again only if the
        choice is no longer free.
    free : ndarray of int
        Vertices.
    key : int
        Seed of the ranks.
    lo, hi : int
        Range of `free`.

    Returns
    -------
    int
        Arcs read.
    """
    offsets, indices, more_offsets, more_indices = adjacency
    read = 0
    for place in range(lo, hi):
        vertex = free[place]
        chosen = best[vertex]
        if chosen == -1 or (chosen >= 0 and mate[chosen] < 0):
            continue
        chosen, chosen_rank = -1, 0
        for part in range(2):
            row, neighbours = (offsets, indices) if part == 0 else (more_offsets, more_indices)
            if len(neighbours) == 0:
                continue
            read += row[vertex + 1] - row[vertex]
            for arc in range(row[vertex], row[vertex + 1]):
                neighbour = neighbours[arc]
                if mate[neighbour] >= 0:
                    continue
                if numbers is None:
                    rank = rank_of(key, vertex, neighbour)
                    closer = rank < chosen_rank or (rank == chosen_rank and neighbour < chosen)
                else:
                    rank = rank_of(key, numbers[vertex], numbers[neighbour])
                    closer = rank < chosen_rank
                    if rank == chosen_rank and chosen >= 0:
                        closer = numbers[neighbour] < numbers[chosen]
                if chosen < 0 or closer:
                    chosen, chosen_rank = neighbour, rank
        best[vertex] = chosen
    return read


@jit
def accept(mate: Array, best: Array, free: Array, lo: int, hi: int) -> int:
    """Match the vertices from `lo` to `hi` of `free` whose proposals are mutual.

    Parameters
    ----------
    mate, best : ndarray of int, shape (vertices,)
        As in `propose`; each vertex writes only its own mate.
    free : ndarray of int
        Vertices.
    lo, hi : int
        Range of `free`.

    Returns
    -------
    int
        Vertices matched.
    """
    matched = 0
    for place in range(lo, hi):
        vertex = free[place]
        chosen = best[vertex]
        if chosen >= 0 and best[chosen] == vertex:
            mate[vertex] = chosen
            matched += 1
    return matched


@jit
def find_inside(
    offsets: Integers, indices: Array, sides: npt.NDArray[np.bool_], lo: int, hi: int
) -> tuple[int, int]:
    """Find an arc between two vertices on one side.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours.
    sides : ndarray of bool, shape (vertices,)
        The side of each vertex.
    lo, hi : int
        Range of vertices whose rows are read.

    Returns
    -------
    vertex, neighbour : int
        The ends of the first such arc; both are -1 if there is none.
    """
    for vertex in range(lo, hi):
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if sides[indices[arc]] == sides[vertex]:
                return vertex, indices[arc]
    return -1, -1
