"""What the loops of a crew send: whatever has changed, to whoever holds it, and how much that was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.shard import ShardGraph

__all__ = ["Post"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Post:
    """Carries news over the boundaries of one share, and counts bytes; all of it together.

    Parameters
    ----------
    shard : ShardGraph
        The own share.
    """

    def __init__(self, shard: ShardGraph) -> None:
        self._shard = shard
        self._crew = shard.crew
        self._sent = 0  # bytes, since they were last asked for

    def exchange(self, boxes: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Give every member arrays of its own; see `Crew.alltoall`."""
        away = [box for rank, box in enumerate(boxes) if rank != self._crew.rank]
        self._sent += sum(array.nbytes for box in away for array in box)
        return self._crew.alltoall(boxes)

    def refresh(self, column: Array) -> None:
        """Bring all ghosts up to date; see `ShardGraph.refresh`."""
        self._sent += column.itemsize * sum(map(len, self._shard.boundaries))
        self._shard.refresh(column)

    def fetch(self, column: Array, numbers: Integers) -> Array:
        """Read entries of any vertices; see `ShardGraph.fetch`."""
        low, high = self._shard.low, self._shard.low + self._shard.owned
        away = np.unique(numbers[(numbers < low) | (numbers >= high)])
        self._sent += len(away) * (numbers.itemsize + column.itemsize)  # question and answer
        return self._shard.fetch(column, numbers)

    def tell(self, changed: Mask, *columns: Array) -> Integers:
        """Tell those who hold them as ghosts which own vertices have changed.

        Parameters
        ----------
        changed : ndarray of bool, shape (owned,)
        *columns : ndarray, each of shape (length,)
            Entries of the ghosts that have changed are overwritten with their owners'.

        Returns
        -------
        ndarray of int64
            Positions of the ghosts of which news has come, ascending.
        """
        boxes = []
        for held in self._shard.boundaries:
            which = _short(np.flatnonzero(changed[held]))
            boxes.append([which, *(column[held[which]] for column in columns)])
        news = []
        for (first, _), (which, *arrays) in zip(
            self._shard.ghosts, self.exchange(boxes), strict=True
        ):
            places = which + np.int64(first)
            for column, array in zip(columns, arrays, strict=True):
                column[places] = array
            news.append(places)
        return np.concatenate(news)

    def report(self, changed: Mask, column: Array) -> list[tuple[Integers, Array]]:
        """Report to their owners what has changed at ghosts.

        Parameters
        ----------
        changed : ndarray of bool, shape (ghosts,)
        column : ndarray, shape (ghosts,)

        Returns
        -------
        list of (positions, values)
            Of own vertices, from each member; no position twice from one.
        """
        boxes = []
        for first, last in self._shard.ghosts:
            part = slice(first - self._shard.owned, last - self._shard.owned)
            which = _short(np.flatnonzero(changed[part]))
            boxes.append([which, column[part][which]])
        return [
            (held[which], values)
            for held, (which, values) in zip(
                self._shard.boundaries, self.exchange(boxes), strict=True
            )
        ]

    def deliver(self, numbers: Integers, *columns: Array) -> list[Array]:
        """Send rows to the owners of vertices.

        Parameters
        ----------
        numbers : ndarray of int64, shape (rows,)
            The vertices.
        *columns : ndarray, each of shape (rows,)

        Returns
        -------
        list of ndarray
            Own vertices' numbers and columns that have come, in the order of the senders.
        """
        owners = self._shard.owners(numbers)
        order = np.argsort(owners, kind="stable")
        cuts = np.searchsorted(owners[order], np.arange(self._crew.size + 1)).tolist()
        sorted_rows = [column[order] for column in (numbers, *columns)]
        boxes = [[column[low:high] for column in sorted_rows] for low, high in pairwise(cuts)]
        return [np.concatenate(parts) for parts in zip(*self.exchange(boxes), strict=True)]

    def totals(self, *numbers: int) -> list[int]:
        """Add up numbers over all members.

        Parameters
        ----------
        *numbers : int

        Returns
        -------
        list of int
            Their sums, and after them the bytes sent by all since this was last asked.
        """
        shown = self._crew.allgather([*map(int, numbers), self._sent])
        self._sent = 0
        return [sum(column) for column in zip(*shown, strict=True)]


def _short(which: Integers) -> Array:
    """Return places in half as many bytes where they are small enough."""
    fits = len(which) == 0 or which[-1] <= np.iinfo(np.int32).max
    return which.astype(np.int32 if fits else np.int64)
