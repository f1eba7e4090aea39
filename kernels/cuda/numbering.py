"""Which integers of a range occur in a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    kernel,
    load_cached,
    load_once,
    store_fresh,
    thread,
    threads,
)

__all__ = ["mark_present"]


@kernel
def mark_present(column: Any, low: Any, rows: Any, present: Any) -> None:
    """Set `present[i]` where low + i is in the column."""
    row = block() * threads() + thread()
    while row < rows:
        place = np.int64(load_once(column, row)) - low
        # Many threads may store to one place, but all of them the same; a read that comes too early, or
        # from the L1, costs one more store.  Without it, stores to a hub would wait for one another.
        if load_cached(present, place) == 0:
            store_fresh(present, place, np.uint8(1))
        row += blocks() * threads()
