"""Folds over rows of neighbours: sums of floats, and combines of 64-bit words.

A warp reads a row.  With one column its lanes share the row's arcs; with several, each lane has a
column, so that a neighbour's values are read at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    block,
    blocks,
    inline,
    kernel,
    lane,
    shuffle_xor,
    thread,
    threads,
)

__all__ = [
    "MAX",
    "MIN",
    "OR",
    "fold_words",
    "nearest_columns",
    "sum_columns",
    "sum_rows",
    "sum_weighted_columns",
    "tight_columns",
]

MIN, MAX, OR = 0, 1, 2  # as in kernels/cpu/folds.py


@inline
def combined(operation: Any, one: Any, other: Any) -> Any:
    """Combine two words."""
    if operation == MIN:
        return min(one, other)
    if operation == MAX:
        return max(one, other)
    return one | other


@kernel
def sum_rows(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    values: Any,
    weights: Any,
    weighted: Any,
    sums: Any,
) -> None:
    """Add up neighbours' values in one column.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values : float64[vertices]
    weights : float64[arcs]
        Factors by arc; not read unless `weighted` is 1.
    weighted : int
    sums : float64[count]
        Written.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        total = 0.0
        for arc in range(offsets[row] + lane(), offsets[row + 1], 32):
            value = values[indices[arc]]
            if weighted == 1:
                value *= weights[arc]
            total += value
        distance = 16
        while distance > 0:
            total += shuffle_xor(FULL, total, distance)
            distance //= 2
        if lane() == 0:
            sums[place] = total


@kernel
def sum_columns(
    offsets: Any, indices: Any, which: Any, count: Any, values: Any, columns: Any, sums: Any
) -> None:
    """Add up neighbours' values in several columns.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values : float64[vertices * columns]
        By vertex, then column.
    columns : int
    sums : float64[count * columns]
        Written.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        begin, end = offsets[row], offsets[row + 1]
        for column in range(lane(), columns, 32):
            total = 0.0
            for arc in range(begin, end):
                total += values[np.int64(indices[arc]) * columns + column]
            sums[np.int64(place) * columns + column] = total


@kernel
def sum_weighted_columns(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    values: Any,
    columns: Any,
    weights: Any,
    sums: Any,
) -> None:
    """Add up neighbours' values in several columns, each times its arc's weight.

    It is not a case of `sum_columns`, which would then need a third more registers.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values : float64[vertices * columns]
        By vertex, then column.
    columns : int
    weights : float64[arcs]
        Factors by arc.
    sums : float64[count * columns]
        Written.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        begin, end = offsets[row], offsets[row + 1]
        for column in range(lane(), columns, 32):
            total = 0.0
            for arc in range(begin, end):
                total += values[np.int64(indices[arc]) * columns + column] * weights[arc]
            sums[np.int64(place) * columns + column] = total


@kernel
def nearest_columns(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    distances: Any,
    columns: Any,
    weights: Any,
    found: Any,
) -> None:
    """Find the least distance through a neighbour, in several columns.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    distances : float64[vertices * columns]
        By vertex, then column.
    columns : int
    weights : float64[arcs]
    found : float64[count * columns]
        Written; infinite without neighbours.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        begin, end = offsets[row], offsets[row + 1]
        for column in range(lane(), columns, 32):
            best = math.inf
            for arc in range(begin, end):
                best = min(
                    best, distances[np.int64(indices[arc]) * columns + column] + weights[arc]
                )
            found[np.int64(place) * columns + column] = best


@kernel
def tight_columns(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    values: Any,
    distances: Any,
    columns: Any,
    weights: Any,
    forward: Any,
    sums: Any,
) -> None:
    """Add up values of neighbours along shortest paths, in several columns.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values, distances : float64[vertices * columns]
        By vertex, then column.
    columns : int
    weights : float64[arcs]
    forward : int
        1 if paths lead from the row to the neighbour, 0 if from the neighbour to the row.
    sums : float64[count * columns]
        Written.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        begin, end = offsets[row], offsets[row + 1]
        for column in range(lane(), columns, 32):
            own = distances[row * columns + column]
            total = 0.0
            for arc in range(begin, end):
                entry = np.int64(indices[arc]) * columns + column
                there = distances[entry]
                through = own + weights[arc] if forward == 1 else there + weights[arc]
                end_of_path = there if forward == 1 else own
                if through == end_of_path and end_of_path < math.inf:
                    total += values[entry]
            sums[np.int64(place) * columns + column] = total


@kernel
def fold_words(
    offsets: Any,
    indices: Any,
    which: Any,
    count: Any,
    values: Any,
    operation: Any,
    identity: Any,
    found: Any,
) -> None:
    """Combine neighbours' words.

    Parameters
    ----------
    offsets, indices : int64[size + 1], int[arcs]
        Rows of neighbours.
    which : int64[count]
        Rows.
    count : int
    values : int64[vertices]
    operation : int
        MIN, MAX or OR.
    identity : int
        The result of an empty row.
    found : int64[count]
        Written.
    """
    for place in range((block() * threads() + thread()) // 32, count, blocks() * threads() // 32):
        row = which[place]
        best = np.int64(identity)
        for arc in range(offsets[row] + lane(), offsets[row + 1], 32):
            best = combined(operation, best, values[indices[arc]])
        distance = 16
        while distance > 0:
            best = combined(operation, best, shuffle_xor(FULL, best, distance))
            distance //= 2
        if lane() == 0:
            found[place] = best
