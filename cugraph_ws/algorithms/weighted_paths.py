"""Weighted shortest paths from a batch of vertices: distances, and orders along the paths.

Arrays have a row for each position and a column for each source.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.algorithms.neighbourhood import Direction, Neighbourhood
from cugraph_ws.errors import InputError
from cugraph_ws.runtime.arrays import all_true, any_true
from cugraph_ws.runtime.looks import look

__all__ = ["distances_from", "levels_of", "refuse_inexact", "too_many_paths"]

Array = Any  # NumPy's or CuPy's

EXACT = 2.0**53  # integers below it are exact in float64


def distances_from(
    near: Neighbourhood, sources: Array, direction: Direction, weight: str
) -> tuple[Array, int]:
    """Compute distances by label correction: a vertex whose distance falls updates its neighbours.

    Parameters
    ----------
    near : Neighbourhood
    sources : ndarray of int64
        Vertex numbers.
    direction : {"in", "out"}
        Which neighbours' distances a vertex reads: "in" for paths from the sources, "out" for paths to them.
    weight : str
        Edge column of lengths, 0 or more.

    Returns
    -------
    distances : array of float64, shape (size, len(sources))
        Infinite where there is no path; valid for ghosts too.
    read : int
        Number of rows read.

    Raises
    ------
    InputError
        If weights are integers, and a path is too long for a float64 to hold its length exactly.
    """
    xp = near.xp
    owned_sources, rows = near.owned_among(sources)
    distances = near.filled((near.part.size, len(sources)), np.inf, np.float64)
    distances[rows, xp.asarray(owned_sources)] = 0.0
    rows, read = xp.unique(rows), 0
    while near.total(len(rows)):
        changed = near.update(distances, rows)
        readers = near.followers(changed, direction)
        nearest = near.nearest(distances, direction, readers, weight)
        look()
        own_distances = distances[readers]
        look()
        falls = nearest < own_distances
        look()
        nearer = xp.flatnonzero(falls.any(axis=1))
        look()
        rows, nearest = readers[nearer], nearest[nearer]
        look()
        own_distances = own_distances[nearer]
        look()
        nearest = xp.minimum(nearest, own_distances)
        look()
        distances[rows] = nearest
        read += len(readers)
    if near.part.graph.edge_dtype(weight).kind in "iu":
        owned = distances[: near.part.owned]
        if near.total(any_true((owned >= EXACT) & (owned < np.inf))):
            raise _inexact(weight)
    return distances, read


def refuse_inexact(near: Neighbourhood, greatest: float) -> None:
    """Raise an error if edges have integer lengths, and the greatest distance is one that a float64 cannot hold.

    Parameters
    ----------
    near : Neighbourhood
        Of a whole graph.
    greatest : float

    Raises
    ------
    InputError
    """
    weight = str(near.part.graph.weight)
    if greatest >= EXACT and near.part.graph.edge_dtype(weight).kind in "iu":
        raise _inexact(weight)


def _inexact(weight: str) -> InputError:
    """Return the error for a path along edges of integer lengths that a float64 cannot hold."""
    return InputError(
        f"column {weight!r}: a path is 2**53 or longer, where lengths are no longer exact; scale the "
        "weights down, or give them as floats, whose sums are rounded"
    )


def too_many_paths() -> InputError:
    """Return the error for numbers of shortest paths beyond a float64."""
    return InputError(
        "there are more shortest paths than a float64 can count (1.8e308); use weighted=False"
    )


def levels_of(
    near: Neighbourhood, sources: Array, distances: Array, weight: str
) -> tuple[Array, Array, list[Array]]:
    """Order vertices so that all those before a vertex on shortest paths are at lower levels.

    Parameters
    ----------
    near : Neighbourhood
    sources : ndarray of int64
        Vertex numbers.
    distances : array of float64, shape (size, len(sources))
        Distances from the sources; lengths must be above 0.
    weight : str
        Edge column of lengths.

    Returns
    -------
    levels : array of int32, shape (size, columns)
        Greatest number of edges of a shortest path from the source; 0 for the source, −1 if there is
        no path.  Entries of ghosts are undefined.
    paths : array of float64, shape (size, columns)
        Numbers of shortest paths; valid for ghosts too.
    stack : list of array of int64
        The owned positions that have each level in some column.

    Raises
    ------
    InputError
        If there are more paths than a float64 can count, or a length is too small to change a distance.
    """
    part, xp = near.part, near.xp
    marks = (distances < np.inf).astype(np.float64)
    waiting = near.tight(marks, distances, "in", near.own, weight)
    look()
    levels = near.filled(distances.shape, -1, np.int32)
    paths = xp.zeros(distances.shape)
    front = xp.zeros(distances.shape)
    owned_sources, rows = near.owned_among(sources)
    at = rows, xp.asarray(owned_sources)
    levels[at], paths[at], front[at] = 0, 1.0, 1.0
    rows, stack = xp.unique(rows), []
    while near.total(len(rows)):
        stack.append(rows)
        changed = near.update(front, rows)
        near.update(paths, rows)
        readers = near.followers(changed, "in")
        arcs = near.tight(front, distances, "in", readers, weight)
        look()
        front[changed] = 0.0
        look()
        waiting[readers] -= arcs
        look()
        final = waiting[readers] == 0.0
        look()
        final &= arcs > 0.0
        look()
        ready = xp.flatnonzero(final.any(axis=1))
        rows, final = readers[ready], final[ready]
        counts = near.tight(paths, distances, "in", rows, weight)
        look()
        counts = xp.where(final, counts, paths[rows])
        look()
        paths[rows] = counts
        look()
        levels[rows] = xp.where(final, len(stack), levels[rows])
        look()
        front[rows] = final
    owned = slice(0, part.owned)
    if near.total(not all_true(xp.isfinite(paths))):
        raise too_many_paths()
    if near.total(any_true((distances[owned] < np.inf) & (levels[owned] < 0))):
        raise InputError(
            f"column {weight!r}: some weights are too small to change a distance; scale or round them"
        )
    return levels, paths, stack
