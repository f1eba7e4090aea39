"""How long each way of sending a boundary takes: predicted from rates, corrected by what supersteps took."""

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
    "ExchangeTimes",
    "LastingTimes",
    "Offer",
    "Parts",
    "Rates",
    "bit_of",
    "names_of",
    "times_between",
]

WAYS: tuple[Way, ...] = ("vr", "ms", "all", "bits")
CLOSE = 2e-5  # seconds; offers that differ by less are as good as each other, and bytes decide
WORTH = 1e-4  # seconds that must have been predicted for a measurement to correct them
WEIGHT = 0.5  # of the latest measurement in a correction
KEPT = 3  # supersteps of a way
MARGIN = 1.01
LEAST, MOST = 1 / 16, 16.0  # a correction's bounds


@dataclass(frozen=True)
class Rates:
    """Seconds of the parts of an exchange.

    Attributes
    ----------
    byte, latency : float
        Of a byte between two ranks, and of a message however small.
    look : float
        Of a boundary vertex of which it is found out whether it has changed.
    take, put : float
        Of a listed vertex: its packing, and its unpacking.
    copy, fill : float
        The same of a vertex of a message with all vertices.
    wait : float
        Of the wait for lengths, once in a superstep, if messages cannot leave before all know them.
    """

    byte: float
    latency: float
    look: float
    take: float
    put: float
    copy: float
    fill: float
    wait: float = 0.0


# NumPy on one core, and Dask's connections of one host; `cluster_scan` measures those of a cluster
HOST = Rates(1e-9, 3e-4, look=0.7e-9, take=8e-9, put=12e-9, copy=2.3e-9, fill=3.5e-9)
# H200s over NVLink.  Whole messages are received where ghosts are kept: there is nothing to unpack.
GPU = Rates(4e-12, 1e-5, look=1e-11, take=1e-11, put=2e-11, copy=8e-12, fill=0.0, wait=1.5e-5)


class Offer(NamedTuple):
    """A way to send a message; arrays for several messages.

    Attributes
    ----------
    nbytes, sending, handling : number or ndarray
        Bytes, seconds on the way, and seconds of packing and unpacking.
    """

    nbytes: Any
    sending: Any
    handling: Any

    @property
    def seconds(self) -> Any:
        """All seconds."""
        return self.sending + self.handling

    def or_else(self, other: Offer, where: Any) -> Offer:
        """Return this, and another where a mask is set."""
        return Offer(*(np.where(where, two, one) for one, two in zip(self, other, strict=True)))

    def beats(self, other: Offer) -> Any:
        """Return whether this is better: takes less time or, where that is close, fewer bytes."""
        less = self.seconds - other.seconds
        return np.where(abs(less) <= CLOSE, self.nbytes < other.nbytes, less < 0)


class Parts(NamedTuple):
    """What a rank's exchange took, or is predicted to take, in seconds.

    Attributes
    ----------
    latency, sending, handling : float
    """

    latency: float = 0.0
    sending: float = 0.0
    handling: float = 0.0


