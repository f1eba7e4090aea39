"""HITS on one GPU: scales sums so that the greatest is 1, and ends the run, without the host.

`control` has the slots that are named here, and after them the changes of the latest supersteps, each in
the slot of its number modulo how many there are.  If the run is over, kernels return at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    atomic_compare_and_swap,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    shared,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import greatest_of_lanes

__all__ = ["end_superstep", "find_greatest", "scale"]

OVER, DONE, CHANGE, AUTHORITY, HUB, CHANGES = 0, 1, 2, 3, 4, 5  # as in backends/cuda/loops/hits.py
WARPS = 32  # of a block, at most


@inline
def raise_to(control: Any, slot: Any, value: Any, shares: Any) -> None:
    """Raise a slot to the greatest value of the block's threads, none of them negative."""
    value = greatest_of_lanes(value)
    if lane() == 0:
        shares[thread() // 32] = value
    sync_block()
    if thread() == 0:
        for warp in range(threads() // 32):
            value = max(value, shares[warp])
        current = load_fresh(control, slot)
        while value > current:
            previous = atomic_compare_and_swap(control, slot, current, value)
            current = value if previous == current else previous


@kernel
def find_greatest(sums: Any, count: Any, control: Any, slot: Any) -> None:
    """Raise a slot of `control` to the greatest sum.

    Parameters
    ----------
    sums : float64[count]
        At least 0.
    count : int
    control : float64[CHANGES + changes]
    slot : int
    """
    shares = shared(WARPS, np.float64)
    if control[OVER] == 0.0:
        greatest = 0.0
        for row in range(block() * threads() + thread(), count, blocks() * threads()):
            greatest = max(greatest, sums[row])
        raise_to(control, slot, greatest, shares)


@kernel
def scale(sums: Any, count: Any, control: Any, slot: Any, compared: Any, values: Any) -> None:
    """Divide sums by the greatest, unless all are 0.

    Parameters
    ----------
    sums : float64[count]
    count : int
    control : float64[CHANGES + changes]
        The greatest change is raised if `compared` is 1.
    slot : int
        Of `control`: the greatest sum.
    compared : int
    values : float64[count]
        Written.
    """
    shares = shared(WARPS, np.float64)
    if control[OVER] == 0.0:
        greatest = control[slot]
        if greatest == 0.0:
            greatest = 1.0
        change = 0.0
        for row in range(block() * threads() + thread(), count, blocks() * threads()):
            value = sums[row] / greatest
            if compared == 1:
                change = max(change, abs(value - values[row]))
            values[row] = value
        if compared == 1:
            raise_to(control, CHANGE, change, shares)


@kernel
def end_superstep(control: Any, changes: Any, tol: Any) -> None:
    """Record the change of a superstep, and end the run if it is at most `tol`; one thread.

    Parameters
    ----------
    control : float64[CHANGES + changes]
    changes : int
    tol : float
    """
    if block() == 0 and thread() == 0 and control[OVER] == 0.0:
        change, done = control[CHANGE], np.int64(control[DONE])
        control[CHANGES + done % changes] = change
        control[DONE] = np.float64(done + 1)
        control[CHANGE] = 0.0
        control[AUTHORITY] = 0.0
        control[HUB] = 0.0
        if change <= tol:
            control[OVER] = 1.0
