"""Galloping search in ascending rows.

Ascending values are looked up one after the other, each from the place of the last, with steps that
double (Demaine, López-Ortiz and Munro, SODA 2000).
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import inline

__all__ = ["leap"]

Array = npt.NDArray[Any]


@inline
def leap(indices: Array, low: int, high: int, value: int) -> int:
    """Return the first place from `low` on with an entry of at least `value`; `high` if none."""
    step = 1
    while low + step < high and indices[low + step] < value:
        low += step
        step *= 2
    end = min(low + step, high)
    while low < end:
        middle = (low + end) // 2
        if indices[middle] < value:
            low = middle + 1
        else:
            end = middle
    return low
