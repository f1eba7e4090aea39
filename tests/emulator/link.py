"""What kernels read over the link: from arrays in the host's memory, in sectors of 32 bytes.

The lanes of a warp ask together: reads of one instruction, the same time it runs in each lane, are one request for
every sector in which they lie, as on a GPU.  No cache is counted, though a GPU has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np

from . import memory

__all__ = ["SECTOR", "LinkReads", "link_reads"]

SECTOR = 32  # bytes


class LinkReads:
    """What has been read from some arrays.

    Attributes
    ----------
    elements : dict
        By the array's place among the given ones: how often each element was read.
    sectors : int
        Requests for sectors.
    """

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self.arrays = arrays
        self.elements = [np.zeros(len(array), np.int64) for array in arrays]
        self.sectors = 0
        self._asked: set[Any] = set()
        self._times: defaultdict[Any, int] = defaultdict(int)

    def note(self, which: int, index: int, place: tuple[Any, int]) -> None:
        """Count a read of an element by the lane that runs now, at an instruction."""
        lane = memory.now.lane
        self.elements[which][index] += 1
        self._times[lane, place, which] += 1
        sector = index * self.arrays[which].itemsize // SECTOR
        request = lane.warp, place, which, self._times[lane, place, which], sector
        if request not in self._asked:
            self._asked.add(request)
            self.sectors += 1

    def spanned(self, offsets: np.ndarray[Any, Any], which: int) -> int:
        """Return how many sectors the rows span that were read, each as often as it was read."""
        size, total = self.arrays[which].itemsize, 0
        for begin, end in pairwise(offsets):
            if begin < end:
                times = int(self.elements[which][begin:end].max())
                total += times * int((end * size - 1) // SECTOR - begin * size // SECTOR + 1)
        return total


@contextmanager
def link_reads(*arrays: np.ndarray[Any, Any]) -> Iterator[LinkReads]:
    """Count what kernels read of some arrays, within a `with` block; the emulator must be at work."""
    reads = LinkReads(list(arrays))
    numbers = {array.ctypes.data: number for number, array in enumerate(arrays)}

    class Far(memory.Array):
        """An array whose reads are counted."""

        __slots__ = ("number",)

        def _read(self, index: Any, frame: Any) -> Any:
            reads.note(self.number, int(index), (frame.f_code, frame.f_lasti))
            return super()._read(index, frame)

    near = memory.Array

    def array(values: Any, *args: Any, **named: Any) -> Any:
        number = numbers.get(values.ctypes.data)
        if number is None:
            return near(values, *args, **named)
        made = Far(values, *args, **named)
        made.number = number
        return made

    with patch.object(memory, "Array", array):
        yield reads
