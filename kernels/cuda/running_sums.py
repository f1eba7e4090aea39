"""Running sums within rows, by which walks draw edges.

A thread adds up a row, one value after the other, so that sums are those of a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, thread, threads

__all__ = ["sum_rows"]


@kernel
def sum_rows(offsets: Any, values: Any, sums: Any, rows: Any) -> None:
    """Write at each arc the sum of its row's values up to it.

    Parameters
    ----------
    offsets : int64[rows + 1]
    values : number[arcs]
    sums : float64[arcs]
        Written.
    rows : int
    """
    for row in range(block() * threads() + thread(), rows, blocks() * threads()):
        total = np.float64(0.0)
        for arc in range(np.int64(offsets[row]), np.int64(offsets[row + 1])):
            total += np.float64(values[arc])
            sums[arc] = total
