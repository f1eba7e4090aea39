"""What each vertex sends along its out-edges by `scatter`, stored by arc in the order of the CSC."""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.interface import load, send_out
from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["send_messages"]


@jit
def send_messages(
    low: Any, high: Any, offsets: Any, arrays: Any, state: Any, constants: Any, values: Any
) -> None:
    """Let the vertices [low, high) send; `arrays` are those of `program/scatter.py`, with rows of out-neighbours."""
    for vertex in range(low, high):
        begin, end = offsets[vertex], offsets[vertex + 1]
        if end > begin:
            source = load(state, constants, vertex)
            send_out(source, arrays, state, constants, begin, end - begin, values)
