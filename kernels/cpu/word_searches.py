"""Breadth-first searches with a bit for each, level after level in one call, and sums over their levels.

The levels of a call are in two arrays: the vertices that searches reach, and words with the bits of these
searches.  `ends` has the end of each level in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["add_levels", "count_levels", "follow", "write_levels"]

Array = npt.NDArray[Any]
MANY = 16  # one vertex in so many: above that, levels are listed anew in ascending order
Words = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]


@jit
def follow(
    offsets: Places,
    indices: Array,
    reached: Words,
    fresh: Words,
    vertices: Places,
    words: Words,
    ends: Places,
    sizes: Places,
    most: int,
) -> int:
    """Search on while the frontier is small and there is room for the next level; return how many levels.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of the neighbours to which searches go on.
    reached : ndarray of int64, shape (vertices,)
        Bits of the searches that have reached a vertex.
    fresh : ndarray of int64, shape (vertices,)
        All 0.
    vertices, words : ndarray of int64
        The frontier comes first; levels are appended.
    ends : ndarray of int64
        Written; no more levels than its length are searched.
    sizes : ndarray of int64, shape (3,)
        Where the frontier begins and ends, and the number of its arcs.
    most : int
        Arcs of a small frontier.
    """
    begin, end, arcs = sizes[0], sizes[1], sizes[2]
    levels = 0
    while begin < end and arcs <= most and end + arcs <= len(vertices) and levels < len(ends):
        size = end
        for place in range(begin, end):
            word = words[place]
            for arc in range(offsets[vertices[place]], offsets[vertices[place] + 1]):
                neighbour = indices[arc]
                bits = word & ~reached[neighbour]
                if bits != 0:
                    if fresh[neighbour] == 0:
                        vertices[size] = neighbour
                        size += 1
                    fresh[neighbour] |= bits
        arcs = 0
        for place in range(end, size):
            vertex = vertices[place]
            words[place] = fresh[vertex]
            reached[vertex] |= fresh[vertex]
            fresh[vertex] = 0
            arcs += offsets[vertex + 1] - offsets[vertex]
        begin, end = end, size
        ends[levels] = end
        levels += 1
    sizes[0], sizes[1], sizes[2] = begin, end, arcs
    return levels


@inline
def _number_of_bits(word: int) -> int:
    """Return how many of 64 bits are set."""
    value = np.uint64(word)
    value = value - ((value >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    value = (value & pairs) + ((value >> np.uint64(2)) & pairs)
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((value * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def write_levels(
    offsets: Places,
    indices: Array,
    in_offsets: Places,
    in_indices: Array,
    reached: Words,
    front: Words,
    fresh: Words,
    frontier: Places,
    following: Places,
    sizes: Places,
    limits: Places,
    distance: Array,
    predecessor: Array,
) -> None:
    """Search on, and write what is reached, until enough arcs are read.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of the out-neighbours.
    in_offsets, in_indices : ndarray
        Rows of the in-neighbours, ascending.
    reached, front, fresh : ndarray of int64, shape (vertices,)
        Bits of the searches that have reached a vertex, those whose frontier it is in, and zeros.
    frontier, following : ndarray of int64, shape (vertices,)
        The vertices of the frontier come first in the first of them.
    sizes : ndarray of int64, shape (3,)
        Size of the frontier, its distance from the starts, and 0: the arcs that have been read.
    limits : ndarray of int64, shape (2,)
        Greatest distance, and the arcs after which no further level begins.
    distance, predecessor : ndarray, shape (searches, vertices)
        Written: of a vertex that is reached, and its least in-neighbour that is one hop nearer.
    """
    size, level, read = sizes[0], sizes[1], 0
    while size > 0 and level < limits[0] and read < limits[1]:
        level += 1
        count = 0
        for place in range(size):
            vertex = frontier[place]
            word = front[vertex]
            read += offsets[vertex + 1] - offsets[vertex]
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                neighbour = indices[arc]
                bits = word & ~reached[neighbour]
                if bits != 0:
                    if fresh[neighbour] == 0:
                        following[count] = neighbour
                        count += 1
                    fresh[neighbour] |= bits
        if count * MANY > len(fresh):  # then each row of the result is written in order
            count = 0
            for vertex in range(len(fresh)):
                if fresh[vertex] != 0:
                    following[count] = vertex
                    count += 1
        for place in range(count):
            vertex = following[place]
            missing = fresh[vertex]
            reached[vertex] |= missing
            arc = in_offsets[vertex]
            while missing != 0:
                source = in_indices[arc]
                found = front[source] & missing
                missing &= ~found
                while found != 0:
                    search = _number_of_bits((found & -found) - 1)
                    distance[search, vertex] = level
                    predecessor[search, vertex] = source
                    found &= found - 1
                arc += 1
                read += 1
        for place in range(size):
            front[frontier[place]] = 0
        for place in range(count):
            vertex = following[place]
            front[vertex] = fresh[vertex]
            fresh[vertex] = 0
            frontier[place] = vertex
        size = count
    sizes[0], sizes[1], sizes[2] = size, level, read


@jit
def count_levels(words: Words, begin: int, ends: Places, counts: Array) -> None:
    """Count the vertices of each level that each search reaches.

    Parameters
    ----------
    words : ndarray of int64
    begin : int
        Where the first level begins.
    ends : ndarray of int64, shape (levels,)
    counts : ndarray of int64, shape (levels, searches)
        Zeros; written.
    """
    for level in range(len(ends)):
        row = counts[level]
        for place in range(begin, ends[level]):
            for search in range(len(row)):
                row[search] += (words[place] >> search) & 1
        begin = ends[level]


@jit
def add_levels(
    vertices: Places,
    words: Words,
    begin: int,
    ends: Places,
    first: int,
    reached: Array,
    distances: Array,
    reciprocals: Array,
) -> None:
    """Add to the sums of each vertex the searches that reach it, their distances, and the reciprocals of these.

    Parameters
    ----------
    vertices, words : ndarray of int64
    begin : int
        Where the first level begins.
    ends : ndarray of int64, shape (levels,)
    first : int
        Distance of the first level.
    reached, distances : ndarray of int64, shape (vertices,)
    reciprocals : ndarray of float64, shape (vertices,)
    """
    for level in range(len(ends)):
        distance = first + level
        for place in range(begin, ends[level]):
            vertex, count = vertices[place], _number_of_bits(words[place])
            reached[vertex] += count
            distances[vertex] += distance * count
            reciprocals[vertex] += count / distance
        begin = ends[level]
