"""How much of its boundary a partition sends: all vertices, those that peers read, those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from cugraph_ws.contract import Executor, Parcel
from cugraph_ws.errors import InputError
from cugraph_ws.runtime.device import array_module

__all__ = ["ExchangeMethod", "Refinement", "Sender"]

ExchangeMethod = Literal["auto", "vr", "ms", "all"]
PLACE = 4  # bytes that tell which vertex an entry is of
WORD = 32  # bits of a GPU's word


class Refinement:
    """Chooses what one partition sends each of its peers after the next superstep.

    Khorasani, Gupta, Bhuyan (PACT 2015), Section IV, compare three methods: ALL copies every vertex to
    everybody, the maximal subset (MS) those that the peer has arcs from, and Vertex Refinement (VR) of
    those what has changed.  An entry of VR takes its place too, so that where nearly everything changes
    MS sends less; `auto` takes the least, where it is known before packing (a bit for each vertex and one
    value for all of them too), and else goes by what the last superstep has changed.  A parcel says itself
    what it is, so that partitions need not agree.

    Parameters
    ----------
    method : {"auto", "vr", "ms", "all"}
        What to hold to.
    dense : bool
        Whether every superstep computes all vertices: then most will have changed the first time, and
        nobody has to be told who is active.

    Raises
    ------
    InputError
        If there is no such method.

    Attributes
    ----------
    first : bool
        Whether only what has changed goes to peers after the first superstep.
    """

    def __init__(self, method: ExchangeMethod, *, dense: bool = False) -> None:
        if method not in ("auto", "vr", "ms", "all"):
            raise InputError(
                f"exchange={method!r} is not known; choose 'auto', 'vr', 'ms' or 'all'"
            )
        self._method = method
        self._flag = 0 if dense else 1  # bytes by which MS tells that a vertex is active
        self._refines: dict[int, bool] = {}
        self.first = method == "vr" or (method == "auto" and not dense)

    @property
    def everything(self) -> bool:
        """Whether all vertices go to everybody."""
        return self._method == "all"

    @property
    def free(self) -> bool:
        """Whether what is sent is a choice."""
        return self._method == "auto"

    def refines(self, peer: int) -> bool:
        """Tell whether only what has changed goes to a peer.

        Parameters
        ----------
        peer : int
            The peer's number.
        """
        return self._refines.get(peer, self.first)

    def learn(self, peer: int, parcel: Parcel, boundary: int) -> None:
        """Take note of what a superstep has changed.

        Parameters
        ----------
        peer : int
            The peer's number.
        parcel : Parcel
            What was sent, sealed.
        boundary : int
            How many of the partition's vertices the peer holds.
        """
        if self.free:
            self._refines[peer] = self.listed(parcel.useful, parcel.width) < self.whole(
                boundary, parcel.width
            )

    def listed(self, number: Any, width: int) -> Any:
        """Return the bytes of a parcel of vertices that are listed.

        Parameters
        ----------
        number : int or ndarray of int
            How many they are.
        width : int
            Bytes of the values of one.
        """
        return number * (width + PLACE)

    def bits(self, number: Any, width: int) -> Any:
        """Return the bytes of a bit for each vertex of a boundary, in words, and one value."""
        return -(-number // WORD) * (WORD // 8) + width

    def whole(self, number: Any, width: int) -> Any:
        """Return the bytes of a parcel of all vertices of a boundary; see `listed`."""
        return number * (width + self._flag)


class Sender:
    """What one partition sends its peers.

    Parameters
    ----------
    boundaries : sequence of array of int
        For each partition, the positions that it holds as ghosts, as the executor numbers them.
    place : int
        Which of them is the partition itself.
    owned : int
        Number of its own vertices.
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
        """Whether all vertices go to everybody."""
        return self._chosen.everything

    def pack(
        self, executor: Executor, *, forest: bool = False, refines: Sequence[bool] | None = None
    ) -> dict[int, Parcel]:
        """Return what an executor has for each of its peers, still to be sealed.

        `refines` tells for each peer whether only what has changed goes there, if that is known to
        others too; else it is chosen by what has been sealed.
        """
        if self._chosen.everything and not forest:
            if not self._owned:
                return {}
            parcel = executor.pack(self._all(), refine=False)
            return {peer: parcel for peer in range(len(self.boundaries)) if peer != self._place}
        exact = self._chosen.free and executor.tells_at_once

        def refine(peer: int) -> bool | None:
            if refines is not None:
                return refines[peer]
            return None if exact else self._chosen.refines(peer)

        return {
            peer: executor.pack(boundary, refine=refine(peer), forest=forest)
            for peer, boundary in enumerate(self.boundaries)
            if len(boundary)
        }

    def seal(
        self, executor: Executor, packed: dict[int, Parcel], *, forest: bool = False
    ) -> dict[int, Parcel]:
        """Return what goes to each peer, of the length that is filled."""
        sealed = dict(zip(packed, executor.seal(list(packed.values())), strict=True))
        if not forest:
            for peer, parcel in sealed.items():
                self._chosen.learn(peer, parcel, len(self.boundaries[peer]))
        return sealed

    def _all(self) -> Any:
        """Return the positions of all own vertices."""
        if self._everyone is None:
            own = self.boundaries[self._place]
            xp = array_module(not isinstance(own, np.ndarray))
            self._everyone = xp.arange(self._owned, dtype=own.dtype)
        return self._everyone
