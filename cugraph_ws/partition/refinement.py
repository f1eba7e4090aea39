"""Which vertices a partition sends to a peer: all, the boundary, or the changed vertices of the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from cugraph_ws.contract import BoundaryUpdate, ChooseWay, Entry, Executor
from cugraph_ws.partition.exchange_times import HOST, ExchangeTimes, Offer
from cugraph_ws.runtime.arrays import array_module

__all__ = ["ExchangeMethod", "Refinement", "Sender"]

ExchangeMethod = Literal["auto", "vr", "ms", "all"]


class Refinement:
    """Chooses what one partition sends to each peer after the next superstep.

    Khorasani, Gupta, Bhuyan (PACT 2015), Section IV, compare three methods.  ALL sends every
    vertex to every peer.  Maximal Subset (MS) sends the boundary: the vertices that the peer has arcs
    from.  Vertex Refinement (VR) sends the vertices of the boundary that changed.

    An entry of VR also carries an index, and is found, packed and unpacked separately, so MS is faster
    if many vertices change.  `auto` chooses the method that is predicted to take the least time
    (`exchange_times.py`).  If sizes are known before packing, it chooses for each message, and also
    considers a bit for each vertex with one value for all.  Otherwise it chooses by the number of
    vertices that the last superstep changed.  A message declares its encoding, so partitions need not
    agree on a choice.

    Parameters
    ----------
    method : {"auto", "vr", "ms", "all"}
        The method.
    dense : bool
        Whether every superstep computes all vertices.  Then most vertices change in the first
        superstep, and messages need not say which are active.
    times : ExchangeTimes, optional
        Predictions; by default with the rates of hosts.

    Attributes
    ----------
    first : bool
        Whether only changed vertices are sent after the first superstep.
    flag : int
        Bytes of a vertex's active flag in a message with all vertices.
    times : ExchangeTimes
    """

    def __init__(
        self, method: ExchangeMethod, *, dense: bool = False, times: ExchangeTimes | None = None
    ) -> None:
        self._method = method
        self.flag = 0 if dense else 1
        self.times = ExchangeTimes(HOST) if times is None else times
        self._refines: dict[int, bool] = {}
        self.first = method == "vr" or (method == "auto" and not dense)

    @property
    def everything(self) -> bool:
        """Whether every peer is sent all vertices."""
        return self._method == "all"

    @property
    def free(self) -> bool:
        """Whether the method is chosen for each message."""
        return self._method == "auto"

    def entry(self, width: int) -> Entry:
        """Return the bytes that a vertex takes in a message if its values take `width` bytes."""
        return Entry(width, flag=self.flag)

    def refines(self, peer: int) -> bool:
        """Return whether only changed vertices are sent to a peer.

        Parameters
        ----------
        peer : int
            The peer's index.
        """
        return self._refines.get(peer, self.first)

    def learn(self, peer: int, update: BoundaryUpdate, boundary: int) -> None:
        """Record how many vertices a superstep changed, for the next choice.

        Parameters
        ----------
        peer : int
            The peer's index.
        update : BoundaryUpdate
            The sealed message.
        boundary : int
            Number of the partition's vertices that the peer holds as ghosts.
        """
        if self.free:
            entry = self.entry(update.width)
            listed = self.times.listed(update.useful, boundary, entry, peer)
            self._refines[peer] = bool(listed.beats(self.times.whole(boundary, entry, peer)))


class Sender:
    """Packs the messages of one partition to its peers.

    Parameters
    ----------
    boundaries : sequence of array of int
        For each partition, the owned positions that it holds as ghosts, in the executor's order.
    place : int
        Index of this partition.
    owned : int
        Number of its owned vertices.
    method : {"auto", "vr", "ms", "all"}
        See `Refinement`.
    dense, times
        See `Refinement`.
    may_send_all : bool
        Whether `auto` considers ALL too.
    """

    def __init__(
        self,
        boundaries: Sequence[Any],
        place: int,
        owned: int,
        method: ExchangeMethod,
        *,
        dense: bool,
        times: ExchangeTimes | None = None,
        may_send_all: bool = False,
    ) -> None:
        self.boundaries = boundaries
        self._counts = [len(boundary) for boundary in boundaries]
        self._place, self._owned = place, owned
        self._chosen = Refinement(method, dense=dense, times=times)
        self._may_send_all = may_send_all
        self._sends_all = self._chosen.everything
        self._sealed: dict[int, tuple[int, Entry]] = {}  # number of useful vertices
        self._everyone: Any = None

    @property
    def everything(self) -> bool:
        """Whether every peer is always sent all vertices."""
        return self._chosen.everything

    @property
    def times(self) -> ExchangeTimes:
        """Predictions of how long messages take."""
        return self._chosen.times

    def pack(
        self, executor: Executor, *, trees: bool = False, refines: Sequence[bool] | None = None
    ) -> dict[int, BoundaryUpdate]:
        """Return the message for each peer, not yet sealed.

        `refines` says for each peer whether only changed vertices are sent.  Without it, the choice
        depends on the messages sealed before.
        """
        exact = self._chosen.free and executor.knows_changes_early
        if exact and self._may_send_all and not trees:
            self._sends_all = self._all_is_best()
        if self._sends_all and not trees:
            if not self._owned:
                return {}
            update = executor.pack(self._all(), refine=False)
            return {peer: update for peer in range(len(self.boundaries)) if peer != self._place}

        def refine(peer: int) -> bool | ChooseWay:
            if refines is not None:
                return refines[peer]
            return partial(self.times.choose, peer) if exact else self._chosen.refines(peer)

        return {
            peer: executor.pack(boundary, refine=refine(peer), trees=trees)
            for peer, boundary in enumerate(self.boundaries)
            if len(boundary)
        }

    def seal(
        self, executor: Executor, packed: dict[int, BoundaryUpdate], *, trees: bool = False
    ) -> dict[int, BoundaryUpdate]:
        """Return the messages cut to their filled length."""
        sealed = dict(zip(packed, executor.seal(list(packed.values())), strict=True))
        if trees:
            return sealed
        if self._sends_all:
            sealed = {peer: replace(update, of_all=True) for peer, update in sealed.items()}
        for peer, update in sealed.items():
            useful, count = update.useful, self._counts[peer]
            if self._sends_all:  # the count is of all owned vertices
                useful = useful * count // self._owned
            self._sealed[peer] = useful, self._chosen.entry(update.width)
            self._chosen.learn(peer, update, count)
        return sealed

    def offer(self, peer: int, update: BoundaryUpdate) -> Offer:
        """Predict a sealed message; the time of packing ALL is divided among the peers."""
        count = self._counts[peer]
        entry, way = self._chosen.entry(update.width), update.way
        if way == "all":
            packs = 1 / (len(self._counts) - 1)
            return self.times.everyone(self._owned, {peer: count}, entry, packs=packs)
        if way == "vr":
            return self.times.listed(update.useful, count, entry, peer)
        return (self.times.bits if way == "bits" else self.times.whole)(count, entry, peer)

    def _all_is_best(self) -> bool:
        """Return whether ALL is predicted to take less than the best message for each peer."""
        if not self._sealed:
            return False
        best = Offer(0, 0.0, 0.0)
        for peer, (useful, entry) in self._sealed.items():
            listed = self.times.listed(useful, self._counts[peer], entry, peer)
            complete = self.times.whole(self._counts[peer], entry, peer)
            chosen = listed if listed.beats(complete) else complete
            best = Offer(*(so_far + field for so_far, field in zip(best, chosen, strict=True)))
        counts = {peer: count for peer, count in enumerate(self._counts) if peer != self._place}
        everyone = self.times.everyone(self._owned, counts, entry)
        return bool(everyone.beats(best))

    def _all(self) -> Any:
        """Return the positions of all owned vertices."""
        if self._everyone is None:
            boundary = self.boundaries[self._place]
            xp = array_module(not isinstance(boundary, np.ndarray))
            self._everyone = xp.arange(self._owned, dtype=boundary.dtype)
        return self._everyone
