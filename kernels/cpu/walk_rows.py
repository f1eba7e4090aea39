"""What walks ask of rows: whether an edge is there, and an edge drawn by weight.

The kernels for GPUs are written with the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.jit import inline

__all__ = ["drawn_place", "has_arc"]


@inline
def has_arc(offsets: Any, indices: Any, vertices: int, source: int, destination: int) -> Any:
    """Return whether the row of a vertex contains another; False if the first is no vertex."""
    there: Any = False
    if source >= 0 and source < vertices:
        low, end = np.int64(offsets[source]), np.int64(offsets[source + 1])
        high = end
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < destination:
                low = middle + 1
            else:
                high = middle
        there = low < end and indices[low] == destination
    return there


@inline
def drawn_place(sums: Any, begin: int, degree: int, random: float) -> Any:
    """Return the index of the edge whose part of a row's sum contains the fraction `random` of it.

    `sums` has the sums within each row; the result is -1 if that of the row is 0.
    """
    place = np.int64(-1)
    low, high = np.int64(begin), np.int64(begin + degree - 1)
    total = sums[high]
    if total > 0.0:
        wanted = random * total
        while low < high:
            middle = (low + high) // 2
            # The product may be rounded up to the sum; edges of weight 0 at the end are not drawn then.
            if sums[middle] <= wanted and sums[middle] < total:
                low = middle + 1
            else:
                high = middle
        place = low - begin
    return place
