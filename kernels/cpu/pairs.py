"""The loops of edge programs: folds over the common neighbours of pairs, on ascending rows.

They are written against `pair_interface`.  Messages are combined in the order of the rows, which is
that of vertex numbers.  Rows of similar length are merged; in a much longer row the elements of
the shorter one are looked up, as in `intersect`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline, jit
from cugraph_ws.kernels.cpu.pair_interface import (
    ANY,
    EDGES,
    is_enough,
    load,
    merge,
    message,
    nothing,
    put,
)
from cugraph_ws.kernels.cpu.search import leap

__all__ = ["fold_pairs", "value_pairs"]

Array = npt.NDArray[Any]

LONGER = 16  # a row more than so many times as long as the other is searched, not merged


@inline
def arc_between(rows: Any, row: int, vertex: int) -> int:
    """Return the arc of a row to a vertex; −1 if there is none or the program reads none."""
    arc = -1
    if EDGES:
        offsets, indices = rows
        end = offsets[row + 1]
        place = leap(indices, offsets[row], end, vertex)
        if place < end and indices[place] == vertex:
            arc = place
    return arc


@jit
def fold_pairs(
    rows: Any,
    pairs: Any,
    constants: Any,
    edges: Any,
    values: Any,
    columns: Any,
    lo: int,
    hi: int,
) -> int:
    """Compute the values of pairs.

    Parameters
    ----------
    rows : tuple of (offsets, indices)
        Ascending rows of neighbours.
    pairs : tuple of (first rows, second rows, firsts, seconds), each of int64, shape (pairs,)
        The rows of each pair, and its vertices as the rows and the constants number them.
    constants, edges, values
        See `pair_interface`.
    columns : tuple of ndarray, each of shape (pairs,)
        Written.
    lo, hi : int
        Range of pairs.

    Returns
    -------
    int
        Number of entries of the shorter rows.
    """
    offsets, indices = rows
    first_rows, second_rows, firsts, seconds = pairs
    read = 0
    for pair in range(lo, hi):
        u, v = load(constants, firsts[pair]), load(constants, seconds[pair])
        first_arc, end = offsets[first_rows[pair]], offsets[first_rows[pair] + 1]
        second_arc, stop = offsets[second_rows[pair]], offsets[second_rows[pair] + 1]
        gathered = nothing()
        read += min(end - first_arc, stop - second_arc)
        if (end - first_arc) * LONGER < stop - second_arc:
            while first_arc < end and second_arc < stop:
                wanted = indices[first_arc]
                second_arc = leap(indices, second_arc, stop, wanted)
                if second_arc < stop and indices[second_arc] == wanted:
                    w = load(constants, wanted)
                    gathered = merge(
                        gathered, message(w, u, v, edges, first_arc, second_arc, values)
                    )
                    if ANY and is_enough(gathered):
                        break
                first_arc += 1
        elif (stop - second_arc) * LONGER < end - first_arc:
            while first_arc < end and second_arc < stop:
                wanted = indices[second_arc]
                first_arc = leap(indices, first_arc, end, wanted)
                if first_arc < end and indices[first_arc] == wanted:
                    w = load(constants, wanted)
                    gathered = merge(
                        gathered, message(w, u, v, edges, first_arc, second_arc, values)
                    )
                    if ANY and is_enough(gathered):
                        break
                second_arc += 1
        else:
            while first_arc < end and second_arc < stop:
                first_neighbour, second_neighbour = indices[first_arc], indices[second_arc]
                if first_neighbour == second_neighbour:
                    w = load(constants, first_neighbour)
                    gathered = merge(
                        gathered, message(w, u, v, edges, first_arc, second_arc, values)
                    )
                    if ANY and is_enough(gathered):
                        break
                first_arc += 1 if first_neighbour <= second_neighbour else 0
                second_arc += 1 if second_neighbour <= first_neighbour else 0
        arc = arc_between(rows, first_rows[pair], seconds[pair])
        put(columns, pair, u, v, edges, arc, gathered, values)
    return read


@jit
def value_pairs(
    rows: Any,
    pairs: Any,
    constants: Any,
    edges: Any,
    values: Any,
    columns: Any,
    counts: npt.NDArray[np.int64],
    lo: int,
    hi: int,
) -> None:
    """Compute the values of pairs from the numbers of their common neighbours.

    It is for programs whose messages are all the same integer, combined by addition.

    Parameters
    ----------
    rows, pairs, constants, edges, values, columns, lo, hi
        See `fold_pairs`.
    counts : ndarray of int64, shape (pairs,)
    """
    first_rows, _, firsts, seconds = pairs
    for pair in range(lo, hi):
        u, v = load(constants, firsts[pair]), load(constants, seconds[pair])
        each = message(u, u, v, edges, 0, 0, values)
        arc = arc_between(rows, first_rows[pair], seconds[pair])
        put(columns, pair, u, v, edges, arc, counts[pair] * each, values)
