"""The exchange between ranks: one collective a superstep, for boundary state and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import BoundaryUpdate, Choice, Counts, Executor
from cugraph_ws.partition.refinement import ExchangeMethod, Sender
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.partition.ways import bit_of

__all__ = ["Exchange", "NoExchange", "RankExchange", "Traffic"]

Array = npt.NDArray[Any]


class Traffic(NamedTuple):
    """What an exchange sent.

    Attributes
    ----------
    sent : int
        All bytes.
    useful : int
        Bytes of the values of vertices that changed or became active: the least that must be sent
        (Khorasani, Gupta, Bhuyan 2015, Table I).
    ways : int
        What messages consisted of; see `ways.names_of`.
    """

    sent: int = 0
    useful: int = 0
    ways: int = 0

    @classmethod
    def of(cls, updates: Iterable[BoundaryUpdate]) -> Traffic:
        """Return the traffic of messages."""
        listed = list(updates)
        return cls(
            sum(update.nbytes for update in listed),
            # if one value stands for many vertices, all its bytes are useful
            sum(min(update.useful * update.width, update.nbytes) for update in listed),
            reduce(or_, (bit_of(update.way) for update in listed), 0),
        )

    @classmethod
    def merged(cls, parts: Sequence[Traffic]) -> Traffic:
        """Return the traffic of all ranks, or of several supersteps."""
        bytes_sent, useful, ways = zip(*parts, strict=True)
        return cls(sum(bytes_sent), sum(useful), reduce(or_, ways))


class Exchange(Protocol):
    """Sends boundary state between ranks; all methods are collective, with each rank's executor."""

    def exchange(self, executor: Executor, choice: Choice) -> tuple[Counts, Traffic]:
        """Update ghosts after a superstep, and mark the ghosts of active vertices as active.

        Parameters
        ----------
        executor : Executor
        choice : Choice
            What the superstep ran.

        Returns
        -------
        counts : Counts
            Those of all ranks together.
        traffic : Traffic
            Likewise.
        """

    def update_trees(self, executor: Executor) -> None:
        """Update which ghosts have been attached to trees."""

    def grow_trees(self, executor: Executor, missing: int) -> None:
        """Find missing predecessors by growing trees along tight arcs, across ranks.

        Parameters
        ----------
        executor : Executor
            With tree growth begun.
        missing : int
            Number of missing predecessors on this rank.
        """
        missing = self.total(missing)
        grown = missing
        while missing and grown:
            self.update_trees(executor)
            grown = self.total(executor.grow_trees())
            missing -= grown

    def merge(self, counts: Counts) -> Counts:
        """Return the counts of all ranks."""

    def total(self, number: int) -> int:
        """Return the sum of one number from each rank."""

    def finish(self) -> None:
        """Wait until all messages between ranks have arrived."""


class NoExchange(Exchange):
    """The exchange of a single rank, which has no ghosts: nothing is sent."""

    def exchange(self, executor: Executor, choice: Choice) -> tuple[Counts, Traffic]:
        """Return the executor's counts."""
        return executor.counts(), Traffic()

    def update_trees(self, executor: Executor) -> None:
        """Return at once."""

    def merge(self, counts: Counts) -> Counts:
        """Return the counts."""
        return counts

    def total(self, number: int) -> int:
        """Return the number."""
        return number

    def finish(self) -> None:
        """Return at once."""


