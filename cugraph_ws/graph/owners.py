"""Which rank owns which vertices: ranges of numbers, or any division.

Owners decide where a vertex is computed, and nothing else: a rank's vertices are in the order of their
numbers, and numbers are the same however vertices are divided.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.runtime.arrays import as_host, module_of

__all__ = ["CUTS", "ListedOwners", "Owners"]

Array = Any  # NumPy's or CuPy's

CUTS = ("ranges", "arcs")  # values of `cut`; any other names a column


class Owners:
    """Ranges of vertex numbers, one for each rank.

    Parameters
    ----------
    cuts : ndarray of int64, shape (ranks + 1,)
        Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1.
    rank : int
        The rank that asks.

    Attributes
    ----------
    cuts, rank
        As given.
    owned : int
        Number of vertices that the rank owns.
    in_ranges : bool
        Whether rank r owns the vertices of the range r of `cuts`.
    """

    in_ranges = True

    def __init__(self, cuts: npt.NDArray[np.int64], rank: int) -> None:
        self.cuts, self.rank = cuts, rank
        self._low, high = cuts[rank : rank + 2].tolist()
        self.owned: int = high - self._low

    @property
    def size(self) -> int:
        """Number of vertices of the whole graph."""
        return int(self.cuts[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return 0

    def index(self, rank: int | None = None) -> slice | npt.NDArray[np.int64]:
        """Return the vertices of a rank, by default the one that asks, as an index by vertex number."""
        asked = self.rank if rank is None else rank
        return slice(*self.cuts[asked : asked + 2].tolist())

    def numbers(self, xp: Any = np, dtype: Any = np.int64) -> Array:
        """Return the numbers of the rank's vertices, ascending."""
        return xp.arange(self._low, self._low + self.owned, dtype=dtype)

    def number_at(self, places: Any) -> Any:
        """Return the numbers of the rank's vertices at some places of `numbers`."""
        return places + self._low

    def place(self, number: int) -> int:
        """Return the place of a vertex among the rank's, or -1."""
        place = number - self._low
        return place if 0 <= place < self.owned else -1

    def holds(self, numbers: Array) -> Array:
        """Return which vertices the rank owns."""
        return (numbers >= self._low) & (numbers < self._low + self.owned)

    def places(self, numbers: Array, rank: int | None = None) -> Array:
        """Return the places of vertices among those of their owner.

        Parameters
        ----------
        numbers : array of int
        rank : int, optional
            The owner of all of them; by default the rank that asks.

        Returns
        -------
        array of int
            Without a meaning for other ranks' vertices.
        """
        return numbers - (self._low if rank is None else int(self.cuts[rank]))

    def of(self, numbers: Array) -> Array:
        """Return the owner of each vertex."""
        xp = module_of(numbers)
        return xp.searchsorted(xp.asarray(self.cuts), numbers, side="right") - 1

    def split(self, ascending: Array) -> tuple[Array | None, list[int]]:
        """Group distinct ascending numbers by owner.

        Parameters
        ----------
        ascending : array of int

        Returns
        -------
        order : array of int64 or None
            The indices of the numbers, owner by owner, each owner's ascending; None if that is their order.
        bounds : list of int
            The bounds of each owner's range in that order.
        """
        xp = module_of(ascending)
        cuts = xp.asarray(self.cuts, ascending.dtype)
        return None, as_host(xp.searchsorted(ascending, cuts)).tolist()


class ListedOwners(Owners):
    """Any division: a table of the owner of every vertex, which all ranks hold.

    Parameters
    ----------
    owner : ndarray of int, shape (vertices,)
        By vertex number.
    cuts : ndarray of int64, shape (ranks + 1,)
        Ranges of about equal work, in which ids are stored and results are returned.
    rank : int, optional
        The rank that asks.
    """

    in_ranges = False

    def __init__(self, owner: npt.NDArray[Any], cuts: npt.NDArray[np.int64], rank: int = 0) -> None:
        ranks, vertices = len(cuts) - 1, len(owner)
        self.cuts = cuts
        kind = np.uint8 if ranks <= 256 else np.int32
        places = np.empty(vertices, np.int32 if vertices <= np.iinfo(np.int32).max else np.int64)
        for each in range(ranks):
            members = np.flatnonzero(owner == each)
            places[members] = np.arange(len(members))
        self._owner, self._places = owner.astype(kind), places
        self._see(rank)

    def _see(self, rank: int) -> None:
        """Set the rank that asks."""
        self.rank, numbers = rank, np.flatnonzero(self._owner == rank)
        # By module, since runs on the host and on the device may use one graph
        self._tables: dict[Any, tuple[Array, Array, Array]] = {
            np: (self._owner, self._places, numbers)
        }
        self.owned = len(numbers)

    def of_rank(self, rank: int) -> ListedOwners:
        """Return the same division as another rank of the process sees it."""
        shared = copy(self)
        shared._see(rank)
        return shared

    def _on(self, xp: Any) -> tuple[Array, Array, Array]:
        """Return owners, places and the rank's numbers as arrays of NumPy or CuPy."""
        if xp not in self._tables:
            owner, places, numbers = map(xp.asarray, self._tables[np])
            self._tables[xp] = owner, places, numbers
        return self._tables[xp]

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(int(array.nbytes) for array in self._tables[np])

    def index(self, rank: int | None = None) -> slice | npt.NDArray[np.int64]:
        """Return the vertices of a rank as an index by vertex number; see `Owners.index`."""
        return np.flatnonzero(self._owner == (self.rank if rank is None else rank))

    def numbers(self, xp: Any = np, dtype: Any = np.int64) -> Array:
        """Return the numbers of the rank's vertices, ascending."""
        return self._on(xp)[2].astype(dtype)

    def number_at(self, places: Any) -> Any:
        """Return the numbers of the rank's vertices at some places of `numbers`."""
        if isinstance(places, int):
            return int(self._on(np)[2][places])
        return self._on(module_of(places))[2][places]

    def place(self, number: int) -> int:
        """Return the place of a vertex among the rank's, or -1."""
        owner, places, _ = self._on(np)
        return int(places[number]) if number >= 0 and owner[number] == self.rank else -1

    def holds(self, numbers: Array) -> Array:
        """Return which vertices the rank owns."""
        return (numbers >= 0) & (self._on(module_of(numbers))[0][numbers] == self.rank)

    def places(self, numbers: Array, rank: int | None = None) -> Array:
        """Return the places of vertices among those of their owner; see `Owners.places`."""
        return self._on(module_of(numbers))[1][numbers].astype(numbers.dtype)

    def of(self, numbers: Array) -> Array:
        """Return the owner of each vertex."""
        return self._on(module_of(numbers))[0][numbers].astype(np.int64)

    def split(self, ascending: Array) -> tuple[Array | None, list[int]]:
        """Group distinct ascending numbers by owner; see `Owners.split`."""
        xp, owners = module_of(ascending), self.of(ascending)
        order = xp.argsort(owners, kind="stable")
        ranks = xp.arange(len(self.cuts))
        return order, as_host(xp.searchsorted(owners[order], ranks)).tolist()
