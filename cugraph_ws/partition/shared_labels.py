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
from typing import Any, Protocol

import numpy as np

from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host, count_true, module_of

__all__ = ["Ends", "SharedLabels"]

Array = Any  # NumPy's or CuPy's
Lower = Callable[[Array, Array, Array], None]
Join = Callable[[Array, Array, int], Array]


class Ends(Protocol):
    """The ends of a rank: vertices that it shares with other ranks, as an owned vertex or as a ghost.

    Two ranks have their ends in the same order: vertices owned by the lower rank first.  Backends
    provide it, as `SharedEnds`, made from a part and the root of each position's tree.
    """

    def first(self, least: Array) -> tuple[Array, list[int], Array, list[int]]:
        """Return what is sent first.

        Parameters
        ----------
        least : array of int32 or int64, shape (size,)
            The label of each root, by position.

        Returns
        -------
        words : array of uint32
            A bit for each end, whether its label is above 0, the lowest bit first.
        cuts : list of int
            Bounds of each rank's range of words.
        labels : array of the dtype of `least`
            The labels above 0, by end.
        bounds : list of int
            Bounds of each rank's range among these.
        """

    def undecided(
        self, words_received: Array, labels: Array, least: Array
    ) -> tuple[Array, list[int], Array, Array]:
        """Return the ends whose label is above 0 on either rank; call it after `first`, once.

        Parameters
        ----------
        words_received, labels : array
            The words and labels that the other ranks sent.
        least : array
            As for `first`.

        Returns
        -------
        roots : array, shape (ends,)
            The root of each end here.
        bounds : list of int
            Bounds of each rank's range of ends.
        came, shown : array of the dtype of `least`, shape (ends,)
            The label of each end there, and here.
        """


class SharedLabels:
    """The labels of a rank's trees, and those sent to other ranks; all methods are collective.

    The first exchange sends one bit for each end, whether its label is above 0, and the labels above 0.
    An end is decided if its label is 0 on both ranks; both then know it.  After the first exchange, no
    array is as long as all ends.

    Parameters
    ----------
    part : Part
    least : array of int32 or int64, shape (size,)
        The label of each root, by position; modified in place.
    lower : callable
        Lowers entries of an array like `least`; takes the array, positions and values.
    ends : Ends

    Attributes
    ----------
    shown : array, shape (ends,)
        The label last sent for each undecided end, in the order of the ranks it is sent to.
    """

    def __init__(self, part: Part, least: Array, lower: Lower, ends: Ends) -> None:
        self._part, self._xp = part, part.xp
        self._least, self._lower = least, lower
        words, cuts, labels, bounds = ends.first(least)
        words_received, labels = part.halo.exchange_ranges((words, cuts), (labels, bounds))
        self._came: Array | None
        self._roots, self._bounds, self._came, self.shown = ends.undecided(
            words_received, labels, least
        )

    def __len__(self) -> int:
        return len(self._roots)

    def round(self) -> int:
        """Exchange labels once; return the number of ends at which two ranks may still differ."""
        received, self._came = self._show() if self._came is None else self._came, None
        if len(received):
            self._lower(self._least, self._roots, received)
        before, self.shown = self.shown, self._xp.take(self._least, self._roots)
        # A label lowered since it was sent is an update for the other rank.
        return count_true((self.shown != received) | (self.shown != before))

    def find_pairs(self) -> int:
        """Find pairs of labels that differ at an end; return the number of distinct pairs."""
        peer_labels, own_labels = self._show(), self.shown
        lower = own_labels > peer_labels  # true on only one of the two ranks
        self._met = [
            as_host(labels).astype(np.int64)
            for labels in _distinct(peer_labels[lower], own_labels[lower])
        ]
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
        received = self._part.halo.exchange([self._met] * self._part.halo.comm.size)
        lower, higher = map(np.concatenate, zip(*received, strict=True))
        labels, ends = np.unique(np.concatenate([lower, higher]), return_inverse=True)
        lower_ends, higher_ends = np.split(ends, 2)
        self._rename(labels, labels[join(lower_ends, higher_ends, len(labels))])

    def hook(self) -> None:
        """Attach every label with lower partners to the least of them; then flatten all chains.

        Two calls remove at least half of the paired labels, whatever the graph.  A label that remains
        after the first call has no lower partner, so all of its partners were attached.  If each of
        them was attached to this label, these are removed.  Otherwise the label is paired with a lower
        one at the second call.
        """
        halo, owners, (lower, higher) = self._part.halo, self._part.owners, self._met
        numbers = owners.numbers()
        above = numbers.copy()
        # Pairs are ascending, so a label's first pair has its least partner.
        hooked, first = np.unique(higher, return_index=True)
        hooked, under = halo.send_to_owners(hooked, lower[first])
        np.minimum.at(above, owners.places(hooked), under)
        moved, beyond = np.flatnonzero(above != numbers), True
        while beyond:
            nearer = above[moved]
            above[moved] = halo.fetch(above, nearer)
            beyond = any(halo.comm.allgather(bool(np.any(above[moved] != nearer))))
        labels = self.shown
        names = as_host(self._xp.unique(labels) if len(labels) else labels).astype(np.int64)
        self._rename(names, halo.fetch(above, names))

    def _rename(self, names: Array, replacements: Array) -> None:
        """Replace labels, given in ascending order, by lower ones; others are unchanged."""
        xp, labels = self._xp, self.shown
        if not len(names) or not len(labels):
            return
        known, lower = xp.asarray(names, labels.dtype), xp.asarray(replacements, labels.dtype)
        places = xp.minimum(xp.searchsorted(known, labels), len(known) - 1)
        self.shown = xp.where(known[places] == labels, lower[places], labels)
        self._least[self._roots] = self.shown  # trees without undecided ends are in no pair

    def _show(self) -> Array:
        """Send the labels of undecided ends; return the labels received, by end."""
        (received,) = self._part.halo.exchange_ranges((self.shown, self._bounds))
        return received


def _distinct(ones: Array, partners: Array) -> tuple[Array, Array]:
    """Return the distinct pairs, ascending."""
    xp = module_of(ones)
    if not len(ones):
        return ones, partners
    order = xp.lexsort(xp.stack([partners, ones]))
    ones, partners = ones[order], partners[order]
    is_first = xp.ones(len(ones), np.bool_)
    is_first[1:] = (ones[1:] != ones[:-1]) | (partners[1:] != partners[:-1])
    return ones[is_first], partners[is_first]
