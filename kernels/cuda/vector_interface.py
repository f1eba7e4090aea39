"""What a program with vectors looks like to CUDA kernels: the names that they call.

To those of `kernels.cpu.vector_interface` come those for lanes.  As there, a program's own functions take their
place when a kernel is instantiated.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.vector_interface import (
    MASKED,
    SILENT,
    change,
    clear,
    empty_message,
    fold,
    initial,
    is_active,
    keep,
    starts,
    update,
)

__all__ = [
    "GREATEST",
    "MASKED",
    "MEASURES",
    "SILENT",
    "change",
    "clear",
    "empty_message",
    "fold",
    "initial",
    "is_active",
    "keep",
    "put_terms",
    "starts",
    "update",
]

GREATEST = False  # whether the residual is the greatest change, else their sum
MEASURES = False  # whether there is a residual


def put_terms(state: Any, constants: Any, vertex: Any, values: Any, terms: Any, owned: Any) -> None:
    """Store the vertex's terms of the aggregates, each `owned` after the one before."""
