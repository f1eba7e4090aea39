"""Triangles of edges oriented by degree: each is found once, from its least vertex.

The row of a vertex is marked in an array by vertex, and the rows of its neighbours are looked up
there.  On skewed graphs this is two to three times as fast as merging rows, since no branch
depends on what is read (Schank and Wagner's "forward, hashed", WEA 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["count_greater", "count_triangles", "list_greater", "support_edges", "weigh_triangles"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

SHORT = 16  # rows up to this length are sorted by insertion


@jit
def count_greater(
    offsets: Integers,
    indices: Array,
    known: Integers,
    labels: Integers,
    lengths: Integers,
    lo: int,
    hi: int,
) -> None:
    """Count the neighbours of each vertex that have greater labels.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of neighbours, by vertex.
    known, labels : ndarray of int64, shape (vertices,)
        The vertex of each label, and the label of each vertex.
    lengths : ndarray of int64, shape (vertices,)
        Written, by label.
    lo, hi : int
        Range of labels.
    """
    for label in range(lo, hi):
        vertex, count = known[label], 0
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            count += 1 if labels[indices[arc]] > label else 0
        lengths[label] = count


@jit
def list_greater(
    offsets: Integers,
    indices: Array,
    known: Integers,
    labels: Integers,
    row_offsets: Integers,
    rows: Array,
    lo: int,
    hi: int,
) -> None:
    """List the greater labels of the neighbours of each vertex, ascending.

    Parameters
    ----------
    offsets, indices, known, labels, lo, hi
        See `count_greater`.
    row_offsets : ndarray of int64, shape (vertices + 1,)
        By label.
    rows : ndarray of int, shape (edges,)
        Written.
    """
    for label in range(lo, hi):
        vertex, begin = known[label], row_offsets[label]
        end = begin
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbour = labels[indices[arc]]
            if neighbour > label:
                rows[end] = neighbour
                end += 1
        if end - begin > SHORT:
            rows[begin:end].sort()
            continue
        for place in range(begin + 1, end):
            neighbour = rows[place]
            while place > begin and rows[place - 1] > neighbour:
                rows[place] = rows[place - 1]
                place -= 1
            rows[place] = neighbour


@jit
def count_triangles(
    offsets: Integers,
    indices: Array,
    head_offsets: Integers,
    head_indices: Array,
    pivots: Integers,
    marks: Array,
    counts: Integers,
) -> int:
    """Count for each vertex its triangles whose least vertex is a pivot.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of greater neighbours.
    head_offsets, head_indices : ndarray
        The same of the pivots' neighbours; rows that are not at hand are empty.
    pivots : ndarray of int64
        Labels.
    marks : ndarray of int, shape (vertices,)
        Scratch: an entry may equal a pivot only at a greater neighbour of that pivot.
    counts : ndarray of int64, shape (vertices,)
        Added to.

    Returns
    -------
    int
        Number of arcs read.
    """
    read = 0
    for pivot in pivots:
        begin, end = offsets[pivot], offsets[pivot + 1]
        for arc in range(begin, end):
            marks[indices[arc]] = pivot
        total = 0
        for arc in range(begin, end):
            head = indices[arc]
            common = 0
            for head_arc in range(head_offsets[head], head_offsets[head + 1]):
                third = head_indices[head_arc]
                hit = 1 if marks[third] == pivot else 0
                counts[third] += hit
                common += hit
            read += head_offsets[head + 1] - head_offsets[head]
            counts[head] += common
            total += common
        counts[pivot] += total
    return read


@jit
def weigh_triangles(
    offsets: Integers,
    indices: Array,
    ways: Array,
    head_offsets: Integers,
    head_indices: Array,
    head_ways: Array,
    pivots: Integers,
    marks: Integers,
    counts: Integers,
) -> int:
    """Count for each vertex of a triangle the directions of the edge opposite to it.

    Parameters
    ----------
    offsets, indices, ways : ndarray
        Rows of greater neighbours, and how many directions each edge has: 1 or 2.
    head_offsets, head_indices, head_ways : ndarray
        The same of the pivots' neighbours; rows that are not at hand are empty.
    pivots, counts
        See `count_triangles`.
    marks : ndarray of int64, shape (vertices,)
        Scratch, as in `count_triangles`; an entry is 4 * pivot + the directions of the edge.

    Returns
    -------
    int
        Number of arcs read.
    """
    read = 0
    for pivot in pivots:
        begin, end = offsets[pivot], offsets[pivot + 1]
        for arc in range(begin, end):
            marks[indices[arc]] = 4 * pivot + ways[arc]
        total = 0
        for arc in range(begin, end):
            head, near = indices[arc], ways[arc]
            opposite = 0
            for head_arc in range(head_offsets[head], head_offsets[head + 1]):
                third = head_indices[head_arc]
                mark = marks[third]
                if mark >> 2 == pivot:
                    counts[third] += near
                    opposite += mark & 3
                    total += head_ways[head_arc]
            read += head_offsets[head + 1] - head_offsets[head]
            counts[head] += opposite
        counts[pivot] += total
    return read


@jit
def support_edges(
    offsets: Integers,
    indices: Array,
    head_offsets: Integers,
    head_indices: Array,
    pivots: Integers,
    places: Integers,
    supports: Array,
    head_supports: Array,
) -> int:
    """Count for each edge its triangles whose least vertex is a pivot.

    Parameters
    ----------
    offsets, indices, head_offsets, head_indices, pivots
        See `count_triangles`.
    places : ndarray of int64, shape (vertices,)
        Scratch, −1 at first and at the end: the arc of the current pivot to each neighbour.
    supports : ndarray of int, shape (arcs,)
        By arc of the rows; added to.
    head_supports : ndarray of int, shape (head arcs,)
        By arc of the heads' rows; added to.  It may be the same array.

    Returns
    -------
    int
        Number of arcs read.
    """
    read = 0
    for pivot in pivots:
        begin, end = offsets[pivot], offsets[pivot + 1]
        for arc in range(begin, end):
            places[indices[arc]] = arc
        for arc in range(begin, end):
            head = indices[arc]
            common = 0
            for head_arc in range(head_offsets[head], head_offsets[head + 1]):
                place = places[head_indices[head_arc]]
                if place >= 0:
                    supports[place] += 1
                    head_supports[head_arc] += 1
                    common += 1
            read += head_offsets[head + 1] - head_offsets[head]
            supports[arc] += common
        for arc in range(begin, end):
            places[indices[arc]] = -1
    return read
