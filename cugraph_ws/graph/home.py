"""Rows of owned vertices, sent to where results are: range by range of numbers, and back.

Ranks of a graph whose owners are no ranges hold its ids, results and checkpoints by ranges, so that these are
in the order of numbers over all ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.frames.base import Masked, VertexNumbers
from cugraph_ws.graph.owners import Owners
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["packed_column", "to_owners", "to_ranges"]

Array = npt.NDArray[Any]


class PackedColumn(NamedTuple):
    """A result column as arrays by row, and the function that makes a column of such arrays."""

    arrays: list[Array]
    unpack: Callable[..., Any]


def packed_column(comm: Communicator, column: Any) -> PackedColumn:
    """Return a result column as arrays that can be sent; collective.

    Parameters
    ----------
    comm : Communicator
    column : array, VertexNumbers, Masked or list of str

    Returns
    -------
    PackedColumn
    """
    if isinstance(column, VertexNumbers):
        # Those of another rank's vertices need not be known here
        unpack = partial(VertexNumbers, nullable=column.nullable)
        return PackedColumn([as_host(column.numbers)], unpack)
    if isinstance(column, Masked):
        return PackedColumn([as_host(column.values), as_host(column.valid)], Masked)
    if isinstance(column, list):
        names = sorted({name for shown in comm.allgather(sorted(set(column))) for name in shown})
        code_of = {name: code for code, name in enumerate(names)}
        codes = np.array([code_of[name] for name in column], np.int64)
        return PackedColumn([codes], lambda received: [names[code] for code in received])
    return PackedColumn([as_host(column)], lambda received: received)


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
