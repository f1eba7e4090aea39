"""Range offsets: which vertices each rank owns, such that its work is in proportion to its weight."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["balanced_cuts", "bucket_starts", "check_weights", "cuts_of_buckets"]

Numbers = npt.NDArray[np.int64]

VERTEX_WORK = 4  # the time and memory of a vertex without arcs equal those of so many arcs
_BUCKETS = 1 << 16  # ranges of vertices for each rank


def balanced_cuts(
    comm: Communicator,
    size: int,
    targets: Sequence[npt.NDArray[Any]],
    weights: Sequence[float] | None = None,
) -> Numbers:
    """Split vertex numbers into ranges whose work is in proportion to weights; collective.

    The work of a vertex is its in-degree plus `VERTEX_WORK`.  Work is counted for ranges of
    numbers, at most 65,536 for each rank.  With fewer vertices, it is counted for each vertex, and
    the result equals that of `partition.cut.even_offsets`.

    Parameters
    ----------
    comm : Communicator
    size : int
        Number of vertices.
    targets : sequence of ndarray of integers
        Destinations of this rank's arcs.
    weights : sequence of float, optional
        As in `check_weights`; equal by default.

    Returns
    -------
    ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1.
    """
    buckets = len(bucket_starts(comm, size)) - 1
    counts = np.zeros(buckets, np.int64)
    for numbers in targets:
        for first in range(0, len(numbers), 1 << 22):  # in chunks, to limit temporary copies
            some = numbers[first : first + (1 << 22)]
            if buckets < size:
                some = some.astype(np.int64) * buckets // size
            counts += np.bincount(some, minlength=buckets)
    return cuts_of_buckets(comm, size, counts, weights)


def bucket_starts(comm: Communicator, size: int) -> Numbers:
    """Return the first vertex number of each range for which work is counted, then the end.

    Parameters
    ----------
    comm : Communicator
    size : int
        Number of vertices.

    Returns
    -------
    ndarray of int64
    """
    buckets = min(size, _BUCKETS * comm.size)
    return -(-np.arange(buckets + 1, dtype=np.int64) * size // max(1, buckets))


def cuts_of_buckets(
    comm: Communicator, size: int, counts: Numbers, weights: Sequence[float] | None = None
) -> Numbers:
    """Split vertex numbers into ranges, given counts of arcs; collective; see `balanced_cuts`.

    Parameters
    ----------
    comm : Communicator
    size : int
    counts : ndarray of int64
        Number of this rank's arcs into each range of `bucket_starts`.
    weights : sequence of float, optional

    Returns
    -------
    ndarray of int64, shape (comm.size + 1,)
    """
    starts, buckets = bucket_starts(comm, size), len(counts)
    slices = [buckets * rank // comm.size for rank in range(comm.size + 1)]
    received = comm.alltoall([[counts[first:last]] for first, last in pairwise(slices)])
    low, high = slices[comm.rank : comm.rank + 2]
    vertices = np.diff(starts[low : high + 1])
    work = np.cumsum(sum(buffer[0] for buffer in received) + VERTEX_WORK * vertices)
    sums = comm.allgather(int(work[-1]) if len(work) else 0)
    before, everything = sum(sums[: comm.rank]), sum(sums)
    work += before
    shares = [Fraction(weight) for weight in (weights or [1] * comm.size)]
    own_cuts = {}
    for rank in range(1, comm.size):
        goal = int(everything * sum(shares[:rank]) // sum(shares))
        if before < goal <= before + sums[comm.rank]:
            own_cuts[rank] = int(starts[low + 1 + np.searchsorted(work, goal)])
    cuts = np.zeros(comm.size + 1, np.int64)
    cuts[-1] = size
    for cuts_of_rank in comm.allgather(sorted(own_cuts.items())):
        for rank, cut in cuts_of_rank:
            cuts[rank] = cut
    return cuts


def check_weights(weights: Sequence[float] | None, ranks: int) -> None:
    """Raise InputError unless there is one finite weight of at least 0 for each rank, not all 0.

    Parameters
    ----------
    weights : sequence of float or None
    ranks : int

    Raises
    ------
    InputError
        Names the weights.
    """
    if weights is None:
        return
    right = len(weights) == ranks and all(0 <= weight < float("inf") for weight in weights)
    if not right or not sum(weights):
        raise InputError(
            f"weights={shown(list(weights))}: give {ranks} finite numbers, one for each rank, none below 0 "
            f"and not all of them 0"
        )
