"""The exchange of a crew: one meeting a superstep, for boundary state and counts together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.engines import Choice, Counts, Executor, Parcel

__all__ = ["CrewExchange"]

Array = npt.NDArray[Any]


class CrewExchange:
    """Moves boundary state between the members of a crew, each of which has one executor.

    Parameters
    ----------
    shard : ShardGraph
        The own share.
    refine : bool
        Whether to send only what has changed.

    Notes
    -----
    Counts travel with the state.  They are taken before ghosts are brought up to date, so a sender
    adds what its parcels will set to work elsewhere: how many arcs lead out of each ghost, its
    holders have told once.
    """

    def __init__(self, shard: ShardGraph, *, refine: bool = True) -> None:
        self._shard = shard
        self._refine = refine
        degrees = shard.csr.degrees
        told = shard.crew.alltoall([[degrees[first:last]] for first, last in shard.ghosts])
        self._arcs_there = [box[0] for box in told]

    def settle(self, executors: Sequence[Executor], choice: Choice) -> tuple[Counts, int]:
        """Bring ghosts up to date after a superstep; return the counts of all, and bytes sent."""
        (executor,) = executors
        counts = executor.counts()
        gathered = choice.direction == "gather"
        parcels = self._parcels(executor)
        arcs = 0 if gathered else sum(map(self._arcs_of, parcels, self._arcs_there))
        sent = sum(parcel.nbytes for parcel in parcels if parcel is not None)
        counts = replace(counts, arcs=counts.arcs + arcs)
        head = _pack_counts(counts, sent)
        boxes = self._shard.crew.alltoall([[*head, *_pack(parcel)] for parcel in parcels])
        everyone = []
        for (first, last), box in zip(self._shard.ghosts, boxes, strict=True):
            everyone.append(_unpack_counts(box[: len(head)]))
            parcel = _unpack(box[len(head) :])
            if parcel is not None:
                executor.unpack(first, last, parcel)
        return Counts.merged([one for one, _ in everyone]), sum(sent for _, sent in everyone)

    def deliver_forest(self, executors: Sequence[Executor]) -> None:
        """Tell which ghosts have their place in the predecessor forest."""
        (executor,) = executors
        boxes = self._shard.crew.alltoall(
            [_pack(parcel) for parcel in self._parcels(executor, forest=True)]
        )
        for (first, last), box in zip(self._shard.ghosts, boxes, strict=True):
            parcel = _unpack(box)
            if parcel is not None:
                executor.unpack(first, last, parcel, forest=True)

    def merge(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts of all members, ghosts' arcs included."""
        (own,) = counts
        boxes = self._shard.crew.alltoall([_pack_counts(own, 0)] * self._shard.crew.size)
        return Counts.merged([_unpack_counts(box)[0] for box in boxes])

    def total(self, number: int) -> int:
        """Return the sum of one number of each member."""
        return int(np.sum(self._shard.crew.allgather(int(number))))

    def collect(self, shares: Sequence[dict[str, Array]]) -> dict[str, Array]:
        """Return the own share: by owned vertex is how a member's results are."""
        return shares[0]

    def _parcels(self, executor: Executor, *, forest: bool = False) -> list[Parcel | None]:
        return [
            executor.pack(boundary, refine=self._refine, forest=forest) if len(boundary) else None
            for boundary in self._shard.boundaries
        ]

    @staticmethod
    def _arcs_of(parcel: Parcel | None, arcs: Array) -> int:
        """Count the arcs that a parcel sets to work where it goes."""
        if parcel is None:
            return 0
        which = parcel.places if parcel.places is not None else parcel.active
        return int(arcs.sum() if which is None else arcs[which].sum())


def _pack(parcel: Parcel | None) -> list[Array]:
    """Lay a parcel out as arrays: places and activity, empty where there are none, and fields."""
    if parcel is None:
        return []
    none = np.empty(0, np.int64)
    told = np.array([parcel.places is not None, parcel.active is not None])
    optional = [none if one is None else one for one in (parcel.places, parcel.active)]
    return [told, *optional, *parcel.fields]


def _unpack(box: Sequence[Array]) -> Parcel | None:
    if not box:
        return None
    told, places, active, *fields = box
    return Parcel(places if told[0] else None, tuple(fields), active if told[1] else None)


def _pack_counts(counts: Counts, sent: int) -> list[Array]:
    """Lay counts out as three arrays."""
    numbers = [counts.active, counts.arcs, counts.waiting, counts.read, sent]
    changes = [counts.total_change, counts.greatest_change, *counts.sums]
    history = np.array(counts.history, np.int64).reshape(-1, 2)
    return [np.array(numbers, np.int64), np.array(changes, np.float64), history]


def _unpack_counts(box: Sequence[Array]) -> tuple[Counts, int]:
    numbers, changes, history = box
    active, arcs, waiting, read, sent = numbers.tolist()
    counts = Counts(
        active=active,
        arcs=arcs,
        waiting=waiting,
        read=read,
        total_change=float(changes[0]),
        greatest_change=float(changes[1]),
        history=[tuple(row) for row in history.tolist()],
        sums=changes[2:].copy(),
    )
    return counts, sent
