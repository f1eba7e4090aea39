"""What each vertex sends along its out-edges by `scatter`, stored by arc.

A thread runs a vertex's whole `scatter`.  Where a row is long, a block does, whose threads share what the program's
text lets them share: `cugraph_ws/backends/cuda/scatter_lanes.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    load,
    send_out,
    send_out_together,
    with_sums,
)
from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, thread, threads

__all__ = ["send_messages", "send_messages_together"]


@kernel
def send_messages(
    shape: Any, offsets: Any, arrays: Any, state: Any, constants: Any, parameters: Any, sums: Any,
    number: Any,
) -> None:  # fmt: skip
    """Let the vertices send in superstep `number` that have no long row.

    Parameters
    ----------
    shape : tuple of (int, int, int)
        The numbers of vertices of the graph, and of rows; the greatest length of a row that is not long.
    offsets : int64[rows + 1]
        Rows of out-arcs.
    arrays : tuple
        See `program/scatter.py`.
    state, constants : tuple of arrays
    parameters : tuple of numbers
    sums : float64[aggregates]
    number : int
    """
    vertices, rows, longest = shape
    values = with_sums(parameters, sums, vertices, np.int64(number))
    for vertex in range(block() * threads() + thread(), rows, blocks() * threads()):
        begin, end = np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])
        if end > begin and end - begin <= longest:
            source = load(state, constants, vertex)
            send_out(source, arrays, state, constants, begin, end - begin, values)


@kernel
def send_messages_together(
    shape: Any, rows: Any, offsets: Any, arrays: Any, state: Any, constants: Any, parameters: Any,
    sums: Any, number: Any,
) -> None:  # fmt: skip
    """Let the vertices `rows` send, each by a block.

    `shape` is the number of vertices of the graph, and of `rows`; see `send_messages`.
    """
    vertices, count = shape
    values = with_sums(parameters, sums, vertices, np.int64(number))
    for place in range(block(), count, blocks()):
        vertex = np.int64(rows[place])
        begin, end = np.int64(offsets[vertex]), np.int64(offsets[vertex + 1])
        source = load(state, constants, vertex)
        send_out_together(source, arrays, state, constants, begin, end - begin, values)
