"""Parallel edges in a sorted adjacency: found, counted, merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import InputError
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.masks import chosen_rows

__all__ = [
    "PARALLEL_RANK",
    "Merge",
    "Policy",
    "merge_parallel",
    "parallel_ranks",
    "policy_of",
    "refuse_infinite",
    "repeats",
]

PARALLEL_RANK = "rank among parallel edges"  # an edge column that every graph can make

Array = npt.NDArray[Any]
Merge = Literal["sum", "min", "max", "mean", "first"]
Policy = Merge | Mapping[str, Merge]  # for all columns, or for each


def policy_of(policy: Any, name: str) -> Any:
    """Return how values of a column are combined.

    Parameters
    ----------
    policy : str or mapping of str to str
        For all columns, or for each.
    name : str
        The column.

    Returns
    -------
    str
    """
    return policy[name] if isinstance(policy, Mapping) else policy


def repeats(adjacency: Adjacency) -> npt.NDArray[np.bool_]:
    """Mark the arcs that repeat the one before them.

    Parameters
    ----------
    adjacency : Adjacency
        With ascending rows.

    Returns
    -------
    ndarray of bool, shape (arcs,)
    """
    repeated = np.zeros(adjacency.number_of_arcs, np.bool_)
    np.equal(adjacency.indices[1:], adjacency.indices[:-1], out=repeated[1:])
    starts = adjacency.offsets[:-1]
    repeated[starts[starts < len(repeated)]] = False
    return repeated


def parallel_ranks(adjacency: Adjacency) -> npt.NDArray[np.int64]:
    """Count for each arc those before it that join the same two vertices in the same direction.

    Parameters
    ----------
    adjacency : Adjacency
        With ascending rows, parallel arcs in input order.

    Returns
    -------
    ndarray of int64, shape (arcs,)
        So in a graph's CSR and CSC an arc has the same rank.
    """
    ranks = np.arange(adjacency.number_of_arcs)
    first = np.where(repeats(adjacency), 0, ranks)
    ranks -= np.maximum.accumulate(first)
    return ranks


def merge_parallel(
    adjacency: Adjacency,
    values: dict[str, Array],
    policy: Policy,
    repeated: npt.NDArray[np.bool_],
) -> tuple[Adjacency, dict[str, Array]]:
    """Merge all arcs that join the same two vertices in the same direction.

    Parameters
    ----------
    adjacency : Adjacency
        With ascending rows, parallel arcs in input order.
    values : dict of str to ndarray, shape (arcs,)
    policy : {"sum", "min", "max", "mean", "first"}, or mapping
        How their values are combined, in all columns or in each.
    repeated : ndarray of bool, shape (arcs,)
        From `repeats`.

    Returns
    -------
    adjacency : Adjacency
    values : dict of str to ndarray
        Of the same dtypes, except that the mean of integers is float64.  Sums of floats may be
        infinite; see `refuse_infinite`.

    Raises
    ------
    InputError
        If a sum of integers exceeds int64.
    """
    is_first = ~repeated
    merged = {
        name: _reduce(name, array, is_first, policy_of(policy, name))
        for name, array in values.items()
    }
    return chosen_rows(adjacency, is_first), merged


def _reduce(name: str, values: Array, is_first: npt.NDArray[np.bool_], policy: Merge) -> Array:
    if policy == "first":
        return values[is_first]
    if not len(values):  # on an empty shard the dtype must match that of the other shards
        return values.astype(_mean_dtype(values) if policy == "mean" else values.dtype)
    starts = np.flatnonzero(is_first)
    if policy == "min":
        return np.asarray(np.minimum.reduceat(values, starts))
    if policy == "max":
        return np.asarray(np.maximum.reduceat(values, starts))
    with np.errstate(over="ignore", invalid="ignore"):  # the caller checks
        rough = np.add.reduceat(values, starts, dtype=np.float64)
        if policy == "mean":
            sizes = np.diff(starts, append=len(values))
            return (rough / sizes).astype(_mean_dtype(values))
        if values.dtype.kind == "f":
            return rough.astype(values.dtype)
    if np.abs(rough).max() > 2.0**62:  # well below 2**63, since `rough` is a rounded sum
        raise InputError(
            f"duplicates='sum': the sums of column {name!r} could exceed int64; cast it to float64"
        )
    return np.asarray(np.add.reduceat(values, starts))


def refuse_infinite(policy: str, name: str, value: Any, edge: str) -> NoReturn:
    """Raise InputError for parallel edges whose combined value is not finite.

    Parameters
    ----------
    policy : str
        How the values are combined.
    name : str
        The column.
    value : float
        The result.
    edge : str
        The ids of the edges' ends.
    """
    raise InputError(
        f"duplicates={policy!r}: the values of column {name!r} on the edges {edge} come to {value}; scale "
        "the column down, or make it float64"
    )


def _mean_dtype(values: Array) -> np.dtype[Any]:
    return np.dtype(np.float64) if values.dtype.kind == "i" else values.dtype
