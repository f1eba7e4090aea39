"""Rounds of proposals on the GPU; see `cugraph_ws.algorithms.matching`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["Rounds", "edge_inside"]

Array = Any  # CuPy's

BLOCK = 256
NOTHING = np.iinfo(np.int64).max


class Rounds:
    """The rounds of proposals among the free vertices of a part.

    Parameters
    ----------
    part : Part
        With the rows of all neighbours.
    key : int
        Seed of the edges' ranks.
    """

    def __init__(self, part: Part, key: int) -> None:
        self._part, self._key = part, key
        self._pieces = 2 if part.directed else 1
        self._adjacency = *part.csc, *(part.csr if part.directed else part.csc)
        xp = part.xp
        self._spare = xp.empty(part.owned, part.index)
        self._counts = xp.zeros(2, np.int64)

    def propose(self, mate: Array, best: Array, free: Array) -> None:
        """Let free vertices propose to the best of their free neighbours."""
        self._counts[:] = 0
        self._launch(
            "propose", free, self._adjacency, self._pieces, self._part.numbers, mate, best, free,
            len(free), self._key, self._counts,
        )  # fmt: skip

    def accept(self, mate: Array, best: Array, free: Array) -> tuple[Array, int]:
        """Match mutual proposals; return the vertices that may still be matched, and arcs read."""
        unmatched = self._spare
        self._launch("accept", free, mate, best, free, len(free), unmatched, self._counts)
        self._spare = free
        count, read = device().to_host(self._counts).tolist()
        return unmatched[:count], read

    def _launch(self, name: str, free: Array, *arguments: Any) -> None:
        if len(free):
            gpu = device()
            gpu.module("matching").launch(name, gpu.blocks_for(len(free), BLOCK), BLOCK, *arguments)


def edge_inside(part: Part, left: Array) -> tuple[int, int, bool] | None:
    """Find an edge with both ends on one side.

    Parameters
    ----------
    part : Part
    left : device array of bool, shape (size,), by position

    Returns
    -------
    (source, destination, whether they are on the left) or None
        The edge to the least destination by number; among these, from the least source.
    """
    gpu, rows, numbers = device(), part.csc, part.numbers
    least = gpu.xp.full(1, NOTHING, np.int64)
    gpu.module("matching").launch(
        "find_inside", gpu.blocks_for(part.laid.arcs, BLOCK), BLOCK, *rows, left, numbers,
        part.laid.size, part.laid.arcs, least,
    )  # fmt: skip
    destination = int(gpu.to_host(least)[0])
    if destination == NOTHING:
        return None
    place = int(gpu.to_host(gpu.xp.flatnonzero(numbers == destination))[0])
    begin, end = gpu.to_host(rows.offsets[place : place + 2]).tolist()
    neighbours = rows.indices[begin:end]
    inside = left[neighbours] == left[place]
    source = int(gpu.to_host(numbers[neighbours[inside]].min()))
    return source, destination, bool(gpu.to_host(left[place]))
