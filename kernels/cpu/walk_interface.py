"""The interface of a walk: the name that the loop in `walks` calls.

As with `interface`, a walk's function replaces the import.  The definition here is a walk too, which takes
the first edge of each vertex.

`columns` is a tuple of arrays with one element for each arc, the attributes of edges; `sums` another, of the
sums within each row of those by which edges are drawn.  `values` is a tuple of numbers, the run's parameters.
`beyond` is an array with one element, which a walk sets that reads an edge which is not there.
"""

from __future__ import annotations

from typing import Any

__all__ = ["next_edge"]


def next_edge(
    rows: Any,
    columns: Any,
    sums: Any,
    beyond: Any,
    values: Any,
    walker: Any,
    begin: Any,
    degree: Any,
) -> Any:
    """Return the index of the out-edge to take, of the row that begins at arc `begin`; negative to end.

    `rows` is (offsets, indices, vertices), and `walker` (seed, number, step, vertex, previous, arc).
    """
    return 0
