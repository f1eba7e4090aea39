"""Chooses owners such that few vertices have copies on other ranks (`docs/decisions/076`).

Clusters of neighbours are contracted until few are left, these are cut along a breadth-first order, and vertices at
the cut are moved while the clusters are taken apart again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.partition import breadth_first_order, lower_ghosts, propagate
from cugraph_ws.runtime.looks import look

__all__ = ["fewer_ghosts", "ghosts_of", "owner_of_groups"]

LOG = logging.getLogger("cugraph_ws")

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]

UNEVEN = 1.1  # the work of a part over the mean
WORTH = 0.5  # ghosts over those of ranges, above which ranges are kept
ENOUGH = 0.05  # ghosts over those of ranges, below which no further attempt is made
COARSE = 60  # clusters of the coarsest graph for each part
CLUSTERS = (5, 20, 40)  # clusters that a part has at least; each is tried
STARTS = 4  # breadth-first orders that are tried on the coarsest graph


@dataclass
class _Rows:
    """Rows of neighbours without self-loops."""

    offsets: Numbers
    indices: Numbers
    weights: Numbers

    @classmethod
    def of(cls, tails: Array, heads: Array, size: int, weights: Array | None = None) -> _Rows:
        """Return rows of distinct heads by tail, with sums of weights or the number of parallel arcs."""
        apart = tails != heads
        keys = tails[apart].astype(np.int64) * size + heads[apart]
        look()
        if weights is None:
            distinct, sums = np.unique(keys, return_counts=True)
        else:
            distinct, which = np.unique(keys, return_inverse=True)
            sums = np.zeros(len(distinct), np.int64)
            np.add.at(sums, which, weights[apart])
        look()
        offsets = np.searchsorted(distinct, np.arange(size + 1, dtype=np.int64) * size)
        return cls(offsets.astype(np.int64), distinct % max(size, 1), sums.astype(np.int64))

    @property
    def by_degree(self) -> Numbers:
        """The vertices, those of low degree first."""
        return np.argsort(np.diff(self.offsets), kind="stable")

    @property
    def tails(self) -> Numbers:
        """The row of each neighbour."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def ghosts_of(sources: Array, destinations: Array, owner: Array, parts: int) -> int:
    """Count the copies that parts hold of other parts' vertices.

    Parameters
    ----------
    sources, destinations : ndarray of int, shape (arcs,)
        Vertex numbers; a part holds a copy of the source of every arc into it.
    owner : ndarray of int, shape (vertices,)
    parts : int

    Returns
    -------
    int
    """
    cut = owner[sources] != owner[destinations]
    copies = np.zeros(len(owner) * parts, np.bool_)
    copies[sources[cut].astype(np.int64) * parts + owner[destinations[cut]]] = True
    return int(np.count_nonzero(copies))


