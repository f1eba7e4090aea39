"""Predictions of how long each way of sending a boundary takes, corrected by measured supersteps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import Entry, Way
from cugraph_ws.runtime.communicator import Communicator

__all__ = [
    "CLOSE",
    "GPU",
    "HOST",
    "ExchangeSeconds",
    "ExchangeTimes",
    "LastingTimes",
    "Offer",
    "Rates",
    "bit_of",
    "names_of",
    "times_between",
]

WAYS: tuple[Way, ...] = ("vr", "ms", "all", "bits")
CLOSE = 2e-5  # seconds: if offers differ by less, the number of bytes decides
WORTH = 1e-4  # seconds: predictions below this are not corrected by measurements
WEIGHT = 0.5  # weight of the latest measurement in a correction
KEPT = 3  # latest supersteps of a way that are remembered
MARGIN = 1.01
LEAST, MOST = 1 / 16, 16.0  # bounds of a correction


@dataclass(frozen=True)
class Rates:
    """Seconds of the parts of an exchange.

    Attributes
    ----------
    byte, latency : float
        Per byte sent between two ranks, and per message.
    look : float
        To test whether a boundary vertex has changed.
    take, put : float
        To pack, and to unpack, a vertex of a message that lists vertices.
    copy, fill : float
        To pack, and to unpack, a vertex of a message with all vertices.
    wait : float
        To wait for the lengths of messages, once a superstep, if they must be known before any is sent.
    """

    byte: float
    latency: float
    look: float
    take: float
    put: float
    copy: float
    fill: float
    wait: float = 0.0


# NumPy on one core, and Dask's connections within a host; `cluster_scan` measures those of a cluster
HOST = Rates(1e-9, 3e-4, look=0.7e-9, take=8e-9, put=12e-9, copy=2.3e-9, fill=3.5e-9)
# H200s over NVLink.  Whole messages are received where ghosts are kept: there is nothing to unpack.
GPU = Rates(4e-12, 1e-5, look=1e-11, take=1e-11, put=2e-11, copy=8e-12, fill=0.0, wait=1.5e-5)


class Offer(NamedTuple):
    """The predicted cost of a way to send a message, or several messages if its fields are arrays.

    Attributes
    ----------
    nbytes : number or ndarray
        Bytes sent.
    sending, handling : number or ndarray
        Seconds of sending, and of packing and unpacking.
    """

    nbytes: Any
    sending: Any
    handling: Any

    @property
    def seconds(self) -> Any:
        """Seconds in total."""
        return self.sending + self.handling

    def or_else(self, alternative: Offer, where: Any) -> Offer:
        """Return this offer, replaced by another one where a mask is set."""
        return Offer(
            *(
                np.where(where, replacement, field)
                for field, replacement in zip(self, alternative, strict=True)
            )
        )

    def beats(self, rival: Offer) -> Any:
        """Return whether this one takes less time or, if times are close, sends fewer bytes."""
        less = self.seconds - rival.seconds
        return np.where(abs(less) <= CLOSE, self.nbytes < rival.nbytes, less < 0)


class ExchangeSeconds(NamedTuple):
    """Seconds that a rank's exchange took, or is predicted to take.

    Attributes
    ----------
    latency : float
        The fixed time of messages.
    sending : float
        The time of their bytes.
    handling : float
        The time of packing and unpacking.
    """

    latency: float = 0.0
    sending: float = 0.0
    handling: float = 0.0


class ExchangeTimes:
    """Predicts how long messages take, from their contents.

    All ways share one correction of sending and one of handling, so ways that were not used lately are
    corrected too.  Corrections are computed in the same order from numbers that all ranks have, so
    ranks agree on them.

    Parameters
    ----------
    rates : Rates
    links : ndarray of float64, shape (..., ranks), optional
        Seconds per byte sent to each rank, if they differ.
    """

    def __init__(self, rates: Rates, links: npt.NDArray[np.float64] | None = None) -> None:
        self.rates, self._links = rates, links
        self.handling = self.sending = 1.0  # corrections

    def byte(self, peer: Any = ...) -> Any:
        """Return the seconds per byte sent to a rank, or to each of them."""
        known = self.rates.byte if self._links is None else self._links[..., peer]
        return known * self.sending

    def listed(self, useful: Any, count: Any, entry: Entry, peer: Any = ...) -> Offer:
        """Predict a message that lists the vertices that have changed (VR).

        Parameters
        ----------
        useful, count : int or ndarray of int
            Number of changed vertices, and of all vertices of the boundary.
        entry : Entry
        peer : int, optional
            The receiver; all by default.
        """
        rates, nbytes = self.rates, useful * (entry.width + entry.place)
        handling = count * rates.look + useful * (rates.take + rates.put)
        return Offer(nbytes, nbytes * self.byte(peer), handling * self.handling)

    def whole(self, count: Any, entry: Entry, peer: Any = ...) -> Offer:
        """Predict a message with all vertices of a boundary (MS); see `listed`."""
        rates, nbytes = self.rates, count * (entry.width + entry.flag)
        handling = count * (rates.copy + rates.fill)
        return Offer(nbytes, nbytes * self.byte(peer), handling * self.handling)

    def bits(self, count: Any, entry: Entry, peer: Any = ..., *, word: int = 1) -> Offer:
        """Predict a message with a bit for each vertex, in words of `word` bytes, and one value."""
        rates, nbytes = self.rates, -(-count // (8 * word)) * word + entry.width
        handling = count * (rates.look + rates.fill)
        return Offer(nbytes, nbytes * self.byte(peer), handling * self.handling)

    def everyone(
        self, owned: int, counts: Mapping[int, int], entry: Entry, *, packs: float = 1
    ) -> Offer:
        """Predict messages with all owned vertices, which are packed once for all peers (ALL).

        Parameters
        ----------
        owned : int
            Number of owned vertices.
        counts : mapping of int to int
            How many of them each receiver has as ghosts.  It need not select them if it has all.
        entry : Entry
        packs : float
            How many times they are packed.
        """
        rates, nbytes = self.rates, owned * (entry.width + entry.flag)
        picked = sum(count for count in counts.values() if count < owned)
        handling = (packs * owned + picked) * rates.copy + sum(counts.values()) * rates.fill
        sending = sum(nbytes * self.byte(peer) for peer in counts)
        return Offer(nbytes * len(counts), sending, handling * self.handling)

    def choose(
        self, peer: int, useful: int, count: int, entry: Entry, alike: Callable[[], bool]
    ) -> Way:
        """Return the best way to send a message whose sizes are known; see `contract.ChooseWay`."""
        listed, complete = self.listed(useful, count, entry, peer), self.whole(count, entry, peer)
        refines = bool(listed.beats(complete))
        best = listed if refines else complete
        if useful and self.bits(count, entry, peer).beats(best) and alike():
            return "bits"
        return "vr" if refines else "ms"

    def learn(self, predicted: Sequence[ExchangeSeconds], took: Sequence[ExchangeSeconds]) -> None:
        """Correct predictions by the times of a superstep.

        Parameters
        ----------
        predicted, took : sequence of ExchangeSeconds
            One for each rank.  The measured time of sending includes the wait for other ranks, so the
            least one, that of the rank which came last, is used.
        """
        latency, sending = (max(parts[place] for parts in predicted) for place in (0, 1))
        if sending > max(WORTH, latency):
            least = min(parts.sending for parts in took)
            self.sending *= _ratio(least - latency, sending)
        handling = sum(parts.handling for parts in predicted)
        if handling > WORTH:
            self.handling *= _ratio(sum(parts.handling for parts in took), handling)
        self.sending, self.handling = (
            min(max(factor, LEAST), MOST) for factor in (self.sending, self.handling)
        )


class LastingTimes:
    """Estimates supersteps of equal work, by way: the predicted exchange and the measured rest.

    The rest is what supersteps took beyond the prediction.  So overlaps of work with the exchange need
    not be predicted for a way that has been used.
    """

    def __init__(self) -> None:
        self._rest: dict[bool, deque[float]] = {}
        self._way: bool | None = None

    def learn(self, way: bool, predicted: float, took: float) -> None:
        """Record the seconds of a superstep; the first superstep after a change of way does not count.

        Parameters
        ----------
        way : bool
            Whether changed vertices were listed.
        predicted, took : float
            Seconds of the exchange, and of the superstep with it.
        """
        if way == self._way:
            self._rest.setdefault(way, deque(maxlen=KEPT)).append(took - predicted)
        self._way = way

    def estimate(self, way: bool, predicted: float, now: bool) -> float:
        """Estimate the seconds of the next superstep.

        Parameters
        ----------
        way : bool
            Whether changed vertices are listed.
        predicted : float
            Predicted seconds of the exchange.
        now : bool
            The way used last.  The estimate of the other way is increased by a margin.
        """
        rest = self._rest.get(way) or self._rest.get(not way) or [0.0]
        return (predicted + min(rest)) * (1.0 if way == now else MARGIN)


def times_between(comm: Communicator) -> ExchangeTimes:
    """Return a rank's predictions, with the measured rates of its links, if there are any.

    Parameters
    ----------
    comm : Communicator
        If it has an attribute `measured`: seconds per byte and per message, by rank.

    Returns
    -------
    ExchangeTimes
    """
    measured = getattr(comm, "measured", None)
    if not measured:
        return ExchangeTimes(HOST)
    links = np.full(comm.size, HOST.byte)
    links[list(measured)] = [byte for byte, _ in measured.values()]
    latency = max(latency for _, latency in measured.values())
    return ExchangeTimes(replace(HOST, latency=latency), links)


def _ratio(took: float, predicted: float) -> float:
    """Return the factor by which a correction is multiplied."""
    return 1 - WEIGHT + WEIGHT * min(max(took / predicted, LEAST), MOST)


def bit_of(way: Way) -> int:
    """Return the bit that represents a way in `Traffic.ways`."""
    return 1 << WAYS.index(way)


def names_of(ways: int) -> str:
    """Return the names of the ways whose bits are set, joined by "+"."""
    return "+".join(name for place, name in enumerate(WAYS) if ways >> place & 1)
