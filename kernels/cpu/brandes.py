"""Brandes' algorithm from one source with a queue, in parts that can be interrupted.

`count_paths` is a breadth-first search that counts shortest paths; the queue is then the order of
levels, and `add_dependencies` reads it from its end.  Both follow out-arcs, so the arcs that are read
twice are the same ones.  Only `level` has to be cleared for the next source, by `clear`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["add_arcs", "add_dependencies", "add_scores", "clear", "count_paths"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@jit
def count_paths(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    level: npt.NDArray[np.int32],
    paths: Floats,
    share: Floats,
    queue: Array,
    place: npt.NDArray[np.int64],
    bounds: Floats,
    most: int,
) -> int:
    """Go on with a search until it ends, or has read at least `most` arcs.

    paths[w] = sum of paths[v] over the arcs (v, w) from the level before.  After a level with a count of
    at least `bounds[0]`, the counts of the next one are divided by their greatest, but not below
    `bounds[1]`.  The divisor of a level is left in `share` of the last vertex of its part of the queue.

    Parameters
    ----------
    offsets, indices : ndarray
        Rows of out-neighbours.
    level : ndarray of int32, shape (vertices,)
        -1 where a vertex is new; 0 for the source.
    paths, share : ndarray of float64, shape (vertices,)
        `paths` is 1 for the source.
    queue : ndarray of int, shape (vertices,)
        The source, then the vertices in the order of their levels.
    place : ndarray of int64, shape (4,)
        The next place of the queue to read, its length, the end of the level that is read, and whether
        that has a great count.
    bounds : ndarray of float64, shape (2,)
    most : int

    Returns
    -------
    int
        Arcs read.
    """
    head, tail, end, is_great = place[0], place[1], place[2], place[3]
    read = 0
    while head < tail and read < most:
        vertex = queue[head]
        following, count = level[vertex] + 1, paths[vertex]
        is_great |= count >= bounds[0]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbour = indices[arc]
            if level[neighbour] < 0:
                level[neighbour], paths[neighbour] = following, count
                queue[tail] = neighbour
                tail += 1
            elif level[neighbour] == following:
                paths[neighbour] += count
        read += offsets[vertex + 1] - offsets[vertex] + 1
        head += 1
        if head == end and tail > end:
            scale = 1.0
            if is_great:
                scale = 0.0
                for position in range(end, tail):
                    scale = max(scale, paths[queue[position]])
                for position in range(end, tail):
                    vertex = queue[position]
                    paths[vertex] = max(paths[vertex] / scale, bounds[1])
            share[queue[tail - 1]] = scale
            end, is_great = tail, 0
    place[0], place[1], place[2], place[3] = head, tail, end, is_great
    return read


@jit
def add_dependencies(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    level: npt.NDArray[np.int32],
    paths: Floats,
    share: Floats,
    dependency: Floats,
    queue: Array,
    place: npt.NDArray[np.int64],
    scale: Floats,
    most: int,
) -> int:
    """Go on with the dependencies until they are all there, or at least `most` arcs are read.

    dependency[v] = paths[v] * sum of share[w] over the arcs (v, w) to the level after, and
    share[w] = (1 + dependency[w]) / paths[w] / the divisor of the level.

    Parameters
    ----------
    offsets, indices, level, paths, share, queue
        As `count_paths` leaves them; `share` is written.
    dependency : ndarray of float64, shape (vertices,)
        Written for the vertices of the queue.
    place : ndarray of int64, shape (2,)
        How many vertices of the queue are to be read, and the level of the last one that was.
    scale : ndarray of float64, shape (1,)
        The divisor of that level.
    most : int

    Returns
    -------
    int
        Arcs read.
    """
    remaining, depth, divisor = place[0], place[1], scale[0]
    read = 0
    while remaining > 0 and read < most:
        remaining -= 1
        vertex = queue[remaining]
        if level[vertex] != depth:
            depth, divisor = level[vertex], share[vertex]
        total, following = 0.0, depth + 1
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if level[indices[arc]] == following:
                total += share[indices[arc]]
        depends = paths[vertex] * total
        dependency[vertex] = depends
        share[vertex] = (1.0 + depends) / paths[vertex] / divisor
        read += offsets[vertex + 1] - offsets[vertex] + 1
    place[0], place[1], scale[0] = remaining, depth, divisor
    return read


@jit
def add_scores(
    queue: Array, dependency: Floats, each: float, score: Floats, low: int, high: int
) -> None:
    """Add dependencies, and `each` of them more, to the scores of the vertices of a part of the queue."""
    for position in range(low, high):
        score[queue[position]] += dependency[queue[position]] + each


@jit
def add_arcs(
    offsets: npt.NDArray[np.int64],
    indices: Array,
    level: npt.NDArray[np.int32],
    paths: Floats,
    share: Floats,
    queue: Array,
    arcs: Floats,
    low: int,
    high: int,
) -> None:
    """Add to the arcs from the vertices of a part of the queue the paths through each: paths[v] * share[w].

    Parameters
    ----------
    offsets, indices, level, paths, share, queue
        As `add_dependencies` leaves them.
    arcs : ndarray of float64, shape (arcs,)
    low, high : int
    """
    for position in range(low, high):
        vertex = queue[position]
        count, following = paths[vertex], level[vertex] + 1
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if level[indices[arc]] == following:
                arcs[arc] += count * share[indices[arc]]


@jit
def clear(queue: Array, length: int, level: npt.NDArray[np.int32]) -> None:
    """Make the vertices of the queue new."""
    for position in range(length):
        level[queue[position]] = -1
