"""Breadth-first searches in batches of 64, with a bit for each.

A vertex has a word with a bit for each search, set if the search has reached it.  So one pass over
the edges serves all searches of the batch (Then et al.: The more the merrier, VLDB 2014).  On a single
CPU levels of few arcs follow each other in one call, on a single GPU all levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.algorithms.neighbourhood import Direction, Neighbourhood, listed_by_searches
from cugraph_ws.backends import loops
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.threads import number_of_threads

__all__ = ["WIDTH", "Levels", "searches", "searches_at_once", "searching"]

Array = Any  # NumPy's or CuPy's

WIDTH = 64  # searches in a batch
SEARCHES_A_THREAD = 4  # so that threads do not wait for the longest


def searching(sizes: Sizes) -> int:
    """Return the bytes of levels of searches on a GPU, beside the words of what is reached and of the frontier.

    Of a graph in parts, the words of a level and of its readers are there, or arcs are listed.
    """
    if not sizes.on_device:
        return 0
    if sizes.whole:
        levels: int = loops("batched_searches", on_device=True).memory(sizes.vertices, sizes.arcs)
        return levels
    return max(80 * sizes.vertices, 25 * sizes.vertices + 24 * listed_by_searches(sizes.arcs))


class Levels(NamedTuple):
    """Levels of searches: which vertices they reach.

    Attributes
    ----------
    first : int
        The first level, from 1.
    ends : ndarray of int64, shape (levels,)
        The end of each level in the other arrays.
    rows : array of int64
        Positions of the owned vertices that a search reaches in a level.
    words : array of int64
        For each of them, the searches that reach it: bit i is the one from the i-th start.
    """

    first: int
    ends: Any
    rows: Array
    words: Array

    @property
    def numbers(self) -> Any:
        """The number of each level; ndarray of int64, shape (levels,)."""
        return np.arange(self.first, self.first + len(self.ends))

    def counts(self, part: Part, width: int) -> Any:
        """Return how many vertices of each level the first searches reach.

        Parameters
        ----------
        part : Part
            Of the searches.
        width : int
            Number of searches.

        Returns
        -------
        ndarray of int64, shape (levels, width)
        """
        own_loops = loops("batched_searches", on_device=part.on_device)
        return own_loops.counts(self.words, self.ends, width)

    def add_to_vertices(
        self, part: Part, reached: Array, distances: Array, reciprocals: Array
    ) -> None:
        """Add to sums by vertex the searches that reach it, their distances, and the reciprocals of these.

        Parameters
        ----------
        part : Part
            Of the searches.
        reached, distances : array of int64, shape (size,)
        reciprocals : array of float64, shape (size,)
        """
        add = loops("batched_searches", on_device=part.on_device).add_to_vertices
        add(self.rows, self.words, self.ends, self.first, (reached, distances, reciprocals))


def searches(near: Neighbourhood, starts: Array, direction: Direction) -> Iterator[Levels]:
    """Search from up to 64 vertices at once, level by level; collective.

    Parameters
    ----------
    near : Neighbourhood
    starts : ndarray of int64
        Vertex numbers.
    direction : {"in", "out"}
        "in" for searches along the edges, "out" for those against them.

    Yields
    ------
    Levels
        One level, or several on a single CPU or GPU; the last has no vertices.  Its arrays are valid until
        the next.
    """
    owned_starts, rows = near.owned_among(starts)
    front = near.xp.zeros(near.part.size, np.int64)
    front[rows] = near.xp.asarray(np.int64(1) << owned_starts)
    reached, level = front.copy(), 0
    fused = None
    if near.part.halo.alone:
        against = direction == "out" and near.part.directed
        ways = near.part.csc if against else near.part.csr
        own_loops = loops("batched_searches", on_device=near.part.on_device)
        fused = own_loops.FusedLevels(ways, reached, front)
    while near.total(len(rows)):
        look()
        some = None if fused is None else fused.run(rows)
        if some is not None:
            ends, found, words, rows = some
            yield Levels(level + 1, ends, found, words)
            level += len(ends)
            continue
        changed = near.update(front, rows)
        readers = near.followers(changed, direction, or_all=True)
        words = near.words(front, direction, "or", readers)
        words &= ~reached[readers]
        look()
        front[changed] = 0
        new = near.xp.flatnonzero(words)
        del changed, rows
        rows, level = readers[new], level + 1
        del readers
        words = words[new]
        del new
        front[rows] = words
        reached[rows] |= words
        look()
        yield Levels(level, np.array([len(rows)]), rows, words)
        del words


def searches_at_once(most: int) -> int:
    """Return how many searches a step has on a single CPU, where each thread runs one at a time.

    Parameters
    ----------
    most : int
        Above that there is only one for each thread.
    """
    threads = number_of_threads()
    return max(threads, min(SEARCHES_A_THREAD * threads, most))
