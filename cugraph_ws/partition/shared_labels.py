"""Labels of trees at vertices that two ranks both hold, each as an owned vertex or as a ghost.

Every rank shows the labels of its trees to those who hold their vertices too, and every tree takes the
least that it is shown.  No label is less than 0, and most often the giant component has vertex 0, so most
of what two ranks both hold is settled at once, by a bit that tells that the label is 0; no round looks at
it again.

Labels that have a long way to go need not take it: pairs of those that have met are joined by all ranks
together, on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import array_module, as_host

__all__ = ["SharedLabels"]

Array = Any  # NumPy's or CuPy's
Lower = Callable[[Array, Array, Array], None]
Join = Callable[[Array, Array, int], Array]
Side = tuple[int, Any]  # how many positions there are, and an array or a slice of them

PACKED = 1 << 30  # marks made bits at a time: CuPy counts them in 32 bits
FEW_BYTES = 8  # where no more than this part of all have a bit set
NARROW = 1 << 31  # places below this are kept in half the bytes


class SharedLabels:
    """The labels of a rank's trees, and those that it has shown and was shown; all is collective.

    An end is what this rank and another one both hold.  Of each a bit is told, whether its label is above
    0, and the labels of those alone.  Ends with label 0 here and there are settled, which both ranks know.
    Nothing as long as all ends is kept.

    Parameters
    ----------
    part : Part
    trees : array of int32 or int64, shape (size,)
        The root of each position's tree.
    least : array of int32 or int64, shape (size,)
        By position the label of each root; changed in place.
    lower : callable
        Lowers entries of such an array, given it, their positions, and values.

    Attributes
    ----------
    shown : array, shape (ends,)
        The label last shown of each end that is not settled, in the order of the ranks that it is shown to.
    """

    def __init__(self, part: Part, trees: Array, least: Array, lower: Lower) -> None:
        self._part, self._xp, self._trees = part, part.xp, trees
        self._least, self._lower = least, lower
        self.shown: Array
        self._came: Array | None = self._begin()

    def __len__(self) -> int:
        return len(self._roots)

    def round(self) -> int:
        """Let labels go one rank farther; return how many of them another rank may know better."""
        came, self._came = self._show() if self._came is None else self._came, None
        if len(came):
            self._lower(self._least, self._roots, came)
        before, self.shown = self.shown, self._xp.take(self._least, self._roots)
        # A label lowered since it was shown is news to those it was shown to.
        return int(self._xp.count_nonzero((self.shown != came) | (self.shown != before)))

    def meet(self) -> int:
        """Find which labels have met here that differ; return how many pairs of them there are."""
        there, here = self._show(), self.shown
        lower = here > there  # so of two ranks one has the pair
        self._met = [as_host(one).astype(np.int64) for one in _distinct(there[lower], here[lower])]
        return len(self._met[0])

    def solve(self, join: Join) -> None:
        """Replace labels that have met, by the least of those that they are joined with; for few pairs.

        Parameters
        ----------
        join : callable
            Returns the least of `size` vertices that pairs join each with, given both ends and `size`.
        """
        # Every rank joins all pairs.
        came = self._part.halo.exchange([self._met] * self._part.halo.comm.size)
        lower, higher = map(np.concatenate, zip(*came, strict=True))
        labels, ends = np.unique(np.concatenate([lower, higher]), return_inverse=True)
        one, other = np.split(ends, 2)
        self._rename(labels, labels[join(one, other, len(labels))])

    def hook(self) -> None:
        """Put every label that has met a lower one under the least of those; then flatten all chains.

        At least half of the labels that have met others are gone after two calls, whatever the graph.  One
        that is left was not hooked by the first, so all those that it had met were; and unless it was
        the least of what each of them had met, it has met a lower one by the second.
        """
        halo, low, (lower, higher) = self._part.halo, self._part.low, self._met
        own = np.arange(low, low + self._part.owned)
        above = own.copy()
        # Pairs ascend, so that the first of a label's has the least that it has met.
        hooked, first = np.unique(higher, return_index=True)
        hooked, under = halo.send_to_owners(hooked, lower[first])
        np.minimum.at(above, hooked - low, under)
        moved, beyond = np.flatnonzero(above != own), True
        while beyond:
            nearer = above[moved]
            above[moved] = halo.fetch(above, nearer)
            beyond = any(halo.comm.allgather(bool(np.any(above[moved] != nearer))))
        labels = self.shown
        names = as_host(self._xp.unique(labels) if len(labels) else labels).astype(np.int64)
        self._rename(names, halo.fetch(above, names))

    def _rename(self, names: Array, others: Array) -> None:
        """Replace labels, which are given ascending, by lower ones; the others stay."""
        xp, labels = self._xp, self.shown
        if not len(names) or not len(labels):
            return
        known, given = xp.asarray(names, labels.dtype), xp.asarray(others, labels.dtype)
        places = xp.minimum(xp.searchsorted(known, labels), len(known) - 1)
        self.shown = xp.where(known[places] == labels, given[places], labels)
        self._least[self._roots] = self.shown  # a tree without such ends has met no other

    def _begin(self) -> Array:
        """Show labels for the first time; return those that were shown of the ends not settled."""
        xp, halo, least = self._xp, self._part.halo, self._least
        sides = self._sides()
        above = xp.take(least != 0, self._trees)
        bits = [
            _packed(xp.concatenate([above[one], above[other]]))
            for (_, one), (_, other) in zip(sides[::2], sides[1::2], strict=True)
        ]
        del above
        cuts = [0, *np.cumsum([len(one) for one in bits]).tolist()]
        here = xp.concatenate(bits)
        roots, bounds = self._roots_at(_set_places(here), sides, cuts)
        labels = xp.take(least, roots)
        del bits, roots  # before there is room for what comes
        there, labels = halo.exchange_ranges((here, cuts), (labels, bounds))
        places = _set_places(here | there)
        told = _are_set(there, places)
        self._roots, self._bounds = self._roots_at(places, sides, cuts)
        del places
        came = xp.zeros(len(self._roots), least.dtype)
        came[told] = labels
        self.shown = xp.take(least, self._roots)
        return came

    def _show(self) -> Array:
        """Show every rank the labels of what is not settled; return those shown, by end."""
        (came,) = self._part.halo.exchange_ranges((self.shown, self._bounds))
        return came

    def _sides(self) -> list[Side]:
        """Return the positions of all ends, those owned and ghosts apart: two for each rank.

        Two ranks have what they both hold in the same order: first what the lower one of them owns.
        """
        halo, sides = self._part.halo, list[Side]()
        for rank, (held, ghosts) in enumerate(zip(halo.boundaries, self._part.ghosts, strict=True)):
            both = [(len(held), held), (ghosts[1] - ghosts[0], slice(*ghosts))]
            sides += both if halo.comm.rank < rank else both[::-1]
        return sides

    def _roots_at(
        self, places: Array, sides: list[Side], cuts: list[int]
    ) -> tuple[Array, list[int]]:
        """Return the roots of the ends at places among all bits, and how many are before each rank's.

        Parameters
        ----------
        places : array of int32 or int64, ascending
        sides : list of (int, array or slice)
            As `_sides` returns them.
        cuts : list of int
            Bytes of bits before those of each rank.
        """
        xp, trees = self._xp, self._trees
        firsts = []  # bits before those of each side
        for cut, (length, _) in zip(cuts[:-1], sides[::2], strict=True):
            firsts += [8 * cut, 8 * cut + length]
        edges = xp.asarray([*firsts, 8 * cuts[-1]], places.dtype)
        bounds = as_host(xp.searchsorted(places, edges)).tolist()
        parts = []
        for (_, side), first, (low, high) in zip(sides, firsts, pairwise(bounds), strict=True):
            which = places[low:high] - first
            # Ghosts are a range, so their roots are no copy.
            one = trees[side][which] if isinstance(side, slice) else trees[xp.take(side, which)]
            parts.append(one)
        return xp.concatenate(parts), bounds[::2]


def _distinct(ones: Array, others: Array) -> tuple[Array, Array]:
    """Return each pair once, ascending."""
    xp = _module_of(ones)
    if not len(ones):
        return ones, others
    order = xp.lexsort(xp.stack([others, ones]))
    ones, others = ones[order], others[order]
    kept = xp.ones(len(ones), np.bool_)
    kept[1:] = (ones[1:] != ones[:-1]) | (others[1:] != others[:-1])
    return ones[kept], others[kept]


def _packed(marks: Array) -> Array:
    """Return an array of bool as bits, in whole bytes."""
    xp = _module_of(marks)
    pieces = range(0, max(len(marks), 1), PACKED)
    return xp.concatenate([xp.packbits(marks[first : first + PACKED]) for first in pieces])


def _are_set(bits: Array, places: Array) -> Array:
    """Tell of places among bits whether they are set."""
    return (bits[places >> 3] >> (7 - (places & 7)).astype(np.uint8)) & 1 != 0


def _set_places(bits: Array) -> Array:
    """Return the places of the bits that are set, ascending, in few bytes.

    Most often few are: then only the bytes that have any are spread out.
    """
    xp, kind = _module_of(bits), np.int32 if 8 * len(bits) < NARROW else np.int64
    some = xp.flatnonzero(bits)
    if FEW_BYTES * len(some) > len(bits):
        return xp.flatnonzero(xp.unpackbits(bits)).astype(kind, copy=False)
    found = xp.flatnonzero(xp.unpackbits(bits[some]))
    return (8 * some[found >> 3] + (found & 7)).astype(kind)


def _module_of(array: Array) -> Any:
    return array_module(not isinstance(array, np.ndarray))
