"""How much of its boundary a partition sends: all vertices, those that peers read, those that changed."""

from __future__ import annotations

from typing import Literal

from cugraph_ws.engines import Parcel
from cugraph_ws.errors import InputError

__all__ = ["ExchangeMethod", "Refinement"]

ExchangeMethod = Literal["auto", "vr", "ms", "all"]
PLACE = 4  # bytes that tell which vertex an entry is of


class Refinement:
    """Chooses what one partition sends each of its peers after the next superstep.

    Khorasani, Gupta, Bhuyan (PACT 2015), Section IV, compare three methods: ALL copies every vertex to
    everybody, the maximal subset (MS) those that the peer has arcs from, and Vertex Refinement (VR) of
    those what has changed.  An entry of VR takes its place too, so that where nearly everything changes
    MS sends less; `auto` goes by what the last superstep has changed.  A parcel says itself what it is,
    so that partitions need not agree.

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
    """

    def __init__(self, method: ExchangeMethod, *, dense: bool = False) -> None:
        if method not in ("auto", "vr", "ms", "all"):
            raise InputError(
                f"exchange={method!r} is not known; choose 'auto', 'vr', 'ms' or 'all'"
            )
        self._method = method
        self._flag = 0 if dense else 1  # bytes by which MS tells that a vertex is active
        self._refines: dict[int, bool] = {}
        self._first = not dense

    @property
    def everything(self) -> bool:
        """Whether all vertices go to everybody."""
        return self._method == "all"

    def refines(self, peer: int) -> bool:
        """Tell whether only what has changed goes to a peer.

        Parameters
        ----------
        peer : int
            The peer's number.
        """
        if self._method != "auto":
            return self._method == "vr"
        return self._refines.get(peer, self._first)

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
        width = parcel.width
        self._refines[peer] = parcel.useful * (width + PLACE) < boundary * (width + self._flag)
