"""Which vertices a partition sends to a peer: all, its boundary, or what changed of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from cugraph_ws.contract import BoundaryUpdate, Executor
from cugraph_ws.runtime.device import array_module

__all__ = ["ExchangeMethod", "Refinement", "Sender"]

ExchangeMethod = Literal["auto", "vr", "ms", "all"]
PLACE = 4  # bytes of an entry's place in the boundary
WORD = 32  # bits of a GPU's word


class Refinement:
    """Chooses what one partition sends to each peer after the next superstep.

    Khorasani, Gupta, Bhuyan (PACT 2015), Section IV, compare three methods.  ALL sends every
    vertex to every peer.  The maximal subset (MS) is the vertices that the peer has arcs from: the
    boundary. Vertex Refinement (VR) sends those of the boundary that changed.

    An entry of VR also carries its place, so MS sends less if nearly all vertices change.  If
    sizes are known before packing, `auto` chooses the smallest message; there it also considers
    one bit for each vertex with one value for all.  Otherwise it chooses by what the last
    superstep changed.  A message declares its encoding, so partitions need not agree on a choice.

    Parameters
    ----------
    method : {"auto", "vr", "ms", "all"}
        The method; `auto` chooses between VR and MS for each message.
    dense : bool
        Whether every superstep computes all vertices.  Then most vertices change in the first
        superstep, and messages need not say which are active.

    Attributes
    ----------
    first : bool
        Whether only changed vertices are sent after the first superstep.
    """

    def __init__(self, method: ExchangeMethod, *, dense: bool = False) -> None:
        self._method = method
        self._flag = 0 if dense else 1  # bytes of a vertex's active flag in MS
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
            self._refines[peer] = self.listed(update.useful, update.width) < self.whole(
                boundary, update.width
            )

    def listed(self, number: Any, width: int) -> Any:
        """Return the bytes of a message that lists its vertices.

        Parameters
        ----------
        number : int or ndarray of int
            Number of vertices.
        width : int
            Bytes of the values of one vertex.
        """
        return number * (width + PLACE)

    def bits(self, number: Any, width: int) -> Any:
        """Return the bytes of a message with one bit for each vertex, in words, and one value."""
        return -(-number // WORD) * (WORD // 8) + width

    def whole(self, number: Any, width: int) -> Any:
        """Return the bytes of a message with all vertices of a boundary; see `listed`."""
        return number * (width + self._flag)


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
        self._place, self._owned = place, owned
        self._chosen = Refinement(method, dense=dense)
        self._everyone: Any = None

    @property
    def everything(self) -> bool:
        """Whether every peer is sent all vertices."""
        return self._chosen.everything

    def pack(
        self, executor: Executor, *, trees: bool = False, refines: Sequence[bool] | None = None
    ) -> dict[int, BoundaryUpdate]:
        """Return the message for each peer, not yet sealed.

        `refines` says for each peer whether only changed vertices are sent.  Without it, the choice
        depends on the messages sealed before.
        """
        if self._chosen.everything and not trees:
            if not self._owned:
                return {}
            update = executor.pack(self._all(), refine=False)
            return {peer: update for peer in range(len(self.boundaries)) if peer != self._place}
        exact = self._chosen.free and executor.knows_changes_early

        def refine(peer: int) -> bool | None:
            if refines is not None:
                return refines[peer]
            return None if exact else self._chosen.refines(peer)

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
        if not trees:
            for peer, update in sealed.items():
                self._chosen.learn(peer, update, len(self.boundaries[peer]))
        return sealed

    def _all(self) -> Any:
        """Return the positions of all owned vertices."""
        if self._everyone is None:
            own = self.boundaries[self._place]
            xp = array_module(not isinstance(own, np.ndarray))
            self._everyone = xp.arange(self._owned, dtype=own.dtype)
        return self._everyone
