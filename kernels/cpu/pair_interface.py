"""The interface of an edge program: the names that the loops in `pairs` call.

As with `interface`, a program's functions of the same names replace the import.  The definitions
here are a program too, which counts the common neighbours of pairs.

`constants` is a tuple of arrays with one element for each vertex; the array of a uniform constant
has one element.  `edges` is a tuple of arrays with one element for each arc.  `values` is a tuple
of numbers, the run's parameters.  `columns` is a tuple of arrays with one element for each pair.
`u` and `v`, the pair, and `w`, a common neighbour, are what `load` returns.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ANY", "EDGES", "is_enough", "load", "merge", "message", "nothing", "put"]

ANY = False  # any message will do: reading may stop at the first one
EDGES = False  # whether `put` reads the attributes of the edge between u and v


def load(constants: Any, vertex: Any) -> Any:
    """Return a vertex: its constants."""
    return ()


def message(
    w: Any, u: Any, v: Any, edges: Any, first_arc: Any, second_arc: Any, values: Any
) -> Any:
    """Return the message of a common neighbour; `first_arc` and `second_arc` are the arcs of u and v to it."""
    return 1


def nothing() -> Any:
    """Return the neutral message of `merge`."""
    return 0


def merge(first: Any, second: Any) -> Any:
    """Combine two messages."""
    return first + second


def is_enough(gathered: Any) -> bool:
    """Return whether no other message can change the gathered one; used if `ANY`."""
    return True


def put(
    columns: Any, pair: Any, u: Any, v: Any, edges: Any, arc: Any, gathered: Any, values: Any
) -> None:
    """Store the values of a pair; `arc` is that of u to v, or −1; read if `EDGES`."""
    columns[0][pair] = gathered