def fewer_ghosts(
    sources: Array, destinations: Array, work: Numbers, cuts: Numbers
) -> Numbers | None:
    """Cut a graph into parts of about equal work such that they hold few copies of others' vertices.

    Parameters
    ----------
    sources, destinations : ndarray of int, shape (arcs,)
        Vertex numbers.
    work : ndarray of int64, shape (vertices,)
        The work of each vertex.
    cuts : ndarray of int64, shape (parts + 1,)
        Ranges of numbers of about equal work, which are kept if nothing much better is known.

    Returns
    -------
    ndarray of int64, shape (vertices,), or None
        The part of each vertex; None to keep the ranges.
    """
    parts, size = len(cuts) - 1, len(work)
    if parts == 1 or not len(sources):
        return None

    def ghosts(owner: Numbers) -> int:
        return ghosts_of(sources, destinations, owner, parts)

    ends = np.concatenate([sources, destinations]), np.concatenate([destinations, sources])
    rows, limit = _Rows.of(*ends, size), int(UNEVEN * int(work.sum()) / parts)
    out, into = _Rows.of(sources, destinations, size), _Rows.of(destinations, sources, size)
    before = ghosts(np.repeat(np.arange(parts), np.diff(cuts)))
    best, least = None, int(WORTH * before)
    for clusters in CLUSTERS:
        levels = _coarser(rows, work, parts, int(work.sum()) // (parts * clusters))
        for owner in _first_cuts(*levels[-1][:2], parts, limit):
            for finer_rows, finer_work, label_of in reversed(levels[:-1]):
                owner = owner[label_of]
                _improve(finer_rows, finer_work, owner, parts, limit)
                look()
            sizes = np.bincount(owner, work, minlength=parts).astype(np.int64)
            lower_ghosts(
                out.offsets, out.indices, into.offsets, into.indices, work, into.by_degree, owner,
                sizes, limit, 20,
            )  # fmt: skip
            look()
            count = ghosts(owner)
            if count < least:
                best, least = owner, count
            if count < ENOUGH * before:
                return owner
        if best is None:  # further attempts would find no structure either
            LOG.info(
                "cut='arcs': vertices are divided by ranges of ids, since no division halves the messages"
            )
            return None
    return best


def _coarser(
    rows: _Rows, work: Numbers, parts: int, most: int
) -> list[tuple[_Rows, Numbers, Numbers]]:
    """Contract clusters of at most a given work until few are left.

    Returns
    -------
    list of (rows, work, labels)
        The graph, then coarser ones; `labels` has the vertex of the next one for each vertex.
    """
    levels = []
    while len(work) > COARSE * parts:
        labels, sizes = np.arange(len(work)), work.copy()
        propagate(
            rows.offsets, rows.indices, rows.weights, work, rows.by_degree, labels, sizes, most, 3
        )
        look()
        used, label_of = np.unique(labels, return_inverse=True)
        if len(used) > 0.95 * len(work):
            break
        levels.append((rows, work, label_of))
        rows = _Rows.of(label_of[rows.tails], label_of[rows.indices], len(used), rows.weights)
        work = np.bincount(label_of, work).astype(np.int64)
        look()
    return [*levels, (rows, work, np.arange(len(work)))]


def _improve(rows: _Rows, work: Numbers, owner: Numbers, parts: int, limit: int) -> None:
    """Move vertices between parts, in place."""
    sizes = np.bincount(owner, work, minlength=parts).astype(np.int64)
    propagate(
        rows.offsets, rows.indices, rows.weights, work, rows.by_degree, owner, sizes, limit, 10
    )


def _first_cuts(rows: _Rows, work: Numbers, parts: int, limit: int) -> list[Numbers]:
    """Cut a small graph along breadth-first orders; return the distinct cuts."""
    size, cuts = len(work), {}
    for attempt in range(STARTS):
        start, order = attempt * size // STARTS, np.empty(size, np.int64)
        for _ in range(2):  # the second search begins where the first one ends
            reached = np.zeros(size, np.bool_)
            count = breadth_first_order(rows.offsets, rows.indices, start, order, reached)
            start = int(order[count - 1])
            owner, middles = np.empty(size, np.int64), np.cumsum(work[order]) - work[order] // 2
            owner[order] = np.minimum(middles * parts // max(1, int(work.sum())), parts - 1)
            _improve(rows, work, owner, parts, limit)
            cuts[owner.tobytes()] = owner
            look()
    return list(cuts.values())


def owner_of_groups(codes: Numbers, work: Numbers, parts: int) -> Numbers:
    """Give groups of vertices to parts: the group of most work first, to the part with the least.

    Parameters
    ----------
    codes : ndarray of int64, shape (vertices,)
        The group of each vertex, from 0.
    work : ndarray of int64, shape (vertices,)
    parts : int

    Returns
    -------
    ndarray of int64, shape (vertices,)
    """
    works = np.bincount(codes, work).astype(np.int64)
    part_of, sums = np.zeros(len(works), np.int64), np.zeros(parts, np.int64)
    for group in np.argsort(-works, kind="stable").tolist():
        part_of[group] = part = int(sums.argmin())
        sums[part] += works[group]
    return part_of[codes]
