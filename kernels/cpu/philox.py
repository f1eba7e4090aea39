"""Philox-4x32-10, from which samples are drawn: `cugraph_ws.program.randomness`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cpu.jit import inline

__all__ = ["philox"]


@inline
def philox(key: Any, first: Any, second: Any) -> Any:
    """Return 64 random bits, of a key and the two halves of a counter."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b = np.uint64(first) & low, np.uint64(first) >> half
    c, d = np.uint64(second) & low, np.uint64(second) >> half
    k, m = np.uint64(key) & low, np.uint64(key) >> half
    for _ in range(10):
        of_a, of_c = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, b, c, d = (of_c >> half) ^ b ^ k, of_c & low, (of_a >> half) ^ d ^ m, of_a & low
        k, m = (k + np.uint64(0x9E3779B9)) & low, (m + np.uint64(0xBB67AE85)) & low
    return (a << half) | b
