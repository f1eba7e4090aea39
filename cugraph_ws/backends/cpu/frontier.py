"""The active vertices of a partition, as a list or as a bitmap, whichever was requested last."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.kernels.cpu import frontier as loops
from cugraph_ws.runtime.threads import cut_evenly

__all__ = ["Frontier", "on_words"]

Bitmap = npt.NDArray[np.uint32]


class Frontier:
    """Active vertices; a list keeps its order, a bitmap gives ascending order.

    Parameters
    ----------
    context : Context
        The program and the partition.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._list: Array | None = np.empty(0, context.index)
        self._bitmap: Bitmap | None = None
        self._counts: tuple[int, int] | None = None  # cached until the set changes

    def set_list(self, vertices: Array) -> None:
        """Set the active vertices to a list."""
        self._list, self._bitmap, self._counts = vertices, None, None

    def set_bitmap(self, bitmap: Bitmap) -> None:
        """Set the active vertices to the bits of a bitmap."""
        self._list, self._bitmap, self._counts = None, bitmap, None

    def add(self, vertices: Array) -> None:
        """Add vertices that are not active yet."""
        if self._list is not None:
            self.set_list(np.concatenate([self._list, vertices]))
        elif self._bitmap is not None:
            loops.list_to_bitmap(vertices, self._bitmap)
            self._counts = None

    def as_list(self) -> Array:
        """Return the active vertices as a list."""
        if self._list is None:
            assert self._bitmap is not None
            size = self._context.part.size
            vertices = np.empty(size, self._context.index)
            count = loops.list_from_bitmap(0, size, self._bitmap, vertices)
            self._list = vertices[:count].copy()
        return self._list

    def as_bitmap(self) -> Bitmap:
        """Return the active vertices as a bitmap of 32-bit words."""
        if self._bitmap is None:
            assert self._list is not None
            self._bitmap = np.zeros((self._context.part.size + 31) // 32, np.uint32)
            loops.list_to_bitmap(self._list, self._bitmap)
        return self._bitmap

    def count(self) -> tuple[int, int]:
        """Return the number of active owned vertices, and of out-arcs of all active vertices."""
        if self._counts is None:
            self._counts = self._count()
        return self._counts

    def _count(self) -> tuple[int, int]:
        part = self._context.part
        offsets = part.csr.offsets
        if self._list is not None:
            own = (
                len(self._list)
                if part.size == part.owned
                else int(np.count_nonzero(self._list < part.owned))
            )
            return own, int((offsets[self._list + 1] - offsets[self._list]).sum())
        assert self._bitmap is not None
        ranges = on_words(cut_evenly(part.size, self._context.pieces(part.size)))
        totals = np.zeros((len(ranges), 2), np.int64)
        self._context.run(
            loops.count_arcs,
            [
                (*bounds, part.owned, self._bitmap, offsets, totals[place])
                for place, bounds in enumerate(ranges)
            ],
        )
        active, arcs = totals.sum(axis=0).tolist()
        return active, arcs


def on_words(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Align the bounds of vertex ranges to words of a bitmap.

    Parameters
    ----------
    ranges : list of (int, int)
        Adjacent ranges, the first from 0.

    Returns
    -------
    list of (int, int)
        Ranges that begin at multiples of 32, none empty.
    """
    if not ranges:
        return []
    bounds = sorted({(low // 32) * 32 for low, _ in ranges} | {ranges[-1][1]})
    return list(pairwise(bounds))
