"""Who owns which vertices: ranges of about as much work as members are fast."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import InputError
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["balanced_cuts", "bucket_starts", "check_weights", "cuts_of_buckets"]

Numbers = npt.NDArray[np.int64]

VERTEX_WORK = 4  # of a vertex without arcs: as much time and memory as so many arcs take
_BUCKETS = 1 << 16  # of vertices, for each member


def balanced_cuts(
    comm: Communicator,
    size: int,
    targets: Sequence[npt.NDArray[Any]],
    weights: Sequence[float] | None = None,
) -> Numbers:
    """Cut vertex numbers into ranges of work in proportion to weights; collective.

    A vertex is as much work as it has in-arcs, and `VERTEX_WORK` more.  Work is counted for ranges of numbers, of
    which there are at most 65,536 for each member: with fewer vertices every one is counted by itself,
    and the cuts are those of `partition.split`.

    Parameters
    ----------
    comm : Communicator
    size : int
        Number of vertices.
    targets : sequence of ndarray of integers
        Destinations of own arcs, each once.
    weights : sequence of float, optional
        As `check_weights` takes them; equal ones without.

    Returns
    -------
    ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered cuts[r] to cuts[r + 1] - 1.
    """
    buckets = len(bucket_starts(comm, size)) - 1
    counts = np.zeros(buckets, np.int64)
    for numbers in targets:
        for first in range(0, len(numbers), 1 << 22):  # so that few copies are made at once
            some = numbers[first : first + (1 << 22)]
            if buckets < size:
                some = some.astype(np.int64) * buckets // size
            counts += np.bincount(some, minlength=buckets)
    return cuts_of_buckets(comm, size, counts, weights)


def bucket_starts(comm: Communicator, size: int) -> Numbers:
    """Return the vertex numbers at which the ranges start for which work is counted, and the end.

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
    """Cut vertex numbers into ranges of work; collective; see `balanced_cuts`.

    Parameters
    ----------
    comm : Communicator
    size : int
    counts : ndarray of int64
        How many of the own arcs lead into each of the ranges of `bucket_starts`.
    weights : sequence of float, optional

    Returns
    -------
    ndarray of int64, shape (comm.size + 1,)
    """
    starts, buckets = bucket_starts(comm, size), len(counts)
    slices = [buckets * rank // comm.size for rank in range(comm.size + 1)]
    came = comm.alltoall([[counts[first:last]] for first, last in pairwise(slices)])
    low, high = slices[comm.rank : comm.rank + 2]
    vertices = np.diff(starts[low : high + 1])
    work = np.cumsum(sum(one[0] for one in came) + VERTEX_WORK * vertices)
    sums = comm.allgather(int(work[-1]) if len(work) else 0)
    before, everything = sum(sums[: comm.rank]), sum(sums)
    work += before
    shares = [Fraction(one) for one in (weights or [1] * comm.size)]
    found = {}
    for rank in range(1, comm.size):
        goal = int(everything * sum(shares[:rank]) // sum(shares))
        if before < goal <= before + sums[comm.rank]:
            found[rank] = int(starts[low + 1 + np.searchsorted(work, goal)])
    cuts = np.zeros(comm.size + 1, np.int64)
    cuts[-1] = size
    for shown in comm.allgather(sorted(found.items())):
        for rank, cut in shown:
            cuts[rank] = cut
    return cuts


def check_weights(weights: Sequence[float] | None, members: int) -> None:
    """Raise InputError unless there is one weight, a number from 0 up, for each member.

    Parameters
    ----------
    weights : sequence of float or None
    members : int

    Raises
    ------
    InputError
        With the weights.
    """
    if weights is None:
        return
    right = len(weights) == members and all(0 <= one < float("inf") for one in weights)
    if not right or not sum(weights):
        raise InputError(
            f"weights={list(weights)!r}: give {members} finite numbers, one for each member, none below 0 "
            f"and not all of them 0"
        )
