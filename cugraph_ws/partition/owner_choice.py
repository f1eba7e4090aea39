"""Chooses owners such that few vertices have copies on other ranks (`docs/decisions/076`).

Clusters of neighbours are contracted until few are left, these are cut along a breadth-first order, and vertices at
the cut are moved while the clusters are taken apart again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.owners import ListedOwners, Owners
from cugraph_ws.kernels.cpu.partition import breadth_first_order, lower_ghosts, propagate
from cugraph_ws.partition.range_offsets import balanced_cuts, check_weights
from cugraph_ws.partition.shuffle import Shuffle
from cugraph_ws.partition.vertices import ShardVertices
from cugraph_ws.runtime.communicator import Communicator, attempt, total
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.memory import available_memory

__all__ = ["chosen_owners", "fewer_ghosts", "ghosts_of", "owner_of_groups", "relative_work"]

LOG = logging.getLogger("cugraph_ws")

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]

UNEVEN = 1.1  # the work of a part over the mean
WORTH = 0.5  # ghosts over those of ranges, above which ranges are kept
ENOUGH = 0.05  # ghosts over those of ranges, below which no further attempt is made
COARSE = 60  # clusters of the coarsest graph for each part
CLUSTERS = (5, 20, 40)  # clusters that a part has at least; each is tried
ROOM_OF_ARC = 160  # bytes on the rank that chooses owners by all arcs
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
    for number in range(STARTS):
        start, order = number * size // STARTS, np.empty(size, np.int64)
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


def relative_work(cut: str | Sequence[float], ranks: int) -> Sequence[float] | None:
    """Return the relative work of the ranks' ranges, None if it is equal, or refuse it."""
    weights = None if isinstance(cut, str) else cut
    check_weights(weights, ranks)
    return weights


def chosen_owners(
    comm: Communicator, cut: str | Sequence[float], vertices: ShardVertices, shuffle: Shuffle
) -> Owners:
    """Return which vertices each rank owns; collective."""
    cuts = balanced_cuts(comm, vertices.size, shuffle.targets(), relative_work(cut, comm.size))
    owner: Array | None = None
    if comm.size > 1 and isinstance(cut, str) and cut != "ranges":
        work = shuffle.work(comm, vertices.size)
        if cut == "arcs":
            owner = _by_arcs(comm, work, shuffle, cuts)
        else:
            owner = owner_of_groups(vertices.groups_of(cut, "cut"), work, comm.size)
    return Owners(cuts, comm.rank) if owner is None else ListedOwners(owner, cuts, comm.rank)


def _by_arcs(comm: Communicator, work: Array, shuffle: Shuffle, cuts: Array) -> Array | None:
    """Return the owners that rank 0 chooses of all arcs, if they fit in its memory; collective."""
    sources, destinations = shuffle.arcs()
    room = available_memory() if comm.room is None else comm.room
    fits = comm.allgather(room)[0] >= ROOM_OF_ARC * total(comm, len(sources))
    if not fits:
        LOG.info(
            "cut='arcs': vertices are divided by ranges of ids, since the arcs do not fit on one worker"
        )
        return None
    nothing = [np.empty(0, sources.dtype)] * 2
    to_first = [[sources, destinations], *[nothing] * (comm.size - 1)]
    received = comm.alltoall(to_first)

    def choose() -> Array | None:
        if comm.rank:
            return None
        all_sources, all_destinations = map(np.concatenate, zip(*received, strict=True))
        return fewer_ghosts(all_sources, all_destinations, work, cuts)

    owner = attempt(comm, choose)
    chosen = np.empty(0, np.int64) if owner is None else owner
    shown = chosen.astype(np.min_scalar_type(comm.size))
    buffers = [[shown if comm.rank == 0 else shown[:0]]] * comm.size
    (of_all,) = comm.alltoall(buffers)[0]
    return of_all if len(of_all) else None
