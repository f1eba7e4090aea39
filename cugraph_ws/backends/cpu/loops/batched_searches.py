"""Searches with a bit for each on a CPU; see `cugraph_ws.algorithms.batched_searches`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.word_searches import add_levels, count_levels, follow
from cugraph_ws.runtime.launch_times import note_bytes

__all__ = ["FusedLevels", "add_to_vertices", "counts"]

Array = npt.NDArray[Any]

SMALL = 1 << 17  # arcs of a frontier, above which all cores read its neighbours' rows
ROOM = 1 << 18  # vertices of the levels of a call
LEVELS = 1 << 12  # of a call


class FusedLevels:
    """Levels of few arcs of a whole graph, many in one call.

    Parameters
    ----------
    rows : Adjacency
        Rows of the neighbours to which searches go on.
    reached : ndarray of int64, shape (size,)
        Bits of the searches that have reached a vertex.
    front : ndarray of int64, shape (size,)
        Bits of the searches whose frontier a vertex is in, else 0.
    """

    def __init__(self, rows: Any, reached: Array, front: Array) -> None:
        self._rows, self._reached, self._front = rows, reached, front
        room = min(ROOM, 2 * len(reached) + SMALL)
        self._vertices, self._words = np.empty((2, room), np.int64)
        self._ends = np.empty(LEVELS, np.int64)

    def run(self, frontier: Array) -> tuple[Array, Array, Array, Array] | None:
        """Search on from a frontier while it is small; None if it is not.

        Parameters
        ----------
        frontier : ndarray of int64

        Returns
        -------
        ends : ndarray of int64, shape (levels,)
            The end of each level in the next two.
        vertices, words : ndarray of int64
            The vertices that searches reach, and the bits of these searches; valid until the next call.
        frontier : ndarray of int64
            The last level.
        """
        offsets, indices = self._rows.offsets, self._rows.indices
        arcs = int((offsets[frontier + 1] - offsets[frontier]).sum())
        count = len(frontier)
        if arcs > SMALL or count + arcs > len(self._vertices):
            return None
        self._vertices[:count], self._words[:count] = frontier, self._front[frontier]
        self._front[frontier] = 0
        sizes = np.array([0, count, arcs])
        levels = follow(
            offsets, indices, self._reached, self._front, self._vertices, self._words, self._ends,
            sizes, SMALL,
        )  # fmt: skip
        note_bytes(math.nan)  # several levels, of which only the vertices are counted
        begin, end = sizes[0], sizes[1]
        following = self._vertices[begin:end].copy()
        self._front[following] = self._words[begin:end]
        ends = self._ends[:levels] - count
        return ends, self._vertices[count:end], self._words[count:end], following


def counts(words: Array, ends: Array, width: int) -> Array:
    """Return how many vertices of each level each of the first searches reaches.

    Parameters
    ----------
    words : ndarray of int64
    ends : ndarray of int64, shape (levels,)
    width : int
        Number of searches.

    Returns
    -------
    ndarray of int64, shape (levels, width)
    """
    totals = np.zeros((len(ends), width), np.int64)
    count_levels(words, 0, ends, totals)
    return totals


def add_to_vertices(
    vertices: Array, words: Array, ends: Array, first: int, sums: tuple[Array, Array, Array]
) -> None:
    """Add what each level reaches to three sums by vertex.

    Parameters
    ----------
    vertices, words : ndarray of int64
    ends : ndarray of int64, shape (levels,)
    first : int
        Distance of the first level.
    sums : tuple of ndarray, each of shape (size,)
        Searches that reach a vertex, their distances, and the reciprocals of these.
    """
    add_levels(vertices, words, 0, ends, first, *sums)
