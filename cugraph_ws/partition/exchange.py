"""The exchange of a crew: one meeting a superstep, for boundary state and counts together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import Choice, Counts, Executor, Parcel
from cugraph_ws.partition.local_exchange import Exchange, Traffic
from cugraph_ws.partition.refinement import ExchangeMethod, Sender
from cugraph_ws.partition.shard import ShardGraph

__all__ = ["RankExchange"]

Array = npt.NDArray[Any]


class RankExchange(Exchange):
    """Moves boundary state between the members of a crew, each of which has one executor.

    Parameters
    ----------
    shard : ShardGraph
        The own share.
    method : {"auto", "vr", "ms", "all"}
        What is sent; see `Refinement`.
    dense : bool
        Whether every superstep computes all vertices.
    boundaries : list of array, optional
        The share's boundaries and
    ghosts : list of (int, int), optional
        its ghosts, where the executor numbers them in another order than the share.

    Notes
    -----
    Counts travel with the state.  They are taken before ghosts are brought up to date, so a sender
    adds what its parcels will set to work elsewhere: how many arcs lead out of each ghost, its
    holders have told once.
    """

    def __init__(
        self,
        shard: ShardGraph,
        *,
        method: ExchangeMethod = "vr",
        dense: bool = False,
        boundaries: list[Any] | None = None,
        ghosts: list[tuple[int, int]] | None = None,
    ) -> None:
        self._comm = shard.comm
        held = shard.boundaries if boundaries is None else boundaries
        self._ghosts = shard.ghosts if ghosts is None else ghosts
        self._sender = Sender(held, self._comm.rank, shard.owned, method, dense=dense)
        self._on_host = boundaries is None
        # where peers number what they send, if they send everything
        self._theirs = held
        if self._sender.everything:
            self._theirs = [box[0] for box in self._comm.alltoall([[one] for one in held])]
        if self._on_host:
            degrees = shard.csr.degrees
            told = self._comm.alltoall([[degrees[first:last]] for first, last in self._ghosts])
            self._arcs_there = [box[0] for box in told]

    def settle(self, executors: Sequence[Executor], choice: Choice) -> tuple[Counts, Traffic]:
        """Bring ghosts up to date after a superstep; return the counts of all, and what was sent."""
        (executor,) = executors
        packed = self._sender.pack(executor)
        parcels = self._sender.seal(executor, packed)
        counts = executor.counts()
        if self._on_host and choice.direction != "gather":
            arcs = sum(
                _arcs_of(
                    parcel.only(self._sender.boundaries[peer])
                    if self._sender.everything
                    else parcel,
                    self._arcs_there[peer],
                )
                for peer, parcel in parcels.items()
            )
            counts = replace(counts, arcs=counts.arcs + arcs)
        head = _pack_counts(counts, Traffic.of(parcels.values()))
        boxes = self._comm.alltoall(
            [[*head, *_pack(parcels.get(peer))] for peer in range(self._comm.size)]
        )
        everyone = []
        for peer, box in enumerate(boxes):
            everyone.append(_unpack_counts(box[: len(head)]))
            self._take(executor, peer, _unpack(box[len(head) :]))
        merged = Counts.merged([one for one, _ in everyone])
        sent, useful = (sum(some) for some in zip(*(one for _, one in everyone), strict=True))
        return merged, Traffic(sent, useful)

    def deliver_forest(self, executors: Sequence[Executor]) -> None:
        """Tell which ghosts have their place in the predecessor forest."""
        (executor,) = executors
        packed = self._sender.pack(executor, forest=True)
        parcels = self._sender.seal(executor, packed, forest=True)
        boxes = self._comm.alltoall([_pack(parcels.get(peer)) for peer in range(self._comm.size)])
        for peer, box in enumerate(boxes):
            self._take(executor, peer, _unpack(box), forest=True)

    def _take(
        self, executor: Executor, peer: int, parcel: Parcel | None, *, forest: bool = False
    ) -> None:
        """Bring the ghosts of one member up to date."""
        first, last = self._ghosts[peer]
        if parcel is None or first == last:
            return
        if self._sender.everything and not forest:
            parcel = parcel.only(self._theirs[peer])
        executor.unpack(first, last, parcel, forest=forest)

    def merge(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts of all members, ghosts' arcs included."""
        (own,) = counts
        boxes = self._comm.alltoall([_pack_counts(own, Traffic())] * self._comm.size)
        return Counts.merged([_unpack_counts(box)[0] for box in boxes])

    def total(self, number: int) -> int:
        """Return the sum of one number of each member."""
        return int(np.sum(self._comm.allgather(int(number))))

    def rest(self) -> None:
        """Return at once: meetings are waited for."""

    def collect(self, shares: Sequence[dict[str, Array]]) -> dict[str, Array]:
        """Return the own share: by owned vertex is how a member's results are."""
        return shares[0]


def _arcs_of(parcel: Parcel, arcs: Array) -> int:
    """Count the arcs that a parcel sets to work where it goes."""
    parcel = parcel.unfolded()
    which = parcel.places if parcel.places is not None else parcel.active
    return int(arcs.sum() if which is None else arcs[which].sum())


def _pack(parcel: Parcel | None) -> list[Array]:
    """Lay a parcel out as arrays: places, activity and bits, empty where there are none, and fields."""
    if parcel is None:
        return []
    none = np.empty(0, np.int64)
    optional = [parcel.places, parcel.active, parcel.bits]
    told = np.array([*(one is not None for one in optional), parcel.useful])
    return [told, *(none if one is None else one for one in optional), *parcel.fields]


def _unpack(box: Sequence[Array]) -> Parcel | None:
    if not box:
        return None
    told, *optional = box[:4]
    places, active, bits = (
        one if there else None for one, there in zip(optional, told, strict=False)
    )
    return Parcel(places, tuple(box[4:]), active, int(told[3]), bits)


def _pack_counts(counts: Counts, traffic: Traffic) -> list[Array]:
    """Lay counts out as three arrays."""
    numbers = [counts.active, counts.arcs, counts.waiting, counts.read, *traffic]
    changes = [counts.total_change, counts.greatest_change, *counts.sums]
    history = np.array(counts.history, np.int64).reshape(-1, 2)
    return [np.array(numbers, np.int64), np.array(changes, np.float64), history]


def _unpack_counts(box: Sequence[Array]) -> tuple[Counts, Traffic]:
    numbers, changes, history = box
    active, arcs, waiting, read, *traffic = numbers.tolist()
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
    return counts, Traffic(*traffic)
