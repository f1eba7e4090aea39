"""Sums of the values in each row.

Which lane adds what, and in which order, depends on the row alone, so that sums of floats are the
same for any launch and on every machine.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    inline,
    kernel,
    lane,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = ["sum_long", "sum_partials", "sum_rows"]


@inline
def warp() -> Any:
    """Return the warp's number within the grid."""
    return (block() * threads() + thread()) // 32


@inline
def warps() -> Any:
    """Return the number of warps of the grid."""
    return blocks() * threads() // 32


@inline
def warp_sum(values: Any, first: Any, last: Any) -> Any:
    """Return the sum of a range, in every lane."""
    total = 0.0
    for place in range(first + lane(), last, 32):
        total += values[place]
    return sum_of_lanes(total)


@kernel
def sum_rows(offsets: Any, values: Any, first_arc: Any, rows: Any, longest: Any, sums: Any) -> None:
    """Write the sum of each row's values, a warp a row; rows over `longest` are left out."""
    for row in range(warp(), rows, warps()):
        first = offsets[row] - first_arc
        last = offsets[row + 1] - first_arc
        if last - first <= longest:
            total = warp_sum(values, first, last)
            if lane() == 0:
                sums[row] = total


@kernel
def sum_long(
    offsets: Any, values: Any, first_arc: Any, rows: Any, count: Any, pieces: Any, partial: Any
) -> None:
    """Write the sums of `pieces` equal pieces of each of the listed rows, a warp a piece."""
    for unit in range(warp(), count * pieces, warps()):
        row = rows[unit // pieces]
        end = offsets[row + 1] - first_arc
        length = (offsets[row + 1] - offsets[row] + pieces - 1) // pieces
        first = offsets[row] - first_arc + unit % pieces * length
        total = warp_sum(values, min(first, end), min(first + length, end))
        if lane() == 0:
            partial[unit] = total


@kernel
def sum_partials(partial: Any, rows: Any, count: Any, pieces: Any, sums: Any) -> None:
    """Write the sum of each listed row from those of its pieces."""
    for which in range(warp(), count, warps()):
        total = warp_sum(partial, which * pieces, (which + 1) * pieces)
        if lane() == 0:
            sums[rows[which]] = total
