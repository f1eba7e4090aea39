"""Core numbers by peeling: remove the vertices of the least degree, level after level.

It runs in one thread, without the swaps of the buckets of Batagelj and Zaversnik (2003).  The
remaining vertices are scanned once for each level at which a vertex falls, as in PKC (Kabir and
Madduri, IPDPSW 2017).  A vertex of core number k is scanned at most k + 2 times.  On two cores this
is as fast as peeling with both, which needs atomic decrements.  A decrement without a branch saves
a quarter of the time; an atomic decrement needs the branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["add_degrees", "lower_rows", "peel"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


@jit
def add_degrees(offsets: Integers, indices: Array, degrees: Array, lo: int, hi: int) -> None:
    """Add to `degrees` the number of neighbours of each vertex, without itself.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours.
    degrees : ndarray of int, shape (vertices,)
    lo, hi : int
        Range of vertices.
    """
    for vertex in range(lo, hi):
        count = 0  # in a register: the compiler must assume that `degrees` aliases `indices`
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            count += indices[arc] != vertex
        degrees[vertex] += count


@inline
def find_least(
    core: Array, alive: Array, count: int, level: int, queue: Array
) -> tuple[int, int, int]:
    """Drop from `alive` the vertices peeled at `level`, and queue those of the least degree.

    Returns how many vertices are left, their least degree, and how many have it.
    """
    waiting_count, least, size = 0, 0, 0
    for place in range(count):
        vertex = alive[place]
        degree = core[vertex]
        if degree <= level:
            continue
        alive[waiting_count] = vertex
        waiting_count += 1
        if size == 0 or degree < least:
            least, size = degree, 0
        if degree == least:
            queue[size] = vertex
            size += 1
    return waiting_count, least, size


@inline
def lower_row(
    offsets: Integers, indices: Array, vertex: int, core: Array, level: int, queue: Array, size: int
) -> int:
    """Subtract one from the degree of each remaining neighbour; queue those that fall to `level`.

    The processor cannot predict whether a neighbour remains, so there is no branch: every degree is
    written, and every neighbour is written behind the end of the queue, which grows only by those
    that fall.
    """
    for arc in range(offsets[vertex], offsets[vertex + 1]):
        neighbour = indices[arc]
        degree = core[neighbour]
        core[neighbour] = degree - (1 if degree > level else 0)
        queue[size] = neighbour
        size += 1 if degree == level + 1 else 0
    return size


@jit
def peel(
    adjacency: tuple[Integers, Array, Integers, Array],
    core: Array,
    alive: Array,
    count: int,
    queue: Array,
    waiting: int,
    level: int,
    budget: int,
) -> tuple[int, int, int, int, int, int]:
    """Peel level after level until `budget` arcs have been read, or nothing is left.

    Parameters
    ----------
    adjacency : tuple of (offsets, indices, offsets, indices)
        Rows of the neighbours in whose degree each vertex counts, in two parts.  The second has no
        indices if there is only one part.
    core : ndarray of int, shape (vertices,)
        Degrees among the remaining vertices; for peeled vertices, their core numbers.
    alive : ndarray of int
        The first `count` are the remaining vertices, and perhaps some peeled at `level`; compacted
        in place.
    count : int
    queue : ndarray of int, shape (vertices + 1,)
        The first `waiting` have reached `level`, but their neighbours' degrees are not lowered yet; the
        rest is scratch.
    waiting : int
    level : int
        The last level that was begun, -1 at first.
    budget : int
        Arcs; checked between vertices.

    Returns
    -------
    count : int
        Number of vertices in `alive`, some perhaps peeled at the last level; 0 at the end.
    level : int
        The last level that was begun.
    place, size : int
        The range of `queue` with the vertices that wait now.
    reached : int
        Number of vertices that have reached a level.
    read : int
        Number of arcs read.
    """
    offsets, indices, more_offsets, more_indices = adjacency
    place, size, reached, read = 0, waiting, 0, 0
    while read < budget:
        if place == size:
            count, least, size = find_least(core, alive, count, level, queue)
            place = 0
            if count == 0:
                break
            level = least
            reached += size
        before = size
        while place < size and read < budget:
            vertex = queue[place]
            place += 1
            size = lower_row(offsets, indices, vertex, core, level, queue, size)
            read += offsets[vertex + 1] - offsets[vertex]
            if len(more_indices) > 0:
                size = lower_row(more_offsets, more_indices, vertex, core, level, queue, size)
                read += more_offsets[vertex + 1] - more_offsets[vertex]
        reached += size - before
    return count, level, place, size, reached, read


@jit
def lower_rows(
    offsets: Integers, indices: Array, listed: Integers, core: Array, level: int, queue: Array
) -> tuple[int, int]:
    """Remove listed vertices from their neighbours' degrees, but not those that fall as a result.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of the neighbours in whose degree each vertex counts.
    listed : ndarray of int
    core : ndarray of int, shape (vertices,)
        As in `peel`.
    level : int
        The level that is peeled.
    queue : ndarray of int, shape (vertices + 1,)
        Overwritten: begins with the vertices that have fallen to the level.

    Returns
    -------
    size : int
        How many vertices have fallen.
    read : int
        Number of arcs read.
    """
    size, read = 0, 0
    for place in range(len(listed)):
        vertex = listed[place]
        size = lower_row(offsets, indices, vertex, core, level, queue, size)
        read += offsets[vertex + 1] - offsets[vertex]
    return size, read
