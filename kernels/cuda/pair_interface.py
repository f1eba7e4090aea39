"""What an edge program looks like to CUDA kernels: the names that they call.

To those of `kernels.cpu.pair_interface` comes the one that lanes need.  As there, a program's own
functions take their place when a kernel is instantiated.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.pair_interface import (
    ANY,
    EDGES,
    is_enough,
    load,
    merge,
    message,
    nothing,
    put,
)
from cugraph_ws.kernels.cuda.primitives import shuffle

__all__ = [
    "ANY",
    "EDGES",
    "is_enough",
    "load",
    "merge",
    "message",
    "nothing",
    "put",
    "shuffle_message",
]


def shuffle_message(mask: Any, gathered: Any, source: Any) -> Any:
    """Return the message of lane `source`."""
    return shuffle(mask, gathered, source)
