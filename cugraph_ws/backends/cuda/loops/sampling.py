"""Rows and draws of samples on the GPU; see `cugraph_ws.algorithms.neighbor_sample`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.sampling`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.rows_by_number import RowsByNumber as Rows
from cugraph_ws.backends.cuda.rows_by_number import sums_of
from cugraph_ws.runtime.device import device

__all__ = ["Rows", "draw", "sums_of"]

Array = Any  # CuPy's

BLOCK = 128


def draw(
    begins: Array, degrees: Array, vertices: Array, keys: Array, ends: Array, hop: int, *, replace: bool,
    sums: Array | None = None,
) -> Array:  # fmt: skip
    """Return arcs drawn from rows."""
    gpu = device()
    arcs, rows = gpu.xp.empty(int(ends[-1]), np.int64), len(begins)
    if len(arcs):
        gpu.module("sampling").launch(
            "draw_arcs" if sums is None else "draw_by_weight",
            gpu.blocks_for(rows, BLOCK),
            BLOCK,
            begins,
            degrees,
            vertices,
            keys,
            ends,
            arcs,
            np.int64(hop),
            np.int64(replace),
            *(() if sums is None else (sums,)),
            np.int64(rows),
        )
    return arcs
