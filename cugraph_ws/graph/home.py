"""Rows of owned vertices, sent to where results are: range by range of numbers, and back.

Ranks of a graph whose owners are no ranges hold its ids, results and checkpoints by ranges, so that these are
in the order of numbers over all ranks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.owners import Owners
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["to_owners", "to_ranges"]

Array = npt.NDArray[Any]


def to_ranges(
    comm: Communicator, owners: Owners, numbers: Array, *columns: Array
) -> tuple[Array, list[Array]]:
    """Send rows to the ranks whose ranges their vertices are in; collective.

    Parameters
    ----------
    comm : Communicator
    owners : Owners
    numbers : ndarray of int, shape (rows,)
        The vertex of each row; the rows of a vertex are on one rank.
    *columns : ndarray, each of shape (rows, ...)

    Returns
    -------
    numbers : ndarray
        Ascending; the rows of a vertex in the order in which they were given.
    columns : list of ndarray
    """
    sort = np.argsort(numbers, kind="stable")
    rows = [column[sort] for column in (numbers, *columns)]
    bounds = np.searchsorted(rows[0], owners.cuts).tolist()
    received = comm.alltoall([[array[a:b] for array in rows] for a, b in pairwise(bounds)])
    joined = [np.concatenate(parts) for parts in zip(*received, strict=True)]
    sort = np.argsort(joined[0], kind="stable")
    numbers, *columns_received = (column[sort] for column in joined)
    return numbers, columns_received


def to_owners(comm: Communicator, owners: Owners, numbers: Array, *columns: Array) -> list[Array]:
    """Send rows of vertices of this rank's range to their owners; collective.

    Parameters
    ----------
    comm, owners
    numbers : ndarray of int, shape (rows,)
        Ascending.
    *columns : ndarray, each of shape (rows, ...)

    Returns
    -------
    list of ndarray
        The columns, in the order of numbers.
    """
    owner = owners.of(numbers)
    places = [np.flatnonzero(owner == rank) for rank in range(comm.size)]
    received = comm.alltoall([[column[rows] for column in columns] for rows in places])
    return [np.concatenate(parts) for parts in zip(*received, strict=True)]
