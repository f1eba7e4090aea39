"""How partitions bring each other's ghosts up to date after a superstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.partition import Partition
from cugraph_ws.engines import Choice, Counts, Executor

__all__ = ["Exchange", "LocalExchange"]


class Exchange(Protocol):
    """Moves boundary state between partitions; every process calls it for its own executors."""

    def settle(self, executors: Sequence[Executor], choice: Choice) -> tuple[Counts, int]:
        """Bring ghosts up to date after a superstep and mark them active.

        Parameters
        ----------
        executors : sequence of Executor
            This process's.
        choice : Choice
            What they have run.

        Returns
        -------
        counts : Counts
            Of all partitions, here and elsewhere.
        sent : int
            Bytes sent, by all.
        """

    def deliver_forest(self, executors: Sequence[Executor]) -> None:
        """Tell which ghosts have their place in the predecessor forest."""

    def merge(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts of all partitions, in this process and elsewhere."""

    def total(self, number: int) -> int:
        """Return the sum of one number of each process."""

    def collect(self, shares: Sequence[dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
        """Return columns by vertex number from each executor's, by owned vertex."""


class LocalExchange:
    """The exchange of partitions in one process.

    Parameters
    ----------
    partitions : sequence of Partition
        The partitions, one for each executor.
    refine : bool
        Whether to send only what has changed.
    """

    def __init__(self, partitions: Sequence[Partition], *, refine: bool = True) -> None:
        self._partitions = partitions
        self._refine = refine

    def settle(self, executors: Sequence[Executor], choice: Choice) -> tuple[Counts, int]:
        """Bring ghosts up to date after a superstep; return the counts, and the bytes sent."""
        sent = self._deliver(executors)
        return self.merge([executor.counts() for executor in executors]), sent

    def deliver_forest(self, executors: Sequence[Executor]) -> None:
        """Tell which ghosts have their place in the predecessor forest."""
        self._deliver(executors, forest=True)

    def _deliver(self, executors: Sequence[Executor], *, forest: bool = False) -> int:
        """Bring ghosts up to date and mark them active; return the bytes sent."""
        if len(executors) == 1:
            return 0  # a whole graph has no boundary
        sent = 0
        parcels = []
        for sender, (executor, partition) in enumerate(
            zip(executors, self._partitions, strict=True)
        ):
            for receiver, boundary in enumerate(partition.boundaries):
                if len(boundary):
                    parcel = executor.pack(boundary, refine=self._refine, forest=forest)
                    parcels.append((sender, receiver, parcel))
                    sent += parcel.nbytes
        for sender, receiver, parcel in parcels:
            first, last = self._partitions[receiver].ghosts[sender]
            executors[receiver].unpack(first, last, parcel, forest=forest)
        return sent

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
        for name in shares[0]:
            column = np.empty(self._partitions[0].vertices, shares[0][name].dtype)
            for place, share in zip(numbers, shares, strict=True):
                column[place] = share[name]
            columns[name] = column
        return columns
