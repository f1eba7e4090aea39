"""The interface of a program with vectors: the names that the loops in `vectors` call.

As with `interface`, functions that are written for a program replace the import.  The definitions here are a
program too, which adds up vectors of two elements.

`state` and `fresh` are tuples of arrays, of shape (vertices,) or (vertices, elements); `gathered` is a tuple with
an array for each part of a message, of one element if that is a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "AGGREGATES",
    "MASKED",
    "SILENT",
    "add_terms",
    "change",
    "clear",
    "empty_message",
    "fold",
    "initial",
    "is_active",
    "keep",
    "starts",
    "update",
]

AGGREGATES = 0  # number of the program's aggregates
MASKED = False  # whether only active vertices send
SILENT = True  # whether a vertex without messages applies the identity


def empty_message() -> Any:
    """Return a buffer for what a vertex gathers."""
    return (np.empty(2),)


def clear(gathered: Any) -> None:
    """Make what is gathered the identity."""
    gathered[0][:] = 0.0


def initial(state: Any, constants: Any, vertex: Any, number: Any, values: Any) -> None:
    """Store the first state of a vertex."""
    state[0][vertex] = number


def fold(
    gathered: Any,
    state: Any,
    constants: Any,
    source: Any,
    target: Any,
    edges: Any,
    arc: Any,
    values: Any,
) -> Any:
    """Fold the message along an arc into what is gathered; return whether there is one."""
    gathered[0][:] += state[0][source]
    return True


def update(fresh: Any, state: Any, constants: Any, vertex: Any, gathered: Any, values: Any) -> None:
    """Store the new state of a vertex."""
    fresh[0][vertex] = gathered[0]


def keep(fresh: Any, state: Any, vertex: Any) -> None:
    """Store the present state of a vertex as the new one."""
    fresh[0][vertex] = state[0][vertex]


def is_active(state: Any, fresh: Any, constants: Any, vertex: Any, values: Any) -> Any:
    """Return whether the new state makes the vertex active."""
    return bool((fresh[0][vertex] != state[0][vertex]).any())


def starts(state: Any, constants: Any, vertex: Any, values: Any) -> Any:
    """Return whether a vertex is active before the first superstep."""
    return True


def change(state: Any, fresh: Any, vertex: Any) -> Any:
    """Return the size of a vertex's change."""
    return float(abs(fresh[0][vertex] - state[0][vertex]).sum())


def add_terms(state: Any, constants: Any, vertex: Any, values: Any, totals: Any) -> None:
    """Fold the vertex's terms of the aggregates into `totals`."""
