"""Shuffles arcs to the owners of their destinations, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.owners import Owners
from cugraph_ws.partition.range_offsets import VERTEX_WORK
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["Shuffle"]

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


class Shuffle:
    """The shuffle of one rank's arcs: which rank each is sent to, and in which order.

    Every rank receives arcs in the order of the whole frame's rows.  An undirected edge is two
    arcs, one to its destination and one to its source; an undirected self-loop is one arc.

    Parameters
    ----------
    sources, destinations : ndarray of integers, shape (rows,)
        Vertex numbers of this rank's rows, partition by partition.
    starts : ndarray of int64, shape (partitions + 1,)
        The first row of each of this rank's partitions, then the number of rows.
    places : sequence of int
        The place in the whole frame of each of this rank's partitions.
    loops : bool
        Whether self-loops are sent.
    directed : bool
    """

    def __init__(
        self,
        sources: Array,
        destinations: Array,
        starts: Numbers,
        places: Sequence[int],
        loops: bool,
        directed: bool,
    ) -> None:
        self._sources, self._destinations = sources, destinations
        self._starts, self._places = starts, np.array(places, np.int64)
        self._loops, self._directed = loops, directed
        self._order: Array = np.empty(
            0, np.int64
        )  # arcs in the order sent: 2 · row, or 2 · row + 1 for the arc back to the source
        self._bounds: list[int] = []
        self._senders: list[Numbers] = []

    def targets(self) -> list[Array]:
        """Return the destinations of this rank's arcs."""
        if self._directed and self._loops:
            return [self._destinations]
        apart = self._sources != self._destinations
        to = self._destinations if self._loops else self._destinations[apart]
        return [to] if self._directed else [to, self._sources[apart]]

    def arcs(self) -> tuple[Array, Array]:
        """Return the sources and destinations of this rank's arcs."""
        if self._directed:
            return self._sources, self._destinations
        return (
            np.concatenate([self._sources, self._destinations]),
            np.concatenate([self._destinations, self._sources]),
        )

    def work(self, comm: Communicator, size: int) -> Numbers:
        """Return the work of each of all vertices; collective."""
        degrees = np.zeros(size, np.int64)
        for numbers in self.targets():
            degrees += np.bincount(numbers, minlength=size)
        received = comm.alltoall([[degrees]] * comm.size)
        everyone: Numbers = np.sum([buffer[0] for buffer in received], axis=0) + VERTEX_WORK
        return everyone

    def aim(self, comm: Communicator, owners: Owners) -> int:
        """Choose the order in which arcs are sent to owners; collective.

        Parameters
        ----------
        comm : Communicator
        owners : Owners
            Which rank owns which vertices.

        Returns
        -------
        int
            Number of arcs that this rank will receive.
        """
        if self._loops:
            rows = np.arange(len(self._sources))
        else:
            rows = np.flatnonzero(self._sources != self._destinations)
        if self._directed:
            targets = self._destinations if self._loops else self._destinations[rows]
            arcs = 2 * rows
        else:
            ends = np.stack([self._destinations[rows], self._sources[rows]], axis=1)
            arcs = np.stack([2 * rows, 2 * rows + 1], axis=1)
            once = np.ones(ends.shape, np.bool_)
            once[:, 1] = ends[:, 0] != ends[:, 1]
            targets, arcs = ends[once], arcs[once]
            del ends, once
        del rows
        order, counted = _by_owner(targets, owners, comm.size)
        self._bounds = [0, *np.cumsum(counted).tolist()]
        self._order = arcs[order]
        starts = 2 * self._starts
        buffers = []
        for first, last in pairwise(self._bounds):
            counts = np.diff(np.searchsorted(self._order[first:last], starts))
            buffers.append([np.stack([self._places, counts])])
        self._senders = [sender for (sender,) in comm.alltoall(buffers)]
        return int(sum(sender[1].sum() for sender in self._senders))

    def send(self, comm: Communicator, column: Array) -> Array:
        """Send the values of an edge column along the arcs; collective.

        Parameters
        ----------
        comm : Communicator
        column : ndarray, shape (rows,)

        Returns
        -------
        ndarray
            The values received, in the order of the whole frame's rows.
        """
        return self._exchange(comm, column[self._order >> 1])

    def send_ends(self, comm: Communicator) -> tuple[Array, Array]:
        """Send the endpoints of arcs, and release those of this rank's rows; collective.

        Returns
        -------
        sources, destinations : ndarray
            Of the dtype of this rank's rows.  In an arc from an undirected edge's destination back
            to its source v, the destination is marked as ~v.
        """
        rows = self._order >> 1
        tails, heads = self._sources[rows], self._destinations[rows]
        del rows
        if not self._directed:
            back = (self._order & 1).astype(np.bool_)
            tails, heads = np.where(back, heads, tails), np.where(back, ~tails, heads)
            del back
        self._order = self._sources = self._destinations = np.empty(0, np.int64)
        sources = self._exchange(comm, tails)
        del tails
        return sources, self._exchange(comm, heads)

    def _exchange(self, comm: Communicator, arcs: Array) -> Array:
        """Send a value of every arc; return those received, in the order of the whole frame."""
        buffers = [[arcs[first:last]] for first, last in pairwise(self._bounds)]
        pieces = []
        for rank, (received,) in enumerate(comm.alltoall(buffers)):
            places, counts = self._senders[rank]
            ends = np.cumsum(counts)
            pieces += [
                (place, rank, which, received[end - count : end])
                for which, (place, count, end) in enumerate(zip(places, counts, ends, strict=True))
            ]
        pieces.sort(key=lambda piece: piece[:3])
        return np.concatenate([arcs[:0], *(piece[3] for piece in pieces)])


def _by_owner(numbers: Array, owners: Owners, ranks: int) -> tuple[Array, list[int]]:
    """Group vertices by owner, stably; return their places, and the count of each owner."""
    small = (
        np.uint8 if ranks <= 255 else np.int64
    )  # NumPy sorts small integers by radix: linear time
    owner = owners.of(numbers).astype(small)
    order = np.argsort(owner, kind="stable")
    return order, np.bincount(owner, minlength=ranks).tolist()
