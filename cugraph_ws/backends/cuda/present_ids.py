"""Find which integers of a range are ids of a partitioned graph on GPUs, and number them in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.grouping import number_dtype, run
from cugraph_ws.backends.cuda.shuffle import words_for
from cugraph_ws.runtime.arrays import count_true
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import device

__all__ = ["PresentIds", "any_set", "find_present", "unpack_bits"]

DeviceArray = Any  # CuPy's or NumPy's


@dataclass
class PresentIds:
    """Which integers of a range are ids; their numbers are in their order.

    Attributes
    ----------
    low : int
        The least id.
    span : int
        Number of integers in the range.
    size : int
        Number of distinct ids.
    present : device array of bool, shape (span,), optional
        Whether low + i is an id; without it, all are.
    """

    low: int
    span: int
    size: int
    present: DeviceArray = None

    def places(self) -> DeviceArray:
        """Return the ids, less `low`, by number; int64, shape (size,), or None if all are there."""
        return None if self.present is None else device().xp.flatnonzero(self.present)

    def numbers(self, places: DeviceArray) -> DeviceArray:
        """Return the numbers of ids.

        Parameters
        ----------
        places : device array of int64
            Ids less `low`.

        Returns
        -------
        device array of int32 or int64
        """
        index = number_dtype(self.size)
        if self.present is None:
            return places.astype(index)
        return device().xp.cumsum(self.present, dtype=index)[places] - 1


def find_present(
    comm: Communicator, columns: Sequence[DeviceArray], dense_up_to: int, *, natural: bool = False
) -> PresentIds | None:
    """Find the integers that occur on any rank.  Collective.

    Each rank marks its ids in a bitmap over the range, and sends it to all ranks.

    Parameters
    ----------
    comm : Communicator
    columns : sequence of device array of int32, uint32 or int64
        The id columns of this rank; may be empty.
    dense_up_to : int
        Largest range to number this way, the same on all ranks.
    natural : bool
        Whether negative values stand for unsigned ids above int64.

    Returns
    -------
    PresentIds or None
        None, on all ranks, if the range is larger, or an id is above int64.
    """
    gpu = device()
    xp, limits = gpu.xp, np.iinfo(np.int64)
    filled = [column for column in columns if len(column)]
    extremes = xp.asarray(np.array([limits.max, limits.min]))
    for column in filled:
        run(gpu, "find_range", len(column), column, len(column), extremes, module="split")
    low_and_high = gpu.to_host(extremes).tolist() if filled else []
    ranges = [extent for extent in comm.allgather(low_and_high) if extent]
    if not ranges:
        return PresentIds(0, 0, 0)
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    span = high - low + 1
    if span > max(dense_up_to, 1) or (natural and low < 0):
        return None
    bits = xp.zeros(words_for(span), np.uint32)
    for column in filled:
        run(gpu, "mark_bits", len(column), column, low, len(column), bits, module="split")
    received = comm.alltoall([[bits]] * comm.size)
    present = unpack_bits(any_set([words for (words,) in received]), span)
    del bits, received
    size = count_true(present)
    return PresentIds(low, span, int(size), None if size == span else present)


def any_set(pieces: Sequence[DeviceArray]) -> DeviceArray:
    """Return the bits that are set in any of several arrays."""
    bits = pieces[0]
    for piece in pieces[1:]:
        bits = bits | piece
    return bits


def unpack_bits(words: DeviceArray, count: int) -> DeviceArray:
    """Unpack the bits of 32-bit words, lowest first, into an array of bool."""
    xp = device().xp
    return xp.unpackbits(words.view(np.uint8), bitorder="little")[:count].view(np.bool_)
