"""Folds over common neighbours on the GPU; see `cugraph_ws.algorithms.similarity`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.similarity`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.neighbourhoods import NeighbourRows
from cugraph_ws.runtime.device import device

__all__ = ["KINDS", "fold"]

Array = Any  # CuPy's

BLOCK = 256
KINDS = {"count": 0, "least": 1, "product": 2}  # as in kernels/cuda/intersect.py


def fold(rows: NeighbourRows, firsts: Array, seconds: Array, kind: str) -> Array:
    """Fold over the common neighbours of pairs of vertices."""
    here, pairs = device(), len(firsts)
    counts, sums = here.xp.zeros(pairs, np.int64), here.xp.zeros(pairs, np.float64)
    if pairs:
        values = sums if rows.values is None else rows.values
        threads = pairs if kind == "count" else 32 * pairs
        here.module("intersect").launch(
            "fold_common", here.blocks_for(threads, BLOCK), BLOCK,
            (rows.offsets, rows.indices, values), firsts, seconds, pairs, KINDS[kind], counts, sums,
        )  # fmt: skip
    return counts.astype(np.float64) if kind == "count" else sums