class RankExchange(Exchange):
    """Sends boundary state between the ranks of a communicator; each rank has one executor.

    Parameters
    ----------
    shard : ShardGraph
        This rank's shard.
    method : {"auto", "vr", "ms", "all"}
        Which vertices are sent; see `Refinement`.
    dense : bool
        Whether every superstep computes all vertices.
    boundaries : list of array, optional
        The boundaries in the executor's positions, if these differ from the shard's.
    ghosts : list of (int, int), optional
        The ranges of ghosts in the executor's positions, if these differ from the shard's.

    Notes
    -----
    The message with the state also carries the counts.  Counts are read before ghosts are updated,
    so the sender adds the out-arcs of the ghosts that its message makes active.  Each rank sends
    the out-degrees of its ghosts to their owners once; the shard keeps them.
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
        boundaries_by_rank = shard.boundaries if boundaries is None else boundaries
        self._ghosts = shard.ghosts if ghosts is None else ghosts
        self._on_host = boundaries is None
        self._sender = Sender(
            boundaries_by_rank,
            self._comm.rank,
            shard.owned,
            method,
            dense=dense,
        )
        # positions of this rank's ghosts in their owners' messages, if owners send all vertices
        self._theirs = boundaries_by_rank
        if self._on_host:
            self._arcs_there = _arcs_of_boundaries(shard)
            self._theirs = [
                shard.owners.places(shard.positions[first:last], rank)
                for rank, (first, last) in enumerate(self._ghosts)
            ]
        elif self._sender.everything:
            self._theirs = [
                buffer[0]
                for buffer in self._comm.alltoall([[boundary] for boundary in boundaries_by_rank])
            ]

    def exchange(self, executor: Executor, choice: Choice) -> tuple[Counts, Traffic]:
        """Update ghosts after a superstep; return the counts of all ranks, and the traffic."""
        packed = self._sender.pack(executor)
        updates = self._sender.seal(executor, packed)
        counts = executor.counts()
        if self._on_host and choice.direction != "gather":
            arcs = sum(
                _arcs_of(
                    update.only(self._sender.boundaries[peer]) if update.of_all else update,
                    self._arcs_there[peer],
                )
                for peer, update in updates.items()
            )
            counts = replace(counts, arcs=counts.arcs + arcs)
        head = _pack_counts(counts, Traffic.of(updates.values()))
        buffers = self._comm.alltoall(
            [[*head, *_pack(updates.get(peer))] for peer in range(self._comm.size)]
        )
        everyone = []
        for peer, buffer in enumerate(buffers):
            everyone.append(_unpack_counts(buffer[: len(head)]))
            self._take(executor, peer, _unpack(buffer[len(head) :]))
        each, traffics = zip(*everyone, strict=True)
        return Counts.merged(each, counts.folds), Traffic.merged(traffics)

    def update_trees(self, executor: Executor) -> None:
        """Update which ghosts have been reached by the tree growth."""
        packed = self._sender.pack(executor, trees=True)
        updates = self._sender.seal(executor, packed, trees=True)
        buffers = self._comm.alltoall([_pack(updates.get(peer)) for peer in range(self._comm.size)])
        for peer, buffer in enumerate(buffers):
            self._take(executor, peer, _unpack(buffer), trees=True)

    def _take(
        self, executor: Executor, peer: int, update: BoundaryUpdate | None, *, trees: bool = False
    ) -> None:
        """Update the ghosts that one rank owns from its message."""
        first, last = self._ghosts[peer]
        if update is None or first == last:
            return
        if update.of_all and not trees:
            theirs = self._theirs[peer]
            if not self._on_host or len(theirs) < len(update.fields[0]):
                update = update.only(theirs)
        executor.unpack(first, last, update, trees=trees)

    def merge(self, counts: Counts) -> Counts:
        """Return the counts of all ranks, including ghosts' arcs."""
        head = _pack_counts(counts, Traffic())
        buffers = self._comm.alltoall([head] * self._comm.size)
        return Counts.merged([_unpack_counts(buffer)[0] for buffer in buffers], counts.folds)

    def total(self, number: int) -> int:
        """Return the sum of one number from each rank."""
        return int(np.sum(self._comm.allgather(int(number))))

    def finish(self) -> None:
        """Return at once: a collective returns only when it is complete."""


def _arcs_of_boundaries(shard: ShardGraph) -> list[Array]:
    """Return, for each rank and each vertex sent to it, the number of arcs there out of the vertex.

    Collective on the first call; the result is kept.
    """
    if "arcs of boundaries" not in shard.learned:
        degrees = shard.csr.degrees
        received = shard.comm.alltoall([[degrees[first:last]] for first, last in shard.ghosts])
        shard.learned["arcs of boundaries"] = [buffer[0] for buffer in received]
    arcs_by_rank: list[Array] = shard.learned["arcs of boundaries"]
    return arcs_by_rank


def _arcs_of(update: BoundaryUpdate, arcs: Array) -> int:
    """Count the out-arcs of the ghosts that a message makes active on its receiver."""
    update = update.unfolded()
    which = update.places if update.places is not None else update.active
    return int(arcs.sum() if which is None else arcs[which].sum())


def _pack(update: BoundaryUpdate | None) -> list[Array]:
    """Encode a message as arrays: flags, places, activity, bits, fields; an absent one is empty."""
    if update is None:
        return []
    none = np.empty(0, np.int64)
    optional = [update.places, update.active, update.bits]
    flags = np.array([*(array is not None for array in optional), update.useful, update.of_all])
    return [flags, *(none if array is None else array for array in optional), *update.fields]


def _unpack(buffer: Sequence[Array]) -> BoundaryUpdate | None:
    if not buffer:
        return None
    flags, *optional = buffer[:4]
    places, active, bits = (
        array if is_present else None for array, is_present in zip(optional, flags, strict=False)
    )
    useful, of_all = int(flags[3]), bool(flags[4])
    return BoundaryUpdate(places, tuple(buffer[4:]), active, useful, bits, of_all)


def _pack_counts(counts: Counts, traffic: Traffic) -> list[Array]:
    """Encode counts and traffic in three arrays."""
    numbers = [counts.active, counts.arcs, counts.waiting, counts.read, counts.beyond, *traffic]
    changes = [counts.total_change, counts.greatest_change, *counts.sums]
    history = np.array(counts.history, np.int64).reshape(-1, 2)
    return [np.array(numbers, np.int64), np.array(changes, np.float64), history]


def _unpack_counts(buffer: Sequence[Array]) -> tuple[Counts, Traffic]:
    numbers, changes, history = buffer
    active, arcs, waiting, read, beyond, *traffic = numbers.tolist()
    total, greatest = changes[:2].tolist()
    counts = Counts(
        active=active,
        arcs=arcs,
        waiting=waiting,
        read=read,
        total_change=total,
        greatest_change=greatest,
        history=[tuple(row) for row in history.tolist()],
        sums=changes[2:].copy(),
        beyond=beyond,
    )
    return counts, Traffic(*traffic)
