"""Breadth-first searches with a bit for each, level after level in one call, and sums over their levels.

The levels of a call are in two arrays: the vertices that searches reach, and words with the bits of these
searches.  `ends` has the end of each level in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = ["add_levels", "count_levels", "follow"]

Array = npt.NDArray[Any]
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
