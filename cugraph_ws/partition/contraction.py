"""Pairs of trees, wherever their roots are, joined by all ranks together.

A few pairs every rank joins on its own.  Many are contracted first, in rounds: every tree is hooked
under a neighbour that comes before it in an order drawn anew for each round, and every chain of hooks is
then made flat by jumps from rank to rank.  At least half of the trees with neighbours are gone after a
round, on average, whatever the graph (as in Borůvka's algorithm), so a long path takes a few rounds and
not its length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cuda.device import array_module, as_host
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.part import Part

__all__ = ["SHARED", "Contraction", "distinct", "solve"]

Integers = npt.NDArray[np.int64]
Join = Callable[[Integers, Integers, int], npt.NDArray[Any]]

SHARED = 1 << 20  # pairs of trees that every rank can hold at once


class Contraction:
    """A graph of pairs of trees, joined in rounds, on the host; all of it is collective.

    Parameters
    ----------
    part : Part
    ones, others : ndarray of int64, shape (own pairs,)
        Pairs of roots, by number; any rank may have any pair.
    join : callable
        Returns the least of `size` vertices that pairs join each with, given both ends and `size`.

    Attributes
    ----------
    pairs : int
        How many are left to be joined, of all ranks.
    """

    def __init__(self, part: Part, ones: Integers, others: Integers, join: Join) -> None:
        self._part, self._halo, self._join = part, part.halo, join
        self._ones, self._others = ones, others
        self._rounds = 0  # of hooks
        self.pairs, self._sent = self._halo.totals(len(ones))

    def step(self) -> int:
        """Contract once, or for good if all that is left fits anywhere; return the bytes sent so far."""
        if self.pairs <= SHARED:
            self._finish()
            self.pairs = 0
        else:
            self._hook()
            self._jump()
            ends = self._halo.fetch(self._above, np.concatenate([self._ones, self._others]))
            self._ones, self._others = distinct(*np.split(ends, 2))
            self.pairs, more = self._halo.totals(len(self._ones))
            self._sent += more
        if self.pairs == 0 and self._rounds:
            self._name()
        sent, self._sent = self._sent, 0
        return sent

    def outcome(self, labels: Any) -> tuple[Integers, Integers]:
        """Return what has become of labels, once no pairs are left.

        Parameters
        ----------
        labels : array of int32 or int64, of the host or the device
            The labels that are of interest here, all of them of vertices.

        Returns
        -------
        names, others : ndarray of int64
            Labels, ascending, and for each the least of those that it is joined with.  A label that is
            not among them stays.
        """
        if not self._rounds:
            return self._solved
        xp = array_module(not isinstance(labels, np.ndarray))
        names = as_host(xp.unique(labels)).astype(np.int64)
        return names, self._halo.fetch(self._above, names)

    def _hook(self) -> None:
        """Put every root with a neighbour that comes before it under the first of those."""
        if not self._rounds:
            self._own = self._part.low + np.arange(self._part.owned)
            self._above = self._own.copy()  # the vertex that each owned one is hooked under
        self._rounds += 1
        # An odd factor permutes 64 bits: a new order, without ties, of all vertices.
        odd = np.random.default_rng(self._rounds).integers(1 << 63, dtype=np.uint64) * 2 + 1

        def rank(numbers: Integers) -> npt.NDArray[np.uint64]:
            return numbers.astype(np.uint64) * odd

        def best(hooked: Integers, under: Integers) -> tuple[Integers, Integers]:
            order = np.lexsort((rank(under), hooked))
            hooked, under = hooked[order], under[order]
            first = np.ones(len(hooked), np.bool_)
            first[1:] = hooked[1:] != hooked[:-1]
            return hooked[first], under[first]

        later = rank(self._ones) > rank(self._others)
        hooked = np.where(later, self._ones, self._others)
        under = np.where(later, self._others, self._ones)
        hooked, under = best(*self._halo.send_to_owners(*best(hooked, under)))
        self._above[hooked - self._part.low] = under

    def _jump(self) -> None:
        """Let every root look past the one it is hooked under, until there is none beyond."""
        moved = np.flatnonzero(self._above != self._own)
        beyond = True
        while beyond:
            nearer = self._above[moved]
            self._above[moved] = self._halo.fetch(self._above, nearer)
            beyond = any(self._halo.comm.allgather(bool(np.any(self._above[moved] != nearer))))

    def _finish(self) -> None:
        """Solve what is left, every rank the same: a label is the least root of those joined."""
        self._solved = roots, least = solve(self._halo, self._ones, self._others, self._join)
        if self._rounds:
            earlier = np.flatnonzero(self._above != self._own)  # hooked in the rounds before
            low, high = np.searchsorted(roots, [self._part.low, self._part.low + len(self._own)])
            self._above[roots[low:high] - self._part.low] = least[low:high]
            self._above[earlier] = self._halo.fetch(self._above, self._above[earlier])

    def _name(self) -> None:
        """Replace every label by the least root that has it: some order chose it, not its number."""
        moved = np.flatnonzero(self._above != self._own)
        least = self._own.copy()
        labels, roots = self._halo.send_to_owners(self._above[moved], self._own[moved])
        np.minimum.at(least, labels - self._part.low, roots)
        named = self._halo.fetch(least, self._above[moved])
        self._above = least  # of those that none has moved
        self._above[moved] = named


def solve(halo: Halo, ones: Integers, others: Integers, join: Join) -> tuple[Integers, Integers]:
    """Join the pairs of all ranks, every rank all of them; collective.

    Parameters
    ----------
    halo : Halo
    ones, others : ndarray of int64, shape (own pairs,)
    join : callable
        As `Contraction` takes it.

    Returns
    -------
    roots, least : ndarray of int64
        All that are in a pair, ascending, and for each the least of those that it is joined with.
    """
    boxes = [[ones, others]] * halo.comm.size
    ones, others = map(np.concatenate, zip(*halo.exchange(boxes), strict=True))
    roots, ends = np.unique(np.concatenate([ones, others]), return_inverse=True)
    one, other = np.split(ends, 2)
    return roots, roots[join(one, other, len(roots))]


def distinct(ones: Any, others: Any) -> tuple[Any, Any]:
    """Return each pair of two different roots once, the smaller one first.

    Parameters
    ----------
    ones, others : array of int32 or int64, of the host or the device

    Returns
    -------
    low, high : array
        In the same place.
    """
    xp = array_module(not isinstance(ones, np.ndarray))
    low, high = xp.minimum(ones, others), xp.maximum(ones, others)
    if not len(low):
        return low, high
    order = xp.lexsort(xp.stack([high, low]))
    low, high = low[order], high[order]
    kept = low != high
    kept[1:] &= (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return low[kept], high[kept]
