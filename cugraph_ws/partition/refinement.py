"""Which vertices a partition sends to a peer: all, the boundary, or the changed vertices of the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from cugraph_ws.contract import BoundaryUpdate, ChooseWay, Entry, Executor
from cugraph_ws.partition.ways import bytes_listed, bytes_whole, choose_way
from cugraph_ws.runtime.arrays import array_module

__all__ = ["ExchangeMethod", "Refinement", "Sender"]

ExchangeMethod = Literal["auto", "vr", "ms", "all"]


class Refinement:
    """Chooses what one partition sends to each peer after the next superstep.

    Khorasani, Gupta, Bhuyan (PACT 2015), Section IV, compare three methods.  ALL sends every
    vertex to every peer.  Maximal Subset (MS) sends the boundary: the vertices that the peer has arcs
    from.  Vertex Refinement (VR) sends the vertices of the boundary that changed.

    An entry of VR also carries an index, and is found, packed and unpacked separately, so MS is faster
    if many vertices change.  `auto` is MS if every superstep computes all vertices.  Otherwise it takes
    the message of fewest bytes (`ways.py`): if sizes are known before packing, for each message, and a bit
    for each vertex with one value for all is considered as well; else by the number of vertices that the
    last superstep changed.  A message declares its encoding, so partitions need not agree on a choice.

    Parameters
    ----------
    method : {"auto", "vr", "ms", "all"}
        The method.
    dense : bool
        Whether every superstep computes all vertices.  Then most vertices change in the first
        superstep, and messages need not say which are active.

    Attributes
    ----------
    first : bool
        Whether only changed vertices are sent after the first superstep.
    flag : int
        Bytes of a vertex's active flag in a message with all vertices.
    """

    def __init__(self, method: ExchangeMethod, *, dense: bool = False) -> None:
        self._method, self._dense = method, dense
        self.flag = 0 if dense else 1
        self._refines: dict[int, bool] = {}
        self.first = method == "vr" or (method == "auto" and not dense)

    @property
    def everything(self) -> bool:
        """Whether every peer is sent all vertices."""
        return self._method == "all"

    @property
    def free(self) -> bool:
        """Whether the method is chosen for each message."""
        return self._method == "auto" and not self._dense

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
            listed = bytes_listed(update.useful, entry)
            self._refines[peer] = listed < bytes_whole(boundary, entry)


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
    dense : bool
        See `Refinement`.
    """

    def __init__(
        self,
        boundaries: Sequence[Any],
        place: int,
        owned: int,
        method: ExchangeMethod,
        *,
        dense: bool,
    ) -> None:
        self.boundaries = boundaries
        self._counts = [len(boundary) for boundary in boundaries]
        self._place, self._owned = place, owned
        self._chosen = Refinement(method, dense=dense)
        self._everyone: Any = None

    @property
    def everything(self) -> bool:
        """Whether every peer is always sent all vertices."""
        return self._chosen.everything

    def pack(
        self, executor: Executor, *, trees: bool = False, refines: Sequence[bool] | None = None
    ) -> dict[int, BoundaryUpdate]:
        """Return the message for each peer, not yet sealed.

        `refines` says for each peer whether only changed vertices are sent.  Without it, the choice
        depends on the messages sealed before.
        """
        exact = self._chosen.free and executor.knows_changes_early
        if self.everything and not trees:
            if not self._owned:
                return {}
            update = executor.pack(self._all(), refine=False)
            return {peer: update for peer in range(len(self.boundaries)) if peer != self._place}

        def refine(peer: int) -> bool | ChooseWay:
            if refines is not None:
                return refines[peer]
            return choose_way if exact else self._chosen.refines(peer)

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
        if self.everything:
            return {peer: replace(update, of_all=True) for peer, update in sealed.items()}
        for peer, update in sealed.items():
            self._chosen.learn(peer, update, self._counts[peer])
        return sealed

    def _all(self) -> Any:
        """Return the positions of all owned vertices."""
        if self._everyone is None:
            boundary = self.boundaries[self._place]
            xp = array_module(not isinstance(boundary, np.ndarray))
            self._everyone = xp.arange(self._owned, dtype=boundary.dtype)
        return self._everyone
