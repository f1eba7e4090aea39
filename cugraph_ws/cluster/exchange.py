"""How partitions bring each other's ghosts up to date after a superstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.partition import Partition
from cugraph_ws.cluster.refinement import ExchangeMethod, Refinement
from cugraph_ws.cuda.device import array_module
from cugraph_ws.engines import Counts, Executor, Parcel

__all__ = ["Exchange", "LocalExchange", "Traffic"]


class Traffic(NamedTuple):
    """What an exchange has sent.

    Attributes
    ----------
    sent : int
        Bytes.
    useful : int
        Bytes of the values of vertices that had changed, or become active: what had to be sent
        (Khorasani, Gupta, Bhuyan 2015, Table I).
    """

    sent: int = 0
    useful: int = 0


class _Sent(NamedTuple):
    """A parcel and its way."""

    sender: int
    receiver: int
    parcel: Parcel


class Exchange(Protocol):
    """Moves boundary state between partitions; every process calls it for its own executors."""

    def deliver(self, executors: Sequence[Executor], *, forest: bool = False) -> Traffic:
        """Bring ghosts up to date and mark them active; return what was sent."""

    def merge(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts of all partitions, in this process and elsewhere."""

    def total(self, number: int) -> int:
        """Return the sum of one number of each process."""

    def collect(self, shares: Sequence[dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
        """Return columns by vertex number from each executor's, by owned vertex."""


class LocalExchange:
    """The exchange of partitions in one process: parcels are handed over as they are.

    Parameters
    ----------
    partitions : sequence of Partition
        The partitions, one for each executor.
    method : {"auto", "vr", "ms", "all"}
        What is sent; see `Refinement`.
    dense : bool
        Whether every superstep computes all vertices.
    boundaries : sequence of list of array, optional
        Where executors number their vertices in another order than the partitions: the boundaries of
        each, as its executor takes them.

    Raises
    ------
    InputError
        If there is no such method.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        *,
        method: ExchangeMethod = "vr",
        dense: bool = False,
        boundaries: Sequence[list[Any]] | None = None,
    ) -> None:
        self._partitions = partitions
        self._boundaries = (
            [one.boundaries for one in partitions] if boundaries is None else boundaries
        )
        self._chosen = [Refinement(method, dense=dense) for _ in partitions]
        self._everyone: dict[int, Any] = {}  # all owned vertices of each, if all are sent

    def deliver(self, executors: Sequence[Executor], *, forest: bool = False) -> Traffic:
        """Bring ghosts up to date and mark them active; return what was sent."""
        if len(executors) == 1:
            return Traffic()  # a whole graph has no boundary
        packed = [
            self._pack(sender, executor, forest=forest) for sender, executor in enumerate(executors)
        ]
        sent = [
            one
            for sender, executor in enumerate(executors)
            for one in self._seal(sender, executor, packed[sender], forest=forest)
        ]
        for one in self._move(sent, forest=forest):
            first, last = self._partitions[one.receiver].ghosts[one.sender]
            executors[one.receiver].unpack(first, last, one.parcel, forest=forest)
        return Traffic(
            sum(one.parcel.nbytes for one in sent),
            0 if forest else sum(one.parcel.useful * one.parcel.width for one in sent),
        )

    def _pack(self, sender: int, executor: Executor, *, forest: bool) -> dict[int, Parcel]:
        """Return what an executor has for each of its peers, still to be sealed."""
        chosen, boundaries = self._chosen[sender], self._boundaries[sender]
        if chosen.everything and not forest:
            if not self._partitions[sender].owned:
                return {}
            parcel = executor.pack(self._all_of(sender), refine=False)
            return {peer: parcel for peer in range(len(boundaries)) if peer != sender}
        return {
            peer: executor.pack(boundary, refine=chosen.refines(peer), forest=forest)
            for peer, boundary in enumerate(boundaries)
            if len(boundary)
        }

    def _seal(
        self, sender: int, executor: Executor, packed: dict[int, Parcel], *, forest: bool
    ) -> list[_Sent]:
        """Return what an executor sends, each parcel of the length that is filled."""
        parcels = executor.seal(list(packed.values()))
        sent = [_Sent(sender, *one) for one in zip(packed, parcels, strict=True)]
        if not forest:
            for _, peer, parcel in sent:
                self._chosen[sender].learn(peer, parcel, len(self._boundaries[sender][peer]))
        return sent

    def _move(self, sent: list[_Sent], *, forest: bool) -> list[_Sent]:
        """Hand parcels over; of one with all vertices, the receiver takes those that it has ghosts of."""
        if forest or not self._chosen[0].everything:
            return sent
        taken = []
        for sender, receiver, parcel in sent:
            boundary = self._boundaries[sender][receiver]
            if len(boundary):
                taken.append(_Sent(sender, receiver, parcel.only(boundary)))
        return taken

    def _all_of(self, sender: int) -> Any:
        """Return the positions of all vertices that a partition owns."""
        if sender not in self._everyone:
            boundary = self._boundaries[sender][sender]
            xp = array_module(not isinstance(boundary, np.ndarray))
            owned = self._partitions[sender].owned
            self._everyone[sender] = xp.arange(owned, dtype=boundary.dtype)
        return self._everyone[sender]

    def merge(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts of all partitions."""
        return Counts.merged(counts)

    def total(self, number: int) -> int:
        """Return the number: there is no other process."""
        return number

    def collect(self, shares: Sequence[dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
        """Return columns by vertex number from each executor's, by owned vertex."""
        if len(shares) == 1:
            return shares[0]
        numbers = [part.numbers[: part.owned] for part in self._partitions]
        columns = {}
        for name, first in shares[0].items():
            xp = array_module(not isinstance(first, np.ndarray))
            column = xp.empty(self._partitions[0].vertices, first.dtype)
            for places, share in zip(numbers, shares, strict=True):
                column[xp.asarray(places)] = share[name]
            columns[name] = column
        return columns
