"""The vertices that ranks share, on the CPU; see `cugraph_ws.partition.shared_labels`."""

from __future__ import annotations

from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.partition.part import Part

__all__ = ["SharedEnds"]

Array = npt.NDArray[Any]
Side = tuple[int, Any]  # number of positions, and an array or a slice of them

FEW_BYTES = 8  # bits are unpacked byte by byte if at most one byte in 8 has a bit set
NARROW = 1 << 31  # indices below this are stored as int32


class SharedEnds:
    """The ends of a rank; see `partition.shared_labels.Ends`.

    Parameters
    ----------
    part : Part
    trees : ndarray of int32 or int64, shape (size,)
        The root of the tree of each position.
    """

    def __init__(self, part: Part, trees: Array) -> None:
        self._trees = trees
        self._sides: list[tuple[Side, Side]] = []  # of each rank
        for rank, (boundary, ghosts) in enumerate(
            zip(part.halo.boundaries, part.ghosts, strict=True)
        ):
            own_side, ghost_side = (
                (len(boundary), boundary),
                (ghosts[1] - ghosts[0], slice(*ghosts)),
            )
            self._sides.append(
                (own_side, ghost_side) if part.halo.comm.rank < rank else (ghost_side, own_side)
            )
        lengths = [first + second for (first, _), (second, _) in self._sides]
        self._cuts = [0, *accumulate(-(-length // 32) for length in lengths)]

    def first(self, least: Array) -> tuple[Array, list[int], Array, list[int]]:
        """Return a bit for each end, and the labels above 0; see `Ends.first`."""
        above = np.take(least != 0, self._trees)
        self._here = np.concatenate(
            [_packed(np.concatenate([above[first], above[second]])) for (_, first), (_, second) in self._sides]
        )  # fmt: skip
        roots, bounds = self._roots_at(_set_places(self._here))
        return self._here, self._cuts, np.take(least, roots), bounds

    def undecided(
        self, words_received: Array, labels: Array, least: Array
    ) -> tuple[Array, list[int], Array, Array]:
        """Return the ends whose label is above 0 on either rank; see `Ends.undecided`."""
        places = _set_places(self._here | words_received)
        roots, bounds = self._roots_at(places)
        received = np.zeros(len(roots), least.dtype)
        received[_are_set(words_received, places)] = labels
        return roots, bounds, received, np.take(least, roots)

    def _roots_at(self, places: Array) -> tuple[Array, list[int]]:
        """Return the roots of the ends at given bits, ascending, and the bounds of each rank's range among them."""
        firsts = []  # number of bits before those of each side
        for cut, ((length, _), _) in zip(self._cuts[:-1], self._sides, strict=True):
            firsts += [32 * cut, 32 * cut + length]
        edges = np.array([*firsts, 32 * self._cuts[-1]], places.dtype)
        bounds = np.searchsorted(places, edges).tolist()
        ranges = zip(chain(*self._sides), firsts, pairwise(bounds), strict=True)
        roots, trees = [], self._trees
        for (_, side), first, (low, high) in ranges:
            which = places[low:high] - first
            # Ghosts are a range, so the slice of their roots is a view.
            in_row = isinstance(side, slice)
            roots.append(trees[side][which] if in_row else trees[np.take(side, which)])
        return np.concatenate(roots), bounds[::2]


def _packed(marks: Array) -> Array:
    """Pack an array of bool to bits, in whole words of 32, the lowest first."""
    padded = np.zeros(-(-len(marks) // 32) * 4, np.uint8)
    packed = np.packbits(marks, bitorder="little")
    padded[: len(packed)] = packed
    return padded.view(np.uint32)


def _are_set(words: Array, places: Array) -> Array:
    """Return which of the bits at given indices are set."""
    shifts = (places & 7).astype(np.uint8)
    are_set: Array = (words.view(np.uint8)[places >> 3] >> shifts) & 1 != 0
    return are_set


def _set_places(words: Array) -> Array:
    """Return the ascending indices of set bits, as int32 if they fit.

    If few bytes have set bits, as usual, only those are unpacked.
    """
    bits = words.view(np.uint8)
    kind = np.int32 if 8 * len(bits) < NARROW else np.int64
    some = np.flatnonzero(bits)
    if FEW_BYTES * len(some) > len(bits):
        return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(kind, copy=False)
    set_places = np.flatnonzero(np.unpackbits(bits[some], bitorder="little"))
    places: Array = (8 * some[set_places >> 3] + (set_places & 7)).astype(kind)
    return places
