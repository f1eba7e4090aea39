"""Breadth-first searches in batches of 64, with a bit for each.

A vertex has a word with a bit for each search, set if the search has reached it.  So one pass over
the edges serves all searches of the batch (Then et al.: The more the merrier, VLDB 2014).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cugraph_ws.algorithms.neighbourhood import Direction, Neighbourhood
from cugraph_ws.runtime.looks import look

__all__ = ["WIDTH", "counts_of_bits", "searches"]

Array = Any  # NumPy's or CuPy's

WIDTH = 64  # searches in a batch
ON_HOST, ON_DEVICE = 1 << 15, 1 << 18  # most words that are unpacked at a time


def searches(near: Neighbourhood, starts: Array, direction: Direction) -> Iterator[Any]:
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
    level : int
        From 1 on; the last has no vertices.
    rows : array of int64
        Positions of the owned vertices that a search reaches in this level.
    words : array of int64
        For each of them, the searches that reach it: bit i is the one from `starts[i]`.
    """
    owned_starts, rows = near.owned_among(starts)
    front = near.xp.zeros(near.part.size, np.int64)
    front[rows] = near.xp.asarray(np.int64(1) << owned_starts)
    reached, level = front.copy(), 0
    while near.total(len(rows)):
        changed = near.update(front, rows)
        readers = near.followers(changed, direction)
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
        yield level, rows, words
        del words


def counts_of_bits(xp: Any, words: Array, axis: int) -> Array:
    """Return how many of 64 bits are set in each word, or in how many words each bit is.

    Words are unpacked to a byte for each bit, so only some are at a time.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    words : array of int64, shape (words,)
    axis : {0, 1}
        1 for the bits of each word, 0 for the words of each bit.

    Returns
    -------
    array of int64, shape (words,) or (64,)
    """
    most = ON_HOST if xp is np else ON_DEVICE
    counts = []
    for low in range(0, max(1, len(words)), most):
        bits = xp.unpackbits(words[low : low + most].view(np.uint8), bitorder="little")
        counts.append(bits.reshape(-1, WIDTH).sum(axis=axis, dtype=np.int64))
        look()
    return xp.concatenate(counts) if axis else sum(counts)