class ExchangeTimes:
    """Predicts how long messages take, by what they are made of.

    Corrections are common to all ways, so that one which has not been used lately is not forgotten.
    They are computed from numbers that all ranks have, in one order, so ranks agree on them.

    Parameters
    ----------
    rates : Rates
    links : ndarray of float64, shape (..., ranks), optional
        Seconds of a byte on the way to each rank, if they differ.
    """

    def __init__(self, rates: Rates, links: npt.NDArray[np.float64] | None = None) -> None:
        self.rates, self._links = rates, links
        self.handling = self.sending = 1.0  # corrections

    def byte(self, peer: Any = ...) -> Any:
        """Return the seconds of a byte on the way to a rank, or to all of them."""
        known = self.rates.byte if self._links is None else self._links[..., peer]
        return known * self.sending

    def listed(self, useful: Any, count: Any, entry: Entry, peer: Any = ...) -> Offer:
        """Return a message that lists the vertices that have changed (VR).

        Parameters
        ----------
        useful, count : int or ndarray of int
            How many vertices have changed, and how many the boundary has.
        entry : Entry
        peer : int, optional
            The receiver; all by default.
        """
        rates, nbytes = self.rates, useful * (entry.width + entry.place)
        handling = count * rates.look + useful * (rates.take + rates.put)
        return Offer(nbytes, nbytes * self.byte(peer), handling * self.handling)

    def whole(self, count: Any, entry: Entry, peer: Any = ...) -> Offer:
        """Return a message with all vertices of a boundary (MS); see `listed`."""
        rates, nbytes = self.rates, count * (entry.width + entry.flag)
        handling = count * (rates.copy + rates.fill)
        return Offer(nbytes, nbytes * self.byte(peer), handling * self.handling)

    def bits(self, count: Any, entry: Entry, peer: Any = ..., *, word: int = 1) -> Offer:
        """Return a message with a bit for each vertex, in words of so many bytes, and one value."""
        rates, nbytes = self.rates, -(-count // (8 * word)) * word + entry.width
        handling = count * (rates.look + rates.fill)
        return Offer(nbytes, nbytes * self.byte(peer), handling * self.handling)

    def everyone(
        self, owned: int, counts: Mapping[int, int], entry: Entry, *, packs: float = 1
    ) -> Offer:
        """Return messages with all owned vertices, which are packed once for all peers (ALL).

        Parameters
        ----------
        owned : int
            Number of owned vertices.
        counts : mapping of int to int
            How many of them each receiver has as ghosts; it need not pick them if these are all.
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
        """Return the best way of a message of which all is known; see `contract.ChooseWay`."""
        listed, whole = self.listed(useful, count, entry, peer), self.whole(count, entry, peer)
        refines = bool(listed.beats(whole))
        best = listed if refines else whole
        if useful and self.bits(count, entry, peer).beats(best) and alike():
            return "bits"
        return "vr" if refines else "ms"

    def learn(self, predicted: Sequence[Parts], took: Sequence[Parts]) -> None:
        """Correct predictions by a superstep.

        Parameters
        ----------
        predicted, took : sequence of Parts
            Of each rank.  A rank also waits for the others while it sends: the least of the times is
            that of the rank which came last.
        """
        latency, sending = (max(one[place] for one in predicted) for place in (0, 1))
        if sending > max(WORTH, latency):
            least = min(one.sending for one in took)
            self.sending *= _ratio(least - latency, sending)
        handling = sum(one.handling for one in predicted)
        if handling > WORTH:
            self.handling *= _ratio(sum(one.handling for one in took), handling)
        self.sending, self.handling = (
            min(max(one, LEAST), MOST) for one in (self.sending, self.handling)
        )


class LastingTimes:
    """What supersteps of equal work took beside what was predicted of their exchange, by its way.

    What overlaps with what need not be predicted so: a way that has been used counts by its times.
    """

    def __init__(self) -> None:
        self._rest: dict[bool, deque[float]] = {}
        self._way: bool | None = None

    def learn(self, way: bool, predicted: float, took: float) -> None:
        """Take the seconds of a superstep; the first one of a way does not count.

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
        """Return the seconds of the next superstep.

        Parameters
        ----------
        way : bool
        predicted : float
            Seconds of the exchange.
        now : bool
            The way used last; another one must be better by a margin.
        """
        rest = self._rest.get(way) or self._rest.get(not way) or [0.0]
        return (predicted + min(rest)) * (1.0 if way == now else MARGIN)


def times_between(comm: Communicator) -> ExchangeTimes:
    """Return the predictions of a rank, with the rates that have been measured of its links.

    Parameters
    ----------
    comm : Communicator
        `measured`, where it has that, is the seconds of a byte and of a message by rank.
    """
    measured = getattr(comm, "measured", None)
    if not measured:
        return ExchangeTimes(HOST)
    links = np.full(comm.size, HOST.byte)
    links[list(measured)] = [byte for byte, _ in measured.values()]
    latency = max(latency for _, latency in measured.values())
    return ExchangeTimes(replace(HOST, latency=latency), links)


def _ratio(took: float, predicted: float) -> float:
    """Return by how much to multiply a correction."""
    return 1 - WEIGHT + WEIGHT * min(max(took / predicted, LEAST), MOST)


def bit_of(way: Way) -> int:
    """Return the bit that stands for a way."""
    return 1 << WAYS.index(way)


def names_of(ways: int) -> str:
    """Return the names of ways, of which each is a bit, joined by "+"."""
    return "+".join(name for place, name in enumerate(WAYS) if ways >> place & 1)
