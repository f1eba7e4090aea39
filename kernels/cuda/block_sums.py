"""Sums and greatest values over the threads of a block, several in one kernel.

Each warp leaves its part in shared memory: `WARPS` parts of each sum, one after the other.  Sums are added up in one
order, which depends on the grid alone.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cuda.primitives import block, inline, lane, sync_block, thread, threads
from cugraph_ws.kernels.cuda.rows import greatest_of_lanes, sum_of_lanes

__all__ = ["WARPS", "keep", "keep_greatest", "put_sums"]

WARPS = 8  # most of a block


@inline
def keep(pieces: Any, place: Any, value: Any) -> None:
    """Leave the sum over the lanes of this warp for its block."""
    total = sum_of_lanes(value)
    if lane() == 0:
        pieces[place * WARPS + thread() // 32] = total


@inline
def keep_greatest(pieces: Any, place: Any, value: Any) -> None:
    """Leave the greatest value of the lanes of this warp for its block."""
    greatest = greatest_of_lanes(value)
    if lane() == 0:
        pieces[place * WARPS + thread() // 32] = greatest


@inline
def put_sums(pieces: Any, count: Any, sums: Any) -> None:
    """Write the block's sums, each of which a thread adds up."""
    sync_block()
    if thread() < count:
        total = 0.0
        for warp in range(threads() // 32):
            total += pieces[thread() * WARPS + warp]
        sums[block() * count + thread()] = total
