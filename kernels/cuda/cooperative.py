"""What the blocks of a cooperative launch agree on between its steps, without the host.

A launch runs many steps: supersteps, or levels of a tree.  Every thread computes the same decision about the next
step from the counters that the last one left, so no block waits to be told what to do.

- There are three of each counter, used in turn.  A step adds to one, the next step reads it, and the one after
  clears it, so a single barrier a step is enough.
- A small step is left to a single block, with its counters in shared memory: its barrier is much faster than the
  grid's.  The other blocks wait at the barrier of the grid.  When a step is too large for the block, or the launch
  is over, it stores what it knows from `control[WOKEN]` on and joins them there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.layout import LEAST_ROWS, LISTED, ROLES
from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    inline,
    sync_block,
    sync_grid,
    thread,
    threads,
)

__all__ = [
    "advance", "clear_following", "clear_local", "counters_of", "following", "rows_of_warp", "sync_workers",
    "warps_of",
]  # fmt: skip


@inline
def following(turn: Any) -> Any:
    """Return which of three counters comes after one."""
    return np.int32((turn + 1) % 3)


@inline
def clear_following(counters: Any, turn: Any) -> None:
    """Clear the counters of the next step; one thread does it."""
    for role in range(ROLES):
        counters[LISTED + 3 * role + (turn + 1) % 3] = 0


@inline
def clear_local(local: Any) -> None:
    """Clear the counters in shared memory, before the first step of a single block."""
    if thread() < 32:
        local[thread()] = 0
    sync_block()


@inline
def counters_of(alone: Any, control: Any, turn: Any, local: Any, beat: Any) -> Any:
    """Return the counters of the blocks that work, and which of three: `local` ones of a single block."""
    counters, at = control, turn
    if alone:
        counters, at = local, beat
    return counters, at


@inline
def advance(alone: Any, turn: Any, beat: Any) -> Any:
    """Return `turn` and `beat` after a step: only those that work count it."""
    if alone:
        beat = following(beat)
    else:
        turn = following(turn)
    return turn, beat


@inline
def warps_of(alone: Any) -> Any:
    """Return the warp's number among those that work, and how many these are.

    Neighbouring warps are of different blocks, so that few rows are spread over many.
    """
    warp = np.int32(thread() // 32 * blocks() + block())
    warps = np.int32(blocks() * threads() // 32)
    if alone:
        warp, warps = np.int32(thread() // 32), np.int32(threads() // 32)
    return warp, warps


@inline
def rows_of_warp(entries: Any, warps: Any) -> Any:
    """Return how many rows of a list a warp takes at a time: fewer than 32 if some warps would get none."""
    rows = np.int32(32)
    while rows > LEAST_ROWS and entries <= rows // 2 * warps:
        rows = np.int32(rows >> 1)
    return rows


@inline
def sync_workers(alone: Any) -> None:
    """Wait at a barrier: of the grid, or of the single block that works."""
    if alone:
        sync_block()
    else:
        sync_grid()
