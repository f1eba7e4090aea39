"""A hash of 64 bits, whose integers wrap around: `cugraph_ws.runtime.mixing`."""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cuda.primitives import inline

__all__ = ["mixed"]

FIRST = 0xBF58476D1CE4E5B9 - 2**64
SECOND = 0x94D049BB133111EB - 2**64


@inline
def mixed(value: Any) -> Any:
    """Mix an int64 by both multiplications of SplitMix64's finalizer."""
    value = (value ^ ((value >> 30) & 0x3FFFFFFFF)) * FIRST
    return (value ^ ((value >> 27) & 0x1FFFFFFFFF)) * SECOND
