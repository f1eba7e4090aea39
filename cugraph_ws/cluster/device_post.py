"""What the loops on members' GPUs send: lists of what has changed, made and read on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.cluster.post import Post
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda.device import as_host, device

__all__ = ["DevicePost"]

DeviceArray = Any  # CuPy's or NumPy's

NARROW = 1 << 31  # places below this are sent in half the bytes


class DevicePost(Post):
    """A `Post` of arrays on the device, by position as laid out, whichever way the mail goes.

    Parameters
    ----------
    shard : ShardGraph
        The own share.

    Attributes
    ----------
    ends : device array of int32 or int64
        Own positions that others hold, those of the first member first: the boundaries.
    """

    def __init__(self, shard: ShardGraph) -> None:
        super().__init__(shard)
        self._boundaries = shard.laid_out()[2]
        self.ends = device().xp.concatenate(self._boundaries)
        held = [0, *np.cumsum([len(one) for one in self._boundaries]).tolist()]
        ghosts = [0, *(last - shard.owned for _, last in shard.ghosts)]
        self._cuts = held, [held[-1] + place for place in ghosts]

    def by_holder(self, values: Sequence[int]) -> DeviceArray:
        """Return for each of `ends` the number of who holds it, of one for each member.

        Parameters
        ----------
        values : sequence of int, one for each member

        Returns
        -------
        device array of int64, shape (len(ends),)
        """
        xp = device().xp
        return xp.concatenate(
            [
                xp.full(len(held), value, np.int64)
                for held, value in zip(self._boundaries, values, strict=True)
            ]
        )

    def exchange(self, boxes: Sequence[Sequence[DeviceArray]]) -> list[list[DeviceArray]]:
        """Give every member arrays of its own; see `Crew.alltoall`."""
        if self._crew.on_device:
            return super().exchange(boxes)
        xp = device().xp
        came = super().exchange([[as_host(array) for array in box] for box in boxes])
        return [[xp.asarray(array) for array in box] for box in came]

    def refresh(self, column: DeviceArray) -> None:
        """Bring all ghosts' entries up to date, together.

        Parameters
        ----------
        column : device array, shape (length, ...)
        """
        xp = device().xp
        boxes = [[xp.take(column, held, axis=0).ravel()] for held in self._boundaries]
        for (first, last), (array,) in zip(self._shard.ghosts, self.exchange(boxes), strict=True):
            column[first:last] = array.reshape(last - first, *column.shape[1:])

    def add_up(self, column: DeviceArray) -> None:
        """Add ghosts' entries to their owners', together; ghosts are not refreshed.

        Parameters
        ----------
        column : device array, shape (length, ...)
        """
        boxes = [[column[first:last].ravel()] for first, last in self._shard.ghosts]
        for held, (array,) in zip(self._boundaries, self.exchange(boxes), strict=True):
            # A boundary names no vertex twice.
            column[held] += array.reshape(len(held), *column.shape[1:])

    def spread(
        self, changed: DeviceArray, pack: Callable[[DeviceArray], list[DeviceArray]]
    ) -> list[tuple[DeviceArray, list[DeviceArray]]]:
        """Tell the others what has changed at own vertices that they hold, together.

        Parameters
        ----------
        changed : device array of bool, shape (len(ends),)
            Of which of `ends` to tell their holders.
        pack : callable
            Returns what to tell of own positions.

        Returns
        -------
        list of (device array, list of device array)
            From each member that had news: positions of ghosts, none of them twice, and what it
            tells of them.
        """
        xp, (cuts, _) = device().xp, self._cuts
        which = xp.flatnonzero(changed)
        bounds = as_host(xp.searchsorted(which, xp.asarray(cuts))).tolist()
        kind = np.int32 if cuts[-1] < NARROW else np.int64
        boxes: list[list[DeviceArray]] = []
        for (low, high), first in zip(pairwise(bounds), cuts, strict=False):
            mine = which[low:high]
            told = pack(xp.take(self.ends, mine)) if high > low else []
            boxes.append([(mine - first).astype(kind), *told])
        return [
            (places + np.int64(first), list(told))
            for (first, _), (places, *told) in zip(
                self._shard.ghosts, self.exchange(boxes), strict=True
            )
            if len(places)
        ]

    def swap(
        self, told: DeviceArray, reported: DeviceArray, values: DeviceArray, *others: DeviceArray
    ) -> tuple[DeviceArray, list[tuple[DeviceArray, DeviceArray]], list[int]]:
        """Tell the others which own vertices have changed, and report what has at ghosts, together.

        The host waits for the lengths of all lists at once, then for the mail.

        Parameters
        ----------
        told : device array of bool, shape (len(ends),)
            Which of `ends` to tell their holders of.
        reported : device array of bool, shape (ghosts,)
            Which ghosts to report to their owners.
        values : device array, shape (ghosts,)
            What to report of them.
        *others : device arrays of int64
            What the host wants to know besides.

        Returns
        -------
        ghosts : device array of int64
            Positions of the ghosts of which news has come.
        reports : list of (positions, values)
            Of own vertices, from each member that has reported; no position twice from one.
        numbers : list of int
            The others.
        """
        xp, crew = device().xp, self._crew
        which = xp.flatnonzero(xp.concatenate([told, reported]))
        edges = np.concatenate(self._cuts)
        cuts = xp.searchsorted(which, xp.asarray(edges))
        numbers = as_host(xp.concatenate([cuts, *others])).tolist()
        kind = np.int32 if edges[-1] < NARROW else np.int64
        listed = [which[low:high] for low, high in pairwise(numbers[: len(edges)])]
        boxes = []
        for rank in range(crew.size):
            mine, theirs = listed[rank], listed[crew.size + 1 + rank]
            changed = theirs - self._cuts[1][0]
            boxes.append(
                [
                    (mine - self._cuts[0][rank]).astype(kind),
                    (theirs - self._cuts[1][rank]).astype(kind),
                    xp.take(values, changed),
                ]
            )
        came = self.exchange(boxes)
        ghosts = [
            places + np.int64(first)
            for (first, _), (places, _, _) in zip(self._shard.ghosts, came, strict=True)
        ]
        reports = [
            (xp.take(held, places), array)
            for held, (_, places, array) in zip(self._boundaries, came, strict=True)
            if len(places)
        ]
        return xp.concatenate(ghosts), reports, numbers[len(edges) :]
