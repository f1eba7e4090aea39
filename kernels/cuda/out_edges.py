"""What each vertex sends along its out-edges by `scatter`, a thread for each vertex; stored by arc."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import clear_arc, load, send_out, with_sums
from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, thread, threads

__all__ = ["send_messages"]


@kernel
def send_messages(
    shape: Any, offsets: Any, arrays: Any, state: Any, constants: Any, parameters: Any, sums: Any,
    number: Any,
) -> None:  # fmt: skip
    """Let all vertices send in superstep `number`.

    Parameters
    ----------
    shape : tuple of (int, int)
        The numbers of vertices of the graph, and of rows.
    offsets : int64[rows + 1]
        Rows of out-arcs.
    arrays : tuple
        See `program/scatter.py`.
    state, constants : tuple of arrays
    parameters : tuple of numbers
    sums : float64[aggregates]
    number : int
    """
    vertices, rows = shape
    values = with_sums(parameters, sums, vertices, np.int64(number))
    for vertex in range(block() * threads() + thread(), rows, blocks() * threads()):
        begin, end = np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])
        for arc in range(begin, end):
            clear_arc(arrays, arc)
        if end > begin:
            source = load(state, constants, vertex)
            send_out(source, arrays, state, constants, begin, end - begin, values)
