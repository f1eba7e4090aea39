"""Triangles on the GPU; see `cugraph_ws.algorithms.triangles`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.triangles`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.neighbourhoods import NARROW, NeighbourRows
from cugraph_ws.partition.oriented import Heads, Oriented
from cugraph_ws.runtime.device import device

__all__ = ["Lister"]

Array = Any  # CuPy's

BLOCK = 256
VERTICES, DIRECTIONS, EDGES = 0, 1, 2  # as in kernels/cuda/intersect.py
LEAST_HASHED = 16  # a block hashes longer rows; edges of the others are searched for
LEAST_SLOTS = 32  # of a table, as in kernels/cuda/hashed_rows.py
SLOT = 12  # bytes, as in kernels/cuda/hashed_rows.py
FEW_SLOTS, MOST_THREADS = 2048, 1024  # slots up to which blocks are smallest; largest block
RESIDENT = 2048  # threads of a multiprocessor


class Lister:
    """Lists triangles: a block hashes a long row; for short ones a warp takes 32 edges at a time.

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
        """Launch the kernels; return the number of elements looked up."""
        gpu, rows = device(), self._oriented.rows
        read = gpu.xp.zeros(1, np.int64)
        if self._oriented.near.halo.alone and len(pivots):
            pivots = self._launch_hashed(pivots, kind, sums, read)
        tails, arcs = self._oriented.arcs_of(pivots)
        if len(arcs):
            gpu.module("intersect").launch(
                "list_triangles", gpu.blocks_for(len(arcs), BLOCK), BLOCK, _arrays(rows),
                _arrays(heads.rows), tails, arcs, len(arcs), kind, sums, head_sums, read,
            )  # fmt: skip
        return int(gpu.to_host(read)[0])

    def _launch_hashed(self, pivots: Array, kind: int, sums: Array, read: Array) -> Array:
        """Launch the kernel for the rows that are hashed; return the other pivots."""
        gpu, rows = device(), self._oriented.rows
        lengths = rows.degrees[pivots]
        longest = int(gpu.to_host(lengths.max()))
        if longest <= LEAST_HASHED or self._oriented.size >= NARROW:
            return pivots
        slots = LEAST_SLOTS
        while slots < 2 * longest and 2 * SLOT * slots <= gpu.shared_memory:
            slots *= 2
        fits = (lengths > LEAST_HASHED) & (2 * lengths <= slots)
        hashed = pivots[fits]
        if len(hashed):
            threads = min(MOST_THREADS, BLOCK * max(1, slots // FEW_SLOTS))
            together = min(RESIDENT // threads, gpu.shared_memory // (SLOT * slots))
            gpu.module("hashed_rows").launch(
                "list_hashed", min(len(hashed), together * gpu.multiprocessors), threads,
                _arrays(rows), hashed, len(hashed), kind, slots, sums, read, shared=SLOT * slots,
            )  # fmt: skip
        return pivots[~fits]


def _arrays(rows: NeighbourRows) -> tuple[Array, Array, Array]:
    """Return the arrays of rows; rows without values get an array of one zero."""
    values = device().xp.zeros(1, np.int8) if rows.values is None else rows.values
    return rows.offsets, rows.indices, values
