"""Which integers of a range occur in a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, store_fresh, thread, threads

__all__ = ["mark_present"]


@kernel
def mark_present(column: Any, low: Any, rows: Any, present: Any) -> None:
    """Set `present[i]` where low + i is in the column."""
    row = block() * threads() + thread()
    while row < rows:
        # Many threads may store to one place, but all of them the same, and nobody reads it here.
        store_fresh(present, np.int64(column[row]) - low, np.uint8(1))
        row += blocks() * threads()
