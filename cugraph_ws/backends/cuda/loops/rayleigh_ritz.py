"""Inner products and combinations of vectors on the GPU; see `cugraph_ws.algorithms.rayleigh_ritz`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.rayleigh_ritz`, but on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.runtime.device import device

__all__ = ["combine", "products"]

Array = Any  # CuPy's

BLOCK = 256  # 8 warps, as in kernels/cuda/rayleigh_ritz.py
BLOCKS = 256  # at most; the same on every GPU, so that sums are the same too
SUMS, FOUND = 12, 14


def products(vectors: Sequence[Array]) -> npt.NDArray[np.float64]:
    """Return inner products of three vectors, and of those with their images."""
    gpu, count = device(), len(vectors[0])
    grid = min(BLOCKS, -(-count // BLOCK))
    if not grid:
        return np.zeros(FOUND)
    parts = gpu.xp.empty(grid * FOUND, np.float64)
    gpu.module("rayleigh_ritz").launch("products", grid, BLOCK, tuple(vectors), count, parts)
    figures = gpu.to_host(parts).reshape(grid, FOUND)
    return np.concatenate([figures[:, :SUMS].sum(axis=0), figures[:, SUMS:].max(axis=0)])


def combine(vectors: Sequence[Array], factors: Sequence[float]) -> None:
    """Replace x by a combination of x, r and p, p by its part without x, and r by the residual."""
    gpu, count = device(), len(vectors[0])
    arguments = tuple(vectors), tuple(map(float, factors)), count
    gpu.module("rayleigh_ritz").launch("combine", gpu.blocks_for(count, BLOCK), BLOCK, *arguments)
