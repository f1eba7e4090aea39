"""Edges that join a vertex to itself, where they are refused or dropped."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import InputError
from cugraph_ws.graph.numbering import Numbered
from cugraph_ws.graph.vertices import Vertices

__all__ = ["refuse_loops", "refuse_or_drop_loops"]

Array = npt.NDArray[Any]


def refuse_or_drop_loops(
    numbered: Numbered, values: dict[str, Array], policy: str, vertices: Vertices
) -> int:
    """Apply a policy on self-loops, "error" or "drop", to columns and values, in place; return their number."""
    sources, destinations = numbered.columns[:2]
    no_loop = sources != destinations
    loops = len(no_loop) - int(np.count_nonzero(no_loop))
    if not loops:
        return 0
    if policy == "error":
        row = int(np.argmin(no_loop))
        refuse_loops(row, vertices.describe(int(numbered.numbers(0)[row])), loops)
    numbered.columns[:2] = [sources[no_loop], destinations[no_loop]]
    for name in values:
        values[name] = values[name][no_loop]
    return loops


def refuse_loops(row: int, vertex: str, loops: int) -> NoReturn:
    """Raise InputError for self-loops.

    Parameters
    ----------
    row : int
        The row of the first self-loop.
    vertex : str
        Its vertex, as errors show it.
    loops : int
        Number of self-loops.

    Raises
    ------
    InputError
        Always.
    """
    raise InputError(
        f"self_loops='error': row {row} joins {vertex} to itself, and {loops - 1} more rows "
        f"are self-loops; choose 'keep' or 'drop'"
    )
