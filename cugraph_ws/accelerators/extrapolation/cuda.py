"""Sums and combinations of vectors on the GPU; see `cugraph_ws.accelerators.extrapolation.runs`.

Arguments and results are as in `cugraph_ws.accelerators.extrapolation.cpu`, but on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.runtime.device import device

__all__ = ["combine", "products"]

Array = Any  # CuPy's

BLOCK = 256  # 8 warps, as in kernels/accelerators/extrapolation/cuda.py
BLOCKS = 256  # at most; the same on every GPU, so that sums are the same too
PRODUCTS = 15


def products(vectors: Sequence[Array]) -> npt.NDArray[np.float64]:
    """Return the inner products of all pairs of changes."""
    sums = _launch("products", PRODUCTS, tuple(vectors), len(vectors[0]))
    added: npt.NDArray[np.float64] = sums.sum(axis=0)
    return added


def combine(
    vectors: Sequence[Array], factors: Sequence[float], combined: Array
) -> npt.NDArray[np.float64]:
    """Write the combination of the last five vectors, with negative entries set to 0."""
    inputs = tuple(vectors), tuple(map(float, factors)), len(vectors[0]), combined
    added: npt.NDArray[np.float64] = _launch("combine", 2, *inputs).sum(axis=0)
    return added


def _launch(name: str, width: int, *arguments: Any) -> npt.NDArray[np.float64]:
    """Launch a kernel, and return the sums of each of its blocks."""
    gpu, count = device(), len(arguments[0][0])
    grid = min(BLOCKS, -(-count // BLOCK))
    sums = gpu.xp.empty(grid * width, np.float64)
    if grid:
        gpu.module("extrapolation.cuda").launch(name, grid, BLOCK, *arguments, sums)
    return gpu.to_host(sums).reshape(grid, width)
