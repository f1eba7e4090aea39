"""Tiles of arcs for the CPU: ranges of rows by blocks of sources, both within a core's cache.

A gather over a whole row reads sources scattered over all vertices.  A gather over a tile reads one
block of sources, and an arc takes 32 bits: 16 for the source within its block, 16 for the row within
its range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.kernels.accelerators.tiles.arcs import carry_values, fill_tiles
from cugraph_ws.runtime.threads import number_of_threads, parallel

__all__ = ["Tiles", "Tiling", "tiling_of"]

Array = npt.NDArray[Any]

ROWS = 1 << 15  # most rows of a range
RANGES, RANGES_A_THREAD = (
    64,
    4,
)  # least number of ranges, unless there are fewer rows: one thread gathers a range
BLOCK_BITS, MOST_BITS = 14, 16  # 2^14 sources in a block, up to 2^16 if tiles would be too small
WINDOW, WINDOWS = (
    1 << 18,
    4,
)  # arcs in a sample, about as many as fill a core's cache; number of samples
LINE_BITS = 3  # a cache line has 2^3 sources of 8 bytes
FULL = 512  # mean number of arcs of a tile from which larger blocks do not pay


@dataclass(frozen=True)
class Tiles:
    """The arcs of a CSC in tiles.

    Attributes
    ----------
    ranges : list of (int, int)
        Rows of each range.
    bits : int
        A block has 2^`bits` sources.
    firsts : ndarray of int64, shape (ranges, blocks + 1)
        Index of each tile's first arc, and the end of the range's last one.  The arcs of a range are
        at the same indices as in the CSC.
    sources, places : ndarray of uint16, shape (arcs,)
        Source of each arc within its block, and row within its range.
    """

    ranges: list[tuple[int, int]]
    bits: int
    firsts: npt.NDArray[np.int64]
    sources: npt.NDArray[np.uint16]
    places: npt.NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.firsts.nbytes + self.sources.nbytes + self.places.nbytes


@dataclass
class Tiling:
    """The tiles of an adjacency, made when first needed, then kept; and a count of its gathers.

    Attributes
    ----------
    offsets, indices : ndarray
        The adjacency, whose rows are ascending.
    gathers : int
        Dense supersteps so far that could have gone over tiles.
    mapped : bool
        Whether the adjacency is in a file.
    choices : dict of str to str
        For each program: `tiles` or `csc`, and why.
    """

    offsets: npt.NDArray[np.int64]
    indices: Array
    gathers: int = 0
    mapped: bool = False
    choices: dict[str, str] = field(default_factory=dict)
    _tiles: Tiles | None = None
    _carried: dict[tuple[str, str], Array] = field(default_factory=dict)
    _lock: Any = field(default_factory=RLock)

    @property
    def nbytes(self) -> int:
        """Bytes of what is held now."""
        with self._lock:
            carried = sum(moved.nbytes for moved in self._carried.values())
            return carried + (0 if self._tiles is None else self._tiles.nbytes)

    @property
    def made(self) -> bool:
        """Whether there are tiles already."""
        return self._tiles is not None

    def shape(self, size: int) -> tuple[list[tuple[int, int]], int]:
        """Return the ranges of rows, and the bits of a source within its block.

        Parameters
        ----------
        size : int
            Number of positions; sources are below it.
        """
        ranges = cut_rows(self.offsets)
        bits, arcs = BLOCK_BITS, len(self.indices)
        while bits < MOST_BITS and arcs < FULL * len(ranges) * -(-size // (1 << bits)):
            bits += 1
        return ranges, bits

    def spread(self, size: int) -> float:
        """Return the mean number of new cache lines of sources that an arc reads, in some samples of arcs.

        Parameters
        ----------
        size : int
            See `shape`.
        """
        arcs, lines, read = len(self.indices), 0, 0
        for first in np.linspace(0, max(0, arcs - WINDOW), WINDOWS).astype(np.int64):
            marks = np.zeros((size >> LINE_BITS) + 1, np.bool_)
            window = self.indices[first : first + WINDOW]
            marks[window >> LINE_BITS] = True
            lines, read = lines + int(marks.sum()), read + len(window)
        return lines / max(1, read)

    def cost(self, size: int) -> int:
        """Return the bytes of the tiles.

        Parameters
        ----------
        size : int
            See `shape`.
        """
        ranges, bits = self.shape(size)
        return 4 * len(self.indices) + 8 * len(ranges) * (-(-size // (1 << bits)) + 1)

    def tiles(self, size: int) -> Tiles:
        """Return the tiles.

        Parameters
        ----------
        size : int
            See `shape`.

        Returns
        -------
        Tiles
        """
        with self._lock:
            if self._tiles is None:
                ranges, bits = self.shape(size)
                arcs, blocks = len(self.indices), -(-size // (1 << bits))
                firsts = np.empty((len(ranges), blocks + 1), np.int64)
                sources, places = np.empty(arcs, np.uint16), np.empty(arcs, np.uint16)
                parallel(
                    fill_tiles,
                    [
                        (*rows, self.offsets, self.indices, bits, firsts[number], sources, places)
                        for number, rows in enumerate(ranges)
                    ],
                )
                self._tiles = Tiles(ranges, bits, firsts, sources, places)
            return self._tiles

    def carry(self, name: str, values: Array, size: int) -> Array:
        """Return the values of arcs in the order of the tiles; reordered once, then kept.

        Parameters
        ----------
        name : str
            The edge column.
        values : ndarray, shape (arcs,)
            Its values in the order of the adjacency, in any type.
        size : int
            See `shape`.

        Returns
        -------
        ndarray, shape (arcs,)
        """
        with self._lock:
            key = name, values.dtype.name
            if key not in self._carried:
                tiles = self.tiles(size)
                moved = np.empty_like(values)
                parallel(
                    carry_values,
                    [
                        (
                            int(self.offsets[low]), int(self.offsets[high]), self.indices, tiles.bits,
                            tiles.firsts[number], values, moved,
                        )
                        for number, (low, high) in enumerate(tiles.ranges)
                    ],
                )  # fmt: skip
                self._carried[key] = moved
            return self._carried[key]


def tiling_of(rows: Adjacency) -> Tiling:
    """Return the tiles of an adjacency, which are kept with it.

    Parameters
    ----------
    rows : Adjacency
    """
    tiling = rows.kept.setdefault("tiles", Tiling(rows.offsets, rows.indices, mapped=rows.mapped))
    assert isinstance(tiling, Tiling)
    return tiling


def cut_rows(offsets: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Split rows into ranges of at most `ROWS` rows, and of few enough arcs to balance the load.

    Parameters
    ----------
    offsets : ndarray of int64, shape (rows + 1,)

    Returns
    -------
    list of (int, int)
    """
    pieces = max(RANGES, RANGES_A_THREAD * number_of_threads())
    rows, most = len(offsets) - 1, -(-int(offsets[-1]) // pieces)
    ranges, low = [], 0
    while low < rows:
        high = int(np.searchsorted(offsets, offsets[low] + most, "right")) - 1
        high = max(low + 1, min(high, low + ROWS, rows))
        ranges.append((low, high))
        low = high
    return ranges
