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
    empty_message,
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
    "empty_message",
    "fold",
    "identity",
    "initial",
    "is_active",
    "keep",
    "put_terms",
    "share",
    "starts",
    "update",
]

GREATEST = False  # whether the residual is the greatest change, else their sum
MEASURES = False  # whether there is a residual


def identity() -> Any:
    """Return what no message is folded to: for each part of a message, a tuple of this lane's elements."""
    return ((0.0,),)


def fold(
    folded: Any, state: Any, constants: Any, source: Any, target: Any, edges: Any, arc: Any, values: Any
) -> Any:  # fmt: skip
    """Return what is folded, with the message along an arc, and whether there is one."""
    return folded, True


def share(gathered: Any, folded: Any) -> None:
    """Store what this lane has folded where the functions of the vertex read it."""


def put_terms(state: Any, constants: Any, vertex: Any, values: Any, terms: Any, owned: Any) -> None:
    """Store the vertex's terms of the aggregates, each `owned` after the one before."""
