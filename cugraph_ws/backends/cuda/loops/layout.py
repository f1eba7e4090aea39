"""Moves of a layout's vertices on the GPU; see `cugraph_ws.pictures.forces`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cuda.force_layout import CELLS
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.looks import look

__all__ = ["relax"]

Array = npt.NDArray[Any]

BLOCK = 128
FINE = 1 << 15  # units along the side of a cell of the finest grid, in which sums are counted
PATIENCE, COOLING = 5, 0.9  # as in kernels/cpu/layout.py


def relax(
    rows: tuple[Array, Array, Array], masses: Array, x: Array, y: Array, step: float, iterations: int
) -> None:  # fmt: skip
    """Move vertices by the forces between them, in place; arguments are as on the CPU, on the host."""
    gpu, xp, size = device(), device().xp, len(x)

    def launch(name: str, *arguments: Any, lanes: int = 1) -> None:
        blocks = gpu.blocks_for(lanes * size, BLOCK)
        gpu.module("force_layout").launch(name, blocks, BLOCK, *arguments, np.int64(size))

    at, on_device = tuple(map(xp.asarray, (x, y))), tuple(map(xp.asarray, rows))
    weighed = xp.asarray(masses)
    codes, counts = xp.empty(size, np.int64), xp.zeros(size + 1, np.int64)
    sums = tuple(xp.zeros(size + 1, np.int64) for _ in range(3))
    ordered = tuple(xp.empty(size) for _ in range(3))
    force, energies = tuple(xp.empty(size) for _ in range(2)), xp.empty(size)
    ranges, cells = xp.empty(6 * size, np.int32), xp.empty(8 * size)
    energy_before, lowered = math.inf, 0
    for _ in range(iterations):
        look()
        ends = gpu.to_host(xp.stack([f(part) for f in (xp.min, xp.max) for part in at])).tolist()
        left, bottom, right, top = ends
        side = max(max(right - left, top - bottom) * (1 + 1e-9), 1e-9) / CELLS
        corner = np.float64(left), np.float64(bottom), np.float64(side / FINE)
        launch("write_codes", *at, *corner[:2], np.float64(side), codes)
        codes.sort()
        launch("order_vertices", codes, at, weighed, *corner, ordered, sums)
        launch("count_nodes", codes, counts)
        firsts, running = xp.cumsum(counts), tuple(map(xp.cumsum, sums))
        launch("write_nodes", codes, firsts, running, *corner, ranges, cells)
        launch("repel", codes, ordered, ranges, cells, np.int64(firsts[-1]), *force)
        launch("attract", on_device, at, *force, lanes=32)
        launch("move_vertices", at, *force, weighed, np.float64(step), energies)
        energy = float(energies.sum())
        if energy < energy_before:
            lowered += 1
            if lowered >= PATIENCE:
                step, lowered = step / COOLING, 0
        else:
            step, lowered = step * COOLING, 0
        energy_before = energy
    x[:], y[:] = map(gpu.to_host, at)
