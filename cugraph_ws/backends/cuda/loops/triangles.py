"""Triangles on the GPU; see `cugraph_ws.algorithms.triangles`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.triangles`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.neighbourhoods import NeighbourRows
from cugraph_ws.partition.oriented import Heads, Oriented
from cugraph_ws.runtime.device import device

__all__ = ["Lister"]

Array = Any  # CuPy's

BLOCK = 256
VERTICES, DIRECTIONS, EDGES = 0, 1, 2  # as in kernels/cuda/intersect.py


class Lister:
    """Lists triangles; a warp takes 32 edges at a time.

    Parameters
    ----------
    oriented : Oriented
    """

    def __init__(self, oriented: Oriented) -> None:
        self._oriented = oriented

    def count(self, heads: Heads, pivots: Array, counts: Array) -> int:
        """Count the triangles of each vertex whose least vertex is a pivot."""
        kind = VERTICES if self._oriented.rows.values is None else DIRECTIONS
        return self._launch(heads, pivots, kind, counts, counts)

    def support(self, heads: Heads, pivots: Array, supports: Array, head_supports: Array) -> int:
        """Count the triangles of each edge whose least vertex is a pivot."""
        return self._launch(heads, pivots, EDGES, supports, head_supports)

    def _launch(self, heads: Heads, pivots: Array, kind: int, sums: Array, head_sums: Array) -> int:
        """Launch the kernel; return the number of elements looked up."""
        tails, arcs = self._oriented.arcs_of(pivots)
        if len(arcs) == 0:
            return 0
        here = device()
        read = here.xp.zeros(1, np.int64)
        here.module("intersect").launch(
            "list_triangles", here.blocks_for(len(arcs), BLOCK), BLOCK, _arrays(self._oriented.rows),
            _arrays(heads.rows), tails, arcs, len(arcs), kind, sums, head_sums, read,
        )  # fmt: skip
        return int(here.to_host(read)[0])


def _arrays(rows: NeighbourRows) -> tuple[Array, Array, Array]:
    """Return the arrays of rows; those without values have others in their place."""
    values = device().xp.zeros(1, np.int8) if rows.values is None else rows.values
    return rows.offsets, rows.indices, values
