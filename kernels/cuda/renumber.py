"""The same rows once some vertices have come to other positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, thread, threads

__all__ = ["renumber_tail"]


@kernel
def renumber_tail(indices: Any, arcs: Any, first: Any, moved: Any) -> None:
    """Write where the vertex at position `first + i` is now, which is `moved[i]`, into all arcs."""
    for arc in range(block() * threads() + thread(), arcs, blocks() * threads()):
        place = np.int64(indices[arc]) - first
        if place >= 0:
            indices[arc] = moved[place]
