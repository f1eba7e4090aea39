"""Labels of trees at shared vertices: those that two ranks hold, as an owned vertex or as a ghost.

Every rank sends the labels of its trees to the ranks that share their vertices, and every tree
takes the least label received.  No label is below 0, and the giant component usually contains
vertex 0.  So a first message of one bit per vertex, whether its label is above 0, decides most
shared vertices; later rounds skip them.

Long paths would take many rounds.  To avoid this, all ranks join pairs of labels of the same component
on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import as_host, module_of
from cugraph_ws.runtime.masks import count_true

__all__ = ["SharedLabels"]

Array = Any  # NumPy's or CuPy's
Lower = Callable[[Array, Array, Array], None]
Join = Callable[[Array, Array, int], Array]
Side = tuple[int, Any]  # number of positions, and an array or a slice of them

PACKED = 1 << 30  # entries packed to bits at a time: CuPy counts them in 32 bits
FEW_BYTES = 8  # bits are unpacked byte by byte if at most one byte in 8 has a bit set
NARROW = 1 << 31  # indices below this are stored as int32


class SharedLabels:
    """The labels of a rank's trees, and those sent to other ranks; all methods are collective.

    An end is a vertex that this rank shares with another.  The first exchange sends one bit for
    each end, whether its label is above 0, and the labels above 0.  An end is decided if its label
    is 0 on both ranks; both then know it.  After the first exchange, no array is as long as all
    ends.

    Parameters
    ----------
    part : Part
    trees : array of int32 or int64, shape (size,)
        The root of the tree of each position.
    least : array of int32 or int64, shape (size,)
        The label of each root, by position; modified in place.
    lower : callable
        Lowers entries of an array like `least`; takes the array, positions and values.

    Attributes
    ----------
    shown : array, shape (ends,)
        The label last sent for each undecided end, in the order of the ranks it is sent to.
    """

    def __init__(self, part: Part, trees: Array, least: Array, lower: Lower) -> None:
        self._part, self._xp, self._trees = part, part.xp, trees
        self._least, self._lower = least, lower
        self.shown: Array
        self._came: Array | None = self._begin()

    def __len__(self) -> int:
        return len(self._roots)

    def round(self) -> int:
        """Exchange labels once; return the number of ends at which two ranks may still differ."""
        came, self._came = self._show() if self._came is None else self._came, None
        if len(came):
            self._lower(self._least, self._roots, came)
        before, self.shown = self.shown, self._xp.take(self._least, self._roots)
        # A label lowered since it was sent is an update for the other rank.
        return count_true((self.shown != came) | (self.shown != before))

    def find_pairs(self) -> int:
        """Find pairs of labels that differ at an end; return the number of distinct pairs."""
        there, here = self._show(), self.shown
        lower = here > there  # true on only one of the two ranks
        self._met = [as_host(one).astype(np.int64) for one in _distinct(there[lower], here[lower])]
        return len(self._met[0])

    def solve(self, join: Join) -> None:
        """Replace every paired label by the least label connected with it through pairs; for few pairs.

        Parameters
        ----------
        join : callable
            Given both vertices of each pair, and `size`, returns for each of `size` vertices the
            least vertex connected with it.
        """
        # Every rank joins all pairs.
        came = self._part.halo.exchange([self._met] * self._part.halo.comm.size)
        lower, higher = map(np.concatenate, zip(*came, strict=True))
        labels, ends = np.unique(np.concatenate([lower, higher]), return_inverse=True)
        one, other = np.split(ends, 2)
        self._rename(labels, labels[join(one, other, len(labels))])

    def hook(self) -> None:
        """Attach every label with lower partners to the least of them; then flatten all chains.

        Two calls remove at least half of the paired labels, whatever the graph.  A label that remains
        after the first call has no lower partner, so all of its partners were attached.  If each of
        them was attached to this label, these are removed.  Otherwise the label is paired with a lower
        one at the second call.
        """
        halo, low, (lower, higher) = self._part.halo, self._part.low, self._met
        own = np.arange(low, low + self._part.owned)
        above = own.copy()
        # Pairs are ascending, so a label's first pair has its least partner.
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
        """Replace labels, given in ascending order, by lower ones; others are unchanged."""
        xp, labels = self._xp, self.shown
        if not len(names) or not len(labels):
            return
        known, given = xp.asarray(names, labels.dtype), xp.asarray(others, labels.dtype)
        places = xp.minimum(xp.searchsorted(known, labels), len(known) - 1)
        self.shown = xp.where(known[places] == labels, given[places], labels)
        self._least[self._roots] = self.shown  # trees without undecided ends are in no pair

    def _begin(self) -> Array:
        """Send labels for the first time; return the labels received for undecided ends."""
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
        del bits, roots  # freed before the receive buffers are allocated
        there, labels = halo.exchange_ranges((here, cuts), (labels, bounds))
        places = _set_places(here | there)
        above_there = _are_set(there, places)
        self._roots, self._bounds = self._roots_at(places, sides, cuts)
        del places
        came = xp.zeros(len(self._roots), least.dtype)
        came[above_there] = labels
        self.shown = xp.take(least, self._roots)
        return came

    def _show(self) -> Array:
        """Send the labels of undecided ends; return the labels received, by end."""
        (came,) = self._part.halo.exchange_ranges((self.shown, self._bounds))
        return came

    def _sides(self) -> list[Side]:
        """Return the positions of all ends: for each rank those of owned vertices, and of ghosts.

        Two ranks list their shared vertices in the same order: those owned by the lower rank first.
        """
        halo, sides = self._part.halo, list[Side]()
        for rank, (held, ghosts) in enumerate(zip(halo.boundaries, self._part.ghosts, strict=True)):
            both = [(len(held), held), (ghosts[1] - ghosts[0], slice(*ghosts))]
            sides += both if halo.comm.rank < rank else both[::-1]
        return sides

    def _roots_at(
        self, places: Array, sides: list[Side], cuts: list[int]
    ) -> tuple[Array, list[int]]:
        """Return the roots of the ends at given bits, and the bounds of each rank's range among them.

        Parameters
        ----------
        places : array of int32 or int64, ascending
        sides : list of (int, array or slice)
            As `_sides` returns them.
        cuts : list of int
            Number of bytes before the bits of each rank.
        """
        xp, trees = self._xp, self._trees
        firsts = []  # number of bits before those of each side
        for cut, (length, _) in zip(cuts[:-1], sides[::2], strict=True):
            firsts += [8 * cut, 8 * cut + length]
        edges = xp.asarray([*firsts, 8 * cuts[-1]], places.dtype)
        bounds = as_host(xp.searchsorted(places, edges)).tolist()
        parts = []
        for (_, side), first, (low, high) in zip(sides, firsts, pairwise(bounds), strict=True):
            which = places[low:high] - first
            # Ghosts are a range, so the slice of their roots is a view.
            one = trees[side][which] if isinstance(side, slice) else trees[xp.take(side, which)]
            parts.append(one)
        return xp.concatenate(parts), bounds[::2]


def _distinct(ones: Array, others: Array) -> tuple[Array, Array]:
    """Return the distinct pairs, ascending."""
    xp = module_of(ones)
    if not len(ones):
        return ones, others
    order = xp.lexsort(xp.stack([others, ones]))
    ones, others = ones[order], others[order]
    kept = xp.ones(len(ones), np.bool_)
    kept[1:] = (ones[1:] != ones[:-1]) | (others[1:] != others[:-1])
    return ones[kept], others[kept]


def _packed(marks: Array) -> Array:
    """Pack an array of bool to bits, in whole bytes."""
    xp = module_of(marks)
    pieces = range(0, max(len(marks), 1), PACKED)
    return xp.concatenate([xp.packbits(marks[first : first + PACKED]) for first in pieces])


def _are_set(bits: Array, places: Array) -> Array:
    """Return which of the bits at given indices are set."""
    return (bits[places >> 3] >> (7 - (places & 7)).astype(np.uint8)) & 1 != 0


def _set_places(bits: Array) -> Array:
    """Return the ascending indices of set bits, as int32 if they fit.

    If few bytes have set bits, as usual, only those are unpacked.
    """
    xp, kind = module_of(bits), np.int32 if 8 * len(bits) < NARROW else np.int64
    some = xp.flatnonzero(bits)
    if FEW_BYTES * len(some) > len(bits):
        return xp.flatnonzero(xp.unpackbits(bits)).astype(kind, copy=False)
    found = xp.flatnonzero(xp.unpackbits(bits[some]))
    return (8 * some[found >> 3] + (found & 7)).astype(kind)
