"""Columns of results: which of their rows are null."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import GROUPS, put_words
from cugraph_ws.kernels.cuda.primitives import (
    atomic_add,
    block,
    blocks,
    kernel,
    lane,
    load_once,
    popc,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import sum_of_lanes

__all__ = ["mark_below"]


@kernel
def mark_below(numbers: Any, rows: Any, limit: Any, mask: Any, nulls: Any) -> None:
    """Write a bit for each number, set unless the limit is reached, and count those that reach it.

    Parameters
    ----------
    numbers : number[rows]
    rows : int
    limit : number
    mask : uint32[ceil(rows / 32)]
    nulls : int64[1]
    """
    count = np.int64(0)
    warp = (block() * threads() + thread()) // 32
    step = blocks() * threads() * GROUPS
    for base in range(32 * GROUPS * warp + lane(), rows + lane(), step):  # all lanes come along
        bits = np.int32(0)
        for group in range(GROUPS):
            row = base + 32 * group
            below = not (load_once(numbers, min(row, rows - 1)) >= limit)  # so is a NaN
            bits |= (
                np.int32(below) & np.int32(row < rows)
            ) << group  # no branch: all loads at once
        put_words(mask, base, rows, bits)
        count += min(max((rows - base + 31) // 32, 0), GROUPS) - popc(np.uint32(bits))
    count = sum_of_lanes(count)
    if lane() == 0 and count > 0:
        atomic_add(nulls, 0, count)
