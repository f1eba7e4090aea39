"""The contract of an exchange, and the exchange between partitions in one process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import BoundaryUpdate, Choice, Counts, Executor
from cugraph_ws.partition.partition import Partition
from cugraph_ws.partition.refinement import ExchangeMethod, Sender
from cugraph_ws.runtime.device import array_module

__all__ = ["Exchange", "LocalExchange", "Traffic"]


class Traffic(NamedTuple):
    """Bytes sent by an exchange.

    Attributes
    ----------
    sent : int
        All bytes.
    useful : int
        Bytes of the values of vertices that changed or became active: the least that must be sent
        (Khorasani, Gupta, Bhuyan 2015, Table I).
    """

    sent: int = 0
    useful: int = 0

    @classmethod
    def of(cls, updates: Iterable[BoundaryUpdate]) -> Traffic:
        """Return the traffic of messages."""
        listed = list(updates)
        return cls(
            sum(update.nbytes for update in listed),
            # if one value stands for many vertices, all its bytes are useful
            sum(min(update.useful * update.width, update.nbytes) for update in listed),
        )


class Exchange(Protocol):
    """Sends boundary state between partitions; each process calls it with its executors."""

    def settle(self, executors: Sequence[Executor], choice: Choice) -> tuple[Counts, Traffic]:
        """Update ghosts after a superstep, and mark those active whose vertices are.

        Parameters
        ----------
        executors : sequence of Executor
            The executors of this process.
        choice : Choice
            What the superstep ran.

        Returns
        -------
        counts : Counts
            Of all partitions, in all processes.
        traffic : Traffic
            Of all partitions.
        """

    def update_trees(self, executors: Sequence[Executor]) -> None:
        """Update which ghosts have been reached by the tree growth."""

    def grow_trees(self, executors: Sequence[Executor], missing: int) -> None:
        """Find missing predecessors by growing trees along tight arcs, across partitions.

        Parameters
        ----------
        executors : sequence of Executor
            The executors of this process, with tree growth begun.
        missing : int
            Number of missing predecessors in this process.
        """
        missing = self.total(missing)
        grown = missing
        while missing and grown:
            self.update_trees(executors)
            grown = self.total(sum(one.grow_trees() for one in executors))
            missing -= grown

    def merge(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts of all partitions, in all processes."""

    def total(self, number: int) -> int:
        """Return the sum of one number from each process."""

    def rest(self) -> None:
        """Wait until all messages between partitions have arrived."""

    def collect(self, shares: Sequence[dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
        """Return columns by vertex number, given each executor's columns by owned vertex."""


class LocalExchange(Exchange):
    """The exchange between partitions in one process; messages are passed without copying.

    Parameters
    ----------
    partitions : sequence of Partition
        The partitions, one for each executor.
    method : {"auto", "vr", "ms", "all"}
        Which vertices are sent; see `Refinement`.
    dense : bool
        Whether every superstep computes all vertices.
    boundaries : sequence of list of array, optional
        Each partition's boundaries in its executor's positions, if these differ from the
        partition's.

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
        self._senders = [
            Sender(held, place, partition.owned, method, dense=dense)
            for place, (partition, held) in enumerate(
                zip(
                    partitions,
                    [one.boundaries for one in partitions] if boundaries is None else boundaries,
                    strict=True,
                )
            )
        ]

    def settle(self, executors: Sequence[Executor], choice: Choice) -> tuple[Counts, Traffic]:
        """Update ghosts after a superstep; return the counts and the traffic."""
        traffic = self._deliver(executors)
        return self.merge([executor.counts() for executor in executors]), traffic

    def update_trees(self, executors: Sequence[Executor]) -> None:
        """Update which ghosts have been reached by the tree growth."""
        self._deliver(executors, trees=True)

    def _deliver(self, executors: Sequence[Executor], *, trees: bool = False) -> Traffic:
        """Update ghosts and mark active ones; return the traffic."""
        if len(executors) == 1:
            return Traffic()  # a whole graph has no boundary
        packed = [
            sender.pack(executor, trees=trees)
            for sender, executor in zip(self._senders, executors, strict=True)
        ]
        sent = [
            (place, peer, update)
            for place, (sender, executor) in enumerate(zip(self._senders, executors, strict=True))
            for peer, update in sender.seal(executor, packed[place], trees=trees).items()
        ]
        for place, peer, update in sent:
            first, last = self._partitions[peer].ghosts[place]
            boundary = self._senders[place].boundaries[peer]
            if len(boundary):
                whole = self._senders[place].everything and not trees
                taken = update.only(boundary) if whole else update
                executors[peer].unpack(first, last, taken, trees=trees)
        return Traffic.of(update for _, _, update in sent)

    def merge(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts of all partitions."""
        return Counts.merged(counts)

    def total(self, number: int) -> int:
        """Return the number; there is no other process."""
        return number

    def rest(self) -> None:
        """Return at once: messages arrive when they are sent."""

    def collect(self, shares: Sequence[dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
        """Return columns by vertex number, given each executor's columns by owned vertex."""
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
