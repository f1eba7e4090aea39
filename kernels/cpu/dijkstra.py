"""Shortest paths from one source by lengths, on one CPU, in parts that can be interrupted.

`nearest_first` is Dijkstra's algorithm with a heap of four children a node, in which a vertex has one
place.  Its order of vertices then serves `count_paths` and `add_dependencies`, as a queue of levels
does in `brandes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit

__all__ = [
    "add_arcs_by_length",
    "add_dependencies_by_length",
    "add_distances",
    "clear_distances",
    "count_paths_by_length",
    "nearest_first",
    "sum_distances",
]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@inline
def _rise(heap: Array, slot: Array, distance: Floats, child: int) -> None:
    """Move an entry of the heap up to where none above it is farther."""
    vertex = heap[child]
    length = distance[vertex]
    while child > 0:
        parent = (child - 1) // 4
        above = heap[parent]
        if distance[above] <= length:
            break
        heap[child], slot[above] = above, child
        child = parent
    heap[child], slot[vertex] = vertex, child


@inline
def _sink(heap: Array, slot: Array, distance: Floats, size: int) -> None:
    """Move the first entry of the heap down to where none below it is nearer."""
    vertex, parent = heap[0], 0
    length = distance[vertex]
    while True:
        first = 4 * parent + 1
        if first >= size:
            break
        child = first
        for other_child in range(first + 1, min(first + 4, size)):
            if distance[heap[other_child]] < distance[heap[child]]:
                child = other_child
        below = heap[child]
        if distance[below] >= length:
            break
        heap[parent], slot[below] = below, parent
        parent = child
    heap[parent], slot[vertex] = vertex, parent


@jit
def nearest_first(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    lengths: Floats,
    distance: Floats,
    heap: Array,
    slot: Array,
    order: Array,
    place: npt.NDArray[np.int64],
    most: int,
) -> int:
    """Go on with a search until it ends, or has read at least `most` arcs.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of the neighbours that a path goes on to.
    lengths : ndarray of float64, shape (arcs,)
        0 or more.
    distance : ndarray of float64, shape (vertices,)
        Infinite where a vertex is new, 0 for the source.
    heap, slot : ndarray of int, shape (vertices,)
        The vertices that are reached and not final, and the place of each in `heap`.
    order : ndarray of int, shape (vertices,)
        The final vertices, by distance.
    place : ndarray of int64, shape (2,)
        Number of entries of `heap`, and of `order`.
    most : int

    Returns
    -------
    int
        Arcs read.
    """
    size, final, read = place[0], place[1], 0
    while size > 0 and read < most:
        vertex = heap[0]
        order[final] = vertex
        final += 1
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            _sink(heap, slot, distance, size)
        start = distance[vertex]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbour = indices[arc]
            length = start + lengths[arc]
            if length < distance[neighbour]:
                if distance[neighbour] == np.inf:
                    heap[size], slot[neighbour] = neighbour, size
                    size += 1
                distance[neighbour] = length
                _rise(heap, slot, distance, slot[neighbour])
        read += offsets[vertex + 1] - offsets[vertex] + 1
    place[0], place[1] = size, final
    return read


@jit
def count_paths_by_length(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    lengths: Floats,
    distance: Floats,
    paths: Floats,
    order: Array,
    low: int,
    high: int,
) -> bool:
    """Send the numbers of paths of a part of the order on: paths[w] += paths[v] where (v, w) is tight.

    An arc is tight if distance[v] + its length is distance[w].

    Parameters
    ----------
    offsets, indices, lengths, distance, order
        As `nearest_first` leaves them.
    paths : ndarray of float64, shape (vertices,)
        0 but for the source, at first.
    low, high : int
        The part of the order.

    Returns
    -------
    bool
        Whether each tight arc leads to a greater distance; if not, the order does not say which of the
        two ends comes first.
    """
    is_ordered = True
    for position in range(low, high):
        vertex = order[position]
        start, count = distance[vertex], paths[vertex]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            end = distance[indices[arc]]
            if start + lengths[arc] == end:
                is_ordered &= end > start
                paths[indices[arc]] += count
    return is_ordered


@jit
def add_dependencies_by_length(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    lengths: Floats,
    distance: Floats,
    paths: Floats,
    share: Floats,
    dependency: Floats,
    order: Array,
    low: int,
    high: int,
) -> None:
    """Compute the dependencies of a part of the order, whose rest is done, from its end.

    dependency[v] = paths[v] * sum of share[w] over the tight arcs (v, w), and
    share[w] = (1 + dependency[w]) / paths[w].

    Parameters
    ----------
    offsets, indices, lengths, distance, paths, order
        As `count_paths_by_length` leaves them.
    share, dependency : ndarray of float64, shape (vertices,)
        Written for the vertices of the part.
    low, high : int
    """
    for position in range(high - 1, low - 1, -1):
        vertex = order[position]
        start, total = distance[vertex], 0.0
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if start + lengths[arc] == distance[indices[arc]]:
                total += share[indices[arc]]
        depends = paths[vertex] * total
        dependency[vertex] = depends
        share[vertex] = (1.0 + depends) / paths[vertex]


@jit
def add_arcs_by_length(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    lengths: Floats,
    distance: Floats,
    paths: Floats,
    share: Floats,
    order: Array,
    arcs: Floats,
    low: int,
    high: int,
) -> None:
    """Add to the arcs from the vertices of a part of the order the paths through each: paths[v] * share[w].

    Parameters
    ----------
    offsets, indices, lengths, distance, paths, share, order
        As `add_dependencies_by_length` leaves them.
    arcs : ndarray of float64, shape (arcs,)
    low, high : int
    """
    for position in range(low, high):
        vertex = order[position]
        start, count = distance[vertex], paths[vertex]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if start + lengths[arc] == distance[indices[arc]]:
                arcs[arc] += count * share[indices[arc]]


@jit
def clear_distances(order: Array, length: int, distance: Floats, paths: Floats) -> None:
    """Make the vertices of the order new."""
    for position in range(length):
        distance[order[position]], paths[order[position]] = np.inf, 0.0


@jit
def sum_distances(order: Array, length: int, distance: Floats, sums: Floats) -> None:
    """Add up what a search has reached besides its source, and make the vertices new.

    Parameters
    ----------
    order, distance
        As `nearest_first` leaves them; the source is first.
    length : int
        Number of vertices of the order.
    sums : ndarray of float64, shape (3,)
        Written: number of vertices, sum of their distances, and of the reciprocals of those above 0.
    """
    total, reciprocals = 0.0, 0.0
    for position in range(1, length):
        far = distance[order[position]]
        total += far
        if far > 0.0:
            reciprocals += 1.0 / far
    for position in range(length):
        distance[order[position]] = np.inf
    sums[0], sums[1], sums[2] = length - 1.0, total, reciprocals


@jit
def add_distances(
    order: Array,
    length: int,
    distance: Floats,
    reached: Array,
    distances: Floats,
    reciprocals: Floats,
) -> None:
    """Add to the sums of each vertex what `sum_distances` adds up, and make the vertices new.

    Parameters
    ----------
    order, length, distance
        As for `sum_distances`.
    reached : ndarray of int64, shape (vertices,)
    distances, reciprocals : ndarray of float64, shape (vertices,)
    """
    for position in range(length):
        vertex = order[position]
        far = distance[vertex]
        distance[vertex] = np.inf
        if position > 0:
            reached[vertex] += 1
            distances[vertex] += far
            if far > 0.0:
                reciprocals[vertex] += 1.0 / far
