"""The vertices that ranks share, on the GPU; see `cugraph_ws.partition.shared_labels`."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.borders import borders_of
from cugraph_ws.backends.cuda.grouping import run
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device

__all__ = ["SharedEnds"]

Array = Any  # CuPy's


class SharedEnds:
    """The ends of a rank; see `kernels/cuda/shared_ends.py` and `partition.shared_labels.Ends`.

    Parameters
    ----------
    part : Part
    trees : device array of int32 or int64, shape (size,)
        The root of the tree of each position.
    """

    def __init__(self, part: Part, trees: Array) -> None:
        self._device = device()
        halo, ranks = part.halo, zip(part.halo.boundaries, part.ghosts, strict=True)
        lengths = [len(boundary) + last - first for boundary, (first, last) in ranks]
        self._cuts = [0, *accumulate(-(-length // 32) for length in lengths)]
        self._begins = self._device.xp.asarray(np.array(self._cuts, np.int64))
        self._size = self._cuts[-1]
        self._ends = self._size, tuple(borders_of(part)), self._begins, halo.comm.rank, trees

    def first(self, least: Array) -> tuple[Array, list[int], Array, list[int]]:
        """Return a bit for each end, and the labels above 0; see `Ends.first`."""
        xp = self._device.xp
        self._words, firsts = xp.empty(self._size, np.uint32), xp.zeros(self._size + 1, np.int64)
        self._launch("mark_ends", 32 * self._size, *self._ends, least, self._words, firsts[1:])
        bounds = self._sum(firsts)
        labels = xp.empty(bounds[-1], least.dtype)
        self._launch("list_labels", self._size, *self._ends, least, self._words, firsts, labels)
        return self._words, self._cuts, labels, bounds

    def undecided(
        self, words_received: Array, labels: Array, least: Array
    ) -> tuple[Array, list[int], Array, Array]:
        """Return the ends whose label is above 0 on either rank; see `Ends.undecided`."""
        xp, size = self._device.xp, self._size
        firsts, firsts_there = xp.zeros((2, size + 1), np.int64)
        self._launch(
            "join_ends", size, size, self._words, words_received, firsts[1:], firsts_there[1:]
        )
        bounds = self._sum(firsts)
        xp.cumsum(firsts_there, out=firsts_there)
        roots = xp.empty(bounds[-1], self._ends[-1].dtype)
        labels_received, labels_sent = (xp.empty(bounds[-1], least.dtype) for _ in range(2))
        self._launch(
            "list_ends", size, *self._ends, least, self._words, firsts, words_received, firsts_there, labels, roots,
            labels_received, labels_sent,
        )  # fmt: skip
        return roots, bounds, labels_received, labels_sent

    def _sum(self, counts: Array) -> list[int]:
        """Add up counts of words, from the second entry on; return the sums before each rank's words."""
        xp = self._device.xp
        xp.cumsum(counts, out=counts)
        bounds: list[int] = self._device.to_host(xp.take(counts, self._begins)).tolist()
        return bounds

    def _launch(self, name: str, items: int, *arguments: Any) -> None:
        run(self._device, name, items, *arguments, module="shared_ends")
