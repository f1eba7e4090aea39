"""Read what a rank needs from another rank's outbox in host memory: entries whose vertices are ghosts here.

`ghosts` has for each vertex of the outbox the index of its ghost here, -1 if there is none.  Lanes read adjacent
entries, so what is needed crosses the bus in whole lines.  An outbox may come in pieces, of `count` entries from `first` on.
Values are copied as unsigned integers of their width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.bitmaps import add
from cugraph_ws.kernels.cuda.primitives import (
    block,
    blocks,
    inline,
    kernel,
    lane,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import reserve

__all__ = ["list_held", "pick_held", "place_held", "spread_bits"]


@inline
def entry_of_thread() -> Any:
    """Return the thread's number within the grid."""
    return block() * threads() + thread()


@kernel
def place_held(first: Any, count: Any, ghosts: Any, source: Any, target: Any) -> None:
    """Copy the values of ghosts from an outbox that has a value for each of its vertices."""
    for entry in range(entry_of_thread(), count, blocks() * threads()):
        ghost = np.int64(ghosts[first + entry])
        if ghost >= 0:
            target[ghost] = source[entry]


@kernel
def list_held(
    first: Any, count: Any, ghosts: Any, vertices: Any, places: Any, listed: Any, picked: Any, counters: Any,
    slot: Any,
) -> None:  # fmt: skip
    """List the ghosts of an outbox that lists `places` of its vertices.

    `listed` gets the indices of ghosts, and `picked` their entries, from `counters[slot]` on, which is raised by their
    number.  `ghosts` has `vertices` entries.
    """
    step = blocks() * threads()
    for base in range(entry_of_thread() - lane(), count, step):  # all lanes come along
        entry = base + lane()
        ghost = np.int64(-1)
        if entry < count:
            place = np.int64(places[entry])
            if 0 <= place < vertices:  # else the run has been given up
                ghost = np.int64(ghosts[place])
        at = reserve(counters, slot, np.int32(ghost >= 0))
        if ghost >= 0:
            listed[at] = ghost
            picked[at] = first + entry


@kernel
def pick_held(
    first: Any, count: Any, picked: Any, counters: Any, slot: Any, source: Any, target: Any
) -> None:
    """Copy the values of listed ghosts whose entries are in this piece of an outbox."""
    number = np.int64(counters[slot])
    for at in range(entry_of_thread(), number, blocks() * threads()):
        entry = np.int64(picked[at]) - first
        if 0 <= entry < count:
            target[at] = source[entry]


@kernel
def spread_bits(first: Any, count: Any, ghosts: Any, words: Any, target: Any) -> None:
    """Set the bits of ghosts, where an outbox has a bit for each of its vertices."""
    for entry in range(entry_of_thread(), count, blocks() * threads()):
        if (np.int64(words[entry >> 5]) >> (entry & 31)) & 1 != 0:
            ghost = np.int64(ghosts[first + entry])
            if ghost >= 0:
                add(target, ghost)
